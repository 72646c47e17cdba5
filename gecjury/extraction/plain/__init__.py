"""Edits of any language without a tagger: `tagger=none`. Neither spaCy nor errant is imported.

Sentences consist of tokens between blanks, whatever the language; alignment, merging and types look
only at the characters of tokens.
"""

from __future__ import annotations

# The version of these rules in signatures and caches, increased when an edit or a type changes.
VERSION = "1"
NAME = "none"
