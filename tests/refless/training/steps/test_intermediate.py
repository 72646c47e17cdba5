"""Steps before the regression: the same weights from the same settings and data."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gecjury.core.runtime import Runtime
from gecjury.refless.data.pairs import Correction, token_edits
from gecjury.refless.training.recipe import TrainSettings
from gecjury.refless.training.steps.intermediate import IntermediateData, Step, run_intermediate
from tests import tiny


def corrections() -> list[Correction]:
    pairs = zip(tiny.sentences(30, 3), tiny.sentences(30, 4), strict=True)
    return [Correction(a, token_edits(a.split(), b.split())) for a, b in pairs]


@pytest.mark.slow
def test_the_weights_of_a_step_depend_only_on_its_seed(tmp_path: Path) -> None:
    start = str(tiny.encoder(tmp_path / "encoder"))
    found = []
    for before in (1, 2):
        torch.manual_seed(before)  # earlier draws in the process must not matter
        step = Step(
            kind="detection",
            start=start,
            folder=tmp_path / str(before),
            data=IntermediateData(corrections()),
            settings=TrainSettings(epochs=1, patience=0),
            runtime=Runtime(device="cpu"),
        )
        figures = run_intermediate(step)
        assert 0 <= figures["detection"] <= 1
        found.append((step.folder / "model" / "model.safetensors").read_bytes())
        # A finished step is not trained again.
        written = (step.folder / "model" / "model.safetensors").stat().st_mtime_ns
        assert run_intermediate(step) == figures
        assert (step.folder / "model" / "model.safetensors").stat().st_mtime_ns == written
    assert found[0] == found[1]
