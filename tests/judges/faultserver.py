"""A local server that speaks the OpenAI protocol, correctly or with the faults of a test."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def score_of(text: str) -> int:
    """Return the server's score of a text: 1 to 5, always the same for the same text."""
    return hashlib.sha256(text.encode()).digest()[0] % 5 + 1


def targets_of(prompt: str) -> list[str]:
    """Return the lines between `# targets` and `# output format`."""
    return prompt.partition("# targets\n")[2].partition("\n\n# output format")[0].split("\n")


def sound_reply(body: dict[str, Any]) -> str:
    """Return what a good model would answer to a request."""
    prompt = body["messages"][-1]["content"]
    if "# targets\n" in prompt:
        scores = {f"target{i}_score": score_of(t) for i, t in enumerate(targets_of(prompt), 1)}
        return json.dumps(scores, separators=(",", ":"))
    fence = re.search(r"=== [0-9a-f]{12} ===", prompt)
    assert fence is not None, prompt
    blocks = [block.strip() for block in prompt.split(fence[0])]
    if '{"valid"' in prompt:
        return json.dumps({"valid": score_of(blocks[-2]) > 2})
    if '{"better"' in prompt:
        a, b = score_of(blocks[-4]), score_of(blocks[-2])
        return json.dumps({"better": "A" if a > b else "B" if b > a else "tie"})
    return json.dumps({"score": score_of(blocks[-2])})


