"""A quick training of a SOME in both ways, and a look at trainings while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.runtime import Runtime
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.refless.training.watching import Watch

RUNTIME = Runtime(device="cpu", use_cache=False)


def some_job(data: Annotations, recipe: Recipe, folder: Path, **more: Any) -> JobSettings:
    """Return the training of a SOME on the CPU, with a split by source."""
    return JobSettings(
        data=data,
        split=split_by_source(data),
        recipe=recipe,
        folder=folder,
        runtime=RUNTIME,
        **more,
    )


@contextmanager
def watched(seen: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """Call a function with the history of a training whenever it has been written."""
    note = Watch.note

    def noted(watch: Watch, model: str, log: Sequence[Mapping[str, float]]) -> None:
        note(watch, model, log)
        seen(watch.content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "note", noted)
        yield


def both_ways(data: Annotations, folder: Path, **changes: Any) -> JobSettings:
    """Train the folder's `encoder` into `some`: kernel regression and one epoch of fine-tuning."""
    usual = Recipe(
        encoder=str(folder / "encoder"),
        kernel=True,
        fine_tune=True,
        features=True,
        settings=TrainSettings(epochs=1, learning_rate=1e-3),
    )
    return some_job(data, replace(usual, **changes), folder / "some")
