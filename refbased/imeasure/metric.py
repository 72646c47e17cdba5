"""I-measure: three-way token alignment, weighted accuracy and gain over the source.

Felice and Briscoe (2015), "Towards a standard evaluation method for grammatical error detection
and correction". Source, hypothesis and reference are aligned exactly
(`gecjury.refbased.imeasure.alignment`); every column of the alignment is one of

    TN     nothing to correct, nothing changed
    TP     an error, corrected as in the reference
    FP     no error, but changed
    FN     an error, not changed
    wrong  an error, changed to something else: counts as FP, FN and FPN at once

and the counts give WAcc = (w·TP+TN) / (w·(TP+FP)+TN+FN-(w+1)·FPN/2) with w = 2. I compares the WAcc
of the hypothesis with that of leaving the source unchanged. This baseline has a separate alignment,
of source, source and reference, as in the published official program (mfelice/imeasure, ieval.py):
on the alignment with the hypothesis it would depend on the system being judged (as in the program's
first version). References are never mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray, IntArray, NumberArray
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Corpus
from gecjury.refbased.imeasure.alignment import AlignedColumn, align_many
from gecjury.refbased.references import choose_best, wordless
from gecjury.scoring.abilities import CountsInParts, HasParts
from gecjury.scoring.scorer import SummedScorer
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import ratio

_COUNTS = ("tp", "tn", "fp", "fn", "fpn", "source_tn", "source_fn")
"""Names of the last axis of every count array of this module; the last two count the source."""

_TP, _TN, _FP, _FN, _WRONG = range(5)


def _column_counts(columns: Sequence[AlignedColumn]) -> tuple[int, int, int, int, int]:
    """Count TP, TN, FP, FN and FPN of correction; a gap equals only another gap."""
    classes = [0] * 5
    for a, b, c in columns:
        if a == b:
            classes[_TN if a == c else _FN] += 1
        elif a == c:
            classes[_FP] += 1
        else:
            classes[_TP if b == c else _WRONG] += 1
    tp, tn, fp, fn, wrong = classes
    return tp, tn, fp + wrong, fn + wrong, wrong


def sentence_counts(
    source: Sequence[str],
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
) -> IntArray:
    """Count corrections for every hypothesis and reference of one source sentence.

    Equal hypotheses and equal references are aligned once. The counts of every hypothesis are
    followed by those of the source, as if it were the hypothesis.

    Args:
        source: source tokens.
        hypotheses: tokens of each hypothesis.
        references: tokens of each reference.

    Returns:
        Array of hypotheses × references × `_COUNTS`.
    """
    untouched = tuple(source)
    hyps = {h: n for n, h in enumerate(dict.fromkeys([*map(tuple, hypotheses), untouched]))}
    refs = {r: n for n, r in enumerate(dict.fromkeys(map(tuple, references)))}
    counts = np.zeros((len(hyps), len(refs), len(_COUNTS)), dtype=np.int64)
    for m, row in enumerate(align_many(source, list(hyps), list(refs))):
        for n, columns in enumerate(row):
            counts[m, n, :5] = _column_counts(columns)
    counts[:, :, 5:] = counts[hyps[untouched], :, [_TN, _FN]].T
    rows = np.array([hyps[tuple(h)] for h in hypotheses], dtype=np.intp)
    cells = np.array([refs[tuple(r)] for r in references], dtype=np.intp)
    return counts[rows[:, None], cells[None, :]]


def detection(counts: IntArray) -> IntArray:
    """Turn counts of correction into counts of detection, of the same shape (last axis `_COUNTS`).

    A wrong correction of a real error detects it: it is a TP instead of an FP and an FN.
    """
    tp, tn, fp, fn, fpn, *source = np.moveaxis(counts, -1, 0)
    return np.stack([tp + fpn, tn, fp - fpn, fn - fpn, np.zeros_like(fpn), *source], axis=-1)


def source_counts(counts: NumberArray) -> IntArray:
    """Return the counts of the unchanged source, aligned with the reference without a hypothesis.

    They have the shape of the given counts (last axis `_COUNTS`).
    """
    tn, fn = counts[..., 5], counts[..., 6]
    zero = np.zeros_like(tn)
    return np.stack([zero, tn, zero, fn, zero, tn, fn], axis=-1)


def weighted_accuracy(counts: NumberArray, weight: float = 2.0) -> FloatArray:
    """Return WAcc over the last axis: 0 to 1, higher is better, 1 without any column.

    Args:
        counts: array whose last axis is `_COUNTS`.
        weight: w, how many times TP and FP count; 2 in the paper, 1 gives plain accuracy.
    """
    tp, tn, fp, fn, fpn = np.moveaxis(counts[..., :5].astype(np.float64), -1, 0)
    below = weight * (tp + fp) + tn + fn - (weight + 1) * (fpn / 2)
    return ratio(weight * tp + tn, below, 1.0)


def improvement(counts: NumberArray, weight: float = 2.0) -> FloatArray:
    """Return I over the last axis: the gain in WAcc over the unchanged source.

    (sys-base)/(1-base) where better, sys/base-1 where worse, and ⌊WAcc⌋ where equal: 1 if both are
    perfect, else 0.

    Args:
        counts: array whose last axis is `_COUNTS`; for a corpus, the sum over its sentences.
        weight: w of WAcc.

    Returns:
        Of the counts' shape without the last axis, from -1 (everything made worse) to 1
        (everything corrected), higher is better.
    """
    system = weighted_accuracy(counts, weight)
    base = weighted_accuracy(source_counts(counts), weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        better = (system - base) / (1.0 - base)
        worse = system / base - 1.0
    return np.where(system == base, np.floor(system), np.where(system > base, better, worse))


def choose_references(counts: IntArray, weight: float = 2.0) -> NDArray[np.intp]:
    """Choose the best reference of each hypothesis, sentence by sentence.

    References are compared by WAcc, I and accuracy of correction, then of detection; the first wins
    a tie. This is the official program's choice under `-nomix` with its default options.

    Args:
        counts: array ... × references × `_COUNTS`.
        weight: w of WAcc.

    Returns:
        Array of reference indices, of the shape of `counts` without its last two axes.
    """
    keys = [
        key
        for aspect in (counts, detection(counts))
        for key in (
            weighted_accuracy(aspect, weight),
            improvement(aspect, weight),
            weighted_accuracy(aspect, 1.0),
        )
    ]
    return choose_best(keys, np.ones(counts.shape[:-1], dtype=bool))


_MOST_CELLS = 25_000_000
"""Limit of a table of two sentences' tokens (5,000 each): three tables of 100 MB, and seconds."""

