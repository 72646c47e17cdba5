"""Uncertainty of a comparison's figures: intervals, tests between metrics, clusters.

Everything is computed from existing scores; nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs
from gecjury.benchmarks.table import View
from gecjury.core.arrays import BLOCK, FloatArray, IntArray, blocks, draw_weights
from gecjury.metaeval.study import LEAST_SENTENCES, MetaEvaluation
from gecjury.scoring.system_tests import RankedMetric, resampled_system_scores
from gecjury.stats.bootstrap import (
    Interval,
    Resampled,
    figure_interval,
    interval,
    make_resampled,
)
from gecjury.stats.correlation import correlations
from gecjury.stats.counts import ratio
from gecjury.stats.permutation import (
    cluster_ranks,
    holm_matrix,
    p_of_order,
    perm_both,
    perm_systems,
    share_at_least,
    symmetric,
)
from gecjury.stats.preferences import (
    PairOutcomes,
    calibrated_sums,
    drawn_sums,
    outcomes_by_pair,
    pair_outcomes,
    sums_by_sentence,
    swapped_accuracies,
)
from gecjury.stats.ranking import Wins, resampled_wins, win_rates
from gecjury.stats.resampling import Over, Resampling
from gecjury.stats.soft_accuracy import (
    ScoreDifferences,
    drawn_soft_accuracy,
    perm_both_spa,
    resampled_soft_accuracy,
)

DrawnLevel = Literal["system", "sentence"]
"""The levels whose statistics are resampled here; other levels resample their own."""
DRAWN_LEVELS: tuple[DrawnLevel, DrawnLevel] = ("system", "sentence")

LEAST_SYSTEMS = 4
_CHUNK = 200  # draws whose pair weights are in memory at once


Intervals = dict[str, tuple[Interval, int]]
"""For each statistic by name its interval, and the number of draws in which it was not defined."""


@dataclass(frozen=True)
class Significance:
    """Tests between all metrics at one level.

    Attributes:
        level: `system` or `sentence`.
        test: `perm-systems` (whole systems are swapped; holds for other systems as well),
            `perm-both` (cells are swapped; holds for other sentences by these systems) or
            `paired-permutation`.
        statistic: the statistic compared.
        metrics: labels of the metrics.
        values: the statistic of each metric.
        p: two-sided p, M × M, symmetric, NaN on the diagonal.
        adjusted: p after Holm's correction over all pairs.
        clusters: 1 for the best; None if the statistic is not defined.
        permutations: number of permutations.
    """

    level: str
    test: str
    statistic: str
    metrics: tuple[str, ...]
    values: FloatArray
    p: FloatArray
    adjusted: FloatArray
    clusters: tuple[int | None, ...]
    permutations: int


@dataclass(frozen=True)
class Difference:
    """One metric's figure minus another's, with paired intervals: both from the same draws.

    Attributes:
        level: `system`, `sentence`, `segment`, `ratings` or `edit`.
        human: the view, or the aspect that was rated.
        statistic: name of the level's figure.
        first: label of a metric.
        second: label of another metric.
        difference: the first's figure minus the second's.
        ci95: intervals by the units drawn: `both`, `sentences` or `systems`.
    """

    level: str
    human: str
    statistic: str
    first: str
    second: str
    difference: float
    ci95: Mapping[Over, Interval]


@dataclass(frozen=True)
class DrawnStatistics:
    """Statistics of all metrics on every draw.

    Attributes:
        values: by statistic, metrics × draws; NaN where it is not defined in a draw.
        observed: by statistic, computed as in the draws but from the data itself; (metrics,).
    """

    values: Mapping[str, FloatArray]
    observed: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Draws:
    """Statistics of several metrics on resampled sentences and systems, and tests between metrics.

    Attributes:
        study: the benchmark, and the settings of the comparison and the resampling.
        entries: the metrics' scores.
    """

    study: MetaEvaluation
    entries: Sequence[RankedMetric]

    @property
    def _how(self) -> Resampling:
        return self.study.settings.resampling

    @cached_property
    def draws(self) -> Resampled:
        """The resampled corpora and sets of systems, the same for every metric and view."""
        return self._drawn_among(None)

    def _drawn_among(self, judged: IntArray | None) -> Resampled:
        corpus, how = self.study.benchmark.corpus, self._how
        seed, names = self.study.settings.seed, corpus.names
        draws = make_resampled(how.over, how.resamples, len(corpus), len(names), seed, judged)
        shared = self.study.sentence_draws
        if shared is None or draws.sentences is None:
            return draws
        return replace(draws, sentences=shared, counts=draw_weights(shared, len(corpus)))

    def draws_of(self, view: View, over: Over) -> Resampled:
        """Return the draws over the named dimension only, of systems that humans scored."""
        # A system that nobody judged would make every draw that contains it undefined.
        judged, draws = np.flatnonzero(~np.isnan(self.study.human(view))), self.draws
        if 0 < len(judged) < len(self.study.benchmark.corpus.names):
            draws = self._drawn_among(judged)
        if over == "sentences":
            return replace(draws, systems=None)
        if over == "systems":
            return replace(draws, sentences=None, counts=np.ones((1, draws.counts.shape[1])))
        return draws

    @cached_property
    def scores(self) -> FloatArray:
        """System scores, metrics × draws × systems; one draw if sentences are not drawn."""
        lines = self.draws.sentences
        if lines is None:
            return self.plain_scores
        how, compared = self.study.settings, self.study.compared
        drawn = resampled_system_scores(
            how.aggregate,
            self.entries,
            lines,
            compared,
            opponents=self.study.opponents,
            seed=how.seed,
            runtime=self.study.runtime,
        )
        names = self.study.benchmark.corpus.names
        scores = np.full((*drawn.shape[:2], len(names)), np.nan)
        scores[..., compared] = drawn
        return scores

    @cached_property
    def plain_scores(self) -> FloatArray:
        """System scores of the corpus itself, metrics × 1 × systems."""
        scores = []
        for entry in self.entries:
            table, totals = entry.table, entry.table.by_system.score
            if self.study.settings.aggregate == "corpus":
                # Score as in the draws, where a metric averages over few choices of references.
                drawn = entry.corpus_scores(np.arange(table.sentences.shape[1])[None])
                totals = totals if drawn is None else drawn[0]
            scores.append(self.study.system_scores(table.sentences, totals)[None])
        return np.stack(scores)

    def human(self, view: View) -> tuple[FloatArray, bool]:
        """Return human scores, draws × systems, and whether they are resampled with sentences."""
        drawn = None
        if self.draws.sentences is not None:
            drawn = self._human(view, self.draws.counts)
        return (self.study.human(view)[None], False) if drawn is None else (drawn, True)

    def _human(self, view: View, counts: FloatArray) -> FloatArray | None:
        pairs = self.study.judged[view] if self.study.benchmark.rankings.get(view) else None
        kind = self.study.human_kind(view)
        return resampled_human_scores(self.study.benchmark, kind, pairs, counts)

    def intervals(self, view: View, level: DrawnLevel) -> list[Intervals]:
        """Return intervals of every metric's statistics at one level."""
        if not self._has_draws(view, self._how.over, level):
            return [{} for _ in self.entries]
        drawn, confidence = self.drawn(view, level, self._how.over), self._how.confidence
        return [
            {
                name: figure_interval(
                    values[number], confidence, float(drawn.observed[name][number])
                )
                for name, values in drawn.values.items()
            }
            for number in range(len(self.entries))
        ]

    def usual_draws(self, view: View, level: DrawnLevel) -> DrawnStatistics | None:
        """Return every metric's statistics on the draws of the settings.

        If there are too few systems to draw from, only sentences are drawn. None if neither can be
        drawn.
        """
        for over in dict.fromkeys((self._how.over, "sentences")):
            if self._has_draws(view, over, level):
                return self.drawn(view, level, over)
        return None

    def drawn(self, view: View, level: DrawnLevel, over: Over) -> DrawnStatistics:
        """Return every metric's statistics on every draw over the named dimension."""
        key = level, view, over
        if key not in self._kept:
            make = self._over_systems if level == "system" else self._over_pairs
            self._kept[key] = make(view, self.draws_of(view, over))
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[DrawnLevel, View, Over], DrawnStatistics]:
        return {}

    def _has_draws(self, view: View, over: Over, level: DrawnLevel) -> bool:
        """Return True if draws over the named dimension vary enough for an interval."""
        corpus = self.study.benchmark.corpus
        if level == "sentence" and not self.study.benchmark.rankings.get(view):
            return False
        if over in ("both", "sentences") and len(corpus) < LEAST_SENTENCES:
            return False
        drawn = level == "system" and over in ("both", "systems")
        # With three systems, every draw of three different ones has the same three.
        return not drawn or len(self.study.compared) >= LEAST_SYSTEMS

    def _over_systems(self, view: View, draws: Resampled) -> DrawnStatistics:
        study = self.study
        human, scores = study.human(view)[None], self.plain_scores
        first = human
        if draws.sentences is not None:
            human, scores = self.human(view)[0], self.scores
            # For the figure itself, compute human scores as in the draws, from all sentences.
            whole = self._human(view, np.ones((1, draws.counts.shape[1])))
            first = human if whole is None else whole
        # If systems are not drawn, those without a human score are left out, as in the figure.
        scored = ~np.isnan(study.human(view))
        judged = slice(None) if draws.systems is not None else scored
        parts = [correlations(human[:, judged], rows[:, judged], draws.systems) for rows in scores]
        plain = [
            correlations(first[:1, scored], rows[:, scored], None) for rows in self.plain_scores
        ]
        values = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        observed = {name: np.array([part[name][0] for part in plain]) for name in plain[0]}
        soft, soft_observed = self._soft(view, draws)
        return DrawnStatistics(values | {"spa": np.stack(soft)}, observed | {"spa": soft_observed})

    def _soft(self, view: View, draws: Resampled) -> tuple[list[FloatArray], FloatArray]:
        """Return SPA of every metric on every draw, and SPA of the corpus computed the same way."""
        study = self.study
        wanted = study.human_differences[view]
        if wanted is None or study.few(view):
            undefined = np.full(len(self.entries), np.nan)
            return [np.full(draws.size, np.nan) for _ in self.entries], undefined
        times, tables = draws.multiplicity, [entry.table.sentences for entry in self.entries]
        if draws.sentences is not None:
            metrics = [ScoreDifferences(table) for table in tables]
            whole = resampled_soft_accuracy(wanted, metrics, np.ones((1, draws.counts.shape[1])))
            drawn = resampled_soft_accuracy(wanted, metrics, draws.counts, times)
        else:
            human = study.confidence(view)
            p = [study.confidence(view, table) for table in tables]
            drawn = [drawn_soft_accuracy(human, confidence, times) for confidence in p]
            whole = [drawn_soft_accuracy(human, confidence, None) for confidence in p]
        return drawn, np.array([accuracies[0] for accuracies in whole])

    def _over_pairs(self, view: View, draws: Resampled) -> DrawnStatistics:
        """Return every metric's accuracy and τ; all judgments of a source are drawn together."""
        accuracy, tau = self._agreements(view, draws)
        whole = replace(draws, sentences=None, systems=None, size=1,
                        counts=np.ones((1, draws.counts.shape[1])))  # fmt: skip
        observed, observed_tau = self._agreements(view, whole)
        return DrawnStatistics(
            {"accuracy": accuracy.T, "kendall": tau.T},
            {"accuracy": observed[0], "kendall": observed_tau[0]},
        )

    def _agreements(self, view: View, draws: Resampled) -> tuple[FloatArray, FloatArray]:
        """Return accuracy and τ, each draws × metrics."""
        every = range(len(self.entries))
        right, balance, used = np.zeros((3, draws.size, len(every)))
        counts, times = draws.counts, draws.multiplicity
        for pairs, outcomes in self._parts(view, every):
            at = pairs.sentence, pairs.first, pairs.second
            for number, outcome in enumerate(outcomes):
                sums = (right, balance, used)
                for total, values in zip(sums, outcomes_by_pair(outcome), strict=True):
                    total[:, number] += drawn_sums(values, *at, counts, times)
        if self.study.settings.ties != "calibrated":
            return ratio(right, used, np.nan), ratio(balance, used, np.nan)
        # ε is chosen again in every draw, so the sums are taken over all thresholds instead of the
        # one chosen for the corpus. They are sums of whole numbers, so the number of draws in a
        # block does not change them.
        outcomes = self._outcomes(view, self.study.pairs(view), every)
        width = max(len(self.study.judged[view]), BLOCK // _CHUNK)
        for rows in blocks(draws.size, width):
            weights = self._weights(view, rows, draws)
            for number, outcome in enumerate(outcomes):
                right[rows, number] = calibrated_sums(outcome, weights[:, outcome.kept])
        accuracy = ratio(right, used, np.nan)
        return accuracy, 2 * accuracy - 1

    def _outcomes(
        self, view: View, pairs: JudgmentPairs, rows: Sequence[int]
    ) -> list[PairOutcomes]:
        """Return the outcomes of some judged pairs under the tie rule, for some of the metrics."""
        ties = self.study.settings.ties
        sides = (self.study.sides(view, self.entries[row].table, pairs) for row in rows)
        wanted = pairs.preference
        return [pair_outcomes(wanted, first, second, ties=ties) for first, second in sides]

    def _parts(
        self, view: View, rows: Sequence[int]
    ) -> Iterator[tuple[JudgmentPairs, list[PairOutcomes]]]:
        """Yield judged pairs with some metrics' outcomes, in parts if there are very many."""
        study = self.study
        # The threshold of `calibrated` is chosen on all pairs.
        whole = study.settings.ties == "calibrated"
        for pairs in study.pairs(view).parts() if whole else study.parts(view):
            yield pairs, self._outcomes(view, pairs, rows)

    def _weights(self, view: View, rows: slice, draws: Resampled) -> FloatArray:
        """Return how often each of some draws contains each judged pair."""
        pairs = self.study.pairs(view)
        # If sentences are not drawn, there is one row of counts, which is used for every draw.
        counts = draws.counts if draws.sentences is None else draws.counts[rows]
        weights = counts[:, pairs.sentence]
        times = draws.multiplicity
        if times is not None:
            weights = weights * times[rows][:, pairs.first] * times[rows][:, pairs.second]
        return np.broadcast_to(weights, (rows.stop - rows.start, len(pairs)))

    def differences(
        self, view: View, level: DrawnLevel, figures: Mapping[str, Sequence[float]]
    ) -> list[Difference]:
        """Return paired intervals of all differences between the first metrics at one level.

        Args:
            view: the view of the judgments.
            level: the level of the figures.
            figures: by statistic, the figures shown, for the first `entries`, which are compared.
        """
        # With draws over both dimensions, draws over each dimension alone are used as well.
        over = self._how.over
        kinds: tuple[Over, ...] = ("both", "sentences", "systems") if over == "both" else (over,)
        drawn = {o: self.drawn(view, level, o) for o in kinds if self._has_draws(view, o, level)}
        labels = [entry.table.signature.label for entry in self.entries]
        return drawn_differences(drawn, level, view, labels, figures, self._how.confidence)

    def significance(self, view: View, rows: Sequence[int]) -> list[Significance]:
        """Return tests between some of the metrics, at system and at sentence level.

        Args:
            view: the view of the judgments.
            rows: the metrics to compare, at least two; indices of `entries`.
        """
        tests = [self._system_test(view, rows)]
        if self.study.benchmark.rankings.get(view):
            tests.append(self._sentence_test(view, rows))
        return tests

    def _system_test(self, view: View, rows: Sequence[int]) -> Significance:
        settings, human = self.study.settings, self.study.human(view)
        test, statistic, size = settings.cluster_test, settings.statistic, len(rows)
        permutations, seed = self._how.permutations, settings.seed
        cells = [self.entries[row].table.sentences for row in rows]
        judged = ~np.isnan(human)
        if statistic == "spa":
            # SPA is computed from sentence scores, whatever the aggregate.
            wanted, whole = self.study.human_differences[view], test == "perm-systems"
            swapped = len(cells[0]) if whole else cells[0].size
            values, p = np.full(size, np.nan), np.full((size, size), np.nan)
            if wanted is not None:
                values, p = perm_both_spa(
                    wanted, cells, permutations=permutations, seed=seed, whole=whole
                )
        elif test == "perm-systems":
            scores = self.plain_scores[list(rows), 0][:, judged]
            swapped = scores.shape[1] - 1  # all but the first
            values, p = perm_systems(
                human[judged], scores, statistic=statistic, permutations=permutations, seed=seed
            )
        else:
            # TrueSkill and Expected Wins are not means of cells, but shares of systems beaten are.
            cells = [table[judged] for table in cells]
            swapped = cells[0].size
            if settings.aggregate != "mean":
                cells = [win_rates(table) for table in cells]
            values, p = perm_both(
                human[judged], cells, statistic=statistic, permutations=permutations, seed=seed
            )
        return self._judge("system", test, statistic, rows, values, p, swapped)

    def _sentence_test(self, view: View, rows: Sequence[int]) -> Significance:
        parts = ((pairs.sentence, outcomes) for pairs, outcomes in self._parts(view, rows))
        values, p = self.paired_test(parts, len(rows))
        lines = len(self.study.benchmark.corpus)
        return self._judge("sentence", "paired-permutation", "accuracy", rows, values, p, lines)

    def paired_test(
        self, parts: Iterable[tuple[IntArray, Sequence[PairOutcomes]]], size: int
    ) -> tuple[FloatArray, FloatArray]:
        """Test whether accuracies differ, by swapping the answers to whole sentences.

        Args:
            parts: the sentences of some judged pairs, and the outcomes of each metric on them.
            size: M, the number of metrics.

        Returns:
            The accuracies, shape (M,), and two-sided p, M × M, NaN where it is not defined; see
            `p_of_order`.
        """
        lines = len(self.study.benchmark.corpus)
        signs, exact = self.study.signs(self._how.permutations)
        duels = list(combinations(range(size), 2))
        # A swap of whole sentences needs only sums by sentence.
        won, used = np.zeros((2, 2, lines, len(duels)))
        right, pairs_used = np.zeros((2, size))
        for sentence, outcomes in parts:
            for duel, (i, j) in enumerate(duels):
                sums = sums_by_sentence(outcomes[i], outcomes[j], sentence, lines)
                won[:, :, duel] += sums[0]
                used[:, :, duel] += sums[1]
            right += [outcome.right[outcome.used].sum() for outcome in outcomes]
            pairs_used += [np.count_nonzero(outcome.used) for outcome in outcomes]
        null = swapped_accuracies(won, used, signs)
        observed = swapped_accuracies(won, used, np.ones((1, lines)))[0]
        accuracies = ratio(right, pairs_used, np.nan)
        first, second = np.array(duels, dtype=np.int64).reshape(-1, 2).T
        p = share_at_least(null, observed, exact)
        p = p_of_order(p, accuracies[first] - accuracies[second], observed)
        return accuracies, symmetric(size, duels, p)

    def _judge(
        self,
        level: str,
        test: str,
        statistic: str,
        rows: Sequence[int],
        values: FloatArray,
        p: FloatArray,
        swapped: int,
    ) -> Significance:
        # Holm's correction counts every pair of metrics of one level and view once.
        adjusted, count = holm_matrix(p), min(self._how.permutations, 2**swapped)
        clusters = tuple(cluster_ranks(values, adjusted, self._how.level))
        labels = tuple(self.entries[row].table.signature.label for row in rows)
        return Significance(level, test, statistic, labels, values, p, adjusted, clusters, count)


def drawn_differences(
    drawn: Mapping[Over, DrawnStatistics],
    level: str,
    human: str,
    labels: Sequence[str],
    figures: Mapping[str, Sequence[float]],
    confidence: float,
) -> list[Difference]:
    """Return paired intervals of all differences between some metrics, from one or more draws.

    Args:
        drawn: draws by the units drawn; all have the same metrics and statistics.
        level: the level, for the result.
        human: the human judgments, for the result.
        labels: the labels of the metrics.
        figures: by statistic, the figures shown, for the first metrics, which are compared.
        confidence: the confidence of the intervals.
    """
    rows = []
    for statistic, values in figures.items():
        for i, j in combinations(range(len(values)), 2):
            # Both metrics of a difference have the same draws, so common variation cancels.
            bounds = {
                over: interval(
                    statistics.values[statistic][i] - statistics.values[statistic][j],
                    confidence,
                    float(statistics.observed[statistic][i] - statistics.observed[statistic][j]),
                )[0]
                for over, statistics in drawn.items()
                # A statistic that is not computed on draws has no interval.
                if statistic in statistics.values
            }
            gap = float(values[i] - values[j])
            rows.append(Difference(level, human, statistic, labels[i], labels[j], gap, bounds))
    return rows


def judged_wins(pairs: JudgmentPairs, sentences: int) -> Wins:
    """Return wins by judgment.

    Args:
        pairs: judgments; ties are ignored.
        sentences: number of sentences of the corpus.
    """
    decided = pairs.decided
    first = decided.preference > 0
    winner = np.where(first, decided.first, decided.second)
    loser = np.where(first, decided.second, decided.first)

    def take(rows: slice, lost: bool) -> FloatArray:
        system, other = (loser, winner) if lost else (winner, loser)
        chosen = (system >= rows.start) & (system < rows.stop)
        wins = np.zeros((sentences, rows.stop - rows.start, len(pairs.systems)))
        at = decided.sentence[chosen], system[chosen] - rows.start, other[chosen]
        np.add.at(wins, at, 1)
        return wins

    return take


def resampled_human_scores(
    benchmark: Benchmark,
    kind: str,
    pairs: JudgmentPairs | JudgedEntries | None,
    counts: FloatArray,
) -> FloatArray | None:
    """Return human scores of systems on every resampled corpus, from judgments of its sentences.

    Published scores are computed from all sentences. For a resampled corpus Expected Wins and mean
    ratings are computed again. For TrueSkill its limit is used: with β = σN/40 for N judgments
    (WMT's convention) performances vary so much that every win moves the two means by the same
    step, and wins minus losses remain. On SEEDA and GJG15 this correlates with
    `gecjury.benchmarks.human_scores.human_trueskill` at .9999 and with the published columns at
    .997 or more.

    Args:
        benchmark: the benchmark with its judgments.
        kind: `trueskill`, `expected-wins` or `mean`.
        pairs: expanded judgments of the view, if any.
        counts: B × sentences.

    Returns:
        B × S, for TrueSkill up to a factor; NaN for a system that no judgment of the draw compares;
        None if there is no data to compute them from.
    """
    sentences = counts.shape[1]
    if kind == "mean" and benchmark.segment_scores is not None:
        rated = ~np.isnan(benchmark.segment_scores)
        sums = counts @ np.where(rated, benchmark.segment_scores, 0.0).T
        return ratio(sums, counts @ rated.T.astype(np.float64), np.nan)
    if pairs is None or not len(pairs):
        return None
    size = len(pairs.systems)
    if kind == "expected-wins":
        whole = pairs if isinstance(pairs, JudgmentPairs) else pairs.whole()
        return resampled_wins(judged_wins(whole, sentences), size, counts)
    if kind != "trueskill":
        return None
    # Sums by sentence are computed once; a draw is then one row of a matrix product.
    net, met = np.zeros((2, sentences * size))
    for part in pairs.parts():
        for side, sign in ((part.first, 1), (part.second, -1)):
            cell = part.sentence * size + side
            net += np.bincount(cell, sign * part.preference, minlength=len(net))
            met += np.bincount(cell, minlength=len(met))
    met, net = (counts @ sums.reshape(sentences, size) for sums in (met, net))
    return np.where(met > 0, net, np.nan)
