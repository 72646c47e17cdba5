"""Layout of vectors in the plane: PCA keeps distances, t-SNE keeps neighbours together."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from gecjury.core.errors import MissingExtraError
from gecjury.studies.analyses import layout


def test_pca_finds_the_plane() -> None:
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(40, 2)) * [3, 1]
    axes = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    points = layout(plane @ axes.T + 5, "pca", 0)
    # Distances in the plane are kept under any rotation.
    for i, j in ((0, 1), (5, 9), (20, 39)):
        assert np.linalg.norm(points[i] - points[j]) == pytest.approx(
            np.linalg.norm(plane[i] - plane[j])
        )


def test_tsne_keeps_neighbours_together() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(30, 8)), rng.normal(size=(30, 8)) + 20
    points = layout(np.concatenate([first, second]), "tsne", 1)
    assert points.shape == (60, 2)
    # Every point is nearer to its own cloud's centre than to the other's.
    centres = np.stack([points[:30].mean(axis=0), points[30:].mean(axis=0)])
    distances = np.linalg.norm(points[:, None] - centres[None], axis=2)
    assert (distances.argmin(axis=1) == np.repeat([0, 1], 30)).all()
    np.testing.assert_array_equal(points, layout(np.concatenate([first, second]), "tsne", 1))


def test_tsne_without_scikit_learn_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(MissingExtraError, match=r"scikit-learn.*\[report\].*--method pca"):
        layout(np.eye(4), "tsne", 0)
