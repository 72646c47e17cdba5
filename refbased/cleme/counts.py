"""CLEME and CLEME2.0: chunks with boundaries shared by a hypothesis and all references.

Ye et al. (2023), "CLEME: De-biasing Multi-reference Evaluation for Grammatical Error Correction",
and Ye et al. (2025) for CLEME2.0. Edits of hypothesis and references that touch or overlap are
merged into chunks, so that every chunk can be compared as a whole; the stretches between them are
unchanged chunks. Each chunk is one of

    tp           changed as in the reference
    fp_needed    changed, but not as in the reference
    fp_needless  changed, although the reference leaves it
    fn           left, although the reference changes it
    tn           left by both

either for each reference separately (*dependent*) or for all together (*independent*: tp if any
reference has it, fp_needed if any reference changes the chunk, fn if all change it). Counts are
weighted by the length of the chunk, relative to the mean length of chunks that references change.

A chunk whose edits leave its text as it is counts as unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.corpus.edits import Edit, counted_edits, keeps_words, ordered_edits
from gecjury.stats.counts import ratio

CLEME_COUNTS = ("tp", "fp_needed", "fp_needless", "fn", "tn")
"""Names of the last axis of every count array of this module."""

_TP, _FP_NEEDED, _FP_NEEDLESS, _FN, _TN = range(5)

HIT_WEIGHTS = (0.45, 0.35, 0.15, 0.05)
"""CLEME2.0 weights of hit, wrong, under and over at corpus level."""

SENTENCE_HIT_WEIGHTS = (0.35, 0.25, 0.20, 0.20)
"""CLEME2.0 weights of hit, wrong, under and over at sentence level."""


@dataclass(frozen=True, slots=True)
class LengthWeight:
    """A weight of chunks by length: α / (1 + (α-1)·exp(±(length-mean))), clipped.

    Attributes:
        alpha: α; the weight approaches it, and is 1 at the mean length, before clipping.
        low: least weight.
        high: greatest weight.
        falling: longer chunks weigh less (false positives) instead of more.
    """

    alpha: float
    low: float
    high: float
    falling: bool = False

    def __call__(self, lengths: NDArray[np.integer], mean: float) -> FloatArray:
        """Return the weights of chunks of these lengths for a mean length."""
        distance = (lengths - mean) * (1.0 if self.falling else -1.0)
        # Far beyond any clip: keeps exp from overflowing on absurdly long chunks.
        raw = self.alpha / (1.0 + (self.alpha - 1.0) * np.exp(np.minimum(distance, 700.0)))
        weights: FloatArray = np.clip(raw, self.low, self.high)
        return weights


@dataclass(frozen=True, slots=True)
class Weighting:
    """Length weights of true positives, false positives and false negatives; tn weighs 1."""

    tp: LengthWeight
    fp: LengthWeight
    fn: LengthWeight


# Constants of the official program (THUKElab/CLEME, constants.py).
_CORPUS_TP = LengthWeight(2.0, 0.75, 1.25)
CORPUS_WEIGHTS = Weighting(_CORPUS_TP, LengthWeight(2.0, 0.75, 1.25, True), _CORPUS_TP)
_DEPENDENT_TP, _INDEPENDENT_TP = LengthWeight(10.0, 1.0, 10.0), LengthWeight(10.0, 2.5, 10.0)
_SENTENCE_FP, _SENTENCE_FN = LengthWeight(10.0, 0.25, 1.0, True), LengthWeight(10.0, 1.0, 1.0)

SENTENCE_WEIGHTS: Mapping[str, tuple[Weighting, Weighting]] = {
    "gecjury": (
        Weighting(_DEPENDENT_TP, _SENTENCE_FP, _SENTENCE_FN),
        Weighting(_INDEPENDENT_TP, _SENTENCE_FP, _SENTENCE_FN),
    ),
    "official": (CORPUS_WEIGHTS, CORPUS_WEIGHTS),
    # The weights behind the published SEEDA tables (Goto et al. 2026): they reproduce the four
    # CLEME-independent cells of table 1 within .001.
    "published": (
        Weighting(_DEPENDENT_TP, LengthWeight(10.0, 0.25, 10.0, True), _CORPUS_TP),
        Weighting(_INDEPENDENT_TP, _SENTENCE_FP, _CORPUS_TP),
    ),
}
"""Weights at sentence level, dependent and independent, by `CLEME.compat`."""


ChunkText = tuple[str, ...] | None
"""The text of a chunk after a set of edits is applied; None if they leave it unchanged."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A source sentence cut into chunks.

    Attributes:
        spans: (start, end) of every chunk over source tokens, in order; start == end is a place
            where tokens are only inserted.
        texts: for every set of edits, the new text of each chunk; None if it is unchanged.
    """

    spans: tuple[tuple[int, int], ...]
    texts: tuple[tuple[ChunkText, ...], ...]


def _merged_spans(edit_sets: Sequence[Sequence[Edit]]) -> list[list[int]]:
    """Return the spans of the edits; spans that touch or overlap are merged."""
    merged: list[list[int]] = []
    # Touching edits are merged like overlapping ones: the place between them belongs to both.
    for edit in sorted((e for edits in edit_sets for e in edits), key=lambda e: e.start):
        if merged and edit.start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], edit.end)
        else:
            merged.append([edit.start, edit.end])
    return merged


def _chunk_text(source: Sequence[str], start: int, end: int, edits: Sequence[Edit]) -> ChunkText:
    """Return the text of a chunk after its edits, or None if they change nothing."""
    if not edits:
        return None
    text: list[str] = []
    done = start
    for edit in edits:
        text += source[done : edit.start]
        text += edit.tokens
        done = edit.end
    text += source[done:end]
    return None if text == list(source[start:end]) else tuple(text)


def partition(source: Sequence[str], edit_sets: Sequence[Sequence[Edit]]) -> Partition:
    """Cut a source into chunks shared by several sets of edits.

    Args:
        source: source tokens.
        edit_sets: the edits of each corrected version, without overlaps within a set.

    Returns:
        The chunks, at least one unless the source is empty and unedited.

    Raises:
        InputError: an edit lies outside the source or overlaps another of its set.
    """
    # Positions and overlaps are checked here, so that the loop below needs no checks.
    ordered_sets = [ordered_edits(edits, len(source)) for edits in edit_sets]
    # Unedited and edited stretches alternate; the first and the last are unedited.
    ends = [0, *chain.from_iterable(_merged_spans(edit_sets)), len(source)]
    turns = [(*span, bool(turn % 2)) for turn, span in enumerate(pairwise(ends))]
    spans = [(start, end, edited) for start, end, edited in turns if edited or start < end]
    texts = []
    for ordered in ordered_sets:
        row: list[ChunkText] = []
        n = 0
        for start, end, edited in spans:
            first = n
            # Both lists are in order, so one pass over the edits serves all chunks.
            while edited and n < len(ordered) and ordered[n].end <= end:
                n += 1
            row.append(_chunk_text(source, start, end, ordered[first:n]))
        texts.append(tuple(row))
    return Partition(tuple((start, end) for start, end, _ in spans), tuple(texts))


@dataclass(frozen=True, slots=True)
class ChunkVerdicts:
    """The verdicts on all chunks of one system's output, for every reference.

    Attributes:
        usable: sentences × references; False for a reference that was dropped. One column if
            chunks are judged against all references together.
        sentence: sentence index of each verdict.
        reference: reference index of each verdict.
        kind: index into `CLEME_COUNTS` of each verdict.
        length: tokens of the chunk, the larger of source and hypothesis.
        changed: number of chunks that references change, counted once for each reference.
        changed_tokens: number of their tokens, for each the larger of source and reference.
    """

    usable: BoolArray
    sentence: NDArray[np.integer]
    reference: NDArray[np.integer]
    kind: NDArray[np.integer]
    length: NDArray[np.integer]
    changed: int
    changed_tokens: int

    @property
    def mean_length(self) -> float:
        """Mean length of the chunks that references change; 0 if they change none."""
        return self.changed_tokens / self.changed if self.changed else 0.0

    def compact(self) -> ChunkVerdicts:
        """Return the verdicts in little memory."""
        return replace(
            self,
            sentence=self.sentence.astype(np.int32),
            reference=self.reference.astype(np.int32),
            kind=self.kind.astype(np.int8),
            length=self.length.astype(np.int32),
        )

    def counts(self, *weightings: Weighting) -> FloatArray:
        """Return counts weighted by length; those of several weightings are concatenated.

        Returns:
            Sentences × references × `CLEME_COUNTS` of each weighting; NaN for a dropped reference.
        """
        by_weighting = []
        for weighting in weightings:
            weight = np.ones(len(self.kind))
            for kinds, by_length in (
                ((_TP,), weighting.tp),
                ((_FP_NEEDED, _FP_NEEDLESS), weighting.fp),
                ((_FN,), weighting.fn),
            ):
                chosen = np.isin(self.kind, kinds)
                weight[chosen] = by_length(self.length[chosen], self.mean_length)
            by_weighting.append(weight)
        rows, columns = self.usable.shape
        place = self.sentence.astype(np.int64) * columns + self.reference
        cell = place * len(CLEME_COUNTS) + self.kind
        size = rows * columns * len(CLEME_COUNTS)
        flat = [np.bincount(cell, weights=weight, minlength=size) for weight in by_weighting]
        tables = [counts.reshape(rows, columns, len(CLEME_COUNTS)) for counts in flat]
        # Without any chunk, bincount returns integers.
        result: FloatArray = np.concatenate(tables, axis=-1, dtype=np.float64)
        result[~self.usable] = np.nan
        return result


def _verdict(hypothesis: ChunkText, references: Sequence[ChunkText]) -> int:
    """Return the verdict on a chunk against some references together, or against a single one."""
    if hypothesis is None:
        return _TN if None in references else _FN
    if hypothesis in references:
        return _TP
    return _FP_NEEDED if any(r is not None for r in references) else _FP_NEEDLESS


def _usable(source: Sequence[str], references: Sequence[Sequence[Edit]]) -> list[int]:
    """Return the references that keep some text, or the first if none does."""
    return [n for n, edits in enumerate(references) if keeps_words(source, edits)] or [0]


def judge_chunks(
    sources: Sequence[Sequence[str]],
    hypothesis: Sequence[Sequence[Edit]],
    references: Sequence[Sequence[Sequence[Edit]]],
    *,
    independent: bool = False,
) -> ChunkVerdicts:
    """Judge every chunk of one system's output.

    References that delete the whole sentence are dropped, unless no other is left.

    Args:
        sources: N tokenised sources.
        hypothesis: N lists of edits.
        references: R × N lists of edits.
        independent: judge against all references together instead of one by one.

    Raises:
        InputError: an edit lies outside its source or overlaps another of its set.
    """
    columns = 1 if independent else len(references)
    usable = np.zeros((len(sources), columns), dtype=bool)
    rows: list[tuple[int, int, int, int]] = []
    total = changed = 0
    for n, source in enumerate(sources):
        made = counted_edits(hypothesis[n])
        wanted = [counted_edits(reference[n]) for reference in references]
        kept = _usable(source, wanted)
        usable[n, 0 if independent else kept] = True
        parts = partition(source, [made, *(wanted[k] for k in kept)])
        for m, (start, end) in enumerate(parts.spans):
            output, *others = (text[m] for text in parts.texts)
            span = end - start
            size = span if output is None else max(span, len(output))
            # The mean length is over chunks that references change, once for each reference.
            for text in others:
                if text is not None:
                    total += max(span, len(text))
                    changed += 1
            if independent:
                kinds = [_verdict(output, others)]
            else:
                kinds = [_verdict(output, (text,)) for text in others]
            places = [0] if independent else kept
            rows += [(n, k, verdict, size) for k, verdict in zip(places, kinds, strict=True)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    sentence, reference, kind, length = table.T
    return ChunkVerdicts(usable, sentence, reference, kind, length, changed, total)


def confusion(counts: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return TP, FP (needed and needless) and FN, each without the last axis (`CLEME_COUNTS`)."""
    tp, needed, needless, fn, *_ = np.moveaxis(counts, -1, 0)
    return tp, needed + needless, fn


