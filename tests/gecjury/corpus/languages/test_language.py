"""A language as a value, and tokenisation and folding of texts by language."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import InputError, MissingExtraError, OptionError
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.languages.language import (
    _SHORT,
    ENGLISH,
    LANGUAGES,
    Language,
    language_of,
    unparted_note,
)
from gecjury.corpus.m2 import parse_m2
from gecjury.corpus.references import gold_versions
from gecjury.corpus.tokens import (
    in_language,
    language_signature,
    tokenised,
    tokeniser,
)


def cut(text: str, name: str) -> str:
    return tokenised([text], language_of("und", name, "none"), "here")[0]


def test_english_is_read_unchanged() -> None:
    assert language_of("en") == ENGLISH
    corpus = Corpus(("a b.",), {"x": Version(("a  b.",))})
    assert in_language(corpus, ENGLISH) == corpus
    assert corpus.as_text() is corpus
    assert language_signature(ENGLISH) == {}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("sv", Language("sv", "intl", "nfc", "none")),
        ("sv-SE", Language("sv", "intl", "nfc", "none")),
        ("Swedish", Language("sv", "intl", "nfc", "none")),
        ("deu", Language("de", "intl", "nfc", "none")),
        ("ger", Language("de", "intl", "nfc", "none")),
        ("CMN", Language("zh", "char", "nfc", "cherrant")),
        ("nob_Latn", Language("nb", "intl", "nfc", "none")),
        ("ja", Language("ja", "ja", "nfc", "none")),
        ("zh", Language("zh", "char", "nfc", "cherrant")),
        ("th", Language("th", "char", "nfc", "none")),
        ("und", Language("und", "space", "nfc", "none")),
    ],
)
def test_defaults_of_languages(code: str, expected: Language) -> None:
    assert language_of(code) == expected


def test_every_language_has_a_code_of_three_letters() -> None:
    assert {*_SHORT.values()} == {*LANGUAGES} - {"und"}
    assert not {*_SHORT} & {*LANGUAGES}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("swedsh",), "did you mean swedish"),
        (("xx",), "`und` is any other"),
        (("sv", "itnl"), "intl"),
        (("sv", None, "nfd"), "nfc"),
        (("sv", None, None, "embedded"), "tagger embedded is for English"),
    ],
)
def test_unknown_values_are_reported(options: tuple[str | None, ...], expected: str) -> None:
    with pytest.raises(OptionError, match=expected):
        language_of(*options)  # type: ignore[arg-type]  # wrong on purpose


def test_international_tokens_are_those_of_sacrebleu() -> None:
    # The rules of mteval-v14: punctuation is cut off except between digits, symbols always.
    assert cut('Han är 1.5 m, och "snäll".', "intl") == 'Han är 1.5 m , och " snäll " .'
    assert cut("Що це? – «Так»!", "intl") == "Що це ? – « Так » !"
    assert cut("5€ + 10% här", "intl") == "5 € + 10 % här"
    assert cut("år 1990.", "intl") == "år 1990."  # as in sacrebleu, after a final digit


def test_graphemes_keep_their_marks() -> None:
    assert cut("e\u0301a 👩‍👩‍👧", "char") == "e\u0301 a 👩‍👩‍👧"


def test_chinese_characters_are_single_tokens() -> None:
    assert cut("我有3个apple，好。", "zh") == "我 有 3 个 apple ， 好 。"


def test_japanese_words_are_those_of_the_dictionary() -> None:
    pytest.importorskip("fugashi")
    assert cut("私は学生です。", "ja") == "私 は 学生 です 。"
    assert cut("私　は学生", "ja") == "私 は 学生"  # existing blanks stay boundaries


def test_chinese_words_are_those_of_the_segmenter() -> None:
    pytest.importorskip("rjieba")
    assert cut("众所周知 工业的发展。", "jieba") == "众所周知 工业 的 发展 。"


def test_a_segmenter_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rjieba", None)
    tokeniser.cache_clear()
    expected = r"`tokens=jieba` needs rjieba, which is not installed: .*\[jieba\]'; `tokens=char`"
    with pytest.raises(MissingExtraError, match=expected):
        cut("我们", "jieba")


def test_chinese_is_joined_without_blanks() -> None:
    assert language_of("zh").joined("用 a p p 。") == "用app。"
    assert language_of("zh", tokens="zh").joined("用 big app 。") == "用big app。"
    assert language_of("zh", tokens="jieba").joined("我们 用 app 。") == "我们用app。"


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40))
def test_no_tokeniser_changes_a_character(text: str) -> None:
    for name in ("space", "char", "intl", "zh"):
        assert "".join(cut(text, name).split()) == "".join(text.split())


def test_a_tokeniser_that_changes_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from gecjury.corpus import tokens

    monkeypatch.setattr(tokens, "tokeniser", lambda name: lambda text: [text.lower()])
    with pytest.raises(InputError, match=r"h\.txt, sentence 2: the tokeniser intl changes"):
        tokenised(["a b", "a B"], language_of("und", "intl"), "h.txt")


def test_folding_composes_letters_and_keeps_case() -> None:
    def read(text: str, fold: str) -> str:
        return language_of("sv", fold=fold).token_text(text)

    assert read("A\u030angstro\u0308m ’", "nfc") == "Ångström ’"
    assert read("ＡＢＣ ｶﾞ ’", "nfkc") == "ABC ガ '"
    assert read("ＡＢＣ ’", "quotes") == "ＡＢＣ '"
    assert read("a\u0308", "none") == "a\u0308"
    # Edits count tokens: one that would vanish, or be two, stays one.
    assert read("a \u200b ½", "quotes") == "a \u200b ½"
    assert read("ﷺ", "nfkc").count(" ") == 0


def test_a_corpus_in_tokens_and_as_plain_text() -> None:
    corpus = Corpus(
        ("Hej, du.",),
        {"a": Version(("Hej du.",)), "b": Version(("Hej du .",))},
        (Version(("Hej du!",)),),
        groups=(Group("g", 0, (("a",),), ("Hej du.",)),),
        reference_sets={"more": lambda: (Version(("Hej, du!",)),)},
    )
    made = in_language(corpus, language_of("sv"))
    assert made.sources == ("Hej , du .",)
    assert made.systems["a"].lines == made.systems["b"].lines == ("Hej du .",)
    assert made.with_references("more").references[0].lines == ("Hej , du !",)
    assert made.groups is not None
    assert made.groups[0].texts == ("Hej du .",)
    text = made.as_text()
    assert text.sources == corpus.sources
    assert text.systems["a"].lines == ("Hej du.",)
    assert text.systems["b"].lines == ("Hej du .",)
    assert text.as_text() is text
    assert in_language(made, language_of("sv")) == made


def test_lines_of_tokens_are_joined_as_the_language_is_written() -> None:
    language = Language("ja", "ja", "nfc", "none")
    made = replace(Corpus(("私 は iPhone 15 です",), {"x": Version(("私 が",))}), language=language)
    assert made.as_text().sources == ("私はiPhone 15です",)
    assert made.as_text().systems["x"].lines == ("私が",)
    swedish = replace(made, language=language_of("sv"))
    assert swedish.as_text().systems["x"].lines == ("私 が",)


def test_m2_keeps_its_tokens_but_is_folded() -> None:
    blocks = parse_m2(
        ["S Han a\u0308r fin.", "A 1 2|||R:SPELL|||va\u0308r|||REQUIRED|||-NONE-|||0"], "g.m2"
    )
    corpus = Corpus(
        ("Han a\u0308r fin.",), {"x": Version(("Han är fin.",))}, gold_versions(blocks), blocks
    )
    made = in_language(corpus, language_of("sv"))
    assert made.sources == ("Han är fin.",)  # not cut at the full stop, since edits count tokens
    assert made.references[0].lines == ("Han vär fin.",)
    edits = made.references[0].edits
    assert edits is not None
    assert edits[0][0].correction == "vär"
    assert made.gold is not None
    assert made.gold[0].source == "Han är fin."
    # The words of the M2 file have its tokens in every text.
    assert made.systems["x"].lines == ("Han är fin.",)


def test_signatures_have_the_settings_omitted_for_english() -> None:
    assert language_signature(language_of("sv")) == {
        "lang": "sv", "tokens": "intl 1", "fold": "nfc",
    }  # fmt: skip
    assert language_signature(language_of("sv"), tokens=False) == {"lang": "sv", "fold": "nfc"}
    assert language_signature(language_of("en", tokens="char")) == {
        "lang": "en", "tokens": "char 1", "fold": "none",
    }  # fmt: skip


def test_text_without_blanks_is_noted_with_a_remedy() -> None:
    japanese = ["私は昨日学校に行きました。"]
    assert "(`lang=ja`)" in unparted_note(japanese)
    # If the language is already given, the remedy is different.
    assert "use `tokens=char`" in unparted_note(japanese, language_of("ja", tokens="space"))
    assert unparted_note([" ".join(japanese[0])]) == ""
    assert unparted_note(["Élodie likes cafés .", *["word"] * 9]) == ""
    assert unparted_note([*japanese, "Zoë walked to the café ."]) == ""  # no more than half
