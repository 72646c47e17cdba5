"""How well an encoder's tokeniser reads texts: what it does not know, and what it folds away."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

_SAMPLE = 1000
_TOLD = 0.01


def unknown_share(tokenizer: Any, texts: Sequence[str]) -> float:
    """The share of word pieces of some texts, special ones not counted, that are the unknown one.

    Args:
        tokenizer: of the encoder.
        texts: sentences; none give 0.
    """
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is None:
        return 0.0
    pieces = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    count = sum(ids.count(unknown) for ids in pieces)
    return float(count / max(sum(map(len, pieces)), 1))


def reading_notes(tokenizer: Any, texts: Sequence[str], encoder: str) -> list[str]:
    """Warnings where an encoder was made for other languages.

    Args:
        tokenizer: of the encoder.
        texts: sentences; the first thousand are looked at.
        encoder: its name, for the messages.
    """
    seen = list(texts[:_SAMPLE])
    notes = []
    share = unknown_share(tokenizer, seen)
    if share > _TOLD:
        notes.append(
            f"{encoder} does not know {share:.0%} of the word pieces of this text: it was made for "
            "other languages; name one that was made for this (--encoder)"
        )
    changed = next((pair for text in seen if (pair := _dropped(tokenizer, text))), None)
    if changed is not None:
        old, new = changed
        notes.append(
            f"the tokeniser of {encoder} drops marks of letters: {old!r} is read as {new!r}, so "
            "that words that differ by them alone are one to it"
        )
    return notes


def _dropped(tokenizer: Any, text: str) -> tuple[str, str] | None:
    """A letter as written and as it is read, where it loses more than case and width."""
    normalizer = getattr(getattr(tokenizer, "backend_tokenizer", None), "normalizer", None)
    if normalizer is None:
        return None
    for letter in filter(str.isalpha, dict.fromkeys(unicodedata.normalize("NFC", text))):
        new = normalizer.normalize_str(letter).strip()
        if _plain(letter) != _plain(new):
            return letter, new
    return None


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    letters = (
        c for c in unicodedata.normalize("NFKC", folded) if unicodedata.category(c)[0] in "LM"
    )
    return "".join(letters)
