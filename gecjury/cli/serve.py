"""`gecjury serve`: a page of this machine to try metrics, and to look at results again."""

from __future__ import annotations

import argparse

from gecjury.cli.inputs import add_metrics
from gecjury.cli.pages import add_server_options, serve_page
from gecjury.cli.parsers import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "models")
    add_metrics(
        parser,
        "offer this metric as well, such as a model in a folder; those that need neither "
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
    from gecjury.web.running import check_installed, listen

    check_installed("serve")
    from gecjury.web.trying import open_desk, trying_app

    with listen(args.port) as listening:
        desk = open_desk(
            args.metrics, args.comparisons, args.scores, runtime_from(args), language_from(args)
        )
        serve_page(trying_app(desk), listening, args)
    return 0
