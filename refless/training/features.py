"""What features add to predictions: ridge regression of ratings on features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.splits import Split
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.nets.bundle import Linear
from gecjury.refless.nets.features import aspect_features, piece_counter
from gecjury.stats.correlation import spearman

_RIDGES = (10.0, 30.0, 100.0, 300.0)


def fit_features(
    data: Annotations, split: Split, tokenizer: Any, language: str = "en"
) -> dict[str, Linear]:
    """Ridge regression of each aspect on its features; the penalty by dev Spearman.

    Args:
        data: rated sentences.
        split: its parts.
        tokenizer: of the encoder.
        language: code of the sentences' language.

    Returns:
        By aspect what the features add to the mean rating.
    """
    found = {}
    for column, aspect in enumerate(data.aspects):
        features = _features(data, aspect, tokenizer, language)
        mean = features[split.train].mean(axis=0)
        deviation = features[split.train].std(axis=0)
        deviation[deviation == 0] = 1.0
        scaled = (features - mean) / deviation
        x, y = scaled[split.train], data.ratings[split.train, column]
        best = (-np.inf, np.zeros(x.shape[1]))
        for penalty in _RIDGES:
            gram = x.T @ x + penalty * np.eye(x.shape[1])
            weights = np.linalg.solve(gram, x.T @ (y - y.mean()))
            rho = spearman(data.ratings[split.dev, column], scaled[split.dev] @ weights)
            if rho > best[0]:
                best = (rho, weights)
        found[aspect] = Linear(mean, deviation, best[1])
    return found


def _features(data: Annotations, aspect: str, tokenizer: Any, language: str) -> FloatArray:
    pairs = (data.sources, data.outputs)
    return aspect_features(aspect, data.outputs, pairs, piece_counter(tokenizer), language)


def additions(
    data: Annotations, linear: Mapping[str, Linear], tokenizer: Any, language: str = "en"
) -> FloatArray:
    """What features add, rows × aspects; 0 without features."""
    values = np.zeros_like(data.ratings)
    for column, aspect in enumerate(data.aspects):
        if aspect in linear:
            values[:, column] = linear[aspect](_features(data, aspect, tokenizer, language))
    return values
