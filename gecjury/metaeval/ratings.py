"""Human ratings of corrections: the rankings they imply, and how metric scores follow them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import _DIGITS, mean_over_raters
from gecjury.corpus.corpus import Corpus
from gecjury.stats.correlation import kendall, pearson, spearman

__all__ = [
    "RatedPoints",
    "RatingAgreement",
    "one_rater",
    "rated_points",
    "raters_with_mean",
    "rating_agreement",
    "rating_draws",
    "weighted_pearsons",
    "within_sources",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class RatingAgreement:
    """How scores of corrections follow the ratings that people gave them.

    A correction that several systems made counts once, if it was rated once. Every correlation
    lies between -1 and 1 and is NaN where it is not defined.

    Attributes:
        aspect: what was rated.
        outputs: rated and scored corrections.
        missing: rated corrections that were not scored.
        pearson: over all of them.
        spearman: over all of them.
        kendall: τ-b over all of them.
        within: mean over the sources of τ-b among the corrections of one source, where defined.
        sources: how many sources that is.
        system_pearson: over systems, of mean ratings and system scores.
        system_spearman: the same of their ranks.
    """

    aspect: str
    outputs: int
    missing: int
    pearson: float
    spearman: float
    kendall: float
    within: float
    sources: int
    system_pearson: float
    system_spearman: float


def rating_agreement(
    benchmark: Benchmark, sentences: FloatArray, system_scores: FloatArray
) -> list[RatingAgreement]:
    """Agreement of a metric with each aspect that a benchmark's corrections were rated for.

    Args:
        benchmark: its `rated` tables are read.
        sentences: the metric's scores, systems × sentences.
        system_scores: its aggregated scores, shape (systems,).

    Returns:
        One entry an aspect, in the benchmark's order; none for a benchmark without ratings.
    """
    found = []
    for aspect, ratings in benchmark.rated.items():
        points = rated_points(benchmark.corpus, ratings, sentences)
        within, _ = within_sources(points.human, points.metric, points.scored)
        means = _means(ratings)
        found.append(
            RatingAgreement(
                aspect=aspect,
                outputs=len(points.ratings),
                missing=points.missing,
                pearson=pearson(points.ratings, points.scores),
                spearman=spearman(points.ratings, points.scores),
                kendall=kendall(points.ratings, points.scores),
                within=float(within.mean()) if len(within) else math.nan,
                sources=len(within),
                system_pearson=pearson(means, system_scores),
                system_spearman=spearman(means, system_scores),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class RatedPoints:
    """The corrections that are both rated and scored, each once.

    Attributes:
        human: ratings, systems × sentences, rounded so that equal means are equal.
        metric: scores, systems × sentences.
        scored: which of them count.
        missing: rated corrections that were not scored.
    """

    human: FloatArray
    metric: FloatArray
    scored: NDArray[np.bool_]
    missing: int

    @property
    def ratings(self) -> FloatArray:
        """The ratings that count, shape (n,)."""
        return self.human[self.scored]

    @property
    def scores(self) -> FloatArray:
        """Their scores, shape (n,)."""
        return self.metric[self.scored]

    @property
    def source(self) -> NDArray[np.intp]:
        """The source of each, shape (n,)."""
        return np.nonzero(self.scored)[1]


def rated_points(corpus: Corpus, ratings: FloatArray, sentences: FloatArray) -> RatedPoints:
    """Choose the corrections that count; see `RatingAgreement`.

    Args:
        corpus: gives the texts.
        ratings: systems × sentences, NaN where there is none.
        sentences: a metric's scores, systems × sentences.
    """
    rounded = ratings.round(_DIGITS)
    distinct = _distinct(rounded, corpus)
    scored = distinct & ~np.isnan(sentences)
    missing = int(np.count_nonzero(distinct & ~scored))
    return RatedPoints(rounded, sentences, scored, missing)


def one_rater(benchmark: Benchmark) -> list[RatingAgreement]:
    """How single raters agree with the mean of the others: a human yardstick, not a ceiling.

    A metric is tried against the mean of all raters, which is steadier than any one of them, and
    so may well agree with it better than a rater does.

    Returns:
        One entry an aspect: means over the raters; none where single ratings are not known.
    """
    return [
        _mean_agreement(aspect, list(_one_against_rest(benchmark, aspect, table)))
        for aspect, table in raters_with_mean(benchmark.raters).items()
    ]


def _one_against_rest(
    benchmark: Benchmark, aspect: str, table: FloatArray
) -> Iterator[RatingAgreement]:
    from dataclasses import replace

    for rater in range(len(table)):
        rest = mean_over_raters(np.delete(table, rater, axis=0))
        view = replace(benchmark, ratings={}, segment_scores=rest)
        own = table[rater]
        yield from rating_agreement(view, own, _means(own))


def within_sources(
    human: FloatArray, metric: FloatArray, kept: NDArray[np.bool_]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Kendall's τ-b among the kept corrections of each source, where it is defined.

    Args:
        human: ratings, systems × sentences.
        metric: scores, systems × sentences.
        kept: which of them count.

    Returns:
        The values and the sources they belong to.
    """
    first, second = np.triu_indices(len(human), 1)
    both = kept[first] & kept[second]
    wanted = np.where(both, np.sign(human[first] - human[second]), 0.0)
    given = np.where(both, np.sign(metric[first] - metric[second]), 0.0)
    untied = np.abs(wanted).sum(axis=0) * np.abs(given).sum(axis=0)
    defined = untied > 0
    taus: FloatArray = (wanted * given).sum(axis=0)[defined] / np.sqrt(untied[defined])
    return taus, np.nonzero(defined)[0]


