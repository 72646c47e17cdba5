"""Analyses of edit vectors: by hand, equal to single runs, and as commands on the sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.errors import InputError, OptionError
from gecjury.refbased.uot_errant.analyses import (
    EditTable,
    TypeNorm,
    compare_with_pot,
    edit_map,
    edit_table,
    layout,
    sentence_scores_by_layer,
    short_type,
    type_norms,
)
from gecjury.refbased.uot_errant.metric import UOTERRANT, sentence_scores_by_lambda
from gecjury.runtime import Runtime

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


def vectors_by_hand() -> EditTable:
    """Norms 5 and 13 of one type, 10 of another, 1 of a third."""
    vectors = np.array([[3.0, 4.0], [5.0, 12.0], [6.0, 8.0], [0.0, 1.0], [6.0, 8.0]])
    edits = (E1, E1, E2, E3, E2)
    return EditTable(("a", "a", "b", "b", "b"), (0, 1, 0, 0, 1), edits, vectors)


def test_norms_by_hand() -> None:
    assert type_norms(vectors_by_hand(), 2) == (
        TypeNorm("VERB:TENSE", 2, 9.0, 4.0),
        TypeNorm("PREP", 2, 10.0, 0.0),
    )
    assert type_norms(vectors_by_hand(), 1)[0] == TypeNorm("ADV", 1, 1.0, 0.0)
    with pytest.raises(InputError, match="no error type occurs 3 times among 5 edits"):
        type_norms(vectors_by_hand(), 3)


def test_a_map_holds_the_common_types() -> None:
    table = vectors_by_hand()
    points = edit_map(table, 2, "pca", 0)
    assert [(p.system, p.line, p.edit, p.type) for p in points] == [
        ("a", 0, E1, "VERB:TENSE"), ("a", 1, E1, "VERB:TENSE"),
        ("b", 0, E2, "PREP"), ("b", 1, E2, "PREP"),
    ]  # fmt: skip
    places = layout(table.vectors[[0, 1, 2, 4]], "pca", 0)
    assert [[p.x, p.y] for p in points] == places.tolist()
    two = EditTable(("a", "a"), (0, 1), (E1, E1), table.vectors[:2])
    with pytest.raises(OptionError, match="too few for a map"):
        edit_map(two, 1, "pca", 0)


def test_edit_table(tiny_bert: Path, corpus: Corpus) -> None:
    table = edit_table(UOTERRANT(encoder=str(tiny_bert)), corpus, CPU)
    assert table.systems == ("a", "a", "a", "b")
    assert table.lines == (0, 1, 1, 1)
    assert table.types == ("VERB:TENSE", "VERB:TENSE", "PREP", "ADV")
    np.testing.assert_allclose(table.norms, np.sqrt((table.vectors**2).sum(axis=1)))
    with pytest.raises(InputError, match="no edit"):
        edit_table(UOTERRANT(encoder=str(tiny_bert)), corpus.with_systems([]), CPU)


def test_short_types() -> None:
    assert [short_type(x) for x in ("R:NOUN:NUM", "M:DET", "ORTH")] == ["NOUN:NUM", "DET", "ORTH"]


def test_lambdas_equal_single_runs(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    found = sentence_scores_by_lambda(scorer, corpus, [0.1, 0.7], CPU)
    for value, table in zip((0.1, 0.7), found, strict=True):
        single = UOTERRANT(encoder=str(tiny_bert), lambda1=value, lambda2=value)
        expected = single.sentence_scores(single.statistics(corpus, CPU)).score
        np.testing.assert_allclose(table, expected, atol=1e-12)


def test_layers_equal_single_runs(tiny_bert: Path, corpus: Corpus) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    found = sentence_scores_by_layer(scorer, corpus, ["mean", "cls"], CPU)
    assert found.shape == (2, 3, 2, 2)
    for number, pooling in enumerate(("mean", "cls")):
        for layer in (1, 2, 3):
            single = UOTERRANT(encoder=str(tiny_bert), pooling=pooling, layer=layer)
            expected = single.sentence_scores(single.statistics(corpus, CPU)).score
            np.testing.assert_allclose(found[number, layer - 1], expected, atol=1e-5)
    with pytest.raises(OptionError, match="layer=2: all layers are tried"):
        sentence_scores_by_layer(UOTERRANT(encoder=str(tiny_bert), layer=2), corpus, ["cls"], CPU)


def test_layers_as_a_command(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.png"
    found = analyse(capsys, tiny_bert, "layers", "sample", "--figure", str(figure))
    assert [(row["pooling"], row["layer"]) for row in found["rows"]] == [
        (pooling, layer) for pooling in ("mean", "cls") for layer in (1, 2, 3)
    ]
    assert found["best"] in found["rows"]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_pot_is_never_better(tiny_bert: Path, corpus: Corpus) -> None:
    pytest.importorskip("ot")
    report, differences = compare_with_pot(UOTERRANT(encoder=str(tiny_bert)), corpus, CPU)
    assert report.problems == len(differences) > 2
    assert report.worse == 0
    assert report.largest_gap < 1e-6


def analyse(capsys: pytest.CaptureFixture[str], tiny: Path, *arguments: str) -> dict[str, Any]:
    own = "-m" in arguments or arguments[0] == "edits"
    metric = [] if own else ["-m", f"uot-errant:encoder={tiny}"]
    options = ["--format", "json", "--quiet", "--no-cache"]
    assert main(["analyse", *arguments, *metric, *options]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "source.txt").write_text(f"{SOURCE}\n{SOURCE}\n")
    header = f"S {SOURCE}\n"
    first = f"{header}A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n\n{header}"
    first += "A 2 3|||U:PREP||||||REQUIRED|||-NONE-|||0\n"
    (tmp_path / "one.m2").write_text(first)
    second = f"{header}A 4 5|||U:ADV||||||REQUIRED|||-NONE-|||0\n\n{header}"
    second += "A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n"
    (tmp_path / "two.m2").write_text(second)
    return [str(tmp_path / name) for name in ("source.txt", "one.m2", "two.m2")]


@pytest.mark.parametrize("kind", ["norms", "map", "edits", "cost", "solver"])
def test_commands_on_files(
    kind: str,
    files: list[str],
    tiny_bert: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.png"
    options = ["-r", files[2], "--figure", str(figure)]
    if kind in ("norms", "map"):
        options += ["--min-count", "1"]
    found = analyse(capsys, tiny_bert, kind, *files, *options)
    assert figure.read_bytes().startswith(b"\x89PNG")
    rows = found["rows"]
    if kind == "norms":
        assert {row["type"]: row["edits"] for row in rows} == {
            "VERB:TENSE": 2,
            "PREP": 1,
            "ADV": 1,
        }
    if kind == "map":
        assert len(rows) == 4
    if kind == "edits":
        assert [row["per_sentence"] for row in rows] == [1, 1]
    if kind == "cost":
        assert [row["systems"] for row in rows] == [1, 2]
    if kind == "solver":
        assert rows[0]["worse"] == 0


def test_wrong_use(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "lambda", *files]) == 2
    assert "name a benchmark" in capsys.readouterr().err
    assert main(["analyse", "norms", *files, "-m", "green"]) == 2
    assert "looks at edit vectors" in capsys.readouterr().err
    assert main(["analyse", "edits", *files, "--only", "onne"]) == 2
    assert "did you mean one" in capsys.readouterr().err
