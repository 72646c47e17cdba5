"""The segment level: metrics against ratings or rankings of corrections, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.benchmarks.annotators import annotator_agreement
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs, judged_entries
from gecjury.benchmarks.table import View
from gecjury.core.arrays import BLOCK, FloatArray, IntArray, blocks
from gecjury.metaeval.ratings import (
    against_rest,
    mean_agreement,
    mean_of_known,
    rated_points,
    raters_with_mean,
    weighted,
    weighted_means,
)
from gecjury.metaeval.study import Row, Study
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import pearsons, signs
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.grouped import (
    GroupBy,
    GroupedPairs,
    accuracy_with_ties,
    difference_sums,
    group_correlations,
    group_taus,
    grouped_pairs,
    pearson_of_differences,
)
from gecjury.stats.preferences import calibrated_sums, pair_outcomes

_CHUNK = 200  # draws whose pair weights are in memory at once
_AT_ONCE = 8 * BLOCK  # the most of these weights; if there are more, fewer draws are used at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentAgreement:
    """Agreement of scores of single corrections with people, as a mean over groups.

    Attributes:
        acc_eq: pairwise accuracy with ties (Deutsch, Foster and Freitag 2023); ties of the metric
            are scores at most `epsilon` apart; 0 to 1.
        epsilon: the threshold, chosen on the same pairs; NaN if none was chosen.
        acc_exact: pairwise accuracy with only equal scores as ties.
        kendall: τ-b; groups without a defined value are left out, as for r.
        pearson: r; NaN for rankings, since ranks are not measurements.
        pdp: Pearson's r of the differences between every two corrections of a group, over all
            groups at once (DiIanni and Deutsch 2025); NaN for rankings.
        groups: number of groups with a pair.
        pairs: number of pairs of all groups.
        tied_share: share of the pairs that the metric ties within `epsilon`.
        human_tied_share: share of the pairs that people tie.
        missing: number of rated corrections (for rankings, of ranked pairs) without a score.
    """

    acc_eq: float = math.nan
    epsilon: float = math.nan
    acc_exact: float = math.nan
    kendall: float = math.nan
    pearson: float = math.nan
    pdp: float = math.nan
    groups: int = 0
    pairs: int = 0
    tied_share: float = math.nan
    human_tied_share: float = math.nan
    missing: int = 0


@dataclass(frozen=True)
class Segments:
    """One metric's scores of the rated or ranked corrections, with people's judgments of them.

    Attributes:
        grouping: the corrections that are compared with each other.
        pairs: pairs of every group, scored on both sides.
        missing: as in `SegmentAgreement`.
        source: the source of each group, by the group's number; None if a group has several.
        rated: ratings and scores, systems × sentences, NaN for corrections that are not used; None
            for rankings.
    """

    grouping: GroupBy
    pairs: GroupedPairs
    missing: int
    source: IntArray | None
    rated: tuple[FloatArray, FloatArray] | None

    def agreement(self) -> SegmentAgreement:
        """Return the figures."""
        best = accuracy_with_ties(self.pairs)
        exact = accuracy_with_ties(self.pairs, calibrated=False)
        wanted = self.pairs.preference
        return SegmentAgreement(
            acc_eq=best.accuracy,
            epsilon=best.epsilon,
            acc_exact=exact.accuracy,
            kendall=mean_of_known(self._taus()),
            pearson=mean_of_known(self._pearsons()),
            pdp=self._pdp(),
            groups=len(np.unique(self.pairs.group)),
            pairs=len(wanted),
            tied_share=best.tied_share,
            human_tied_share=float((wanted == 0).mean()) if len(wanted) else float("nan"),
            missing=self.missing,
        )

    def resampled(self, counts: FloatArray) -> dict[str, FloatArray]:
        """Return statistics over resampled sources; a source drawn twice counts twice.

        Args:
            counts: counts of each source in each draw, draws × sentences.

        Returns:
            By statistic one value per draw, NaN where it is not defined in a draw. If every group
            has one source, these are `acc_eq`, with ε chosen again, `acc_exact`, `kendall`,
            `pearson` and `pdp`; otherwise only `pearson`, since draws would multiply the pairs.
        """
        if self.source is not None:
            # If a group has one source, a draw repeats whole groups.
            weights, sums = counts[:, self.source], self._difference_sums()
            return {
                "acc_eq": self._accuracy_draws(counts, self.source),
                "acc_exact": weighted_means(self._exact(), weights),
                "kendall": weighted_means(self._taus(), weights),
                "pearson": weighted_means(self._pearsons(), weights),
                **({"pdp": pearson_of_differences(sums, weights)} if sums is not None else {}),
            }
        if self.rated is None:
            return {}
        human, metric = self.rated
        judged = ~np.isnan(human)
        if self.grouping == "none":
            source = np.nonzero(judged)[1]
            return {"pearson": weighted(pearsons, human[judged], metric[judged], counts, source)}
        rows = zip(judged, human, metric, strict=True)
        drawn = [
            weighted(pearsons, h[rated], m[rated], counts, np.flatnonzero(rated))
            for rated, h, m in rows
        ]
        return {"pearson": defined_mean(np.stack(drawn), 0)}

    def _pearsons(self) -> FloatArray:
        """Return Pearson's r of every group, in their order; NaN for rankings."""
        if self.rated is None:
            return np.full(self._groups, np.nan)
        return group_correlations(*self.rated, self.grouping, "pearson")

    def _difference_sums(self) -> FloatArray | None:
        """Return `difference_sums` of the groups; None for rankings."""
        return None if self.rated is None else difference_sums(*self.rated, self.grouping)

    def _pdp(self) -> float:
        sums = self._difference_sums()
        return math.nan if sums is None else float(pearson_of_differences(sums)[0])

    def _taus(self) -> FloatArray:
        """Return τ-b of every group, in their order; NaN where either side has only ties."""
        if self.rated is None:
            return group_taus(self.pairs, self._groups)
        return group_correlations(*self.rated, self.grouping, "kendall")

    def _exact(self) -> FloatArray:
        """Return the accuracy of every group, in their order, with only equal scores as ties."""
        pairs, size = self.pairs, self._groups
        right = signs(pairs.first, pairs.second) == pairs.preference
        counts = np.bincount(pairs.group, minlength=size)
        sums = np.bincount(pairs.group, right, minlength=size)
        return ratio(sums, counts, np.nan)

    @property
    def _groups(self) -> int:
        if self.source is not None:
            return len(self.source)
        return int(self.pairs.group.max(initial=-1)) + 1

    def _accuracy_draws(self, counts: FloatArray, source: IntArray) -> FloatArray:
        pairs = self.pairs
        outcomes = pair_outcomes(
            pairs.preference, pairs.first, pairs.second, ties="calibrated", groups=pairs.group
        )
        # A pair weighs 1/(pairs of its group), so that all groups drawn have equal weight.
        present, place, sizes = np.unique(pairs.group, return_inverse=True, return_counts=True)
        of_pair, share = source[pairs.group], 1 / sizes[place]
        at_once = _CHUNK * len(of_pair)
        if at_once > _AT_ONCE:
            at_once = BLOCK
        parts = []
        for rows in blocks(len(counts), len(of_pair), at_once):
            weights = counts[rows][:, of_pair]
            weights *= share
            parts.append(calibrated_sums(outcomes, weights))
        total = counts[:, source[present]].sum(axis=1)
        sums = np.concatenate(parts)
        return ratio(sums, total, np.nan)


