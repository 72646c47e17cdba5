"""How well an encoder's tokeniser covers texts: unknown word pieces and dropped diacritics."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from gecjury.models.foreign import Tokenizer

_SAMPLE = 1000
_TOLD = 0.01


def unknown_share(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    """Return the share of word pieces of texts that are the unknown one, without special pieces.

    Args:
        texts: sentences; 0 is returned if there are none.
    """
    unknown = getattr(tokenizer, "unk_token_id", None)
    if unknown is None:
        return 0.0
    pieces = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    count = sum(ids.count(unknown) for ids in pieces)
    return float(count / max(sum(map(len, pieces)), 1))


def reading_notes(tokenizer: Tokenizer, texts: Sequence[str], encoder: str) -> list[str]:
    """Return warnings if an encoder was made for other languages.

    Args:
        texts: sentences; the first thousand are checked.
        encoder: name of the encoder, for the messages.
    """
    seen = list(texts[:_SAMPLE])
    notes = []
    share = unknown_share(tokenizer, seen)
    if share > _TOLD:
        notes.append(
            f"{encoder} does not know {share:.0%} of the word pieces of this text: it was made for "
            "other languages; name one that was made for this language (`encoder=`)"
        )
    changed = next((pair for text in seen if (pair := _dropped(tokenizer, text))), None)
    if changed is not None:
        old, new = changed
        notes.append(
            f"the tokeniser of {encoder} drops diacritics: {old!r} is read as {new!r}, so it does "
            "not distinguish words that differ only by them"
        )
    return notes


def _dropped(tokenizer: Tokenizer, text: str) -> tuple[str, str] | None:
    """Return the first letter that loses more than case and width, as written and as read."""
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
