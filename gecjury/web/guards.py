"""The guard between a browser and the pages: access, limits and the content policy.

The pages are for the person who started the program. Other accounts of the machine can reach its
port, so a browser must first open the address that the program prints, which contains a secret; a
cookie then identifies the browser. A page of another site can send requests here as well, even
under a host name that its owner points to 127.0.0.1. Therefore `Host` and `Origin` are checked,
every form carries a token that only our own pages contain, and no other origin is ever allowed to
read a response.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from gecjury.core.errors import InputError

MOST_BODY = 2_000_000
"""Most bytes of a request's body."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The content policy of pages: their own files from this server, and nothing inline."""

_HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_NAMES = frozenset(("127.0.0.1", "localhost"))
_METHODS = frozenset(("GET", "HEAD", "POST"))
_PATIENCE = 30.0  # seconds within which a body must arrive
_MOST_FIELDS = 2_000

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestRefused(InputError):
    """A request that is refused; the message is shown to the user who made it.

    Attributes:
        status: status of the response, 400 to 499.
        kind: the reason, for scripts: `secret` (the printed address must be opened), `token`
            (reload the page), `held` (another window holds the name), `changed`, or empty.
    """

    def __init__(self, message: str, status: int = 400, kind: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def changed(path: Path, remedy: str) -> RequestRefused:
    """Return the refusal to write a file that another program has changed."""
    return RequestRefused(
        f"{path.name} has changed since the program was started: nothing more is saved; the "
        f"answers so far are kept. {remedy}",
        409,
        "changed",
    )


class PageGuard:
    """A wrapper that lets only our own pages reach an application, in browsers with its secret.

    Every response carries the content policy, including refusals. Bodies are read completely,
    within `MOST_BODY` and `_PATIENCE`, before they are processed.

    Attributes:
        secret: lets a browser in as `/?secret=...`; it is valid until the program ends.
        one_time_secret: lets in only the first browser that sends it; "" once it was used. It is
            for the command line of a browser, which every account of the machine can read.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self.secret, self.one_time_secret = new_token(), new_token()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, then pass on or refuse."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page of ours opens a web socket
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                kept = [(k, v) for k, v in message["headers"] if k.lower() not in _OWN]
                message = {**message, "headers": [*kept, *_HEADERS]}
            await send(message)

        try:
            port = _check(scope)
            if entrance := self._entrance(scope, port):
                await _reply(guarded, *entrance)
                return
            body = await self._body(scope, receive)
        except RequestRefused as error:
            await _tell(scope, guarded, error)
            return
        read = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> MutableMapping[str, Any]:
            # After its body, a request can only report that the browser has disconnected.
            return next(read, None) or await receive()

        await self._app(scope, replay, guarded)

    def _entrance(self, scope: Scope, port: str) -> tuple[int, Headers, str] | None:
        """Let a browser in by the secret in the address, and keep out those without the cookie.

        Args:
            scope: scope of the request.
            port: the port in the request; the cookie is named after it, since browsers send the
                cookies of one port of a host to all others.

        Returns:
            The status, headers and body of a response that sets the cookie and leads to the same
            page without the secret; None if the request already has the cookie.

        Raises:
            Refused: the request has neither the cookie nor the secret.
        """
        name = f"gecjury-{port}"
        cookies = (pair.strip().partition("=") for pair in _header(scope, b"cookie").split(";"))
        admitted = any(key == name and _same(value, self.secret) for key, _, value in cookies)
        offered = ""
        if scope["method"] == "GET" and scope["path"] == "/":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            offered = query.get("secret", [""])[0]
        if admitted and not offered:
            return None
        first = bool(self.one_time_secret) and _same(offered, self.one_time_secret)
        if not admitted and not first and not _same(offered, self.secret):
            where = "the address that the program printed in its terminal"
            raise RequestRefused(f"open {where}; it changes at every start", 403, "secret")
        if first:
            self.one_time_secret = ""
        cookie = f"{name}={self.secret}; Path=/; HttpOnly; SameSite=Strict"
        # The secret must not stay in the address, because the browser's history keeps addresses.
        headers = [(b"set-cookie", cookie.encode())]
        if _header(scope, b"sec-fetch-site") == "cross-site":
            # The user followed a link on another site, and a strict cookie is not sent along
            # redirects from there. A refresh is not a redirect and leaves no trace in the history.
            return 200, [*headers, (b"refresh", b"0; url=/")], "one moment"
        return 303, [*headers, (b"location", b"/")], ""

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        length = _header(scope, b"content-length")
        if length and (not length.isdecimal() or int(length[:20]) > MOST_BODY):
            raise _too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_PATIENCE):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise RequestRefused("the request was interrupted")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > MOST_BODY:
                        raise _too_large()
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise RequestRefused("the request took too long", 408) from None


def _too_large() -> RequestRefused:
    message = f"more than {MOST_BODY:,} bytes in one request; send less, or use the command line"
    return RequestRefused(message, 413)


_OWN = frozenset(name for name, _ in _HEADERS)


def _same(text: str, secret: str) -> bool:
    """Compare in constant time, which does not reveal how much of a secret was right."""
    return secrets.compare_digest(text.encode(), secret.encode())


def _check(scope: Scope) -> str:
    """Return the port in the request; refuse requests of other sites and under other names."""
    if scope["method"] not in _METHODS:
        raise RequestRefused("expected GET or POST", 405)
    hosts = [value for key, value in scope["headers"] if key == b"host"]
    host = hosts[0].decode("latin-1").lower() if len(hosts) == 1 else ""
    name, _, port = host.partition(":")
    # Any port is accepted: the page may be reached through a tunnel (ssh -L).
    if name not in _NAMES or not (port.isdecimal() or not port):
        raise RequestRefused("pages are only served as http://127.0.0.1 and http://localhost", 403)
    origin = _header(scope, b"origin")
    if origin and origin.lower() != f"http://{host}":
        raise RequestRefused("the request comes from a page of another site", 403)
    site, into = (_header(scope, name) for name in (b"sec-fetch-site", b"sec-fetch-dest"))
    ours = site in ("", "same-origin") or (site == "none" and scope["method"] != "POST")
    # Links on other sites may only lead to the first page, since other pages claim a name.
    linked = scope["method"] == "GET" and scope["path"] == "/" and into == "document"
    if not ours and not linked:
        raise RequestRefused("the request comes from a page of another site", 403)
    return port or "80"


def _header(scope: Scope, name: bytes) -> str:
    headers: Headers = scope["headers"]
    return next((value.decode("latin-1") for key, value in headers if key == name), "")


async def _tell(scope: Scope, send: Send, error: RequestRefused) -> None:
    """Send a refusal: as JSON to scripts that ask for it, as text to people."""
    body, kind = f"{error}\n", "text/plain; charset=utf-8"
    if "application/json" in _header(scope, b"accept"):
        body, kind = json.dumps({"error": str(error), "kind": error.kind}), "application/json"
    headers = [(b"content-type", kind.encode()), (b"connection", b"close")]
    await _reply(send, error.status, headers, body)


async def _reply(send: Send, status: int, headers: Headers, body: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})


def new_token() -> str:
    """Return a new secret for our own pages; each start of the program has different ones."""
    return secrets.token_urlsafe(24)


class SentForm:
    """The texts that a form sent, by name."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        """Store names and texts, in the order in which they were sent."""
        self._fields = fields

    def __call__(self, name: str, most: int = 200) -> str:
        """Return the first text of a name; "" if it was not sent.

        Raises:
            Refused: it is longer than `most` characters.
        """
        text = next(iter(self.all(name)), "")
        if len(text) > most:
            raise RequestRefused(f"{name}: {len(text)} characters; expected at most {most}", 413)
        return text

    def all(self, name: str) -> list[str]:
        """Return all texts of a name, in order."""
        return [text for field, text in self._fields if field == name]


def read_form(body: bytes, token: str) -> SentForm:
    """Read the fields that a form sent, and check that it is one of our own.

    Args:
        body: `application/x-www-form-urlencoded`, UTF-8.
        token: the token of this run's pages.

    Raises:
        Refused: the body is not of this type, or lacks the token.
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:  # UnicodeError among them
        raise RequestRefused("the request was not sent by one of gecjury's pages") from None
    form = SentForm(pairs)
    if not _same(next(iter(form.all("token")), ""), token):
        raise RequestRefused("the program was restarted: reload the page", 403, "token")
    return form
