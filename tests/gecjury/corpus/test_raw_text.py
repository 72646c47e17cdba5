"""Tests of raw text, of signs of another kind, and of languages that nobody named."""

from pathlib import Path

import pytest

import gecjury
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.languages.detection import detected_language, language_note
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.m2 import parse_m2
from gecjury.corpus.remarks import remarks_on
from gecjury.corpus.texts import corpus_of_texts
from gecjury.corpus.tokens import in_language, is_raw, looks_raw

AUTO = language_of("en", "auto", "auto")
RAW = ("I has a dog, and it bark.", "She don't like it!", 'He said "hi".')
CUT = ("I has a dog , and it bark .", "She do n't like it !", 'He said " hi " .')
CURLY = ("I have a dog, and it barks.", "She doesn’t like it!", "He said “hi”.")
RIGHT = ("I have a dog , and it barks .", "She does n't like it !", 'He said " hi " .')


def read(source: tuple[str, ...], output: tuple[str, ...], reference: tuple[str, ...]) -> Corpus:
    return in_language(Corpus(source, {"a": Version(output)}, (Version(reference),)), AUTO)


@pytest.mark.parametrize(
    ("lines", "raw"),
    [
        (RAW, True),
        (CUT, False),
        (("no signs", "at all"), False),
        # An error in a line with signs apart is the writer's; a line of its own kind is not.
        (("I came, and left .", "He is here .", "It is , well , good ."), False),
        (("He is here .", "I went home.", "It is , well , good ."), True),
        (("He is here .",) * 99 + ("I went home.",), False),
        (("Mr. Ito came at 3 p.m. today",), False),
        ((), False),
    ],
)
def test_what_is_raw(lines: tuple[str, ...], raw: bool) -> None:
    assert looks_raw(lines) is raw


@pytest.mark.parametrize("source", [RAW, CUT])
@pytest.mark.parametrize("reference", [RIGHT, CURLY])
def test_texts_of_any_form_are_brought_to_one(
    source: tuple[str, ...], reference: tuple[str, ...]
) -> None:
    corpus = read(source, CURLY, reference)
    assert corpus.sources == CUT
    assert corpus.systems["a"].lines == corpus.references[0].lines == RIGHT
    # Judges and encoders read what was written, with plain signs.
    assert corpus.as_text().sources == source
    plain = ("I have a dog, and it barks.", "She doesn't like it!", 'He said "hi".')
    assert corpus.as_text().systems["a"].lines == plain
    assert corpus.systems["a"].text == CURLY
    note = remarks_on(corpus, ("references",))[-1]
    assert "every text is cut into tokens by the rules `en` (`tokens=space`: as it is)" in note
    count = 2 + 2 * (reference == CURLY)
    assert f"apostrophes and quotation marks in other forms than in the source, in {count} " in note


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
    assert "|lang=en|tokens=auto en 1|fold=quotes|" in str(table.signature)
    assert list(table.sentences[0]) == [1.0, 1.0, 1.0]


def test_a_line_is_read_alike_whatever_the_others_have() -> None:
    source = ("` a ' .", "it ’s .") + ("it 's .",) * 20
    corpus = read(source, source[:1] + ("it 's .",) * 21, source)
    assert corpus.systems["a"].lines == corpus.sources == corpus.references[0].lines


def test_every_second_line_is_raw() -> None:
    mixed = (CURLY[0], RIGHT[1], CURLY[2])
    assert [*map(is_raw, mixed)] == [True, False, True]
    assert read(CUT, mixed, RIGHT).systems["a"].lines == RIGHT


def test_a_corpus_that_was_read_can_be_read_again_in_another_way() -> None:
    corpus = in_language(read(RAW, CURLY, RIGHT), language_of("en", "space", "none"))
    assert corpus.sources == RAW
    assert corpus.systems["a"].lines == CURLY


def test_signs_of_m2_files_are_neutral_and_changes_of_form_are_no_edits() -> None:
    block = [
        "S It ’s `` a well-known dogs '' .",
        "A 1 2|||R:OTHER|||'s|||REQUIRED|||-NONE-|||0",
        "A 5 6|||R:NOUN|||dog|||REQUIRED|||-NONE-|||0",
        "A 2 3|||R:PUNCT|||“|||REQUIRED|||-NONE-|||1",
    ]
    gold = parse_m2(block, "g.m2")
    corpus = corpus_of_texts(
        ["It’s “a well-known dogs”."], {"a": ['It\'s "a well-known dog".']}, (), gold
    )
    assert corpus.sources == ('It \'s " a well-known dogs " .',)
    assert corpus.systems["a"].lines == ('It \'s " a well-known dog " .',)
    first, second = (version.edits or () for version in corpus.references)
    assert [edit.correction for edit in first[0]] == ["dog"]
    assert second == ((),)
    assert corpus.gold is not None
    # The second annotator corrected nothing, and still counts as an annotator.
    assert corpus.gold[0].annotators == (0, 1)
    assert gecjury.load("m2").score_corpus(corpus).sentences.tolist() == [[1.0]]


def test_words_of_m2_files_keep_their_tokens_in_every_text() -> None:
    gold = parse_m2(
        ["S Das ist z.B. gut , ja .", "A 2 3|||R|||etwa|||REQUIRED|||-NONE-|||0"], "g.m2"
    )
    corpus = corpus_of_texts(
        ["Das ist z.B. gut, ja."], {"a": ["Das war z.B. gut, ja."]}, (), gold, lang="de"
    )
    assert corpus.systems["a"].lines == ("Das war z.B. gut , ja .",)


def test_edits_keep_their_tokens_and_a_raw_source_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("It is well-known, yes.\n")
    Path("h.txt").write_text("It was well-known, yes.\n")
    block = "S It is well-known , yes .\nA 1 2|||V|||was|||REQUIRED|||-NONE-|||0\n"
    Path("r.m2").write_text(block)
    corpus = read_corpus("s.txt", ["h.txt"], ["r.m2"], lang=AUTO)
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
    assert f"`lang={code}`" in note if code not in ("en", "") else not note


def test_a_script_of_several_languages_is_named_where_the_text_is_short() -> None:
    note = language_note(("Так .",), language_of("en"))
    assert "text in Cyrillic letters and is read as English: `lang=CODE`" in note
    assert language_note(("Так .",), language_of("uk")) == ""
    assert language_note(GERMAN, language_of("de")) == ""


def test_lang_auto_reads_texts_in_the_language_of_the_source() -> None:
    corpus = in_language(Corpus(GERMAN, {}), language_of("auto"))
    assert corpus.language == language_of("de")
    with pytest.raises(OptionError, match="too little text to tell its language; name it"):
        in_language(Corpus(("Kurz .",), {}), language_of("auto"))


def test_a_tokeniser_that_drops_characters_is_refused_beside_m2_files_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gecjury.corpus.tokens.tokeniser", lambda name: lambda text: ["He"])
    gold = parse_m2(["S He go .", "A 1 2|||R|||goes|||REQUIRED|||-NONE-|||0"], "g.m2")
    with pytest.raises(InputError, match="system a, sentence 1: the tokeniser intl changes"):
        corpus_of_texts(["He go ."], {"a": ["He goes."]}, (), gold, tokens="intl")
