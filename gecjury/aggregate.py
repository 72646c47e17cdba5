"""From sentence scores to one score a system, by any of the field's procedures."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.errors import OptionError
from gecjury.ranking import expected_wins, mean_score, trueskill, trueskill_shuffled

__all__ = ["AGGREGATES", "Aggregate", "aggregate_scores"]

Aggregate = Literal["trueskill", "expected-wins", "corpus", "mean"]
AGGREGATES: tuple[Aggregate, ...] = ("trueskill", "expected-wins", "corpus", "mean")


def aggregate_scores(
    aggregate: Aggregate,
    sentences: FloatArray,
    corpus_scores: FloatArray,
    *,
    shuffles: int = 0,
    seed: int = 0,
) -> FloatArray:
    """One score a system, higher is better.

    Args:
        aggregate: `corpus` takes the metric's own corpus scores, `mean` the mean over scored
            sentences, `trueskill` and `expected-wins` compare systems sentence by sentence.
        sentences: systems × sentences; NaN = not scored.
        corpus_scores: shape (systems,).
        shuffles: 0 for TrueSkill's one pass in the order of the sentences (the value depends on
            that order), otherwise the number of shuffled passes to average.
        seed: of the shuffles.

    Raises:
        OptionError: there is no such aggregate.
    """
    if aggregate not in AGGREGATES:
        raise OptionError(f"unknown aggregate {aggregate!r}: expected {', '.join(AGGREGATES)}")
    if aggregate == "corpus":
        return corpus_scores
    if aggregate == "mean":
        return mean_score(sentences).scores
    if aggregate == "expected-wins":
        return expected_wins(sentences).scores
    if shuffles:
        return trueskill_shuffled(sentences, np.random.default_rng(seed), shuffles).scores
    return trueskill(sentences).scores
