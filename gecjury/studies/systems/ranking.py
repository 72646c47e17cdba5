"""Systems ranked by a number: the one record of a system that all studies of systems share.

Everything is computed from the statistics of one scoring; nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import isnan, nan

import numpy as np

from gecjury.core.arrays import settled
from gecjury.core.wording import listed
from gecjury.report.result import Column
from gecjury.report.verdict import PairedTests, Ranked
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.scoring.system_tests import (
    SystemTests,
    aggregated,
    are_means,
    compare_systems,
    measures,
    score_intervals,
)
from gecjury.stats.bootstrap import Interval
from gecjury.stats.catalogue import statistic
from gecjury.stats.choices import Aggregate
from gecjury.stats.counts import defined_mean
from gecjury.stats.figure import Figure, figures_about, records
from gecjury.stats.resampling import Resampling, check_resamples

_DIGITS = 4
TEST = "approximate randomisation"


@dataclass(frozen=True, kw_only=True)
class System:
    """A system by one metric: its numbers, and its place among the systems.

    Attributes:
        name: the system.
        numbers: the first is the one that systems are ranked by.
        rank: 1 for the best; equal numbers share a rank.
        rank_range: best and worst rank that are consistent with the tests; None without a number.
        cluster: 1 for the best.
        p_next: corrected p of the difference from the next system; None for the last.
    """

    name: str
    numbers: tuple[Figure, ...]
    rank: int
    rank_range: tuple[int, int] | None = None
    cluster: int | None = None
    p_next: float | None = None

    def figures(self) -> Iterator[Figure]:
        """Yield the numbers, then the rank with its range and the p of the next difference."""
        first = self.numbers[0]
        yield from self.numbers
        low, high = self.rank_range or (nan, nan)
        yield replace(first, statistic="rank", value=self.rank, low=low, high=high)
        if self.p_next is not None:
            yield replace(first, statistic="p_next", value=self.p_next, low=nan, high=nan)


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Systems by one metric.

    Attributes:
        systems: the best first.
        lead: who leads, in words.
        metric: label of the metric; empty if the number is not that of a metric.
        signature: of the scores.
        tests: tests between the systems in the order of the data; None if they were not tested.
        names: the systems in the order of the data.
        dropped: number of resampled numbers that were not defined.
    """

    systems: tuple[System, ...]
    lead: Ranked
    metric: str = ""
    signature: str = ""
    tests: SystemTests | None = None
    names: tuple[str, ...] = ()
    dropped: int = 0

    def figures(self) -> Iterator[Figure]:
        """Yield the figures of every system."""
        for system in self.systems:
            yield from system.figures()

    def row(self, system: System) -> dict[str, object]:
        """Return the record of a system for tables and JSON."""
        names = {f"{system.numbers[0].statistic}_ci95": "ci95", "score_cluster": ""}
        (row,) = records(system.numbers, names=names)
        row |= {"signature": self.signature} if self.metric else {}
        if self.tests is not None:
            span = system.rank_range
            row |= {
                "rank_range": None if span is None else list(span),
                # A range of one rank is shown as that rank.
                "ranks": "–".join(map(str, dict.fromkeys(span))) if span else None,
                "cluster": system.cluster,
                "p_next": system.p_next,
            }
        return row

    def p_best(self, name: str) -> float | None:
        """Return the corrected p of a system's difference from the best one; None for that one."""
        assert self.tests is not None
        best = self.names.index(self.systems[0].name)
        row = self.names.index(name)
        return None if row == best else float(self.tests.adjusted[row, best])

    def notes(self) -> Iterator[str]:
        """Yield remarks on numbers that are missing or equal."""
        if self.dropped:
            yield f"{self.metric}: {self.dropped} resampled scores are not defined and are left out"
        ranks = {system.rank for system in self.systems}
        if self.tests is not None and len(self.systems) > 1 and len(ranks) == 1:
            yield f"{self.metric}: all systems have the same score: nothing to rank"

    def significance(self) -> dict[str, object]:
        """Return the p-values of all pairs for JSON."""
        assert self.tests is not None
        return {"systems": list(self.names), "p": self.tests.p, "adjusted": self.tests.adjusted}


