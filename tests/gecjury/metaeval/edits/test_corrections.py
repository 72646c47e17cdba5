"""Scores compared with labels of whole corrections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gecjury import Resampling, load, load_benchmark
from gecjury.benchmarks.benchmark import CorrectionLabels
from gecjury.metaeval.edits.corrections import (
    compare_labels,
    label_agreements,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation

LABELS = CorrectionLabels(
    values=(("TP", "FP1", "TP", "TN", "FP3"), ("FP3", "", "TP", "", "")),
    true="TP",
    false={"FP1": "harmful", "FP3": "needless"},
    others={"TN": "unchanged"},
)
SCORES = np.array([[3.0, 1.0, 2.0, 9.0, np.nan], [2.0, 9.0, 0.0, 9.0, 9.0]])


def test_auc_by_class() -> None:
    """Good: 3, 2, 0. FP1: 1. FP3: 2, and one without a score. Unlabelled cells do not count."""
    found = {name: agreement for name, agreement, _ in label_agreements(LABELS, SCORES, None)}
    assert list(found) == ["any", "FP1", "FP3"]
    assert found["FP1"]["auc"] == pytest.approx(2 / 3)
    assert (found["FP1"]["good"], found["FP1"]["bad"], found["FP1"]["missing"]) == (3, 1, 0)
    assert found["FP3"]["auc"] == pytest.approx(1.5 / 3)
    assert (found["FP3"]["good"], found["FP3"]["bad"], found["FP3"]["missing"]) == (3, 1, 1)
    assert found["any"]["auc"] == pytest.approx(3.5 / 6)


def test_a_source_drawn_twice_counts_its_corrections_twice() -> None:
    # Source 0 twice and 2 once; then 0 and 1; then 2 alone, which has no bad correction.
    counts = np.array([[2.0, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 5, 0, 0]])
    drawn = {name: d["auc"] for name, _, d in label_agreements(LABELS, SCORES, counts)}
    # Good 3, 3, 2, 0 against FP3 2, 2: (1 + 1 + ½ + 0) / 4.
    np.testing.assert_allclose(drawn["FP3"], [2.5 / 4, 1, np.nan])
    np.testing.assert_allclose(drawn["FP1"], [np.nan, 1, np.nan])


def test_auc_is_undefined_if_nothing_is_scored() -> None:
    counts = np.ones((2, 5))
    for _, agreement, drawn in label_agreements(LABELS, np.full((2, 5), np.nan), counts):
        assert np.isnan(agreement["auc"])
        assert np.isnan(drawn["auc"]).all()


def test_every_metric_and_class_has_a_row() -> None:
    sample = load_benchmark("sample")
    size = len(sample.corpus)
    values = tuple(tuple("TP" if (row + i) % 2 else "FP1" for i in range(size)) for row in range(6))
    labels = CorrectionLabels(values=values, true="TP", false={"FP1": ""}, others={})
    study = MetaEvaluation(
        replace(sample, labels=labels), Settings(resampling=Resampling(over="none"))
    )
    table = load("changes").score_corpus(sample.corpus)
    found = compare_labels(study, [table])
    rows = {row.human: row.values for row in found if row.metric == "changes"}
    wanted = label_agreements(labels, table.sentences, None)
    assert rows == {name: agreement for name, agreement, _ in wanted}
