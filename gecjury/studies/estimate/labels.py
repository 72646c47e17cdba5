"""Labels of outputs: people's ratings and rankings as one number per output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.own.judgments import read_judgments
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus
from gecjury.stats.choices import FEWEST_LABELS
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.ranking import win_rates


@dataclass(frozen=True)
class Labels:
    """One number for each judged output.

    Attributes:
        values: shape (systems, sentences); higher is better, NaN where nobody judged.
        origin: the file or the benchmark.
        relative: whether a label compares an output with others of its source.
        warnings: remarks that readers need to understand the labels.
    """

    values: FloatArray
    origin: str
    relative: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The kind of the labels, in words."""
        ranked = "share of the other systems that the output beats, ties one half"
        return ranked if self.relative else "rating"

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the greatest possible label; of ratings, the least and greatest given."""
        if self.relative:
            return 0.0, 1.0
        return float(np.nanmin(self.values)), float(np.nanmax(self.values))

    def predictions(self, scores: FloatArray) -> FloatArray:
        """Return a metric's predictions of the labels, shape (systems, sentences).

        Labels from rankings do not show how hard a source is, so predictions of them must not do so
        either: they are the share of the other systems that an output beats by its score.

        Args:
            scores: scores of the metric, systems × sentences, NaN where there is none.
        """
        return win_rates(scores) if self.relative else scores


def labels_of_benchmark(benchmark: Benchmark, view: View | None = None) -> Labels:
    """Return a benchmark's own judgments as labels.

    Ratings are means over raters and aspects. A ranking gives each output the share of the other
    ranked systems that it beats, see `gecjury.stats.ranking.win_rates`, averaged over the
    rankings of its source.

    Args:
        benchmark: with ratings or rankings of whole corrections.
        view: view of the rankings; by default the benchmark's own.

    Raises:
        OptionError: no such view.
        InputError: people judged no whole corrections, or of systems that are not known.
    """
    origin, view = benchmark.name, view or benchmark.view
    if view not in benchmark.views:
        raise OptionError(f"`human={view}`: {origin} has {', '.join(benchmark.views)}")
    if benchmark.places:
        raise InputError(
            f"{origin}: it is unknown which system made a correction; expected the outputs of "
            "systems"
        )
    if benchmark.rated:
        return Labels(benchmark.rated[benchmark.overall], origin, warnings=benchmark.warnings)
    items = benchmark.rankings.get(view, ())
    if not items:
        raise InputError(
            f"{origin}: people judged no whole corrections; name a file with `labels=FILE`"
        )
    shares = shares_beaten(items, benchmark.corpus)
    return Labels(shares, f"{origin}, {view} view", True, benchmark.warnings)


def read_labels(path: str, corpus: Corpus) -> Labels:
    """Read labels of a corpus' outputs from a file of `gecjury annotate` or of your own judgments.

    Args:
        corpus: the outputs; `sentence` in a file counts its sentences from 1.

    Raises:
        InputError: the file cannot be read, names an unknown system or sentence, or no ranking
            compares two systems.
    """
    judged = read_judgments(Path(path), corpus)
    if judged.raters:
        rated = [defined_mean(values, 0) for values in judged.raters.values()]
        return Labels(np.mean(rated, axis=0), path, warnings=judged.warnings)
    values = shares_beaten(judged.items, corpus)
    if np.isnan(values).all():
        raise InputError(
            f"{path}: no ranking compares two systems; expected several on one sentence, or ratings"
        )
    return Labels(values, path, True, judged.warnings)


def shares_beaten(items: Sequence[RankedItem], corpus: Corpus) -> FloatArray:
    """Return the mean share of the other ranked systems that each output beats, ties one half.

    Args:
        items: rankings; systems that the corpus lacks do not count.

    Returns:
        Shape (systems, sentences), 0 to 1; NaN for outputs that were not ranked with any other.
    """
    place = {name: row for row, name in enumerate(corpus.names)}
    ranks = np.full((len(place), len(items)), np.nan)
    for column, item in enumerate(items):
        for group, rank in zip(item.groups, item.ranks, strict=True):
            # Negated, since rank 1 is best, but win rates count the highest score as best.
            ranks[[place[name] for name in group if name in place], column] = -rank
    shares = win_rates(ranks)
    sentences = np.array([item.sentence for item in items], dtype=np.int64)
    sums, counts = np.zeros((2, len(corpus), len(place)))
    np.add.at(sums, sentences, np.nan_to_num(shares).T)
    np.add.at(counts, sentences, ~np.isnan(shares).T)
    return ratio(sums, counts, np.nan).T


def drawn_labels(labels: Labels, draw: int | None, seed: int) -> FloatArray:
    """Return the labels that are used, systems × sentences, with NaN for the others.

    Args:
        draw: number of sources whose labels are drawn; None for all.

    Raises:
        OptionError: fewer sources have labels than should be drawn.
        InputError: fewer than `FEWEST_LABELS` sources have labels, or all labels are equal.
    """
    values = labels.values
    if labels.scale[0] == labels.scale[1]:
        present = values[~np.isnan(values)]
        raise InputError(
            f"{labels.origin}: all {len(present)} labels are {present[0]:g}; expected labels "
            "that differ between good outputs and bad ones"
        )
    rows = np.flatnonzero(~np.isnan(values).all(axis=0))
    drawn = values
    if draw is not None:
        if draw > len(rows):
            raise OptionError(f"`draw={draw}`: {labels.origin} has labels of {len(rows)} sources")
        chosen = np.random.default_rng(seed).choice(rows, draw, replace=False)
        drawn = np.full(values.shape, np.nan)
        drawn[:, chosen] = values[:, chosen]
    most = max(np.count_nonzero(~np.isnan(line)) for line in drawn)
    if most < FEWEST_LABELS:
        raise InputError(
            f"{labels.origin}: no system has labels of more than {most} sources; an interval "
            f"needs at least {FEWEST_LABELS}"
        )
    return drawn
