"""Local servers whose answers are drawn from a random generator."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

from tests.fuzz.mutate import Mutator, dumps
from tests.judges.faultserver import completion, sound_reply
from tests.judges.malformed import malformed, on_the_wire


class _Server:
    """A server in a thread that runs as long as the process."""

    script = ""

    def __init__(self) -> None:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: Any) -> None:
                pass

            def do_GET(self) -> None:
                owner.answer(self, b"")

            def do_POST(self) -> None:
                size = int(self.headers.get("content-length", 0))
                owner.answer(self, self.rfile.read(size))

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *arguments: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        raise NotImplementedError


def _raw(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Send raw bytes and close the connection."""
    handler.close_connection = True
    try:
        handler.wfile.write(data)
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class JudgeServer(_Server):
    """A server with the protocol of judges, correct or as drawn by `behave_as`."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.asked = 0
        self._seed = 0

    def behave_as(self, rng: Random) -> None:
        """Draw how all requests of the next input are answered."""
        self._seed = rng.randrange(2**32)
        self.script = rng.choice(_SCRIPTS)

    def answer(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        self.asked += 1
        try:
            body = json.loads(data)
            sound = completion(body, sound_reply(body)).body
        except (ValueError, KeyError, TypeError, AssertionError):
            body, sound = {}, {"choices": []}
        # The same question gets the same answer, in any order of questions.
        rng = Random(f"{self._seed}:{json.dumps(body.get('messages'))}")
        _raw(handler, _judged(self.script, rng, sound))


_SCRIPTS = (*("malformed",) * 12, *("tree",) * 4, *("content",) * 4, "bytes", "sound")


def _judged(script: str, rng: Random, sound: Any) -> bytes:
    change = Mutator(rng)
    status, headers, body = 200, {"content-type": "application/json"}, dumps(sound)
    if script == "malformed":
        said = malformed(rng.randrange(2**32))
        if said.wire is not None:
            return said.wire
        status, given, body = on_the_wire(said)
        headers.update({name.lower(): value for name, value in given.items()})
        if said.length is not None:
            headers["content-length"] = said.length
        elif said.cut:
            headers["content-length"] = str(len(body))
            body = body[: len(body) // 2]
    elif script == "tree":
        body = change.document(sound)
    elif script == "content" and sound["choices"]:
        said = sound["choices"][0]["message"]["content"]
        sound["choices"][0]["message"]["content"] = rng.choice((
            change.word(), said + change.word(), "```json\n" + said, "[" * 5000, said * 300,
            "<think>" + said, '{"score": ' + "9" * 5000 + "}", '{"score": 1e999}',
            change.flat(said.encode()).decode("utf-8", "replace"),
        ))  # fmt: skip
        body = dumps(sound)
    elif script == "bytes":
        body = change.flat(body)
    return _response(f"{status} OK", headers, body)


def _response(status: str, headers: dict[str, str], body: bytes) -> bytes:
    headers = {"content-length": str(len(body)), **headers}
    lines = [f"HTTP/1.1 {status}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode("utf-8") + body


class FilesServer(_Server):
    """A server that sends files other than those requested."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"
        self._seed = 0

    def behave_as(self, rng: Random) -> None:
        """Draw how all requests of the next input are answered."""
        self._seed = rng.randrange(2**32)
        self.script = rng.choice(("status", "headers", "short", "long", "range", "redirect", "raw"))

    def answer(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        rng = Random(f"{self._seed}:{handler.path}:{handler.headers.get('range')}")
        body = b"x" * rng.choice((0, 1, 1000, 500_000))
        status = 200
        headers = {"content-length": str(len(body))}
        if self.script == "status":
            status = rng.choice((100, 204, 206, 304, 400, 401, 403, 404, 416, 416, 418, 429, 500,
                                 503, 600, 999))  # fmt: skip
        elif self.script == "headers":
            headers["content-length"] = rng.choice(("abc", "-1", "", "1e3", "９", "9" * 5000))
        elif self.script == "short":
            headers["content-length"] = str(len(body) + 10)
        elif self.script == "long":
            body += b"x" * 3_000_000
            headers = {}
        elif self.script == "range":
            status = 206
            headers["content-range"] = rng.choice(
                ("bytes 0-1/2", "bytes x-y/z", "", "bytes " + "9" * 5000 + "-1/2", "lines 0-1/2")
            )
        elif self.script == "redirect":
            status = rng.choice((301, 302, 307))
            headers["location"] = rng.choice((
                "ftp://x/", "file:///etc/passwd", "http://[", "", handler.path, "\x1b[31m",
                "http://127.0.0.1:99999/", "http://example.invalid/", "data:,x",
            ))  # fmt: skip
        else:
            _raw(handler, rng.choice((
                b"", b"HTTP/1.1 abc OK\r\n\r\n", b"\xff" * 90_000,
                b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n",
            )))  # fmt: skip
            return
        reason = rng.choice(("OK", "", "\x1b[31mred", "x" * 2000))
        _raw(handler, _response(f"{status} {reason}", headers, body))


SERVERS = {"judge": JudgeServer, "files": FilesServer}
