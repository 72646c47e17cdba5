"""Edits of any language by a spaCy pipeline with Universal parts of speech and lemmas.

They are selected by `tagger=spacy:NAME`. Penn tags, which ERRANT's own rules for English need, are
not used.
"""

from __future__ import annotations

PREFIX = "spacy:"
# The version of these rules in signatures and caches, increased when an edit or a type changes.
VERSION = "1"
