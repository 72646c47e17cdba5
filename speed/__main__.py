"""The common command of all measurements.

    python -m speed                                            # lists them
    python -m speed NAME [--data DIR] [--peer-venv DIR]        # measures, prints its table
    python -m speed all [--data DIR] [--peer-venv DIR]         # one table of all, as Markdown
    python -m speed all --kept DIR                             # the same in pieces: outcomes in DIR
                                                               # are used, the others measured
    python -m speed table --kept DIR                           # the table of the outcomes in DIR
    python -m speed peer --peer-venv DIR                       # creates the peer's environment

The exit status is 1 if a target was missed or a measurement failed. Measurements whose data, peer
or packages are missing are marked in the table.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from speed.harness import (
    SCRIPTS,
    Options,
    Outcome,
    Run,
    listing,
    run_apart,
    run_here,
    table,
    to_json,
)
from speed.kept import measure_once, read_kept


def main(argv: Sequence[str] | None = None, run: Run = run_apart) -> int:
    """List the measurements, or run and print them; `run` runs one measurement."""
    parser = argparse.ArgumentParser(
        prog="python -m speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", nargs="?", choices=(*SCRIPTS, "all", "table", "peer"), metavar="NAME"
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("GECJURY_DATA"),
        metavar="DIR",
        help="folder with SEEDA/ and conll14/ (default: $GECJURY_DATA)",
    )
    parser.add_argument(
        "--peer-venv", type=Path, metavar="DIR", help="the peer's environment, created if missing"
    )
    parser.add_argument("--scores", type=Path, metavar="DIR", help="score files, kept and reused")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, for a trial; the figures are meaningless",
    )
    for name, what in (
        ("mpnet", "MPNet-base"),
        ("smollm2", "SmolLM2-135M-Instruct"),
        ("some", "a SOME trained with --kernel on MPNet"),
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help=f"folder of {what}")
    parser.add_argument(
        "--kept", type=Path, metavar="DIR", help="stored outcomes, used instead of measuring again"
    )
    parser.add_argument("--result", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    options = Options(
        args.data, args.peer_venv, args.scores, args.quick, args.mpnet, args.smollm2, args.some
    )
    if args.name is None:
        print(listing())
        return 0
    if args.name == "peer":
        return _make_peer(parser, options)
    if args.result is not None:
        with contextlib.redirect_stdout(sys.stderr):
            outcome = run_here(args.name, options)
        args.result.write_text(to_json(outcome), encoding="utf-8")
        return 0
    if args.name == "table":
        return _tell_kept(parser, args.kept)
    outcomes = []
    for name in SCRIPTS if args.name == "all" else [args.name]:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        if args.kept is None:
            outcomes.append(run(name, options))
            continue
        try:
            outcomes.append(measure_once(name, options, args.kept, run))
        except ValueError as error:
            parser.error(str(error))
    print(table(outcomes))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _tell_kept(parser: argparse.ArgumentParser, folder: Path | None) -> int:
    if folder is None or not folder.is_dir():
        parser.error("table: name the folder of outcomes with --kept DIR")
    outcomes = [
        read_kept(name, folder) or Outcome(name, lacking="not among the stored outcomes")
        for name in SCRIPTS
    ]
    print(table(outcomes))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _make_peer(parser: argparse.ArgumentParser, options: Options) -> int:
    from speed.peer import peer_python, peer_versions

    if options.peer_venv is None:
        parser.error("peer: name the folder of its environment with --peer-venv DIR")
    for name, version in peer_versions(peer_python(options.peer_venv)).items():
        print(name, version)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
