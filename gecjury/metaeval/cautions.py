"""What a reader of a comparison must be warned of, and what cannot be compared at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs
from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.errors import InputError
from gecjury.metaeval.study import Result, Study

__all__ = ["Repeats", "caveats", "check_scored", "check_study", "count_repeats", "need_message"]

_LEAST = 3
_FEW = 100
_UNLIKE = 0.35  # `changes` then agrees with about 0.65, as much as most metrics do


@dataclass(frozen=True, slots=True)
class Repeats:
    """Comparisons that one annotator made more than once.

    Attributes:
        repeated: (annotator, sentence, pair of systems) judged twice or more.
        contradictory: those of them in which each system was preferred at least once.
    """

    repeated: int
    contradictory: int


def count_repeats(pairs: JudgmentPairs) -> Repeats:
    """Count overlapping and contradictory judgments; pairs of equal texts are left out."""
    judged = pairs.select(~pairs.shared)
    if not len(judged):
        return Repeats(0, 0)
    keys = np.stack([judged.annotator, judged.sentence, judged.first, judged.second])
    _, inverse, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    least, most = np.zeros(len(counts), dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
    np.minimum.at(least, inverse.ravel(), judged.preference)
    np.maximum.at(most, inverse.ravel(), judged.preference)
    return Repeats(
        int(np.count_nonzero(counts > 1)), int(np.count_nonzero((least < 0) & (most > 0)))
    )


def need_message(needs: frozenset[str], metric: str, benchmark: Benchmark) -> str:
    """What a benchmark lacks of what a metric needs, in words; empty where it lacks nothing."""
    if "references" in needs and not benchmark.corpus.references:
        return (
            f"{metric} needs references, and {benchmark.name} has none: name files with "
            f"--references FILE...,{_folder(benchmark, 'references/')} or take a metric that needs "
            "none"
        )
    if "gold" in needs and benchmark.corpus.gold is None:
        return (
            f"{metric} needs gold edits in M2, and {benchmark.name} has none:"
            f"{_folder(benchmark, 'gold.m2')}{' or' * (benchmark.name not in BENCHMARKS)} take a "
            "metric that needs none"
        )
    return ""


def _folder(benchmark: Benchmark, part: str) -> str:
    """What may be put into the folder of an own benchmark."""
    return "" if benchmark.name in BENCHMARKS else f" put {part} into its folder,"


def check_study(study: Study, views: Sequence[View], level: str) -> None:
    """Refuse a comparison that cannot give a single figure.

    Args:
        study: benchmark and settings.
        views: the human judgments asked for.
        level: what was asked for: `system`, `sentence`, `edit` or `all`.

    Raises:
        InputError: correlations over fewer than three systems, or no decided pair of the systems.
    """
    names = study.benchmark.corpus.names
    if level == "system" and len(names) < _LEAST:
        raise InputError(
            f"{study.benchmark.name} ({study.benchmark.systems}) has {len(names)} systems "
            f"({', '.join(names)}): a correlation needs three or more; choose another set with "
            "--systems, or --level sentence"
        )
    for view in views:
        if level != "sentence" or not study.benchmark.rankings.get(view):
            continue
        if not len(study.pairs(view).decided):
            raise InputError(
                f"{study.benchmark.name}: no sentence has a judgment ({view}) that prefers one of "
                f"the systems {', '.join(names)} to another; choose another set with --systems"
            )


def check_scored(results: Sequence[Result]) -> None:
    """Refuse results in which no metric scored anything that was judged.

    Raises:
        InputError: nothing is both judged and scored.
    """
    judged = [result.sentence for result in results if result.sentence is not None]
    missing = [part.missing for part in judged]
    if missing and all(part.pairs == 0 and part.missing for part in judged):
        labels = ", ".join(dict.fromkeys(result.label for result in results))
        raise InputError(
            f"{labels}: none of the {max(missing)} pairs that humans decided was scored on both "
            "sides: no sentence is judged and scored"
        )


def caveats(
    study: Study,
    views: Sequence[View],
    results: Sequence[Result],
    chance: Sequence[Result] = (),
) -> list[str]:
    """Sentences that explain undefined figures and doubtful judgments, most general first."""
    names = study.benchmark.corpus.names
    found = []
    if len(names) < _LEAST:
        found.append(
            f"correlations over {len(names)} systems are not defined: three or more are needed"
        )
    for view in views:
        found += _of_judgments(study, view)
    found += [note for result in chance if (note := _of_change(result))]
    for result in results:
        if len(names) >= _LEAST and _constant(result.scores):
            found.append(
                f"{result.label} gives all systems the same score ({result.view}): its "
                "correlations over systems are not defined"
            )
        sentence = result.sentence
        if sentence is not None and not sentence.pairs and sentence.missing:
            found.append(
                f"{result.label} scored none of the {sentence.missing} pairs that humans decided "
                f"({result.view}): its sentence level is not defined"
            )
    return found


def _of_judgments(study: Study, view: View) -> list[str]:
    names = study.benchmark.corpus.names
    human = study.human(view)
    found = []
    absent = [name for name, score in zip(names, human, strict=True) if math.isnan(score)]
    if absent:
        found.append(f"no human score ({view}) of {', '.join(absent)}: left out at system level")
    if len(names) >= _LEAST and _constant(human):
        found.append(
            f"humans score all systems alike ({view}): correlations over systems are not defined"
        )
    if study.benchmark.rankings.get(view):
        if not len(study.pairs(view).decided):
            found.append(
                f"no judgment ({view}) prefers one of these systems to another: the sentence level "
                "is not defined"
            )
        repeats = count_repeats(study.pairs(view))
        if repeats.repeated:
            found.append(
                f"{repeats.repeated} comparisons ({view}) were made more than once by one "
                f"annotator, {repeats.contradictory} of them with opposite preferences; all count"
            )
    return found


def _of_change(result: Result) -> str:
    """Say where people prefer whoever changes more: there, a count of changes looks good."""
    sentence = result.sentence
    if result.label != "copy-source" or sentence is None or sentence.pairs < _FEW:
        return ""
    if sentence.accuracy > _UNLIKE:
        return ""
    return (
        f"who changes more is preferred here ({result.view}): likeness to the source agrees with "
        f"only {sentence.accuracy:.3f} of the pairs, so that counting the changes agrees with most "
        "of them (-m changes); what agrees less than that need not know good changes from bad"
    )


def _constant(scores: FloatArray) -> bool:
    present = scores[~np.isnan(scores)]
    return len(present) > 1 and bool((present == present[0]).all())