_LEFT_OUT = -1


@dataclass(frozen=True)
class IMeasure(SummedScorer, CountsInParts, HasParts):
    """I-measure (Felice and Briscoe 2015): gain in weighted accuracy over leaving the source.

    Range −1 (everything made worse) to 1 (everything corrected), higher is better; the source
    itself has 0, or 1 where the reference leaves it unchanged. The source's weighted accuracy comes
    from a separate alignment with the reference. References are not mixed; each sentence uses the
    one that is best for it by WAcc, then I and accuracy of correction, then of detection. An empty
    reference is replaced by the source, as in the official program. An output without words has no
    true positives, so it scores −1, or 0 where the source has nothing right.

    Attributes:
        weight: how many times a true or false positive counts; 2 in the paper.
    """

    name: ClassVar[str] = "i-measure"
    version: ClassVar[int] = 3
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "gain in weighted token accuracy over the source"
    paper: ClassVar[str] = "Felice and Briscoe 2015"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})

    weight: float = option(2.0, least=1, most=1e100)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Count corrections against the best reference, systems × sentences × `_COUNTS`."""
        return self.join_parts([self.count_part(corpus, runtime)], corpus)

    def join_parts(self, parts: Iterable[Statistics], corpus: Corpus) -> Statistics:
        """Return the statistics of the corpus, with notes on empty references and lines left out.

        Args:
            parts: results of `count_part`.
            corpus: the whole corpus.
        """
        statistics = super().join_parts(parts, corpus)
        left_out = (statistics.values[..., 0] == _LEFT_OUT).any(axis=0)
        notes = []
        pairs = (p for v in corpus.references for p in zip(corpus.sources, v.lines, strict=True))
        if any(source.strip() and not line.strip() for source, line in pairs):
            notes.append(f"{self.name}: an empty reference counts as unchanged")
        if lines := (1 + np.flatnonzero(left_out)).tolist():
            notes.append(
                f"{self.name}: too long to be aligned and left out: {named_lines(lines)}; split "
                "such lines into sentences"
            )
        return replace(statistics, notes=tuple(notes))

    def count_part(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics without a note."""
        sources = [source.split() for source in corpus.sources]
        systems = [[line.split() for line in v.lines] for v in corpus.systems.values()]
        references = [
            [line.split() or source for line, source in zip(v.lines, sources, strict=True)]
            for v in corpus.references
        ]
        counts = np.zeros(
            (len(systems), len(sources), len(references), len(_COUNTS)), dtype=np.int64
        )
        left_out = np.zeros((len(systems), len(sources)), dtype=bool)
        for row in runtime.track(range(len(sources)), f"{self.name}: alignment", len(sources)):
            targets = [r[row] for r in references]
            texts = [s[row] for s in systems]
            longest = max(map(len, targets), default=0)
            for system, output in enumerate(texts):
                # The largest of the pair tables is that of the two longest texts.
                _, shorter, longer = sorted((len(sources[row]), len(output), longest))
                left_out[system, row] = shorter * longer > _MOST_CELLS
            # The sentence's other outputs are still scored.
            kept = np.flatnonzero(~left_out[:, row])
            if len(kept):
                counts[kept, row] = sentence_counts(sources[row], [texts[k] for k in kept], targets)
        # What an output without words deletes as the reference does is no correction.
        empty = wordless(corpus)
        lost = counts[empty]
        lost[:, [_FP, _FN, _WRONG]] += lost[:, :1]
        lost[:, _TP] = 0
        counts[empty] = lost
        best = choose_references(counts, self.weight)
        chosen = np.take_along_axis(counts, best[..., None, None], axis=2)[:, :, 0]
        # A sentence without counts adds nothing to the corpus and has no score.
        chosen[left_out] = _LEFT_OUT
        return Statistics(chosen)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return I of every single sentence; NaN for one that is too long to be aligned."""
        values = statistics.values
        left_out = values[..., 0] == _LEFT_OUT
        scores = self.total_scores(np.where(left_out[..., None], 0, values))
        for part in (scores.score, scores.precision, scores.recall):
            if part is not None:
                part[left_out] = np.nan
        return scores

    def summands(self, statistics: Statistics) -> NumberArray:
        """Return the counts, systems × sentences × `_COUNTS`."""
        counts: NumberArray = np.maximum(statistics.values, 0)
        return counts

    def total_scores(self, counts: NumberArray) -> Scores:
        """Return I of counts, ... × `_COUNTS`."""
        tp, _, fp, fn = np.moveaxis(counts[..., :4].astype(np.float64), -1, 0)
        return Scores(
            improvement(counts, self.weight), ratio(tp, tp + fp, 1.0), ratio(tp, tp + fn, 1.0)
        )
