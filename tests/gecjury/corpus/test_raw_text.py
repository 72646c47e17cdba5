"""Tests of raw text, of signs of another kind, and of languages that nobody named."""

from pathlib import Path

import pytest

import gecjury
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.languages.detection import detected_language, language_note
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.tokens import in_language, looks_raw

AUTO = language_of("en", "auto", "auto")
RAW = ("I has a dog, and it bark.", "She don't like it!", 'He said "hi".')
CUT = ("I has a dog , and it bark .", "She do n't like it !", 'He said " hi " .')
CURLY = ("I have a dog, and it barks.", "She doesn’t like it!", "He said “hi”.")
RIGHT = ("I have a dog , and it barks .", "She does n't like it !", 'He said " hi " .')


def read(source: tuple[str, ...], output: tuple[str, ...], reference: tuple[str, ...]) -> Corpus:
    return in_language(Corpus(source, {"a": Version(output)}, (Version(reference),)), AUTO)


@pytest.mark.parametrize(
    ("lines", "is_raw"),
    [
        (RAW, True),
        (CUT, False),
        (("no signs", "at all"), False),
        # One writer's error does not make a text raw.
        (("I came,and left .", "He is here .", "I went home.", "It is , well , good ."), False),
        (("Mr. Ito came at 3 p.m. today",), False),
        ((), False),
    ],
)
def test_what_is_raw(lines: tuple[str, ...], is_raw: bool) -> None:
    assert looks_raw(lines) is is_raw


@pytest.mark.parametrize("source", [RAW, CUT])
@pytest.mark.parametrize("reference", [RIGHT, CURLY])
def test_texts_of_any_form_are_brought_to_one(
    source: tuple[str, ...], reference: tuple[str, ...]
) -> None:
    corpus = read(source, CURLY, reference)
    assert corpus.sources == CUT
    assert corpus.systems["a"].lines == corpus.references[0].lines == RIGHT
    # Judges and encoders read what was given.
    assert corpus.as_text().sources == source
    assert corpus.as_text().systems["a"].lines == CURLY
    notes = " ".join(corpus.remarks(("references",)))
    assert "raw text, tokenised by the rules `en`" in notes
    assert "apostrophes and quotation marks written as in the source in 2 lines" in notes


def test_tokenised_text_is_read_as_ever() -> None:
    corpus = read(CUT, RIGHT, RIGHT)
    assert corpus.language == language_of("en")
    assert corpus == Corpus(CUT, {"a": Version(RIGHT)}, (Version(RIGHT),))


def test_raw_text_beside_text_with_hyphens_apart_has_them_apart_too() -> None:
    pytest.importorskip("spacy")
    corpus = read(("Face - to - face , yes .",), ("Face-to-face, yes.",), ("Face - to - face .",))
    assert corpus.systems["a"].lines == ("Face - to - face , yes .",)
    assert corpus.language.tokens == "auto:spacy:en"


def test_the_signature_says_how_raw_text_was_read() -> None:
    table = gecjury.load("green").score_corpus(read(RAW, CURLY, RIGHT))
    assert "|lang=en|tokens=auto en 1|fold=auto quotes|" in str(table.signature)
    assert list(table.sentences[0]) == [1.0, 1.0, 1.0]


def test_a_source_of_mixed_kinds_and_few_other_signs_change_nothing() -> None:
    mixed = ('" a “ b .', "c .")
    assert read(mixed, ("“ a ” b .", "c ."), ('" a " b .', "c .")).language.plain
    source, output = ('" a " .',) * 11, ('" a " .',) * 10 + ("“ a ” .",)
    assert read(source, output, source).language.plain


def test_edits_keep_their_tokens_and_a_raw_source_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("It is well-known, yes.\n")
    Path("h.txt").write_text("It was well-known, yes.\n")
    block = "S It is well-known , yes .\nA 1 2|||V|||was|||REQUIRED|||-NONE-|||0\n"
    Path("r.m2").write_text(block)
    corpus = read_corpus("s.txt", ["h.txt"], ["r.m2"], language=AUTO)
    assert corpus.sources == ("It is well-known , yes .",)
    assert corpus.systems["h"].lines == corpus.references[0].lines == ("It was well-known , yes .",)


GERMAN = (
    "Das ist ein guter Tag , und wir gehen heute alle nach Hause .",
    "Der Hund ist sehr schön , aber er mag die Katze nicht .",
    "Wir haben keine Zeit für das Spiel , morgen schon .",
    "Ich möchte gerne wissen , was du gestern gemacht hast .",
)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (GERMAN, "de"),
        (CUT, "en"),
        (("私は学生です。",), "ja"),
        (("我是学生。",), "zh"),
        (("나는 학생이다 .",), "ko"),
        (("Kurz .",), ""),
    ],
)
def test_languages(lines: tuple[str, ...], code: str) -> None:
    assert detected_language(lines) == code
    note = language_note(lines, language_of("en"))
    assert f"--lang {code}" in note if code not in ("en", "") else not note


def test_a_script_of_several_languages_is_named_where_the_text_is_short() -> None:
    note = language_note(("Так .",), language_of("en"))
    assert "text in Cyrillic letters and is read as English: --lang CODE" in note
    assert language_note(("Так .",), language_of("uk")) == ""
    assert language_note(GERMAN, language_of("de")) == ""


def test_lang_auto_reads_texts_in_the_language_of_the_source() -> None:
    corpus = in_language(Corpus(GERMAN, {}), language_of("auto"))
    assert corpus.language == language_of("de")
    with pytest.raises(OptionError, match="too little text to tell its language; name it"):
        in_language(Corpus(("Kurz .",), {}), language_of("auto"))
