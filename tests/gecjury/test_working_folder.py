"""Nothing is imported from the working directory, by any way in which processes are started."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import datasets, tiny

pytestmark = pytest.mark.security
ROOT = Path(__file__).parents[2]
NAMES = (
    "numpy",
    "json",
    "random",
    "pickle",
    "gecjury",
    "token",
    "inspect",
    "torch",
    "spacy",
    "ray",
)
MARK = "import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()"
MAIN = "from gecjury.__main__ import run\nif __name__ == '__main__': "
SCORE = ("score", "source.txt", "mine.txt", "-r", "source.txt", "--tokens", "space")
DATASET = """
import gecjury
from gecjury.datasets.engines import LocalEngine
from gecjury.datasets.ray_engine import RayEngine
gecjury.score_dataset("mine.jsonl", "out", metrics="changes", shard_rows=4, engine={})
"""
EDITS = """
from gecjury.extraction import workers
pairs = [(f"He go {n} .", f"He goes {n} .") for n in range(200)]
workers.may_fork = lambda: FORK
assert len(list(workers.extract_in_workers(pairs, "embedded", 2))) == 200
"""
FORKS = (
    "from gecjury.core.processes import in_forks; in_forks(lambda n: __import__('random') and n, 3)"
)
SPAWN = """
    import multiprocessing
    multiprocessing.get_context("spawn").Process(target=print).start()
"""
WAYS = {
    "token counts of a dry run": (*SCORE, "-m", "llm-s:model=../model", "--dry-run"),
    "workers of a dataset": (DATASET.format("LocalEngine(2)"),),
    "actors of Ray": (DATASET.format("RayEngine('local', 1)"),),
    "extraction in children": (EDITS.replace("FORK", "False"),),
    "extraction in forks": (EDITS.replace("FORK", "True"),),
    "statistics in forks": (FORKS,),
    "children of libraries": (MAIN + "\n    run()" + SPAWN, "metrics", "green"),
    "python -m gecjury": ("-m", "gecjury", *SCORE, "-m", "green"),
    "the program gecjury": (*SCORE, "-m", "green"),
}


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=pytest.mark.ray if "Ray" in way else ()) for way in WAYS],
)
def test_processes_import_nothing_from_the_working_directory(way: str, tmp_path: Path) -> None:
    words = WAYS[way]
    if "counts" in way:
        pytest.importorskip("transformers")
        tiny.language_model(tmp_path / "model")
        (tmp_path / "model" / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    package = "ray" if "Ray" in way else "spacy" if "extraction" in way else "numpy"
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("source.txt", "mine.txt"):
        (folder / name).write_text("He goes home .\n")
    datasets.write(folder / "mine.jsonl", datasets.rows(12))
    for name in NAMES:
        # For `python -m gecjury` Python itself finds that file, before any of our code.
        if words[0] != "-m" or name not in ("gecjury", "token", "inspect"):
            (folder / f"{name}.py").write_text(MARK)
    (tmp_path / "main.py").write_text(MAIN + "run()" if words[0] == "score" else words[0])
    program = shutil.which("gecjury", path=str(Path(sys.executable).parent))
    if words[0] == "-m" or (words[0] == "score" and program):
        command = [sys.executable if words[0] == "-m" else str(program), *words]
    else:
        command = [sys.executable, str(tmp_path / "main.py"), *words[words[0] != "score" :]]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
    done = subprocess.run(
        command, cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not list(folder.glob("*.ran"))
    assert done.returncode == 0, done.stderr


def test_all_ways_to_start_a_process_are_tested() -> None:
    starts = re.compile(r"\b(?:subprocess|multiprocessing|os\.fork|os\.exec|os\.spawn|ray\.init)\b")
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("gecjury", "refbased", "refless", "judges")
        for path in (ROOT / room).rglob("*.py")
        if starts.search(path.read_text(encoding="utf-8"))
    }
    # pip, which needs an index, is started without the working folder by Python's own option.
    pip = found - {"gecjury/core/processes.py", "gecjury/datasets/ray_engine.py"}
    assert pip == {"gecjury/benchmarks/wheels.py"}
    assert '[sys.executable, "-P", "-m", "pip"' in (ROOT / pip.pop()).read_text(encoding="utf-8")
