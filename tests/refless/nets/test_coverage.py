"""Notes on encoders that were trained for other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import tiny

pytest.importorskip("transformers")


def folding() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordPiece({"[UNK]": 0, "ka": 1}, unk_token="[UNK]"))
    inner.normalizer = normalizers.BertNormalizer()  # lower case, marks dropped
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="[UNK]")


def test_unknown_pieces_are_counted(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from gecjury.refless.nets.coverage import reading_notes, unknown_share

    folder = tiny.character_encoder(tmp_path / "encoder", "日本語")
    words = AutoTokenizer.from_pretrained(folder)
    assert unknown_share(words, ["日本", "本人"]) == 0.25
    (note,) = reading_notes(words, ["日本", "本人"], "mine")
    assert note.startswith("mine does not know 25% of the word pieces")
    assert reading_notes(words, ["日本"], "mine") == []


def test_dropped_diacritics_are_reported() -> None:
    from gecjury.refless.nets.coverage import reading_notes

    notes = reading_notes(folding(), ["が"], "mine")
    assert "drops diacritics: 'が' is read as 'か'" in notes[-1]
    # Case and width are not diacritics.
    assert not any("marks" in note for note in reading_notes(folding(), ["Ka ｋａ"], "mine"))
