"""Arguments that commands share, and how they are read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.core.runtime import Runtime
    from gecjury.scoring.scores import Plan


def check_page(path: str) -> None:
    """Check that a page can be written before any work is done; keep an existing file.

    Raises:
        OutputError: it is a folder, or its folder cannot be created or written to.
    """
    from contextlib import suppress
    from pathlib import Path

    from gecjury.core.durable import check_place

    with suppress(OSError):  # writing it later reports the reason
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    check_place(path)


def add_metrics(parser: argparse.ArgumentParser, meaning: str = "") -> None:
    """Declare -m.

    Args:
        meaning: help text of an optional -m; empty if the command requires it.
    """
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        required=not meaning,
        default=[],
        help=meaning
        or "`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`)",
    )


def print_plans(plans: Sequence[Plan], form: str) -> None:
    """Print the requests that would be sent to paid services: a sentence, or JSON."""
    from gecjury.cli.streams import print_data
    from gecjury.report.tables import print_json
    from gecjury.scoring.scores import Plan

    total = Plan.total(plans)
    if form == "json":
        metrics = [{**plan.details, **plan.record()} for plan in plans]
        print_json({**total.record(), "metrics": metrics})
    else:
        text = total.in_words() if plans else "no requests, since no metric asks a service"
        print_data(f"This run would send {text}; nothing was sent.\n")


def runtime_from(args: argparse.Namespace, *, log: bool = False) -> Runtime:
    """Return the `Runtime` that the shared options describe.

    Args:
        log: whether to show progress as a line per minute if stderr is not a terminal.
    """
    from pathlib import Path

    from gecjury.cli.progress import TerminalProgress
    from gecjury.cli.streams import tell
    from gecjury.core.runtime import Progress, Runtime

    names = ("device", "batch_size", "workers", "concurrency", "dry_run", "max_cost", "api_key_env")
    values: dict[str, Any] = {name: getattr(args, name) for name in (*names, "batch")}
    for name in ("data", "cache"):
        path = getattr(args, name)
        values[name] = None if path is None else Path(path)
    return Runtime(
        **values,
        use_cache=not args.no_cache,
        tell=lambda message: tell(args.parser.as_typed(message)),
        progress=Progress() if args.quiet else TerminalProgress(log=log),
    )
