"""Datasets scored end to end, compared with the scores of the same texts."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest

import gecjury
from gecjury.core.errors import GecjuryError, IncompleteError, InputError, OptionError, OutputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.datasets.engines import LocalEngine
from gecjury.datasets.run import DatasetScores, score_dataset
from gecjury.datasets.shards import Shard, ShardJob, ShardSummary
from gecjury.datasets.work import Worker
from gecjury.refless.changes import Changes
from gecjury.scoring.scores import Statistics

METRICS = ["green", "changes", "gleu", "i-measure"]


def whole(rows: Sequence[dict[str, Any]], metrics: Sequence[str], systems: Sequence[str]) -> Any:
    references = list(zip(*(row["references"] for row in rows), strict=True))
    corpus = corpus_of_texts(
        [row["source"] for row in rows],
        {name: [row[name] for row in rows] for name in systems},
        references,
    )
    return [gecjury.load(metric).score_corpus(corpus) for metric in metrics]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.gz", "a.json"])
def test_rows_and_corpus_are_scored_like_texts(tmp_path: Path, made: Any, name: str) -> None:
    rows = made.rows(60)
    options = {"row_group_size": 7} if name.endswith("parquet") else {}
    path = made.write(tmp_path / name, rows, **options)
    found = score_dataset(path, tmp_path / "out", metrics=METRICS, shard_rows=11)
    expected = whole(rows, METRICS, ["hypothesis"])
    scored = made.read(tmp_path / "out")
    assert [row["id"] for row in scored] == [row["id"] for row in rows]
    for table, record in zip(expected, found.rows(), strict=True):
        label = table.signature.label
        np.testing.assert_array_equal([row[label] for row in scored], table.sentences[0])
        assert record["score"] == pytest.approx(table.totals["hypothesis"], rel=1e-12)
        if table.precision is not None:
            assert record["precision"] == pytest.approx(table.precision[0], rel=1e-12)
            parts = [row[f"{label}.precision"] for row in scored]
            np.testing.assert_array_equal(parts, table.by_sentence.precision[0])
    assert (found.results.read, found.results.bad, found.unanswered) == (60, 0, 0)


def test_several_hypotheses_and_varying_numbers_of_references(tmp_path: Path, made: Any) -> None:
    rows = made.rows(20, references=2) + made.rows(20, references=1, start=20)
    path = made.write(tmp_path / "a.parquet", rows)
    found = score_dataset(
        path,
        tmp_path / "out",
        metrics=["green", "gleu", "green:n=2"],
        columns={"hypothesis": ["hypothesis", "other"]},
        shard_rows=13,
    )
    scored = made.read(tmp_path / "out")
    for part, begin in ((rows[:20], 0), (rows[20:], 20)):
        for table in whole(part, ["gleu", "green:n=2"], ["hypothesis", "other"]):
            for number, system in enumerate(("hypothesis", "other")):
                column = f"{system}.{table.signature.label}"
                mine = [row[column] for row in scored[begin : begin + 20]]
                np.testing.assert_array_equal(mine, table.sentences[number])
    by_name = {(r["system"], r["metric"]): r["score"] for r in found.rows()}
    assert by_name["hypothesis", "gleu"] is None
    assert any(
        "gleu: no corpus score: with several references" in note for note in found.results.notes
    )
    assert by_name["other", "green"] is not None


def test_references_may_be_lists_written_as_text(tmp_path: Path, made: Any) -> None:
    rows = made.rows(8)
    expected = score_dataset(
        made.write(tmp_path / "a.jsonl", rows), tmp_path / "a", metrics=["green"]
    )
    for place, row in enumerate(rows):
        row["references"] = (str, json.dumps)[place % 2](row["references"])
    path = made.write(tmp_path / "b.parquet", rows)
    found = score_dataset(path, tmp_path / "b", metrics=["green"])
    assert found.rows()[0]["score"] == expected.rows()[0]["score"]
    rows[2]["references"] = "['He 'goes' home .']"
    path = made.write(tmp_path / "c.jsonl", rows)
    assert score_dataset(path, tmp_path / "c", metrics=["green"]).results.bad == 1
    (line,) = (tmp_path / "c" / "bad-rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert "looks like a list written as text" in json.loads(line)["reason"]


BAD = [
    ({"source": None}, "source is null"),
    ({"hypothesis": None}, "hypothesis is null"),
    ({"references": None}, "references is null"),
    ({"references": []}, "references is an empty list"),
    ({"references": [None, "-NONE-"]}, "references contains no reference"),
    ({"source": "x" * 200_000}, "source is too long"),
    ({"id": None}, "id is null; expected text or a whole number"),
]


@pytest.mark.security
@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_bad_rows_are_recorded_and_keep_their_position(
    tmp_path: Path, made: Any, name: str
) -> None:
    rows = made.rows(len(BAD) * 2)
    for place, (change, _) in enumerate(BAD):
        rows[place * 2].update(change)
    path = made.write(tmp_path / name, rows)
    found = score_dataset(path, tmp_path / "out", metrics=["green"], shard_rows=5)
    scored = made.read(tmp_path / "out")
    assert len(scored) == len(rows)
    assert [row["green"] is None for row in scored] == [True, False] * len(BAD)
    lines = (tmp_path / "out" / "bad-rows.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["row"] for record in records] == list(range(1, 2 * len(BAD), 2))
    for record, (_, expected) in zip(records, BAD, strict=True):
        assert record["file"] == name
        assert re.search(expected, record["reason"])
    assert found.results.bad == len(BAD)
    assert found.unanswered == 0
    assert sum(found.results.nulls["green"].values()) == len(BAD)
    good = [row for place, row in enumerate(rows) if place % 2]
    expected_total = whole(good, ["green"], ["hypothesis"])[0].totals["hypothesis"]
    assert found.rows()[0]["score"] == pytest.approx(expected_total, rel=1e-12)


@pytest.mark.security
@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (b"{", "line 3: cannot be read as JSON lines"),
        (b"[1]", "line 3"),
        (b'{"source": "\xff"}', "line 3|rows 1 to 3: a text is not UTF-8"),
        (b'{"source": "\\ud800", "hypothesis": "a"}', "line 3.*surrogate"),
        (b'{"source": ' + b"[" * 3000, "line 3"),
    ],
)
def test_a_file_with_a_line_that_is_not_an_object_is_refused(
    tmp_path: Path, made: Any, line: bytes, facts: str
) -> None:
    path = made.write(tmp_path / "a.jsonl", made.rows(2))
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(InputError, match=rf"a\.jsonl, ({facts})"):
        score_dataset(path, tmp_path / "out", metrics=["changes"])


@dataclass(frozen=True)
class Picky(Changes):
    """Refuses sentences that contain certain numbers, as a metric may refuse a text."""

    numbers: tuple[str, ...] = ()

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        for source in corpus.sources:
            if set(source.split()) & set(self.numbers):
                raise InputError(f"{source}: cannot be scored")
        return super().statistics(corpus, runtime)


@pytest.mark.parametrize("numbers", [("3",), ("0", "17", "39"), ()])
def test_rows_that_a_metric_refuses_are_found(
    tmp_path: Path, made: Any, numbers: tuple[str, ...]
) -> None:
    path = made.write(tmp_path / "a.parquet", made.rows(40))

    class Refusing(_Ending):
        def finish(
            self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
        ) -> None:
            worker = Worker(job)
            worker._metrics[0] = worker._metrics[0]._replace(scorer=Picky(numbers))
            for shard in shards:
                done(worker.finish(shard))

    found = score_dataset(
        path, tmp_path / "out", metrics=["changes", "green"], engine=Refusing(0), shard_rows=25
    )
    scored = made.read(tmp_path / "out")
    without = [row["id"][1:] for row in scored if row["changes"] is None]
    assert without == list(numbers)
    assert all(row["green"] is not None for row in scored)
    assert (found.results.bad, found.unanswered) == (0, len(numbers))
    if not numbers:
        return
    lines = (tmp_path / "out" / "bad-rows.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = [json.loads(line)["reason"] for line in lines]
    assert all(reason.startswith("changes: ") and "cannot be" in reason for reason in reasons)


def test_ids_are_a_column_or_file_and_row(tmp_path: Path, made: Any) -> None:
    rows = [{k: v for k, v in row.items() if k != "id"} for row in made.rows(3)]
    path = made.write(tmp_path / "a.parquet", rows)
    score_dataset(path, tmp_path / "out", metrics=["changes"])
    assert [r["id"] for r in made.read(tmp_path / "out")] == [f"a.parquet:{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl.gz"])
def test_kept_rows_have_all_their_columns(tmp_path: Path, made: Any, name: str) -> None:
    rows = [{**row, "more": number} for number, row in enumerate(made.rows(30))]
    rows[7]["hypothesis"] = None
    path = made.write(tmp_path / name, rows)
    found = score_dataset(
        path,
        tmp_path / "out",
        metrics=["green", "changes"],
        shard_rows=8,
        keep="changes <= 2 and green >= .4",
    )
    scored = made.read(tmp_path / "out")
    wanted = [
        row
        for row, scores in zip(rows, scored, strict=True)
        if scores["changes"] is not None and scores["changes"] <= 2 and scores["green"] >= 0.4
    ]
    kept = made.read(tmp_path / "out" / "kept")
    assert kept == wanted
    assert 0 < len(wanted) < 30
    assert found.results.kept == len(wanted)
    removed = [part.removed for part in found.results.conditions]
    assert sum(removed) == 30 - len(wanted)
    changes = [row["changes"] for row in scored]
    assert removed[0] == sum(value is None or value > 2 for value in changes)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"keep": "geren > 1"}, "did you mean green"),
        ({"columns": ["source=sorce"]}, r"no column 'sorce' \(source; did you mean source\?\)"),
        ({"columns": ["hypothesis=nothing"]}, "no column 'nothing'"),
        ({"columns": ["sauce=source"]}, "'sauce' is not a role: did you mean source"),
        ({"columns": ["source=id", "source=other"]}, "source is given twice"),
        ({"metrics": ["m2"]}, "m2: cannot score rows of a dataset: it needs gold edits"),
        ({"metrics": ["jury:equal=gotoscorer+green"]}, "of its member gotoscorer"),
        ({"metrics": ["gotoscorer"]}, "depends on the other sentences"),
        ({"metrics": ["scores:file=x.tsv"]}, "scores of given texts"),
        ({"shard_rows": 0}, "expected 1 or more"),
        ({"engine": "spark"}, "expected local or ray"),
        ({"runtime": Runtime(dry_run=True)}, "dry_run"),
        ({"runtime": Runtime(max_cost=1.0, workers=2)}, "max_cost"),
    ],
)
def test_impossible_options_are_refused_before_the_work(
    tmp_path: Path, made: Any, options: dict[str, Any], expected: str
) -> None:
    path = made.write(tmp_path / "a.parquet", made.rows(3))
    with pytest.raises(GecjuryError, match=expected):
        score_dataset(path, tmp_path / "out", **{"metrics": ["green"], **options})
    assert not list((tmp_path / "out").glob("part-*"))


def test_a_metric_that_needs_references_reports_their_absence(tmp_path: Path, made: Any) -> None:
    rows = [{"source": "a", "hypothesis": "b"}]
    path = made.write(tmp_path / "a.parquet", rows)
    with pytest.raises(InputError, match=r"no column 'references' .references."):
        score_dataset(path, tmp_path / "out", metrics=["green"])
    score_dataset(path, tmp_path / "two", metrics=["changes"])


def test_all_missing_columns_are_reported_at_once(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.parquet", [{"original": "a", "corrected": "b"}])
    message = (
        r"a\.parquet: no column 'source' \(source\), 'hypothesis' \(hypothesis\) and 'references' "
        r"\(references\); its columns are original, corrected; name them with "
        "`columns=source=NAME` `columns=hypothesis=NAME` `columns=references=NAME`"
    )
    with pytest.raises(InputError, match=message):
        score_dataset(path, tmp_path / "out", metrics=["green"])


@pytest.mark.parametrize(("variable", "expected"), [("", "local"), ("head:6379", "head:6379")])
def test_without_an_address_ray_starts_its_own_cluster(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch, variable: str, expected: str
) -> None:
    addresses: list[str] = []

    class Engine(LocalEngine):
        def __init__(self, address: str, workers: int, **_: Any) -> None:
            addresses.append(address)
            super().__init__(workers)

    monkeypatch.setattr("gecjury.datasets.ray_engine.RayEngine", Engine)
    monkeypatch.setenv("RAY_ADDRESS", variable)
    path = made.write(tmp_path / "a.parquet", made.rows(3))
    score_dataset(path, tmp_path / "out", metrics=["changes"], engine="ray")
    assert addresses == [expected]


def test_without_any_worker_process_the_driver_does_the_work(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("gecjury.datasets.engines.SpawnedProcess", refused)
    for name in "ab":
        made.write(tmp_path / "in" / f"{name}.parquet", made.rows(3))
    tables = [
        score_dataset(
            tmp_path / "in", tmp_path / f"out{n}", metrics=["changes"], runtime=Runtime(workers=n)
        )
        for n in (1, 2)
    ]
    assert tables[0].rows() == tables[1].rows()


def test_columns_of_other_types_are_reported(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.parquet", [{"source": 1, "hypothesis": "b"}])
    with pytest.raises(InputError, match="the column source is of int64; expected text"):
        score_dataset(path, tmp_path / "out", metrics=["changes"])


def test_files_with_other_columns_are_reported(tmp_path: Path, made: Any) -> None:
    made.write(tmp_path / "a" / "1.parquet", made.rows(2))
    made.write(tmp_path / "a" / "2.parquet", [{"source": "a", "output": "b"}])
    with pytest.raises(InputError, match=r"2\.parquet: has no column 'id'"):
        score_dataset(tmp_path / "a", tmp_path / "out", metrics=["changes"])


def test_another_run_is_refused_with_the_differences(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.parquet", made.rows(5))
    out = tmp_path / "out"
    score_dataset(path, out, metrics=["green"])
    before = made.contents(out)
    for options, expected in (
        ({"metrics": ["green:n=2"]}, "n: 4 then, 2 now"),
        ({"metrics": ["changes"]}, "metrics: green then, changes now"),
        ({"keep": "green > .5"}, "`keep=`: none then, green > .5 now"),
        ({"columns": ["hypothesis=other"]}, "columns of hypotheses: hypothesis then, other now"),
        ({"shard_rows": 2}, "shard_rows: 10000 then, 2 now"),
    ):
        with pytest.raises(OutputError, match=expected):
            score_dataset(path, out, **{"metrics": ["green"], **options})  # type: ignore[arg-type]
    assert made.contents(out) == before
    made.write(path, made.rows(6))
    with pytest.raises(OutputError, match=r"a\.parquet: \d+ bytes then, \d+ now"):
        score_dataset(path, out, metrics=["green"])


def test_faults_of_own_metrics_are_told_as_on_texts(
    tmp_path: Path, made: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = made.write(tmp_path / "a.parquet", made.rows(2)), tmp_path / "own.py"
    file.write_text("""
