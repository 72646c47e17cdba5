"""Drive headless Chromium (Debian's package) through its debugging pipe, without extra packages."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_READ, _WRITTEN = 3, 4


def program() -> str | None:
    """Return the path of the browser, or None if it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Page:
    """A tab that runs scripts and records log messages and requests."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._events: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        wanted = self._number
        found = self._until(lambda answer: answer.get("id") == wanted)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        result: dict[str, Any] = found["result"]
        return result

    def _until(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            while b"\0" not in self._buffer:
                read = os.read(self._answers, 1 << 20)
                if not read:
                    raise RuntimeError("the browser has ended")
                self._buffer += read
            line, _, self._buffer = self._buffer.partition(b"\0")
            answer: dict[str, Any] = json.loads(line)
            self._note(answer)
            if done(answer):
                return answer

    def _note(self, answer: dict[str, Any]) -> None:
        method, given = answer.get("method", ""), answer.get("params", {})
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.problems.append(given["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(given["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            self.problems.append(json.dumps(given["args"]))

    def open(self, path: Path, fragment: str = "", script: bool = True) -> None:
        """Load or reload a file and wait until it is loaded."""
        self._call("Emulation.setScriptExecutionDisabled", value=not script)
        self._load("about:blank")
        self.requests.clear()
        self.problems.clear()
        self._load(path.resolve().as_uri() + (f"#{fragment}" if fragment else ""))

    def visit(self, address: str) -> None:
        """Load an address and wait until it is loaded."""
        self._load(address)

    def _load(self, address: str) -> None:
        self._events.clear()
        self._call("Page.navigate", url=address)
        if "Page.loadEventFired" not in self._events:
            self._until(lambda answer: answer.get("method") == "Page.loadEventFired")

    def run(self, script: str) -> Any:
        """Return the value of an expression (awaited if it is a promise)."""
        found = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"]))
        return found["result"].get("value")

    def size(self, width: int, height: int = 900, phone: bool = False, scale: float = 1) -> None:
        """Set the size of the window, optionally as on a phone."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=phone,
        )  # fmt: skip

    def media(self, scheme: str, kind: str = "") -> None:
        """Set the colour scheme, `light` or `dark`; kind `print` selects the print style."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=kind, features=features)

    def press(self, key: str) -> None:
        """Press and release a key such as `Tab`, `Enter`, `ArrowDown`, `3` or `s`."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}
        text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
        code = codes.get(key) or ord(key.upper())
        for kind in ("keyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code, **(text if kind == "keyDown" else {}),
            )  # fmt: skip

    def picture(self, path: Path, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def open_page(profile: Path) -> Iterator[Page]:
    """Start the browser with an empty profile, and stop it at the end.

    Args:
        profile: an empty folder.
    """
    found = program()
    if found is None:
        raise RuntimeError("there is no chromium")
    # Above 9, so that they do not collide when they are moved to 3 and 4.
    read, commands = os.pipe()
    answers, written = os.pipe()

    def place() -> None:
        high = [os.dup(read), os.dup(written)]
        while min(high) < 10:
            high = [os.dup(fd) for fd in high]
        os.dup2(high[0], _READ)
        os.dup2(high[1], _WRITTEN)

    arguments = [
        found, "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
        "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}",
        *(["--no-sandbox"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    process = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(_READ, _WRITTEN),
        preexec_fn=place,
    )
    os.close(read)
    os.close(written)
    try:
        yield Page(commands, answers)
    finally:
        os.close(commands)
        os.close(answers)
        process.terminate()
        for _ in range(50):
            if process.poll() is not None:
                break
            time.sleep(0.1)
        else:
            process.kill()
        process.wait()
