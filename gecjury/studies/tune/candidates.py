"""Choose among candidates of a metric by judged pairs, without overstating the chosen one.

The best of several candidates looks better on the judgments that it was chosen by than it is: even
among equal candidates, one is ahead by chance. The choice is therefore repeated without each fold
of sources, and the chosen candidate is scored on that fold alone (cross-fitting). The figure over
all folds is that of the whole procedure, including the choice among so many candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.corpus.leakage import normalise
from gecjury.metaeval.study import Study
from gecjury.scoring.options import parse
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, group_counts, interval
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.resampling import Resampling

_SAME = 1e-12  # accuracies that differ by less are equal


def candidate_metrics(metric: str, candidates: Sequence[str]) -> list[str]:
    """Return the metric itself and each candidate as command-line names, without duplicates.

    Args:
        metric: name and options.
        candidates: options that are added to the metric's or replace them
            (`criterion=fluency,orders=2`), or a metric with its options.

    Raises:
        OptionError: a candidate has neither of these forms.
    """
    name, own = parse(metric)
    metrics = [metric]
    for candidate in candidates:
        head = candidate.partition("=")[0]
        if ":" in head or candidate == name:
            metrics.append(candidate)
            continue
        if "=" not in candidate:
            raise OptionError(
                f"--prompt: {candidate!r:.60} is not a candidate; expected options such as "
                "criterion=fluency, or a metric with its options"
            )
        options = own | parse(f"{name}:{candidate}")[1]
        typed = (f"{key}={value}".replace(",", "\\,") for key, value in options.items())
        metrics.append(f"{name}:{','.join(typed)}")
    return list(dict.fromkeys(metrics))


@dataclass(frozen=True)
class Agreements:
    """The agreement of several metrics with people on decided pairs, summed by source.

    Attributes:
        right: metrics × sources, pairs on which the metric prefers the same side as people. A tie
            counts one half. So does a pair with a missing score, so that a metric gains nothing by
            scoring only easy pairs.
        pairs: number of decided pairs of each source, shape (sources,).
        missing: number of pairs without a score, shape (metrics,).
    """

    right: FloatArray
    pairs: FloatArray
    missing: IntArray

    def accuracies(self, weights: FloatArray | None = None) -> FloatArray:
        """Return the share of pairs that each metric has right; NaN without pairs.

        Args:
            weights: draws × sources, how often each source counts; None if each counts once.

        Returns:
            Shape (draws, metrics), or (metrics,) without draws.
        """
        if weights is None:
            return ratio(self.right.sum(axis=1), np.full(len(self.right), self.pairs.sum()), np.nan)
        right = weights @ self.right.T
        return ratio(right, np.broadcast_to((weights @ self.pairs)[:, None], right.shape), np.nan)


def agreements(study: Study, tables: Sequence[ScoreTable], view: View) -> Agreements:
    """Return the agreement of metrics with people, by distinct source.

    Args:
        study: the benchmark. Its pairs are the decided ones if people ranked; if they only rated,
            every two corrections of a source with different mean ratings.

    Raises:
        OptionError: people decided no pair.
    """
    benchmark = study.benchmark
    numbers: dict[str, int] = {}
    # Equal sources count as one, so that a choice made on one copy is not tested on another.
    source = np.array([numbers.setdefault(normalise(s), len(numbers))
                       for s in benchmark.corpus.sources])  # fmt: skip
    right, pairs = np.zeros((len(tables), len(numbers))), np.zeros(len(numbers))
    missing = np.zeros(len(tables), np.int64)
    for preference, sentences, sides in _judged(study, tables, view):
        decided = preference != 0
        at = source[sentences[decided]]
        pairs += np.bincount(at, minlength=len(numbers))
        for number, (first, second) in enumerate(sides):
            outcomes = pair_outcomes(preference, first, second)
            shares = np.full(len(preference), 0.5)
            shares[outcomes.kept] = outcomes.right
            right[number] += np.bincount(at, shares[decided], minlength=len(numbers))
            missing[number] += outcomes.missing
    if not pairs.any():
        raise OptionError(
            f"{benchmark.name}: people preferred no correction to another, so there is nothing to "
            "choose by; use a benchmark with rankings, preferences or ratings"
        )
    judged = pairs > 0
    return Agreements(right[:, judged], pairs[judged], missing)


def _judged(
    study: Study, tables: Sequence[ScoreTable], view: View
) -> Iterator[tuple[IntArray, IntArray, list[tuple[FloatArray, FloatArray]]]]:
    """Yield preferences, their sentences and each metric's scores of both sides, in parts."""
    benchmark: Benchmark = study.benchmark
    if benchmark.rankings.get(view):
        for pairs in study.parts(view):
            sides = [study.sides(view, table, pairs) for table in tables]
            yield pairs.preference, pairs.sentence, sides
    elif benchmark.segment_scores is not None:
        ratings = benchmark.segment_scores
        for one, other in combinations(range(len(ratings)), 2):
            gap = np.nan_to_num(ratings[one] - ratings[other])
            sides = [(table.sentences[one], table.sentences[other]) for table in tables]
            yield np.sign(gap).astype(np.int64), np.arange(len(gap)), sides


