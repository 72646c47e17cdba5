"""Edits of any language by a spaCy pipeline with Universal parts of speech and lemmas.

`tagger=spacy:NAME`; Penn tags, which ERRANT's own rules for English need, are not read.
"""

from __future__ import annotations

PREFIX = "spacy:"
# The version of these rules, named in signatures and caches: raised when an edit or a type changes.
VERSION = "1"
