"""Edit-level measures: AUC, average precision and thresholds, by hand and by property."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.corpus.edits import Edit
from gecjury.metaeval.edits.measures import (
    edit_agreement,
    ranking_measures,
    source_halves,
)
from gecjury.scoring.abilities import EditCase

NAN = float("nan")


def case(source: str, valid: float) -> EditCase:
    edit = Edit(0, 1, "x")
    return EditCase(0, source, ("", ""), edit, (edit,), valid, "x")


def test_ranking_by_hand() -> None:
    # Scores .9 (valid), .4 (valid), .4 (invalid), .1 (invalid).
    cases = [case("s", 1), case("t", 1), case("u", 0), case("v", 0)]
    found = edit_agreement(cases, np.array([0.9, 0.4, 0.4, 0.1]))
    # Pairs: .9 > .4, .9 > .1, .4 = .4 (half), .4 > .1.
    assert found.values["auc"] == 3.5 / 4
    # From above: at .9 1 of 1 valid, recall +1/2; at .4 2 of 3, recall +1/2: 1/2 + 1/3.
    assert found.values["average_precision"] == pytest.approx(5 / 6)
    # From below: at .1 1 of 1 invalid, then 2 of 3: the same value.
    assert found.values["average_precision_invalid"] == pytest.approx(5 / 6)


def test_the_rarer_class_has_its_own_precision() -> None:
    # From below: valid (0 of 1), invalid (1 of 2), valid, valid: AP of the one invalid 1/2.
    # From above: 1/1, 2/2, then past the invalid one 3/4: (1 + 1 + 3/4) / 3.
    cases = [case("s", 1), case("s", 0), case("s", 1), case("s", 1)]
    found = edit_agreement(cases, np.array([0.1, 0.2, 0.3, 0.4]))
    assert found.values["average_precision_invalid"] == 0.5
    assert found.values["average_precision"] == pytest.approx(11 / 12)
    assert found.values["auc"] == pytest.approx(2 / 3)


def test_constant_scores_are_chance() -> None:
    cases = [case(str(n), float(n % 4 > 0)) for n in range(8)]
    found = edit_agreement(cases, np.zeros(8), threshold=None)
    assert (found.values["auc"], found.values["balanced"]) == (0.5, 0.5)
    assert (found.values["average_precision"], found.values["average_precision_invalid"]) == (
        0.75,
        0.25,
    )


def test_one_class_alone_has_no_measure() -> None:
    found = edit_agreement([case("s", 1), case("t", 1)], np.array([0.2, 0.7]), threshold=None)
    assert np.isnan(
        [found.values["auc"], found.values["average_precision"], found.values["balanced"]]
    ).all()
    assert edit_agreement([case("s", 1)], np.array([NAN]), resamples=5).values["missing"] == 1


def halves(sources: int) -> tuple[list[str], list[str]]:
    """Return the names of the sources in the first and in the second half, with seed 0."""
    names = [f"s{n}" for n in range(sources)]
    _, first, _ = source_halves([case(name, 1) for name in names], seed=0)
    return (
        [name for name, one in zip(names, first, strict=True) if one],
        [name for name, one in zip(names, first, strict=True) if not one],
    )


def test_thresholds_come_from_the_other_half() -> None:
    # First half: invalid 1, valid 2, 2, 2: best threshold 1.5. Second half: invalid 3, 3, 3,
    # valid 4: best 3.5. Each is applied to the other half: at 3.5 all of the first half is called
    # invalid, 1 of 4 right; at 1.5 all of the second is called valid, 1 of 4 right. The cases are
    # sorted by source, because source_halves numbers sources by first appearance; so the halves
    # stay those of `halves`.
    one, two = halves(8)
    scores = dict(zip([*one, *two], [1, 2, 2, 2, 3, 3, 3, 4], strict=True))
    valid = dict(zip([*one, *two], [0, 1, 1, 1, 0, 0, 0, 1], strict=True))
    cases = [case(f"s{n}", valid[f"s{n}"]) for n in range(8)]
    score = np.array([scores[f"s{n}"] for n in range(8)], dtype=float)
    found = edit_agreement(cases, score, threshold=None)
    assert found.thresholds == dict.fromkeys(("accuracy", "balanced", "kappa"), (3.5, 1.5))
    assert found.values["accuracy"] == 0.25
    # First half: valid 0 of 3, invalid 1 of 1; second: valid 1 of 1, invalid 0 of 3.
    assert found.values["balanced"] == 0.5
    # All called invalid: agreement on 1 of 4, chance 0 · 3/4 + 1 · 1/4; all called valid: the
    # same. So κ is 0 in both.
    assert found.values["kappa"] == 0


def test_accuracy_and_balanced_accuracy_choose_different_thresholds() -> None:
    # Each half has scores 1 1 1 1 (valid) and 0 0 (one valid, one invalid). Accuracy: calling all
    # valid is right in 5 of 6, as often as the threshold ½ (4 + 1 of 6): the lower threshold is
    # chosen. Balanced: all valid has 1/2, the threshold ½ has (4/5 + 1) / 2 = .9.
    one, two = halves(12)
    marks = [(1, 1)] * 4 + [(1, 0), (0, 0)]
    table = dict(zip([*one, *two], marks + marks, strict=True))
    cases = [case(f"s{n}", table[f"s{n}"][0]) for n in range(12)]
    score = np.array([table[f"s{n}"][1] for n in range(12)], dtype=float)
    found = edit_agreement(cases, score, threshold=None)
    assert found.thresholds["accuracy"] == (float("-inf"), float("-inf"))
    assert found.values["accuracy"] == pytest.approx(5 / 6)
    assert found.thresholds["balanced"] == (0.5, 0.5)
    assert found.values["balanced"] == pytest.approx(0.9)
    # κ is also best at ½: agreement 10/12; called valid 8/12, are valid 10/12: chance
    # 8/12 · 10/12 + 4/12 · 2/12 = 88/144; κ = (120 − 88) / (144 − 88).
    assert found.values["kappa"] == pytest.approx(32 / 56)


def test_intervals_contain_the_value_and_depend_on_the_seed() -> None:
    rng = np.random.default_rng(5)
    cases = [case(f"s{n // 3}", float(rng.random() < 0.8)) for n in range(300)]
    scores = np.array([c.valid for c in cases]) + rng.normal(size=300)
    found = edit_agreement(cases, scores, resamples=200, seed=1)
    again = edit_agreement(cases, scores, resamples=200, seed=1)
    assert found.intervals == again.intervals
    for name, (low, high) in found.intervals.items():
        assert low < found.values[name] < high, name
    assert edit_agreement(cases, scores, resamples=200, seed=2).intervals != found.intervals


edits = st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 3)), min_size=1)


@given(edits)
def test_ranking_equals_counting_pairs(rows: list[tuple[bool, int, int]]) -> None:
    """Compare AUC with all pairs and average precision with its definition, with repeated edits."""
    repeated = [(truth, score) for truth, score, times in rows for _ in range(times)]
    pos = np.array([[float(sum(t and s == k for t, s in repeated)) for k in range(5)]])
    neg = np.array([[float(sum(not t and s == k for t, s in repeated)) for k in range(5)]])
    auc, valid, invalid = (float(x[0]) for x in ranking_measures(pos, neg))
    yes = [s for t, s in repeated if t]
    no = [s for t, s in repeated if not t]
    if not yes or not no:
        assert np.isnan([auc, valid, invalid]).all()
        return
    pairs = [(a > b) + (a == b) / 2 for a in yes for b in no]
    assert auc == pytest.approx(sum(pairs) / len(pairs))
    above = [sum(b >= a for b in yes) / sum(b >= a for b in yes + no) for a in yes]
    below = [sum(b <= a for b in no) / sum(b <= a for b in yes + no) for a in no]
    assert valid == pytest.approx(sum(above) / len(above))
    assert invalid == pytest.approx(sum(below) / len(below))
