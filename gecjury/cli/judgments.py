"""`gecjury judgments`: stored replies of LLM judges as one file, and the judges' prompts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from gecjury.cli.parsers import CommandParser, add_actions, declares
from gecjury.cli.streams import print_data
from gecjury.errors import OptionError
from gecjury.settings import REQUIRED, option


@dataclass(frozen=True, kw_only=True)
class Replies:
    """Stored replies.

    Attributes:
        file: JSON lines.
    """

    file: str = option(REQUIRED, "FILE")


@dataclass(frozen=True, kw_only=True)
class Exported(Replies):
    """Stored replies of some stores.

    Attributes:
        stores: names from `list` (default: all).
    """

    stores: tuple[str, ...] = option((), "STORE")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A judge.

    Attributes:
        metric: a judge with its options, e.g. llm-s:protocol=pointwise.
    """

    metric: str = option(REQUIRED, "METRIC")


_ACTIONS = {
    "list": ("the stores in the cache folder", declares(needs=("cache",))),
    "export": ("write stores into one file", declares(Exported, needs=("cache",))),
    "import": ("add a file's replies to the stores", declares(Replies, needs=("cache",))),
    "prompt": ("print a judge's prompt, to start your own from (prompt=FILE)", declares(Asked)),
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """List, export or import stores, or print a prompt."""
    if args.action == "prompt":
        return _print_prompt(args.metric)
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


def _print_prompt(metric: str) -> int:
    from gecjury.judges.judge import Judge
    from gecjury.scoring.registry import load

    scorer = load(metric)
    if not isinstance(scorer, Judge):
        raise OptionError(f"{scorer.name} asks no model; name a judge: llm-s, llm-e, edit-verdict")
    print_data(scorer.wording_file)
    return 0
