"""The grid of hyperparameters: every combination is trained once and the best on dev is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.refless.data.annotations import ColumnMap, read_annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.training.grid import train_grid
from gecjury.refless.training.job import Job
from gecjury.refless.training.recipe import Recipe, TrainSettings
from tests import tiny

SMALL = {"max_length": (16, 32), "batch_size": (8,), "learning_rate": (1e-3,)}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    columns = ColumnMap.parse(tiny.COLUMNS[1::2])
    data = read_annotations(tiny.ratings(tmp_path / "r.tsv", 40), columns, aspects=["fluency"])
    return Job(
        data=data,
        split=split_by_source(data),
        recipe=Recipe(str(tiny.encoder(tmp_path / "encoder")), settings=TrainSettings(epochs=1)),
        folder=tmp_path / "some",
        runtime=Runtime(device="cpu"),
    )


@pytest.mark.slow
def test_combinations_are_trained_once_and_the_best_is_kept(job: Job) -> None:
    trials, report = train_grid(job, SMALL)
    assert [trial.max_length for trial in trials] == [16, 32]
    (chosen,) = [trial for trial in trials if trial.chosen]
    assert chosen.dev == max(trial.dev for trial in trials)
    best = job.folder / "grid" / f"length{chosen.max_length}-batch8-rate0.001"
    model = Path("fluency", "model.safetensors")
    assert (job.folder / model).read_bytes() == (best / model).read_bytes()
    assert json.loads((job.folder / "grid.json").read_text()) == [vars(trial) for trial in trials]
    trained = sorted((job.folder / "grid").rglob("model.safetensors"))
    times = [path.stat().st_mtime_ns for path in trained]
    assert train_grid(job, SMALL) == (trials, report)
    assert [path.stat().st_mtime_ns for path in trained] == times


def test_kernel_regression_has_no_grid(job: Job) -> None:
    with pytest.raises(OptionError, match="the grid is for fine-tuning"):
        train_grid(replace(job, recipe=replace(job.recipe, kernel=True)), SMALL)
