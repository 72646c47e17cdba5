"""Servers of language models, started for tests."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_COMPACT = json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})


def vllm_server(model: Path) -> list[str]:
    """Return the module and the arguments of vLLM's server, which writes JSON without blanks."""
    argv = ["vllm.entrypoints.openai.api_server", "--model", str(model), "--enforce-eager"]
    return [*argv, "--structured-outputs-config", _COMPACT]


@contextmanager
def started(argv: list[str]) -> Iterator[str]:
    """Start a server on a free port, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [sys.executable, "-m", *argv, "--host", "127.0.0.1", "--port", str(port)]
    # A server would look for an unknown model on the hub, again and again.
    offline = {**os.environ, "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=offline
    )
    try:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)
