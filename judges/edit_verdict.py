"""edit-verdict: a model decides for every single edit of a correction whether it is valid."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.corpus.language import ENGLISH, Language
from gecjury.errors import OptionError
from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Model, Reply
from gecjury.judges.audit import audit_of, merge_audits
from gecjury.judges.judge import Judge, Wording, load_wording, render_cut, render_fenced
from gecjury.judges.protocols.ballots import Ballot, combine, count_ballots
from gecjury.judges.replies.expected import expected_validity
from gecjury.judges.replies.reply import Failure, read_validity
from gecjury.judges.showing import (
    CandidateSet,
    Context,
    edits_of_pairs,
    extraction_parts,
    marked,
    with_tagger,
)
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Plan, Statistics
from gecjury.scoring.signature import Signature

VERDICT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"valid": {"type": "boolean"}},
    "required": ["valid"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class EditVerdict(Judge, MeanScorer):
    """Share of a correction's edits that a model takes to be valid, 0 to 1, higher is better.

    The question is that of SEEDA's edit-based annotation (Kobayashi et al. 2024, section 3.2), so
    its verdicts can be held against the annotators' on the same edits. A correction without edits
    has no invalid one and scores 1; one with an edit that has no readable verdict is missing.
    """

    name: ClassVar[str] = "edit-verdict"
    summary: ClassVar[str] = "a language model calls each edit valid or not; share of valid ones"
    paper: ClassVar[str] = "this package"

    def wording(self, language: Language = ENGLISH) -> Wording:
        """The prompt."""
        return load_wording("edit-verdict", None, language)

    def extra_signature(self, runtime: Runtime) -> dict[str, str]:
        """The prompt, and the tagger behind the edits."""
        return {**super().extra_signature(runtime), **extraction_parts()}

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """As usual, with the tagger of the texts' language."""
        return with_tagger(super().signature(corpus, runtime), corpus.language)

    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question]:
        """See `Judge.questions`."""
        cases, _ = self._cases(corpus, runtime)
        return [ballot.question for ballot in self._ballots(cases, model)]

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Shares, systems × sentences."""
        cases, edits = self._cases(corpus, runtime)
        verdicts, report = self._verdicts(cases, runtime)
        by_text: dict[tuple[int, str], list[float]] = {pair: [] for pair in edits}
        at = iter(verdicts.tolist())
        for pair, found in edits.items():
            by_text[pair] = [next(at) for _ in found]
        values = [
            [
                float(np.mean(by_text[row, text])) if by_text[row, text] else 1.0
                for row, text in enumerate(version.lines)
            ]
            for version in corpus.systems.values()
        ]
        return Statistics(np.array(values), None, report.details, report.notes)

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """Verdicts on given edits; see `gecjury.scoring.by_edit.EditJudge`."""
        return self._verdicts(self._judged(cases), runtime)

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> Plan:
        """What `edit_scores` would ask."""
        judged = self._judged(cases)
        return self.plan_of(
            lambda model: [ballot.question for ballot in self._ballots(judged, model)], runtime
        )

    def _judged(self, cases: Sequence[EditCase]) -> list[_Case]:
        return [
            _Case(
                c.row,
                c.source,
                c.context if self._uses_corpus else None,
                c.edit,
                c.edits,
                c.language,
            )
            for c in cases
        ]

    @property
    def _uses_corpus(self) -> bool:
        if self.context in ("corpus", "none"):
            return self.context == "corpus"
        raise OptionError(
            f"{self.name}: context={self.context} cannot be used on a benchmark's own edits; "
            "take corpus or none"
        )

    def _cases(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[list[_Case], dict[tuple[int, str], tuple[Edit, ...]]]:
        """Every edit of every distinct correction, and the edits by correction."""
        wanted = {
            row: tuple(dict.fromkeys(v.lines[row] for v in corpus.systems.values()))
            for row in range(len(corpus))
        }
        edits = edits_of_pairs(corpus, wanted, runtime)
        contexts = self.contexts(corpus)
        edits = {(row, text): edits[row, text] for row in wanted for text in wanted[row]}
        cases = [
            _Case(row, corpus.sources[row], contexts[row], edit, found, corpus.language)
            for (row, _), found in edits.items()
            for edit in found
        ]
        return cases, edits

    def _verdicts(self, cases: Sequence[_Case], runtime: Runtime) -> tuple[FloatArray, Statistics]:
        """The panel's verdict on each case, 1 valid and 0 not, and the audit."""
        by_model, audits = [], []
        sets = [CandidateSet(case.row, case.source, case.context, ("",), ("",)) for case in cases]
        self.refuse_ended(
            lambda model: [ballot.question for ballot in self._ballots(cases, model)], runtime
        )
        for model in self.models():
            start = time.perf_counter()
            ballots = self._ballots(cases, model)
            questions = [ballot.question for ballot in ballots]
            asked = self.ask(questions, model, runtime)
            counted, means = count_ballots(ballots, asked.answers, [1] * len(cases))
            by_model.append([score for (score,) in means])
            seconds = time.perf_counter() - start
            audits.append(audit_of(model, counted, asked, sets, runtime, seconds))
        audit, notes = merge_audits(audits)
        notes = (*notes, *self.notes(runtime))
        verdicts = [combine(scores, self.panel) for scores in zip(*by_model, strict=True)]
        return np.array(verdicts), Statistics(np.empty(0), None, {"audit": audit}, notes)

    def _ballots(self, cases: Sequence[_Case], model: Model) -> list[Ballot]:
        wordings = {each: self.wording(each) for each in {case.language for case in cases}}
        read = functools.partial(_read, expected=self.scoring == "expected")
        ballots = []
        for number, case in enumerate(cases):
            wording = wordings[case.language]
            source = case.language.joined(case.source)
            asked = (wording, source, case.context, case.shown)
            content = render_fenced(*asked)
            cut = functools.partial(render_cut, *asked)
            for repeat in range(self.repeats):
                answer = {"valid": True}
                asking = (model, content, VERDICT_SCHEMA, answer, repeat, cut, wording)
                request = self.request(*asking)
                about = f"line {case.row + 1}, {case.shown['edit'][:60]}"
                ballots.append(Ballot(number, (0,), 0, repeat, Question(request, read, about)))
        return ballots