def ranking(
    numbers: Mapping[str, tuple[Figure, ...]],
    tests: SystemTests | None,
    how: Resampling,
    *,
    ties: Sequence[float] = (),
    directed: bool = True,
    what: str = "",
    paired: Mapping[tuple[str, str], Interval] | None = None,
    gaps: Mapping[tuple[str, str], float] | None = None,
) -> Ranking:
    """Rank systems by the first of their numbers; those without one come last.

    Args:
        numbers: of each system; the catalogue says whether higher or lower is better.
        tests: tests between the systems, in the same order.
        how: settings of intervals and tests.
        ties: order of systems with the same number, lower first.
        directed: whether the first system is the best; other metrics only describe outputs.
        what: name of the number in a sentence; empty if it is clear.
        paired: interval of the lead of one system over another.
        gaps: the lead itself, where it is not the difference of the numbers.
    """
    names = tuple(numbers)
    firsts = [of_system[0] for of_system in numbers.values()]
    # Systems that differ only by rounding share a rank.
    values = settled(np.array([first.value for first in firsts])).tolist()
    sign = -1 if firsts and statistic(firsts[0].statistic).better == "lower" else 1
    order = sorted(
        range(len(names)),
        key=lambda row: (isnan(values[row]), -sign * values[row], *ties[row : row + 1]),
    )
    systems: list[System] = []
    for place, row in enumerate(order):
        equal = place > 0 and values[row] == values[order[place - 1]]
        own, system = numbers[names[row]], names[row]
        rank = systems[-1].rank if equal else place + 1
        ranked = System(name=system, numbers=own, rank=rank)
        if tests is not None:
            cluster, below = tests.clusters[row], order[place + 1 : place + 2]
            ranked = replace(
                ranked,
                numbers=tuple(replace(one, cluster=cluster) for one in own),
                rank_range=tests.ranks[row],
                cluster=cluster,
                p_next=float(tests.adjusted[row, below[0]]) if below else None,
            )
        systems.append(ranked)
    lead = Ranked(
        {names[row]: values[row] for row in order if not isnan(values[row])},
        what,
        _DIGITS,
        PairedTests() if tests is None else PairedTests(names, tests.adjusted, TEST, how.level),
        {first.system: first.interval for first in firsts if first.interval},
        paired or {},
        gaps or {},
        confidence=how.confidence,
        same=0.5 * 10**-_DIGITS,
        directed=directed,
    )
    return Ranking(systems=tuple(systems), lead=lead, tests=tests, names=names)


def rank_scores(
    scorer: Scorer,
    table: ScoreTable,
    how: Resampling,
    seed: int = 0,
    aggregate: Aggregate = "corpus",
    tested: bool = True,
    *,
    tests: SystemTests | None = None,
    paired: Mapping[tuple[str, str], Interval] | None = None,
) -> Ranking:
    """Rank the systems of a table of scores.

    Args:
        how: the bootstrap over sentences and the tests; neither if it draws nothing.
        aggregate: the score that systems are ranked by.
        tested: whether the differences of systems are tested.
        tests: tests that were computed before.
        paired: interval of the lead of one system over another.

    Raises:
        OptionError: the resamples would not fit in memory.
    """
    bounded = how.over != "none"
    bounds: Mapping[str, list[Interval]] = {}
    dropped = 0
    if bounded:
        # The number of sentences in a resample is known only here.
        check_resamples(how.resamples, table.sentences.shape[1])
        bounds, dropped = score_intervals(scorer, table, aggregate, how, seed)
    numbers = _score_figures(table, aggregate, bounds)
    if bounded and tested:
        tests = compare_systems(scorer, table, aggregate, how, seed)
    gaps = _shared_gaps(scorer, table, aggregate)
    ranked = ranking(numbers, tests, how, directed=scorer.directed, paired=paired, gaps=gaps)
    about = table.signature
    return replace(ranked, metric=about.label, signature=str(about), dropped=dropped)


