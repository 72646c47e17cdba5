"""Scores held against labels of whole corrections."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import CorrectionLabels
from gecjury.metaeval.edits.corrections import (
    LabelComparison,
    kinds_of_scores,
    label_agreements,
)

LABELS = CorrectionLabels(
    values=(("TP", "FP1", "TP", "TN", "FP3"), ("FP3", "", "TP", "", "")),
    true="TP",
    false={"FP1": "harmful", "FP3": "needless"},
    others={"TN": "unchanged"},
)
SCORES = np.array([[3.0, 1.0, 2.0, 9.0, np.nan], [2.0, 9.0, 0.0, 9.0, 9.0]])


def test_auc_by_class() -> None:
    """Good: 3, 2, 0. FP1: 1. FP3: 2, and one without a score. Cells without label do not count."""
    found = {name: agreement for name, agreement, _ in label_agreements(LABELS, SCORES, None)}
    assert list(found) == ["any", "FP1", "FP3"]
    assert found["FP1"].auc == pytest.approx(2 / 3)
    assert (found["FP1"].good, found["FP1"].bad, found["FP1"].missing) == (3, 1, 0)
    assert found["FP3"].auc == pytest.approx(1.5 / 3)
    assert (found["FP3"].good, found["FP3"].bad, found["FP3"].missing) == (3, 1, 1)
    assert found["any"].auc == pytest.approx(3.5 / 6)


def test_a_source_drawn_twice_brings_its_corrections_twice() -> None:
    # Sources 0 twice and 2 once; then 0 and 1; then 2 alone, which has no bad correction.
    counts = np.array([[2.0, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 5, 0, 0]])
    drawn = {name: auc for name, _, auc in label_agreements(LABELS, SCORES, counts)}
    # Good 3, 3, 2, 0 against FP3 2, 2: (1 + 1 + ½ + 0) / 4.
    np.testing.assert_allclose(drawn["FP3"], [2.5 / 4, 1, np.nan])
    np.testing.assert_allclose(drawn["FP1"], [np.nan, 1, np.nan])


def test_nothing_scored_is_not_defined() -> None:
    counts = np.ones((2, 5))
    for _, agreement, drawn in label_agreements(LABELS, np.full((2, 5), np.nan), counts):
        assert np.isnan(agreement.auc)
        assert drawn is not None
        assert np.isnan(drawn).all()


def test_gains_are_over_the_score_of_the_source() -> None:
    (kind, scores), (gain, gained) = kinds_of_scores(SCORES, np.array([1.0, 0, 2, 0, 0]))
    assert (kind, gain) == ("score", "gain")
    np.testing.assert_array_equal(scores, SCORES)
    np.testing.assert_array_equal(gained[:, 0], [2, 1])
    assert [kind for kind, _ in kinds_of_scores(SCORES, None)] == ["score"]


def test_few_corrections_of_a_class_are_told() -> None:
    found = LabelComparison(LABELS, ())
    assert found.counts == {"TP": 3, "FP1": 1, "FP3": 2, "TN": 1}
    assert found.few == {"FP1": 1, "FP3": 2}
