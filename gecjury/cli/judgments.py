"""`gecjury judgments`: stored replies of LLM judges as one file, to replay them elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from gecjury.cli.parsers import CommandParser, add_actions

_ACTIONS = {
    "list": "the stores in the cache folder",
    "export": "write stores into one file",
    "import": "add a file's replies to the stores",
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, "action", "ACTION", _ACTIONS, _declare)


def _declare(parser: CommandParser) -> None:
    """Declare the arguments of an action."""
    action = parser.path.rpartition(" ")[2]
    parser.needs = ("cache",)
    if action != "list":
        parser.add_argument("file", metavar="FILE", help="JSON lines")
    if action == "export":
        parser.add_argument(
            "stores", nargs="*", metavar="STORE", help="names from `list` (default: all)"
        )


def run(args: argparse.Namespace) -> int:
    """List, export or import."""
    from gecjury.cli.inputs import runtime_from
    from gecjury.judges.asking.transfer import export_stores, import_stores, list_stores
    from gecjury.report.tables import print_table

    folder = runtime_from(args).cache_folder("judgments")
    columns = ["file", "replies"]
    if args.action == "list":
        rows = list_stores(folder)
        columns = ["store", "model", "prompt", "replies", "bytes"]
    elif args.action == "export":
        count = export_stores(folder, Path(args.file), args.stores)
        rows = [{"file": args.file, "replies": count}]
    else:
        added, present = import_stores(Path(args.file), folder)
        rows = [{"file": args.file, "added": added, "known": present}]
        columns = list(rows[0])
    print_table(columns, rows, args.format)
    return 0
