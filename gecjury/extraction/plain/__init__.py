"""Edits of any language without a tagger: `tagger=none`. Neither spaCy nor errant is imported.

Sentences are tokens between blanks, whatever the language; alignment, merging and types look at the
characters of tokens and at nothing else.
"""

from __future__ import annotations

# The version of these rules, named in signatures and caches: raised when an edit or a type changes.
VERSION = "1"
NAME = "none"