from dataclasses import dataclass
import numpy as np
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics

@dataclass(frozen=True)
class Crash(MeanScorer):
    name, family = "crash", "refless"
    def statistics(self, corpus, runtime):
        print("printed")
        return Statistics(np.zeros(1 // 0))
""")
    out = score_dataset(path, tmp_path / "out", metrics=[f"{file}:Crash"])
    assert (
        "its statistics cannot be computed (ZeroDivisionError"
        in (out.folder / "bad-rows.jsonl").read_text()
    )
    assert "printed" not in capsys.readouterr().out


@pytest.mark.security
def test_foreign_folders_and_the_input_folder_are_refused(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "in" / "a.parquet", made.rows(2))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match=r"contains other files \(thesis.tex\)"):
        score_dataset(path, tmp_path / "mine", metrics=["changes"])
    with pytest.raises(OptionError, match=r"contains .*, which is read"):
        score_dataset(path, tmp_path / "in", metrics=["changes"])
    for folder in (tmp_path / "in", tmp_path / "mine" / ".." / "in"):
        with pytest.raises(OptionError, match=r"is inside .*, which is read"):
            score_dataset(folder, tmp_path / "in" / "out", metrics=["changes"])
    with pytest.raises(OutputError, match="is a file"):
        score_dataset(path, path, metrics=["changes"])


class _Ending(LocalEngine):
    """Stops in the middle of the run, like a killed driver."""

    def __init__(self, after: int, then: Callable[[], None] = lambda: None) -> None:
        super().__init__(1)
        self.after, self.then, self.begun = after, then, 0

    def finish(
        self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        worker = Worker(job)
        for number, shard in enumerate(shards):
            if number == self.after:
                self.then()
                raise KeyboardInterrupt
            self.begun += 1
            done(worker.finish(shard))


def score(path: Path, out: Path, **options: Any) -> DatasetScores:
    return score_dataset(
        path, out, metrics=["green", "changes"], shard_rows=7, keep="changes < 3", **options
    )


def test_an_interrupted_run_resumes(tmp_path: Path, made: Any) -> None:
    rows = made.rows(60)
    rows[11]["source"] = rows[50]["source"] = None
    path = made.write(tmp_path / "a.parquet", rows)
    score(path, tmp_path / "whole")
    expected = made.contents(tmp_path / "whole")
    for after in (0, 1, 5):
        out = tmp_path / f"out{after}"
        with pytest.raises(KeyboardInterrupt):
            score(path, out, engine=_Ending(after))
        (out / ".unfinished").mkdir(exist_ok=True)
        (out / ".unfinished" / "part-000003.parquet.0a").write_bytes(b"half")
        rest = _Ending(100)
        found = score(path, out, engine=rest)
        assert rest.begun == 9 - after
        assert found.done == 60 - 7 * after
        same = {name: data for name, data in made.contents(out).items() if name != "dataset.json"}
        assert same == {n: data for n, data in expected.items() if n != "dataset.json"}
        again = _Ending(0)
        assert score(path, out, engine=again).done == 0


def test_removed_parts_are_written_again(tmp_path: Path, made: Any) -> None:
    rows = made.rows(60)
    rows[11]["source"] = rows[50]["source"] = None
    path = made.write(tmp_path / "a.parquet", rows)
    out = tmp_path / "out"
    score(path, out)
    expected = made.contents(out)
    (out / "part-000004.parquet").unlink()
    score(path, out)
    assert made.contents(out) == expected
    # As if the run had been killed between its last two steps.
    (out / ".unfinished").mkdir()
    (out / ".unfinished" / "part-000001.parquet.0a").write_bytes(b"half")
    (out / ".sides").mkdir()
    (out / ".sides" / "part-000001.bad.jsonl").write_bytes(b"half")
    score(path, out)
    assert made.contents(out) == expected


def test_a_file_that_changes_during_the_run_ends_it(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.jsonl", made.rows(60))

    class Changing(_Ending):
        def finish(
            self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
        ) -> None:
            done(Worker(job).finish(shards[0]))
            with path.open("ab") as file:
                file.write(b"{}\n")
            done(Worker(job).finish(shards[1]))

    with pytest.raises(InputError, match=r"a\.jsonl: has changed since the run began"):
        score(path, tmp_path / "out", engine=Changing(0))
    assert len(list((tmp_path / "out").glob("part-*"))) == 1


def test_a_full_disk_is_reported(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:

    path = made.write(tmp_path / "a.parquet", made.rows(5))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"):
        score_dataset(path, tmp_path / "out", metrics=["changes"])
    assert not list((tmp_path / "out").glob("part-*"))
    assert not list((tmp_path / "out" / ".unfinished").iterdir())


def test_a_disk_that_is_full_while_rows_are_converted_is_not_the_files_fault(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    def full(*args: Any, **options: Any) -> None:
        try:
            raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            raise datasets.exceptions.DatasetGenerationError("An error occurred") from error

    path = made.write(tmp_path / "x.jsonl", made.rows(3))
    monkeypatch.setattr(datasets, "load_dataset", full)
    with pytest.raises(OutputError, match=r"out/\.rows: cannot be written \(No space left"):
        score_dataset(path, tmp_path / "out", metrics="green")


@pytest.mark.security
def test_a_folder_of_results_with_a_link_to_another_folder_is_refused(
    tmp_path: Path, made: Any
) -> None:
    path = made.write(tmp_path / "x.jsonl", made.rows(3))
    score_dataset(path, tmp_path / "out", metrics="changes")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / "kept").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match=r"out/kept: is a link to another folder"):
        score_dataset(path, tmp_path / "out", metrics="changes", keep="changes >= 0")


def test_two_runs_do_not_write_to_the_same_folder(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.parquet", made.rows(10))

    def second() -> None:
        with pytest.raises(OutputError, match="another run is writing there"):
            score(path, tmp_path / "out")

    with pytest.raises(KeyboardInterrupt):
        score(path, tmp_path / "out", engine=_Ending(1, second))


@pytest.mark.security
def test_batches_are_bounded_by_characters(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = made.rows(50)
    path = made.write(tmp_path / "a.parquet", rows)
    score(path, tmp_path / "one")
    monkeypatch.setattr("gecjury.datasets.rows.BATCH_CHARACTERS", 200)
    score(path, tmp_path / "two")
    one, two = (made.read(tmp_path / name) for name in ("one", "two"))
    assert one == two


@pytest.mark.slow
def test_a_dataset_saved_to_disk_is_scored(tmp_path: Path, made: Any) -> None:
    datasets = pytest.importorskip("datasets")
    rows = made.rows(25)
    data = datasets.Dataset.from_list(rows)
    datasets.DatasetDict({"train": data, "test": data}).save_to_disk(str(tmp_path / "saved"))
    out = tmp_path / "out"
    name = f"hf:{tmp_path / 'saved'}"
    with pytest.raises(InputError, match="has splits train, test; name one"):
        score_dataset(name, out, metrics=["green"])
    found = score_dataset(f"{name}:train", out, metrics=["green"], shard_rows=10, keep="green > .5")
    expected = whole(rows, ["green"], ["hypothesis"])[0]
    np.testing.assert_array_equal([r["green"] for r in made.read(out)], expected.sentences[0])
    kept = made.read(out / "kept")
    good = expected.sentences[0] > 0.5
    assert kept == [row for row, one in zip(rows, good, strict=True) if one]
    assert found.results.kept == len(kept)


@pytest.mark.slow
def test_processes_write_the_same_bytes(tmp_path: Path, made: Any) -> None:
    path = made.write(tmp_path / "a.jsonl.gz", made.rows(100))
    score(path, tmp_path / "one")
    score(path, tmp_path / "more", runtime=Runtime(workers=3))
    one, more = (made.contents(tmp_path / name) for name in ("one", "more"))
    assert one == more


def kill_children(parent: int) -> int:
    """Kill all children of a process and return their number."""
    found = 0
    for folder in Path("/proc").iterdir():
        try:
            stat = (folder / "stat").read_text()
        except OSError:
            continue
        if folder.name.isdigit() and int(stat.rpartition(")")[2].split()[1]) == parent:
            os.kill(int(folder.name), signal.SIGKILL)
            found += 1
    return found


_KEPT_IN_SHARDS_OF_80 = """
import sys
import gecjury
data, folder, workers = sys.argv[1:]
gecjury.score_dataset(data, folder, metrics=["green", "changes"], keep="changes < 3",
                      shard_rows=80, runtime=gecjury.Runtime(workers=int(workers)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_killed_drivers_and_workers_lose_and_duplicate_no_rows(tmp_path: Path, made: Any) -> None:
    rows = made.rows(2400)
    rows[100]["source"] = rows[2000]["hypothesis"] = None
    path = made.write(tmp_path / "a.jsonl", rows)
    command = [sys.executable, "-c", _KEPT_IN_SHARDS_OF_80, str(path)]
    expected = tmp_path / "whole"
    subprocess.run([*command, str(expected), "1"], check=True, stdout=subprocess.DEVNULL)
    random = np.random.default_rng(3)
    out = tmp_path / "out"
    killed = 0
    for attempt in range(30):
        process = subprocess.Popen(
            [*command, str(out), "2"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        begin = len(list(out.glob("part-*")))
        while process.poll() is None and len(list(out.glob("part-*"))) < begin + 3:
            time.sleep(0.01)
        time.sleep(float(random.random()) * 0.2)
        if process.poll() is None and attempt < 5:
            if attempt % 2:
                killed += kill_children(process.pid)
                time.sleep(float(random.random()) * 0.3)
            process.kill()
            killed += 1
        process.communicate()
        if process.returncode == 0:
            break
    assert killed >= 4
    assert made.contents(out) == made.contents(expected)
    assert [row["id"] for row in made.read(out)] == [row["id"] for row in rows]


@pytest.mark.slow
def test_a_worker_that_always_dies_names_its_rows(
    tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made.write(tmp_path / "a.parquet", made.rows(30))
    monkeypatch.setattr("gecjury.core.processes.sys.executable", "/bin/false")
    with pytest.raises(IncompleteError, match=r"a\.parquet, rows \d+ to \d+: the worker died 3"):
        score(path, tmp_path / "out", runtime=Runtime(workers=2))


@pytest.mark.security
@pytest.mark.parametrize(
    ("name", "keys", "value", "message"),
    [
        ("dataset.json", ["job", "shard_rows"], "x", "shard_rows is 'x'; expected a whole number"),
        ("dataset.json", ["job", "signatures"], ["x"], r"signatures\[0\] is 'x'; expected an obj"),
        ("dataset.json", ["format"], "gecjury-dataset/2", "format is .*; expected 'gecjury-data"),
        ("results.json", ["rows", 0, "score"], "x", r"rows\[0\].score is 'x'; expected a number"),
        ("results.json", ["read"], None, "read is None; expected a whole number"),
    ],
)
def test_a_folder_with_values_of_other_types_is_refused(
    tmp_path: Path, made: Any, name: str, keys: list[str | int], value: Any, message: str
) -> None:
    path, out = made.write(tmp_path / "a.jsonl", made.rows(6)), tmp_path / "out"
    score_dataset(path, out, metrics="green", shard_rows=3)
    record = json.loads((out / name).read_text())
    place = record
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (out / name).write_text(json.dumps(record))
    with pytest.raises(InputError, match=message) as error:
        score_dataset(path, out, metrics="green")
    assert str(out) in str(error.value)
    assert "delete" in str(error.value)


@pytest.mark.security
def test_a_damaged_folder_gives_no_scores(tmp_path: Path, made: Any) -> None:
    rows = made.rows(6)
    path, out = made.write(tmp_path / "a.jsonl", rows), tmp_path / "out"
    score_dataset(path, out, metrics="green", shard_rows=3)
    texts = ([row["source"] for row in rows], {"x": [row["hypothesis"] for row in rows]})

    def refused(message: str) -> None:
        with pytest.raises(InputError, match=message):
            gecjury.score(corpus_of_texts(*texts), f"scores:file={out}")

    part = out / "part-000001.parquet"
    table = parquet.read_table(part)
    parquet.write_table(table.set_column(1, "green", [["x"] * 3]), part)
    refused(r"part-000001\.parquet, green: 'x'; expected a number; .*again")
    part.write_bytes(b"PAR1")
    refused(r"part-000001\.parquet: cannot be read .*again")
    part.unlink()
    refused("rows are missing")


def test_marks_and_empty_lines_among_references(tmp_path: Path, made: Any) -> None:
    rows = made.rows(4)
    rows[0]["references"] = [None, rows[0]["hypothesis"], "-NONE-"]
    rows[1] |= {"hypothesis": rows[1]["source"], "references": ["没有错误"]}
    rows[2]["references"] = [""]
    path = made.write(tmp_path / "a.jsonl", rows)
    scored = score_dataset(path, tmp_path / "out", metrics=["green"])
    # The only reference of row 0 is its hypothesis, and that of row 1 is its source.
    assert [row["green"] for row in made.read(tmp_path / "out")[:2]] == [1, 1]
    notes = " ".join(scored.results.notes)
    assert "没有错误" in notes
    assert "1 of 4 lines is empty" in notes
