"""Chance baselines, which any real metric has to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature

COPY_SOURCE = "copy-source"
COUNT_CHANGES = "count-changes"
_LEVELS = 10  # a judge with at most so many different scores gives levels


def chance_scores(corpus: Corpus, seed: int = 0) -> Mapping[str, FloatArray]:
    """Return sentence scores, systems × sentences, of four metrics that do not judge corrections.

    - `constant` gives everything the same score;
    - `random` draws scores uniformly with the seed;
    - `copy-source` rewards similarity to the source: F1 of the tokens shared with it, 0 to 1;
    - `count-changes` rewards the opposite: the negated F1.
    """
    shape, likeness = (len(corpus.systems), len(corpus)), _likeness_to_source(corpus)
    return {
        "constant": np.zeros(shape),
        "random": np.random.default_rng(seed).random(shape),
        COPY_SOURCE: likeness,
        COUNT_CHANGES: -likeness,
    }


def simplest_rival(copied: float) -> str:
    """Return the baseline that a metric has to beat: the one that agrees with people more often.

    Args:
        copied: sentence accuracy of `copy-source`.
    """
    return COPY_SOURCE if copied >= 0.5 else COUNT_CHANGES


def in_levels(scores: FloatArray, levels: FloatArray) -> FloatArray:
    """Return scores rounded to levels that are as frequent as those of a judge.

    Scores and levels are sorted; a score gets the level at the same place. Equal scores get the
    level at their middle place.

    Args:
        scores: systems × sentences, NaN stays NaN.
        levels: a judge's scores, of any shape; NaN is ignored.
    """
    scored, sorted_levels = ~np.isnan(scores), np.sort(levels[~np.isnan(levels)])
    values = np.sort(scores[scored])
    first = np.searchsorted(values, scores[scored], "left")
    last = np.searchsorted(values, scores[scored], "right") - 1
    rounded = scores.copy()
    # Integer arithmetic maps each place of the scores to exactly one place of the levels.
    rounded[scored] = sorted_levels[(first + last) * len(sorted_levels) // (2 * len(values))]
    return rounded


def levels_of(table: ScoreTable) -> FloatArray | None:
    """Return the scores that a judge gave if they have few levels; None otherwise."""
    if table.signature.family != "judges":
        return None
    items = table.statistics.items
    scores = table.sentences if items is None else items
    different = np.unique(scores[~np.isnan(scores)])
    return scores if 1 < len(different) <= _LEVELS else None


def sentence_table(
    name: str, systems: Sequence[str], sentences: FloatArray, family: str = "chance"
) -> ScoreTable:
    """Return a score table built from sentence scores; their means are the corpus scores.

    Args:
        name: the name of the metric.
        systems: S names.
        sentences: S × N.
        family: the family of the metric.
    """
    # Corpus scores are means here, so they can be resampled without a scorer.
    totals, statistics = Scores(sentences).mean(), Statistics(sentences)
    signature = Signature(name, family, {})
    return ScoreTable(tuple(systems), signature, Scores(sentences), totals, statistics, {})


def _likeness_to_source(corpus: Corpus) -> FloatArray:
    sources = [Counter(source.split()) for source in corpus.sources]
    scores = np.empty((len(corpus.systems), len(corpus)))
    versions = [version.lines for version in corpus.systems.values()]
    for column, source in enumerate(sources):
        likeness: dict[str, float] = {}  # systems often agree
        for row, lines in enumerate(versions):
            line = lines[column]
            if line not in likeness:
                tokens = Counter(line.split())
                total = tokens.total() + source.total()
                likeness[line] = 2 * (tokens & source).total() / total if total else 1.0
            scores[row, column] = likeness[line]
    return scores
