"""A process that runs command lines, each in a separate folder, and reports what it observed.

Its folder contains everything: `home` and `tmp` of the process, `shelf` (models shared by several
inputs) and `in`, with one folder per input. An audit hook refuses and records writes to other
places and connections to other machines.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any

__all__ = ["Sandbox", "main"]

KEY = "sk-fuzz-key-of-nobody"
FILE_SIZE = 256 << 20
STDOUT_KEPT = 400_000
LONGEST = 6000
"""Maximum length of a message in characters."""

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_TARGETS = {
    "os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.link": (1,),
    "os.symlink": (1,), "os.truncate": (0,), "os.chmod": (0,), "shutil.rmtree": (0,),
    "shutil.copyfile": (1,), "shutil.move": (0, 1), "sqlite3.connect": (0,), "os.mkfifo": (0,),
}  # fmt: skip
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff]"
)
_TURNING = re.compile("[\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_WARNING = re.compile(r"(\S{1,300}\.py):(\d+): (\w{0,40}Warning): ")
_REPORT = re.compile(r"please report it with (\S+), which")


class Sandbox:
    """Restricts the writes and connections of an input; others are refused and recorded.

    Attributes:
        allowed: folders that may be written to.
        strayed: operations refused since the last input.
    """

    def __init__(self, *allowed: Path) -> None:
        self.allowed = tuple(os.path.realpath(folder) + os.sep for folder in allowed)
        self.strayed: list[str] = []
        self.watching = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.watching:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = isinstance(flags, int) and flags & _WRITES
            if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
                self._write(event, path)
        elif event in _TARGETS:
            for place in _TARGETS[event]:
                self._write(event, arguments[place])
        elif event == "socket.connect":
            address = arguments[1]
            if not isinstance(address, tuple) or not str(address[0]).startswith(("127.", "::1")):
                self._refuse(f"connects to {address!r}")
        elif event == "socket.getaddrinfo":
            host = arguments[0]
            if host not in ("127.0.0.1", "localhost", "::1", None, b"127.0.0.1", b"localhost"):
                self.strayed.append(f"looks up {host!r}") if host not in _UNKNOWN else None
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def _write(self, event: str, path: Any) -> None:
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)
        if name in ("/dev/null", "/dev/full", ":memory:", "") or "\0" in name:
            return
        real = os.path.realpath(name)
        if not (real + os.sep).startswith(self.allowed):
            self._refuse(f"{event} {real}")

    def _refuse(self, what: str) -> None:
        self.strayed.append(what)
        raise PermissionError(13, "Permission denied")


_UNKNOWN = ("example.invalid", "huggingface.co", b"example.invalid", b"huggingface.co")


def _place(frames: list[tuple[str, int, str]]) -> str:
    """Return the last frame in the package and the last frame of all."""
    own = [f for f in frames if "/gecjury/" in f[0] or "/refbased/" in f[0] or "/refless/" in f[0]
           or "/judges/" in f[0]]  # fmt: skip
    shown = [own[-1], frames[-1]] if own and own[-1] != frames[-1] else frames[-1:]
    return " < ".join(f"{'/'.join(Path(f).parts[-3:])}:{line} {name}" for f, line, name in shown)


def _report_place(path: str) -> str:
    """Return the type and location of the error in a crash report."""
    try:
        body = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "no report"
    starts = [
        i for i, line in enumerate(body) if i and not line.startswith(" ") and not body[i - 1]
    ]
    if not starts:
        return "empty report"
    kind, frames = body[starts[0]], []
    for line in body[starts[0] + 1 :]:
        found = re.fullmatch(r"  (.*), line (\d+), in (.*)", line)
        if not found:
            break
        frames.append((found[1], int(found[2]), found[3]))
    return f"{kind} at {_place(frames)}" if frames else kind


def _files(folder: Path) -> list[Path]:
    """Return the files below a folder that are small enough to read at once."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20
    ]


