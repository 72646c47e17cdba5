"""A supervised process that runs inputs, and is replaced if it hangs, ends or needs too much."""

from __future__ import annotations

import multiprocessing
import os
import shlex
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fuzz import worker

SECONDS = 20.0
"""Maximum seconds for one input."""
START = 120.0
"""Maximum seconds for the first input of a kind in a process, with imports and fixtures."""
MEMORY = 4 << 30
"""Maximum memory of the process in bytes."""


@dataclass
class Outcome:
    """The outcome of one input; see `worker.Worker.run`."""

    kind: str
    seed: int
    argv: list[str] = field(default_factory=list)
    status: int | None = None
    problems: list[tuple[str, str]] = field(default_factory=list)
    err: str = ""


class _Process:
    """A worker process, started again whenever it has ended."""

    def __init__(self, root: Path, start: float, memory: int) -> None:
        self.root, self.start, self.memory = root, start, memory
        self.child: Any = None

    def run(self, kind: str, seed: int) -> Outcome:
        if self.child is None:
            self._begin()
        patience = SECONDS if kind in self.met else self.start
        self.met.add(kind)
        what = "crash"
        try:
            self.pipe.send((kind, seed))
            if self.pipe.poll(patience):
                return Outcome(**self.pipe.recv())
            what = "hang"
            os.kill(self.child.pid, signal.SIGABRT)  # which also writes where it hangs
        except (EOFError, OSError):
            pass
        self.child.join()
        where = f"status {self.child.exitcode}"
        said = (self.root / "stacks").read_text(errors="replace")[-1500:]
        self.child = None
        return Outcome(kind, seed, problems=[(what, where)], err=said)

    def _begin(self) -> None:
        for name in ("home", "tmp", "in", "shelf"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        spawn = multiprocessing.get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.met: set[str] = set()
        self.child = spawn.Process(target=worker.serve, args=(theirs, self.root, self.memory))
        with mock.patch.dict(os.environ, worker.environment(self.root), clear=True):
            self.child.start()
        theirs.close()

    def end(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.join()


def run(
    kinds: Sequence[str],
    inputs: int,
    seed: int,
    *,
    keep: str | None = None,
    each: Callable[[Outcome], Any] = lambda outcome: None,
    start: float = START,
    memory: int = MEMORY,
) -> list[Outcome]:
    """Run inputs, cycling through the kinds, and return their outcomes.

    Args:
        kinds: names of `KINDS`.
        inputs: number of inputs over all kinds; the n-th of a kind has the seed `seed` + n.
        seed: seed of the first input.
        keep: a folder for the files of the inputs, which is kept; by default one that is removed.
        each: called with every outcome.
        start: see `START`.
        memory: see `MEMORY`.
    """
    root = Path(keep or tempfile.mkdtemp(prefix="gecjury-fuzz-")).absolute()
    process, outcomes = _Process(root, start, memory), list[Outcome]()
    try:
        for number in range(inputs):
            outcomes.append(process.run(kinds[number % len(kinds)], seed + number // len(kinds)))
            each(outcomes[-1])
    finally:
        process.end()
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
    return outcomes


def tell(outcomes: Sequence[Outcome]) -> str:
    """Return counts by kind, and failures by location with a command that repeats each."""
    lines = []
    for kind in dict.fromkeys(one.kind for one in outcomes):
        statuses = Counter(str(one.status) for one in outcomes if one.kind == kind)
        lines.append(f"{kind:10} " + ", ".join(f"{s}: {n}" for s, n in sorted(statuses.items())))
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for one in outcomes:
        for problem in one.problems:
            groups.setdefault(problem, []).append(one)
    for (what, where), found in groups.items():
        first = min(found, key=lambda one: len(one.argv))
        lines += [
            f"- {what}: {where}  × {len(found)}",
            f"    python -m tests.fuzz --kind {first.kind} --seed {first.seed} --inputs 1",
            f"    gecjury {shlex.join(first.argv)[:300]!r}",
            f"    {first.err[:300]!r}",
        ]
    return "\n".join(lines)
