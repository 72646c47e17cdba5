"""Data may lie beside files such as `numpy.py`: no way of starting a process imports them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HOSTILE = ("numpy", "json", "random", "gecjury", "torch", "typing", "spacy", "ray", "string")
SOURCES = "\n".join(f"He go home {number} ." for number in range(40)) + "\n"
ROW = {"source": "He go .", "hypothesis": "He goes .", "references": ["He goes ."]}

WORKER = """
from gecjury.core.processes import SpawnedProcess
print(SpawnedProcess("gecjury.extraction.workers", "none", environment={}).ask([["a b", "a"]]))
"""
SCORE = ("-m", "gecjury", "score")
TEXTS = (*SCORE, "s.txt", "h.txt", "-r", "h.txt", "--no-cache")
ROWS = (*SCORE, "rows.jsonl", "-m", "changes", "-o", "out", "--workers", "2")
DRY = ("-m", "llm-s:model=tokenizer", "--dry-run", "--base-url", "http://127.0.0.1:9")
WAYS = {
    "tokens of a judge's requests": (*SCORE, "s.txt", "h.txt", *DRY),
    "workers for edits": ("-c", WORKER),
    "forks for edits": (*TEXTS, "-m", "errant:tagger=none", "--workers", "2"),
    "workers for data sets": ROWS,
    "Ray": (*ROWS, "--engine", "ray"),
}


def save_tokenizer(folder: Path) -> None:
    """Save a tokenizer of one word with a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0}, unk_token="?"))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?")
    fast.chat_template = "{{ messages[0]['content'] }}"
    fast.save_pretrained(folder)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.txt").write_text(SOURCES)
    (tmp_path / "h.txt").write_text(SOURCES.replace("go", "goes"))
    rows = [{**ROW, "source": f"He go {number} ."} for number in range(20_100)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def ran(folder: Path, *command: str, names: tuple[str, ...] = HOSTILE) -> None:
    """Run a command in a folder with files that are named like modules."""
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write('{name} ')\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.ray if way == "Ray" else ()) for way in WAYS]
)
def test_no_process_imports_from_the_working_folder(folder: Path, way: str) -> None:
    if way == "Ray":
        pytest.importorskip("ray")
    if "--dry-run" in WAYS[way]:
        save_tokenizer(folder / "tokenizer")
    ran(folder, "-P", *WAYS[way])


def test_the_module_itself_does_not(folder: Path) -> None:
    # Python itself runs a `gecjury.py` that lies there, and reads `os` and `sys` before.
    names = tuple(name for name in HOSTILE if name not in ("gecjury", "typing"))
    ran(folder, "-m", "gecjury", "score", "s.txt", "h.txt", "-m", "changes", names=names)


def test_only_one_module_starts_processes() -> None:
    # So that the ways above are all there are.
    root = Path(__file__).parents[3]
    starts = re.compile(
        r"^\s*(?:import|from) (?:subprocess|multiprocessing)|os\.(?:popen|system|exec|spawn)", re.M
    )
    packages = ("gecjury", "judges", "refless", "refbased")
    files = [file for package in packages for file in (root / package).rglob("*.py")]
    found = {file.relative_to(root).as_posix() for file in files if starts.search(file.read_text())}
    assert found == {"gecjury/core/processes.py"}