def _peak() -> int:
    """Return the peak memory since the last reset, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def _reset_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


class Worker:
    """Runs inputs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inputs = root / "in"
        for name in ("home", "tmp", "shelf", "in"):
            (root / name).mkdir(exist_ok=True)
        (root / "argv").write_text("[]")
        self.sandbox = Sandbox(self.inputs, root / "home", root / "tmp")
        self.streams = [root / name for name in ("stdin", "stdout", "stderr")]
        for path in self.streams:
            path.write_bytes(b"")
        ways = (os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_APPEND)
        self.handles = [os.open(p, way) for p, way in zip(self.streams, ways, strict=True)]
        self.said = (root / "stacks").open("a")  # stays open as long as the process runs
        faulthandler.register(signal.SIGUSR1, self.said, all_threads=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._impatient()
        sys.addaudithook(self.sandbox)
        from tests.fuzz.box import Shelf
        from tests.fuzz.kinds import KINDS

        self.kinds = KINDS
        self.shelf = Shelf(root / "shelf")

    @staticmethod
    def _impatient() -> None:
        """Shorten timeouts, and replace the server of pages, which would never return."""
        from gecjury.benchmarks import data_folder, download
        from gecjury.core import textfiles
        from gecjury.web import running
        from tests.fuzz.folders import visit

        running.serve_pages = visit
        textfiles.PIPE_SECONDS = 0.3
        download.TIMEOUT = 2.0
        download.GRACE = 0.3
        data_folder.DataFolder.fetch.__kwdefaults__["backoff"] = 0.001

    def run(self, kind: str, seed: int) -> dict[str, Any]:
        """Run one input and judge its outcome."""
        from tests.fuzz.box import Box

        folder = self.inputs / f"{kind}-{seed}" / "inner"
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        before = self._outside(folder)
        box = Box(folder, Random(f"{kind}:{seed}"), self.shelf)
        case = self.kinds[kind](box)
        argv = [word.replace("\0", "") for word in case.argv]
        (self.root / "argv").write_text(json.dumps(argv))
        requests_before = case.unasked.asked if case.unasked else 0
        self._fresh(case.stdin, case.out)
        home = Path.cwd()
        os.chdir(folder)
        status, raised, seconds = self._call(argv)
        os.chdir(home)
        out, err = self._said()
        found = self._judge(case, status, raised, out, err)
        if case.unasked and case.unasked.asked > requests_before:
            found.append(("sent", "a request was sent to a server that was not allowed"))
        if any(KEY.encode() in path.read_bytes() for path in _files(folder)):
            found.append(("key", "kept"))
        after = self._outside(folder)
        if self.sandbox.strayed and not case.strays:
            found.append(("stray", "; ".join(self.sandbox.strayed[:3])))
        if after - before and not case.strays:
            found.append(("stray", f"left {sorted(after - before)[:3]}"))
        peak = _peak()
        problems = [{"what": what, "where": where} for what, where in found]
        if not found or not problems:
            shutil.rmtree(folder.parent, ignore_errors=True)
        return {
            "kind": kind, "seed": seed, "argv": argv, "status": status, "problems": problems,
            "seconds": round(seconds, 3), "peak": peak, "spoiled": box.spoiled,
            "err": err[:2000].decode("utf-8", "backslashreplace"),
            "out": out[:200].decode("utf-8", "backslashreplace"),
        }  # fmt: skip

    def _outside(self, folder: Path) -> set[str]:
        """Return the paths around the folder of an input."""
        around = (folder.parent, self.inputs, self.root)
        return {str(path) for place in around for path in place.iterdir()} | {
            path for path in ("/tmp/gecjury-fuzz-stray",) if Path(path).exists()
        }

    def _fresh(self, stdin: bytes, out: str) -> None:
        self.streams[0].write_bytes(stdin)
        for number, handle in enumerate(self.handles):
            os.dup2(handle, number)  # an earlier input may have redirected an output
        if out:
            hear, say = os.pipe() if out == "closed" else (-1, os.open("/dev/full", os.O_WRONLY))
            os.dup2(say, 1)
            os.close(say)
            if hear >= 0:
                os.close(hear)
        os.lseek(0, 0, os.SEEK_SET)
        sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
        for number in (1, 2):
            os.truncate(self.streams[number], 0)
            stream = open(number, "wb", closefd=False)  # noqa: SIM115
            wrapper = io.TextIOWrapper(
                stream, encoding="utf-8", errors="strict" if number == 1 else "backslashreplace",
                line_buffering=number == 2, write_through=number == 2,
            )  # fmt: skip
            setattr(sys, "stdout" if number == 1 else "stderr", wrapper)
        from gecjury.core import textfiles

        textfiles._input_was_read = False
        _reset_peak()

    def _call(self, argv: list[str]) -> tuple[int, str, float]:
        from gecjury.cli import main

        raised, start = "", time.monotonic()
        self.sandbox.strayed = []
        self.sandbox.watching = True
        try:
            status = main(argv)
        except SystemExit as leave:
            status = leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1
        except BaseException as error:
            frames = [(f.filename, f.lineno or 0, f.name) for f in
                      traceback.extract_tb(error.__traceback__)]  # fmt: skip
            raised = f"{type(error).__name__} at {_place(frames)}"
            status = 99
        finally:
            self.sandbox.watching = False
        return status, raised, time.monotonic() - start

    def _said(self) -> tuple[bytes, bytes]:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        out, err = (path.read_bytes()[:STDOUT_KEPT] for path in self.streams[1:])
        return out, err

    def _judge(
        self, case: Any, status: int, raised: str, out: bytes, err: bytes
    ) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        told = err.decode("utf-8", "surrogateescape")
        shown = out.decode("utf-8", "surrogateescape")
        if raised:
            found.append(("escaped", raised))
        elif status == 70:
            report = _REPORT.search(told)
            found.append(("traceback", _report_place(report[1]) if report else "no report named"))
        elif status not in (0, 1, 2):
            found.append(("status", f"exit {status}"))
        if "Traceback (most recent call last)" in told:
            found.append(("traceback", told.strip().splitlines()[-1][:200]))
        if status == 0 and not out.strip() and not case.silent:
            found.append(("silent", "exit 0 without output"))
        if status == 2 and not told.strip() and not shown.strip():
            found.append(("silent", "exit 2 without a word"))
        if status == 0 and case.unusable:
            found.append(("wrong status", f"exit 0, though {case.unusable}"))
        if control := _CONTROL.search(told):
            found.append(("control", f"stderr holds {control[0]!r}"))
        # In JSON, characters that change the direction of text are data and stay unchanged.
        inert = shown if "json" not in case.argv else _TURNING.sub("", shown)
        if not case.verbatim and (control := _CONTROL.search(inert)):
            found.append(("control", f"stdout holds {control[0]!r}"))
        if KEY in told or KEY in shown:
            found.append(("key", "printed"))
        if len(told) > LONGEST:
            found.append(("long", f"{len(told)} characters of errors"))
        if warning := _WARNING.search(told[:LONGEST]):
            short = "/".join(Path(warning[1]).parts[-3:])
            found.append(("warning", f"{warning[3]} at {short}:{warning[2]}"))
        return found


def main() -> None:
    """Answer requests, one line of JSON each, until there are no more."""
    root, take, give = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    worker = Worker(root)
    with open(take, encoding="utf-8") as asked, open(give, "w", encoding="utf-8") as answers:
        for line in asked:
            kind, seed = json.loads(line)
            answer = worker.run(kind, seed)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
