"""Scores computed elsewhere: every form they come in, and what is refused or noted."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.score_files import score_with_files, write_table
from gecjury.scoring.scores import ScoreTable
from tests.shell import Shell

NAN = math.nan
SOURCES = ("a b", "c d", "e f")
CORPUS = Corpus(SOURCES, {"x": Version(("a", "c", "e")), "y": Version(("b", "d", "f"))})
EXPECTED = [[0.5, NAN, -1.0], [1.0, 2.0, 3.0]]
LONG = "x\t1\t0.5\nx\t2\tnan\nx\t3\t-1\ny\t1\t1\ny\t2\t2\ny\t3\t3\n"

Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def scored(file: str, corpus: Corpus = CORPUS, **options: object) -> ScoreTable:
    return gecjury.load("scores", file=file, **options).score_corpus(corpus)


FORMS = {
    "long.tsv": LONG,
    "headed.csv": "score,system,annotator,line\n" + "".join(
        f"{score},{system},me,{line}\n"
        for system, line, score in (row.split("\t") for row in LONG.splitlines())
    ),
    "sentence.tsv": "sentence\tsystem\tvalue\n1\tx\t.5\n3\tx\t-1\n2\tx\t\n"
    "1\ty\t1\n2\ty\t2\n3\ty\t3\n",
    "semicolon.csv": "system;line;score\n" + LONG.replace("\t", ";"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_one_table_in_every_form(write: Write, name: str) -> None:
    table = scored(write(name, FORMS[name]))
    np.testing.assert_array_equal(table.sentences, EXPECTED)
    assert list(table.totals) == [-0.25, 2.0]
    assert table.missing == 1
    assert table.statistics.notes == ("given scores: empty or NaN, not scored: x 1 of 3",)


def test_totals_of_the_file_are_corpus_scores_that_cannot_be_resampled(write: Write) -> None:
    file = write("totals.tsv", LONG + "x\ttotal\t7\ny\tcorpus\t2\n")
    table = scored(file)
    np.testing.assert_array_equal(table.sentences, EXPECTED)
    assert list(table.totals) == [7.0, 2.0]
    assert "cannot be resampled" in table.statistics.notes[-1]
    draws = np.zeros((4, 3), dtype=np.int64)
    scorer = gecjury.load("scores", file=file)
    assert np.isnan(scorer.corpus_scores(table.statistics, draws).score).all()
    # totals equal to the means add no information
    means = scored(write("means.tsv", LONG + "x\ttotal\t-.25\ny\ttotal\t2\n"))
    assert means.statistics.values.ndim == 2
    with pytest.raises(InputError, match="corpus scores of some systems, but not of y"):
        scored(write("one.tsv", LONG + "x\ttotal\t7\n"))


def test_our_own_score_file_is_read_and_refused_for_other_texts(tmp_path: Path) -> None:
    scorer = gecjury.load("changes")
    table = scorer.score_corpus(CORPUS)
    path = tmp_path / "changes.json"
    write_table(path, table)
    again = scored(str(path))
    np.testing.assert_array_equal(again.sentences, table.sentences)
    assert list(again.totals) == list(table.totals)
    other = Corpus(SOURCES, {"x": Version(("a", "c", "?")), "y": CORPUS.systems["y"]})
    with pytest.raises(InputError, match="contains scores of other texts of x"):
        scored(str(path), other)
    elsewhere = Corpus(("a b", "c d", "e ?"), CORPUS.systems)
    with pytest.raises(InputError, match="contains scores of other sources"):
        scored(str(path), elsewhere)


def test_the_output_of_score_is_read(shell: Shell, tmp_path: Path) -> None:
    words = ["score", "source.txt", "mine.txt", "-r", "ref.txt"]
    printed = shell(*words, "-m", "gleu", "-m", "green", "--sentences", "--format", "json")[1]
    path = shell.write("both.json", printed)
    wanted = json.loads(printed)["rows"]
    for row in wanted:
        (found,) = shell.rows(
            *words[:3], "-m", f"scores:file={path},metric={row['metric']}", "--sentences"
        )
        assert (found["score"], found["sentences"]) == (row["score"], row["sentences"])
    status, _, err = shell(*words[:3], "-m", f"scores:file={path}")
    assert status == 2
    assert "contains scores of gleu, green: choose one with metric=NAME" in err
    text = Path("mine.txt").read_text("utf-8")
    shell.write("new/mine.txt", "Other words .\n" * text.count("\n"))
    given = f"scores:file={path},metric=green"
    status, _, err = shell("score", "source.txt", "new/mine.txt", "-m", given)
    assert status == 2
    assert "contains scores of other texts of mine" in err
    path = shell.write("none.json", json.dumps({"rows": [{"system": "mine", "score": 1}]}))
    status, _, err = shell(*words[:3], "-m", f"scores:file={path}")
    assert status == 2
    assert "no sentence scores; `gecjury score --sentences --format json` writes them" in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.tsv", "x\t1\t1\nx\t2\tgood\n", r"a\.tsv, line 2: 'good'; expected a score as a fin"),
        ("a.tsv", "x\t1\t1\nx\t0\t1\n", r"line 2, line: '0'; expected a whole number from 1"),
        ("a.tsv", "x\t1\t1\nx\t1\t2\n", "line 2: line 1 of x occurs twice, first in line 1"),
        ("a.tsv", "x\t1\t1\nx\t2\n", "line 2: 2 cells; expected system, line and score"),
        ("a.tsv", "x\t1\t1\n\t2\t2\n", "line 2: the name of the system is missing"),
        ("a.tsv", "system\tscore\nx\t2\n", "line 1: no column line; expected rows of system"),
        ("a.tsv", "x\t1\t1\nx\t2\t1\n", "has 2 lines of x, but there are 3 sentences: these"),
        ("a.tsv", "x\ty\n1\t2\n", "line 1: no column system and line and score"),
        ("a.csv", 'system,"y\n1,2\n', "is a quotation mark open"),
        ("a.csv", "system,line,score,Score\nx,1,2,3\n", "line 1: column 'score' occurs twice"),
        (
            "a.tsv",
            "system\tmetric\tscore\nx\tm\t1\n",
            "no column line; .*--sentences --format json",
        ),
        ("a.tsv", "system\tline\tscore\n", "contains no score"),
        ("a.tsv", "xx\t3\t1\nyy\t1\t1\n", "no score of any system here: it has xx, yy"),
        ("a.json", '{"x": [1, 2,', "is not JSON"),
        ("a.json", '{"x": [1, 2, 3]}', "as `gecjury score` writes it"),
        ("a.json", '{"rows": [1]}', r"rows\[0\] is 1; expected an object, as `gecjury"),
        (
            "a.json",
            '{"rows": [{"system": "x", "sentences": [1]}, {"system": "x", "sentences": [1]}]}',
            "the system occurs twice",
        ),
    ],
)
def test_unusable_files_are_refused_by_name(
    write: Write, name: str, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        scored(write(name, text))


def test_a_file_must_be_named_and_exist(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no file is named: give -m scores:file=PATH"):
        gecjury.load("scores").score_corpus(CORPUS)
    with pytest.raises(InputError, match="no such file"):
        scored(str(tmp_path / "none.tsv"))


def test_missing_systems_extra_systems_and_missing_lines_have_separate_notes(write: Write) -> None:
    text = "x\t1\t1\nx\t3\t3\nyy\t1\t1\nyy\t2\t2\nyy\t3\tnan\nzz\t1\t1\n"
    table = scored(write("a.tsv", text))
    np.testing.assert_array_equal(table.sentences, [[1, NAN, 3], [NAN] * 3])
    assert math.isnan(table.totals["y"])
    absent, more, gaps = table.statistics.notes
    assert absent == "given scores: no scores of y (did you mean yy?): not scored"
    assert more == "given scores: ignored systems that are not compared here: yy, zz"
    assert gaps == "given scores: missing lines, not scored: x 1 of 3 (of x line 2)"


def test_scores_given_in_python() -> None:
    lists: dict[str, Any] = {"x": [0.5, None, -1], "y": np.array([1, 2, 3])}
    scorer = gecjury.given_scores(lists, name="mine", totals={"x": 5, "y": 6.0})
    table = scorer.score_corpus(CORPUS)
    np.testing.assert_array_equal(table.sentences, EXPECTED)
    assert list(table.totals) == [5, 6]
    assert table.signature.label == "scores:label=mine"
    assert scorer == gecjury.given_scores(dict(lists), name="mine", totals={"x": 5, "y": 6})
    assert scorer != gecjury.given_scores({**lists, "x": [0.5, 1, -1]}, "mine", totals={"x": 5})
    # A system may be named after a file whose name is not UTF-8.
    assert gecjury.given_scores({"x\udcff": [1]}) == gecjury.given_scores({"x\udcff": [1]})


def test_totals_are_not_tested_between_systems() -> None:
    corpus = gecjury.corpus_of_texts(["a"] * 9, {name: [name] * 9 for name in "xyz"})
    lists = {name: np.random.default_rng(1).random(9) for name in "xyz"}
    given = gecjury.given_scores(lists, totals={"x": 0.5, "y": 0.51, "z": 0.52})
    result = gecjury.rank(corpus, [given])
    assert "significant" not in str(result).replace("not significant", "")
    assert {row["cluster"] for row in result.rows()} == {1}


def gaps(seed: int = 0) -> tuple[Corpus, dict[str, list[float]]]:
    """Return a corpus of sixty sentences, and scores of a, which lacks the harder half, and b."""
    draw = np.random.default_rng(seed).normal(size=(2, 60)) * 0.01
    easy = np.arange(60) < 30
    scores = {
        "a": np.where(easy, 0.85, math.nan) + draw[0],
        "b": np.where(easy, 0.95, 0.5) + draw[1],
    }
    corpus = gecjury.corpus_of_texts(["a"] * 60, {name: [name] * 60 for name in scores})
    return corpus, {name: values.tolist() for name, values in scores.items()}


@pytest.mark.parametrize("aggregate", ["corpus", "mean"])
def test_the_better_system_of_shared_sentences_is_not_in_a_lower_cluster(aggregate: Any) -> None:
    # a has the higher mean, .85 to .725, but only since it lacks the half where b has .5.
    corpus, scores = gaps()
    result = gecjury.rank(corpus, [gecjury.given_scores(scores)], gecjury.Rank(aggregate=aggregate))
    assert [row["system"] for row in result.rows()] == ["a", "b"]
    assert {row["cluster"] for row in result.rows()} == {1}
    assert "behind b, significant" in str(result)


@pytest.mark.parametrize("aggregate", ["corpus", "mean"])
def test_missing_sentences_are_no_evidence(aggregate: Any) -> None:
    # On the sentences of both, a and b are equally good.
    corpus, scores = gaps()
    scores["b"] = [value - 0.1 * (row < 30) for row, value in enumerate(scores["b"])]
    result = gecjury.rank(corpus, [gecjury.given_scores(scores)], gecjury.Rank(aggregate=aggregate))
    assert "not significant" in str(result)
    assert {row["cluster"] for row in result.rows()} == {1}


def test_diff_compares_the_sentences_that_both_have() -> None:
    corpus = gecjury.corpus_of_texts(["a"] * 4, {name: [name] * 4 for name in ("old", "new")})
    scores = {"old": [0.5, 0.2, 0.1, math.nan], "new": [0.4, 0.1, math.nan, 1.0]}
    result = gecjury.diff(corpus, [gecjury.given_scores(scores, "m")])
    (difference,) = (f for f in result.figures() if f.statistic == "difference" and not f.part)
    # (.4 - .5 + .1 - .2) / 2 on the first two sentences, whose swaps give p = 2/4.
    assert (difference.value, difference.n) == (pytest.approx(-0.1), 2)
    assert difference.interval == pytest.approx((-0.1, -0.1))
    assert "0.1000 behind old" in str(result)


def test_a_system_without_a_score_has_no_trueskill() -> None:
    _, scores = gaps()
    corpus = gecjury.corpus_of_texts(["a"] * 60, {name: [name] * 60 for name in "abc"})
    given = gecjury.given_scores({**scores, "c": [math.nan] * 60})
    result = gecjury.rank(corpus, [given], gecjury.Rank(aggregate="trueskill"))
    assert [row["system"] for row in result.rows()] == ["b", "a", "c"]
    assert math.isnan(result.rows()[2]["score"])


@pytest.mark.parametrize(
    ("data", "totals", "message"),
    [
        ({"x": [1, "2"]}, None, r"scores 'm', x, line 2: '2'; expected a score"),
        ({"x": "12"}, None, "expected a list of numbers"),
        ({"x": np.array(3.0)}, None, "expected a list of numbers"),
        ({1: [1], "1": [2]}, None, "two systems have the same name"),
        ({"x": {1: 2.0}}, None, "expected a list of numbers"),
        ({"x": [math.inf]}, None, "inf; expected a score as a finite number"),
        ({}, None, "contains no score"),
        ([("x", 1, 1)], None, "a list; expected numbers by system"),
        ({"bart": [1]}, {"bert": 2}, "a total of 'bert': did you mean bart"),
        ({"x": [1]}, {"x": math.inf}, "total of x: inf; expected"),
    ],
)
def test_invalid_scores_in_python_are_named(data: Any, totals: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        gecjury.given_scores(data, name="m", totals=totals)


def test_the_signature_contains_the_hash_and_never_the_path(write: Write) -> None:
    file = write("secret-path.tsv", LONG)
    first = gecjury.load("scores", file=file).signature(CORPUS)
    assert "secret" not in str(first) + json.dumps(first.to_json())
    assert first.label == f"scores:sha256={first.extra['sha256'][:8]}"
    named = gecjury.load("scores", file=file, label="mine").signature(CORPUS)
    assert named.label == "scores:label=mine"
    same = gecjury.load("scores", file=write("elsewhere.tsv", LONG)).signature(CORPUS)
    assert same.key == first.key
    write("secret-path.tsv", LONG.replace("0.5", "0.6"))
    changed = gecjury.load("scores", file=file)
    assert changed.signature(CORPUS).key != first.key
    assert changed.score_corpus(CORPUS).sentences[0, 0] == 0.6


def test_score_files_are_kept_and_notes_cover_all_systems(write: Write, tmp_path: Path) -> None:
    scorer = gecjury.load("scores", file=write("a.tsv", LONG))
    folder = tmp_path / "kept"
    one = score_with_files(scorer, CORPUS.with_systems(["x"]), folder, Runtime())
    assert "not compared here: y" in one.statistics.notes[0]
    both = score_with_files(scorer, CORPUS, folder, Runtime())
    np.testing.assert_array_equal(both.sentences, EXPECTED)
    assert both.statistics.notes == scorer.score_corpus(CORPUS).statistics.notes
    assert not any("left out" in note for note in both.statistics.notes)


def sample_scores(shell: Shell) -> Path:
    """Write GREEN's sentence scores of the sample as a table."""
    from gecjury.benchmarks.load import load_benchmark

    corpus = load_benchmark("sample").corpus
    table = gecjury.load("green").score_corpus(corpus)
    lines = [
        f"{name}\t{number}\t{score!r}"
        for name, values in zip(table.systems, table.sentences.tolist(), strict=True)
        for number, score in enumerate(values, 1)
    ]
    return shell.write("green.tsv", "\n".join(["system\tline\tscore", *lines]) + "\n")


