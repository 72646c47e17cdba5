"""`gecjury judgments`: stored replies of LLM judges, and the judges' prompts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.cli.parsers import CommandParser, add_actions, declares
from gecjury.cli.streams import print_data
from gecjury.core.durable import write_text
from gecjury.core.errors import OptionError
from gecjury.core.settings import REQUIRED, option


@dataclass(frozen=True, kw_only=True)
class RepliesFile:
    """Stored replies.

    Attributes:
        file: JSON lines.
    """

    file: str = option(REQUIRED, "FILE")


@dataclass(frozen=True, kw_only=True)
class Exported(RepliesFile):
    """Stored replies of some stores.

    Attributes:
        stores: names from `list` (default: all).
    """

    stores: tuple[str, ...] = option((), "STORE")


@dataclass(frozen=True, kw_only=True)
class ShownStores:
    """Stored replies on a page.

    Attributes:
        stores: files, folders, or names from `list`; a model's or a prompt's name selects all its
            stores (default: all of the cache folder).
        html: the page, with the first thousand replies.
    """

    stores: tuple[str, ...] = option((), "STORE")
    html: str = option(REQUIRED, "--html", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class JudgeOption:
    """A judge.

    Attributes:
        metric: a judge with its options, e.g. llm-s:protocol=pointwise.
    """

    metric: str = option(REQUIRED, "METRIC")


_ACTIONS = {
    "list": ("the stores in the cache folder", declares(needs=("cache",))),
    "export": ("write stores to one file", declares(Exported, needs=("cache",))),
    "show": ("write stored replies to a web page", declares(ShownStores, needs=("cache",))),
    "import": ("add a file's replies to the stores", declares(RepliesFile, needs=("cache",))),
    "prompt": (
        "print a judge's prompt, to start your own from (prompt=FILE)",
        declares(JudgeOption),
    ),
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """List, export, import or show stores, or print a prompt."""
    if args.action == "prompt":
        return _print_prompt(args.metric)
    from gecjury.cli.options import runtime_from
    from gecjury.judges.asking.transfer import export_stores, import_stores, list_stores
    from gecjury.report.tables import print_table

    folder = runtime_from(args).cache_folder("judgments")
    if args.action == "list":
        rows = list_stores(folder)
    elif args.action == "show":
        rows = [{"file": args.html, "shown": _show(args, folder)}]
    elif args.action == "export":
        count = export_stores(folder, Path(args.file), args.stores)
        rows = [{"file": args.file, "replies": count}]
    else:
        added, present = import_stores(Path(args.file), folder)
        rows = [{"file": args.file, "added": added, "known": present}]
    stores = ["store", "model", "prompt", "replies", "bytes"]
    print_table(stores if args.action == "list" else list(rows[0]), rows, args.format)
    return 0


def _show(args: argparse.Namespace, folder: Path) -> str:
    """Write the page, and return how many of the replies it shows."""
    from gecjury.judges.asking.items import review_of
    from gecjury.judges.asking.transfer import find_stores
    from gecjury.web.replies import MOST_SHOWN, replies_page

    review = review_of(find_stores(args.stores, folder), MOST_SHOWN)
    write_text(args.html, replies_page(review), follow=True)
    return f"{len(review.replies)} of {review.count} replies"


def _print_prompt(metric: str) -> int:
    from gecjury.judges.judge import Judge
    from gecjury.prompts import prompt_text
    from gecjury.scoring.registry import able, load

    scorer = load(metric)
    if not isinstance(scorer, Judge):
        judges = ", ".join(able(Judge))
        raise OptionError(f"{scorer.name} does not ask a model; name a judge: {judges}")
    # The file as it is packaged, whatever the options change.
    wording = replace(scorer, prompt=None).wording()
    print_data(prompt_text(wording.name, wording.version))
    return 0
