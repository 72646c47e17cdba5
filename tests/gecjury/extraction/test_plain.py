"""Edits without a tagger: by hand in several languages, and properties true of any text."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rapidfuzz")

from gecjury.core.runtime import Runtime
from gecjury.corpus.edits import apply_edits
from gecjury.corpus.files.gold import has_type_of
from gecjury.extraction.extract import extract
from gecjury.extraction.plain import (
    PlainReader,
    PlainTyper,
    base,
    folded,
    form_type,
    is_near,
    is_punctuation,
    only_letters,
    unmarked,
)

FRESH = Runtime(use_cache=False)


def edits(source: str, corrected: str) -> list[tuple[str, str, str]]:
    """Return the old tokens, the new tokens and the type of each edit."""
    (found,) = extract([source], [[corrected]], "none", runtime=FRESH).edits
    tokens = source.split()
    return [(" ".join(tokens[e.start : e.end]), e.correction, e.type) for e in found[0]]


@pytest.mark.parametrize(
    ("source", "corrected", "expected"),
    [
        # Swedish
        (
            "jag har va rit i två åren",
            "Jag har varit i två år .",
            [
                ("jag", "Jag", "R:ORTH"),
                ("va rit", "varit", "R:SPACE"),
                ("åren", "år .", "R:OTHER"),
            ],
        ),
        ("Nu jag måste gå", "Nu måste jag gå", [("jag måste", "måste jag", "R:WO")]),
        ("Hon är inte snäll flicka", "Hon är inte en snäll flicka", [("", "en", "M:OTHER")]),
        ("en tv-serie", "en tv serie", [("tv-serie", "tv serie", "R:SPACE")]),
        # Ukrainian
        (
            "Я люблю іжак , який живє тут",
            "Я люблю їжака , який живе тут .",
            [
                ("іжак", "їжака", "R:SPELL"),
                ("живє", "живе", "R:SPELL"),
                ("", ".", "M:PUNCT"),
            ],
        ),
        ("Він в школі", "Він у школі", [("в", "у", "R:OTHER")]),
        # Czech
        (
            "Rika ze prijde",
            "Říká , že přijde",
            [
                ("Rika", "Říká", "R:SPELL"),
                ("", ",", "M:PUNCT"),
                ("ze", "že", "R:SPELL"),
                ("prijde", "přijde", "R:SPELL"),
            ],
        ),
        ('"Ahoj', "„Ahoj", [('"Ahoj', "„Ahoj", "R:PUNCT")]),
        # Japanese, by word and by character
        ("私 は 学校 が 行く 。", "私 は 学校 に 行く 。", [("が", "に", "R:OTHER")]),
        ("私 学 校 行 く", "私 は 学 校 に 行 く", [("", "は", "M:OTHER"), ("", "に", "M:OTHER")]),
        ("ＡＢＣ を ｶﾞ", "ABC を ガ", [("ＡＢＣ", "ABC", "R:ORTH"), ("ｶﾞ", "ガ", "R:ORTH")]),
        (
            "私は学校が行く。",
            "私は学校に行く。",
            [("私は学校が行く。", "私は学校に行く。", "R:SPELL")],
        ),
        # The same letters in another Unicode composition are an edit that can be applied
        (
            unicodedata.normalize("NFD", "žába"),
            "žába",
            [(unicodedata.normalize("NFD", "žába"), "žába", "R:ORTH")],
        ),
        # Arabic and Thai punctuation, symbols
        ("مرحبا", "مرحبا ،", [("", "،", "M:PUNCT")]),
        ("a 🙂 b", "a b", [("🙂", "", "U:PUNCT")]),
        # Punctuation and the case of the word after it
        ("we left , they stayed", "we left . They stayed", [(", they", ". They", "R:PUNCT")]),
    ],
)
def test_edits_by_hand(source: str, corrected: str, expected: list[tuple[str, str, str]]) -> None:
    assert edits(source, corrected) == expected


# Few words, so that sentences share them; marks, widths and scripts with unusual behaviour.
WORDS = st.sampled_from(
    [*"aAbＡ.,…は", "ab", "ba", "Ab", "a-b", "a\u0301", "á", "''", "ね", "ß", "SS", "\u200b", "ïß"]
)
SENTENCES = st.lists(WORDS, max_size=9).map(" ".join)


@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_edits_are_ordered_disjoint_and_produce_the_correction(
    pairs: list[tuple[str, str]],
) -> None:
    sources, lines = [source for source, _ in pairs], [line for _, line in pairs]
    (found,) = extract(sources, [lines], "none", runtime=FRESH).edits
    for source, line, made in zip(sources, lines, found, strict=True):
        assert apply_edits(source.split(), made) == line.split()
        assert list(made) == sorted(made, key=lambda edit: (edit.start, edit.end))
        for one, two in pairwise(made):
            assert one.end <= two.start
        assert bool(made) == (source != line)
        assert all(has_type_of("plain", edit.type) and edit.type != "UNK" for edit in made)


@pytest.mark.slow
def test_sentences_of_a_thousand_characters_without_spaces_and_with_many_tokens() -> None:
    assert edits("あ" * 1000, "あ" * 999 + "い") == [("あ" * 1000, "あ" * 999 + "い", "R:SPELL")]
    source = " ".join(f"w{n}" for n in range(3000))
    corrected = " ".join(f"v{n}" if n % 7 else f"w{n}" for n in range(3000))
    (found,) = extract([source], [[corrected]], "none", runtime=FRESH).edits
    assert apply_edits(source.split(), found[0]) == corrected.split()


def test_cache_and_workers_give_the_same_edits(tmp_path: Path) -> None:
    sources = [f"ord{n} är fel och {n}" for n in range(300)]
    lines = [f"Ord{n} var fel , och {n + 1} ." for n in range(300)]
    runtime = Runtime(cache=tmp_path)
    plain = extract(sources, [lines], "none", runtime=FRESH)
    first = extract(sources, [lines], "none", runtime=runtime)
    again = extract(sources, [lines], "none", runtime=runtime)
    both = extract(sources, [lines], "none", runtime=Runtime(use_cache=False, workers=2))
    assert plain.edits == first.edits == again.edits == both.edits
    assert (first.cached, again.cached) == (0, 300)


def test_neither_spacy_nor_errant_is_imported() -> None:
    code = """
