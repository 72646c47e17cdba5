"""Edit vectors (Goto et al. 2026, section 3.1): how one edit changes a sentence's encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gecjury.core.arrays import Float32Array, FloatArray
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.models.encoder import Encoder

Vectorise = Literal["remove", "add"]
Mass = Literal["norm", "uniform"]
Cost = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class EditSet:
    """A set of edits that turns one source into one corrected version of it.

    Attributes:
        source: tokens joined by single spaces.
        edits: non-overlapping edits from left to right.
    """

    source: str
    edits: tuple[Edit, ...]


def edit_texts(edit_set: EditSet, how: Vectorise) -> list[str]:
    """Return the texts whose encodings give the vectors: the base, then one for each edit.

    `remove` compares the whole correction with the correction that lacks the edit, `add` the
    source with the edit applied to it alone.
    """
    tokens, edits = edit_set.source.split(), edit_set.edits
    variants: list[tuple[Edit, ...]]
    if how == "add":
        variants = [(edit,) for edit in edits]
        base = tokens
    else:
        variants = [(*edits[:place], *edits[place + 1 :]) for place in range(len(edits))]
        base = apply_edits(tokens, edits)
    return [" ".join(base), *(" ".join(apply_edits(tokens, variant)) for variant in variants)]


def edit_vectors(
    sets: Sequence[EditSet], how: Vectorise, encoder: Encoder
) -> tuple[list[FloatArray], int]:
    """Return the vectors of all edits of all sets; every distinct text is encoded once.

    Returns:
        Edits × d for each set, and the number of texts that the encoder cuts.
    """
    texts, distinct = all_texts(sets, how)
    encoded = encoder.encode(distinct)
    return differences(texts, distinct, encoded.vectors, how), encoded.truncated


def all_texts(sets: Sequence[EditSet], how: Vectorise) -> tuple[list[list[str]], list[str]]:
    """Return the texts of each set by `edit_texts` (none without edits), and the distinct ones."""
    texts = [edit_texts(edit_set, how) if edit_set.edits else [] for edit_set in sets]
    return texts, list(dict.fromkeys(text for set_texts in texts for text in set_texts))


def differences(
    texts: Sequence[Sequence[str]], distinct: Sequence[str], vectors: Float32Array, how: Vectorise
) -> list[FloatArray]:
    """Return edit vectors (edits × d for each set) from those of the distinct texts (texts × d)."""
    place = {text: row for row, text in enumerate(distinct)}
    sign = 1.0 if how == "remove" else -1.0
    result: list[FloatArray] = []
    for set_texts in texts:
        rows = vectors[[place[text] for text in set_texts]].astype(np.float64)
        result.append(sign * (rows[:1] - rows[1:]))
    return result


def masses(vectors: FloatArray, kind: Mass) -> FloatArray:
    """Return the mass of each edit, (k,): its vector's L2 norm, or 1/k of k edits."""
    if kind == "norm" or not len(vectors):
        norms: FloatArray = np.linalg.norm(vectors, axis=1)
        return norms
    return np.full(len(vectors), 1.0 / len(vectors))


def costs(first: FloatArray, second: FloatArray, kind: Cost) -> FloatArray:
    """Return costs between edits, n × m: Euclidean, or 1 − cosine (1 for a zero vector)."""
    if kind == "euclidean":
        # Differences are taken before they are squared: equal vectors then cost exactly 0.
        distances: FloatArray = np.linalg.norm(first[:, None] - second[None], axis=2)
        return distances
    outer = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)[None]
    products = first @ second.T
    cosines: FloatArray = np.divide(products, outer, out=np.zeros_like(products), where=outer > 0)
    return 1.0 - cosines
