"""The folder of results: its manifest, its differences from a new run, and its final files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from gecjury.core.durable import lock, refuse_linked_folders, unwritable
from gecjury.core.errors import OutputError
from gecjury.core.records import read_record
from gecjury.datasets.files import CONVERTED
from gecjury.datasets.output import UNFINISHED, side_path, written
from gecjury.datasets.shards import Shard, ShardJob
from gecjury.scoring.result_folder import RESULTS, SIDES, Results, refuse_pipes
from gecjury.scoring.signature import Signature

MANIFEST = "dataset.json"
"""The manifest of a run: settings, columns and files; written before the first part."""


@dataclass(frozen=True)
class _Manifest:
    """The contents of the manifest.

    Attributes:
        format: format of the folder.
        job: the job, without the settings of a single run (where and how).
    """

    format: Literal["gecjury-dataset/1"]
    job: ShardJob


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Create the folder if needed, and lock it for this run.

    Raises:
        OutputError: it cannot be created, contains other files, or is used by another run.
        InputError: it contains a pipe or a device.
    """
    try:
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder}: is a file; results need a folder")
        folder.mkdir(parents=True, exist_ok=True)
        ours = {".lock", ".lock.lock", UNFINISHED, CONVERTED}
        names = {entry.name for entry in folder.iterdir()} - ours
        if names and MANIFEST not in names:
            raise OutputError(
                f"{folder}: contains other files ({', '.join(sorted(names)[:3])}), but no run of "
                "this kind; name a new folder"
            )
        refuse_pipes(folder)
        refuse_linked_folders(folder)
        # Never removed: one run might lock the removed file, and another one a new file.
        file = (folder / ".lock").open("ab")
    except OSError as error:
        raise unwritable(folder, error) from None
    with file:
        holder = lock(file)
        if holder is None:
            raise OutputError(f"{folder}: another run is writing there; wait until it has finished")
        with holder:
            try:
                yield
            finally:
                shutil.rmtree(folder / CONVERTED, ignore_errors=True)


def manifest_of(folder: Path) -> ShardJob | None:
    """Return the job that the folder was created for; None if the folder is new.

    Raises:
        InputError: its manifest cannot be read.
    """
    path = folder / MANIFEST
    if not path.exists():
        return None
    remedy = "name another folder, or delete this one"
    job = read_record(_Manifest, path, "the manifest of a run", remedy).job
    return replace(job, folder=str(folder))


def begin(job: ShardJob, old: ShardJob | None) -> None:
    """Write the manifest, or compare it with the existing one; delete unfinished files.

    Raises:
        OutputError: the folder was created with other settings or data; lists the differences.
    """
    folder = Path(job.folder)
    if old is not None:
        different = _differences(old, job)
        if different:
            shown = "\n".join(f"  {line}" for line in different[:10])
            raise OutputError(
                f"{folder}: was created with other settings or data; name a new folder, or use the "
                f"same again:\n{shown}"
            )
    shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
    if old is None:
        # The folder and the runtime may differ in every run.
        record = asdict(_Manifest("gecjury-dataset/1", replace(job, folder="", runtime={})))
        with written(folder, folder / MANIFEST) as file:
            file.write(json.dumps(record, indent=1).encode())


def _differences(old: ShardJob, new: ShardJob) -> list[str]:
    """Return the differences between two jobs, a line each."""
    names = {"id": "column of ids", "source": "column of sources", "keep": "`keep=`",
             "references": "column of references", "shard_rows": "shard_rows"}  # fmt: skip
    then, now = (
        {what: getattr(job, field) for field, what in names.items()}
        | {"columns of hypotheses": ", ".join(job.hypotheses.values())}
        | {"metrics": ", ".join(job.labels)}
        for job in (old, new)
    )
    lines = _changes(then, now)
    # If the metrics differ, the list shows it already, and their settings cannot be paired.
    if old.labels == new.labels:
        for label, one, two in zip(old.labels, old.signatures, new.signatures, strict=True):
            lines += [f"{label}: {line}" for line in _changes(_facts(one), _facts(two))]
    before, here = {f.path: f for f in old.files}, {f.path: f for f in new.files}
    for path in {**before, **here}:
        if path not in here or path not in before:
            lines.append(f"{path}: {'read then, not now' if path in before else 'not read then'}")
        elif (before[path].size, before[path].mark) != (here[path].size, here[path].mark):
            sizes = f"{before[path].size} bytes then, {here[path].size} now"
            lines.append(f"{path}: {sizes}; the content differs")
        elif before[path].changed != here[path].changed:
            lines.append(f"{path}: has been written again since")
    if not lines and list(before) != list(here):
        lines.append("the order of the files")
    return lines


def _changes(then: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    return [
        f"{what}: {then.get(what) or 'none'} then, {now.get(what) or 'none'} now"
        for what in {**then, **now}
        if then.get(what) != now.get(what)
    ]


def _facts(signature: Signature) -> dict[str, object]:
    """Return the parts of a signature that affect scores; the data are compared by file."""
    facts = {"version": signature.version, "references": signature.references}
    facts |= {**signature.settings, **signature.packages, **signature.extra}
    # The version of gecjury is left out: a change of scores changes the metric's version.
    return {name: value for name, value in facts.items() if name != "gecjury"}


def gather_bad_rows(job: ShardJob, shards: Sequence[Shard]) -> int:
    """Write the bad rows of all shards to one file, in the order of rows; return their number."""
    folder = Path(job.folder)
    parts = [side for s in shards if (side := side_path(job, s)).exists()]
    path = folder / "bad-rows.jsonl"
    if not parts:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        return 0
    count = 0
    with written(folder, path) as file:
        for part in parts:
            text = part.read_bytes()
            count += text.count(b"\n")
            file.write(text)
    return count


def write_results(job: ShardJob, results: Results) -> None:
    """Write the results of the run, which finishes the folder."""
    folder = Path(job.folder)
    with written(folder, folder / RESULTS) as file:
        file.write((json.dumps(asdict(results), indent=1, ensure_ascii=False) + "\n").encode())


def tidy(job: ShardJob) -> None:
    """Remove the files that a finished folder no longer needs."""
    folder = Path(job.folder)
    for unneeded in (UNFINISHED, SIDES):
        shutil.rmtree(folder / unneeded, ignore_errors=True)