@dataclass(frozen=True)
class _Case:
    """One edit of one correction."""

    row: int
    source: str
    context: Context
    edit: Edit
    edits: tuple[Edit, ...]
    language: Language = ENGLISH

    @property
    def shown(self) -> dict[str, str]:
        """The correction with that edit alone marked, and the edit."""
        tokens = self.source.split()
        # The other edits are made without a mark; positions shift with them.
        before = [edit for edit in self.edits if edit != self.edit]
        corrected, edit = _rebase(tokens, before, self.edit)
        target = marked(" ".join(corrected), [edit], self.language)
        old = tokens[self.edit.start : self.edit.end]
        whole = [Edit(0, len(old), self.edit.correction)]
        alone = marked(" ".join(old), whole, self.language)
        return {"target": target, "edit": alone}


def _rebase(tokens: Sequence[str], others: Sequence[Edit], edit: Edit) -> tuple[list[str], Edit]:
    """Apply the other edits, and move the one edit to where it stands then."""
    result = list(tokens)
    start, end = edit.start, edit.end
    for other in sorted(others, key=lambda other: (other.start, other.end), reverse=True):
        result[other.start : other.end] = other.tokens
        if (other.end, other.start) <= (edit.start, edit.start):
            shift = len(other.tokens) - (other.end - other.start)
            start, end = start + shift, end + shift
    return result, Edit(start, end, edit.correction)


def _read(reply: Reply, expected: bool) -> list[float] | Failure:
    verdict = expected_validity(reply) if expected else read_validity(reply.text)
    return verdict if isinstance(verdict, Failure) else [float(verdict)]
