"""ERRANT: precision, recall and F0.5 over the edits that hypothesis and reference share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, counted_edits
from gecjury.refbased.edit_metric import (
    BestReference,
    TypedEditMetric,
    Types,
    distinct_corrections,
    words,
)
from gecjury.refbased.references import QuotientRule, best_f
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase, EditCounts, Explanation, edit_label
from gecjury.scoring.scorer import Scorer, SentenceMean
from gecjury.scoring.scores import Statistics

Mode = Literal["correction", "span", "token"]
_Key = tuple[int, int] | tuple[int, int, str]
K = TypeVar("K")
Edited = Mapping[K, list[str]]
"""Keys by which a sentence's edits are compared, with the types of the edits behind each key."""


@dataclass(frozen=True)
class ERRANT(BestReference, TypedEditMetric):
    """F-score over edits extracted and typed by ERRANT (Bryant et al. 2017).

    Range 0 to 1, higher is better. Precision is 1 without false positives, recall 1 without false
    negatives. With several references the corpus score takes, sentence by sentence, the one that
    gives the best running F (ties: more TP, fewer FP, fewer FN), the sentence score the best by
    itself. Edits typed `noop` are no edits; `UNK` ones count for detection only.

    Attributes:
        mode: `correction` compares span and correction, `span` and `token` detection only (an
            insertion then belongs to the token on its right).
        beta: weight of recall.
        compat: `official` follows two habits of the official scorer: F is rounded to 4 digits
            before references are compared, and edits repeated at one place count repeatedly.
    """

    name: ClassVar[str] = "errant"
    summary: ClassVar[str] = "F0.5 over typed edits"
    paper: ClassVar[str] = "Bryant et al. 2017"
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})
    apart: ClassVar[bool] = False

    mode: Mode = "correction"
    beta: float = 0.5
    compat: Literal["gecjury", "official"] = "gecjury"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Count TP, FP, FN: systems × sentences × references × 3; details hold counts by type."""
        edits = self.edits(corpus, runtime)
        columns = [*edits.systems.values(), *edits.references]
        # Systems that made the same of a source share the edits, which so are looked at once. The
        # columns hold them all, so that no two have the same id.
        distinct = {id(line): line for lines in columns for line in lines}
        official = self.compat == "official"
        keys = {n: edit_keys(line, self.mode, repeats=official) for n, line in distinct.items()}
        by_column = [[keys[id(line)] for line in lines] for lines in columns]
        outputs, targets = by_column[: len(edits.systems)], by_column[len(edits.systems) :]
        counts: dict[tuple[int, int], tuple[int, int, int]] = {}
        values = np.zeros((len(outputs), len(corpus), len(targets), 3), dtype=np.int32)
        for system, lines in enumerate(outputs):
            for index, reference in enumerate(targets):
                both = [(id(made), id(gold)) for made, gold in zip(lines, reference, strict=True)]
                for row, pair in enumerate(both):
                    if pair not in counts:
                        counts[pair] = count_edits(lines[row], reference[row])
                if both:
                    values[system, :, index] = [counts[pair] for pair in both]
        by_pair: dict[tuple[int, int], Types] = {}

        def types_at(system: int, row: int, reference: int) -> Types:
            proposed, gold = outputs[system][row], targets[reference][row]
            types = by_pair.get((id(proposed), id(gold)))
            if types is None:
                types = by_pair[id(proposed), id(gold)] = count_types(proposed, gold)
            return types

        return self.typed_statistics(values, types_at, edits, zero=0)

    @property
    def rule(self) -> QuotientRule:
        """The rule that chooses a reference by the running F."""
        return best_f(self.beta, 4 if self.compat == "official" else None)

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
        """Label each edit as hit, wrong (the reference edits it otherwise), over or under."""
        proposed = {(e.start, e.end, e.correction): e for e in counted_edits(hypothesis)}
        gold = {(e.start, e.end, e.correction): e for e in counted_edits(reference)}
        rows = []
        for key, edit in proposed.items():
            # An edit that touches one of the reference corrects its error wrongly, and is not
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

    explain = Scorer.explain  # `explain -m errant` shows the same sentence


def edit_keys(edits: Sequence[Edit], mode: Mode, *, repeats: bool = False) -> dict[_Key, list[str]]:
    """Return the keys by which edits are compared, with the types of the edits behind each.

    Args:
        edits: one annotator's or system's edits.
        mode: a mode of `ERRANT`.
        repeats: keep every type of edits with equal keys, so that each counts; otherwise the
            first stands for all.
    """
    keys: dict[_Key, list[str]] = {}
    for edit in counted_edits(edits, unknown=mode != "correction"):
        spans: list[_Key]
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
) -> dict[str, Any]:
    return {
        "side": side,
        "edit": edit_label(edit),
        "from": words(source, edit),
        "type": edit.type,
        "verdict": verdict,
        "beside": "; ".join(near) or None,
    }
