"""METEOR, Porter stems, string ratios and features, by hand."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.refless.nets.features import (
    PAIR_FEATURES,
    SENTENCE_FEATURES,
    pair_features,
    sentence_features,
    words_of,
)
from gecjury.refless.similarity import (
    Meteor,
    align_words,
    indel_ratio,
    porter_stem,
    token_sort_ratio,
    words_of_any,
)


@pytest.mark.parametrize(
    ("word", "stem"),
    # The examples of the steps in Porter (1980).
    [
        ("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("feed", "feed"),
        ("agreed", "agre"), ("plastered", "plaster"), ("motoring", "motor"), ("sing", "sing"),
        ("conflated", "conflat"), ("hopping", "hop"), ("falling", "fall"), ("filing", "file"),
        ("happy", "happi"), ("sky", "sky"), ("relational", "relat"), ("conditional", "condit"),
        ("vietnamization", "vietnam"), ("decisiveness", "decis"), ("triplicate", "triplic"),
        ("electrical", "electr"), ("adjustment", "adjust"), ("adoption", "adopt"),
        ("bowdlerize", "bowdler"), ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"),
        ("controll", "control"), ("roll", "roll"), ("is", "is"),
        # Step 1b undoubles every consonant except l, s and z, even if English never doubles it.
        ("followwing", "follow"), ("shokked", "shok"), ("trekking", "trek"), ("succed", "suc"),
        # The tables of 1980: `logi` is missing, and `abli` is used instead of `bli`.
        ("archaeology", "archaeologi"), ("possibly", "possibli"), ("dies", "di"),
        # Short words and tokens that are not plain words are their own stems.
        ("as", "as"), ("by", "by"), ("10years", "10years"), ("cafés", "cafés"), ("n't", "n't"),
    ],
)  # fmt: skip
def test_porter_stems(word: str, stem: str) -> None:
    assert porter_stem(word) == stem


def test_meteor_by_hand() -> None:
    meteor = Meteor()
    # Equal: F = 1, one chunk, no loss.
    assert meteor.score("The cat sat .", "the cat sat .") == 1.0
    # "a b c d" / "a b x d": 3 matches in 2 chunks, P = R = 3/4, F = 3/4,
    # loss .5 · (2/3)^3 = 4/27, score 3/4 · 23/27.
    assert meteor.score("a b c d", "a b x d") == pytest.approx(0.75 * 23 / 27)
    # "a b" / "a b c": P = 2/3, R = 1, F = (2/3)/(.9 · 2/3 + .1) = 20/21, one chunk.
    assert meteor.score("a b", "a b c") == pytest.approx(20 / 21)
    # A stem match at .5: P = R = 1.5/2.
    assert Meteor(stem_weight=0.5).score("cats eat", "cat eat") == pytest.approx(0.75)
    assert meteor.score("", "") == 1.0
    assert meteor.score("a", "") == 0.0
    assert meteor.score("a", "b") == 0.0
    # Spacing does not matter.
    assert meteor.score("Yes, it is.", "Yes , it is .") == 1.0


def test_alignment_takes_long_runs_first() -> None:
    # The second "the cat" belongs to the run, not the first "the".
    assert align_words(["the", "dog", "the", "cat"], ["the", "cat"]) == [(2, 0), (3, 1)]


LETTERS = st.text("abc", max_size=9)


@given(LETTERS, LETTERS)
def test_the_ratio_is_that_of_the_longest_common_subsequence(first: str, second: str) -> None:
    @cache
    def plain(i: int, j: int) -> int:
        if not i or not j:
            return 0
        if first[i - 1] == second[j - 1]:
            return plain(i - 1, j - 1) + 1
        return max(plain(i - 1, j), plain(i, j - 1))

    size = len(first) + len(second)
    # Exact to the last digit, since trained models depend on these values.
    assert indel_ratio(first, second) == (2 * plain(len(first), len(second)) / size if size else 1)


def test_ratios_by_hand() -> None:
    # "kitten" / "sitting": LCS "ittn", 2 · 4 / 13.
    assert indel_ratio("kitten", "sitting") == pytest.approx(8 / 13)
    assert indel_ratio("", "") == 1.0
    assert token_sort_ratio("the big cat .", "Cat, the BIG") == 1.0
    # "ab cd" / "ab ce": LCS 4, 8/10.
    assert token_sort_ratio("cd ab", "ab ce") == 0.8
    # é (U+00E9) is dropped, not a separator: "caf" / "cafe" 6/7 = .857 → 86.
    assert token_sort_ratio("café", "cafe") == 0.86
    assert token_sort_ratio("...", "a") == 0.0
    # fuzzywuzzy compares the remaining characters, and two empty strings are equal.
    assert token_sort_ratio(". . . . .", "...") == 1.0


def test_features_do_not_see_tokenisation() -> None:
    tokenised = "However , i do n't like `` a apple '' , or the the dog ."
    plain = 'However, i don\'t like "a apple", or the the dog.'
    assert words_of(tokenised) == words_of(plain)
    first, second = sentence_features([tokenised, plain], lambda word: 1 + (word == "dog"))
    assert first.tolist() == second.tolist()
    named = dict(zip(SENTENCE_FEATURES, first.tolist(), strict=True))
    assert named["lower_i"] == 1
    assert named["a_before_vowel"] == 1
    assert named["repeated_word"] == 1
    assert named["lower_start"] == 0
    assert named["no_end_mark"] == 0


def test_pair_features_describe_the_edits() -> None:
    rows = pair_features(
        ["He likes cats .", "It is good .", "a b c"], ["He likes cats .", "It is not good .", ""]
    )
    same, negated, emptied = (dict(zip(PAIR_FEATURES, r.tolist(), strict=True)) for r in rows)
    assert (same["unchanged"], same["meteor"], same["deleted"]) == (1, 1, 0)
    # One insertion into four words.
    assert (negated["negation_differs"], negated["inserted"]) == (1, 0.25)
    assert negated["unchanged"] == 0
    # All three words are deleted in one run.
    assert (emptied["meteor"], emptied["deleted"], emptied["longest_gap"]) == (0, 1 / 3, 1)


def test_other_languages_keep_all_letters_and_use_no_english_stems() -> None:
    # fuzzywuzzy drops å and ö, which makes the words equal.
    assert token_sort_ratio("få böcker", "f bcker") == 1.0
    assert token_sort_ratio("få böcker", "f bcker", english=False) < 0.9
    assert token_sort_ratio("jag ser dig", "dig, ser jag", english=False) == 1.0
    assert token_sort_ratio("私は本", "本は私", english=False) == 1.0
    assert align_words(["cats"], ["cat"]) == [(0, 0)]
    assert align_words(["cats"], ["cat"], stems=False) == []
    assert Meteor(stems=False).score("cats eat", "cat eat") < Meteor().score("cats eat", "cat eat")


def test_words_of_any_language() -> None:
    assert words_of_any("私はEdisonです。") == [*"私は", "Edison", *"です。"]
    assert words_of_any("п'ять, шість") == ["п'ять", ",", "шість"]
    assert words_of_any("de\u0301ja\u0300 vu") == ["de\u0301ja\u0300", "vu"]
    assert words_of_any("か\u3099く") == ["か\u3099", "く"]
