"""Kills in the middle of a run on a Ray cluster of two nodes: rows lost, and rows duplicated.

    python -m speed scale-kills --data DIR

The cluster is real (`ray.cluster_utils.Cluster`); its nodes are processes on this machine. ERRANT
reads 40 files. The first run is undisturbed, on local workers; then the second node is killed in
the middle, then the driver, then the first node, which has the cluster's state, then 20 times a
random one of driver, worker and second node: by SIGKILL, at a random moment after a part has been
finished. Nodes are replaced, and a command that ended is started again. A run that ends before all
kills are done is compared, too.
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
from collections.abc import Sequence
from pathlib import Path

from speed.harness import Claim, Options, checked
from speed.scale_made import TwoNodes, make_files, processes, read_result, run, score, start
from speed.seeda import read_seeda

_METRICS = ("-m", "errant")
_LONGEST_WAIT = 600.0  # seconds without a new part
_LATEST = 6.0  # seconds after a part, at most, for the next kill


def measure(options: Options) -> list[Claim]:
    """Make an unbroken run, then broken ones."""
    nodes = TwoNodes()
    texts = read_seeda(options, "all")
    files, rows, kills, latest = (8, 60, 2, 1.0) if options.quick else (40, 1000, 20, _LATEST)
    claims = []
    with tempfile.TemporaryDirectory(prefix="gecjury-kills-") as name, nodes:
        folder = Path(name)
        made = make_files(texts, folder / "made", files, rows)
        whole = folder / "whole"
        run(score(made, *_METRICS, "--workers", "2", "-o", str(whole)), folder / "said")
        rng = random.Random(16)
        plans = [
            (["node"], "a node killed in the middle"),
            (["driver"], "the driver killed in the middle"),
            (["first node"], "the first node killed in the middle"),
            (rng.sample(["driver", "worker", "node"] * kills, kills), f"{kills} random kills"),
        ]
        for kinds, what in plans[2:] if options.quick else plans:
            broken = _Broken(made, folder, nodes, kinds, rng, latest)
            begin = time.perf_counter()
            outs = broken.run()
            claims += _claims(what, whole, outs, broken, time.perf_counter() - begin)
            for out in outs:
                shutil.rmtree(out)
    return claims


class _Broken:
    """Runs of one command, killed as listed and repeated until the last kill is done."""

    def __init__(
        self,
        made: Sequence[Path],
        folder: Path,
        nodes: TwoNodes,
        kinds: Sequence[str],
        rng: random.Random,
        latest: float,
    ) -> None:
        self._made, self._folder, self._nodes = made, folder, nodes
        self._left = collections.deque(kinds)
        self._rng, self._latest = rng, latest
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
        words = score(self._made, *_METRICS, "--engine", "ray", "--workers", "2", "-o", str(out))
        said = self._folder / "said"
        self.commands += 1
        ended = False
        process = start(words, said)
        try:
            while process.poll() is None:
                if not self._left:
                    process.wait(_LONGEST_WAIT * 3)
                elif self._next_part(process, out):
                    ended = self._kill(process) or ended
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if process.returncode and not ended:
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
        time.sleep(self._rng.uniform(0, self._latest))
        return process.poll() is None

    def _kill(self, process: subprocess.Popen[str]) -> bool:
        """Kill the next on the list; return whether the command may end by that."""
        kind = self._left[0]
        if kind == "driver":
            process.kill()
        elif kind == "first node":
            self._nodes.kill_first()
            process.wait(_LONGEST_WAIT)
            self._nodes.begin_again()
        elif kind == "node":
            self._nodes.replace_second()
        else:
            scoring = [pid for pid, *_, command in processes() if "ray::MapWorker" in command]
            if not scoring:
                return False
            os.kill(self._rng.choice(scoring), signal.SIGKILL)
        self._left.popleft()
        self.done[kind] += 1
        return kind in ("driver", "first node")


def _parts(out: Path) -> int:
    return len(list(out.glob("part-*.parquet")))


def _claims(
    what: str, whole: Path, outs: list[Path], broken: _Broken, seconds: float
) -> list[Claim]:
    wanted = read_result(whole)["id"].to_pylist()
    lost = twice = 0
    for out in outs:
        counts = collections.Counter(read_result(out)["id"].to_pylist())
        lost += len(set(wanted) - set(counts))
        twice += sum(count - 1 for count in counts.values())
    equal = all(_same_parts(whole, out) for out in outs)
    killed = ", ".join(f"{count} × {kind}" for kind, count in sorted(broken.done.items()))
    return [
        checked(
            f"{what}: rows lost and rows twice",
            f"{lost} and {twice}",
            "0 and 0",
            lost == twice == 0,
            ours=seconds,
            lines=(
                f"{len(wanted):,} rows; killed {killed}; {broken.commands} commands, {len(outs)} "
                "whole runs",
            ),
            agreement=True,
        ),
        checked(
            f"{what}: parts byte for byte as those of the unbroken run",
            "equal" if equal else "not equal",
            "equal",
            equal,
            agreement=True,
        ),
    ]


def _same_parts(one: Path, other: Path) -> bool:
    """Return whether two results have the same parts, byte for byte."""
    names = sorted(path.name for path in one.glob("part-*"))
    same, _, _ = filecmp.cmpfiles(one, other, names, shallow=False)
    return same == names == sorted(path.name for path in other.glob("part-*"))
