"""An estimate of how long a comparison will take: many systems have very many pairs.

The figures are rough and were measured on one processor of 2020. They cover the parts that grow
with the pairs of systems, but not the metrics themselves.
"""

from __future__ import annotations

import math

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.wording import listed, number
from gecjury.metaeval.settings import Settings
from gecjury.stats.trueskill import sampled_opponents

_CHANCE = 3  # number of chance baselines
_SPA_PERMUTATIONS = 1000
_TOLD = 300.0  # the least seconds that are reported
_SHARE = 0.1  # the least share of the time for which a part is named

# Seconds of one processor for one array element.
_GAME = 8e-7
_RESAMPLED_GAME = 1.5e-8
_PRODUCT = 2e-10
_CONFIDENCE = 3e-8
_WINS = 2e-8
_SUM = 1e-8
_DENSE_SUM = 1e-9
_CALIBRATED = 1e-7
_SWAPPED_PAIR = 1e-6
_RANKED = 5e-9


def warning(benchmark: Benchmark, metrics: int, settings: Settings) -> str:
    """Return a line on how long a comparison takes and what is quicker; empty if it is short.

    Args:
        benchmark: the benchmark with its judgments.
        metrics: number of metrics compared.
        settings: settings of the comparison.
    """
    seconds, quicker = _effort(benchmark, metrics, settings)
    total = sum(seconds.values())
    if total < _TOLD:
        return ""
    longest = [
        f"{what} {duration(took)}"
        for what, took in sorted(seconds.items(), key=lambda part: -part[1])
        if took >= _SHARE * total
    ]
    remedy = f"; quicker: {', or '.join(quicker)}" if quicker else ""
    return (
        f"{benchmark.name}: {number(len(benchmark.corpus.names))} systems × "
        f"{number(len(benchmark.corpus))} sentences will take about {duration(total)} "
        f"({listed(longest)}){remedy}. Ctrl-C stops it"
    )


def _effort(
    benchmark: Benchmark, metrics: int, settings: Settings
) -> tuple[dict[str, float], list[str]]:
    """Return the seconds of each part of a comparison, and options that would take less."""
    views = settings.views(benchmark.view, benchmark.views)
    systems, lines = len(benchmark.corpus.names), len(benchmark.corpus)
    share = min(1.0, (settings.limit or lines) / lines)
    lines = round(share * lines)
    pairs, how = math.comb(systems, 2), settings.resampling
    draws = 0 if how.over == "none" else how.resamples
    resampled = draws if how.draws_sentences else 0
    every = metrics + _CHANCE
    judged = sum(
        math.comb(sum(map(len, item.groups)), 2)
        for view in views
        for item in benchmark.rankings.get(view, ())
    )
    judged = round(share * judged)
    # Pairs of systems that nobody compared are left out of soft pairwise accuracy.
    compared = min(pairs, judged) if judged or not benchmark.rated else pairs
    seconds: dict[str, float] = {}
    quicker: list[str] = []
    if settings.aggregate == "trueskill":
        opponents = sampled_opponents(systems, lines)
        games = lines * (pairs if opponents is None else systems * opponents / 2)
        seconds["TrueSkill"] = games * every * _GAME
        seconds["TrueSkill of resampled sentences"] = games * every * resampled * _RESAMPLED_GAME
        quicker.append("--aggregate mean")
    elif settings.aggregate == "expected-wins":
        seconds["Expected Wins of resampled sentences"] = (
            2 * pairs * every * resampled * (_WINS + lines * _PRODUCT)
        )
        quicker.append("--aggregate mean")
    # SPA needs permutations even without resampling, since it compares p-values.
    tests = max(draws, _SPA_PERMUTATIONS)
    seconds["soft pairwise accuracy"] = (
        compared * (every + 1) * tests * (_CONFIDENCE + 3 * lines * _PRODUCT)
    )
    seconds["correlations"] = pairs * every * draws * _RANKED
    # If most systems were compared on a sentence, their pairs are summed as a matrix.
    a_sum = _DENSE_SUM if judged > systems * lines else _SUM
    if settings.ties == "calibrated":
        a_sum = _CALIBRATED
        quicker.append("--ties half")
    seconds["judged pairs"] = judged * every * draws * a_sum
    if benchmark.rated and settings.level in ("sentence", "all"):
        aspects = len(benchmark.rated)
        seconds["segment level"] = judged * every * aspects * (1 + resampled) * _CALIBRATED
        quicker.append("--level system")
    # Chance baselines are not tested against metrics.
    duels = math.comb(metrics, 2)
    if draws and duels and settings.statistic == "spa":
        seconds["tests of soft pairwise accuracy"] = (
            compared * how.permutations * duels * (_SWAPPED_PAIR + 6 * lines * _PRODUCT)
        )
        quicker.append("--statistic pearson")
    elif draws and duels:
        seconds["tests"] = systems * how.permutations * duels * (_SUM * 10 + 2 * lines * _PRODUCT)
    if draws:
        quicker += [f"fewer --resamples than {number(how.resamples)}", "--resample none"]
    return seconds, quicker


def duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        return f"{round(seconds / 3600)} hours"
    return f"{number(round(seconds / 86400))} days"
