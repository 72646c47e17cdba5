"""Norms of edit vectors: hand-computed values, equality with single runs, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.studies.norms import short_type, type_norms
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


def test_vectors_of_all_edits(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    edits, vectors = scorer.vectors_of(corpus, CPU)
    assert edits == [("a", 0, E1), ("a", 1, E1), ("a", 1, E2), ("b", 1, E3)]
    assert len(vectors) == 4
    with pytest.raises(InputError, match="no edit"):
        scorer.vectors_of(corpus.with_systems([]), CPU)


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


def test_the_command(shell: Shell, tiny_bert: Path) -> None:
    shell.write("source.txt", f"{SOURCE}\n{SOURCE}\n")
    header = f"S {SOURCE}\n"
    first = f"{header}A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n\n{header}"
    shell.write("one.m2", f"{first}A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0\n")
    second = f"{header}A 4 5|||U:ADV||||||REQUIRED|||-NONE-|||0\n\n{header}"
    shell.write("two.m2", f"{second}A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n")
    argv = ["analyse", "norms", "source.txt", "one.m2", "two.m2", "-m"]
    argv += [f"uot-errant:encoder={tiny_bert}", "--min-count", "1", "--no-cache"]
    status, out, err = shell(*argv, "--format", "json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert (document["analysis"], document["edits"]) == ("norms", 4)
    assert {row["type"]: row["edits"] for row in document["rows"]} == {
        "VERB:TENSE": 2, "PREP": 1, "ADV": 1,
    }  # fmt: skip
    status, out, _ = shell(*argv, "--only", "two", "--format", "json")
    assert (status, json.loads(out)["edits"]) == (0, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "green"], "analyse norms needs edit vectors"),
        (["--only", "mined"], "did you mean mine"),
    ],
)
def test_wrong_use(shell: Shell, words: list[str], message: str) -> None:
    status, _, err = shell("analyse", "norms", "source.txt", "mine.txt", *words)
    assert status == 2
    assert message in err
