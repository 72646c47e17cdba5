"""Bootstrap draws of sentences and systems, and correlations of every draw at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gecjury.arrays import FloatArray, IntArray, draw_weights
from gecjury.errors import OptionError

__all__ = [
    "OVER",
    "Draws",
    "Interval",
    "Over",
    "correlations",
    "interval",
    "make_draws",
    "pairwise_accuracies",
    "pearsons",
    "spearmans",
    "taus",
]

Over = Literal["both", "sentences", "systems", "none"]
"""What a bootstrap draws with replacement."""
OVER: tuple[Over, ...] = get_args(Over)

Interval = tuple[float, float]
"""Lower and upper bound; NaN where no draw gave a value."""


@dataclass(frozen=True)
class Draws:
    """Resampled corpora and sets of systems.

    Attributes:
        sentences: B × N sentence indices, each row ascending; None where sentences are kept.
        systems: B × S system indices; None where systems are kept.
        counts: B × N, how often each sentence stands in each draw; one row of ones without draws.
        size: B.
        width: how many systems the indices are of; None where that is as many as are drawn.
    """

    sentences: IntArray | None
    systems: IntArray | None
    counts: FloatArray
    size: int
    width: int | None = None

    @property
    def multiplicity(self) -> FloatArray | None:
        """B × S, how often each system stands in each draw; None where systems are kept."""
        if self.systems is None:
            return None
        return draw_weights(self.systems, self.width or self.systems.shape[1])


def make_draws(
    over: Over,
    resamples: int,
    sentences: int,
    systems: int,
    seed: int,
    among: IntArray | None = None,
) -> Draws:
    """Draw corpora and sets of systems with replacement, each of the original's size.

    The sentences of a draw stand in the order of the file, so that whatever depends on the order
    (TrueSkill in one pass, references chosen against a running total) depends on it as it does in
    the corpus itself.

    Args:
        over: what is drawn; `both` draws the two independently (BOOT-BOTH of Deutsch, Dror and
            Roth 2021).
        resamples: B.
        sentences: N.
        systems: S.
        seed: of the generator.
        among: the systems that are drawn from, as many as there are of them; by default all.

    Raises:
        OptionError: an unknown kind, or fewer than 1 resample.
    """
    if over not in OVER:
        raise OptionError(f"resampling {over!r}: expected {', '.join(OVER)}")
    if resamples < 1:
        raise OptionError(f"resamples={resamples}: expected 1 or more")
    rng = np.random.default_rng(seed)
    lines = groups = None
    if over in ("both", "sentences"):
        lines = np.sort(rng.integers(sentences, size=(resamples, sentences)), axis=1)
    if over in ("both", "systems"):
        known = np.arange(systems) if among is None else among
        groups = known[rng.integers(len(known), size=(resamples, len(known)))]
    return Draws(lines, groups, draw_weights(lines, sentences), resamples, systems)


def interval(values: FloatArray, confidence: float = 0.95) -> tuple[Interval, int]:
    """Percentile interval of a statistic's draws.

    Args:
        values: shape (B,); NaN where a draw does not define the statistic.
        confidence: share of draws between the bounds, above 0 and below 1.

    Returns:
        The bounds, and how many draws were dropped as undefined.

    Raises:
        OptionError: a confidence out of its range.
    """
    if not 0 < confidence < 1:
        raise OptionError(f"confidence={confidence}: expected a number between 0 and 1")
    kept = values[~np.isnan(values)]
    if not len(kept):
        return (float("nan"), float("nan")), len(values)
    tail = (1 - confidence) / 2
    low, high = np.quantile(kept, [tail, 1 - tail])
    return (float(low), float(high)), len(values) - len(kept)


def _undefined(values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows that hold a missing score or nothing but equal ones."""
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~np.isfinite(values).all(axis=1) | (
        values == values[:, :1]
    ).all(axis=1)
    return found


def pearsons(x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's r of every row: B × n and B × n to B; NaN where not defined."""
    undefined = _undefined(x) | _undefined(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        a /= np.abs(a).max(axis=1, keepdims=True)
        b /= np.abs(b).max(axis=1, keepdims=True)
        r = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    r[undefined] = np.nan
    clipped: FloatArray = np.clip(r, -1.0, 1.0)
    return clipped


def _row_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1 within every row, equal values sharing the mean of theirs."""
    below = (values[:, :, None] > values[:, None, :]).sum(axis=2)
    alike = (values[:, :, None] == values[:, None, :]).sum(axis=2)
    ranks: FloatArray = below + (alike + 1) / 2
    return ranks


def spearmans(x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's rank correlation of every row, ties sharing their mean rank."""
    found = pearsons(_row_ranks(x), _row_ranks(y))
    found[_undefined(x) | _undefined(y)] = np.nan
    return found


def _pair_signs(values: FloatArray) -> FloatArray:
    """Sign of the difference of every two columns: B × n to B × n(n − 1)/2."""
    first, second = np.triu_indices(values.shape[1], 1)
    signs: FloatArray = np.sign(values[:, first] - values[:, second])
    return signs


def taus(x: FloatArray, y: FloatArray) -> FloatArray:
    """Kendall's τ-b of every row."""
    undefined = _undefined(x) | _undefined(y)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = _pair_signs(x), _pair_signs(y)
        found = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1)) / np.sqrt((b * b).sum(axis=1))
    found[undefined] = np.nan
    return np.asarray(np.clip(found, -1.0, 1.0), dtype=np.float64)


def pairwise_accuracies(human: FloatArray, metric: FloatArray) -> FloatArray:
    """Pairwise accuracy of every row: pairs that humans tie are left out, metric ties half."""
    undefined = _undefined(human) | _undefined(metric)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = _pair_signs(human), _pair_signs(metric)
        found = ((a * b).sum(axis=1) / (a * a).sum(axis=1) + 1) / 2
    found[undefined] = np.nan
    return np.asarray(found, dtype=np.float64)


def correlations(
    human: FloatArray, metric: FloatArray, systems: IntArray | None = None
) -> dict[str, FloatArray]:
    """All system-level correlations of every draw.

    Args:
        human: B × S, or 1 × S where the scores stay as they are.
        metric: likewise.
        systems: B × S indices of resampled systems; None keeps them.

    Returns:
        By name, shape (B,); NaN for draws of fewer than three different systems, for constant
        scores and for missing ones.
    """
    rows = max(len(human), len(metric), 1 if systems is None else len(systems))
    width = human.shape[1]
    x = np.broadcast_to(human, (rows, width))
    y = np.broadcast_to(metric, (rows, width))
    few = np.full(rows, width < 3)
    if systems is not None:
        x, y = np.take_along_axis(x, systems, 1), np.take_along_axis(y, systems, 1)
        few = (draw_weights(systems, width) > 0).sum(axis=1) < 3
    found = {
        "pearson": pearsons(x, y),
        "spearman": spearmans(x, y),
        "kendall": taus(x, y),
        "pairwise_accuracy": pairwise_accuracies(x, y),
    }
    for values in found.values():
        values[few] = np.nan
    return found
