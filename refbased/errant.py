"""ERRANT: precision, recall and F0.5 over the edits that hypothesis and reference share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import ClassVar, Literal, TypeVar

import numpy as np

from gecjury.core.arrays import IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, ReferenceMark
from gecjury.corpus.edits import Edit, Edits, counted_edits, edit_label
from gecjury.extraction.extract import CorpusEdits
from gecjury.refbased.edit_metric import (
    BestReference,
    TypedCounts,
    TypedEditMetric,
    Types,
    distinct_corrections,
    words,
)
from gecjury.refbased.references import RunningRule, best_f, wordless
from gecjury.scoring.abilities import CountsInParts, EditCase, EditCounts, Explanation
from gecjury.scoring.scorer import SentenceMean, setting
from gecjury.scoring.scores import Statistics

Mode = Literal["correction", "span", "token"]
_MatchedKey = tuple[int, int] | tuple[int, int, str]
K = TypeVar("K")
Edited = Mapping[K, list[str]]
"""Keys by which a sentence's edits are compared, with the types of the edits behind each key."""


@dataclass(frozen=True)
class ERRANT(BestReference, TypedEditMetric, CountsInParts):
    """F-score over edits extracted and typed by ERRANT (Bryant et al. 2017).

    Range 0 to 1, higher is better. Precision is 1 without false positives, recall 1 without false
    negatives. With several references, each sentence uses, for the corpus score, the reference with
    the best running F (ties: more TP, fewer FP, fewer FN), and for the sentence score, the one that
    is best for that sentence. Edits typed `noop` do not count; those typed `UNK` count for
    detection only, like those typed `Um`. An output without words has no hits.

    Attributes:
        mode: `correction` compares span and correction; `span` and `token` compare detection only
            (an insertion then belongs to the token on its right).
        beta: weight of recall.
        compat: `official` follows two habits of the official scorer: F is rounded to 4 digits
            before references are compared, and edits repeated at one place count repeatedly.
    """

    name: ClassVar[str] = "errant"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over typed edits"
    paper: ClassVar[str] = "Bryant et al. 2017"
    apart: ClassVar[bool] = False

    mode: Mode = "correction"
    beta: float = setting(0.5, scoring=True, least=0, most=1e100)
    compat: Literal["gecjury", "official"] = "gecjury"

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True, unless types of gold edits depend on the whole corpus."""
        return all(version.edits is None for version in corpus.references)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Count TP, FP, FN: systems × sentences × references × 3; details have counts by type."""
        return self.join_parts([self.count_part(corpus, runtime)], corpus)

    def join_parts(self, parts: Iterable[TypedCounts], corpus: Corpus) -> Statistics:
        """Return statistics with counts by type, for references chosen by running scores.

        Args:
            parts: results of `count_part`.
            corpus: the whole corpus.
        """
        return super().join_parts(self.typed_statistics(parts), corpus)

    def count_part(self, corpus: Corpus, runtime: Runtime) -> TypedCounts:
        """Count TP, FP and FN.

        Spans that a grammar checker marks without a suggestion are edits typed `UNK`. For a
        checker, details also contain counts by rule (`by_rule`): TP, FP, and the FP that no
        reference has.
        """
        edits = _with_marks(self.edits(corpus, runtime), corpus)
        columns = [*edits.systems.values(), *edits.references]
        # Systems with the same correction share its edits, which are then processed only once. The
        # columns keep all edits alive, so that no two have the same id.
        distinct = {id(line): line for lines in columns for line in lines}
        official = self.compat == "official"
        keys = {n: edit_keys(line, self.mode, repeats=official) for n, line in distinct.items()}
        by_column = [[keys[id(line)] for line in lines] for lines in columns]
        outputs, targets = by_column[: len(edits.systems)], by_column[len(edits.systems) :]
        counts: dict[tuple[int, int], tuple[int, int, int]] = {}
        values = np.zeros((len(outputs), len(corpus), len(targets), 3), dtype=np.int32)
        for system, lines in enumerate(outputs):
            for index, reference in enumerate(targets):
                pairs = [(id(made), id(gold)) for made, gold in zip(lines, reference, strict=True)]
                for row, pair in enumerate(pairs):
                    if pair not in counts:
                        counts[pair] = count_edits(lines[row], reference[row])
                if pairs:
                    values[system, :, index] = [counts[pair] for pair in pairs]
        by_pair: dict[tuple[int, int], Types] = {}

        def types_at(system: int, row: int, reference: int) -> Types:
            proposed, gold = outputs[system][row], targets[reference][row]
            types = by_pair.get((id(proposed), id(gold)))
            if types is None:
                types = by_pair[id(proposed), id(gold)] = count_types(proposed, gold)
            return types

        counted = TypedCounts(values, types_at, edits, zero=0).without_hits(wordless(corpus))
        return replace(counted, details=partial(self._by_rule, corpus, edits, targets))

    def _by_rule(
        self,
        corpus: Corpus,
        edits: CorpusEdits,
        targets: Sequence[Sequence[Edited[_MatchedKey]]],
        chosen: IntArray,
    ) -> dict[str, dict[str, dict[str, list[int]]]]:
        """Return counts of each checker's edits by the rule behind them, for references chosen.

        An edit belongs to the mark that it shares tokens with, or to the nearest: extraction may
        divide the text that a rule replaces, and place an insertion or a deletion next to it.
        """
        by_system: dict[str, dict[str, list[int]]] = {}
        for system, (name, version) in enumerate(corpus.systems.items()):
            if version.marks is None:
                continue
            counts = by_system.setdefault(name, {})
            for row, marks in enumerate(version.marks):
                made = counted_edits(edits.systems[name][row], detected=self.mode != "correction")
                named = [replace(edit, type=_nearest(edit, marks).rule) for edit in made]
                of_row = [lines[row] for lines in targets]
                for key, rules in edit_keys(named, self.mode).items():
                    hit = key in of_row[chosen[system, row]]
                    alarm = not any(key in gold for gold in of_row)
                    for rule in rules:
                        count = counts.setdefault(rule, [0, 0, 0])
                        count[not hit] += 1
                        count[2] += alarm
        return {"by_rule": by_system} if by_system else {}

    @property
    def rule(self) -> RunningRule:
        """The rule that chooses a reference by the running F."""
        return best_f(self.beta, 4 if self.compat == "official" else 12)

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return 1 for an edit of the reference (`mode=token`: the share of its tokens), else 0."""
        references = [
            [edit_keys(line, self.mode) for line in lines]
            for lines in self.reference_edits(corpus, runtime)
        ]
        corrections, place = distinct_corrections(cases)
        counts = np.zeros((len(corrections), len(references), 3))
        for number, (row, edits) in enumerate(corrections):
            output = edit_keys(edits, self.mode)
            for index, lines in enumerate(references):
                counts[number, index] = count_edits(output, lines[row])
        credit = np.zeros((len(cases), len(references)))
        for number, case in enumerate(cases):
            keys = edit_keys([case.edit], self.mode)
            for index, lines in enumerate(references):
                credit[number, index] = np.mean([key in lines[case.row] for key in keys])
        return self.credited(credit, counts, place)

    def explain(
        self, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
    ) -> Explanation:
        """Label each edit as hit, wrong (the reference has another edit there), over or under."""
        proposed = {(e.start, e.end, e.correction): e for e in counted_edits(hypothesis)}
        gold = {(e.start, e.end, e.correction): e for e in counted_edits(reference)}
        rows = []
        for key, edit in proposed.items():
            # An edit that touches a reference edit corrects a real error wrongly: it is not
            # needless.
            near = [edit_label(other) for other in gold.values() if _touch(edit, other)]
            verdict = "hit" if key in gold else "wrong" if near else "over"
            rows.append((edit.start, _verdict(source, edit, verdict, "hypothesis", near)))
        for key, edit in gold.items():
            near = [edit_label(other) for other in proposed.values() if _touch(edit, other)]
            if key not in proposed:
                verdict = "wrong" if near else "under"
                rows.append((edit.start, _verdict(source, edit, verdict, "reference", near)))
        rows.sort(key=itemgetter(0))
        columns = ("side", "edit", "from", "type", "verdict", "beside")
        scores = self.explained_scores(source, hypothesis, reference, runtime)
        return Explanation(scores, columns, [row for _, row in rows])


@dataclass(frozen=True)
class SentenceERRANT(SentenceMean, ERRANT):
    """Mean of ERRANT's sentence scores, 0 to 1, higher is better."""

    name: ClassVar[str] = "sent-errant"
    summary: ClassVar[str] = "mean of ERRANT's sentence scores"

    explain = None  # type: ignore[assignment]  # `explain -m errant` shows the same sentence


