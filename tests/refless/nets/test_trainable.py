"""Heads and layers of common architectures, and memory savings that change no weight."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.nets.regressor import load_model
from gecjury.refless.nets.trainable import (
    encoder_layers,
    freeze_lowest,
    output_layer,
)
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import some_job

KINDS = ("bert", "roberta", "electra", "mpnet", "distilbert")
RUNTIME = Runtime(device="cpu", use_cache=False)
QUICK = TrainSettings(epochs=1, learning_rate=1e-3, train_batch=8)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("encoders")
    return {kind: str(tiny.encoder_of(kind, folder / kind)) for kind in KINDS}


def rated(count: int = 30) -> Annotations:
    ratings = 2.5 + np.random.default_rng(1).normal(size=(count, 2)) / 100
    texts = tuple(tiny.sentences(count, 7)), tuple(tiny.sentences(count, 8))
    return Annotations(("grammaticality", "meaning"), *texts, ratings)


def job(encoder: str, folder: Path, **changes: Any) -> JobSettings:
    data = rated()
    settings = replace(QUICK, **changes)
    return some_job(data, Recipe(encoder, shared=True, settings=settings), folder)


def test_a_head_starts_at_the_mean(encoders: dict[str, str], tmp_path: Path) -> None:
    # Nothing is learnt at this rate, so the outputs are those before training.
    train_some(job(encoders["mpnet"], tmp_path / "some", learning_rate=1e-12, freeze_layers=1))
    texts = tiny.sentences(6, 3)
    found = open_bundle(str(tmp_path / "some")).predict(texts, (texts, texts), RUNTIME)
    for aspect in ("grammaticality", "meaning"):
        assert found[aspect] == pytest.approx(np.full(6, 2.5), abs=0.6)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_layers_stay_fixed_and_the_rest_learns(kind: str, encoders: dict[str, str]) -> None:
    model = load_model(encoders[kind], ("grammaticality", "meaning"))
    assert output_layer(model).out_features == 2
    freeze_lowest(model, 1)
    lower, upper = encoder_layers(model)
    assert not any(p.requires_grad for p in lower.parameters())
    assert all(p.requires_grad for p in upper.parameters())
    assert output_layer(model).weight.requires_grad
    # The inputs of the lowest layers need no gradient. Otherwise backpropagation would run through
    # those layers to reach them.
    ids = torch.tensor([[2, 5, 6, 3]])
    lower.register_forward_hook(lambda _, __, out: seen.append(out))
    seen: list[Any] = []
    model(input_ids=ids)
    (states,) = [out[0] if isinstance(out, tuple) else out for out in seen]
    assert not states.requires_grad


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow
def test_gradient_checkpointing_changes_no_weight(encoders: dict[str, str], tmp_path: Path) -> None:
    for kind in ("mpnet", "bert"):
        train_some(job(encoders[kind], tmp_path / f"{kind}-plain"))
        train_some(job(encoders[kind], tmp_path / f"{kind}-again", gradient_checkpointing=True))
        assert weights(tmp_path / f"{kind}-plain") == weights(tmp_path / f"{kind}-again")
        # It counts as the same run, so that a run out of memory can resume with checkpointing.
        train_some(job(encoders[kind], tmp_path / f"{kind}-plain", gradient_checkpointing=True))


@pytest.mark.slow
def test_gradient_checkpointing_recomputes_layers(
    encoders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.models.mpnet import modeling_mpnet

    calls = {"inner": 0}
    whole = modeling_mpnet.MPNetLayer.forward

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls["inner"] += torch.is_grad_enabled()
        return whole(self, *args, **kwargs)

    monkeypatch.setattr(modeling_mpnet.MPNetLayer, "forward", counted)
    train_some(job(encoders["mpnet"], tmp_path / "plain"))
    plain = calls.pop("inner")
    calls["inner"] = 0
    train_some(job(encoders["mpnet"], tmp_path / "again", gradient_checkpointing=True))
    assert calls["inner"] == 2 * plain


def test_frozen_layers_are_saved_as_they_were(encoders: dict[str, str], tmp_path: Path) -> None:
    from safetensors.torch import load_file

    before = load_file(Path(encoders["mpnet"]) / "model.safetensors")
    train_some(job(encoders["mpnet"], tmp_path / "some", freeze_layers=1))
    after = load_file(tmp_path / "some" / "model.safetensors")
    changed = {
        name
        for name, value in before.items()
        if name.startswith(("embeddings", "encoder"))
        and not torch.equal(value, after[f"mpnet.{name}"])
    }
    assert changed
    assert all(name.startswith("encoder.layer.1.") for name in changed)


def test_layer_options_out_of_range_are_refused(encoders: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"`freeze_layers=3`: this mpnet encoder has 2 layers"):
        train_some(job(encoders["mpnet"], tmp_path / "some", freeze_layers=3))
    assert not (tmp_path / "some").exists()
    with pytest.raises(OptionError, match="`freeze_layers=-1`"):
        replace(QUICK, freeze_layers=-1)
