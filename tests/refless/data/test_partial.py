"""Partly corrected sentences in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import ENGLISH, language_of
from gecjury.refless.data.pairs import CorrectedPair
from gecjury.refless.data.partial import (
    PartialVersions,
    partly_corrected,
    spoil,
    swapped_pairs,
)

SOURCE = "He go to school by the bus every days with him friend ."
EDITS = (Edit(1, 2, "goes"), Edit(5, 6, ""), Edit(8, 9, "day"), Edit(10, 11, "his"))
CZECH = language_of("cs")


def test_points_are_the_edits_applied_minus_the_errors_added() -> None:
    whole = CorrectedPair(SOURCE, EDITS)
    applied = {
        whole.text([bool(bits >> place & 1) for place in range(4)]): float(bits.bit_count())
        for bits in range(16)
    }
    spoilt = between = 0
    for seed in range(40):
        (versions,) = partly_corrected([whole], ENGLISH, seed)
        assert versions.source == versions.texts[0] == SOURCE
        assert versions.points[:2] == (0.0, 4.0)
        assert len(set(versions.texts)) == len(versions.texts)
        for text, points in zip(versions.texts[2:], versions.points[2:], strict=True):
            if text in applied:
                assert points == applied[text]
                between += 1
            else:
                assert points < 4
                spoilt += 1
    assert spoilt > 5
    assert between > 30
    # Without rules for a language, no errors are added.
    texts = {text for seed in range(40) for text in _only(whole, seed).texts}
    assert texts <= set(applied)


def _only(correction: CorrectedPair, seed: int) -> PartialVersions:
    (versions,) = partly_corrected([correction], CZECH, seed)
    return versions


def test_a_single_edit_leaves_the_source_and_its_correction() -> None:
    assert _only(CorrectedPair("a b", (Edit(0, 1, "c"),)), 0) == PartialVersions(
        "a b", ("a b", "c b"), (0.0, 1.0)
    )


@pytest.mark.parametrize(
    "correction",
    [
        CorrectedPair("a b", ()),
        CorrectedPair("a", (Edit(0, 1, ""),)),  # only the source would be left
        CorrectedPair(" ".join("a" * 26), tuple(Edit(n, n + 1, "b") for n in range(0, 26, 2))),
    ],
)
def test_unchanged_emptied_and_rewritten_sentences_are_left_out(correction: CorrectedPair) -> None:
    assert list(partly_corrected([correction], CZECH, 0)) == []


def test_two_corrections_of_a_source_are_drawn() -> None:
    corrections = [CorrectedPair("a b", (Edit(0, 1, letter),)) for letter in "cdefc"]
    drawn = [versions.texts[1] for versions in partly_corrected(corrections, CZECH, 0)]
    assert len(set(drawn)) == len(drawn) == 2
    again = [versions.texts[1] for versions in partly_corrected(corrections, CZECH, 0)]
    assert drawn == again


def test_pairs_differ_by_an_edit_and_in_english_by_an_error_in_its_place() -> None:
    whole = CorrectedPair(SOURCE, EDITS)
    partial = {whole.text([bool(bits >> place & 1) for place in range(4)]) for bits in range(16)}
    # 4 edits, each beside 8 subsets of the others
    plain = swapped_pairs([whole], CZECH, 100, 0)
    assert len(plain) > 20
    assert all({pair.better, pair.worse} <= partial for pair in plain)
    assert all(pair.source == SOURCE for pair in plain)
    assert len({(pair.better, pair.worse) for pair in plain}) == len(plain)
    english = swapped_pairs([whole], ENGLISH, 100, 0)
    assert len(english) == 100
    assert {pair.better for pair in english} <= partial - {SOURCE}
    assert sum(pair.worse in partial for pair in english) < 10
    assert english == swapped_pairs([whole], ENGLISH, 100, 0)


def test_sentences_without_edits_and_emptied_ones_give_no_pairs() -> None:
    assert swapped_pairs([CorrectedPair("a b", ())], ENGLISH, 8, 0) == []
    assert swapped_pairs([CorrectedPair("a", (Edit(0, 1, ""),))], CZECH, 8, 0) == []


SPOKEN = "the cat goes to school , very quickly and is happy"


@given(st.lists(st.sampled_from(SPOKEN.split()), min_size=1), st.integers(0, 99))
def test_spoilt_sentences_are_repaired_by_their_edits(words: list[str], seed: int) -> None:
    clean = " ".join(words)
    spoilt = spoil(clean, np.random.default_rng(seed), rate=0.5)
    assert spoilt.text() == clean
