"""Sentences on who leads."""

from __future__ import annotations

import math

import pytest

from gecjury.report.verdict import PairedTests, Ranked

NAN = math.nan
TESTS = PairedTests(
    ("a", "b", "c"), [[NAN, 0.2, 0.001], [0.2, NAN, 0.3], [0.001, 0.3, NAN]], "Holm"
)


def test_a_lead_has_its_gap_and_certainty() -> None:
    ranked = Ranked(
        {"a": 0.9, "b": 0.8, "c": 0.1},
        "Pearson r",
        tests=TESTS,
        intervals={"a": (0.85, 0.95)},
        paired={("b", "a"): (-0.2, 0.05)},
    )
    # b − a lies between −0.2 and 0.05, so a − b lies between −0.05 and 0.2.
    assert ranked.verdict() == (
        "a leads: Pearson r 0.900 (95%: 0.850 to 0.950), 0.100 ahead of b (paired 95%: −0.050 to "
        "0.200), not significant (p = 0.200, Holm)."
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, ""),
        ({"a": 0.5}, "a, the only one: 0.500."),
        ({"a": 0.5, "b": 0.5, "c": 0.2}, "a and b share the lead: 0.500."),
        ({"a": 0.5, "c": 0.2}, "a leads: 0.500, 0.300 ahead of c, significant (p = 0.001, Holm)."),
        ({"a": 0.5, "x": 0.2}, "a leads: 0.500, 0.300 ahead of x, not tested."),
        # Fewer false alarms are better: the gap has no sign.
        ({"a": 0.1, "c": 0.2}, "a leads: 0.100, 0.100 ahead of c, significant (p = 0.001, Holm)."),
    ],
)
def test_sentences(values: dict[str, float], sentence: str) -> None:
    assert Ranked(values, tests=TESTS).verdict() == sentence


def test_a_lead_that_pairs_contradict_is_none() -> None:
    behind = Ranked(
        {"a": 0.9, "b": 0.8},
        paired={("a", "b"): (-0.3, -0.1)},
        gaps={("a", "b"): -0.2},
    )
    words = "0.200 behind b (paired 95%: −0.300 to −0.100), significant."
    assert behind.verdict() == f"a is highest: 0.900, but by the paired difference {words}"
    # The gap over shared sentences is not that of the figures, and needs a test or an interval.
    ahead = Ranked({"a": 0.9, "b": 0.8}, gaps={("a", "b"): 0.05})
    assert ahead.verdict() == "a leads: 0.900, 0.050 ahead of b, not tested."


def test_families_are_compared_by_their_best() -> None:
    ranked = Ranked({"a": 0.9, "b": 0.8, "c": 0.1}, "accuracy", tests=TESTS)
    family_of = {"a": "refbased", "b": "refbased", "c": "judges"}
    words = {"refbased": "reference-based", "judges": "LLM judge"}
    assert ranked.families(family_of, words) == (
        "reference-based a (accuracy 0.900) is 0.800 ahead of LLM judge c, significant (p = 0.001, "
        "Holm)"
    )
    assert ranked.families(dict.fromkeys("abc", "refbased"), words) == ""
