"""Human ratings of corrections: their agreement with scores, over all and by source.

The segment level compares every two corrections of one source, and averages over the sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RATING_DIGITS
from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.corpus.corpus import Corpus
from gecjury.metaeval.study import AgreementRow, MetaEvaluation, mean_by_rater
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import kendall, pearson, pearsons, signs, spearman, spearmans
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.grouped import (
    GroupedPairs,
    difference_sums,
    group_correlations,
    grouped_pairs,
    pearson_of_differences,
)
from gecjury.stats.preferences import calibrated_sums, pair_outcomes, preference_agreement

_CHUNK = 200  # draws whose pair weights are in memory at once
_AT_ONCE = 8 * BLOCK  # the most of these weights; if there are more, fewer draws are used at a time


@dataclass(frozen=True)
class RatedPoints:
    """The corrections that are both rated and scored, each once.

    Attributes:
        human: ratings, systems × sentences, rounded so that equal means are equal.
        metric: scores, systems × sentences.
        scored: True for those that count.
        missing: number of rated corrections that were not scored.
        means: the mean rating of each system, shape (systems,).
    """

    human: FloatArray
    metric: FloatArray
    scored: BoolArray
    missing: int
    means: FloatArray

    @property
    def ratings(self) -> FloatArray:
        """The ratings that count, shape (n,)."""
        return self.human[self.scored]

    @property
    def scores(self) -> FloatArray:
        """The scores of the corrections that count, shape (n,)."""
        return self.metric[self.scored]

    @property
    def source(self) -> IntArray:
        """The source of each correction that counts, shape (n,)."""
        return np.nonzero(self.scored)[1]

    @cached_property
    def rated(self) -> FloatArray:
        """The ratings, systems × sentences; NaN for corrections that do not count."""
        return np.where(self.scored, self.human, np.nan)

    @cached_property
    def within(self) -> FloatArray:
        """τ-b among the corrections of each source, shape (sentences,); NaN where not defined."""
        return group_correlations(self.rated, self.metric, "kendall")

    @cached_property
    def pairs(self) -> GroupedPairs:
        """Every two corrections of one source."""
        return grouped_pairs(self.rated, self.metric)

    def agreement(self, system_scores: FloatArray) -> dict[str, float]:
        """Return correlations with the ratings of an aspect.

        A correction that several systems made counts once, if it was rated once. Every correlation
        lies between -1 and 1 and is NaN where it is not defined.

        Args:
            system_scores: the metric's score of each system, shape (systems,).

        Returns:
            `outputs` and `missing`, numbers of rated corrections with and without a score;
            `pearson`, `spearman` and `kendall` (τ-b) over all of them; `within`, the mean over the
            sources of τ-b among the corrections of one source, and `sources`, the number of sources
            where it is defined; `system_pearson` and `system_spearman`, of the systems' mean
            ratings and scores.
        """
        return {
            "outputs": len(self.ratings),
            "missing": self.missing,
            "pearson": pearson(self.ratings, self.scores),
            "spearman": spearman(self.ratings, self.scores),
            "kendall": kendall(self.ratings, self.scores),
            "within": mean_of_known(self.within),
            "sources": int(np.count_nonzero(~np.isnan(self.within))),
            "system_pearson": pearson(self.means, system_scores),
            "system_spearman": spearman(self.means, system_scores),
        }

    def resampled(self, counts: FloatArray) -> dict[str, FloatArray]:
        """Return `pearson`, `spearman` and `within` of every draw; NaN where not defined.

        If a source is drawn twice, all its corrections count twice.

        Args:
            counts: counts of each source in each draw, draws × sentences.
        """
        points = self.ratings, self.scores, counts, self.source
        return {
            "pearson": weighted(pearsons, *points),
            "spearman": weighted(spearmans, *points),
            "within": weighted_means(self.within, counts),
        }

    def segment_agreement(self) -> dict[str, float]:
        """Return agreement among the corrections of a source, as means over the sources.

        Returns:
            `acc_eq`, pairwise accuracy with ties (Deutsch, Foster and Freitag 2023), where scores
            at most `epsilon` apart are a tie; `epsilon`, chosen on the same pairs, NaN if none was
            chosen; `acc_exact`, accuracy with only equal scores as ties; `kendall` (τ-b) and
            `pearson` over the sources where they are defined; `pdp`, r of the differences between
            every two corrections of a source, over all sources at once (DiIanni and Deutsch 2025);
            `groups`, the number of sources with a pair; `pairs`; `tied_share` and
            `human_tied_share`, shares of the pairs that the metric ties within `epsilon`, and that
            people tie; `missing`, the number of rated corrections without a score.
        """
        pairs = self.pairs
        best = preference_agreement(
            pairs.preference, pairs.first, pairs.second, ties="calibrated", groups=pairs.group
        )
        tied = (pairs.preference == 0).mean() if len(pairs.preference) else math.nan
        return {
            "acc_eq": best.accuracy,
            "epsilon": best.epsilon,
            "acc_exact": mean_of_known(self._exact_accuracies()),
            "kendall": mean_of_known(self.within),
            "pearson": mean_of_known(group_correlations(self.rated, self.metric, "pearson")),
            "pdp": float(pearson_of_differences(difference_sums(self.rated, self.metric))[0]),
            "groups": len(np.unique(pairs.group)),
            "pairs": len(pairs.preference),
            "tied_share": best.tied_share,
            "human_tied_share": float(tied),
            "missing": self.missing,
        }

    def segment_draws(self, counts: FloatArray) -> dict[str, FloatArray]:
        """Return the figures of the segment level on every draw, with ε chosen again in each.

        Args:
            counts: counts of each source in each draw, draws × sentences.
        """
        by_source = group_correlations(self.rated, self.metric, "pearson")
        sums = difference_sums(self.rated, self.metric)
        return {
            "acc_eq": self._accuracy_draws(counts),
            "acc_exact": weighted_means(self._exact_accuracies(), counts),
            "kendall": weighted_means(self.within, counts),
            "pearson": weighted_means(by_source, counts),
            "pdp": pearson_of_differences(sums, counts),
        }

    def _exact_accuracies(self) -> FloatArray:
        """Return the accuracy of every source with only equal scores as ties."""
        pairs, size = self.pairs, self.scored.shape[1]
        right = signs(pairs.first, pairs.second) == pairs.preference
        counts = np.bincount(pairs.group, minlength=size)
        return ratio(np.bincount(pairs.group, right, minlength=size), counts, np.nan)

    def _accuracy_draws(self, counts: FloatArray) -> FloatArray:
        """Return acc_eq of every draw."""
        pairs = self.pairs
        outcomes = pair_outcomes(
            pairs.preference, pairs.first, pairs.second, ties="calibrated", groups=pairs.group
        )
        # A pair weighs 1/(pairs of its source), so that all sources drawn have equal weight.
        present, place, sizes = np.unique(pairs.group, return_inverse=True, return_counts=True)
        share, size = 1 / sizes[place], len(pairs.group)
        at_once = _CHUNK * size if _CHUNK * size <= _AT_ONCE else BLOCK
        parts = []
        for rows in blocks(len(counts), size, at_once):
            weights = counts[rows][:, pairs.group]
            weights *= share
            parts.append(calibrated_sums(outcomes, weights))
        return ratio(np.concatenate(parts), counts[:, present].sum(axis=1), np.nan)


def rated_points(
    corpus: Corpus, ratings: FloatArray, sentences: FloatArray, *, by_rater: bool = False
) -> RatedPoints:
    """Choose the corrections that count, by the rule of `RatedPoints.agreement`.

    Args:
        corpus: gives the texts.
        ratings: systems × sentences, NaN where there is none.
        sentences: a metric's scores, systems × sentences.
        by_rater: the scores are one rater's ratings. A metric gives equal texts the same score, but
            a rater may not: if systems share a correction, the mean of their ratings is used, so
            that the order of the systems does not matter.
    """
    rounded = ratings.round(RATING_DIGITS)
    distinct, scores = ~np.isnan(rounded), sentences.copy()
    for row, systems in _shared(rounded, corpus):
        distinct[systems[1:], row] = False
        if by_rater:
            scores[systems[0], row] = mean_of_known(sentences[systems, row])
    # Corrections that are not distinct are neither compared nor missing.
    scored = distinct & ~np.isnan(scores)
    missing = int(np.count_nonzero(distinct & ~scored))
    return RatedPoints(rounded, scores, scored, missing, defined_mean(ratings, 1))


def rated_rows(
    study: MetaEvaluation, tables: Sequence[ScoreTable], scores: Sequence[FloatArray]
) -> tuple[AgreementRow, ...]:
    """Return how well scores agree with ratings over all corrections, and at the segment level.

    Both have a row for each metric and aspect, then for chance, then for people.

    Args:
        study: the benchmark, and the settings of the resampling.
        tables: the metrics' scores; without any nothing is compared.
        scores: the system scores of each metric, then of the chance baselines.
    """
    benchmark, counts = study.benchmark, study.drawn_counts
    if not benchmark.rated or not tables:
        return ()
    whole: list[AgreementRow] = []
    segments: list[AgreementRow] = []
    for table, system_scores in zip((*tables, *study.chance_tables), scores, strict=True):
        constant = (table.signature.family, table.signature.metric) == ("chance", "constant")
        for aspect, ratings in benchmark.rated.items():
            sentences, means = table.sentences, system_scores
            if aspect in table.by_aspect:
                sentences = table.by_aspect[aspect]
                means = study.system_scores(sentences, defined_mean(sentences, 1))
            # If no systems are named, there are no means either.
            if benchmark.places:
                means = np.full(len(means), np.nan)
            points = rated_points(benchmark.corpus, ratings, sentences)
            # None of the correlations of `constant` is defined.
            if not constant:
                drawn = {} if counts is None else points.resampled(counts)
                whole.append(study.row("rating", table, aspect, points.agreement(means), drawn))
            if study.settings.level in ("sentence", "all"):
                drawn = {} if counts is None else points.segment_draws(counts)
                agreed = points.segment_agreement()
                segments.append(study.row("segment", table, aspect, agreed, drawn))
    for aspect, (over_all, by_source) in one_rater(benchmark).items():
        rater = AgreementRow("rating", "one rater", "humans", aspect, over_all)
        whole.append(rater)
        if segments:
            segments.append(replace(rater, level="segment", values=by_source))
    return *whole, *segments


def one_rater(benchmark: Benchmark) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return single raters' agreement with the mean of the others: a yardstick, not a ceiling.

    A metric is compared with the mean of all raters, which is less noisy than any single rater, so
    it may well agree better than a rater does.

    Returns:
        Means over the raters, by aspect; none if single ratings are not known.
    """
    # Without systems there are no means of systems.
    unknown = math.nan if benchmark.places else 0.0
    agreements = {}
    for aspect, table in raters_with_mean(benchmark.raters).items():
        whole, segments = [], []
        for mark, rest in against_rest(table):
            points = rated_points(benchmark.corpus, rest, mark, by_rater=True)
            whole.append(points.agreement(defined_mean(mark, 1) + unknown))
            segments.append(points.segment_agreement())
        # Every rater has a different ε.
        mean = {**mean_agreement(segments), "epsilon": math.nan, "missing": 0}
        agreements[aspect] = {**mean_agreement(whole), "missing": 0}, mean
    return agreements


