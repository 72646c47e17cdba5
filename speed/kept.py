"""Outcomes kept in a folder: all measurements take hours, and few machines are idle so long."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from speed.harness import ROOT, Options, Outcome, Run, from_json, to_json, words

__all__ = ["measure_once", "read_kept"]


def read_kept(name: str, folder: Path, options: Options | None = None) -> Outcome | None:
    """An outcome that is kept; None if it is not.

    Args:
        name: of the measurement.
        folder: one file a measurement.
        options: what it has to have been made with; None for whatever it was.

    Raises:
        ValueError: it was made with other options.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    if options is not None and record["options"] != (asked := " ".join(words(options))):
        raise ValueError(
            f"{path}: made with {record['options'] or 'no options'}, asked for are "
            f"{asked or 'none'}: give the same, or another folder"
        )
    return from_json(record["outcome"])


def measure_once(name: str, options: Options, folder: Path, run: Run) -> Outcome:
    """An outcome that is kept, or made and kept unless it broke off or lacked something.

    Args:
        name: of the measurement.
        options: must be those of the outcome that is kept.
        folder: one file a measurement, made if missing.
        run: makes one measurement.

    Raises:
        ValueError: what is kept was made with other options.
    """
    there = read_kept(name, folder, options)
    if there is not None:
        return there
    start = time.perf_counter()
    outcome = run(name, options)
    if outcome.lacking or outcome.error:
        return outcome
    minutes = (time.perf_counter() - start) / 60
    day = time.strftime("%Y-%m-%d", time.gmtime())
    outcome = replace(outcome, made=f"{_commit()}, {day}, {minutes:.1f} minutes")
    folder.mkdir(parents=True, exist_ok=True)
    record = {"options": " ".join(words(options)), "outcome": to_json(outcome)}
    (folder / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    return outcome


def _commit() -> str:
    """Which tree is measured."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return f"commit {done.stdout.strip()}"
