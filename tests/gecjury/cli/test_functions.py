"""What a command prints as JSON is what its function gives; every option reaches the function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import gecjury
from gecjury.cli import attack, explain, score
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.reading import read_corpus
from gecjury.report.tables import to_json
from tests.shell import FIXED, SOURCE, Shell

HALF = [FIXED[0], *SOURCE[1:]]


@pytest.fixture
def corpus(shell: Shell) -> Corpus:
    """The files of the shell, a half-corrected one among them."""
    shell.write("half.txt", "".join(f"{line}\n" for line in HALF))
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


def test_score(shell: Shell, corpus: Corpus) -> None:
    pytest.importorskip("errant")
    found = gecjury.score(corpus, metrics=["green", "errant"])
    rows = found.rows(sentences=True, by_type=2)
    options = ["-m", "green", "-m", "errant", "--sentences", "--by-type", "2"]
    own = printed(shell, "score", *FILES, *options)
    assert own == as_json(score.document(found, rows))
    assert own["rows"] == as_json(rows)
    assert printed(shell, "score", *FILES, *options[:4])["rows"] == as_json(found.rows())


def test_attack(shell: Shell, corpus: Corpus) -> None:
    settings = gecjury.AttackSettings(
        attacks=["shuffle", "swap"], systems=["mine"], own={"worse": HALF}, share=0.7,
        resamples=25, seed=3,
    )  # fmt: skip
    found = gecjury.attack(corpus, metrics="green", settings=settings)
    options = ["-m", "green", "--attack", "shuffle", "--attack", "swap", "--system", "mine"]
    options += ["--perturbed", "worse=half.txt", "--share", "0.7", "--resamples", "25"]
    own = printed(shell, "attack", *FILES, *options, "--seed", "3")
    assert own == as_json(attack.document(found, FILES[:3]))
    assert own["rows"] == as_json(found.rows())


def test_explain(shell: Shell) -> None:
    pytest.importorskip("errant")
    words = [SOURCE[0], HALF[0], FIXED[0], SOURCE[0]]
    found = gecjury.explain(
        words[0], words[1], words[2:], metric="errant", attribution="shapley", samples=10, seed=4
    )
    options = ["-m", "errant", "--attribution", "shapley", "--samples", "10", "--seed", "4"]
    assert printed(shell, "explain", *words, *options) == as_json(explain.document(found))


@pytest.mark.parametrize("kind", ["edits", "scatter"])
def test_analyse(shell: Shell, kind: str) -> None:
    pytest.importorskip("errant")
    from gecjury.experiments.analyses import edit_density, human_scatter

    benchmark = gecjury.load_benchmark("sample")
    some = benchmark.corpus.with_systems(["careful", "noisy", "hasty"])
    functions: dict[str, Callable[[], Any]] = {
        "edits": lambda: edit_density(some),
        "scatter": lambda: human_scatter(benchmark, ["green", "gleu"], corpus=some),
    }
    only = [word for name in some.names for word in ("--only", name)]
    metrics = ["-m", "green", "-m", "gleu"] if kind == "scatter" else []
    own = printed(shell, "analyse", kind, "sample", *only, *metrics)
    assert (own["analysis"], own["corpus"]) == (kind, ["sample"])
    assert own["rows"] == as_json(functions[kind]().rows())


def test_a_damaged_version_is_named_once(shell: Shell, corpus: Corpus) -> None:
    words = ["attack", *FILES, "-m", "green", "--system", "mine"]
    status, out, err = shell(*words, "--perturbed", "x=half.txt", "--perturbed", "x=mine.txt")
    assert (status, out) == (2, "")
    assert "--perturbed x=mine.txt: the name x is taken" in err