def against_rest(table: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield each rater's ratings and the mean of the other raters' ratings.

    Args:
        table: raters × systems × sentences, NaN where there is none.
    """
    for rater, ratings in enumerate(table):
        yield ratings, defined_mean(np.delete(table, rater, axis=0), 0)


def raters_with_mean(raters: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return the aspects that several raters rated, and the mean of several aspects by rater.

    Returns:
        Ratings by aspect, each raters × systems × sentences.
    """
    several = {aspect: table for aspect, table in raters.items() if len(table) > 1}
    if len(several) > 1:
        # All aspects have the same raters, so a mean by rater exists.
        several["mean"] = mean_by_rater(several)
    return several


def mean_agreement(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Combine several raters' agreements: means of the defined figures, maxima of the counts."""
    columns = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: max(column) if isinstance(column[0], int) else mean_of_known(np.array(column))
        for name, column in columns.items()
    }


def mean_of_known(values: FloatArray) -> float:
    """Return the mean of the defined values; NaN without any."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def _shared(ratings: FloatArray, corpus: Corpus) -> Iterator[tuple[int, list[int]]]:
    """Yield each sentence's systems that share a text and its rating, two or more at a time."""
    versions = tuple(corpus.systems.values())
    for row in range(len(corpus)):
        same: dict[tuple[str, float], list[int]] = {}
        for system in np.flatnonzero(~np.isnan(ratings[:, row])).tolist():
            key = versions[system].lines[row], float(ratings[system, row])
            same.setdefault(key, []).append(system)
        yield from ((row, systems) for systems in same.values() if len(systems) > 1)


def weighted(
    measure: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
    human: FloatArray,
    metric: FloatArray,
    counts: FloatArray,
    source: IntArray,
    *,
    at_once: int = 16 * BLOCK,
) -> FloatArray:
    """Return a correlation over resampled sources.

    Args:
        measure: a measure of `gecjury.stats.correlation`.
        human: ratings, shape (n,).
        metric: scores, shape (n,).
        counts: counts of each source in each draw, B × sentences.
        source: the source of each of the n corrections.
        at_once: the most weights in memory; if there are more, draws are computed in parts.

    Returns:
        Shape (B,).
    """
    # One piece is faster; pieces of draws give the same values.
    if counts.shape[0] * len(source) <= at_once:
        return measure(human[None], metric[None], counts[:, source])
    parts = blocks(len(counts), len(source), at_once // 16)
    return np.concatenate(
        [measure(human[None], metric[None], counts[rows][:, source]) for rows in parts]
    )


def weighted_means(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean of the defined values under each row's weights; NaN if these are all 0.

    Args:
        values: shape (n,), NaN where not defined.
        weights: B × n.

    Returns:
        Shape (B,).
    """
    defined = ~np.isnan(values)
    held = weights[:, defined]
    return ratio(held @ values[defined], held.sum(axis=1), np.nan)
