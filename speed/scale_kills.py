"""Kills in the middle of a run on a Ray cluster of three nodes: rows lost, and rows duplicated.

    python -m speed scale-kills --data DIR

The cluster is real (`ray.cluster_utils.Cluster`); its nodes are processes on this machine. ERRANT
reads 40 files. The first run is undisturbed, on local workers; then a node is killed in the middle,
then the driver, then 20 times a random one of driver, worker and node, by SIGKILL, at a random
moment after a part has been finished. A dead driver is started again with the same command, a dead
node is replaced, and a run that ends before all kills are done is compared and started again.
"""

from __future__ import annotations

import collections
import filecmp
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from speed.harness import Claim, Lacking, Options, checked, needs
from speed.scale_made import ids_of, make_files, rows_by_id, run_score, start_score, tree
from speed.seeda import read_seeda

__all__ = ["measure"]

_METRICS = ("-m", "errant")
_LONGEST_WAIT = 600.0  # seconds without a new part
_LATEST = 6.0  # seconds after a part, at most, for the next kill


def measure(options: Options) -> list[Claim]:
    """Make an unbroken run, then broken ones."""
    needs("pyarrow", "ray")
    if not Path("/proc").is_dir():
        raise Lacking("no /proc, in which workers are found")
    texts = read_seeda(options, "all")
    files, rows, kills = (12, 60, 3) if options.quick else (40, 1000, 20)
    claims = []
    with tempfile.TemporaryDirectory(prefix="gecjury-kills-") as name:
        folder = Path(name)
        made = make_files(texts, folder / "made", files, rows)
        whole = folder / "whole"
        run_score(made, [*_METRICS, "--workers", "2", "-o", str(whole)], folder / "said")
        with _Nodes() as nodes:
            for kinds, what in (
                (["node"], "a node killed in the middle"),
                (["driver"], "the driver killed in the middle"),
                (_drawn(kills), f"{kills} random kills"),
            ):
                broken = _Broken(made, folder, nodes, kinds, random.Random(kills))
                begin = time.perf_counter()
                outs = broken.run()
                seconds = time.perf_counter() - begin
                claims += _claims(what, made, whole, outs, broken, seconds)
                for out in outs:
                    shutil.rmtree(out)
    return claims


def _drawn(kills: int) -> list[str]:
    rng = random.Random(16)
    kinds = ["driver", "worker", "node"] * (kills // 3 + 1)
    kinds = kinds[:kills]
    rng.shuffle(kinds)
    return kinds


class _Nodes:
    """Three nodes of one processor each; the first, which has the cluster's state, stays."""

    def __enter__(self) -> _Nodes:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        from ray.cluster_utils import Cluster

        self._size = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
        self._cluster: Any = Cluster(
            initialize_head=True, head_node_args={**self._size, "include_dashboard": False}
        )
        self._others = [self._cluster.add_node(**self._size) for _ in range(2)]
        return self

    def __exit__(self, *exception: object) -> None:
        self._cluster.shutdown()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def kill_one(self, rng: random.Random) -> None:
        """Kill a node with all its processes, and replace it."""
        node = self._others.pop(rng.randrange(len(self._others)))
        self._cluster.remove_node(node, allow_graceful=False)
        self._others.append(self._cluster.add_node(**self._size))

    def kill_worker(self, rng: random.Random) -> bool:
        """Kill a process that scores; return whether there was one."""
        found = [pid for pid, _, command in tree(os.getpid()) if "ray::MapWorker" in command]
        if found:
            os.kill(rng.choice(found), signal.SIGKILL)
        return bool(found)


class _Broken:
    """Runs of one command, killed as listed and repeated until the last kill is done."""

    def __init__(
        self, made: list[Path], folder: Path, nodes: _Nodes, kinds: list[str], rng: random.Random
    ) -> None:
        self._made, self._folder, self._nodes = made, folder, nodes
        self._left = collections.deque(kinds)
        self._rng = rng
        self.done: collections.Counter[str] = collections.Counter()
        self.commands = 0

    def run(self) -> list[Path]:
        """Return folders of complete results."""
        outs: list[Path] = []
        while self._left or not outs:
            out = self._folder / f"broken-{len(outs)}"
            while not self._once(out):
                pass
            outs.append(out)
        return outs

    def _once(self, out: Path) -> bool:
        """Run the command once; return whether it finished."""
        os.environ["RAY_ADDRESS"] = self._nodes.address
        words = [*_METRICS, "--engine", "ray"]
        words += ["--workers", "3", "-o", str(out)]
        said = self._folder / "said"
        self.commands += 1
        process = start_score(self._made, words, said)
        try:
            while process.poll() is None:
                if not self._left:
                    process.wait(_LONGEST_WAIT * 3)
                elif self._next_part(process, out):
                    self._kill(process)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if process.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"status {process.returncode}:\n{said.read_text(encoding='utf-8')}")
        return process.returncode == 0

    def _next_part(self, process: subprocess.Popen[str], out: Path) -> bool:
        """Wait for a new part and a random time; return whether the run still continues."""
        before, since = _parts(out), time.perf_counter()
        while _parts(out) <= before:
            if process.poll() is not None:
                return False
            if time.perf_counter() - since > _LONGEST_WAIT:
                raise RuntimeError(f"no part within {_LONGEST_WAIT:.0f} s")
            time.sleep(0.1)
        time.sleep(self._rng.uniform(0, _LATEST))
        return process.poll() is None

    def _kill(self, process: subprocess.Popen[str]) -> None:
        kind = self._left[0]
        if kind == "driver":
            process.kill()
            process.wait()
        elif kind == "node":
            self._nodes.kill_one(self._rng)
        elif not self._nodes.kill_worker(self._rng):
            return
        self._left.popleft()
        self.done[kind] += 1


def _parts(out: Path) -> int:
    return len(list(out.glob("part-*.parquet")))


def _claims(
    what: str, made: list[Path], whole: Path, outs: list[Path], broken: _Broken, seconds: float
) -> list[Claim]:
    wanted = ids_of(whole)
    lost = twice = 0
    for out in outs:
        found = collections.Counter(ids_of(out))
        lost += len(set(wanted) - set(found))
        twice += sum(count - 1 for count in found.values())
    rows = rows_by_id(whole)
    by_rows = all(rows_by_id(out) == rows for out in outs)
    by_bytes = all(_same_parts(whole, out) for out in outs)
    killed = ", ".join(f"{count} × {kind}" for kind, count in sorted(broken.done.items()))
    size = f"{len(wanted):,} rows of {len(made)} files"
    return [
        checked(
            f"{what}: rows lost and rows twice",
            f"{lost} and {twice}",
            "0 and 0",
            lost == twice == 0,
            ours=seconds,
            lines=(f"{size}; killed {killed}; {broken.commands} commands, {len(outs)} whole runs",),
            agreement=True,
        ),
        checked(
            f"{what}: rows sorted by id as those of the unbroken run",
            "equal" if by_rows else "not equal",
            "equal",
            by_rows,
            agreement=True,
        ),
        checked(
            f"{what}: parts byte for byte as those of the unbroken run",
            "equal" if by_bytes else "not equal",
            "equal",
            by_bytes,
            agreement=True,
        ),
    ]


def _same_parts(one: Path, other: Path) -> bool:
    """Return whether two results have the same parts, byte for byte."""
    names = sorted(path.name for path in one.glob("part-*"))
    same, _, _ = filecmp.cmpfiles(one, other, names, shallow=False)
    return same == names == sorted(path.name for path in other.glob("part-*"))
