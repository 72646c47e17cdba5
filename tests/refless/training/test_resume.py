"""Resumed trainings equal unbroken ones; whole runs as processes, killed, and two at once."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.runtime import Bar, Progress, Runtime
from gecjury.models import encoder as encoders
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.training.impara import RankerJob, RankerRecipe, train_impara
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.test_impara import corrections
from tests.refless.training.jobs import some_job, watched

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}


def command(data: Path, encoder: Path, output: Path) -> list[str]:
    return [
        "-m", "gecjury", "train", "some", str(data), "-o", str(output), "--encoder", str(encoder),
        "--epochs", "3", "--train-batch", "4", "--learning-rate", "1e-3",
        "--device", "cpu", "--quiet", "--leakage", "none", *tiny.COLUMNS,
    ]  # fmt: skip


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*.safetensors")
    }


def small_job(kind: str, folder: Path, encoder: str) -> TrainingJob:
    """A training with patience, on random ratings: the dev score soon stops to rise."""
    settings = TrainSettings(epochs=6, learning_rate=1e-3, patience=1, train_batch=8)
    if kind == "impara":
        return RankerJob(
            corrections=corrections(), folder=folder, runtime=Runtime(device="cpu"),
            recipe=RankerRecipe(encoder, settings=settings, pairs=160),
        )  # fmt: skip
    ratings = np.random.default_rng(1).integers(1, 5, (60, 2)).astype(float)
    texts = tuple(tiny.sentences(60, 7)), tuple(tiny.sentences(60, 8))
    data = Annotations(("fluency", "meaning"), *texts, ratings)
    ways = {"some": {}, "kernel": {"kernel": True}, "both": {"kernel": True, "fine_tune": True}}
    return some_job(data, Recipe(encoder=encoder, settings=settings, **ways[kind]), folder)


@pytest.mark.parametrize("kind", ["some", "both", "impara"])
def test_a_training_killed_at_every_checkpoint_gives_the_same_model(
    kind: str, tmp_path: Path
) -> None:
    encoder = str(tiny.encoder(tmp_path / "encoder"))
    train: Any = train_impara if kind == "impara" else train_some
    whole = train(small_job(kind, tmp_path / "whole", encoder))
    broken = small_job(kind, tmp_path / "broken", encoder)

    def kill(history: object) -> None:
        raise RuntimeError("killed")

    killed = 0
    for _ in range(20):
        try:
            with watched(kill):
                resumed = train(broken)
            break
        except RuntimeError as error:
            assert str(error) == "killed"  # noqa: PT017  # how often it ends so is not known
            killed += 1
    assert killed > 1
    assert resumed == whole
    assert hashes(tmp_path / "broken") == hashes(tmp_path / "whole")


def test_an_interrupted_kernel_regression_reads_only_the_other_texts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = str(tiny.encoder(tmp_path / "encoder"))
    read: list[int] = []

    class Counting(Bar):
        def __init__(self, interrupted: bool) -> None:
            self.interrupted = interrupted

        def advance(self, steps: float = 1) -> None:
            read.append(int(steps))
            if self.interrupted and len(read) == 5:
                raise KeyboardInterrupt

    def train(folder: str, *, interrupted: bool = False) -> int:
        class Watched(Progress):
            @contextmanager
            def task(self, description: str, total: float | None = None) -> Iterator[Bar]:
                yield Counting(interrupted) if "encoding" in description else Bar()

        read.clear()
        encoders.forget()
        runtime = Runtime(device="cpu", cache=tmp_path / folder / "cache", progress=Watched())
        job = small_job("kernel", tmp_path / folder / "some", encoder)
        try:
            train_some(replace(job, runtime=runtime))
        except KeyboardInterrupt:
            assert interrupted
        return sum(read)

    every = train("whole")
    before = train("broken", interrupted=True)
    assert 0 < before < every
    # The batch during which it was interrupted had been read.
    assert train("broken") == every - before
    assert hashes(tmp_path / "broken") == hashes(tmp_path / "whole")


def test_killed_and_resumed_gives_the_same_bytes(tmp_path: Path) -> None:
    data, encoder = tiny.ratings(tmp_path / "r.tsv"), tiny.encoder(tmp_path / "encoder")
    subprocess.run(
        [sys.executable, *command(data, encoder, tmp_path / "whole")],
        check=True, env=environment(), cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, *command(data, encoder, tmp_path / "broken")],
        env=environment(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    # Kill by progress in the output, not by time, since the speed depends on the machine.
    while process.poll() is None and not list((tmp_path / "broken").rglob("checkpoint-*")):
        time.sleep(0.01)
    time.sleep(np.random.default_rng().uniform(0, 0.2))
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run ended before it was killed"
    done = subprocess.run(
        [sys.executable, *command(data, encoder, tmp_path / "broken")],
        check=False, env=environment(), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = hashes(tmp_path / "whole")
    assert set(expected) == {
        f"{aspect}/model.safetensors" for aspect in ("grammaticality", "fluency", "meaning")
    }
    assert hashes(tmp_path / "broken") == expected


def test_two_processes_train_one_model(tmp_path: Path) -> None:
    data, encoder = tiny.ratings(tmp_path / "r.tsv", 60), tiny.encoder(tmp_path / "encoder")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [sys.executable, *launcher, *command(data, encoder, tmp_path / "out"), "--shared"],
        check=False, env=environment(), cwd=tmp_path, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # Only one process prints, and one folder is written.
    assert done.stdout.count("grammaticality") == 2
    assert (tmp_path / "out" / "gecjury.json").exists()
    assert not (tmp_path / "out" / "checkpoints").exists()
