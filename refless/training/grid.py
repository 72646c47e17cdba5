"""The paper's hyperparameter grid as one resumable run."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.core.errors import OptionError
from gecjury.core.textfiles import write_text
from gecjury.refless.nets.regressor import output_errors
from gecjury.refless.training.evaluation import Report
from gecjury.refless.training.job import Job
from gecjury.refless.training.some import train_some
from gecjury.refless.training.trainer import is_main_process, wait_for_all

GRID: Mapping[str, tuple[float, ...]] = {
    "max_length": (128, 256),
    "batch_size": (8, 16),
    "learning_rate": (2e-5, 3e-5, 5e-5),
}
"""Yoshimura et al. (2020); epochs 1 to 10 are tried within each run by keeping the best."""


@dataclass(frozen=True)
class GridTrial:
    """One aspect in one run: Spearman on dev, which decides the choice, and on test."""

    aspect: str
    max_length: int
    batch_size: int
    learning_rate: float
    epochs: int
    dev: float
    test: float
    chosen: bool = False


def train_grid(
    job: Job, grid: Mapping[str, Sequence[float]] = GRID
) -> tuple[list[GridTrial], Report]:
    """Train every combination and copy the one with the best mean dev Spearman into the folder.

    Combinations are trained in the subfolder `grid`; those that are finished are not run again.

    Args:
        job: the training; settings of its recipe that are in the grid are replaced.
        grid: values to combine, by setting.

    Returns:
        One entry per combination and aspect, with the chosen ones marked; and the report of the
        chosen combination.
    """
    if job.recipe.kernel:
        raise OptionError("the grid is for fine-tuning; kernel regression chooses its own settings")
    runs: list[tuple[float, Path, Report, list[GridTrial]]] = []
    # Epochs are not an axis of the grid: each run keeps its best epoch.
    for max_length, batch, rate in itertools.product(*(grid[key] for key in GRID)):
        settings = replace(
            job.recipe.settings,
            max_length=int(max_length),
            train_batch=int(batch),
            learning_rate=float(rate),
        )
        # One folder per combination, so that each can be resumed and recognised as finished.
        place = job.folder / "grid" / f"length{max_length}-batch{batch}-rate{rate:g}"
        recipe = replace(job.recipe, settings=settings)
        report = train_some(replace(job, recipe=recipe, folder=place))
        epochs = max((int(m["epochs"]) for m in report.trained.values()), default=0)
        trials = []
        for aspect, dev in report.figures.get("dev", {}).items():
            reached = dev["spearman"], report.figures["test"][aspect]["spearman"]
            axes = settings.max_length, settings.train_batch, settings.learning_rate
            trials.append(GridTrial(aspect, *axes, epochs, *reached))
        mean = sum(trial.dev for trial in trials) / max(len(trials), 1)
        runs.append((mean, place, report, trials))
    # Chosen by the dev score alone; the figures on test have no influence.
    _, chosen, best, _ = max(runs, key=lambda entry: entry[0])
    rows = [replace(t, chosen=one is best) for _, _, one, trials in runs for t in trials]
    if is_main_process():
        with output_errors(job.folder):
            shutil.copytree(chosen, job.folder, dirs_exist_ok=True)
        write_text(job.folder / "grid.json", json.dumps([vars(row) for row in rows], indent=1))
    wait_for_all()
    return rows, best
