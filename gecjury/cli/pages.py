"""Options of the commands that serve a page, and the server itself."""

from __future__ import annotations

import argparse
import socket
from typing import TYPE_CHECKING

from gecjury.cli.numbers import up_to
from gecjury.cli.streams import tell

if TYPE_CHECKING:
    from gecjury.web.guards import PageGuard


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Declare --port and --no-browser."""
    parser.add_argument(
        "--port",
        type=up_to(65_535),
        metavar="N",
        help="port of 127.0.0.1 (default: the first free one from 8765 on)",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="open no browser, only tell the address"
    )


def serve_page(app: PageGuard, listening: socket.socket, args: argparse.Namespace) -> None:
    """Tell the address with its secret, and answer until the program is interrupted.

    Args:
        app: the pages.
        listening: from `listen`, before anything is read: a port that is taken costs nothing then.
        args: as `add_server_options` declared them.
    """
    from gecjury.web.running import serve_pages

    serve_pages(
        app,
        listening,
        lambda address: tell(f"gecjury: open {address} (end with Ctrl-C)"),
        not args.no_browser,
    )
