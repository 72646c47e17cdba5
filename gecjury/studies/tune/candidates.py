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
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.leakage import normalise
from gecjury.metaeval.study import Study
from gecjury.scoring.consent import home_of, powers_of, require_consent
from gecjury.scoring.options import parse
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, group_counts, interval
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes
from gecjury.stats.resampling import Resampling

_SAME = 1e-12  # accuracies that differ by less are equal


def candidate_metrics(
    metric: str, candidates: Sequence[str], *, allowed: bool = False, key: str | None = None
) -> list[str]:
    """Return the metric itself and each candidate as command-line names, without duplicates.

    Args:
        metric: name and options.
        candidates: options that are added to the metric's or replace them
            (`criterion=fluency,orders=2`), a metric with its options, or a file with one of these
            per line; blank lines and lines that begin with `#` are skipped.
        allowed: whether candidates of a file may do what needs consent.
        key: the variable with the key for servers that are not OpenAI's.

    Raises:
        OptionError: a candidate has none of these forms (names the file and line), or a candidate
            of a file needs consent to something that the metric itself does not do.
        InputError: a file cannot be read.
    """
    metrics = [metric]
    for candidate in candidates:
        if not _is_file(candidate):
            metrics.append(_typed(metric, candidate, ""))
            continue
        lines = [
            _typed(metric, line, f"{candidate}, line {number}: ")
            for number, line in enumerate(map(str.strip, read_lines(candidate)), 1)
            if line and not line.startswith("#")
        ]
        home = home_of(candidate)
        # The user named the metric, and so consented to what it does.
        typed = powers_of(metric, home)
        powers = [power for line in lines for power in powers_of(line, home) if power not in typed]
        servers = [power.server for power in typed]
        require_consent(candidate, powers, allowed=allowed, key=key, servers=servers)
        metrics += lines
    return list(dict.fromkeys(metrics))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _typed(metric: str, candidate: str, place: str) -> str:
    """Return a candidate as a metric with all of its options."""
    name, options = parse(metric)
    head = candidate.partition("=")[0]
    if ":" in head or candidate == name:
        return candidate
    if "=" not in candidate:
        raise OptionError(
            f"--prompt: {place}{candidate!r:.60} is not a candidate; expected options such as "
            "criterion=fluency, a metric with its options, or a file with one of these per line"
        )
    options |= parse(f"{name}:{candidate}")[1]
    typed = (f"{key}={value}".replace(",", "\\,") for key, value in options.items())
    return f"{name}:{','.join(typed)}"


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
        tables: scores of the metrics.
        view: view of the judgments.

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
        OptionError: more folds than sources with decided pairs, or fewer than two.
    """
    sources = len(agreed.pairs)
    if not 2 <= folds <= sources:
        raise OptionError(
            f"--folds {folds}: expected 2 to {sources}, the number of sources on which people "
            "decided, since each fold is held out once"
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
        choice: the result of choosing.
        labels: labels of the metrics.
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