@pytest.mark.parametrize("aggregate", ["trueskill", "mean"])
def test_given_scores_compare_like_the_metric_that_computed_them(
    shell: Shell, aggregate: str
) -> None:
    path = sample_scores(shell)
    first, second = shell.rows(
        "compare", "sample", "-m", "green", "-m", f"scores:file={path},label=g",
        "--aggregate", aggregate, "--resamples", "50", "--level", "system",
    )  # fmt: skip
    own = {"metric", "family", "signature", "seconds"}
    assert second["metric"] == "scores:label=g"
    assert second["family"] == "scores"
    assert {k: v for k, v in first.items() if k not in own} == {
        k: v for k, v in second.items() if k not in own
    }


def test_given_scores_are_on_the_page_and_in_rank(shell: Shell) -> None:
    path = sample_scores(shell)
    status, _, err = shell(
        "compare", "sample", "-m", "green", "-m", f"scores:file={path}", "--resamples", "20",
        "--html", "page.html",
    )  # fmt: skip
    assert (status, err.startswith("page: ")) == (0, True)
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    assert "given scores" in page
    shell.write("two.tsv", "mine\t1\t1\nmine\t2\t1\nmine\t3\t1\nref\t1\t2\nref\t2\t2\nref\t3\t3\n")
    rows = shell.rows("rank", "source.txt", "mine.txt", "ref.txt", "-m", "scores:file=two.tsv")
    assert [row["system"] for row in rows] == ["ref", "mine"]
    assert rows[0]["ci95"] is not None
