"""Outcomes stored in a folder: all measurements take hours, and few machines are idle that long."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from speed.harness import ROOT, Options, Outcome, Run, from_json, to_json, words


def read_kept(name: str, folder: Path, options: Options | None = None) -> Outcome | None:
    """Return a stored outcome; None if there is none.

    Args:
        name: name of the measurement.
        folder: folder with one file per measurement.
        options: options that it must have been measured with; None for any.

    Raises:
        ValueError: it was measured with other options.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    if options is not None and record["options"] != (asked := " ".join(words(options))):
        raise ValueError(
            f"{path}: measured with {record['options'] or 'no options'}, but the requested "
            f"options are {asked or 'none'}: give the same, or another folder"
        )
    return from_json(record["outcome"])


def measure_once(name: str, options: Options, folder: Path, run: Run) -> Outcome:
    """Return a stored outcome, or measure and store it unless it failed or lacked something.

    Args:
        name: name of the measurement.
        options: must equal those of a stored outcome.
        folder: folder with one file per measurement, created if missing.
        run: runs one measurement.

    Raises:
        ValueError: the stored outcome was measured with other options.
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
    """Return the commit that is measured."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no commit"
    return f"commit {done.stdout.strip()}"
