"""`gecjury serve`: a page of this machine to try metrics, and to look at results again."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gecjury.cli.options import settings_of
from gecjury.cli.pages import Server, serve_page
from gecjury.cli.parsers import declares
from gecjury.settings import option


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the page has besides metrics without network and model.

    Attributes:
        metrics: offer this metric as well, such as a model in a folder; those that need neither
            network nor model are there anyway.
        comparisons: open this comparison (`gecjury compare ... --format json`); repeat for more.
        scores: a leaderboard of this folder of score files (`-o DIR`).
    """

    metrics: tuple[str, ...] = option((), "-m", "--metric", metavar="METRIC")
    comparisons: tuple[str, ...] = option((), "--compare", metavar="FILE")
    scores: str | None = option(None, metavar="DIR")


add_arguments = declares(Shown, Server, needs=("texts", "models"))


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.cli.inputs import language_from, runtime_from
    from gecjury.web.running import check_installed, listen

    check_installed("serve")
    from gecjury.web.trying import open_desk, trying_app

    with listen(settings_of(Server, args).port) as listening:
        desk = open_desk(
            args.metrics, args.comparisons, args.scores, runtime_from(args), language_from(args)
        )
        serve_page(trying_app(desk), listening, args)
    return 0
