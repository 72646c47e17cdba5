"""ERRANT: precision, recall and F0.5 over the edits that hypothesis and reference share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.extraction.extract import CorpusEdits
from gecjury.refbased.edit_metric import EditScorer, check_beta
from gecjury.refbased.references import RatioRule, best_f, choose_best, choose_running, prf
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["ERRANT", "SentenceERRANT", "edit_keys"]

Mode = Literal["correction", "span", "token"]
Key = tuple[int, int] | tuple[int, int, str]


@dataclass(frozen=True)
class ERRANT(EditScorer):
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
    score_options: ClassVar[frozenset[str]] = frozenset({"beta"})

    mode: Mode = "correction"
    beta: float = 0.5
    compat: Literal["gecjury", "official"] = "gecjury"

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """TP, FP, FN: systems × sentences × references × 3; details hold counts by type."""
        edits = self.edits(corpus, runtime)
        official = self.compat == "official"
        references = [
            [edit_keys(line, self.mode, repeats=official) for line in reference]
            for reference in edits.references
        ]
        shape = len(edits.systems), len(corpus), len(references), 3
        values = np.zeros(shape, dtype=np.int32)
        for system, lines in enumerate(edits.systems.values()):
            for row, line in enumerate(lines):
                hypothesis = edit_keys(line, self.mode, repeats=official)
                for index, reference in enumerate(references):
                    values[system, row, index] = _count(hypothesis, reference[row])
        return Statistics(
            values, details=self._by_type(edits, references, values), notes=edits.notes
        )

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The best reference's score of each sentence."""
        values = statistics.values.astype(np.float64)
        usable = np.ones(values.shape[:3], dtype=bool)
        best = choose_best(self._rule(values, values), usable)
        chosen = np.take_along_axis(values, best[..., None, None], axis=2)[:, :, 0]
        precision, recall, score = prf(chosen, self.beta)
        return Scores(score, precision, recall)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the counts summed by the running choice of references."""
        totals, _ = choose_running(statistics.values, self._rule, draws)
        precision, recall, score = prf(totals, self.beta)
        return Scores(score, precision, recall)

    @property
    def _rule(self) -> RatioRule:
        return best_f(self.beta, 4 if self.compat == "official" else None)

    def _by_type(
        self,
        edits: CorpusEdits,
        references: Sequence[Sequence[Mapping[Key, list[str]]]],
        values: NDArray[np.int32],
    ) -> dict[str, dict[str, dict[str, list[int]]]]:
        """TP, FP, FN by error type over the references that the corpus score chose.

        TP and FN belong to the reference edit's type, FP to the hypothesis edit's.
        """
        _, chosen = choose_running(values, self._rule)
        found: dict[str, dict[str, list[int]]] = {}
        for system, (name, lines) in enumerate(edits.systems.items()):
            table = found.setdefault(name, {})
            for row, line in enumerate(lines):
                hypothesis = edit_keys(line, self.mode, repeats=self.compat == "official")
                reference = references[int(chosen[system, row])][row]
                for key, types in hypothesis.items():
                    shared = reference.get(key)
                    for kind in types if shared is None else shared:
                        table.setdefault(kind, [0, 0, 0])[shared is None] += 1
                for key, types in reference.items():
                    if key not in hypothesis:
                        for kind in types:
                            table.setdefault(kind, [0, 0, 0])[2] += 1
        return {"by_type": found}


@dataclass(frozen=True)
class SentenceERRANT(ERRANT):
    """Mean of ERRANT's sentence scores, 0 to 1, higher is better."""

    name: ClassVar[str] = "sent-errant"
    summary: ClassVar[str] = "mean of ERRANT's sentence scores"

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Means over the sentences, of a resampled corpus with `draws`."""
        return self.sentence_scores(statistics).mean(draws)


def edit_keys(edits: Sequence[Edit], mode: Mode, *, repeats: bool = False) -> dict[Key, list[str]]:
    """What is compared of a sentence's edits, with the types of the edits behind each key.

    Args:
        edits: one annotator's or system's edits.
        mode: see `ERRANT`.
        repeats: keep every type of edits with equal keys, so that each counts; otherwise the
            first stands for all.
    """
    keys: dict[Key, list[str]] = {}
    for edit in edits:
        if edit.type == "noop" or (mode == "correction" and edit.type == "UNK"):
            continue
        spans: list[Key]
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


def _count(
    hypothesis: Mapping[Key, list[str]], reference: Mapping[Key, list[str]]
) -> tuple[int, int, int]:
    """TP, FP, FN of one sentence; a shared key counts as often as the reference has it."""
    if not hypothesis:
        return 0, 0, sum(map(len, reference.values()))
    tp = sum(len(reference[key]) for key in hypothesis if key in reference)
    fp = sum(len(types) for key, types in hypothesis.items() if key not in reference)
    fn = sum(len(types) for key, types in reference.items() if key not in hypothesis)
    return tp, fp, fn
