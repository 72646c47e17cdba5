"""The language of texts, and notes on texts in another one."""

from __future__ import annotations

from gecjury.corpus.languages.detection import detected_language, language_note
from gecjury.corpus.languages.language import language_of


def test_bokmal_read_as_bokmal_is_not_noted() -> None:
    lines = ["Jeg har ikke sett ham siden i går, og jeg vet ikke hvor han er blitt av."] * 4
    bokmal = language_of("nb")
    assert detected_language(lines) == "no"
    assert language_note(lines, bokmal) == ""
    assert "looks like Norwegian" in language_note(lines, language_of("sv"))
