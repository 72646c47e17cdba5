"""A process that runs command lines, each in a separate folder, and reports what it observed.

Its folder contains everything: `home` and `tmp` of the process, `shelf` (models shared by several
inputs) and `in`, with one folder per input. An audit hook refuses and records writes to other
places and connections to other machines.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import resource
import shutil
import socket
import sys
import traceback
from pathlib import Path
from random import Random
from typing import Any

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
_UNKNOWN = ("example.invalid", "huggingface.co", b"example.invalid", b"huggingface.co")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\udc80-\udcff]"
)
_TURNING = re.compile("[\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_WARNING = re.compile(r"(\S{1,300}\.py):(\d+): (\w{0,40}Warning): ")
_REPORT = re.compile(r"please report it with (\S+), which")


def environment(root: Path) -> dict[str, str]:
    """Return the environment of the process, in which nothing of the user's is found."""
    kept = {key: os.environ[key] for key in ("PATH", "LD_LIBRARY_PATH") if key in os.environ}
    return {
        **kept, "HOME": str(root / "home"), "LC_ALL": "C.UTF-8", "TMPDIR": str(root / "tmp"),
        "XDG_CACHE_HOME": str(root / "home/cache"), "GECJURY_CACHE": str(root / "home/gecjury"),
        "HF_HOME": str(root / "home/hf"), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "COLUMNS": "100",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0", "OPENAI_API_KEY": KEY,
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


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


def _last_place(path: str) -> str:
    """Return the last place in the code that a report of an unexpected error names."""
    with contextlib.suppress(OSError):
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in lines[::-1] if line.startswith("  ")), lines[-1])
    return "no report"


class Worker:
    """Runs inputs."""

    def __init__(self, root: Path, memory: int) -> None:
        self.root, self.inputs = root, root / "in"
        self.sandbox = Sandbox(self.inputs, root / "home", root / "tmp")
        self.streams = [root / name for name in ("stdin", "stdout", "stderr")]
        self.stacks = (root / "stacks").open("w")  # stays open as long as the process runs
        faulthandler.enable(self.stacks)
        for limit, most in (
            (resource.RLIMIT_FSIZE, FILE_SIZE), (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_DATA, memory),
        ):  # fmt: skip
            resource.setrlimit(limit, (most, most))
        sys.addaudithook(self.sandbox)
        from gecjury.benchmarks import data_folder
        from gecjury.core import textfiles
        from gecjury.web import running
        from tests.fuzz.box import Shelf
        from tests.fuzz.folders import visit
        from tests.fuzz.kinds import KINDS

        # Shorter timeouts, and a server of pages that returns.
        running.serve_pages = visit
        textfiles.PIPE_SECONDS = 0.3
        data_folder._TIMEOUT = 2.0
        data_folder.DataFolder.fetch.__kwdefaults__["backoff"] = 0.001
        self.kinds, self.shelf, self.textfiles = KINDS, Shelf(root / "shelf"), textfiles

    def run(self, kind: str, seed: int) -> dict[str, Any]:
        """Run one input and judge its outcome."""
        from tests.fuzz.box import Box

        folder = self.inputs / f"{kind}-{seed}" / "inner"
        shutil.rmtree(folder.parent, ignore_errors=True)
        folder.mkdir(parents=True)
        before = self._outside(folder)
        os.environ.pop("GECJURY_DATA_URL", None)
        case = self.kinds[kind](Box(folder, Random(f"{kind}:{seed}"), self.shelf))
        argv = [word.replace("\0", "") for word in case.argv]
        requests_before = case.unasked.asked if case.unasked else 0
        self._redirect(case.stdin, case.out)
        os.chdir(folder)
        status, raised = self._call(argv)
        os.chdir(self.root)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        out, err = (path.read_bytes()[:STDOUT_KEPT] for path in self.streams[1:])
        found = self._judge(case, status, raised, out, err)
        if case.unasked and case.unasked.asked > requests_before:
            found.append(("sent", "a request was sent to a server that was not allowed"))
        small = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
        if any(KEY.encode() in p.read_bytes() for p in small if p.stat().st_size < 1 << 20):
            found.append(("key", "kept"))
        if self.sandbox.strayed and not case.strays:
            found.append(("stray", "; ".join(self.sandbox.strayed[:3])))
        if (left := self._outside(folder) - before) and not case.strays:
            found.append(("stray", f"left {sorted(left)[:3]}"))
        if not found:
            shutil.rmtree(folder.parent, ignore_errors=True)
        told = err[:2000].decode("utf-8", "backslashreplace")
        return {"kind": kind, "seed": seed, "argv": argv, "status": status, "problems": found,
                "err": told}  # fmt: skip

    def _outside(self, folder: Path) -> set[str]:
        """Return the paths around the folder of an input."""
        around = {path for place in (folder.parent, self.inputs, self.root) for path in
                  place.iterdir()} - {*self.streams}  # fmt: skip
        return {*map(str, around)} | {p for p in ("/tmp/gecjury-fuzz-stray",) if Path(p).exists()}

    def _redirect(self, stdin: bytes, out: str) -> None:
        """Connect the standard streams with files, also for libraries that are not Python."""
        self.streams[0].write_bytes(stdin)
        for number, path in enumerate(self.streams):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY)
            if number == 1 and out:
                os.close(handle)
                hear, handle = (os.pipe() if out == "closed" else
                                (-1, os.open("/dev/full", os.O_WRONLY)))  # fmt: skip
                if hear >= 0:
                    os.close(hear)
            os.dup2(handle, number)
            os.close(handle)
        keep = {"encoding": "utf-8", "closefd": False}
        sys.stdin = open(0, **keep)  # noqa: SIM115
        sys.stdout = open(1, "w", **keep)  # noqa: SIM115
        sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, **keep)  # noqa: SIM115
        self.textfiles._input_was_read = False

    def _call(self, argv: list[str]) -> tuple[int, str]:
        from gecjury.cli import main

        self.sandbox.strayed = []
        self.sandbox.watching = True
        try:
            return main(argv), ""
        except SystemExit as leave:
            return leave.code if isinstance(leave.code, int) else int(leave.code is not None), ""
        except BaseException as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return 99, f"{type(error).__name__} at {frame.filename}:{frame.lineno}"
        finally:
            self.sandbox.watching = False

    def _judge(
        self, case: Any, status: int, raised: str, out: bytes, err: bytes
    ) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        told = err.decode("utf-8", "surrogateescape")
        shown = out.decode("utf-8", "surrogateescape")
        if "MemoryError" in raised or "out of memory" in told:
            found.append(("memory", "more than is allowed"))
        elif raised:
            found.append(("escaped", raised))
        elif status == 70:
            report = _REPORT.search(told)
            found.append(("traceback", _last_place(report[1]) if report else "no report named"))
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


def serve(pipe: Any, root: Path, memory: int) -> None:
    """Answer the requests of a pipe until there are no more."""
    os.setsid()
    for name in ("stdin", "stdout", "stderr"):
        (root / name).write_bytes(b"")
    worker = Worker(root, memory)
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(worker.run(*pipe.recv()))
