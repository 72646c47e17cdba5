"""Choose among candidates of a metric by judged pairs, without overstating the chosen one.

The best of several candidates looks better on the judgments that it was chosen by than it is: even
among equal candidates, one is ahead by chance. The choice is therefore repeated without each fold
of sources, and the chosen candidate is scored on that fold alone (cross-fitting). The figure over
all folds is that of the whole procedure, including the choice among so many candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.corpus.leakage import normalise
from gecjury.metaeval.study import MetaEvaluation
from gecjury.report.verdict import Ranked
from gecjury.scoring.options import parse, typed_metric
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, group_counts, interval
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.counts import ratio
from gecjury.stats.figure import Figure, figures_about, values_of
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.resampling import Resampling

register(
    Statistic("chosen.figure", "its own accuracy", better="higher", range=(0, 1)),
    Statistic("held_out", "held out", better="higher", range=(0, 1)),
    Statistic("chosen.default", "as named", better="higher", range=(0, 1)),
    Statistic("inflation", better="lower"),
    Statistic("gain", better="higher"),
)

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
        if ":" in candidate.partition("=")[0] or candidate == name:
            metrics.append(candidate)
            continue
        if "=" not in candidate:
            raise OptionError(
                f"`prompt=`: {candidate!r:.60} is not a candidate; expected options such as "
                "criterion=fluency, or a metric with its options"
            )
        options = own | parse(f"{name}:{candidate}")[1]
        metrics.append(typed_metric(name, options))
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

    def drawn(self, seed: int) -> FloatArray:
        """Return the accuracies on resampled sources, metrics × draws."""
        return self.accuracies(group_counts(len(self.pairs), Resampling().resamples, seed)).T


def agreements(study: MetaEvaluation, tables: Sequence[ScoreTable], view: View) -> Agreements:
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
    study: MetaEvaluation, tables: Sequence[ScoreTable], view: View
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
class HeldOut:
    """The worth of choosing the best candidate.

    Attributes:
        candidates: their number.
        best: the candidate that is best on all sources; the first among equals.
        figure: its accuracy on all sources.
        held_out: accuracy on the folds that the choice did not see.
        inflation: `figure` minus `held_out`.
        default: accuracy of the default on all sources.
        gain: `held_out` minus `default`; its interval holds the choices fixed.
    """

    candidates: int
    folds: int
    best: str
    figure: float
    held_out: float
    inflation: float
    default: float
    gain: float
    gain_ci95: Interval

    def figures(self, **about: str) -> list[Figure]:
        """Return its numbers; `about` says on which benchmark."""
        keys = ("candidates", "folds", "figure", "held_out", "inflation", "default", "gain")
        values = values_of(self, *keys)
        interval = {"gain": self.gain_ci95}
        return figures_about(values, interval, level="held_out", metric=self.best, **about)


def choose(
    agreed: Agreements, labels: Sequence[str], folds: int, seed: int, **about: str
) -> tuple[list[list[Figure]], HeldOut]:
    """Choose the metric with the highest accuracy, and measure what choosing is worth.

    Args:
        agreed: agreement of the metrics, the default first.
        labels: names of the metrics.
        folds: number of parts of the sources on which the choice is tested.
        seed: seed of the folds and of the resamples.
        **about: the benchmark.

    Returns:
        Figures of each metric: its `accuracy` on all sources, the `difference` from the default's,
        with intervals from the same draws, for how many folds it was `chosen`, and how many pairs
        have no score (`missing`); and the worth of choosing.

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
    held = len(labels)  # its row comes after those of the metrics
    rows = Agreements(np.vstack([agreed.right, held_out]), agreed.pairs, agreed.missing)
    accuracies = rows.accuracies()
    drawn = rows.drawn(seed)
    bounds = [_interval(draws, accuracy) for draws, accuracy in zip(drawn, accuracies, strict=True)]
    gaps = accuracies - accuracies[0]
    differences = [_interval(draws - drawn[0], gap) for draws, gap in zip(drawn, gaps, strict=True)]
    candidates = [
        figures_about(
            {
                "accuracy": float(accuracies[number]),
                "difference": float(gaps[number]),
                "chosen": chosen.count(number),
                "missing": int(agreed.missing[number]),
            },
            {"accuracy": bounds[number], "difference": differences[number]},
            level="candidates",
            metric=label,
            **about,
        )
        for number, label in enumerate(labels)
    ]
    best = _first_best(accuracies[:held])
    return candidates, HeldOut(
        candidates=len(labels),
        folds=folds,
        best=labels[best],
        figure=float(accuracies[best]),
        held_out=float(accuracies[held]),
        inflation=float(accuracies[best]) - float(accuracies[held]),
        default=float(accuracies[0]),
        gain=float(gaps[held]),
        gain_ci95=differences[held],
    )


def _first_best(accuracies: FloatArray) -> int:
    return int(np.flatnonzero(accuracies >= np.nanmax(accuracies) - _SAME)[0])


def _interval(draws: FloatArray, figure: float) -> Interval:
    return interval(draws, Resampling().confidence, float(figure))[0]


def verdict(choice: HeldOut, default: str) -> tuple[str, ...]:
    """Return sentences on the best metric, and on what choosing it was worth.

    Args:
        default: the metric as named.
    """
    inflated = f"inflates the figure by {choice.inflation:.3f}"
    if choice.inflation < 0.0005:
        inflated = "does not inflate the figure here"
    low, high = choice.gain_ci95
    values = {"the choice": choice.held_out, default: choice.default}
    gain, bounds = choice.gain, (low, high)
    if choice.gain < 0:
        values = dict(reversed(values.items()))
        gain, bounds = -gain, (-high, -low)
    first, second = values
    ranked = Ranked(values, paired={(first, second): bounds}, gaps={(first, second): gain})
    return (
        f"{choice.best} has the highest accuracy of {choice.candidates} candidates, "
        f"{choice.figure:.3f}.",
        f"Held out, {ranked.verdict()}",
        f"Chosen without each of {choice.folds} folds and scored on it, the best candidate has "
        f"{choice.held_out:.3f}: choosing {inflated}.",
    )


def tested(agreed: Agreements, benchmark: Benchmark, seed: int, metric: str) -> list[Figure]:
    """Compare the chosen metric, the second, with the default on a benchmark."""
    default, figure = agreed.accuracies().tolist()
    drawn = agreed.drawn(seed)
    bounds = _interval(drawn[1] - drawn[0], figure - default)
    return figures_about(
        {"figure": figure, "default": default, "difference": figure - default},
        {"difference": bounds},
        level="elsewhere",
        metric=metric,
        task=benchmark.name,
        human=benchmark.view,
    )