def _with_marks(edits: CorpusEdits, corpus: Corpus) -> CorpusEdits:
    """Return edits together with the spans that a checker marks but does not correct."""
    systems = dict(edits.systems)
    for name, version in corpus.systems.items():
        if version.marks is not None:
            systems[name] = [
                (*line, *(Edit(m.start, m.end, "", "UNK") for m in marks if not m.corrected))
                for line, marks in zip(systems[name], version.marks, strict=True)
            ]
    return replace(edits, systems=systems)


def _nearest(edit: Edit, marks: Sequence[ReferenceMark]) -> ReferenceMark:
    """Return the mark that shares most tokens with an edit, or else is nearest to it.

    Of several, it is the one whose ends are nearest to the edit's, then the first.
    """
    # An edit typed `UNK` is a mark without a suggestion, any other comes from a mark with one.
    of_kind = [mark for mark in marks if mark.corrected == (edit.type != "UNK")]

    def fit(mark: ReferenceMark) -> tuple[int, int]:
        shared = min(mark.end, edit.end) - max(mark.start, edit.start)
        return shared, -abs(mark.start - edit.start) - abs(mark.end - edit.end)

    return max(of_kind, key=fit)


def edit_keys(
    edits: Sequence[Edit], mode: Mode, *, repeats: bool = False
) -> dict[_MatchedKey, list[str]]:
    """Return the keys by which edits are compared, with the types of the edits behind each.

    Args:
        edits: one annotator's or system's edits.
        mode: a mode of `ERRANT`.
        repeats: keep the types of all edits with equal keys, so that each counts; otherwise only
            the first counts.
    """
    keys: dict[_MatchedKey, list[str]] = {}
    for edit in counted_edits(edits, detected=mode != "correction"):
        spans: list[_MatchedKey]
        if mode == "correction":
            spans = [(edit.start, edit.end, edit.correction)]
        elif mode == "span":
            spans = [(edit.start, edit.end)]
        else:
            spans = [
                (token, token + 1) for token in range(edit.start, max(edit.end, edit.start + 1))
            ]
        for key in spans:
            types = keys.setdefault(key, [])
            if repeats or not types:
                types.append(edit.type)
    return keys


