"""Features of languages other than English: word boundaries, and letters that are not folded."""

from __future__ import annotations

import pytest

from gecjury.refless.nets.features import (
    FOREIGN_PAIR_FEATURES,
    FOREIGN_SENTENCE_FEATURES,
    FeatureTables,
    feature_names,
    pair_features,
    sentence_features,
)


def one(text: str, language: str) -> dict[str, float]:
    values = sentence_features([text], lambda word: len(word), language)[0]
    return dict(zip(feature_names("sentences", language), values.tolist(), strict=True))


def pair(source: str, output: str, language: str) -> dict[str, float]:
    values = pair_features([source], [output], language)[0]
    return dict(zip(feature_names("pairs", language), values.tolist(), strict=True))


def test_letters_are_words_in_languages_without_blanks() -> None:
    found = pair("私は日本語を勉強する。", "私は日本語を勉強した。", "ja")
    assert found["word_f1"] == pytest.approx(2 * 9 / 22)
    assert found["unchanged"] == 0
    assert found["ideographs_changed"] == 0
    assert pair("日", "月", "ja")["ideographs_changed"] > 0
    # Read as English, the same lines are one word and a punctuation mark.
    assert pair_features(["私は。"], ["僕は。"], "en")[0, 4] == pytest.approx(2 / 4)


def test_combining_marks_stay_with_their_letter() -> None:
    composed, apart = one("Kůň běží.", "cs"), one("Ku\u030an\u030c be\u030cz\u030ci\u0301.", "cs")
    assert composed["log_words"] == apart["log_words"]
    assert composed["marks"] == apart["marks"] == pytest.approx(1 / 2)
    assert one("п’ять яблук", "uk")["marks"] == 0


def test_letters_that_differ_in_their_marks_are_distinguished() -> None:
    assert pair("är här", "ar har", "sv")["word_f1"] == 0
    assert pair("Här", "här", "sv")["case_only"] == 1
    assert pair("はが", "はか", "ja")["word_f1"] == pytest.approx(0.5)
    assert pair("ano ale ne", "ano, ale ne", "cs")["marks_only"] == 1


def test_ends_and_scripts() -> None:
    assert one("そうです。", "ja")["no_end_mark"] == 0
    assert one("そうです", "ja")["no_end_mark"] == 1
    assert one("ひらカタ漢字", "ja")["scripts"] == 1
    assert one("мова і language", "uk")["scripts"] == 2


def test_quality_reads_both_sides_in_every_language() -> None:
    for language in ("en", "ja"):
        values = FeatureTables([], (["a"], ["b"]), len, language).of("quality")
        assert values.shape == (1, len(feature_names("both", language)))
    both = len(FOREIGN_PAIR_FEATURES) + len(FOREIGN_SENTENCE_FEATURES)
    assert len(feature_names("both", "ja")) == both
