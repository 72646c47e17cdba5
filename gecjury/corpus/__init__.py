"""What is scored: texts and edits as the user gave them; no metric, no person, no model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus, Group, Version
    from gecjury.corpus.edits import Edit
    from gecjury.corpus.language import Language, language_of
    from gecjury.corpus.reading import read_corpus
    from gecjury.corpus.tokens import in_language

__all__ = [
    "Corpus",
    "Edit",
    "Group",
    "Language",
    "Version",
    "in_language",
    "language_of",
    "read_corpus",
]

_HOMES = {
    "Corpus": "corpus",
    "Edit": "edits",
    "Group": "corpus",
    "Language": "language",
    "Version": "corpus",
    "in_language": "tokens",
    "language_of": "language",
    "read_corpus": "reading",
}


def __getattr__(name: str) -> object:
    """Import names on first use: a language is known without numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury.corpus' has no attribute {name!r}")
    return getattr(import_module(f"gecjury.corpus.{_HOMES[name]}"), name)