def raters_with_mean(raters: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The aspects that several rated, and with several of them their mean by rater."""
    known = {aspect: table for aspect, table in raters.items() if len(table) > 1}
    if len(known) > 1:
        known["mean"] = np.mean(list(known.values()), axis=0)
    return known


def _mean_agreement(aspect: str, parts: list[RatingAgreement]) -> RatingAgreement:
    def mean(name: str) -> float:
        values = np.array([getattr(part, name) for part in parts], dtype=np.float64)
        return float(values[~np.isnan(values)].mean()) if (~np.isnan(values)).any() else math.nan

    return RatingAgreement(
        aspect=aspect,
        outputs=max(part.outputs for part in parts),
        missing=0,
        pearson=mean("pearson"),
        spearman=mean("spearman"),
        kendall=mean("kendall"),
        within=mean("within"),
        sources=max(part.sources for part in parts),
        system_pearson=mean("system_pearson"),
        system_spearman=mean("system_spearman"),
    )


def _means(table: FloatArray) -> FloatArray:
    """Mean of each system's ratings; NaN without any."""
    return mean_over_raters(table.T)


def _distinct(ratings: FloatArray, corpus: Corpus) -> NDArray[np.bool_]:
    """The first of the systems that share a text and its rating, sentence by sentence."""
    kept = ~np.isnan(ratings)
    for row in range(len(corpus)):
        seen: set[tuple[str, float]] = set()
        for system, version in enumerate(corpus.systems.values()):
            key = version.lines[row], float(ratings[system, row])
            kept[system, row] &= key not in seen
            seen.add(key)
    return kept


_CHUNK = 100  # draws that are laid out at a time


def rating_draws(
    benchmark: Benchmark, sentences: FloatArray, counts: FloatArray
) -> dict[str, dict[str, FloatArray]]:
    """Correlations with ratings over resampled sources.

    A source drawn twice brings all its corrections twice.

    Args:
        benchmark: its `rated` tables are read.
        sentences: a metric's scores, systems × sentences.
        counts: how often each source stands in each draw, draws × sentences.

    Returns:
        By aspect and statistic (`pearson`, `spearman`, `within`) one value a draw; NaN where a
        draw does not define it.
    """
    found = {}
    for aspect, ratings in benchmark.rated.items():
        points = rated_points(benchmark.corpus, ratings, sentences)
        weights = counts[:, points.source]
        taus, sources = within_sources(points.human, points.metric, points.scored)
        drawn = counts[:, sources]
        total = drawn.sum(axis=1)
        within = np.full(len(counts), np.nan)
        np.divide(drawn @ taus, total, out=within, where=total > 0)
        found[aspect] = {
            "pearson": weighted_pearsons(weights, points.ratings, points.scores),
            "spearman": _spearmans(weights, points.ratings, points.scores),
            "within": within,
        }
    return found


def weighted_pearsons(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Pearson's r of the points (n,) under each draw's weights, draws × n; NaN where undefined."""
    varies = _varies(_held(weights, x)) & _varies(_held(weights, y))
    # Centred and scaled first: a draw's mean is near, so that little cancels.
    a, b = _standard(x), _standard(y)
    total = weights.sum(axis=1)
    sums = weights @ np.stack([a, b, a * a, b * b, a * b], axis=1)
    return _from_sums(total, sums.T, varies)


def _standard(values: FloatArray) -> FloatArray:
    """The values around their mean, at most 1 in size."""
    centred = values - values.mean() if len(values) else values
    scale = np.abs(centred).max(initial=0.0)
    scaled: FloatArray = centred / scale if scale > 0 else centred
    return scaled


def _from_sums(total: FloatArray, sums: FloatArray, varies: NDArray[np.bool_]) -> FloatArray:
    """Pearson's r from Σa, Σb, Σa², Σb², Σab of each draw."""
    one, two, square, other, product = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (square - one * one / total) * (other - two * two / total)
        r: FloatArray = (product - one * two / total) / np.sqrt(spread)
    r[~varies] = np.nan
    return np.clip(r, -1.0, 1.0)


def _held(weights: FloatArray, values: FloatArray) -> FloatArray:
    """How much weight each distinct value has, ascending: draws × values."""
    if not len(values):
        return np.zeros((len(weights), 0))
    order = np.argsort(values, kind="stable")
    starts = np.nonzero(np.diff(values[order], prepend=np.nan) != 0)[0]
    return np.add.reduceat(weights[:, order], starts, axis=1)


def _varies(held: FloatArray) -> NDArray[np.bool_]:
    """Which draws hold more than one value."""
    varies: NDArray[np.bool_] = np.count_nonzero(held, axis=1) > 1
    return varies


def _spearmans(weights: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Spearman's ρ: Pearson's r of the ranks that the points have in each draw."""
    found = np.empty(len(weights))
    place_x = np.unique(x, return_inverse=True)[1]
    place_y = np.unique(y, return_inverse=True)[1]
    for at in range(0, len(weights), _CHUNK):
        part = weights[at : at + _CHUNK]
        held_x, held_y = _held(part, x), _held(part, y)
        total = part.sum(axis=1)
        # The mean rank of n points is (n + 1) / 2, whatever the ties.
        middle = (total[:, None] + 1) / 2
        ranks_x, ranks_y = _ranks(held_x) - middle, _ranks(held_y) - middle
        sums = [
            np.zeros(len(part)),
            np.zeros(len(part)),
            (held_x * ranks_x**2).sum(axis=1),
            (held_y * ranks_y**2).sum(axis=1),
            (part * ranks_x[:, place_x] * ranks_y[:, place_y]).sum(axis=1),
        ]
        varies = _varies(held_x) & _varies(held_y)
        found[at : at + _CHUNK] = _from_sums(total, np.array(sums), varies)
    return found


def _ranks(held: FloatArray) -> FloatArray:
    """The rank of each value, points of equal value sharing the mean of theirs."""
    ranks: FloatArray = held.cumsum(axis=1) - (held - 1) / 2
    return ranks
