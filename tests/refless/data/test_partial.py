"""Pairs of partly corrected sentences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import ENGLISH, language_of
from gecjury.refless.data.pairs import CorrectedPair
from gecjury.refless.data.partial import swapped_pairs

SOURCE = "He go to school by the bus every days with him friend ."
EDITS = (Edit(1, 2, "goes"), Edit(5, 6, ""), Edit(8, 9, "day"), Edit(10, 11, "his"))
CZECH = language_of("cs")


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


WORDS = ["the", "cat", "goes", "to", "school", ",", "very", "quickly", "and", "is", "happy"]


@given(st.lists(st.sampled_from(WORDS), min_size=1), st.integers(0, 99))
def test_an_added_error_changes_one_word_or_two_neighbours(words: list[str], seed: int) -> None:
    whole = CorrectedPair(" ".join(words), (Edit(len(words), len(words), "!"),))
    for pair in swapped_pairs([whole], ENGLISH, 3, seed):
        worse = pair.worse.split()
        assert worse != words
        assert any(
            words[:place] == worse[:place]
            and words[place + 2 :] == worse[len(worse) - len(words[place + 2 :]) :]
            for place in range(len(words))
        )
