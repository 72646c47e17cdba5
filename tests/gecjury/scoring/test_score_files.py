"""Score files: what is reused, what is scored again, and how damaged files are handled."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gecjury.core.errors import InputError, OutputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.scoring.given_scores import GivenScores
from gecjury.scoring.score_files import check_writable, read_rows, score_with_files, write_table
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import ScoreTable, Statistics
from tests.gecjury.scoring.test_scorer import Length, Longest

CALLS: list[tuple[str, ...]] = []


@dataclass(frozen=True)
class Counted(Length):
    """Length that records which systems it was asked to score."""

    name: ClassVar[str] = "length/counted"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        CALLS.append(corpus.names)
        return super().statistics(corpus, runtime)


@dataclass(frozen=True)
class CountedJudge(Longest):
    """Longest that records which systems it was asked to judge."""

    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics | None]:
        CALLS.append(corpus.names)
        return super().judge(corpus, groups, runtime)


@dataclass
class Runs:
    """Scores a corpus with a folder of score files and returns which systems were scored."""

    folder: Path
    scorer: Length | Longest = field(default_factory=Counted)

    def __call__(self, **systems: Sequence[str]) -> tuple[ScoreTable, list[tuple[str, ...]]]:
        corpus = Corpus(("s", "s"), {n: Version(tuple(lines)) for n, lines in systems.items()})
        CALLS.clear()
        table = score_with_files(self.scorer, corpus, self.folder, Runtime())
        return table, list(CALLS)

    @property
    def file(self) -> Path:
        (path,) = self.folder.iterdir()
        return path


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "scores")


X, Y, Z = ["a b", ""], ["a", "a b c"], ["", ""]


def same(one: ScoreTable, two: ScoreTable) -> None:
    assert one.systems == two.systems
    assert one.signature == two.signature
    np.testing.assert_array_equal(one.sentences, two.sentences)
    np.testing.assert_array_equal(np.array(one.totals), np.array(two.totals))
    assert one.statistics.notes == two.statistics.notes
    assert one.prints == two.prints


def test_a_second_run_reads_the_file(runs: Runs) -> None:
    first, scored = runs(x=X, y=Y, z=Z)
    assert scored == [("x", "y", "z")]
    stamp = runs.file.read_bytes()
    again, scored = runs(x=X, y=Y, z=Z)
    assert scored == []
    assert again.seconds == 0.0
    same(first, again)
    assert runs.file.read_bytes() == stamp


@example({"a": [4.9e293, 1.8e308 / 1.01]})
@example({"a": [float("inf"), float("-inf")]})
@given(
    st.dictionaries(
        st.text(st.sampled_from('ab"\t\n,/\\|\ud800\x85'), min_size=1),
        st.lists(st.floats(), min_size=2, max_size=2),
        min_size=1,
        max_size=3,
    )
)
def test_any_scores_and_names_are_read_back_or_not_written(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, list[float]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "scores.json"
    corpus = Corpus(("s", "s"), {name: Version((f"{name} a", "b")) for name in scores})
    given_table = Fixed(scores).score_corpus(corpus, Runtime())
    try:
        write_table(path, given_table)
    except OutputError as error:
        assert "infinite score" in str(error)  # noqa: PT017  # raised by some draws only
        assert any(np.isinf([*values, sum(values)]).any() for values in scores.values())
        return
    kept = read_rows(path, given_table.signature)
    stored = GivenScores(file=str(path)).held.rows
    for name, values in scores.items():
        np.testing.assert_array_equal(kept[name, given_table.prints[name]].values, [values])
        np.testing.assert_array_equal(stored[name][0].scores(2), values)


@dataclass(frozen=True, eq=False)
class Fixed(MeanScorer):
    """Scores by system."""

    name: ClassVar[str] = "fixed"
    family: ClassVar[str] = "scores"
    summary: ClassVar[str] = "fixed"

    scores: Any = None

    def settings(self) -> dict[str, Any]:
        return {}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        return Statistics(np.array([self.scores[name] for name in corpus.names]))


def test_only_new_systems_are_scored(runs: Runs) -> None:
    runs(x=X)
    table, scored = runs(y=Y, x=X, z=Z)
    assert scored == [("y", "z")]
    assert table.systems == ("y", "x", "z")
    np.testing.assert_array_equal(table.sentences, [[1, 3], [2, math.nan], [math.nan] * 2])
    assert list(table.totals)[:2] == [2.0, 2.0]
    # fewer systems, in another order: nothing to do, and nothing forgotten
    table, scored = runs(x=X, y=Y)
    assert scored == []
    assert table.systems == ("x", "y")
    assert runs(z=Z)[1] == []


def test_changed_text_is_scored_again_and_the_old_kept(runs: Runs) -> None:
    runs(x=X, y=Y)
    table, scored = runs(x=["a b c d", ""], y=Y)
    assert scored == [("x",)]
    assert table.totals["x"] == 4.0
    assert runs(x=X, y=Y)[1] == []
    # another name is another system, even with the same text
    assert runs(w=X)[1] == [("w",)]


def test_other_settings_and_data_have_separate_files(runs: Runs) -> None:
    runs(x=X)
    assert Runs(runs.folder, Counted(factor=2.0))(x=X)[0].totals["x"] == 4.0
    corpus = Corpus(("s", "other"), {"x": Version(tuple(X))})
    score_with_files(Counted(), corpus, runs.folder, Runtime())
    assert len(list(runs.folder.iterdir())) == 3
    assert runs(x=X)[1] == []
    # device and batch size are not settings
    again = Corpus(("s", "s"), {"x": Version(tuple(X))})
    CALLS.clear()
    score_with_files(Counted(), again, runs.folder, Runtime(device="cuda", batch_size=1))
    assert CALLS == []


def test_the_file_is_plain_json_for_others_to_read(runs: Runs) -> None:
    table, _ = runs(x=X, z=Z)
    record = json.loads(runs.file.read_text(encoding="utf-8"))
    assert record["format"] == "gecjury-scores/1"
    assert record["signature"]["metric"] == "length/counted"
    assert record["key"] == table.signature.key
    assert [row["system"] for row in record["rows"]] == ["x", "z"]
    assert [row["score"] for row in record["rows"]] == [2.0, None]
    assert record["rows"][0]["sentences"] == [2.0, None]
    assert runs.file.name.startswith("length-counted-")


def edited(change: str) -> Any:
    """Return a function that damages a score file in one way."""

    def with_record(function: Any) -> Any:
        def edit(path: Path) -> None:
            record = json.loads(path.read_text())
            function(record)
            path.write_text(json.dumps(record))

        return edit

    def statistics(**values: object) -> Any:
        return with_record(lambda record: record["rows"][0]["statistics"].update(values))

    return {
        "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
        "bytes": lambda path: path.write_bytes(b"\xff\xfe"),
        "no rows": with_record(lambda record: record.pop("rows")),
        "format": with_record(lambda record: record.update(format="gecjury-scores/0")),
        "key": with_record(lambda record: record.update(key="0" * 16)),
        "base64": statistics(zlib="%%%"),
        "dtype": statistics(dtype="|O"),
        "half a dtype": statistics(dtype="f8,("),
        "shape": statistics(shape=[3, 3]),
        "other sentences": statistics(shape=[2, 1]),
    }[change]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *((change, "damaged score file") for change in ("cut", "no rows", "base64", "dtype")),
        *(
            (change, "damaged score file")
            for change in ("half a dtype", "shape", "other sentences")
        ),
        ("bytes", "not UTF-8"),
        ("format", "format 'gecjury-scores/0', expected 'gecjury-scores/1'; delete it"),
        ("key", r"contains scores for other settings.*\(key 0+, expected .*delete or move"),
    ],
)
def test_a_damaged_file_is_refused_and_left_alone(runs: Runs, change: str, message: str) -> None:
    runs(x=X)
    edited(change)(runs.file)
    before = runs.file.read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        runs(x=X, y=Y)
    assert str(runs.file) in str(caught.value)
    assert runs.file.read_bytes() == before
    assert CALLS == []


def test_a_failed_write_keeps_the_old_file(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs(x=X)
    before = runs.file.read_bytes()

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        runs(x=X, y=Y)
    assert runs.file.read_bytes() == before  # and there is no temporary file next to it


def test_a_joint_scorer_reuses_all_systems_or_none(tmp_path: Path) -> None:
    runs = Runs(tmp_path, CountedJudge())
    first, scored = runs(x=["aa", "a"], y=["aaaa", "aa"])
    assert scored == [("x", "y")]
    again, scored = runs(x=["aa", "a"], y=["aaaa", "aa"])
    assert scored == []
    same(first, again)
    # a new rival changes the scale for all systems
    table, scored = runs(x=["aa", "a"], y=["aaaa", "aa"], z=["a" * 8, "a"])
    assert scored == [("x", "y", "z")]
    assert table.sentences[0].tolist() == [0.25, 0.5]
    assert runs(x=["aa", "a"], y=["aaaa", "aa"])[1] == []


def test_items_of_prescribed_groups_are_read_from_the_file(tmp_path: Path) -> None:
    systems = {"x": Version(("aa",)), "y": Version(("aaaa",))}
    corpus = Corpus(("s",), systems, groups=(Group("0", 0, (("x",), ("y",))),))
    first = score_with_files(Longest(), corpus, tmp_path, Runtime())
    again = score_with_files(Longest(), corpus, tmp_path, Runtime())
    assert again.statistics.items is not None
    assert again.statistics.items.tolist() == [[0.5], [1.0]]
    assert again.statistics.details == first.statistics.details
    assert first.statistics.details == {"groups": 1, "unanswered": 0}
    other = replace(corpus, groups=(Group("0", 0, (("y",), ("x",))),))
    score_with_files(Longest(), other, tmp_path, Runtime())
    assert len(list(tmp_path.iterdir())) == 2


def test_the_output_folder_is_checked_first(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "deep")
    assert list((tmp_path / "new" / "deep").iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    for folder in ("file", "file/below"):
        with pytest.raises(OutputError, match="cannot be written"):
            check_writable(tmp_path / folder)
    assert (tmp_path / "file").read_text() == "in the way"
