"""A quick training of a SOME by both ways, for the tests that look at what it leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.training.job import Job
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.runtime import Runtime

RUNTIME = Runtime(device="cpu", use_cache=False)


def both_ways(data: Annotations, folder: Path, **changes: Any) -> Job:
    """Kernel regression and one epoch of fine-tuning, of the folder's `encoder` into its `some`."""
    usual = Recipe(
        encoder=str(folder / "encoder"),
        kernel=True,
        fine_tune=True,
        features=True,
        settings=TrainSettings(epochs=1, learning_rate=1e-3),
    )
    return Job(
        data=data,
        split=split_by_source(data),
        recipe=replace(usual, **changes),
        folder=folder / "some",
        runtime=RUNTIME,
    )
