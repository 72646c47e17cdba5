"""Scores of several metrics from Python: texts and benchmarks, error types, plain records."""

from __future__ import annotations

from pathlib import Path

import pytest

import gecjury
from gecjury.errors import InputError, OptionError
from gecjury.experiments.score import TypeCounts
from tests.shell import FIXED, SOURCE


def test_lists_of_sentences() -> None:
    found = gecjury.score(
        SOURCE, {"fixed": FIXED, "copy": SOURCE}, FIXED, metrics=["green", "gleu"]
    )
    own = gecjury.load("gleu").score(SOURCE, {"fixed": FIXED, "copy": SOURCE}, FIXED)
    rows = found.rows()
    assert [(row["metric"], row["system"]) for row in rows] == [
        ("green", "fixed"), ("green", "copy"), ("gleu", "fixed"), ("gleu", "copy"),
    ]  # fmt: skip
    assert [row["score"] for row in rows[2:]] == list(own.totals)
    assert rows[0]["precision"] == rows[0]["recall"] == 1
    assert "precision" not in rows[2]
    assert found.rows(sentences=True)[3]["sentences"] == own.sentences[1].tolist()
    text = str(found)
    assert text.splitlines()[0].split() == [
        "system", "metric", "family", "score", "precision", "recall",
    ]  # fmt: skip
    assert str(own.signature) in text
    assert repr(found) == "<Scored: 4 rows>"


def test_a_benchmark_by_name_and_score_files(tmp_path: Path) -> None:
    found = gecjury.score("sample", metrics="changes", folder=tmp_path / "out")
    corpus = gecjury.load_benchmark("sample").corpus
    assert [row["system"] for row in found.rows()] == list(corpus.names)
    assert len(list((tmp_path / "out").glob("changes-*.json"))) == 1
    # The second time everything is read.
    again = gecjury.score(corpus, metrics="changes", folder=tmp_path / "out")
    assert again.rows() == found.rows()
    assert [table.seconds for table in again.tables] == [0.0]


def test_error_types_by_hand() -> None:
    pytest.importorskip("errant")
    found = gecjury.score(
        ["He go home .", "She have cats ."],
        {"mine": ["He goes home .", "She have a cat ."]},
        ["He goes home .", "She has cats ."],
        metrics=["errant", "green"],
    )
    operations = {one.type: one for one in found.by_type(1)}
    # Of the reference's two replacements one was made; "a cat" adds a word and replaces one.
    assert (operations["R"].tp, operations["R"].fn) == (1, 1)
    assert operations["M"] == TypeCounts("mine", "errant", operations["M"].signature, "M", 0, 1, 0)
    assert {one.type for one in found.by_type(3)} >= {"R:VERB:SVA", "M:DET"}
    rows = found.rows(by_type=2)
    assert rows[0]["by_type"]["DET"]["precision"] == 0
    assert "by_type" not in rows[1]


def test_precision_recall_and_f_of_counts() -> None:
    counts = TypeCounts("x", "m", "s", "R", 2, 2, 6)
    assert (counts.precision, counts.recall) == (0.5, 0.25)
    # 1.25 · .5 · .25 / (.25 · .5 + .25)
    assert counts.f05 == pytest.approx(0.15625 / 0.375)
    nothing = TypeCounts("x", "m", "s", "R", 0, 1, 1)
    assert (nothing.precision, nothing.recall, nothing.f05) == (0, 0, 0)
    right = TypeCounts("x", "m", "s", "R", 0, 0, 0)
    assert (right.precision, right.recall, right.f05) == (1, 1, 1)


def test_no_metric_tells_types() -> None:
    with pytest.raises(OptionError, match="none of the metrics named counts error types"):
        gecjury.score("sample", metrics="green").by_type(1)


def test_what_is_refused_before_scoring(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="green needs references"):
        gecjury.score(SOURCE, {"x": FIXED}, metrics=["changes", "green"], folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_records_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    found = gecjury.score("sample", metrics=["green", "changes"])
    frame = pandas.DataFrame(found.rows())
    table = frame.pivot(index="system", columns="metric", values="score")
    assert table.loc["careful", "green"] == found.tables[0].totals["careful"]
