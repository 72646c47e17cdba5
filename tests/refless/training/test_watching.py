"""Curves of trainings: they survive kills, are reported live and hold no text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.refless.training.some import train_some
from gecjury.refless.training.watching import HISTORY_FILE, Watch
from tests import tiny
from tests.refless.training.jobs import watched

LOG = [
    {"loss": 2.0, "learning_rate": 0.1, "epoch": 0.5, "step": 10, "grad_norm": 1.0},
    {"eval_score": 0.2, "eval_fluency": 0.2, "epoch": 1.0, "step": 20},
    {"eval_score": 0.4, "eval_fluency": 0.4, "epoch": 2.0, "step": 40},
    {"eval_score": 0.3, "eval_fluency": 0.3, "epoch": 3.0, "step": 60},
    {"train_runtime": 3.0, "step": 60},
]


def test_a_history_keeps_losses_dev_figures_and_the_best_epoch(tmp_path: Path) -> None:
    history = Watch(tmp_path / HISTORY_FILE)
    history.note("seed-0", LOG[:2])
    history.note("seed-0", LOG)
    # A resumed run appends to the history of the killed one.
    again = Watch(tmp_path / HISTORY_FILE)
    again.note("seed-1", LOG[:2])
    found = json.loads((tmp_path / HISTORY_FILE).read_text())
    assert found["models"]["seed-0"] == {
        "losses": [{"step": 10.0, "epoch": 0.5, "loss": 2.0, "learning_rate": 0.1}],
        "dev": [
            {"score": score, "fluency": score, "epoch": float(epoch), "step": 20 * epoch}
            for epoch, score in ((1, 0.2), (2, 0.4), (3, 0.3))
        ],
        "best": 2.0,
    }
    assert found["models"]["seed-1"]["best"] == 1.0


@pytest.mark.parametrize("text", ["[]", '{"models": 3}', "{"])
def test_a_damaged_history_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / HISTORY_FILE).write_text(text)
    with pytest.raises(InputError, match=HISTORY_FILE):
        Watch(tmp_path / HISTORY_FILE)


@pytest.fixture
def job(tmp_path: Path) -> JobSettings:
    ratings = np.random.default_rng(1).integers(1, 5, (60, 2)).astype(float)
    texts = tuple(tiny.sentences(60, 7)), tuple(tiny.sentences(60, 8))
    data = Annotations(("fluency", "meaning"), *texts, ratings)
    recipe = Recipe(
        str(tiny.encoder(tmp_path / "encoder")), shared=True,
        settings=TrainSettings(epochs=3, patience=0, train_batch=4),
    )  # fmt: skip
    return JobSettings(
        data=data,
        split=split_by_source(data),
        recipe=recipe,
        folder=tmp_path / "some",
        runtime=Runtime(device="cpu", use_cache=False),
    )


@pytest.mark.slow
def test_a_killed_training_keeps_curves(job: JobSettings) -> None:
    seen: list[int] = []

    def killed(history: Any) -> None:
        seen.append(len(history["models"]["shared"]["dev"]))
        if len(seen) == 2:
            raise RuntimeError("killed")

    with watched(killed), pytest.raises(RuntimeError, match="killed"):
        train_some(job)
    assert seen == [1, 2]
    with watched(killed):
        train_some(job)
    assert seen == [1, 2, 3]
    history = json.loads((job.folder / HISTORY_FILE).read_text())["models"]["shared"]
    assert [entry["epoch"] for entry in history["dev"]] == [1.0, 2.0, 3.0]
    assert set(history["dev"][0]) == {"epoch", "step", "score", "fluency", "meaning"}
    assert len(history["losses"]) == len({entry["step"] for entry in history["losses"]}) > 2


@pytest.mark.slow
def test_an_interrupt_reports_what_is_kept_and_the_next_run_where_it_resumes(
    job: JobSettings,
) -> None:
    job = replace(job, recipe=replace(job.recipe, shared=False))
    first, second = "fluency, model 1 of 2: training", "meaning, model 2 of 2: training"

    def stop(history: Any) -> None:
        if "meaning" in history["models"]:
            raise KeyboardInterrupt

    # 48 rows in batches of 4, three times.
    saved = f"{second} is saved up to step 12 of 36. Run the same command"
    with watched(stop), pytest.raises(KeyboardInterrupt, match=saved):
        train_some(job)
    lines: list[str] = []
    train_some(replace(job, runtime=replace(job.runtime, tell=lines.append)))
    assert lines == [
        f"{first.removesuffix(': training')}: already trained by an earlier run",
        f"{second} resumes after step 12 of 36",
    ]
