"""The language of texts, and notes on texts in another one."""

from __future__ import annotations

from gecjury import corpus_of_texts, load_benchmark
from gecjury.corpus.languages.detection import detected_language, language_note
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.remarks import language_remark


def test_bokmal_read_as_bokmal_is_not_noted() -> None:
    lines = ["Jeg har ikke sett ham siden i går, og jeg vet ikke hvor han er blitt av."] * 4
    bokmal = language_of("nb")
    assert detected_language(lines) == "no"
    assert language_note(lines, bokmal) == ""
    assert "looks like Norwegian" in language_note(lines, language_of("sv"))


def test_characters_as_tokens_do_not_hide_the_language() -> None:
    lines = load_benchmark("sample").corpus.sources
    corpus = corpus_of_texts(lines, lines, tokens="char")
    assert language_note(corpus.sources, corpus.language)
    assert language_remark(corpus) == ""