Segmented = Row[SegmentAgreement]
"""One metric, or people, at the segment level."""


@dataclass(frozen=True)
class SegmentLevel:
    """The segment level of a comparison.

    Attributes:
        grouping: the corrections that are compared with each other.
        humans: the aspects rated, or the views of the rankings.
        rows: metrics, then chance, then people.
    """

    grouping: GroupBy
    humans: Literal["ratings", "rankings"]
    rows: tuple[Segmented, ...]


def segment_level(
    study: Study, views: Sequence[View], tables: Sequence[ScoreTable]
) -> SegmentLevel | None:
    """Return a row for each metric and aspect (or view), then chance, then people.

    None if the level was not asked for, or there is nothing to compare.
    """
    settings, benchmark, counts = study.settings, study.benchmark, study.drawn_counts
    grouping: GroupBy | None = settings.grouping or ("item" if benchmark.rated else None)
    if grouping is None or settings.level in ("system", "edit") or not tables:
        return None
    ranked = () if benchmark.rated else [v for v in views if benchmark.rankings.get(v)]
    rows = []
    for table in (*tables, *study.chance_tables):
        segments: dict[str, Segments] = {
            aspect: rated_segments(benchmark, ratings, table.sentences, grouping)
            for aspect, ratings in benchmark.rated.items()
        }
        segments |= {view: ranked_segments(study, view, table) for view in ranked}
        for human, segment in segments.items():
            drawn = {} if counts is None else segment.resampled(counts)
            rows.append(study.row(table, human, segment.agreement(), drawn))
    for aspect in benchmark.rated:
        rater = mean_rater(benchmark, aspect, grouping)
        rows += [] if rater is None else [Row("one rater", "humans", aspect, rater)]
    for view in ranked:
        people = two_annotators(study, view)
        rows += [Row("two annotators", "humans", view, people)] if people.pairs else []
    humans: Literal["ratings", "rankings"] = "ratings" if benchmark.rated else "rankings"
    return SegmentLevel(grouping, humans, tuple(rows))


