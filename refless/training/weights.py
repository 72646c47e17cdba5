"""Search SOME's weights on a benchmark: all α, β, γ in hundredths, without scoring again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import check, option
from gecjury.refless.training.recipe import WeightsFor
from gecjury.stats.correlation import pearson

PAPER_WEIGHTS = {"sentence": (0.55, 0.43, 0.02), "system": (0.0, 1.0, 0.0)}
"""Yoshimura et al. (2020): tuned on a tenth of GJG15, and on JFLEG."""

_BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class WeightSearch:
    """The model whose weights are searched, and the judgments to search them on.

    Attributes:
        model: the trained SOME.
        level: sentence maximises Kendall τ over judged pairs, system Pearson over systems.
        share: search on this share of judgments.
        human: which judgments.
        systems: system set of the benchmark.
        seed: seed for drawing the share.
    """

    model: str | None = option(None, metavar="DIR")
    level: WeightsFor = "sentence"
    share: float = option(1.0, metavar="X", above=0, most=1, needs={"level system": ()})
    human: View | None = None
    systems: str = "base"
    seed: int = option(0, least=0, most=2**32 - 1, needs={"level system": ()})

    def __post_init__(self) -> None:
        check(self)


def simplex(steps: int = 100) -> FloatArray:
    """Return all (α, β, γ) in multiples of 1/steps that sum to 1; for 100 steps, 5,151 rows."""
    rows = [(a, b, steps - a - b) for a in range(steps + 1) for b in range(steps + 1 - a)]
    return np.array(rows) / steps


def search_weights(
    values: FloatArray,
    benchmark: Benchmark,
    level: WeightsFor = "sentence",
    *,
    share: float = 1.0,
    seed: int = 0,
) -> list[dict[str, object]]:
    """Search the weights with the best agreement.

    Args:
        values: systems × sentences × 3, SOME's statistics.
        benchmark: the judgments; its chosen view is used.
        level: `sentence` maximises Kendall τ over judged pairs (ties of the metric count
            as 0), `system` Pearson of mean scores with the human scores.
        share: share of the judged sentences to search on; the rest is held out. At system level,
            everything is used.
        seed: seed for drawing the share.

    Returns:
        Rows `found` and `paper` with alpha, beta, gamma and the measure on the judgments searched
        and on those held out (NaN without any). Among equally good weights, the ones nearest to the
        paper's are chosen.

    Raises:
        OptionError: the scores are from a SOME of one aspect.
        InputError: the benchmark has no judged pairs of its systems.
    """
    if values.shape[2] != len(PAPER_WEIGHTS[level]):
        raise OptionError("a SOME of one aspect has no weights to search: use it as it is")
    if level == "system":
        # Benchmarks differ in the human scores they have: the first available kind is used.
        view = benchmark.human[benchmark.view]
        kind = next(kind for kind in ("trueskill", "expected-wins", "mean") if kind in view)
        means = values.mean(axis=1)
        searched: _Measure = partial(_pearson, means, benchmark.human_scores(kind))
        held_out: _Measure = partial(_tau, np.empty((0, 3)))
    else:
        gaps, sentence = _gaps(values, benchmark)
        # Sentences are drawn, not pairs: pairs of one sentence are not independent.
        judged = np.random.default_rng(seed).permutation(np.unique(sentence))
        chosen = np.isin(sentence, judged[: max(1, round(share * len(judged)))])
        searched, held_out = partial(_tau, gaps[chosen]), partial(_tau, gaps[~chosen])
    grid, paper = simplex(), np.array(PAPER_WEIGHTS[level])
    scores = searched(grid)
    equal = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12)
    # Many weights do equally well; those nearest to the paper's are the most conservative choice.
    best = grid[min(equal, key=lambda row: float(np.abs(grid[row] - paper).sum()))]
    shown = np.stack([best, paper])
    columns = [*shown.T, searched(shown), held_out(shown)]
    keys = ("weights", "alpha", "beta", "gamma", "searched", "held_out")
    rows = zip(("found", "paper"), *(column.tolist() for column in columns), strict=True)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _gaps(values: FloatArray, benchmark: Benchmark) -> tuple[FloatArray, IntArray]:
    """Return score differences, winner minus loser, of all decided pairs, and their sentences."""
    pairs = expand_pairs(benchmark.rankings[benchmark.view], benchmark.corpus.names)
    decided = pairs.preference != 0
    if not decided.any():
        raise InputError(f"{benchmark.name} has no decided pairs of the chosen systems")
    first = values[pairs.first[decided], pairs.sentence[decided]]
    second = values[pairs.second[decided], pairs.sentence[decided]]
    sign = np.sign(pairs.preference[decided])[:, None]
    return (first - second) * sign, pairs.sentence[decided]


_Measure = Callable[[FloatArray], FloatArray]
"""A function that returns one number for each row of weights."""


def _pearson(means: FloatArray, human: FloatArray, grid: FloatArray) -> FloatArray:
    """Return the Pearson correlations of weighted mean scores with human scores."""
    return np.array([pearson(human, means @ weights) for weights in grid])


def _tau(gaps: FloatArray, grid: FloatArray) -> FloatArray:
    """Return (agree − disagree)/pairs; NaN without pairs."""
    if not len(gaps):
        return np.full(len(grid), np.nan)
    taus = []
    for start in range(0, len(grid), _BLOCK):
        # Differences below rounding are ties.
        scores = (gaps @ grid[start : start + _BLOCK].T).round(9)
        taus.append(np.sign(scores).mean(axis=0))
    return np.concatenate(taus)
