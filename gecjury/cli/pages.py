"""Options of the commands that serve a page, and the server itself."""

from __future__ import annotations

import argparse
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.cli.streams import tell
from gecjury.settings import check, option

if TYPE_CHECKING:
    from gecjury.web.guards import PageGuard


@dataclass(frozen=True, kw_only=True)
class Server:
    """Where a page is served.

    Attributes:
        port: port of 127.0.0.1 (default: the first free one from 8765 on).
        no_browser: open no browser, only tell the address.
    """

    port: int | None = option(None, metavar="N", least=1, most=65_535)
    no_browser: bool = False

    def __post_init__(self) -> None:
        check(self)


def serve_page(app: PageGuard, listening: socket.socket, args: argparse.Namespace) -> None:
    """Tell the address with its secret, and answer until the program is interrupted.

    Args:
        app: the pages.
        listening: from `listen`, before anything is read: a port that is taken costs nothing then.
        args: as `Server` declares them.
    """
    from gecjury.web.running import serve_pages

    serve_pages(
        app,
        listening,
        lambda address: tell(f"gecjury: open {address} (end with Ctrl-C)"),
        not args.no_browser,
    )
