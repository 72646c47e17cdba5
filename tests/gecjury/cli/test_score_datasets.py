"""`gecjury score` on datasets: recognition, options, output, and result folders as scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.datasets import rows, write
from tests.shell import Shell

pytest.importorskip("pyarrow")


def json_of(shell: Shell, *words: str) -> Any:
    status, out, err = shell(*words, "--format", "json")
    assert status == 0, err
    return json.loads(out)


def refused(shell: Shell, *words: str) -> str:
    status, _, err = shell(*words)
    assert status == 2
    return err


def test_a_dataset_is_scored_and_printed_as_texts_are(shell: Shell, tmp_path: Path) -> None:
    data = [{**row, "hypothesis": row["other"]} for row in rows(20)]
    write(tmp_path / "a.parquet", data)
    out = json_of(shell, "score", "a.parquet", "-m", "green", "-o", "out", "--keep", "green >= .87")
    for name in ("source", "hypothesis"):
        shell.write(f"{name}.txt", "".join(row[name] + "\n" for row in data))
    shell.write("r.txt", "".join(row["references"][0] + "\n" for row in data))
    text = json_of(shell, "score", "source.txt", "hypothesis.txt", "-r", "r.txt", "-m", "green")
    for key in ("score", "precision", "recall", "metric", "family"):
        assert out["rows"][0][key] == pytest.approx(text["rows"][0][key])
    assert (out["read"], out["bad"]) == (20, 0)
    assert 0 < out["kept"] == 20 - out["conditions"][0]["removed"] < 20


def test_the_fields_of_json_lines_decide_between_texts_and_datasets(
    shell: Shell, tmp_path: Path
) -> None:
    shell.write("source.jsonl", '{"source": "a b"}\n')
    shell.write("mine.jsonl", '{"hypothesis": "a c"}\n')
    result = json_of(shell, "score", "source.jsonl", "mine.jsonl", "-m", "changes")
    assert result["rows"][0]["system"] == "mine"
    write(tmp_path / "a.jsonl", rows(3))
    write(tmp_path / "b.jsonl", rows(4, start=3))
    for names in (["a.jsonl", "b.jsonl"], ["a.jsonl"]):
        result = json_of(shell, "score", *names, "-m", "changes", "-o", "out-" + "-".join(names))
        assert result["read"] == (7 if len(names) == 2 else 3)


def test_parquet_files_with_references_of_their_own_are_texts(shell: Shell, tmp_path: Path) -> None:
    texts = {"source": "a b", "hypothesis": "a c", "reference": "a c"}
    for name, text in texts.items():
        write(tmp_path / f"{name}.parquet", [{name: text}])
    files = ("source.parquet", "hypothesis.parquet", "-r", "reference.parquet")
    assert json_of(shell, "score", *files, "-m", "green")["rows"][0]["score"] == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a.parquet", "-m", "changes"], "name the folder of its scores with -o"),
        (["a.parquet", "-m", "green", "-o", "o", "-r", "ref.txt"], "--column references=NAME"),
        (["a.parquet", "-m", "green", "-o", "o", "--sentences"], "--sentences is for text files"),
        (
            ["source.txt", "mine.txt", "-m", "changes", "--keep", "changes < 1"],
            "--keep is for data",
        ),
        (["source.txt", "-m", "changes"], "arguments are required: HYP"),
        (["source.txt", "a.parquet", "-m", "changes"], "a.parquet"),
        (["a.parquet", "-m", "green", "-o", "o", "--keep", "green >"], "column 8"),
        (["none.parquet", "-m", "green", "-o", "o"], "no such file"),
        (["a.parquet", "-m", "green", "-o", "ref.txt"], "is a file"),
    ],
)
def test_wrong_use_is_refused(
    shell: Shell, tmp_path: Path, words: list[str], expected: str
) -> None:
    write(tmp_path / "a.parquet", rows(3))
    assert expected in refused(shell, "score", *words)


def test_a_folder_of_results_is_compared_as_scores(shell: Shell, tmp_path: Path) -> None:
    data = rows(30)
    write(tmp_path / "a.parquet", data)
    columns = ["--column", "hypothesis=hypothesis", "--column", "hypothesis=other"]
    names = ["green", "changes"]
    metrics = [word for name in names for word in ("-m", name)]
    json_of(shell, "score", "a.parquet", *metrics, *columns, "-o", "out")
    for name in ("source", "hypothesis", "other"):
        shell.write(f"{name}.txt", "".join(row[name] + "\n" for row in data))
    shell.write("r.txt", "".join(row["references"][0] + "\n" for row in data))
    files = ["source.txt", "hypothesis.txt", "other.txt", "-r", "r.txt"]
    given = json_of(shell, "rank", *files, "-m", "scores:file=out,metric=changes")
    own = json_of(shell, "rank", *files, "-m", "changes")
    pairs = zip(given["rows"], own["rows"], strict=True)
    assert all(a["score"] == pytest.approx(b["score"]) for a, b in pairs)
    assert [row["system"] for row in given["rows"]] == [row["system"] for row in own["rows"]]
    assert "choose one with metric=NAME" in refused(shell, "rank", *files, "-m", "scores:file=out")
    (tmp_path / "out" / "results.json").unlink()
    err = refused(shell, "rank", *files, "-m", "scores:file=out,metric=green")
    assert "has not finished" in err


def test_null_scores_of_good_rows_give_status_1(shell: Shell, tmp_path: Path) -> None:
    long = " ".join(str(n) for n in range(6000))
    data = [
        *rows(2),
        {**rows(1)[0], "source": long, "hypothesis": long[::-1], "references": [long]},
    ]
    write(tmp_path / "a.parquet", data)
    status, out, _ = shell("score", "a.parquet", "-m", "i-measure", "-o", "o", "--format", "json")
    result = json.loads(out)
    assert (status, result["nulls"]) == (1, {"i-measure": {"no score": 1}})
