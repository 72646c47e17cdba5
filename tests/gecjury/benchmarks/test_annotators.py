"""Agreement of annotators, κ, and chance scores."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.annotators import (
    AnnotatorAgreement,
    annotator_agreement,
    annotator_kappa,
    doubly_judged,
    krippendorff_alpha,
    ranks_alpha,
    scott_pi,
)
from gecjury.benchmarks.judgments import RankedItem, expand_pairs, judged_entries, read_rankings
from tests.published import BASE


def item(annotator: str, ranks: dict[str, int], sentence: int = 0) -> RankedItem:
    groups = tuple(tuple(names.split()) for names in ranks)
    return RankedItem("1", sentence, annotator, groups, tuple(ranks.values()))


def test_kappa_by_hand() -> None:
    first, second = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
    # Pooled shares 3/8 and 5/8: expected 34/64, κ = (48 - 34)/(64 - 34).
    assert scott_pi(first, second) == pytest.approx(14 / 30)
    assert np.isnan(scott_pi(np.array([]), np.array([])))
    assert np.isnan(scott_pi(np.ones(3), np.ones(3)))


NAN = float("nan")
# Four observers, twelve units: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability,
# section D, which reports .815 (ordinal) and .849 (interval).
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
])  # fmt: skip


def test_alpha_as_published() -> None:
    assert krippendorff_alpha(OBSERVERS, level="ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(OBSERVERS, level="interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # Units (1, 1) and (1, 3); a 9 alone is not compared. Observed: both orders of the second unit,
    # 2 · 2² = 8, over 4 values. Expected: 3 of the 6 pairs of 1 1 1 3 differ by 2, so
    # 2 · 3 · 4 = 24 over 4 · 3. α = 1 − (8 / 4) / (24 / 12) = 0. The mid-ranks 1.5 and 3.5 are
    # also 2 apart, so α is the same.
    values = np.array([[1, 1, 9], [1, 3, NAN]])
    assert krippendorff_alpha(values, level="interval") == pytest.approx(0)
    assert krippendorff_alpha(values, level="ordinal") == pytest.approx(0)
    # Units (1, 2) and (4, 4): observed 2 · 1 / 4; expected over 1 2 4 4 twice the sum of squares
    # 1 + 9 + 9 + 4 + 4 = 27 over 12: α = 1 − .5 / 4.5. Mid-ranks .5 1.5 3 3: observed 2 · 1 / 4,
    # expected 2 · (1 + 6.25 + 6.25 + 2.25 + 2.25) / 12 = 3: α = 1 − .5 / 3.
    values = np.array([[1, 4], [2, 4]])
    assert krippendorff_alpha(values, level="interval") == pytest.approx(1 - 0.5 / 4.5)
    assert krippendorff_alpha(values, level="ordinal") == pytest.approx(1 - 0.5 / 3)
    for undefined in (np.array([[1.0, NAN], [NAN, 2.0]]), np.ones((2, 3)), np.ones((2, 0))):
        assert np.isnan(krippendorff_alpha(undefined, level="interval"))


def test_alpha_of_ranks_by_hand() -> None:
    # Units x y z with the ranks (1, 1), (2, 3), (3, 2), whose mid-ranks are 1.5, 3.5 and 5.5.
    # Observed: both orders of two units that differ by 2, 4 · 2² = 16, over 6 values. Expected:
    # eight pairs of values differ by 2, four by 4: 2 · (8 · 4 + 4 · 16) = 192 over 6 · 5.
    items = [item("a", {"x": 1, "y": 2, "z": 3}), item("b", {"z": 2, "y": 3, "x": 1})]
    wanted = 1 - (16 / 6) / (192 / 30)
    assert ranks_alpha(items) == pytest.approx(wanted)
    # A second ranking by the same person, another sentence and other corrections are ignored.
    items += [item("a", {"x": 3, "y": 1, "z": 1}), item("b", {"x": 1, "y": 2}, sentence=1)]
    items += [item("c", {"x": 2, "y": 1})]
    assert ranks_alpha(items) == pytest.approx(wanted)
    # Two systems with the same text are one correction, in any order.
    shared = [item("a", {"u v": 1, "y": 2}), item("b", {"v u": 1, "y": 2})]
    assert ranks_alpha(shared) == 1
    assert np.isnan(ranks_alpha([]))


def test_alpha_does_not_depend_on_how_ties_are_numbered() -> None:
    # Mid-ranks of x y z: 1 1 2.5 and .5 2 2; among all six values .5 2 2 4 4 5.5 the units are
    # (2, .5), (2, 4), (5.5, 4). Observed: both orders, 2 · (1.5² + 2² + 1.5²) = 17 over 6 values.
    # Expected: 2 · (6 · 70.5 − 18²) = 198 over 6 · 5.
    wanted = 1 - (17 / 6) / (198 / 30)
    for ties in ((1, 1, 2), (1, 1, 3), (2, 2, 5)):
        one = item("a", dict(zip("xyz", ties, strict=True)))
        for other in ((1, 2, 2), (1, 3, 3)):
            two = item("b", dict(zip("xyz", other, strict=True)))
            assert ranks_alpha([one, two]) == pytest.approx(wanted)


def test_agreement_by_hand() -> None:
    items = [
        item("x", {"A": 1, "B": 2, "C": 2}),
        item("y", {"A": 1, "B": 2, "C": 1}),
        item("y", {"A": 2, "B": 1, "C": 2}),  # judged before: ignored
        item("y", {"A": 1, "B": 2}, sentence=1),  # by one annotator only
    ]
    # A-B: both prefer A. A-C: A, tie. B-C: tie, C. Both decided one pair and agree on it.
    found = annotator_agreement(judged_entries(items, ["A", "B", "C"]))
    assert (found.accuracy, found.decided) == (1.0, 1)
    assert (found.with_ties, found.pairs) == (pytest.approx(1 / 3), 3)
    # The compared judgments, first of x, then of y; only A-B without ties.
    pairs = expand_pairs(items, ["A", "B", "C"])
    rows = doubly_judged(pairs, ties=False)
    assert pairs.preference[rows].tolist() == [1, 1]
    assert pairs.item[rows].tolist() == [0, 1]
    assert pairs.preference[doubly_judged(pairs, ties=True)].tolist() == [1, 1, 0, 1, 0, -1]
    # Labels A-B 1, 1; A-C 1, 0; B-C 0, -1, and B-A -1, -1 and so on: four each of 1, 0 and -1.
    # Expected agreement is 1/3, and so is observed agreement, one of three.
    assert found.kappa == pytest.approx(0)


@given(st.floats(0.5, 1.0))
def test_accuracy_of_a_perfect_metric(right: float) -> None:
    """Two annotators who are right in q of the pairs agree in q² + (1 − q)²."""
    agreed = right**2 + (1 - right) ** 2
    found = AnnotatorAgreement(agreed, 100, agreed, 100, 0.0)
    assert found.perfect == pytest.approx(right, abs=1e-7)
    assert np.isnan(AnnotatorAgreement(0.49, 100, 0.49, 100, 0.0).perfect)


def test_pairs_with_the_same_text_do_not_count_as_agreement() -> None:
    items = [item("x", {"A B": 1, "C": 2}), item("y", {"A B": 2, "C": 1})]
    found = annotator_agreement(judged_entries(items, ["A", "B", "C"]))
    assert (found.accuracy, found.decided, found.pairs) == (0.0, 2, 2)


def test_agreement_of_a_single_annotator_is_undefined() -> None:
    found = annotator_agreement(judged_entries([item("x", {"A": 1, "B": 2})], ["A", "B"]))
    assert np.isnan(found.accuracy)
    assert (found.decided, found.pairs) == (0, 0)
    assert np.isnan(annotator_agreement(judged_entries([], ["A"])).with_ties)


def test_kappa_of_annotators_by_hand() -> None:
    items = [
        item("x", {"A": 1, "B": 2, "C": 3}),
        item("y", {"A": 1, "B": 2, "C": 1}),
        item("y", {"A": 1, "B": 2}),
    ]
    # A-B: x +1; y +1, +1. A-C: x +1; y 0. B-C: x +1; y -1. 2 of 4 comparisons agree.
    # Labels: A-B three times +1, A-C +1 and 0, B-C +1 and -1: 5, 1, 1 of 7, expected 27/49.
    directed = annotator_kappa(items, directed=True)
    assert directed.counts == {("x", "y"): 4}
    assert directed.mean == pytest.approx((0.5 - 27 / 49) / (1 - 27 / 49))
    # B-A and so on too: six each of better and worse and two ties of 14, expected 76/196.
    found = annotator_kappa(items)
    assert found.counts == directed.counts
    assert found.mean == pytest.approx((0.5 - 76 / 196) / (1 - 76 / 196))
    # Within y one pair was judged twice, alike; with one label alone κ is undefined.
    within = annotator_kappa(items, within=True, directed=True)
    assert within.counts == {("y", "y"): 1}
    assert np.isnan(within.mean)
    assert annotator_kappa(items, within=True).mean == 1


def test_names_of_systems_decide_nothing() -> None:
    rng = np.random.default_rng(5)
    skill = np.array([3.0, 2.0, 1.0, 0.0])  # In the order of the names first given.
    ranks = np.round(skill[None, None] + rng.normal(0, 1, (3, 40, 4)))
    found = set()
    for names in permutations("abcd"):
        items = [
            item(
                who,
                dict(zip(names, (-ranks[annotator, line]).astype(int).tolist(), strict=True)),
                line,
            )
            for annotator, who in enumerate(("x", "y", "z"))
            for line in (*range(40), *range(5))
        ]
        # Nor does the order in which they are compared.
        agreement = annotator_agreement(judged_entries(items, sorted(names)))
        values = annotator_kappa(items), annotator_kappa(items, within=True)
        figures = *(v.mean for v in values), values[0].weighted, agreement.kappa, agreement.accuracy
        found.add(tuple(round(figure, 12) for figure in figures))
    assert len(found) == 1
    assert not np.isnan(list(found)).any()


def seeda(data_dir: Path, kind: str) -> tuple[RankedItem, ...]:
    return read_rankings(data_dir / "SEEDA/data" / f"judgments_{kind}.xml", first_line=1)


@pytest.mark.parametrize(
    ("kind", "accuracy", "decided", "with_ties"),
    [("edit", 0.644, 519, 0.441), ("sent", 0.896, 694, 0.603)],
)
def test_two_annotators_of_seeda(
    data_dir: Path, kind: str, accuracy: float, decided: int, with_ties: float
) -> None:
    # Known of Base: 64.4% of 519 (edit) and 89.6% of 694 (sentence) decided pairs, 44.1%
    # and 60.3% when ties count. Exactly: 334/519, 622/694, 497/1126, 679/1126.
    found = annotator_agreement(judged_entries(seeda(data_dir, kind), BASE))
    assert found.decided == decided
    assert found.accuracy == pytest.approx(accuracy, abs=6e-4)
    assert found.with_ties == pytest.approx(with_ties, abs=6e-4)
    assert found.pairs == 1126
    # .5 + .5·√(2·334/519 − 1) = .7679, .5 + .5·√(2·622/694 − 1) = .9451.
    assert found.perfect == pytest.approx({"edit": 0.7679, "sent": 0.9451}[kind], abs=5e-5)


@pytest.mark.parametrize(
    ("kind", "between", "within"), [("edit", 0.28, 0.61), ("sent", 0.41, 0.71)]
)
def test_kappa_of_seeda(data_dir: Path, kind: str, between: float, within: float) -> None:
    # Kobayashi et al. 2024, table 3: Scott's π. Cohen's κ would be .30 and .43 between annotators.
    items = seeda(data_dir, kind)
    assert round(annotator_kappa(items, directed=True).mean, 2) == between
    assert round(annotator_kappa(items, within=True, directed=True).mean, 2) == within
    both = annotator_kappa(items).mean, annotator_kappa(items, within=True).mean
    assert both == pytest.approx({"edit": (0.284, 0.614), "sent": (0.412, 0.718)}[kind], abs=5e-4)


def test_kappa_of_gjg15(data_dir: Path) -> None:
    # Grundkiewicz et al. 2015, table 2a: .29 between and .46 within, weighted by comparisons.
    items = read_rankings(data_dir / "GJG15/data/judgments.xml", first_line=0)
    assert round(annotator_kappa(items, directed=True).weighted, 2) == 0.29
    assert round(annotator_kappa(items, within=True, directed=True).weighted, 2) == 0.46
