"""Whole runs as processes: killed at random moments, and two at once."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests import tiny

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
        for path in folder.rglob("model.safetensors")
    }


def test_killed_three_times_and_resumed_gives_the_same_bytes(tmp_path: Path) -> None:
    data, encoder = tiny.ratings(tmp_path / "r.tsv"), tiny.encoder(tmp_path / "encoder")
    subprocess.run(
        [sys.executable, *command(data, encoder, tmp_path / "whole")],
        check=True, env=environment(), cwd=tmp_path, capture_output=True,
    )  # fmt: skip
    rng = np.random.default_rng()
    killed = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, *command(data, encoder, tmp_path / "broken")],
            env=environment(), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # Kill by progress in the output, not by time, since the speed depends on the machine.
        seen = set((tmp_path / "broken").rglob("checkpoint-*"))
        while process.poll() is None:
            if set((tmp_path / "broken").rglob("checkpoint-*")) - seen:
                break
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.2))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            killed += 1
        process.wait()
    done = subprocess.run(
        [sys.executable, *command(data, encoder, tmp_path / "broken")],
        check=False, env=environment(), cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert killed, "every run ended before it was killed"
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
