"""Generated datasets of any size from real outputs, runs of `score` over them, and their results.

Texts are SEEDA's: all 1,312 sentences in seeded order over and over, each with the output of a
system drawn at random and the two official references. Every row ends with a unique number, and
half of the hypotheses get one more error (a word lost, doubled, moved or changed), so that rows are
not equal. A file depends only on its number: fewer rows are fewer of the same files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from speed.harness import ONE_THREAD, ROOT
from speed.seeda import Texts

__all__ = ["Ran", "ids_of", "make_files", "rows_by_id", "run_score", "start_score", "tree"]

_TICK = 0.25  # seconds between two samples of memory


def make_files(texts: Texts, folder: Path, files: int, rows: int, seed: int = 0) -> list[Path]:
    """Write Parquet files of distinct rows with `id`, `source`, `hypothesis` and `references`.

    Args:
        texts: texts that are repeated.
        folder: folder for the files; existing files are kept.
        files: number of files.
        rows: rows in each file.
        seed: seed of everything that is drawn.
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
        table = pa.table(_columns(texts, number, rows, seed))
        beside = path.with_suffix(".unfinished")
        pq.write_table(table, beside, compression="zstd", row_group_size=20_000)
        beside.replace(path)
    return made


def _columns(texts: Texts, number: int, rows: int, seed: int) -> dict[str, list[object]]:
    import numpy as np

    rng = np.random.default_rng((seed, number))
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


@dataclass
class Ran:
    """A run of `score` and the memory of its processes.

    Attributes:
        seconds: seconds by the clock, start included.
        status: exit status; negative if it was killed.
        peaks: peak resident memory in MB, by part: `driver`, `workers` (all together), `worker`
            (the largest) and `engine` (processes that do not score). Shared pages count in each
            process.
        said: its output on stderr.
    """

    seconds: float
    status: int
    peaks: dict[str, float] = field(default_factory=dict)
    said: str = ""


def start_score(dataset: Sequence[Path], words: Sequence[str], said: Path) -> subprocess.Popen[str]:
    """Start `python -m gecjury score DATASET... WORDS...`, with its messages in a file."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # One thread per worker, since workers already share the processor.
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "gecjury", "score", *map(str, dataset), *words]
    with said.open("w", encoding="utf-8") as stream:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=stream, stderr=stream, text=True
        )


def run_score(dataset: Sequence[Path], words: Sequence[str], said: Path) -> Ran:
    """Run the same command to its end, and sample its memory.

    Raises:
        RuntimeError: it failed; with its messages.
    """
    start = time.perf_counter()
    process = start_score(dataset, words, said)
    peaks: dict[str, float] = {}
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(process.pid, peaks, ended))
    watch.start()
    try:
        status = process.wait()
    finally:
        ended.set()
        watch.join()
        if process.poll() is None:
            process.kill()
    ran = Ran(time.perf_counter() - start, status, peaks, said.read_text(encoding="utf-8"))
    if status:
        raise RuntimeError(f"score ended with status {status}:\n{ran.said}")
    return ran


def _watch(pid: int, peaks: dict[str, float], ended: threading.Event) -> None:
    while not ended.wait(_TICK):
        found = {"driver": 0.0, "workers": 0.0, "worker": 0.0, "engine": 0.0}
        for process, held, command in tree(pid):
            if process == pid:
                found["driver"] += held
            elif "ray" not in command or "ray::MapWorker" in command:
                found["workers"] += held
                found["worker"] = max(found["worker"], held)
            else:
                found["engine"] += held
        for name, value in found.items():
            peaks[name] = max(peaks.get(name, 0.0), value)


def tree(pid: int) -> Iterator[tuple[int, float, str]]:
    """Yield a process and all its descendants: pid, MB of resident memory, command (Linux only)."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    page = os.sysconf("SC_PAGE_SIZE") / 1e6
    waiting = [pid]
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        try:
            held = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * page
            command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
        yield process, held, command


def rows_by_id(folder: Path) -> list[str]:
    """Return every row of a result as one line of JSON, sorted by id."""
    import pyarrow.parquet as pq

    rows: list[Mapping[str, object]] = []
    for path in sorted(folder.glob("part-*.parquet")):
        rows += pq.read_table(path).to_pylist()
    rows.sort(key=lambda row: str(row["id"]))
    return [json.dumps(row, sort_keys=True) for row in rows]


def ids_of(folder: Path) -> list[str]:
    """Return the ids of all rows of a result, part by part."""
    import pyarrow.parquet as pq

    found: list[str] = []
    for path in sorted(folder.glob("part-*.parquet")):
        found += pq.read_table(path, columns=["id"])["id"].to_pylist()
    return found