def _score_figures(
    table: ScoreTable, aggregate: Aggregate, bounds: Mapping[str, Sequence[Interval]]
) -> dict[str, tuple[Figure, ...]]:
    """Return the scores of each system, with their intervals."""
    scores = measures(aggregated(table, aggregate))
    missing = np.isnan(table.sentences).sum(axis=1).tolist()
    about = {"metric": table.signature.label, "family": table.signature.family}
    return {
        system: tuple(
            figures_about(
                {key: float(values[row]) for key, values in scores.items()},
                {key: of_key[row] for key, of_key in bounds.items()},
                level="score",
                system=system,
                n=table.sentences.shape[1] - missing[row],
                missing=missing[row],
                **about,
            )
        )
        for row, system in enumerate(table.systems)
    }


def _shared_gaps(
    scorer: Scorer, table: ScoreTable, aggregate: Aggregate
) -> dict[tuple[str, str], float]:
    """Return differences of means over the sentences that two systems share, if some lack a score.

    The tests compare these sentences, too.
    """
    means = aggregate == "mean" or (aggregate == "corpus" and are_means(scorer, table))
    if not table.missing or not means:
        return {}
    rows = dict(zip(table.systems, table.sentences, strict=True))
    gaps = {(a, b): float(defined_mean(rows[a] - rows[b], 0)) for a, b in permutations(rows, 2)}
    return {pair: gap for pair, gap in gaps.items() if not isnan(gap)}


def missing_notes(tables: Sequence[ScoreTable]) -> Iterator[str]:
    """Yield how many sentence scores of each metric are missing, by system."""
    for table in tables:
        counts = np.isnan(table.sentences).sum(axis=1).tolist()
        if some := [f"{name} {n}" for name, n in zip(table.systems, counts, strict=True) if n]:
            yield (
                f"{table.signature.label}: {sum(counts)} of {table.sentences.size} sentence scores "
                f"are missing and left out: {listed(some)}"
            )


def score_column(tables: Sequence[ScoreTable], legend: str = "") -> Column:
    """Return the column of scores, called F0.5 if every metric has that score.

    Args:
        tables: scores of the metrics.
        legend: the end of its legend.
    """
    names = {table.signature.label: _f_score(table) for table in tables}
    heading, *others = dict.fromkeys(names.values())
    if others:
        heading = ""
    known = [f"{name} of {label}" for label, name in names.items() if name]
    about = f"score: {', '.join(known)}" if known and not heading else ""
    legend = "; ".join(filter(None, [about, legend]))
    return Column("score", heading=heading, interval="ci95", legend=legend)


def _f_score(table: ScoreTable) -> str:
    """Return the name of the F-score that a metric computes, such as `F0.5`; empty for others."""
    beta = table.signature.settings.get("beta")
    return f"F{float(beta):g}" if beta is not None and table.precision is not None else ""


def certainty(how: Resampling, *, clusters: bool = False) -> list[Column]:
    """Return columns on how certain the place of a system is.

    Args:
        clusters: whether brief readers see the clusters.
    """
    tests = (
        f"ranks, cluster: consistent with paired {TEST} at {how.level:g} after "
        f"Holm's correction over all pairs of systems ({how.permutations} permutations; small p "
        "from a normal curve); p to next: corrected p of the difference from the system below"
    )
    ranks = f"ranks{', cluster' * clusters}: consistent with tests at {how.level:g}"
    p_next = "" if clusters else "p to next: of the difference from the system below"
    return [
        Column("ranks", legend=ranks, notes=(tests,)),
        Column("cluster", hidden=() if clusters else ("brief",)),
        Column("p_next", legend=p_next, notes=(tests,)),
    ]
