"""`gecjury serve`: a page of this machine to try metrics, and to look at results again."""

from __future__ import annotations

import argparse

from gecjury.cli.annotate import add_server_options

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        default=[],
        help="offer this metric as well, such as a model in a folder; those that need neither "
        "network nor model are there anyway",
    )
    parser.add_argument(
        "--compare",
        dest="comparisons",
        metavar="FILE",
        action="append",
        default=[],
        help="open this comparison (`gecjury compare ... --format json`); repeat for more",
    )
    parser.add_argument(
        "--scores", metavar="DIR", help="a leaderboard of this folder of score files (`-o DIR`)"
    )
    add_server_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.cli.inputs import language_from, runtime_from
    from gecjury.cli.streams import tell
    from gecjury.web.running import check_installed, listen, serve

    check_installed("serve")
    from gecjury.web.trying import open_desk, trying_app

    listening = listen(args.port)
    try:
        desk = open_desk(
            args.metrics,
            args.comparisons,
            args.scores,
            runtime_from(args),
            language_from(args),
        )
    except BaseException:
        listening.close()
        raise
    serve(
        trying_app(desk),
        listening,
        lambda address: tell(f"gecjury: open {address} (end with Ctrl-C)"),
        not args.no_browser,
    )
    return 0
