"""Analyses of edit vectors: hand-computed values, equality with single runs, and commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.studies.analyses import (
    Lambda,
    Map,
    best_variant,
    layout,
    short_type,
    type_norms,
)
from tests.shell import Shell

pytest.importorskip("torch")

CPU = Runtime(device="cpu", use_cache=False)
SOURCE = "he go to home yesterday ."
E1 = Edit(1, 2, "went", "R:VERB:TENSE")
E2 = Edit(2, 3, "", "U:PREP")
E3 = Edit(4, 5, "", "U:ADV")


def version(*lines: tuple[Edit, ...]) -> Version:
    texts = tuple(" ".join(apply_edits(SOURCE.split(), edits)) for edits in lines)
    return Version(texts, lines)


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(
        (SOURCE, SOURCE),
        {"a": version((E1,), (E1, E2)), "b": version((), (E3,))},
        (version((E1, E2), (E2,)), version((E3,), ())),
    )


VECTORS = np.array([[3.0, 4.0], [5.0, 12.0], [6.0, 8.0], [0.0, 1.0], [6.0, 8.0]])
"""Norms 5 and 13 for one type, 10 twice for another, 1 for a third."""

TYPES = ["VERB:TENSE", "VERB:TENSE", "PREP", "ADV", "PREP"]


def test_norms_by_hand() -> None:
    tense = ("VERB:TENSE", {"edits": 2, "mean": 9.0, "stdev": 4.0})
    preposition = ("PREP", {"edits": 2, "mean": 10.0, "stdev": 0.0})
    assert list(type_norms(TYPES, VECTORS, 2).items()) == [tense, preposition]
    adverb = ("ADV", {"edits": 1, "mean": 1.0, "stdev": 0.0})
    assert list(type_norms(TYPES, VECTORS, 1).items()) == [adverb, tense, preposition]
    with pytest.raises(InputError, match="no error type occurs 3 times among 5 edits"):
        type_norms(TYPES, VECTORS, 3)


def test_a_map_contains_the_frequent_types(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    _, vectors = scorer.vectors_of(corpus, CPU)
    result = Map(min_count=1)(corpus, scorer, runtime=CPU)
    rows = result.rows()
    assert [(row["system"], row["line"], row["edit"], row["type"]) for row in rows] == [
        ("a", 1, "1 2 went", "VERB:TENSE"), ("a", 2, "1 2 went", "VERB:TENSE"),
        ("a", 2, "2 3 ", "PREP"), ("b", 2, "4 5 ", "ADV"),
    ]  # fmt: skip
    assert [[row["x"], row["y"]] for row in rows] == layout(vectors, "pca", 0).tolist()
    with pytest.raises(OptionError, match="2 edits are too few for a map"):
        Map(min_count=2)(corpus, scorer, runtime=CPU)


def test_vectors_of_all_edits(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    edits, vectors = scorer.vectors_of(corpus, CPU)
    assert edits == [("a", 0, E1), ("a", 1, E1), ("a", 1, E2), ("b", 1, E3)]
    assert len(vectors) == 4
    with pytest.raises(InputError, match="no edit"):
        scorer.vectors_of(corpus.with_systems([]), CPU)


def test_the_best_variant() -> None:
    assert best_variant([0.9, 0.8996, 0.899], [0.5, 0.6, 0.7]) == 1


def test_steps() -> None:
    assert Lambda(step=0.1, stop=0.3).values == [0.1, 0.2, 0.3]
    assert Lambda(step=0.2, stop=0.5).values == [0.2, 0.4]
    with pytest.raises(OptionError, match="expected 0 < step <= stop"):
        Lambda(step=0.5, stop=0.2)


def test_short_types() -> None:
    assert [short_type(x) for x in ("R:NOUN:NUM", "M:DET", "ORTH")] == ["NOUN:NUM", "DET", "ORTH"]


def test_lambdas_equal_single_runs(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    points = [{"lambda1": value, "lambda2": value} for value in (0.1, 0.7)]
    tables = scorer.sweep(points, corpus, CPU)
    assert tables is not None
    for value, table in zip((0.1, 0.7), tables, strict=True):
        single = UOTERRANT(encoder=str(tiny_bert), lambda1=value, lambda2=value)
        expected = single.sentence_scores(single.statistics(corpus, CPU)).score
        np.testing.assert_allclose(table, expected, atol=1e-12)


@pytest.fixture
def files(shell: Shell, tiny_bert: Path) -> Callable[..., dict[str, Any]]:
    """A function that runs an analysis with some files in the folder and returns its JSON."""
    shell.write("source.txt", f"{SOURCE}\n{SOURCE}\n")
    header = f"S {SOURCE}\n"
    first = f"{header}A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n\n{header}"
    shell.write("one.m2", f"{first}A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0\n")
    second = f"{header}A 4 5|||U:ADV||||||REQUIRED|||-NONE-|||0\n\n{header}"
    shell.write("two.m2", f"{second}A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n")

    def analyse(kind: str, *words: str) -> dict[str, Any]:
        metric = [] if kind == "edits" else ["-m", f"uot-errant:encoder={tiny_bert}"]
        figure = ["--figure", "figure.png", "--format", "json", "--no-cache"]
        status, out, err = shell("analyse", kind, *words, *metric, *figure)
        assert (status, err) == (0, "")
        assert (shell.folder / "figure.png").read_bytes().startswith(b"\x89PNG")
        document: dict[str, Any] = json.loads(out)
        return document

    return analyse


ROWS: dict[str, Any] = {
    "norms": [("VERB:TENSE", 2), ("PREP", 1), ("ADV", 1)],
    "map": 4,
    "edits": [1, 1],
}


@pytest.mark.parametrize("kind", ROWS)
def test_commands_on_files(files: Callable[..., dict[str, Any]], kind: str) -> None:
    pytest.importorskip("matplotlib")
    count = ["--min-count", "1"] if kind in ("norms", "map") else []
    rows = files(kind, "source.txt", "one.m2", "two.m2", "-r", "two.m2", *count)["rows"]
    figures = {
        "norms": lambda: sorted(((r["type"], r["edits"]) for r in rows), key=str, reverse=True),
        "map": lambda: len(rows),
        "edits": lambda: [row["per_sentence"] for row in rows],
    }
    assert figures[kind]() == ROWS[kind]


@pytest.mark.slow
def test_commands_on_a_benchmark(files: Callable[..., dict[str, Any]]) -> None:
    pytest.importorskip("matplotlib")
    document = files("lambda", "sample", "--step", "0.25")
    assert [row["lambda"] for row in document["rows"]] == [0.25, 0.5, 0.75, 1.0]
    assert document["best"] in document["rows"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["lambda"], "analyse lambda compares with human scores: name a benchmark"),
        (["norms", "-m", "green"], "analyse norms needs edit vectors"),
        (["edits", "--only", "mined"], "did you mean mine"),
    ],
)
def test_wrong_use(shell: Shell, words: list[str], message: str) -> None:
    kind, *more = words
    status, _, err = shell("analyse", kind, "source.txt", "mine.txt", *more)
    assert status == 2
    assert message in err
