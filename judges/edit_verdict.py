"""edit-verdict: a model decides for every single edit of a correction whether it is valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import ClassVar

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits
from gecjury.corpus.language import ENGLISH, Language
from gecjury.errors import OptionError
from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Model
from gecjury.judges.judge import Judge, load_wording, render_fenced
from gecjury.judges.replies.forms import VALIDITY
from gecjury.judges.showing import edits_of_pairs, marked, read_contexts
from gecjury.prompts import Prompt
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Plan, Statistics


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
    shows_edits: ClassVar[bool] = True

    def wording(self, language: Language = ENGLISH) -> Prompt:
        """Return the prompt."""
        return load_wording("edit-verdict", None, language)

    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question]:
        """Return all that is asked of a model about the edits of all corrections."""
        return self._posed(self._cases(corpus, runtime)[0], model)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the shares of valid edits, systems × sentences."""
        cases, edits = self._cases(corpus, runtime)
        verdicts, report = self._verdicts(cases, runtime)
        rest = iter(verdicts.tolist())
        shares = {
            pair: float(np.mean([next(rest) for _ in of_pair])) if of_pair else 1.0
            for pair, of_pair in edits.items()
        }
        systems = corpus.systems.values()
        values = [[shares[pair] for pair in enumerate(version.lines)] for version in systems]
        return Statistics(np.array(values), None, report.details, report.notes)

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """Return verdicts on given edits; see `gecjury.scoring.by_edit.EditJudge`."""
        return self._verdicts(self._in_context(cases), runtime)

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> Plan:
        """Return the plan of what `edit_scores` would ask."""
        judged = self._in_context(cases)
        return self.plan_of(lambda model: self._posed(judged, model), runtime)

    def _in_context(self, cases: Sequence[EditCase]) -> Sequence[EditCase]:
        """Return the cases with the context that the judge is to see."""
        if self.context == "corpus":
            return cases
        if self.context == "none":
            return [replace(case, context=None) for case in cases]
        raise OptionError(
            f"{self.name}: context={self.context} cannot be used on a benchmark's own edits; "
            "take corpus or none"
        )

    def _cases(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[list[EditCase], dict[tuple[int, str], Edits]]:
        """Return every edit of every distinct correction, and the edits by correction."""
        by_row = zip(*(version.lines for version in corpus.systems.values()), strict=True)
        pairs = [(row, text) for row, texts in enumerate(by_row) for text in texts]
        edits = edits_of_pairs(corpus, pairs, runtime)
        contexts, language = read_contexts(self.context, corpus), corpus.language
        cases = [
            EditCase(row, corpus.sources[row], contexts[row], edit, of_text, nan, text, language)
            for (row, text), of_text in edits.items()
            for edit in of_text
        ]
        return cases, edits

    def _verdicts(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """Return the panel's verdict on each case, 1 valid and 0 not, and the audit."""
        rows = [case.row for case in cases]
        pose = partial(self._posed, cases)
        verdicts, report = self.verdicts(pose, rows, [1] * len(cases), runtime)
        return np.array([verdict for (verdict,) in verdicts]), report

    def _posed(self, cases: Sequence[EditCase], model: Model) -> list[Question]:
        wordings = {lang: self.wording(lang) for lang in {case.language for case in cases}}
        questions = []
        for number, case in enumerate(cases):
            wording = wordings[case.language]
            source = case.language.joined(case.source)
            render = partial(render_fenced, wording, source, case.context, shown_edit(case))
            questions += self.pose(model, wording, VALIDITY, render, number)
        return questions


def shown_edit(case: EditCase) -> dict[str, str]:
    """Return the correction with that edit alone marked (`target`), and the `edit`."""
    tokens = case.source.split()
    corrected, (start, end) = list(tokens), (case.edit.start, case.edit.end)
    # The other edits are made without a mark, from the end; this one moves with those before it.
    others = [edit for edit in case.edits if edit != case.edit]
    for other in sorted(others, key=lambda other: (other.start, other.end), reverse=True):
        corrected[other.start : other.end] = other.tokens
        if (other.end, other.start) <= (case.edit.start, case.edit.start):
            shift = len(other.tokens) - (other.end - other.start)
            start, end = start + shift, end + shift
    edit = Edit(start, end, case.edit.correction)
    target = marked(" ".join(corrected), [edit], case.language)
    old = tokens[case.edit.start : case.edit.end]
    whole = [Edit(0, len(old), case.edit.correction)]
    return {"target": target, "edit": marked(" ".join(old), whole, case.language)}
