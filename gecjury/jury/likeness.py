"""Similarity of the pairs that people judged to the pairs of outputs that are to be judged.

A combination learnt from weak systems may not work for strong ones. Weighting each training pair by
the ratio of the two densities makes the loss an average over pairs like those to be judged
(covariate shift: Shimodaira 2000); the ratio comes from a logistic model that distinguishes the two
kinds of pairs (Bickel et al. 2007). Only texts are used, never judgments.
"""

from __future__ import annotations

import itertools

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.stats.logistic import fit_preferences

Sides = tuple[FloatArray, FloatArray]
"""Members' scores of both corrections of each pair, pairs × members, in any order."""

_MOST_PAIRS = 10_000
_MOST_SEEN = 500_000
_STRENGTH = 10.0
_CUT = 0.99


def every_pair(scores: FloatArray, seed: int = 0) -> Sides:
    """Return the pairs of systems' corrections of a source that differ in some member's scores.

    Args:
        scores: members × systems × sentences.
        seed: seed of the choice among more than 10,000 pairs.

    Raises:
        InputError: there is no such pair.
    """
    _, systems, sentences = scores.shape
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(systems), 2)), dtype=np.int64)
    pairs = pairs.reshape(-1, 2)
    every = len(pairs) * sentences
    # Only some of very many pairs are used: the scores of all need not fit into memory.
    looked = np.arange(every) if every <= _MOST_SEEN else rng.integers(every, size=_MOST_SEEN)
    which, place = np.divmod(np.unique(looked), max(sentences, 1))
    first, second = pairs[which].T
    left, right = scores[:, first, place].T, scores[:, second, place].T
    with np.errstate(invalid="ignore"):
        apart = np.flatnonzero((np.abs(left - right) > 1e-9).any(axis=1))
    if not len(apart):
        raise InputError("the outputs to resemble contain no two corrections that differ")
    if len(apart) > _MOST_PAIRS:
        apart = rng.choice(apart, _MOST_PAIRS, replace=False)
    return left[apart], right[apart]


def likeness_weights(judged: Sides, wanted: Sides) -> FloatArray:
    """Return weights of the judged pairs under which they resemble the wanted ones.

    A pair is described by the sum and the absolute difference of each member's scores, so that
    neither its order nor the preference matters.

    Args:
        judged: pairs to weight.
        wanted: pairs to resemble; every member has a score in both.

    Returns:
        Shape (judged pairs,), above 0, mean 1; weights are clipped at the 99th percentile.
    """
    inputs = np.concatenate([_described(judged), _described(wanted)])
    deviation = inputs.std(axis=0)
    inputs = (inputs - inputs.mean(axis=0)) / np.where(deviation > 1e-12, deviation, 1.0)
    inputs = np.column_stack([inputs, np.ones(len(inputs))])
    count = len(judged[0])
    signed = inputs.copy()
    signed[:count] *= -1
    model = fit_preferences(signed, _STRENGTH, np.zeros(inputs.shape[1]), least=None)
    odds = np.exp(np.clip(inputs[:count] @ model, -30, 30))
    odds = np.minimum(odds, np.quantile(odds, _CUT))
    result: FloatArray = odds / odds.mean()
    return result


def effective_size(weights: FloatArray) -> float:
    """Return how many equally weighted pairs are as informative: (Σ w)² / Σ w² (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def _described(sides: Sides) -> FloatArray:
    left, right = sides
    return np.concatenate([left + right, np.abs(left - right)], axis=1)