@dataclass
class Said:
    """One HTTP response, or the bytes sent instead of one.

    Attributes:
        status: the HTTP status.
        body: the body, which is sent as JSON.
        headers: headers other than the length; the content type is JSON unless given here.
        raw: bytes of the body, sent instead of `body`.
        cut: whether the connection is closed half way through the body.
        wait: seconds before anything is sent.
        drip: seconds before every single byte of the body; None sends it at once.
        length: the declared length, if not that of the body.
        close: whether the connection is closed after the body.
        wire: everything that is sent, including the status line, before the connection is closed.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: bool = False
    wait: float = 0.0
    drip: float | None = None
    length: str | None = None
    close: bool = False
    wire: bytes | None = None


def completion(body: dict[str, Any], text: str, finish: str = "stop", **message: Any) -> Said:
    """Return a chat completion with `text`; four characters count as a token."""
    prompt = "".join(message["content"] for message in body["messages"])
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": text, **message},
    }
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4 + 1}
    return Said(body={"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage})


Behaviour = Callable[[int, dict[str, Any]], Said | None]
"""Maps the number of a request (from 0) and its body to a response; None means a sound one."""


class FaultServer:
    """A server in a thread that records the requests until it is closed."""

    def __init__(self, behave: Behaviour | None = None, latency: float = 0.0) -> None:
        self.behave = behave or (lambda number, body: None)
        self.latency = latency
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.times: list[float] = []
        self.authorizations: set[str] = set()
        self.under_way = 0
        self.sent = 0
        self.most_under_way = 0
        self.lock = threading.Lock()
        self.files: dict[str, bytes] = {}
        self.batches: list[dict[str, Any]] = []
        self.finish_batch: Callable[[FaultServer, dict[str, Any]], None] = complete_batch
        self.polls_to_finish = 1
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *arguments: Any) -> None:
                pass

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.path.partition("?")[0] == "/v1/chat/completions":
                    self._send(server.answer(json.loads(data), self.headers))
                elif self.path == "/v1/files":
                    self._send(Said(body=server.add_file(data, self.headers["content-type"])))
                elif self.path == "/v1/batches":
                    self._send(Said(body=server.add_batch(json.loads(data))))
                else:
                    self._send(Said(404, {"error": {"message": f"no {self.path}"}}))

            def do_GET(self) -> None:
                if self.path.startswith("/v1/batches"):
                    self._send(Said(body=server.list_batches()))
                elif self.path.endswith("/content"):
                    self._send(Said(raw=server.files[self.path.split("/")[3]]))
                else:
                    self._send(Said(404, {"error": {"message": f"no {self.path}"}}))

            def _send(self, said: Said) -> None:
                if said.wait:
                    time.sleep(said.wait)
                data = said.raw if said.raw is not None else json.dumps(said.body).encode()
                try:
                    if said.wire is not None:
                        self.wfile.write(said.wire)
                        self.close_connection = True
                        return
                    self.send_response(said.status)
                    if "content-type" not in said.headers:
                        self.send_header("content-type", "application/json")
                    for name, value in said.headers.items():
                        self._header(name, value)
                    self._header(
                        "content-length", str(len(data)) if said.length is None else said.length
                    )
                    self.end_headers()
                    if said.drip is not None:
                        for place in range(len(data)):
                            time.sleep(said.drip)
                            self.wfile.write(data[place : place + 1])
                            server.sent += 1
                    # In pieces, to count how much a client received before it disconnected.
                    whole = data[: len(data) // 2] if said.cut else data
                    for place in range(0, 0 if said.drip is not None else len(whole), 1 << 16):
                        self.wfile.write(whole[place : place + (1 << 16)])
                        server.sent += len(whole[place : place + (1 << 16)])
                    if said.cut or said.close:
                        self.close_connection = True
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True  # the client was killed or disconnected

            def _header(self, name: str, value: str) -> None:
                # send_header only writes Latin-1.
                self._headers_buffer.append(f"{name}: {value}\r\n".encode())  # type: ignore[attr-defined]

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *arguments: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        # Short, since a test may start a thousand servers and wait for each of them to stop.
        poll = {"poll_interval": 0.002}
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs=poll, daemon=True)
        self._thread.start()

    def __enter__(self) -> FaultServer:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def asked(self) -> Counter[str]:
        """The number of times that each prompt was asked."""
        return Counter(json.dumps(body["messages"]) for body in self.bodies)

    def answer(self, body: dict[str, Any], headers: Any) -> Said:
        with self.lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.keys.append(headers.get("idempotency-key", ""))
            self.times.append(time.monotonic())
            self.authorizations.add(headers.get("authorization", ""))
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.latency:
                time.sleep(self.latency)
            said = self.behave(number, body)
            return said if said is not None else completion(body, sound_reply(body))
        finally:
            with self.lock:
                self.under_way -= 1

    def add_file(self, data: bytes, kind: str) -> dict[str, Any]:
        boundary = kind.partition("boundary=")[2].encode()
        part = next(p for p in data.split(b"--" + boundary) if b'name="file"' in p)
        content = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        return {"id": self.keep(content), "object": "file", "purpose": "batch"}

    def keep(self, content: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = content
        return name

    def add_batch(self, body: dict[str, Any]) -> dict[str, Any]:
        batch = {
            "id": f"batch-{len(self.batches)}",
            "object": "batch",
            "status": "in_progress",
            "input_file_id": body["input_file_id"],
            "output_file_id": None,
            "error_file_id": None,
            "metadata": body["metadata"],
            "endpoint": body["endpoint"],
            "completion_window": body["completion_window"],
            "created_at": 0,
            "polls": 0,
        }
        self.batches.append(batch)
        return batch

    def list_batches(self) -> dict[str, Any]:
        for batch in self.batches:
            batch["polls"] += 1
            if batch["status"] == "in_progress" and batch["polls"] > self.polls_to_finish:
                self.finish_batch(self, batch)
        return {"object": "list", "data": self.batches[::-1], "has_more": False}


def batch_lines(server: FaultServer, batch: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answers to a batch's lines, in order."""
    lines = []
    for text in server.files[batch["input_file_id"]].decode().splitlines():
        line = json.loads(text)
        said = completion(line["body"], sound_reply(line["body"]))
        response = {"status_code": 200, "body": said.body}
        lines.append({"custom_id": line["custom_id"], "response": response, "error": None})
    return lines


def complete_batch(server: FaultServer, batch: dict[str, Any]) -> None:
    """Answer everything."""
    finish_with(server, batch, batch_lines(server, batch))


def finish_with(
    server: FaultServer,
    batch: dict[str, Any],
    lines: list[dict[str, Any]],
    status: str = "completed",
) -> None:
    """End a batch with the given output lines."""
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    batch["status"], batch["output_file_id"] = status, server.keep(content)
