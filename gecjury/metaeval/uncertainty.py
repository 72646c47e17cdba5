"""How far the figures of a comparison can be trusted: intervals, tests between metrics, clusters.

Everything is computed from scores that are there: nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from gecjury.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.benchmarks.judgments import JudgmentPairs
from gecjury.benchmarks.table import View
from gecjury.metaeval.resampled import (
    Entry,
    resampled_human_scores,
    resampled_system_scores,
    win_rates,
)
from gecjury.metaeval.settings import ClusterTest
from gecjury.metaeval.study import Study
from gecjury.stats.bootstrap import Interval, Resampled, interval, make_resampled
from gecjury.stats.correlation import correlations
from gecjury.stats.permutation import (
    SystemStatistic,
    cluster_ranks,
    holm_matrix,
    perm_both,
    perm_systems,
    permutation_signs,
    share_at_least,
)
from gecjury.stats.preferences import PairOutcomes, pair_outcomes
from gecjury.stats.resampling import Over, Resampling
from gecjury.stats.soft_accuracy import (
    ScoreDifferences,
    perm_both_spa,
    resampled_soft_accuracy,
    soft_pairwise_accuracy,
)

LEAST_SENTENCES = 2
LEAST_SYSTEMS = 4
_CHUNK = 200  # draws whose pair weights are held at once


@dataclass(frozen=True)
class Intervals:
    """Intervals by the name of the statistic, and how many draws did not define each."""

    bounds: dict[str, Interval] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Significance:
    """Tests between all metrics at one level.

    Attributes:
        level: `system` or `sentence`.
        test: `perm-systems` (whole systems swapped: asks of other systems as well), `perm-both`
            (cells swapped: asks of other sentences by these systems) or `paired-permutation`.
        statistic: what was compared.
        metrics: labels.
        values: the statistic of each metric.
        p: two-sided, M × M, symmetric, NaN on the diagonal.
        adjusted: the same after Holm's correction over all pairs.
        clusters: 1 for the best; None where the statistic is not defined.
        permutations: how many.
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
    """One metric's figure less another's, with paired intervals: both from the same draws.

    Attributes:
        level: `system`, `sentence`, `segment`, `ratings` or `edit`.
        human: the view, or the aspect that was rated.
        statistic: as the level's figures are called.
        first: label of a metric.
        second: of another.
        difference: the first's figure less the second's.
        ci95: interval by what was drawn: `both`, `sentences` or `systems`.
    """

    level: str
    human: str
    statistic: str
    first: str
    second: str
    difference: float
    ci95: Mapping[Over, Interval]


