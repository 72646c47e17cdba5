"""The bootstrap: corpora and sets of systems drawn with replacement, and percentile intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.stats.resampling import Over

Interval = tuple[float, float]
"""Lower and upper bound; NaN where no draw gave a value."""

Seed = int | Sequence[int] | np.random.Generator
"""The source of random numbers; a generator continues from its current state."""


@dataclass(frozen=True)
class Resampled:
    """Resampled corpora and sets of systems.

    Attributes:
        sentences: B × N sentence indices, each row ascending; None if sentences are not drawn.
        systems: B × S system indices; None if systems are not drawn.
        counts: B × N, how often each draw contains each sentence; one row of ones without draws.
        size: B.
        width: number of systems that the indices refer to; None if as many are drawn.
    """

    sentences: IntArray | None
    systems: IntArray | None
    counts: FloatArray
    size: int
    width: int | None = None

    @property
    def multiplicity(self) -> FloatArray | None:
        """Return how often each draw contains each system, B × S; None if systems are not drawn."""
        if self.systems is None:
            return None
        return draw_weights(self.systems, self.width or self.systems.shape[1])


def make_resampled(
    over: Over,
    resamples: int,
    sentences: int,
    systems: int,
    seed: Seed,
    among: IntArray | None = None,
) -> Resampled:
    """Draw corpora and sets of systems with replacement, each of the original's size.

    The sentences of a draw are in the order of the file. So computations that depend on the order
    (TrueSkill in one pass, references chosen against a running total) depend on it as they do in
    the corpus itself.

    Args:
        over: the dimensions drawn; `both` draws the two independently (BOOT-BOTH of Deutsch, Dror
            and Roth 2021).
        resamples: B.
        sentences: N.
        systems: S.
        seed: the seed of the generator.
        among: the systems that are drawn from; a draw has as many as there are here. By default
            all.
    """
    rng = np.random.default_rng(seed)
    lines = groups = None
    if over in ("both", "sentences"):
        lines = sentence_draws(sentences, resamples, rng)
    if over in ("both", "systems"):
        pool = np.arange(systems) if among is None else among
        groups = pool[rng.integers(len(pool), size=(resamples, len(pool)))]
    return Resampled(lines, groups, draw_weights(lines, sentences), resamples, systems)


def sentence_draws(sentences: int, resamples: int, seed: Seed) -> IntArray:
    """Return resampled corpora, resamples × sentences: indices in the order of the corpus."""
    rng = np.random.default_rng(seed)
    return np.sort(rng.integers(sentences, size=(resamples, sentences)), axis=1)


def limited_rows(rows: Sequence[int], limit: int, seed: int) -> list[int]:
    """Return some of the rows, drawn at random, in the order of the rows.

    Rows are drawn one after the other, so a larger limit includes those of a smaller one.
    """
    # The second number makes this draw independent of other uses of the seed.
    order = np.random.default_rng([seed, 7]).permutation(rows)
    return sorted(order[:limit].tolist())


def sentence_counts(sentences: int, resamples: int, seed: Seed) -> FloatArray:
    """Return how often `sentence_draws` draws each sentence, resamples × sentences."""
    return draw_weights(sentence_draws(sentences, resamples, seed), sentences)


def group_counts(groups: int, resamples: int, seed: Seed) -> FloatArray:
    """Return how often each resample contains each group, resamples × groups.

    Without groups there is no resample. There may be very many groups (the sources of judged
    edits), so the counts are drawn directly from their multinomial distribution, without indices
    in memory. The distribution is that of `sentence_counts`.
    """
    if not groups:
        return np.zeros((0, 0))
    rng = np.random.default_rng(seed)
    return rng.multinomial(groups, np.full(groups, 1 / groups), resamples).astype(np.float64)


def interval(
    values: FloatArray, confidence: float = 0.95, observed: float | None = None
) -> tuple[Interval, int]:
    """Return the percentile interval of draws, bias-corrected if the statistic itself is given.

    Draws of a correlation, and so their percentiles, are lower than it on average, since draws are
    noisier than the data. The correction (BC of Efron 1981) counts how many of the draws are below
    the figure and moves the percentiles by twice as much, in normal deviates.

    Args:
        values: shape (B,); NaN where a draw does not define the statistic.
        confidence: share of draws between the bounds, above 0 and below 1.
        observed: the statistic of the data itself; None or NaN for plain percentiles.

    Returns:
        The bounds, and how many draws were dropped as undefined.
    """
    kept = values[~np.isnan(values)]
    if not len(kept):
        return (float("nan"), float("nan")), len(values)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if observed is not None and np.isfinite(observed):
        tails = _corrected(tails, kept, observed)
    low, high = np.quantile(kept, tails)
    return (float(low), float(high)), len(values) - len(kept)


def figure_interval(
    values: FloatArray, confidence: float = 0.95, observed: float | None = None
) -> tuple[Interval, int]:
    """Return `interval` for a figure; NaN if it is a single number.

    Two equal outputs differ by 0 for certain, but a figure is never known without error: draws
    that are all equal do not show how far it varies.
    """
    (low, high), dropped = interval(values, confidence, observed)
    varies = high - low > 1e-12 * max(1.0, abs(high))
    return ((low, high) if varies else (float("nan"), float("nan"))), dropped


def _corrected(tails: FloatArray, drawn: FloatArray, observed: float) -> FloatArray:
    """Return the quantiles of the draws at which a bias-corrected interval ends."""
    from gecjury.stats.special import ndtr, ndtri

    near = np.abs(drawn - observed) <= 1e-12 * max(1.0, abs(observed))
    below = np.count_nonzero((drawn < observed) & ~near) + 0.5 * np.count_nonzero(near)
    # If all draws are on one side, half a draw is counted on the other, so the share is not 0 or 1.
    share = min(max(below, 0.5), len(drawn) - 0.5) / len(drawn)
    ends: FloatArray = ndtr(2 * ndtri(share) + ndtri(tails))
    return ends
