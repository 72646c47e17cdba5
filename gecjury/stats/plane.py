"""Vectors laid out in the plane, for figures."""

from __future__ import annotations

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.errors import MissingExtraError, OptionError

__all__ = ["layout"]


def layout(vectors: FloatArray, method: str, seed: int) -> FloatArray:
    """Positions in the plane, n × 2: `pca` (exact, no seed) or `tsne`.

    Raises:
        MissingExtraError: t-SNE without scikit-learn.
        OptionError: too few vectors.
    """
    if len(vectors) < 3:
        raise OptionError(f"{len(vectors)} edits are too few for a map; expected 3 or more")
    centred = vectors - vectors.mean(axis=0)
    if method == "pca":
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        # Signs of axes are arbitrary: fixed so that the largest coordinate is positive.
        signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])
        positions: FloatArray = centred @ (axes[:2] * signs[:, None]).T
        return positions
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError(
            "t-SNE needs scikit-learn, which is not installed: pip install 'gecjury[report]', or "
            "take --method pca"
        ) from None
    tsne = TSNE(
        n_components=2,
        init="pca",
        perplexity=min(30.0, (len(vectors) - 1) / 3),
        random_state=seed,
    )
    found: FloatArray = np.asarray(tsne.fit_transform(vectors), dtype=np.float64)
    return found