def count_edits(hypothesis: Edited[K], reference: Edited[K]) -> tuple[int, int, int]:
    """Count TP, FP, FN of one sentence; a shared key counts as often as the reference has it."""
    if not hypothesis:
        return 0, 0, sum(map(len, reference.values()))
    tp = sum(len(reference[key]) for key in hypothesis if key in reference)
    fp = sum(len(types) for key, types in hypothesis.items() if key not in reference)
    fn = sum(len(types) for key, types in reference.items() if key not in hypothesis)
    return tp, fp, fn


def count_types(hypothesis: Edited[K], reference: Edited[K]) -> Types:
    """Count edits by type: TP and FN by the reference edit's type, FP by the hypothesis edit's."""
    counts: dict[tuple[str, int], int] = {}
    for key, types in hypothesis.items():
        shared = reference.get(key)
        for kind in types if shared is None else shared:
            counts[kind, int(shared is None)] = counts.get((kind, int(shared is None)), 0) + 1
    for key, types in reference.items():
        if key not in hypothesis:
            for kind in types:
                counts[kind, 2] = counts.get((kind, 2), 0) + 1
    return counts


def _touch(first: Edit, second: Edit) -> bool:
    """Return True if two edits change the same tokens or insert at the same place."""
    if first.start == first.end or second.start == second.end:
        return first.start <= second.end and second.start <= first.end
    return first.start < second.end and second.start < first.end


def _verdict(
    source: str, edit: Edit, verdict: str, side: str, near: Sequence[str]
) -> dict[str, object]:
    return {
        "side": side,
        "edit": edit_label(edit),
        "from": words(source, edit),
        "type": edit.type,
        "verdict": verdict,
        "beside": "; ".join(near) or None,
    }
