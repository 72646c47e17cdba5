"""`gecjury serve`: a local web page to try metrics."""

from __future__ import annotations

import argparse
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.cli.options import arguments_of, runtime_from, settings_of
from gecjury.cli.parsers import declares
from gecjury.cli.streams import tell
from gecjury.core.settings import option

if TYPE_CHECKING:
    from gecjury.web.guards import PageGuard


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a page is served.

    Attributes:
        port: port of 127.0.0.1 (default: the first free one from 8765 on).
        no_browser: do not open a browser, only print the address.
    """

    port: int | None = option(None, metavar="N", least=1, most=65_535)
    no_browser: bool = False


@dataclass(frozen=True, kw_only=True)
class ServedMetrics:
    """Metrics of the page.

    Attributes:
        metrics: also offer this metric, such as a model in a folder; metrics that need neither
            network nor model are always offered.
    """

    metrics: tuple[str, ...] = option((), "-m", "--metric", metavar="METRIC")


add_arguments = declares(ServedMetrics, Server, needs=("texts", "models"))


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.studies.inputs import Shared, language_from
    from gecjury.web.running import check_installed, listen

    check_installed("serve")
    from gecjury.web.trying import open_desk, trying_app

    with listen(settings_of(Server, args).port) as listening:
        desk = open_desk(
            args.metrics, runtime_from(args), language_from(arguments_of(Shared, args))
        )
        serve_page(trying_app(desk), listening, args)
    tell("gecjury: the page has ended and keeps no texts: the same command starts a new one")
    return 0


def serve_page(app: PageGuard, listening: socket.socket, args: argparse.Namespace) -> None:
    """Print the address with its secret, and answer requests until the program is interrupted.

    Args:
        app: the pages.
        listening: from `listen`, called before anything is read, so that a port in use fails early.
        args: options that `Server` declares.
    """
    from gecjury.web.running import serve_pages

    def ready(address: str) -> None:
        tell(f"gecjury: open {address} (end with Ctrl-C)")

    serve_pages(app, listening, ready, not args.no_browser)
