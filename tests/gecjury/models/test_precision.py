"""Products in 16 bits: close to 32 bits, exact heads and word vectors, unsupported devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import OptionError
from gecjury.models import precision
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config, read_network
from gecjury.models.precision import check_dtype, placed
from tests import tiny

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

IDS = torch.tensor([[2, 5, 9, 11, 14, 3], [2, 7, 8, 21, 6, 3]])


def network(folder: Path, kind: Any) -> Any:
    checkpoint = resolve(str(folder))
    return read_network(checkpoint, read_config(checkpoint), kind)[0].eval()


def test_rounded_products_are_closer_than_a_network_in_sixteen_bits(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    with torch.inference_mode():
        exact = network(folder, "encoder")(input_ids=IDS).last_hidden_state
        found = placed(network(folder, "encoder"), "bfloat16", "cpu")(input_ids=IDS)
        whole = network(folder, "encoder").to(torch.bfloat16)(input_ids=IDS)
    near = found.last_hidden_state
    assert near.dtype == torch.float32
    gap = (near - exact).abs().mean()
    assert 0 < gap < 0.8 * (whole.last_hidden_state.float() - exact).abs().mean()
    assert gap < 0.01


def test_a_head_stays_in_32_bits(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "head", outputs=1)
    model = placed(network(folder, "sentences"), "bfloat16", "cpu")
    with torch.inference_mode():
        logits = model(input_ids=IDS).logits
    assert logits.dtype == torch.float32
    assert (logits != logits.to(torch.bfloat16).float()).any()
    assert model.classifier.weight.dtype == torch.float32
    assert model.bert.pooler.dense.weight.dtype == torch.float32
    assert model.bert.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16


def test_word_vectors_shared_with_a_head_stay_in_32_bits(tmp_path: Path) -> None:
    folder = tiny.language_model(tmp_path / "model")
    model = placed(network(folder, "next-word"), "bfloat16", "cpu", whole=True)
    assert model.lm_head.weight.dtype == torch.bfloat16
    assert model.transformer.wte.weight.dtype == torch.float32
    assert model.transformer.h[0].mlp.c_fc.weight.dtype == torch.bfloat16  # a Conv1D
    with torch.inference_mode():
        exact = network(folder, "next-word")(input_ids=IDS).logits
        near = model(input_ids=IDS).logits.float()
    assert 0 < (near - exact).abs().max() < 0.05


def test_32_bits_are_left_unchanged(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    plain = network(folder, "encoder")
    assert placed(plain, "float32", "cpu") is plain
    assert {values.dtype for values in plain.parameters()} == {torch.float32}


@pytest.mark.parametrize("kind", ["encoder", "next-word"])
def test_products_by_onednn_differ_only_in_the_last_bits(tmp_path: Path, kind: str) -> None:
    make = tiny.encoder if kind == "encoder" else tiny.language_model
    folder = make(tmp_path / "model")
    model = placed(network(folder, kind), "float32-onednn", "cpu")
    with torch.inference_mode():
        exact, found = network(folder, kind)(input_ids=IDS)[0], model(input_ids=IDS)[0]
    assert found.dtype == torch.float32
    assert (found - exact).abs().max() < 1e-5
    changed = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    assert all("forward" in vars(layer) for layer in changed)
    with pytest.raises(OptionError, match="this runs on cuda"):
        check_dtype("float32-onednn", "cuda")


@pytest.mark.skipif(not precision.multiplies_bfloat16(), reason="a processor without bfloat16")
@pytest.mark.parametrize("kind", ["encoder", "next-word"])
def test_reordered_weights_change_no_result(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tiny.encoder if kind == "encoder" else tiny.language_model
    folder = make(tmp_path / "model")
    model = placed(network(folder, kind), "bfloat16", "cpu", whole=True)
    assert any(values.is_mkldnn for values in model.parameters())
    monkeypatch.setattr(precision, "multiplies_bfloat16", lambda: False)
    plain = placed(network(folder, kind), "bfloat16", "cpu", whole=True)
    with torch.inference_mode():
        assert torch.equal(model(input_ids=IDS)[0], plain(input_ids=IDS)[0])


def test_float16_needs_a_gpu(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    with pytest.raises(OptionError, match=r"float16 is for GPUs.*bfloat16"):
        placed(network(folder, "encoder"), "float16", "cpu")
