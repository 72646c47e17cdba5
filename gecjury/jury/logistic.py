"""A pairwise logistic model: weights under which the preferred of two items scores higher.

The probability that an item with features x is preferred to one with features y is σ(w·(x − y)).
Only differences enter the model, so features that the two items share do not move the weights.

scikit-learn's logistic regression cannot be used here: it penalises only the distance from zero,
and has no lower bounds on weights.
"""

from __future__ import annotations

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import OptionError

_DIGITS = 12


def fit_preferences(
    gaps: FloatArray,
    strength: float,
    anchor: FloatArray,
    *,
    least: float | FloatArray | None = 0.0,
) -> FloatArray:
    """Return the weights of least penalised logistic loss.

    They minimise Σ log(1 + exp(−w·gap)) + strength/2 · |w − anchor|² over all w ≥ least.

    Args:
        gaps: features of the preferred minus those of the other, pairs × features.
        strength: the strength of the pull towards the anchor, above 0. This makes the minimum
            unique even where features are collinear or separate the pairs.
        anchor: the weights towards which the pull goes, one per feature.
        least: the least weight that is allowed, one for all or one per feature; None for no bound.

    Returns:
        One weight per feature.

    Raises:
        OptionError: the strength is not above 0.
    """
    from scipy.optimize import minimize

    if not strength > 0:
        raise OptionError(f"strength {strength:g}: expected more than 0")

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margins, away = gaps @ weights, weights - anchor
        # Logarithms keep the loss and its gradient finite, however large a margin grows.
        wrong = np.exp(-np.logaddexp(0.0, margins))
        value = np.logaddexp(0.0, -margins).sum() + strength / 2 * (away @ away)
        return float(value), strength * away - gaps.T @ wrong

    lower = np.broadcast_to(-np.inf if least is None else least, anchor.shape)
    done = minimize(
        loss,
        np.maximum(anchor, lower),
        jac=True,
        method="L-BFGS-B",
        bounds=[(low, None) for low in lower.tolist()],
        options={"maxiter": 1000, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-6},
    )
    result: FloatArray = done.x
    return result


def equal_weights(gaps: FloatArray, directed: BoolArray | None = None) -> FloatArray:
    """Return the best weights among those that are all equal and not negative.

    Args:
        gaps: the gaps of `fit_preferences`.
        directed: features of which a higher value is meant to be better; the others get 0. None
            for all.
    """
    meant = np.ones(gaps.shape[1], dtype=bool) if directed is None else directed
    result = np.zeros(gaps.shape[1])
    if meant.any():
        mean = gaps[:, meant].mean(axis=1, keepdims=True)
        # The pull is negligible: one number fitted to many pairs needs no stronger one.
        result[meant] = fit_preferences(mean, 1e-6, np.zeros(1))[0] / meant.sum()
    return result


def pair_agreement(gaps: FloatArray, weights: FloatArray) -> FloatArray:
    """Return 1 where the weights agree with the preference, 0.5 for a tie, else 0; (pairs,)."""
    result: FloatArray = (np.sign((gaps @ weights).round(_DIGITS)) + 1) / 2
    return result


def folds_of(groups: IntArray, count: int, seed: int) -> IntArray:
    """Assign every entry to a fold, and all entries of a group to the same fold.

    Args:
        groups: number of each entry's group.
        count: number of folds; groups are spread evenly.
        seed: the seed of the shuffle.

    Returns:
        Numbers of the folds from 0, shape (entries,).
    """
    names, place = np.unique(groups, return_inverse=True)
    spread = np.random.default_rng(seed).permutation(len(names)) % count
    result: IntArray = spread[place]
    return result


def impute(gaps: FloatArray, present: FloatArray) -> FloatArray:
    """Fill missing features with their expectation given the features that are present.

    The expectation is linear. It uses second moments of the pairs in which both features are
    present.

    Args:
        gaps: pairs × features, NaN where a feature is missing.
        present: pairs from which the moments are computed, with the same features.

    Returns:
        The pairs without NaN; a pair without any feature becomes 0.
    """
    defined = ~np.isnan(present)
    filled = np.where(defined, present, 0.0)
    common = defined.T.astype(np.float64) @ defined.astype(np.float64)
    moments = filled.T @ filled / np.maximum(common, 1)
    result = gaps.copy()
    holes = np.isnan(gaps)
    for pattern in np.unique(holes, axis=0):
        if not pattern.any():
            continue
        rows = np.flatnonzero((holes == pattern).all(axis=1))
        lost, kept = np.flatnonzero(pattern), np.flatnonzero(~pattern)
        if not len(kept):
            result[rows] = 0.0
            continue
        inner = moments[np.ix_(kept, kept)] + 1e-3 * np.eye(len(kept))
        slopes = np.linalg.solve(inner, moments[np.ix_(kept, lost)])
        result[np.ix_(rows, lost)] = gaps[np.ix_(rows, kept)] @ slopes
    return result