def components(counts: FloatArray) -> tuple[FloatArray, ...]:
    """Return the four rates of CLEME2.0 (hit, wrong, under, over), each 0 to 1.

    hit, wrong and under are the shares of the needed changes (tp+fp_needed+fn) that were made
    correctly, made wrongly and not made; over is the share of the changes made (tp+fp) that were
    not needed. Higher is better for hit, lower for the others. A share of nothing is 0 (the
    official rule).

    Args:
        counts: shape (..., columns), the last axis begins as in `CLEME_COUNTS`.

    Returns:
        Four arrays of shape (...).
    """
    tp, needed, needless, fn, *_ = np.moveaxis(counts, -1, 0)
    wanted, made = tp + needed + fn, tp + needed + needless
    shares = ((tp, wanted), (needed, wanted), (fn, wanted), (needless, made))
    return tuple(ratio(part, whole, 0.0) for part, whole in shares)


def combined(
    counts: FloatArray, weights: tuple[float, float, float, float] = HIT_WEIGHTS
) -> FloatArray:
    """Return CLEME2.0's score: w1·hit + w2·(1-wrong) + w3·(1-under) + w4·(1-over).

    Higher is better.

    Returns:
        Of the counts' shape without the last axis (`CLEME_COUNTS`).
    """
    hit, wrong, under, over = components(counts)
    a, b, c, d = weights
    return a * hit + b * (1 - wrong) + c * (1 - under) + d * (1 - over)