def rated_segments(
    benchmark: Benchmark,
    ratings: FloatArray,
    sentences: FloatArray,
    grouping: GroupBy,
    *,
    by_rater: bool = False,
) -> Segments:
    """Return a metric's scores with the ratings.

    Over all outputs (`none`) and within a source (`item`) a correction that several systems made
    counts once if it was rated once: a metric proves nothing by giving equal texts equal scores.
    Within a system every output counts.

    Args:
        benchmark: gives the texts.
        ratings: systems × sentences, NaN where there is none.
        sentences: the metric's scores, of the same shape.
        grouping: the outputs that are compared with each other.
        by_rater: as for `gecjury.metaeval.ratings.rated_points`.
    """
    points = rated_points(benchmark.corpus, ratings, sentences, by_rater=by_rater)
    kept, missing, scores = points.scored, points.missing, points.metric
    # Within a system equal texts belong to different sentences, so every output counts.
    if grouping == "system":
        scores = sentences
        kept = ~(np.isnan(ratings) | np.isnan(sentences))
        missing = int(np.count_nonzero(~np.isnan(ratings) & ~kept))
    human = np.where(kept, points.human, np.nan)
    metric = np.where(kept, scores, np.nan)
    source = np.arange(human.shape[1]) if grouping == "item" else None
    pairs = grouped_pairs(human, metric, grouping)
    return Segments(grouping, pairs, missing, source, (human, metric))


def ranked_segments(study: Study, view: View, table: ScoreTable) -> Segments:
    """Return a metric's scores with the rankings; a group is an annotator's ranking of a source.

    Every two different corrections of a ranking are a pair. Ranks of different rankings are not
    comparable, so there is no other grouping.

    Args:
        study: gives the rankings.
        view: the view of the rankings.
        table: the metric's scores.
    """
    benchmark = study.benchmark
    rankings = benchmark.rankings[view]
    pairs = expand_pairs(rankings, benchmark.corpus.names, "unexpanded")
    first, second = study.sides(view, table, pairs)
    scored = ~(np.isnan(first) | np.isnan(second))
    return Segments(
        "item",
        GroupedPairs(pairs.preference[scored], first[scored], second[scored], pairs.item[scored]),
        int(np.count_nonzero(~scored)),
        np.array([item.sentence for item in rankings], dtype=np.int64),
        None,
    )


def mean_rater(benchmark: Benchmark, aspect: str, grouping: GroupBy) -> SegmentAgreement | None:
    """Return the mean agreement of single raters with the others' mean; None if unknown."""
    # For some benchmarks only the mean rating is known.
    table = raters_with_mean(benchmark.raters).get(aspect)
    if table is None:
        return None
    parts = [
        rated_segments(benchmark, rest, ratings, grouping, by_rater=True).agreement()
        for ratings, rest in against_rest(table)
    ]
    # Every rater has a different ε.
    return replace(mean_agreement(parts), epsilon=float("nan"), missing=0)


def two_annotators(study: Study, view: View) -> SegmentAgreement:
    """Return how often two annotators agree on two corrections, ties included.

    All comparisons are pooled, without a threshold: only `acc_exact` and `pairs` are given.
    """
    benchmark = study.benchmark
    judged = judged_entries(benchmark.rankings[view], benchmark.corpus.names, "unexpanded")
    agreement = annotator_agreement(judged)
    return SegmentAgreement(acc_exact=agreement.with_ties, pairs=agreement.pairs)
