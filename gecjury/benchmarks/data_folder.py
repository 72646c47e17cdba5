"""Folders of benchmark data: a given folder, or the user's cache, which is filled by downloads.

The package's `manifest.tsv` lists every file with its repository, commit and SHA-256. The data
folder is laid out like the manifest. It is the argument (`--data`), else `$GECJURY_DATA`, else the
user's cache, which is filled from the pinned commits when files are needed. Files of a given folder
are only read: an altered file is an error and is not downloaded again.
"""

from __future__ import annotations

import functools
import importlib.resources
import os
import stat
import sys
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NoReturn

from gecjury.benchmarks.download import Download, Unreachable, download_all, sha256_of
from gecjury.core.errors import DataError, OptionError, nearest_of
from gecjury.core.runtime import Runtime
from gecjury.core.wording import visible

BASE_URL = "https://raw.githubusercontent.com"

Origin = Literal["--data", "$GECJURY_DATA", "cache"]
FileState = Literal["present", "missing", "altered"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """One row of the manifest.

    Attributes:
        path: path in a data folder, with `/`.
        repo: `owner/name` of the repository it comes from.
        commit: the pinned commit.
        upstream_path: its path in the repository; empty if it was put together from several files
            and so cannot be fetched.
        sha256: hexadecimal checksum.
        size: bytes.
        licence: the terms of the upstream repository, or the paper to cite.
    """

    path: str
    repo: str
    commit: str
    upstream_path: str
    sha256: str
    size: int
    licence: str

    def url(self, base: str = BASE_URL) -> str:
        """Return the address of the file below a base URL."""
        parts = f"{self.repo}/{self.commit}/{self.upstream_path}"
        return f"{base.rstrip('/')}/{urllib.parse.quote(parts)}"


DATASETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "seeda": ("SEEDA/", "conll14/", "reassess-gec/"),
        "gjg15": ("GJG15/", "conll14/", "reassess-gec/"),
        "gmeg-dev-fce": ("GMEG/README.md", "GMEG/data/dev/fce"),
        "gmeg-dev-wiki": ("GMEG/README.md", "GMEG/data/dev/wiki"),
        "gmeg-dev-yahoo": ("GMEG/README.md", "GMEG/data/dev/yahoo"),
        "gmeg-test-wiki": ("GMEG/README.md", "GMEG/data/test/wiki"),
        "jfleg": ("jfleg/", "gug-data/"),
        "tmu-gfm": ("TMU-GFM-Dataset/",),
        "swedish-oestling": ("gec-evaluation/",),
        "autojqe": ("autoJQE/",),
        "cgec-zh": ("RevisitCGEC/", "MuCGEC/LICENSE", "MuCGEC/data/", "CCL2022-CLTC/"),
        "aqua-en": ("AQUA/data/eval/gold_en.csv",),
        "aqua-uk": ("AQUA/data/eval/gold_ua.csv",),
        "pevdata": ("JELV/",),
        "geccc": ("GECCC/",),
        "gug": ("gug-data/",),
        "conll14-errant": ("conll14-errant/",),
        "en-ewt": ("ud/en_ewt/",),
        "multiged-2023": ("multiged-2023/",),
    }
)
"""The sets that are fetched by name, each with the prefixes of its paths."""


@functools.lru_cache(maxsize=4)
def manifest(table: Path | None = None) -> Mapping[str, DataFile]:
    """Return the pinned files by path.

    Args:
        table: another table with the same columns, e.g. of a mirror's own files; the package's
            `manifest.tsv` by default.
    """
    source = (
        importlib.resources.files("gecjury.benchmarks") / "manifest.tsv" if table is None else table
    )
    rows = (line.split("\t") for line in source.read_text(encoding="utf-8").splitlines()[1:])
    return MappingProxyType(
        {
            path: DataFile(path, repo, commit, upstream, digest, int(size), licence)
            for path, repo, commit, upstream, digest, size, licence in rows
        }
    )


def dataset_files(name: str) -> tuple[DataFile, ...]:
    """Return the files of a named set.

    Args:
        name: one of `DATASETS`, or a top-level folder of the data ("SEEDA").

    Raises:
        OptionError: the name is unknown; the message suggests the nearest ones.
    """
    folders = {path.partition("/")[0] for path in manifest()}
    if name in DATASETS:
        starts = DATASETS[name]
    elif name in folders:
        starts = (f"{name}/",)
    else:
        raise OptionError(f"no data set is called {name!r}: {nearest_of(name, tuple(DATASETS))}")
    return tuple(file for path, file in manifest().items() if path.startswith(starts))


def own_folder(name: str) -> str:
    """Return the folder, below a data folder, that belongs only to a named set.

    Raises:
        OptionError: the name is unknown.
    """
    if name not in DATASETS:
        return dataset_files(name)[0].path.partition("/")[0]
    # The domains of GMEG share a README, which comes first; others list their own folder first.
    start = DATASETS[name][-1] if name.startswith("gmeg-") else DATASETS[name][0]
    return start.rstrip("/") if start.endswith("/") else start.rpartition("/")[0]


