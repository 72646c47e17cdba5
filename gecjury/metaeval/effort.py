"""An estimate of how long a comparison will take: many systems have very many pairs.

The figures are rough and were measured on one processor of 2020. They cover the parts that grow
with the pairs of systems, but not the metrics themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.wording import listed, number
from gecjury.metaeval.settings import Settings
from gecjury.stats.trueskill import sampled_opponents

_CHANCE = 3  # number of chance baselines
_SPA_PERMUTATIONS = 1000
_TOLD = 300.0  # the least seconds that are reported
_SHARE = 0.1  # the least share of the time for which a part is named
_MEMORY = 1e9  # the least bytes that are reported

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
# Bytes for a judged pair, if all pairs are in memory at once.
_PAIR = 150
_OUTCOME = 50  # more for every metric
_SEGMENT_PAIR = 300


@dataclass(frozen=True)
class Effort:
    """The time and memory that a comparison will take.

    Attributes:
        systems: number of systems compared.
        sentences: number of sentences.
        seconds: seconds by the part of the comparison.
        memory: bytes for the judged pairs, if all have to be in memory at once.
        quicker: options that would take less.
    """

    systems: int
    sentences: int
    seconds: dict[str, float]
    memory: float
    quicker: tuple[str, ...]

    @property
    def total(self) -> float:
        """Sum of all seconds."""
        return sum(self.seconds.values())


def effort(benchmark: Benchmark, metrics: int, settings: Settings) -> Effort:
    """Estimate the time and memory of a comparison, without the metrics themselves.

    Args:
        benchmark: the benchmark with its judgments.
        metrics: number of metrics compared.
        settings: settings of the comparison.
    """
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
        passes = max(settings.shuffles, 1)
        opponents = sampled_opponents(systems, lines, settings.opponents)
        games = lines * (pairs if opponents is None else systems * opponents / 2)
        seconds["TrueSkill"] = games * every * passes * _GAME
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
    calibrated, memory = settings.ties == "calibrated", 0.0
    # If most systems were compared on a sentence, their pairs are summed as a matrix.
    a_sum = _DENSE_SUM if judged > systems * lines else _SUM
    seconds["judged pairs"] = judged * every * draws * (_CALIBRATED if calibrated else a_sum)
    if judged and calibrated:
        # Otherwise pairs are derived from the rankings, some at a time.
        memory = judged * (_PAIR + _OUTCOME * every)
        quicker.append("--ties half")
    elif resampled and settings.human_scores == "expected-wins" and not benchmark.rated:
        memory = judged * _PAIR
    segments = settings.grouping or ("item" if benchmark.rated else None)
    if segments is not None and settings.level in ("sentence", "all"):
        aspects = max(len(benchmark.rated), 1)
        seconds["segment level"] = judged * every * aspects * (1 + resampled) * _CALIBRATED
        memory = max(memory, judged * _SEGMENT_PAIR)
        quicker.append("--level system" if benchmark.rated else "no --grouping")
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
    return Effort(systems, lines, seconds, memory, tuple(quicker))


def told(estimate: Effort) -> str:
    """Return a line on the time, memory and quicker options; empty for a short comparison."""
    parts = []
    if estimate.total >= _TOLD:
        longest = [
            f"{what} {duration(took)}"
            for what, took in sorted(estimate.seconds.items(), key=lambda part: -part[1])
            if took >= _SHARE * estimate.total
        ]
        parts.append(f"about {duration(estimate.total)} ({listed(longest)})")
    if estimate.memory >= _MEMORY:
        parts.append(f"about {estimate.memory / 1e9:.0f} GB of memory for the judged pairs")
    if not parts:
        return ""
    size = f"{number(estimate.systems)} systems × {number(estimate.sentences)} sentences"
    word = "quicker" if estimate.memory < _MEMORY else "less"
    remedy = f"; {word}: {', or '.join(estimate.quicker)}" if estimate.quicker else ""
    return f"{size} will take {' and '.join(parts)}{remedy}. Ctrl-C stops it"


def duration(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 90:
        return f"{max(1, round(seconds))} seconds"
    if seconds < 5400:
        return f"{round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        return f"{round(seconds / 3600)} hours"
    return f"{number(round(seconds / 86400))} days"
