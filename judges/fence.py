"""Texts made safe to stand in a prompt: one line each, no fence or heading of their own.

A published prompt shows every text on a line of its own between headings, and the only code fence
is that of the output format. So a text must stay one line, must not open or close a code fence
and must not look like a heading. Prompts of our own put texts between two equal lines that no
text can contain (`nonce`). Ordinary sentences come out as they went in.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

__all__ = ["ARROW", "mark_safe", "nonce", "one_line"]

ARROW = "→"
_BACKTICKS = re.compile(r"`{3,}")
_HEADING = re.compile(r"^(\s*)(#+\s)")
# Marks that begin or end a turn in common chat templates; a tokenizer may read them as such.
_TURN = re.compile(r"<\|([^|<>]{0,40})\|>|<(/?)(think|start_of_turn|end_of_turn|s)>|\[(/?)INST\]")


def one_line(text: str) -> str:
    r"""A text as one harmless line.

    Line breaks of any kind (`\n`, U+2028, vertical tab, ...) and other control characters become
    blanks, invisible direction marks are dropped, three or more backticks become apostrophes, a
    leading `#` is escaped, and special tokens of chat templates are taken apart.
    """
    cleaned = "".join(_harmless(character) for character in text).strip()
    cleaned = _BACKTICKS.sub(lambda match: "'" * len(match[0]), cleaned)
    cleaned = _HEADING.sub(r"\1\\\2", cleaned)
    return _TURN.sub(_apart, cleaned)


def mark_safe(text: str) -> str:
    """A text that shows edits in brackets: an arrow of its own must not pose as an edit."""
    return text.replace(ARROW, "->")


def nonce(texts: Iterable[str]) -> str:
    """A fence line that none of the texts contains: the same for the same texts.

    It is made from the texts' own hash, so that no text can know it beforehand.
    """
    joined = "\n".join(texts)
    seed = joined.encode("utf-8", "surrogatepass")
    for attempt in range(1_000):
        mark = f"=== {hashlib.sha256(b'%d:' % attempt + seed).hexdigest()[:12]} ==="
        if mark not in joined:
            return mark
    raise ValueError("no fence could be found")  # 48 bits against a thousand tries


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    # Embeddings, overrides and isolates reorder what a person sees; joiners belong to scripts.
    if character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
        return ""
    if category == "Cs":
        return "\ufffd"
    return character


def _apart(match: re.Match[str]) -> str:
    return " ".join(match[0])