@dataclass(frozen=True)
class Drawn:
    """Statistics of all metrics on every draw.

    Attributes:
        values: by statistic, metrics × draws; NaN where a draw does not define it.
        observed: by statistic, of the data themselves in the way of the draws; (metrics,).
    """

    values: Mapping[str, FloatArray]
    observed: Mapping[str, FloatArray]


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of several metrics in one study.

    Attributes:
        study: benchmark, aggregate and tie rule.
        entries: the metrics' scores.
        resampling: how.
        statistic: what metrics are told apart by at system level.
        seed: of draws and permutations.
        cluster_test: what the test at system level swaps.
    """

    study: Study
    entries: Sequence[Entry]
    resampling: Resampling = field(default_factory=Resampling)
    statistic: SystemStatistic = "pearson"
    seed: int = 0
    cluster_test: ClusterTest = "perm-systems"

    @property
    def kinds(self) -> tuple[Over, ...]:
        """What differences are drawn over: from draws of both come those of either alone."""
        over = self.resampling.over
        return ("both", "sentences", "systems") if over == "both" else (over,)

    @cached_property
    def draws(self) -> Resampled:
        """The resampled corpora and sets of systems, the same for every metric and view."""
        corpus, how = self.study.benchmark.corpus, self.resampling
        return make_resampled(how.over, how.resamples, len(corpus), len(corpus.names), self.seed)

    def judged_draws(self, view: View) -> Resampled:
        """The same corpora, and sets of those systems alone that humans scored."""
        return self._judged_draws.get(view, self.draws)

    @cached_property
    def _judged_draws(self) -> dict[View, Resampled]:
        """The draws of the views in which humans scored some of the systems, but not all."""
        benchmark, how = self.study.benchmark, self.resampling
        corpus, drawn = benchmark.corpus, {}
        for view in benchmark.views:
            # A kind of human scores that was asked for may exist in another view alone.
            if self.study.human_kind(view) not in benchmark.human[view]:
                continue
            judged = np.flatnonzero(~np.isnan(self.study.human(view)))
            if 0 < len(judged) < len(corpus.names):
                drawn[view] = make_resampled(
                    how.over, how.resamples, len(corpus), len(corpus.names), self.seed, judged
                )
        return drawn

    def _draws_of(self, view: View, over: Over) -> Resampled:
        """The draws, of which only what is named is drawn."""
        draws = self.judged_draws(view)
        if over == "sentences":
            return replace(draws, systems=None)
        if over == "systems":
            return replace(draws, sentences=None, counts=np.ones((1, draws.counts.shape[1])))
        return draws

    @cached_property
    def scores(self) -> FloatArray:
        """System scores, metrics × draws × systems; one draw where sentences are kept."""
        draws = self.draws
        if draws.sentences is not None:
            return resampled_system_scores(self.study.aggregate, self.entries, draws.sentences)
        return self.plain_scores

    @cached_property
    def plain_scores(self) -> FloatArray:
        """System scores of the corpus itself, metrics × 1 × systems."""
        return np.stack([self._scores(entry)[None] for entry in self.entries])

    def _scores(self, entry: Entry) -> FloatArray:
        corpus = None
        if self.study.aggregate == "corpus" and entry.corpus is not None:
            corpus = entry.corpus(np.arange(entry.sentences.shape[1])[None])[0]
        with np.errstate(invalid="ignore"):
            mean = np.nanmean(entry.sentences, axis=1) if corpus is None else corpus
        return self.study.system_scores(entry.sentences, mean)

    def human(self, view: View) -> tuple[FloatArray, bool]:
        """Human scores, draws × systems, and whether they were resampled with the sentences."""
        found = None
        if self.draws.sentences is not None:
            found = self._human(view, self.draws.counts)
        return (self.study.human(view)[None], False) if found is None else (found, True)

    def _human(self, view: View, counts: FloatArray) -> FloatArray | None:
        pairs = self.study.judged(view) if self.study.benchmark.rankings.get(view) else None
        kind = self.study.human_kind(view)
        return resampled_human_scores(self.study.benchmark, kind, view, pairs, counts)

    def over_systems(self, view: View) -> list[Intervals]:
        """Intervals of every metric's system-level statistics, SPA among them."""
        if not self._has_draws(self.resampling.over, "system"):
            return [Intervals() for _ in self.entries]
        return self._bounds(self.drawn_over_systems(view, self.resampling.over))

    def drawn_over_systems(self, view: View, over: Over) -> Drawn:
        """System-level statistics on every draw over what is named."""
        found = self._kept.get(("system", view, over))
        if found is None:
            found = self._kept["system", view, over] = self._over_systems(view, over)
        return found

    @cached_property
    def _kept(self) -> dict[tuple[str, View, Over], Drawn]:
        return {}

    def _over_systems(self, view: View, over: Over) -> Drawn:
        draws, study = self._draws_of(view, over), self.study
        human, scores = study.human(view)[None], self.plain_scores
        first = human
        if draws.sentences is not None:
            human, scores = self.human(view)[0], self.scores
            # The figure in the way of the draws: human scores of the same kind, from all sentences.
            whole = self._human(view, np.ones((1, draws.counts.shape[1])))
            first = human if whole is None else whole
        # Where systems are kept, those without a human score are left out, as in the figure itself.
        scored = ~np.isnan(study.human(view))
        judged = slice(None) if draws.systems is not None else scored
        parts = [correlations(human[:, judged], each[:, judged], draws.systems) for each in scores]
        plain = [
            correlations(first[:1, scored], each[:, scored], None) for each in self.plain_scores
        ]
        values = {name: np.stack([each[name] for each in parts]) for name in parts[0]}
        observed = {name: np.array([each[name][0] for each in plain]) for name in plain[0]}
        soft, known = self._soft(view, draws)
        return Drawn(values | {"spa": np.stack(soft)}, observed | {"spa": known})

    def _soft(self, view: View, draws: Resampled) -> tuple[list[FloatArray], FloatArray]:
        """SPA of every metric on every draw, and of the corpus in the same way."""
        study = self.study
        wanted = study.human_differences(view)
        if wanted is None or study.few(view):
            undefined = np.full(len(self.entries), np.nan)
            return [np.full(draws.size, np.nan) for _ in self.entries], undefined
        times = draws.multiplicity
        if draws.sentences is not None:
            given = [ScoreDifferences(entry.sentences) for entry in self.entries]
            whole = np.ones((1, draws.counts.shape[1]))
            known = resampled_soft_accuracy(wanted, given, whole)
            return (
                resampled_soft_accuracy(wanted, given, draws.counts, times),
                np.array([each[0] for each in known]),
            )
        human = study.confidence(view)
        found, plain = [], []
        for entry in self.entries:
            p = study.confidence(view, entry.sentences)
            drawn = [_soft_accuracy(human, p, part) for part in _parts(times, len(p))]
            found.append(np.concatenate(drawn))
            plain.append(_soft_accuracy(human, p, None)[0])
        return found, np.array(plain)

    def over_pairs(self, view: View) -> list[Intervals]:
        """Intervals of every metric's accuracy and τ; all judgments of a source go together."""
        ranked = self.study.benchmark.rankings.get(view)
        if not ranked or not self._has_draws(self.resampling.over, "sentence"):
            return [Intervals() for _ in self.entries]
        return self._bounds(self.drawn_over_pairs(view, self.resampling.over))

    def drawn_over_pairs(self, view: View, over: Over) -> Drawn:
        """Every metric's accuracy and τ on every draw over what is named."""
        found = self._kept.get(("sentence", view, over))
        if found is None:
            found = self._kept["sentence", view, over] = self._over_pairs(view, over)
        return found

    def _over_pairs(self, view: View, over: Over) -> Drawn:
        draws = self._draws_of(view, over)
        accuracy, tau = self._agreements(view, draws)
        whole = replace(draws, sentences=None, systems=None, size=1,
                        counts=np.ones((1, draws.counts.shape[1])))  # fmt: skip
        known, balance = self._agreements(view, whole)
        return Drawn(
            {"accuracy": accuracy.T, "kendall": tau.T},
            {"accuracy": known[0], "kendall": balance[0]},
        )

    def _agreements(self, view: View, draws: Resampled) -> tuple[FloatArray, FloatArray]:
        """Accuracy and τ, each draws × metrics."""
        right, balance, used = self._sums(view, draws)
        calibrated = self.study.ties == "calibrated"
        outcomes = self._outcomes(view) if calibrated else []
        # Sums of whole numbers, which are the same however many draws are taken at a time.
        width = max(len(self.study.judged(view)), BLOCK // _CHUNK)
        for rows in blocks(draws.size if calibrated else 0, width):
            weights = self._weights(view, rows, draws)
            for number, outcome in enumerate(outcomes):
                right[rows, number] = calibrated_sums(outcome, weights[:, outcome.kept])
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracy = np.where(used > 0, right / used, np.nan)
            tau = 2 * accuracy - 1 if calibrated else np.where(used > 0, balance / used, np.nan)
        return accuracy, tau

    def differences(
        self, view: View, level: str, figures: Mapping[str, Sequence[float]]
    ) -> list[Difference]:
        """Paired intervals of all differences between the first metrics at one level.

        Args:
            view: which judgments.
            level: `system` or `sentence`.
            figures: by statistic, as they are shown, of as many `entries` as are compared.
        """
        kinds = [over for over in self.kinds if self._has_draws(over, level)]
        drawn = {
            over: self.drawn_over_systems(view, over)
            if level == "system"
            else self.drawn_over_pairs(view, over)
            for over in kinds
        }
        share = self.resampling.confidence
        labels = [entry.label for entry in self.entries]
        return drawn_differences(drawn, level, view, labels, figures, share)

    def _outcomes(self, view: View) -> list[PairOutcomes]:
        if not self.study.benchmark.rankings.get(view):
            return []
        return self._outcomes_of(view, self.study.pairs(view), range(len(self.entries)))

    def _outcomes_of(
        self, view: View, pairs: JudgmentPairs, rows: Sequence[int]
    ) -> list[PairOutcomes]:
        """Of some entries on some of the judged pairs."""
        ties, entries = self.study.ties, [self.entries[row] for row in rows]
        sides = (self.study.sides(view, e.sentences, e.items, pairs) for e in entries)
        wanted = pairs.preference
        return [pair_outcomes(wanted, first, second, ties=ties) for first, second in sides]

    def _parts(
        self, view: View, rows: Sequence[int]
    ) -> Iterator[tuple[JudgmentPairs, list[PairOutcomes]]]:
        """Judged pairs with the outcomes of some entries, some pairs at a time if they are many."""
        study = self.study
        # The threshold of `calibrated` is chosen on all pairs.
        whole = study.ties == "calibrated"
        for pairs in study.pairs(view).parts() if whole else study.parts(view):
            yield pairs, self._outcomes_of(view, pairs, rows)

    def _sums(self, view: View, draws: Resampled) -> FloatArray:
        """Sums over all judged pairs of every draw, see `drawn_sums`: 3 × draws × metrics.

        Of agreements, of what counts for τ, and of pairs used.
        """
        found = np.zeros((3, draws.size, len(self.entries)))
        counts, times = draws.counts, draws.multiplicity
        for pairs, outcomes in self._parts(view, range(len(self.entries))):
            at = pairs.sentence, pairs.first, pairs.second
            for number, outcome in enumerate(outcomes):
                for total, values in zip(found, _spread(outcome), strict=True):
                    total[:, number] += drawn_sums(values, *at, counts, times)
        return found

    def _weights(self, view: View, rows: slice, draws: Resampled) -> FloatArray:
        """How often each judged pair stands in each of some draws."""
        pairs = self.study.pairs(view)
        # Where sentences are kept there is one row of counts, which stands for every draw.
        counts = draws.counts if draws.sentences is None else draws.counts[rows]
        weights = counts[:, pairs.sentence]
        times = draws.multiplicity
        if times is not None:
            weights = weights * times[rows][:, pairs.first] * times[rows][:, pairs.second]
        return np.broadcast_to(weights, (rows.stop - rows.start, len(pairs)))

    def _has_draws(self, over: Over, level: str) -> bool:
        """Whether draws of what is named differ enough for an interval to say something.

        Args:
            over: what is drawn.
            level: `system` or `sentence`.
        """
        corpus = self.study.benchmark.corpus
        if over in ("both", "sentences") and len(corpus) < LEAST_SENTENCES:
            return False
        drawn = level == "system" and over in ("both", "systems")
        # Draws of three systems with three different ones are all of the same three.
        return not drawn or len(corpus.names) >= LEAST_SYSTEMS

    def _bounds(self, drawn: Drawn) -> list[Intervals]:
        found = []
        for number in range(len(self.entries)):
            bounds, dropped = {}, {}
            for name, values in drawn.values.items():
                bounds[name], dropped[name] = interval(
                    values[number], self.resampling.confidence, float(drawn.observed[name][number])
                )
            found.append(Intervals(bounds, dropped))
        return found

    def significance(self, view: View, rows: Sequence[int]) -> list[Significance]:
        """Tests between some of the metrics, at system and at sentence level.

        Args:
            view: which judgments.
            rows: the metrics to compare, at least two; indices of `entries`.
        """
        tests = [self._system_test(view, rows)]
        if self.study.benchmark.rankings.get(view):
            tests.append(self._sentence_test(view, rows))
        return tests

    def _system_test(self, view: View, rows: Sequence[int]) -> Significance:
        aggregate, how = self.study.aggregate, self.resampling
        entries = [self.entries[row] for row in rows]
        if self.statistic == "spa":
            return self._soft_test(view, entries)
        human = self.study.human(view)
        judged = ~np.isnan(human)
        if self.cluster_test == "perm-systems":
            values, p = perm_systems(
                human[judged],
                self.plain_scores[list(rows), 0][:, judged],
                statistic=self.statistic,
                permutations=how.permutations,
                seed=self.seed,
            )
        else:
            tables = [entry.sentences for entry in entries]
            cells = tables if aggregate == "mean" else [win_rates(table) for table in tables]
            values, p = perm_both(
                human[judged],
                [cell[judged] for cell in cells],
                statistic=self.statistic,
                permutations=how.permutations,
                seed=self.seed,
            )
        return self._judge("system", self.cluster_test, self.statistic, entries, values, p)

    def _soft_test(self, view: View, entries: Sequence[Entry]) -> Significance:
        """PERM-BOTH on SPA, which rests on sentence scores whatever the aggregate."""
        how, wanted = self.resampling, self.study.human_differences(view)
        size = len(entries)
        values, p = np.full(size, np.nan), np.full((size, size), np.nan)
        if wanted is not None:
            cells = [entry.sentences for entry in entries]
            values, p = perm_both_spa(
                wanted,
                cells,
                permutations=how.permutations,
                seed=self.seed,
                whole=self.cluster_test == "perm-systems",
            )
        return self._judge("system", self.cluster_test, "spa", entries, values, p)

    def _sentence_test(self, view: View, rows: Sequence[int]) -> Significance:
        how = self.resampling
        lines = len(self.study.benchmark.corpus)
        signs, exact = permutation_signs(lines, how.permutations, self.seed)
        duels = list(combinations(range(len(rows)), 2))
        won, used = np.zeros((2, 2, lines, len(duels)))
        right, pairs_used = np.zeros((2, len(rows)))
        for pairs, outcomes in self._parts(view, rows):
            for duel, (i, j) in enumerate(duels):
                sums = _by_sentence(outcomes[i], outcomes[j], pairs.sentence, lines)
                won[:, :, duel] += sums[0]
                used[:, :, duel] += sums[1]
            right += [found.right[found.used].sum() for found in outcomes]
            pairs_used += [np.count_nonzero(found.used) for found in outcomes]
        null = _swapped_difference(won, used, signs)
        observed = _swapped_difference(won, used, np.ones((1, lines)))[0]
        shares = np.where(np.isnan(observed), np.nan, share_at_least(null, observed, exact))
        p = np.full((len(rows), len(rows)), np.nan)
        for (i, j), value in zip(duels, shares, strict=True):
            p[i, j] = p[j, i] = value
        with np.errstate(invalid="ignore"):
            values = right / pairs_used
        entries = [self.entries[row] for row in rows]
        return self._judge("sentence", "paired-permutation", "accuracy", entries, values, p)

    def _judge(
        self,
        level: str,
        test: str,
        statistic: str,
        entries: Sequence[Entry],
        values: FloatArray,
        p: FloatArray,
    ) -> Significance:
        adjusted = holm_matrix(p)
        clusters = tuple(cluster_ranks(values, adjusted, self.resampling.level))
        labels = tuple(entry.label for entry in entries)
        count = self.resampling.permutations
        return Significance(level, test, statistic, labels, values, p, adjusted, clusters, count)


def drawn_differences(
    drawn: Mapping[Over, Drawn],
    level: str,
    human: str,
    labels: Sequence[str],
    figures: Mapping[str, Sequence[float]],
    confidence: float,
) -> list[Difference]:
    """Paired intervals of all differences between some metrics, from draws over one thing or more.

    Args:
        drawn: by what was drawn; each of the same metrics and statistics.
        level: for the result.
        human: for the result.
        labels: of the metrics.
        figures: by statistic, as they are shown, of the first metrics, which are compared.
        confidence: of the intervals.
    """
    found = []
    for statistic, known in figures.items():
        for i, j in combinations(range(len(known)), 2):
            bounds = {
                over: interval(
                    each.values[statistic][i] - each.values[statistic][j],
                    confidence,
                    float(each.observed[statistic][i] - each.observed[statistic][j]),
                )[0]
                for over, each in drawn.items()
            }
            gap = float(known[i] - known[j])
            found.append(Difference(level, human, statistic, labels[i], labels[j], gap, bounds))
    return found


def _parts(times: FloatArray | None, pairs: int) -> Iterator[FloatArray | None]:
    """How often each system stands in each draw, some draws at a time."""
    if times is None:
        yield None
        return
    for rows in blocks(len(times), pairs):
        yield times[rows]


def _soft_accuracy(human: FloatArray, metric: FloatArray, times: FloatArray | None) -> FloatArray:
    """SPA with the pairs of systems as often as each draw has them."""
    weights = None
    if times is not None:
        first, second = np.triu_indices(times.shape[1], 1)
        weights = times[:, first] * times[:, second]
    return np.atleast_1d(soft_pairwise_accuracy(human[None], metric[None], weights))


def drawn_sums(
    values: FloatArray,
    sentence: IntArray,
    first: IntArray,
    second: IntArray,
    counts: FloatArray,
    times: FloatArray | None,
    *,
    at_once: int = BLOCK,
) -> FloatArray:
    """Sums over judged pairs, each as often as a draw has its sentence and its two systems.

    Args:
        values: of the pairs, multiples of one half, whose sums are exact in any order.
        sentence: of each pair.
        first: system of each pair.
        second: the other.
        counts: B × N, how often each draw holds each sentence, or one row for all draws.
        times: B × S, how often each system stands in each draw; None for once.
        at_once: numbers held at once.

    Returns:
        Shape (B,), or (1,) if neither sentences nor systems were drawn.
    """
    lines = counts.shape[1]
    if times is None:
        return np.asarray(counts @ np.bincount(sentence, values, minlength=lines))
    draws, size = times.shape
    counts = np.broadcast_to(counts, (draws, lines))
    if max(lines, draws) * size * size <= at_once:
        cell = (sentence * size + first) * size + second
        table = np.bincount(cell, values, minlength=lines * size * size).reshape(lines, -1)
        pairs = (times[:, :, None] * times[:, None, :]).reshape(draws, -1)
        return np.asarray((counts @ table * pairs).sum(axis=1))
    found = np.zeros(draws)
    if len(values) * draws > at_once:
        rest, dense = _dense_sums(values, sentence, first, second, counts, times)
        found += dense
        sentence, first, second = (column[rest] for column in (sentence, first, second))
        values = values[rest]
    for part in blocks(len(values), draws, at_once):
        weights = counts[:, sentence[part]]
        weights *= times[:, first[part]]
        weights *= times[:, second[part]]
        found += weights @ values[part]
    return found


def _dense_sums(
    values: FloatArray,
    sentence: IntArray,
    first: IntArray,
    second: IntArray,
    counts: FloatArray,
    times: FloatArray,
) -> tuple[BoolArray, FloatArray]:
    """`drawn_sums` of sentences on which most systems were compared, by products of matrices.

    Returns:
        The pairs that are left, and the sums of every draw.
    """
    rest, found = np.ones(len(values), dtype=np.bool_), np.zeros(len(times))
    size = times.shape[1]
    for line in np.flatnonzero(np.bincount(sentence) > size):
        here = np.flatnonzero(sentence == line)
        low, high = first[here].min(), first[here].max() + 1
        if (high - low) * size > 4 * len(here):
            continue
        cell = (first[here] - low) * size + second[here]
        table = np.bincount(cell, values[here], minlength=(high - low) * size)
        drawn = times[:, low:high] @ table.reshape(-1, size)
        drawn *= times
        found += counts[:, line] * drawn.sum(axis=1)
        rest[here] = False
    return rest, found


def _spread(found: PairOutcomes) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Agreement, balance and use of every judged pair, 0 for those without part in it."""
    parts = []
    for values in (found.right, found.balance, np.ones(len(found.right))):
        full = np.zeros(len(found.kept))
        full[found.kept] = values * found.used
        parts.append(full)
    return parts[0], parts[1], parts[2]


def calibrated_sums(found: PairOutcomes, weights: FloatArray) -> FloatArray:
    """Highest weighted sum of agreements that any threshold gives, for every draw.

    Args:
        found: outcomes under the rule `calibrated`.
        weights: of the kept pairs, draws × pairs.
    """
    order = np.argsort(found.gap, kind="stable")
    gap = found.gap[order]
    decided = found.raw_sign[order] == found.wanted[order]
    tie = found.wanted[order] == 0
    last = np.append(gap[1:] != gap[:-1], True) if len(gap) else np.zeros(0, dtype=bool)
    drawn = weights[:, order]
    total = drawn @ decided.astype(np.float64)
    drawn *= tie.astype(np.float64) - decided
    gains = np.cumsum(drawn, axis=1, out=drawn)[:, last]
    best = gains.max(axis=1, initial=-np.inf)
    if len(gap) and gap[0] > 0:
        best = np.maximum(best, 0.0)
    return np.asarray(total + np.where(np.isfinite(best), best, 0.0))


def _by_sentence(
    one: PairOutcomes, two: PairOutcomes, sentence: np.ndarray, lines: int
) -> tuple[FloatArray, FloatArray]:
    """Agreements and pairs used by sentence, (2, lines), over pairs that both metrics score."""
    both = one.kept & two.kept
    won, used = np.zeros((2, lines)), np.zeros((2, lines))
    for row, found in enumerate((one, two)):
        right, _, use = _spread(found)
        won[row] = np.bincount(sentence[both], right[both], minlength=lines)
        used[row] = np.bincount(sentence[both], use[both], minlength=lines)
    return won, used


def _swapped_difference(won: FloatArray, used: FloatArray, signs: FloatArray) -> FloatArray:
    """Difference of two accuracies when the sentences with sign −1 are swapped.

    Args:
        won: 2 × sentences × duels.
        used: likewise.
        signs: K × sentences.

    Returns:
        K × duels; NaN where a metric has no pairs.
    """
    accuracies = []
    for turn in (1.0, -1.0):
        top, bottom = (
            (part[0] + part[1]).sum(axis=0) / 2 + turn * (signs @ (part[0] - part[1])) / 2
            for part in (won, used)
        )
        accuracies.append(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))
    return np.asarray(accuracies[0] - accuracies[1])
