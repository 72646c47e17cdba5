"""edit-verdict: a model decides for every single edit of a correction whether it is valid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.judges.audit import Check
from gecjury.judges.judge import Judge
from gecjury.judges.options import ShowsExamples, TakesCriterion, Weighs
from gecjury.judges.own_wording import Examples, VerdictColumn
from gecjury.judges.posing import Sheet, render_fenced
from gecjury.judges.replies.forms import VALIDITY
from gecjury.judges.showing import edits_of_pairs, marked, read_contexts
from gecjury.prompts import Prompt
from gecjury.scoring.abilities import EditCase
from gecjury.scoring.scorer import SummedScorer
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.stats.counts import ratio


@dataclass(frozen=True)
class EditVerdict(
    Weighs, TakesCriterion, ShowsExamples[EditCase], Judge[list[float], EditCase], SummedScorer
):
    """Share of a correction's edits that a model considers valid, 0 to 1, higher is better.

    The question is that of SEEDA's edit-based annotation (Kobayashi et al. 2024, section 3.2), so
    its verdicts can be compared with the annotators' on the same edits. The corpus score is the
    share over all edits. A correction without edits has no score, and neither has one with an edit
    without a readable verdict.

    Attributes:
        criterion: what makes an edit valid, in a sentence of your own or in a file.
    """

    name: ClassVar[str] = "edit-verdict"
    summary: ClassVar[str] = "a language model calls each edit valid or not; share of valid ones"
    paper: ClassVar[str] = "this package"
    wording_name: ClassVar[str] = "edit-verdict"
    shows_edits: ClassVar[bool] = True
    version: ClassVar[int] = 2  # outputs without edits have no score
    checks: ClassVar[tuple[Check, ...]] = ("repeat_agreement", "histogram")

    @property
    def example_verdict(self) -> VerdictColumn:
        """The column of `examples` with the verdict."""
        return "valid"

    def example_items(
        self, examples: Examples, corpus: Corpus, runtime: Runtime
    ) -> Iterator[tuple[EditCase, Sequence[float], str]]:
        """Yield each example as an edit.

        Raises:
            InputError: a correction does not have exactly one edit; names the line.
        """
        (version,) = corpus.systems.values()
        edits = edits_of_pairs(corpus, enumerate(version.lines), runtime)
        for row, example in enumerate(examples.rows):
            source, text = corpus.sources[row], version.lines[row]
            of_text = edits[row, text]
            if len(of_text) != 1:
                raise InputError(
                    f"{examples.path}, line {example.line}: the correction has {len(of_text)} "
                    f"edits; expected exactly one, to which `{self.example_verdict}` refers"
                )
            case = EditCase(row, source, None, of_text[0], of_text, nan, text, corpus.language)
            yield case, example.scores, example.reason

    def items(self, corpus: Corpus, runtime: Runtime) -> Sequence[EditCase]:
        """Return the edits of all corrections."""
        return self._cases(corpus, runtime)[0]

    def sheets(self, item: EditCase, wording: Prompt) -> list[Sheet[list[float]]]:
        """Return the prompt about an edit."""
        source, shown = item.language.joined(item.source), shown_edit(item)
        return [Sheet(VALIDITY, partial(render_fenced, wording, source, item.context, shown))]

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the numbers of valid and of all edits, systems × sentences × 2."""
        cases, edits = self._cases(corpus, runtime)
        verdicts, report = self._verdicts(cases, runtime)
        rest = iter(verdicts.tolist())
        counts = {
            pair: (sum(next(rest) for _ in of_pair), len(of_pair))
            for pair, of_pair in edits.items()
        }
        systems = corpus.systems.values()
        listed = [[counts[pair] for pair in enumerate(version.lines)] for version in systems]
        values = np.array(listed, dtype=np.float64)
        values[np.isnan(values[..., 0])] = np.nan
        unedited = np.count_nonzero(values[..., 1] == 0, axis=1).tolist()
        notes = [
            f"{self.name}: {name}: {count} outputs without edits have no score"
            for name, count in zip(corpus.names, unedited, strict=True)
            if count
        ]
        details = {**report.details, "unanswered": int(np.isnan(values[..., 0]).sum())}
        return Statistics(values, None, details, (*report.notes, *notes))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the shares of valid edits, systems × sentences."""
        return self.total_scores(statistics.values)

    def summands(self, statistics: Statistics) -> FloatArray:
        """Return the numbers of valid and of all edits, systems × sentences × 2."""
        verdicts: FloatArray = np.nan_to_num(statistics.values)
        return verdicts

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return the shares of valid edits."""
        return Scores(ratio(totals[..., 0], totals[..., 1], nan))

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """Return verdicts on given edits; see `gecjury.scoring.abilities.EditJudge`."""
        self._refuse_leaks(cases)
        return self._verdicts(self._in_context(cases), runtime)

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> Plan:
        """Return the plan for the questions that `edit_scores` would ask."""
        self._refuse_leaks(cases)
        judged, language = self._in_context(cases), _language_of(cases)
        return self.plan_of(lambda model: self.pose(judged, model, language, runtime), runtime)

    def _refuse_leaks(self, cases: Sequence[EditCase]) -> None:
        """Refuse examples that are among the edits' sentences."""
        sources, texts = [case.source for case in cases], [case.correction for case in cases]
        self.refuse_leaks({"source of an edit": sources, "correction of an edit": texts})

    def _in_context(self, cases: Sequence[EditCase]) -> Sequence[EditCase]:
        """Return the cases with the context that the judge is to see."""
        if self.context == "corpus":
            return cases
        if self.context == "none":
            return [replace(case, context=None) for case in cases]
        raise OptionError(
            f"{self.name}: context={self.context} cannot be used on a benchmark's own edits; "
            "use corpus or none"
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
        verdicts, report = self.verdicts(cases, _language_of(cases), runtime)
        return np.array([verdict for (verdict,) in verdicts]), report


def _language_of(cases: Sequence[EditCase]) -> Language:
    """Return the language of cases, which are all of one corpus."""
    return cases[0].language if cases else ENGLISH


def shown_edit(case: EditCase) -> dict[str, str]:
    """Return the correction with only the case's edit marked (`target`), and the `edit`."""
    tokens = case.source.split()
    corrected, (start, end) = list(tokens), (case.edit.start, case.edit.end)
    # The other edits are applied without marks, last one first; those before this edit shift it.
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
