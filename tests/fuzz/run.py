"""Processes that run inputs, supervised: those that use too much time or memory are killed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "Result", "run", "tell"]

REPOSITORY = Path(__file__).resolve().parents[2]
SECONDS = 20.0
"""Maximum seconds for one input."""
MEMORY = 4 << 30
"""Maximum memory of the process in bytes."""
START = 120.0
"""Maximum seconds for the first input of a kind in a process, with imports and fixtures."""


@dataclass
class Outcome:
    """The outcome of one input; see `Worker.run`."""

    kind: str
    seed: int
    argv: list[str] = field(default_factory=list)
    status: int | None = None
    problems: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    peak: int = 0
    spoiled: list[str] = field(default_factory=list)
    err: str = ""
    out: str = ""
    again: bool | None = None

    @property
    def crashed(self) -> bool:
        """Whether the input ended the process."""
        return any(problem["what"] == "crash" for problem in self.problems)

    @property
    def command(self) -> str:
        """The command that runs this input alone."""
        return f"python -m tests.fuzz --kind {self.kind} --seed {self.seed} --inputs 1"


@dataclass
class Result:
    """All outcomes and their total time."""

    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes with a problem."""
        return [one for one in self.outcomes if one.problems]


class _Process:
    """A worker and the pipes to it, restarted whenever it has ended."""

    def __init__(self, root: Path, seconds: float, start: float, memory: int) -> None:
        self.root = root
        self.seconds, self.start, self.memory = seconds, start, memory
        self.child: subprocess.Popen[bytes] | None = None

    def _begin(self) -> None:
        for name in ("home", "tmp", "in"):
            shutil.rmtree(self.root / name, ignore_errors=True)
            (self.root / name).mkdir(parents=True)
        take, ask = os.pipe()
        hear, give = os.pipe()
        with (self.root / "begin").open("wb") as said:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", str(self.root), str(take), str(give)],
                cwd=self.root, pass_fds=(take, give), env=_environment(self.root), stderr=said,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        os.close(take)
        os.close(give)
        self.ask, self.hear, self.rest = ask, hear, b""
        self.met: set[str] = set()

    def end(self) -> None:
        if self.child is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        os.close(self.ask)
        os.close(self.hear)
        self.child = None

    def run(self, kind: str, seed: int) -> Outcome:
        if self.child is None:
            self._begin()
        assert self.child is not None
        begun = time.monotonic()
        patience = self.seconds if kind in self.met else self.start
        self.met.add(kind)
        try:
            os.write(self.ask, json.dumps([kind, seed]).encode() + b"\n")
        except BrokenPipeError:
            return self._lost(kind, seed, begun)
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.hear], [], [], 0.05)
            if ready:
                data = os.read(self.hear, 1 << 20)
                if not data:
                    return self._lost(kind, seed, begun)
                self.rest += data
            elif time.monotonic() - begun > patience:
                return self._stop(kind, seed, begun, "hang")
            elif _memory(self.child.pid) > self.memory:
                return self._stop(kind, seed, begun, "memory")
        line, _, self.rest = self.rest.partition(b"\n")
        outcome = Outcome(**json.loads(line))
        if outcome.seconds > patience:
            outcome.problems.append({"what": "hang", "where": f"{outcome.seconds} s"})
        if outcome.peak > self.memory:
            where = f"{outcome.peak >> 20} MB"
            outcome.problems.append({"what": "memory", "where": where})
            self.end()
        return outcome

    def _lost(self, kind: str, seed: int, begun: float) -> Outcome:
        assert self.child is not None
        status = self.child.wait()
        words = (self.root / "begin").read_text(errors="replace")[-1500:]
        with contextlib.suppress(OSError):
            words += (self.root / "stderr").read_text(errors="replace")[-1500:]
        where_from = words.strip().splitlines()[-1:] or ["nothing said"]
        self.end()
        where = f"the process ended with {status}: {where_from[0][:100]}"
        problems = [{"what": "crash", "where": where}]
        seconds = time.monotonic() - begun
        return Outcome(kind, seed, self._argv(), problems=problems, err=words, seconds=seconds)

    def _argv(self) -> list[str]:
        """Return the arguments of the running input."""
        try:
            found: list[str] = json.loads((self.root / "argv").read_bytes())
        except (OSError, ValueError):
            return []
        return found

    def _stop(self, kind: str, seed: int, begun: float, what: str) -> Outcome:
        assert self.child is not None
        before = (self.root / "stacks").stat().st_size
        with contextlib.suppress(OSError):
            os.kill(self.child.pid, signal.SIGUSR1)
        time.sleep(0.5)
        with (self.root / "stacks").open(encoding="utf-8", errors="replace") as file:
            file.seek(before)
            stack = file.read()
        self.end()
        found = re.findall(r'File "([^"]+)", line (\d+) in (\S+)', stack)
        own = [
            f for f in found if "/gecjury/" in f[0] or "/refbased/" in f[0] or "/judges/" in f[0]
        ]
        where = " < ".join(f"{'/'.join(Path(f).parts[-3:])}:{n} {name}" for f, n, name in own[:2])
        problems = [{"what": what, "where": where or "?"}]
        seconds = time.monotonic() - begun
        return Outcome(
            kind, seed, self._argv(), problems=problems, err=stack[-1500:], seconds=seconds
        )


