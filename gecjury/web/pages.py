"""Rendering of templates, static files of pages, and handling of errors in requests."""

from __future__ import annotations

import importlib.resources
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from gecjury.core.addresses import masked
from gecjury.core.errors import GecjuryError
from gecjury.core.runtime import __version__
from gecjury.core.wording import number, visible
from gecjury.report.page.environment import templates_of
from gecjury.web.guards import PageGuard, RequestRefused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


@cache
def _environment() -> Environment:
    """Return the environment of this package's templates."""
    made = templates_of("gecjury.web")
    made.trim_blocks = made.lstrip_blocks = True
    made.globals["number"] = number
    return made


def rendered(template: str, /, **values: object) -> str:
    """Return a filled template.

    Args:
        template: its file in `templates/`, without `.html.jinja`.
        **values: values of the template's variables; a string is escaped unless it is `Markup`.
    """
    made = _environment().get_template(f"{template}.html.jinja")
    return made.render(version=__version__, **values)


def page(template: str, status: int = 200, /, **values: object) -> Response:
    """Return a page with a status; see `rendered`."""
    from starlette.responses import HTMLResponse

    return HTMLResponse(rendered(template, **values), status)


@cache
def static_file(name: str) -> bytes:
    """Return a file that pages load."""
    file = importlib.resources.files("gecjury.web") / "static" / name
    text = file.read_text(encoding="utf-8")
    if name == "web.css":
        # Pages look like reports.
        report = importlib.resources.files("gecjury.report.page") / "report.css"
        text = report.read_text(encoding="utf-8") + text
    return text.encode()


_FILES = {
    "web.css": "text/css",
    "judge.js": "text/javascript",
    "try.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


Handler = Callable[["Request"], Awaitable["Response"]]
"""A function that answers a request."""


def application(shown: Mapping[str, Handler], sent: Mapping[str, Handler]) -> PageGuard:
    """Return an application that serves pages and the few files that they load, behind the guard.

    The addresses are a fixed list, so that no path can lead elsewhere.

    Args:
        shown: handlers of pages by address below `/`.
        sent: handlers of forms by the address that they are sent to.
    """
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    def give(name: str, kind: str) -> Handler:
        async def file(_request: Request) -> Response:
            return Response(static_file(name), media_type=kind)

        return file

    routes = [
        *(Route(f"/{path}", answer(handler)) for path, handler in shown.items()),
        *(Route(f"/{path}", answer(handler), methods=["POST"]) for path, handler in sent.items()),
        *(Route(f"/static/{name}", give(name, kind)) for name, kind in _FILES.items()),
    ]
    return PageGuard(Starlette(routes=routes))


def redirect(address: str) -> Response:
    """Return a response that redirects the browser to another page of ours."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(address, 303)


def answer(handler: Handler) -> Handler:
    """Return a handler whose errors become pages, or JSON for a script.

    Errors that the user can cause show their message. Any other error shows only its type and its
    place in the program, since its message may quote texts.
    """

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except GecjuryError as error:
            status = error.status if isinstance(error, RequestRefused) else 422
            kind = error.kind if isinstance(error, RequestRefused) else ""
            return _told(request, visible(masked(str(error)), lines=True), status, kind)
        except Exception as error:
            # One bad request must not end the program, which serves other people as well.
            where = extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__}, {Path(where.filename).name} line {where.lineno}"
            fault = f"unexpected error: this is a bug in gecjury, please report it ({place})"
            return _told(request, fault, 500, "")

    return handled


def _told(request: Request, message: str, status: int, kind: str) -> Response:
    from starlette.responses import JSONResponse

    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"error": message, "kind": kind}, status)
    return page("error", status, title="Not done", message=message, home=Markup("/"))