def open_data(
    data: str | Path | None = None,
    *,
    cache: str | Path | None = None,
    table: Path | None = None,
    quiet: bool = False,
) -> DataFolder:
    """Return the folder that data is read from.

    Missing files of the cache are downloaded from `$GECJURY_DATA_URL`, by default GitHub.

    Args:
        data: a folder laid out like the manifest; default `$GECJURY_DATA`, then the cache.
        cache: the cache folder instead of the user's; files go into `data` in it.
        table: as in `manifest`.
        quiet: show no progress bars for downloads.

    Raises:
        DataError: the given folder does not exist.
        OptionError: the URL is not http or https.
    """
    base = os.environ.get("GECJURY_DATA_URL") or BASE_URL
    if not base.startswith(("http://", "https://")):
        raise OptionError(f"data URL {base!r}: expected one that begins with https:// or http://")
    origin: Origin
    if data:
        origin, root = "--data", Path(data)
    elif os.environ.get("GECJURY_DATA"):
        origin, root = "$GECJURY_DATA", Path(os.environ["GECJURY_DATA"])
    else:
        # The option takes precedence over the variable, and the variable over the usual place.
        named = cache or os.environ.get("GECJURY_CACHE")
        place = Runtime(cache=Path(named) if named else None).cache_folder("data")
        return DataFolder(place, "cache", base, manifest(table), quiet)
    if not root.is_dir():
        raise DataError(
            f"{root}: no such folder (from {origin}); "
            "name a folder laid out like the data manifest (SEEDA/, conll14/, ...)"
        )
    return DataFolder(root, origin, base, manifest(table), quiet)


@dataclass(frozen=True)
class DataFolder:
    """A folder of pinned files.

    Attributes:
        root: the folder; the cache may not exist yet.
        origin: the option or variable that named it.
        base_url: base of the addresses of missing files of the cache.
        files: the pinned files by path.
        quiet: True if downloads show no progress bars.
    """

    root: Path
    origin: Origin
    base_url: str = BASE_URL
    files: Mapping[str, DataFile] = field(default_factory=manifest, repr=False)
    quiet: bool = field(default=False, repr=False, compare=False)

    def path(self, name: str) -> Path:
        """Return the path of one file, verified as in `paths`."""
        return self.paths([name])[name]

    def paths(self, names: Iterable[str], *, wanted_by: str = "all") -> dict[str, Path]:
        """Return the paths of verified files, by manifest path.

        Missing files of the cache are fetched, several at a time; an altered file of the cache
        is downloaded again. Each file is verified once per process.

        Args:
            names: manifest paths.
            wanted_by: the data set that a message tells the user to fetch.

        Raises:
            DataError: a file is missing and cannot be fetched, or was altered.
            KeyError: a name is not in the manifest.
        """
        files = [self.files[name] for name in names]
        if self.origin == "cache":
            self.fetch(files, wanted_by=wanted_by)
        for file in files:
            if (state := self.state(file)) != "present":
                self._refuse(file, state, wanted_by)
        return {file.path: self.root / file.path for file in files}

    def state(self, file: DataFile) -> FileState:
        """Return whether a file is there and has the pinned checksum."""
        path = self.root / file.path
        try:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{path}: is not a file; move it away and fetch the data again")
            right = status.st_size == file.size and (
                _digest(path, status.st_mtime_ns, status.st_size) == file.sha256
            )
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        except OSError as error:
            raise DataError(
                f"{path}: cannot be read ({error.strerror}); check its rights"
            ) from None
        return "present" if right else "altered"

    def fetch(
        self, files: Sequence[DataFile], *, wanted_by: str = "all", backoff: float = 0.5
    ) -> int:
        """Download the files that are missing here.

        Args:
            files: the files wanted; those present are left alone.
            wanted_by: the data set that a message tells the user to fetch.
            backoff: seconds before the second attempt of a file, doubled for each further one.

        Returns:
            The number of files fetched.

        Raises:
            DataError: no network, a wrong checksum, a file that cannot be fetched, or an altered
                file of a folder that is not the cache.
        """
        # Each state is computed once, since it may need the checksum of a large file.
        states = {file.path: self.state(file) for file in files}
        wanted = [file for file in files if states[file.path] != "present"]
        for file in wanted:
            altered = states[file.path] == "altered"
            if not file.upstream_path or (altered and self.origin != "cache"):
                self._refuse(file, states[file.path], wanted_by)
            if altered:
                (self.root / file.path).unlink()
        if not wanted:
            return 0
        size = sum(file.size for file in wanted)
        # Like everything that is not a result, a note goes to stderr.
        note = f"fetching {len(wanted)} files ({size / 1e6:.1f} MB) from {self.base_url}"
        sys.stderr.write(f"gecjury: {visible(f'{note} into {self.root}')}\n")
        downloads = [
            Download(f.path, f.url(self.base_url), self.root / f.path, f.sha256, f.size)
            for f in wanted
        ]
        try:
            download_all(downloads, backoff=backoff, quiet=self.quiet)
        except Unreachable as error:
            raise Unreachable(f"{error}. {_advice(wanted_by)}") from None
        return len(wanted)

    def _refuse(self, file: DataFile, state: FileState, wanted_by: str) -> NoReturn:
        path = self.root / file.path
        if state == "altered":
            raise DataError(
                f"{path}: altered: expected sha256 {file.sha256} ({file.size} bytes), got "
                f"{sha256_of(path)} ({path.stat().st_size} bytes); restore the file, or delete it "
                f"and run `gecjury data fetch {wanted_by}`"
            )
        if not file.upstream_path:
            raise DataError(
                f"{file.path} is not in {self.root} and cannot be fetched: it was put together "
                f"from files of {file.repo}; put it there by hand (sha256 {file.sha256})"
            )
        raise DataError(
            f"{file.path} is not in {self.root} (from {self.origin}). {_advice(wanted_by)}"
        )


def _advice(name: str) -> str:
    return (
        "Name a folder that contains the data with --data DIR, or set GECJURY_DATA to one, or run "
        f"`gecjury data fetch {name}` on a machine with network access"
    )


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, changed: int, size: int) -> str:
    """Return SHA-256 of a file, computed once as long as its time stamp and size stay the same."""
    return sha256_of(path)