def _environment(root: Path) -> dict[str, str]:
    kept = {
        key: os.environ[key] for key in ("PATH", "LANG", "LD_LIBRARY_PATH") if key in os.environ
    }
    # A package on that path is tested instead of the one in this repository.
    path = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), str(REPOSITORY)]
    return {
        **kept, "PYTHONPATH": os.pathsep.join(path), "HOME": str(root / "home"),
        "LC_ALL": "C.UTF-8",
        "TMPDIR": str(root / "tmp"), "XDG_CACHE_HOME": str(root / "home/cache"), "COLUMNS": "100",
        "GECJURY_CACHE": str(root / "home/gecjury"), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1",
        "HF_HOME": str(root / "home/hf"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0",
        "OPENAI_API_KEY": "sk-fuzz-key-of-nobody", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def _memory(process: int) -> int:
    """Return the current memory of a process in bytes."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def run(
    kinds: Sequence[str],
    inputs: int,
    seed: int,
    *,
    jobs: int = 1,
    keep: str | None = None,
    each: Callable[[Outcome], Any] = lambda outcome: None,
    confirm: bool = True,
    seconds: float = SECONDS,
    start: float = START,
    memory: int = MEMORY,
) -> Result:
    """Run inputs, cycling through the kinds.

    Args:
        kinds: names of `KINDS`.
        inputs: number of inputs over all kinds; the n-th of a kind has the seed `seed` + n.
        seed: seed of the first input.
        jobs: number of processes.
        keep: a folder for the files of the inputs, which is kept; by default one that is removed.
        each: called with every outcome.
        confirm: run failures again in a separate process, to distinguish the effects of an input
            from those of state that earlier inputs left in the process.
        seconds: see `SECONDS`.
        start: see `START`.
        memory: see `MEMORY`.
    """
    todo = iter([(kinds[n % len(kinds)], seed + n // len(kinds)) for n in range(inputs)])
    result, lock = Result(), threading.Lock()
    root = Path(keep) if keep else Path(tempfile.mkdtemp(prefix="gecjury-fuzz-"))
    begun = time.monotonic()

    def work(number: int) -> None:
        folder = root / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        process = _Process(folder, seconds, start, memory)
        try:
            while True:
                with lock:
                    chosen = next(todo, None)
                if chosen is None:
                    return
                outcome = process.run(*chosen)
                with lock:
                    result.outcomes.append(outcome)
                    each(outcome)
                last = result.outcomes[-5:]
                if len(last) == 5 and all(one.crashed for one in last):
                    return  # no input runs at all
        finally:
            process.end()

    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        result.seconds = time.monotonic() - begun
        if confirm:
            alone = root / "alone"
            alone.mkdir(exist_ok=True)
            seen: Counter[tuple[str, str]] = Counter()
            for failure in result.failures:
                group = (failure.problems[0]["what"], failure.problems[0]["where"])
                seen[group] += 1
                if seen[group] > 1:
                    continue
                process = _Process(alone, seconds, start, memory)
                failure.again = bool(process.run(failure.kind, failure.seed).problems)
                process.end()
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
    return result


def tell(result: Result) -> str:
    """Return counts by kind, failures by location, and a few messages."""
    lines = [f"{len(result.outcomes)} inputs in {result.seconds:.0f} s "
             f"({len(result.outcomes) / max(result.seconds, 0.01):.1f} a second)"]  # fmt: skip
    kinds: dict[str, list[Outcome]] = {}
    for one in result.outcomes:
        kinds.setdefault(one.kind, []).append(one)
    for kind, found in kinds.items():
        statuses = Counter(str(one.status) for one in found)
        exits = ", ".join(f"{status}: {n}" for status, n in sorted(statuses.items()))
        bad = sum(bool(one.problems) for one in found)
        mean = sum(one.seconds for one in found) / len(found)
        peak = max(one.peak for one in found) >> 20
        lines.append(f"  {kind:10} {len(found):6}  exit {exits}; failures {bad}; "
                     f"{mean * 1000:.0f} ms, at most {peak} MB")  # fmt: skip
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for one in result.failures:
        for problem in one.problems:
            where = problem["where"] if problem["what"] != "long" else one.kind
            groups.setdefault((problem["what"], where), []).append(one)
    counts = Counter(what for (what, _), found in groups.items() for _ in found)
    lines.append("failures: " + (", ".join(f"{w} {n}" for w, n in counts.items()) or "none"))
    for (what, where), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        first = min(found, key=lambda one: (len(one.argv), len(one.err)))
        alone = {True: "", False: " (not when run alone)", None: ""}[first.again]
        lines += [
            f"- {what}: {where}  × {len(found)}{alone}",
            f"    {first.command}",
            f"    gecjury {shlex.join(first.argv)[:300]!r}",
            f"    {first.err[:300]!r}",
        ]
    lines.append("messages:")
    said = [one for one in result.outcomes if not one.problems and one.status == 2 and one.err]
    for one in said[:: max(len(said) // 10, 1)][:10]:
        lines.append(f"  {one.kind}: {one.err.strip().splitlines()[0][:240]}")
    return "\n".join(lines)
