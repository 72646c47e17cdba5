"""Generated datasets of any size from real outputs, clusters and runs over them, and their results.

Texts are SEEDA's: all 1,312 sentences in seeded order over and over, each with the output of a
system drawn at random and the two official references. Every row ends with a unique number, and
half of the hypotheses get one more error (a word lost, doubled, moved or changed), so that rows are
not equal. A file depends only on its number: fewer rows are fewer of the same files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from speed.harness import ONE_THREAD, ROOT, Lacking, needs
from speed.seeda import Texts

_TICK = 0.25  # seconds between two samples of memory
_NODE = {"num_cpus": 1, "object_store_memory": 2 * 2**30}


def make_files(texts: Texts, folder: Path, files: int, rows: int) -> list[Path]:
    """Write Parquet files of distinct rows with `id`, `source`, `hypothesis` and `references`.

    Args:
        texts: texts that are repeated.
        folder: folder for the files; existing files are kept.
        files: number of files.
        rows: rows in each file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for number in range(files):
        path = folder / f"made-{number:03d}.parquet"
        made.append(path)
        if path.exists():
            continue
        table = pa.table(_columns(texts, number, rows))
        beside = path.with_suffix(".unfinished")
        pq.write_table(table, beside, compression="zstd", row_group_size=20_000)
        beside.replace(path)
    return made


def _columns(texts: Texts, number: int, rows: int) -> dict[str, list[object]]:
    import numpy as np

    rng = np.random.default_rng((0, number))
    outputs = list(texts.systems.values())
    words = sorted({word for line in texts.sources for word in line.split()})
    made: dict[str, list[object]] = {n: [] for n in ("id", "source", "hypothesis", "references")}
    for begin in range(0, rows, len(texts.sources)):
        order = rng.permutation(len(texts.sources))[: rows - begin].tolist()
        systems = rng.integers(len(outputs), size=len(order)).tolist()
        errors = rng.integers(8, size=len(order)).tolist()
        places, drawn = rng.random(len(order)).tolist(), rng.random(len(order)).tolist()
        for at, (row, system, error) in enumerate(zip(order, systems, errors, strict=True)):
            name = number * rows + begin + at
            mark = f" #{name}"
            line = outputs[system][row]
            if error < 4 and line:
                new = words[int(drawn[at] * len(words))]
                line = _worse(line.split(), error, places[at], new)
            made["id"].append(f"row-{name:09d}")
            made["source"].append(texts.sources[row] + mark)
            made["hypothesis"].append(line + mark)
            made["references"].append([lines[row] + mark for lines in texts.references])
    return made


def _worse(words: list[str], error: int, place: float, new: str) -> str:
    at = int(place * len(words))
    if error == 0:
        del words[at]
    elif error == 1:
        words.insert(at, words[at])
    elif error == 2:
        words[at - 1], words[at] = words[at], words[at - 1]
    else:
        words[at] = new
    return " ".join(words)


class TwoNodes:
    """A Ray cluster of two nodes on this machine, one processor each; the first has its state."""

    def __init__(self) -> None:
        needs("pyarrow", "ray")
        if not Path("/proc").is_dir():
            raise Lacking("no /proc, in which processes are found")

    def __enter__(self) -> TwoNodes:
        from ray.cluster_utils import Cluster

        # Workers inherit the environment of their node.
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT), **ONE_THREAD}
        self._cluster: Any = Cluster(
            initialize_head=True, head_node_args={**_NODE, "include_dashboard": False}
        )
        self._second = self._cluster.add_node(**_NODE)
        os.environ["RAY_ADDRESS"] = str(self._cluster.address)
        return self

    def __exit__(self, *exception: object) -> None:
        self._cluster.shutdown()

    def replace_second(self) -> None:
        """Kill the second node with all its processes, and add another one."""
        self._cluster.remove_node(self._second, allow_graceful=False)
        self._second = self._cluster.add_node(**_NODE)

    def kill_first(self) -> None:
        """Kill the first node with all its processes, and the cluster's state."""
        self._cluster.remove_node(self._cluster.head_node, allow_graceful=False)

    def begin_again(self) -> None:
        """Start a new cluster."""
        self._cluster.shutdown()
        self.__enter__()


@dataclass
class Ran:
    """A run and the resources of its processes.

    Attributes:
        seconds: seconds by the clock, start included.
        processor: processor seconds of all processes, including those of Ray; sampled, so that
            those of a process's last quarter of a second may be missing.
        peaks: peak resident memory in MB, by part: `driver`, `workers` (all together), `worker`
            (the largest) and `engine` (Ray's own processes). Shared pages count in each process.
    """

    seconds: float
    processor: float
    peaks: dict[str, float] = field(default_factory=dict)


def score(dataset: Sequence[Path], *words: str) -> list[str]:
    """Return the words after `python` of `gecjury score DATASET... WORDS...`."""
    return ["-m", "gecjury", "score", *map(str, dataset), *words]


def start(words: Sequence[str], said: Path) -> subprocess.Popen[str]:
    """Start Python with these words, with its messages in a file."""
    # One thread per worker, since workers already share the processor.
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"}
    with said.open("w", encoding="utf-8") as stream:
        return subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env=environment, stdout=stream, stderr=stream,
            text=True,
        )  # fmt: skip


def run(words: Sequence[str], said: Path) -> Ran:
    """Run Python with these words to its end, and sample the memory of all our processes.

    Raises:
        RuntimeError: it failed; with its messages.
    """
    before = {pid: spent for pid, _, spent, _ in processes()}
    begin = time.perf_counter()
    process = start(words, said)
    peaks: dict[str, float] = {}
    spent = dict(before)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(process.pid, peaks, spent, ended))
    watch.start()
    try:
        status = process.wait()
        seconds = time.perf_counter() - begin
    finally:
        ended.set()
        watch.join()
        if process.poll() is None:
            process.kill()
    if status:
        raise RuntimeError(f"status {status}:\n{said.read_text(encoding='utf-8')}")
    return Ran(seconds, sum(spent.values()) - sum(before.values()), peaks)


def _watch(
    driver: int, peaks: dict[str, float], spent: dict[int, float], ended: threading.Event
) -> None:
    last = False
    while not last:
        last = ended.wait(_TICK)
        held = {"driver": 0.0, "workers": 0.0, "worker": 0.0, "engine": 0.0}
        for pid, memory, processor, command in processes():
            # Ray's nodes do not wait for their workers, so the system forgets those that end.
            spent[pid] = processor
            if pid == driver:
                held["driver"] += memory
            elif command.startswith("ray::") or "gecjury.datasets.work" in command:
                held["workers"] += memory
                held["worker"] = max(held["worker"], memory)
            else:
                held["engine"] += memory
        for name, value in held.items():
            peaks[name] = max(peaks.get(name, 0.0), value)


def processes() -> Iterator[tuple[int, float, float, str]]:
    """Yield our descendants (Linux only).

    Yields:
        The pid, MB of resident memory, processor seconds, and the command.
    """
    parents: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            fields = stat.rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    page = os.sysconf("SC_PAGE_SIZE") / 1e6
    waiting = parents.get(os.getpid(), [])
    while waiting:
        pid = waiting.pop()
        waiting += parents.get(pid, [])
        try:
            held = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        yield pid, held, spent[pid], command


def read_result(folder: Path) -> Any:
    """Return all rows of a result as an Arrow table, sorted by id."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parts = [pq.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables(parts).combine_chunks().sort_by("id")