@dataclass(frozen=True)
class Choice:
    """The best of several metrics, the first of which is the default.

    Attributes:
        best: index of the metric that is best on all sources; the first among equals.
        accuracies: accuracy of each metric on all sources, shape (metrics,).
        intervals: intervals of the accuracies.
        differences: intervals of each accuracy minus the default's, from the same draws.
        times: number of folds for which each metric was chosen, shape (metrics,).
        held_out: accuracy on the folds that the choice did not see.
        gain: `held_out` minus the default's accuracy.
        gain_interval: interval of the gain, with the choices held fixed.
    """

    best: int
    accuracies: FloatArray
    intervals: tuple[Interval, ...]
    differences: tuple[Interval, ...]
    times: IntArray
    held_out: float
    gain: float
    gain_interval: Interval

    @property
    def inflation(self) -> float:
        """The best metric's own accuracy minus the held-out accuracy."""
        return float(self.accuracies[self.best]) - self.held_out


def choose(agreed: Agreements, folds: int, seed: int) -> Choice:
    """Choose the metric with the highest accuracy, and measure what choosing is worth.

    Args:
        agreed: agreement of the metrics, the default first.
        folds: number of parts of the sources on which the choice is tested.
        seed: seed of the folds and of the resamples.

    Raises:
        OptionError: more folds than sources with decided pairs.
    """
    sources = len(agreed.pairs)
    if folds > sources:
        raise OptionError(
            f"people decided on {sources} sources, which are too few for {folds} folds: use a "
            "benchmark with more"
        )
    fold = np.empty(sources, np.int64)
    fold[np.random.default_rng(seed).permutation(sources)] = np.arange(sources) % folds
    # The held-out figure is an extra row: on each source, that of the metric chosen without it.
    chosen = [
        _first_best(agreed.accuracies((fold != part).astype(np.float64)[None])[0])
        for part in range(folds)
    ]
    held_out = agreed.right[np.array(chosen)[fold], np.arange(sources)]
    rows = Agreements(np.vstack([agreed.right, held_out]), agreed.pairs, agreed.missing)
    accuracies = rows.accuracies()
    how = Resampling()
    drawn = rows.accuracies(group_counts(sources, how.resamples, seed)).T
    gaps = accuracies - accuracies[0]
    differences = [
        interval(draws - drawn[0], how.confidence, float(gap))[0]
        for draws, gap in zip(drawn, gaps, strict=True)
    ]
    return Choice(
        _first_best(accuracies[:-1]),
        accuracies[:-1],
        tuple(
            interval(draws, how.confidence, float(accuracy))[0]
            for draws, accuracy in zip(drawn[:-1], accuracies[:-1], strict=True)
        ),
        tuple(differences[:-1]),
        np.bincount(chosen, minlength=len(agreed.right)),
        float(accuracies[-1]),
        float(gaps[-1]),
        differences[-1],
    )


def _first_best(accuracies: FloatArray) -> int:
    return int(np.flatnonzero(accuracies >= np.nanmax(accuracies) - _SAME)[0])


def verdict(choice: Choice, labels: Sequence[str], folds: int) -> tuple[str, ...]:
    """Return sentences on the best metric, and on what choosing it was worth.

    Args:
        folds: number of folds that were held out.
    """
    low, high = choice.gain_interval
    gain = f"{choice.gain:+.3f} (95% CI {low:+.3f} to {high:+.3f})"
    clear = "better than" if low > 0 else "worse than" if high < 0 else "not clearly different from"
    inflated = f"inflates the figure by {choice.inflation:.3f}"
    if choice.inflation < 0.0005:
        inflated = "does not inflate the figure here"
    return (
        f"{labels[choice.best]} has the highest accuracy of {len(labels)} candidates, "
        f"{choice.accuracies[choice.best]:.3f}.",
        f"Chosen without each of {folds} folds and scored on it, the best candidate has "
        f"{choice.held_out:.3f}: choosing {inflated}.",
        f"Held out, the choice is {clear} {labels[0]}: {gain}.",
    )


def rows_of(choice: Choice, labels: Sequence[str], missing: IntArray) -> list[Mapping[str, object]]:
    """Return a record for each metric."""
    return [
        {
            "metric": label,
            "accuracy": float(choice.accuracies[number]),
            "accuracy_ci95": list(choice.intervals[number]),
            "difference": float(choice.accuracies[number] - choice.accuracies[0]),
            "difference_ci95": list(choice.differences[number]),
            "chosen": int(choice.times[number]),
            "missing": int(missing[number]),
        }
        for number, label in enumerate(labels)
    ]


def tested_row(agreed: Agreements, benchmark: Benchmark, seed: int) -> dict[str, Any]:
    """Return a record of the default's and the chosen metric's accuracy on a benchmark."""
    default, figure = agreed.accuracies()
    how = Resampling()
    drawn = agreed.accuracies(group_counts(len(agreed.pairs), how.resamples, seed)).T
    difference = float(figure - default)
    return {
        "benchmark": benchmark.name,
        "human": benchmark.view,
        "figure": float(figure),
        "default": float(default),
        "difference": difference,
        "difference_ci95": list(interval(drawn[1] - drawn[0], how.confidence, difference)[0]),
    }