import sys
class Barred:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("spacy", "errant", "thinc", "threadpoolctl"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Barred())
from gecjury.extraction.extract import extract
from gecjury.extraction.taggers import extraction_signature
from gecjury.core.runtime import Runtime
from gecjury.scoring.registry import load
assert extraction_signature("none") == {"tagger": "none 1"}
made = extract(["a b"] * 2, [["a c", "b a"]], "none", runtime=Runtime(use_cache=False)).edits
assert [edit.type for line in made[0] for edit in line] == ["R:OTHER", "R:WO"], made
load("errant:tagger=none")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", ".", "M:PUNCT"),
        (", «", "", "U:PUNCT"),
        ("!", "?", "R:PUNCT"),
        (", vi", ". Vi", "R:PUNCT"),
        ("a !", "a“", "R:PUNCT"),
        ("alot", "a lot", "R:SPACE"),
        ("sub - way", "subway", "R:SPACE"),
        ("alot", "A lot", "R:ORTH"),
        ("İ", "i̇", "R:ORTH"),
        ("Strasse", "Straße", "R:ORTH"),
        ("a b c", "C a b", "R:WO"),
        ("jidla", "jídla", "R:SPELL"),
        ("já", "ja", "R:SPELL"),
        ("recieve", "receive", "R:SPELL"),
        ("in spite", "despite", "R:SPELL"),
        ("its", "it's", "R:SPELL"),
        ("は", "が", "R:OTHER"),
        ("か", "が", "R:OTHER"),
        ("on", "at", "R:OTHER"),
        ("go to the", "goes", "R:OTHER"),
        (".", "dot", "R:OTHER"),
        ("a", "a", "UNK"),
        ("", "", "UNK"),
    ],
)
def test_types_by_hand(old: str, new: str, kind: str) -> None:
    parsed = PlainReader().parse(dict.fromkeys([old, new]))
    left, right = parsed[old], parsed[new]
    assert PlainTyper().types([(0, len(left), 0, len(right))], left, right) == [kind]


def test_order_of_sides_only_changes_the_operation() -> None:
    pairs = [("alot", "a lot"), ("a b", "b a"), ("jidla", "jídla"), ("x", "Y")]
    for one, other in pairs:
        old, new = one.split(), other.split()
        assert form_type(old, new) == form_type(new, old)
        assert is_near(old, new) == is_near(new, old)


def test_long_or_different_word_groups_are_not_near() -> None:
    assert is_near(["inspiteof"], ["in", "spite", "or"])
    assert not is_near(["a", "lot"], ["a", "lott"])
    assert not is_near(["abcd"], ["a", "b", "c", "e"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hej", "hEJ"),
        ("ＡＢＣ１", "abc1"),  # full width
        ("ｶﾞ", "ガ"),  # half width
        (unicodedata.normalize("NFD", "Říká"), "říká"),
        ("Straße", "STRASSE"),
        ("Ї", "ї"),
    ],
)
def test_case_width_and_composition_are_folded(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"), [("…", "..."), ("á", "a"), ("は", "ば"), ("①", "1"), ("ﬁ", "fj")]
)
def test_nothing_else_is_folded(one: str, other: str) -> None:
    assert folded(one) != folded(other)


def test_base_drops_diacritics_but_keeps_voicing_and_vowel_signs() -> None:
    assert base("Říká") == base("rika") == "rika"
    assert base("їжак") == base("іжак")
    assert base("が") != base("か")
    assert base("कि") != base("क")


@pytest.mark.parametrize("token", [".", "…", "。", "„", "—", "$", "🙂", "🙂\ufe0f", "،"])
def test_punctuation_is_recognised_in_any_script(token: str) -> None:
    assert is_punctuation(token)


@pytest.mark.parametrize("token", ["a", "1", "ー", "'s", "は", "½", "\u0301", "\u200b"])
def test_tokens_with_a_letter_number_or_mark_are_not_punctuation(token: str) -> None:
    assert not is_punctuation(token)


def test_only_letters_and_unmarked_drop_joints_and_marks() -> None:
    assert only_letters("ста\u2011ре'п’яʼt-") == "старепяt"
    assert unmarked("„Hej!“") == "Hej"
    assert unmarked("п'ять-шість") == "п'ять-шість"
    assert unmarked("—") == ""
