"""Networks: positions as transformers counts them, weights that are missing, kinds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gecjury.errors import InputError, MissingExtraError
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import (
    cut_length,
    position_limit,
    read_config,
    read_network,
    read_tokenizer,
    refuse_missing,
)
from tests import tiny

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 8, "max_position_embeddings": 16,
}  # fmt: skip

# What the model type calls a configuration, further settings, and how many of 16 positions a text
# has: those that count from after the padding id lose the positions up to it.
TYPES = [
    ("bert", {}, 16),
    ("electra", {"embedding_size": 8}, 16),
    ("albert", {"embedding_size": 8}, 16),
    ("distilbert", {"dim": 8, "n_heads": 2, "n_layers": 1, "hidden_dim": 8}, 16),
    ("gpt2", {"n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2}, 16),
    ("bart", {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8,
              "decoder_ffn_dim": 8, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2}, 16),
    ("roberta", {"pad_token_id": 1}, 14),
    ("roberta", {"pad_token_id": 3}, 12),
    ("xlm-roberta", {"pad_token_id": 1}, 14),
    ("xlm-roberta-xl", {"pad_token_id": 1}, 14),
    ("camembert", {"pad_token_id": 1}, 14),
    ("roberta-prelayernorm", {"pad_token_id": 1}, 14),
    ("data2vec-text", {"pad_token_id": 1}, 14),
    ("ibert", {"pad_token_id": 1}, 14),
    ("lilt", {"pad_token_id": 1, "hidden_size": 24}, 14),
    ("luke", {"pad_token_id": 1, "entity_vocab_size": 4, "entity_emb_size": 4}, 14),
    ("markuplm", {"pad_token_id": 1}, 14),
    ("longformer", {"pad_token_id": 1, "attention_window": 4}, 14),
    ("mpnet", {"pad_token_id": 1}, 14),
    ("mpnet", {"pad_token_id": 3}, 14),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "expected"), TYPES)
def test_positions_are_those_that_the_model_has(
    kind: str, settings: dict[str, Any], expected: int
) -> None:
    common = {} if kind in ("distilbert", "gpt2", "bart") else SMALL
    config = transformers.AutoConfig.for_model(
        kind, **{"vocab_size": 20, "max_position_embeddings": 16} | common | settings
    )
    assert position_limit(config) == expected
    model = transformers.AutoModel.from_config(config).eval()
    with torch.inference_mode():
        model(input_ids=torch.full((1, expected), 7))
        # IndexError where a position is looked up, RuntimeError where a table of them is added.
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, expected + 1), 7))


@pytest.mark.parametrize("kind", ["xlnet", "t5"])
def test_relative_positions_have_no_limit(kind: str) -> None:
    assert position_limit(transformers.AutoConfig.for_model(kind)) is None


@pytest.mark.parametrize("names", [["--help", "input_ids"], []])
def test_a_tokenizer_that_gives_no_pieces_is_refused(tmp_path: Path, names: list[str]) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))
    path = tmp_path / "model" / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_input_names": names}))
    with pytest.raises(InputError, match="a tokenizer whose first output is not input_ids"):
        read_tokenizer(checkpoint, read_config(checkpoint))


def test_a_tokenizer_knows_the_positions(tmp_path: Path) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))  # 64 positions, no limit of its own
    tokenizer = read_tokenizer(checkpoint, read_config(checkpoint))
    assert tokenizer.model_max_length == 64
    assert (cut_length(tokenizer, 128), cut_length(tokenizer, 10)) == (64, 10)


def test_what_the_files_lack_is_told(tmp_path: Path) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))
    config = read_config(checkpoint)
    assert read_network(checkpoint, config, "encoder")[1] == frozenset()
    _, missing = read_network(checkpoint, config, "sentences")
    assert missing == {"classifier.weight", "classifier.bias"}
    with pytest.raises(InputError, match=r"2 weights of a bert model are missing \(classifier\.b"):
        refuse_missing(checkpoint, config, missing, "a whole one")
    refuse_missing(checkpoint, config, frozenset(), "a whole one")


def test_tied_weights_are_not_missing(tmp_path: Path) -> None:
    folder = tiny.language_model(tmp_path / "lm")
    checkpoint = resolve(str(folder))
    assert read_network(checkpoint, read_config(checkpoint), "next-word")[1] == frozenset()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "model")
    checkpoint = resolve(str(folder))
    (folder / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match=r"model: the model cannot be loaded \(Safetensor"):
        read_network(checkpoint, read_config(checkpoint), "encoder")
    other = shutil.copytree(folder, tmp_path / "other")
    (other / "config.json").write_text("{")
    with pytest.raises(InputError, match="not a model that transformers can read"):
        read_config(resolve(str(other)))


def test_a_tokenizer_without_its_package_names_it(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n日\n本\n", encoding="utf-8")

    def asked(dictionary: str) -> None:
        settings = {
            "tokenizer_class": "BertJapaneseTokenizer",
            "word_tokenizer_type": "mecab",
            "mecab_kwargs": {"mecab_dic": dictionary},
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        checkpoint = resolve(str(folder))
        read_tokenizer(checkpoint, read_config(checkpoint))

    # A dictionary that nobody has here; where fugashi is not installed either, that is named.
    with pytest.raises(
        MissingExtraError, match=r"needs the package (ipadic|fugashi), which is not"
    ):
        asked("ipadic")
