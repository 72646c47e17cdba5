"""What a command prints as JSON is what its function gives; every option reaches the function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import gecjury
from gecjury.cli import maege, tune
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.reading import read_corpus
from gecjury.report.tables import to_json
from tests.shell import FIXED, SOURCE, Shell

HALF = [FIXED[0], *SOURCE[1:]]
M2 = """\
S This are a sentence .
A 1 2|||SVA|||is|||REQUIRED|||-NONE-|||0
A 3 4|||Nn|||phrase|||REQUIRED|||-NONE-|||0
A 1 2|||SVA|||was|||REQUIRED|||-NONE-|||1

S He go home now
A 1 2|||Vt|||went|||REQUIRED|||-NONE-|||0
A 1 2|||Vform|||goes|||REQUIRED|||-NONE-|||1
A 4 4|||Mec|||.|||REQUIRED|||-NONE-|||1

"""


@pytest.fixture
def corpus(shell: Shell) -> Corpus:
    """The files of the shell, a half-corrected one among them."""
    shell.write("half.txt", "".join(f"{line}\n" for line in HALF))
    shell.write("gold2.m2", M2)
    return read_corpus("source.txt", ["mine.txt", "half.txt"], ["ref.txt"])


FILES = ["source.txt", "mine.txt", "half.txt", "-r", "ref.txt"]


def printed(shell: Shell, *argv: str) -> Any:
    """A command's JSON, timings left out."""
    status, out, _ = shell(*argv, "--format", "json")
    assert status == 0
    return untimed(json.loads(out))


def untimed(value: Any) -> Any:
    """A JSON value without its timings."""
    if isinstance(value, Mapping):
        return {key: untimed(item) for key, item in value.items() if key != "seconds"}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def as_json(document: object) -> Any:
    return untimed(json.loads(to_json(document)))


def test_maege(shell: Shell, corpus: Corpus) -> None:
    settings = gecjury.MaegeSettings(
        references=["all"], source="random", aggregate="mean", by_type=True, seeds=2, seed=5,
        chains=2, means=(0, 1, 2), variance=0.8, resamples=15,
    )  # fmt: skip
    found = gecjury.maege("gold2.m2", metrics=["green", "gleu"], settings=settings)
    options = ["--references", "all", "--source", "random", "--aggregate", "mean", "--by-type"]
    options += ["--seeds", "2", "--seed", "5", "--chains", "2", "--means", "0", "1", "2"]
    options += ["--variance", "0.8", "--resamples", "15", "-m", "green", "-m", "gleu"]
    own = printed(shell, "maege", "gold2.m2", *options)
    assert own == as_json(maege.document(found))
    assert own["by_type"] == as_json(found.type_rows())
    few = gecjury.maege("gold2.m2", metrics="green", settings=gecjury.MaegeSettings(sentences=1))
    own = printed(shell, "maege", "gold2.m2", "-m", "green", "--sentences", "1")
    assert own == as_json(maege.document(few))
    assert own["sentences"] == 1


def test_tune(shell: Shell) -> None:
    benchmarks = [
        gecjury.load_benchmark("sample", systems="all", view="sentence") for _ in range(2)
    ]
    settings = gecjury.TuneSettings(human_scores="trueskill", aggregate="mean", folds=3, seed=2)
    found = gecjury.tune("green:beta=0.5:2:0.5", benchmarks[0], benchmarks[1:], settings=settings)
    options = ["--systems", "all", "--human", "sentence", "--human-scores", "trueskill"]
    options += ["--aggregate", "mean", "--folds", "3", "--seed", "2"]
    words = ["green:beta=0.5:2:0.5", "sample", "--test", "sample"]
    own = printed(shell, "tune", *words, *options)
    assert own == as_json(tune.document(found))
    about = {"benchmark": "sample", "human": "sentence"}
    assert [*(about | row for row in own["found"]), *own["elsewhere"]] == as_json(found.rows())
