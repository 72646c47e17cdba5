"""Scores of several metrics: texts and benchmarks, error types, plain records, the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gecjury
from gecjury import Score
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.tables import to_json
from gecjury.studies.systems.parts import by_type
from tests.shell import FIXED, SOURCE, Shell


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of_texts(SOURCE, {"fixed": FIXED, "copy": SOURCE}, [FIXED])


def test_scores_of_texts(corpus: Corpus) -> None:
    result = gecjury.score(corpus, ["green", "gleu"], Score(sentences=True))
    own = gecjury.load("gleu").score_corpus(corpus)
    rows = result.rows()
    assert [(row["metric"], row["system"]) for row in rows] == [
        ("green", "fixed"), ("green", "copy"), ("gleu", "fixed"), ("gleu", "copy"),
    ]  # fmt: skip
    assert [row["score"] for row in rows[2:]] == list(own.totals)
    assert rows[0]["precision"] == rows[0]["recall"] == 1
    assert "precision" not in rows[2]
    assert rows[3]["sentences"] == own.sentences[1].tolist()
    text = str(result)
    heads = ["system", "metric", "score", "precision", "recall", "p", "to", "best"]
    assert text.split("\n")[3].split() == heads
    assert "score: F2 of green; " in text
    assert str(own.signature) not in text
    assert str(own.signature) in str(result.shown_to("verbose")[0].notes)
    assert repr(result) == "<Result: 4 rows>"


def test_the_difference_from_the_best_system_is_tested() -> None:
    result = gecjury.score("sample", "green")
    ranked = gecjury.rank("sample", "green")
    best, *others = [row["system"] for row in ranked.rows()]
    (tested,) = ranked.table("significance").rows
    row_of_best = dict(
        zip(tested["systems"], tested["adjusted"][tested["systems"].index(best)], strict=True)
    )
    p_values = {row["system"]: row["p_best"] for row in result.rows()}
    assert p_values == {best: None, **{name: row_of_best[name] for name in others}}
    assert result.verdict == ranked.verdict
    # With one system there is nothing to test.
    alone = gecjury.score(corpus_of_texts(SOURCE, {"copy": SOURCE}, [FIXED]), "green")
    assert "p_best" not in alone.rows()[0]
    assert alone.verdict == ()
    assert [column.title for column in alone.tables[0].columns][2] == "F2"


def test_a_benchmark_by_name_and_score_files(tmp_path: Path) -> None:
    result = gecjury.score("sample", "changes", folder=tmp_path / "out")
    corpus = gecjury.load_benchmark("sample").corpus
    assert [row["system"] for row in result.rows()] == list(corpus.names)
    (kept,) = (tmp_path / "out").glob("changes-*.json")
    written = kept.stat().st_mtime_ns
    # The second time, all scores are read from the files.
    again = gecjury.score(corpus, "changes", folder=tmp_path / "out")
    assert again.rows() == result.rows()
    assert kept.stat().st_mtime_ns == written


def test_a_limit_scores_the_same_sentences_as_alone(shell: Shell) -> None:
    texts = [f"He have {number} cats ." for number in range(9)]
    shell.write("s.txt", "\n".join(texts) + "\n")
    outputs = [text.replace("have", "has") if number % 2 else text
               for number, text in enumerate(texts)]  # fmt: skip
    shell.write("h.txt", "\n".join(outputs) + "\n")
    shell.write("r.txt", "\n".join(text.replace("have", "has") for text in texts) + "\n")
    words = ["score", "s.txt", "h.txt", "-r", "r.txt", "-m", "green", "--sentences"]
    words += ["--worst", "9", "--format", "json"]
    whole = json.loads(shell.ended(*words)[0])["rows"][0]["sentences"]
    five = json.loads(shell.ended(*words, "--limit", "5")[0])
    lines = five["limit"]["lines"]
    assert (five["limit"]["of"], len(lines), lines) == (9, 5, sorted(lines))
    assert five["rows"][0]["sentences"] == [whole[line - 1] for line in lines]
    # Sentences have the lines of the file, and the worst are the uncorrected ones, at odd lines.
    assert {row["line"] for row in five["worst"]} == {line for line in lines if line % 2}
    assert five["notes"][0] == "--limit: 5 of 9 sentences, drawn with seed 0"
    three = json.loads(shell.ended(*words, "--limit", "3")[0])["limit"]["lines"]
    assert set(three) < set(lines)
    other = json.loads(shell.ended(*words, "--limit", "5", "--seed", "1")[0])
    assert other["limit"]["lines"] != lines
    assert "limit" not in json.loads(shell.ended(*words, "--limit", "9")[0])
    # The page shows the same sentences.
    shell.ended(*words[:7], "--limit", "5", "--html", "page.html")
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    worst = next(row["line"] for row in five["worst"])
    assert f"line {worst} " in page
    assert f"He have {worst - 1} cats ." in page


def test_a_limit_of_a_benchmark_and_of_given_scores(tmp_path: Path) -> None:
    result = gecjury.score("sample", "green", limit=20)
    assert result.facts["limit"]["of"] == 68
    file = tmp_path / "given.tsv"
    file.write_text("system\tline\tscore\ncopy\t1\t0.5\ncopy\t2\t0.5\ncopy\t3\t0.5\n")
    texts = corpus_of_texts(SOURCE, {"copy": SOURCE})
    with pytest.raises(OptionError, match="scores: finished scores are for all sentences"):
        gecjury.score(texts, f"scores:file={file}", limit=1)


def test_error_types_by_hand() -> None:
    pytest.importorskip("errant")
    corpus = corpus_of_texts(
        ["He go home .", "She have cats ."],
        {"mine": ["He goes home .", "She have a cat ."]},
        [["He goes home .", "She has cats ."]],
    )
    table = gecjury.load("errant").score_corpus(corpus)
    operations = {part.name: part.numbers for part in by_type(table, 1)}
    # One of the reference's two replacements was made; "a cat" adds a word and replaces one.
    right = {"tp": 1, "fn": 1, "precision": 0.5, "recall": 0.5, "f0.5": 0.5}
    assert operations["R"].items() >= right.items()
    added = {"tp": 0, "fp": 1, "fn": 0}
    # The reference has no such edit, so recall is 1.
    assert operations["M"].items() >= (added | {"precision": 0, "recall": 1, "f0.5": 0}).items()
    assert {part.name for part in by_type(table, 3)} >= {"R:VERB:SVA", "M:DET"}
    rows = gecjury.score(corpus, ["errant", "green"], Score(by_type=2)).rows()
    assert rows[0]["by_type"]["DET"]["precision"] == 0
    assert "by_type" not in rows[1]
    # What people see has no share of nothing.
    shown = gecjury.score(corpus, "errant", Score(by_type=1)).tables[1].rows
    assert np.isnan(next(row["recall"] for row in shown if row["type"] == "M"))


def test_macro_averages_by_hand() -> None:
    source = ("a b c d", "a b c d")
    hit, needless = Edit(0, 1, "A", "R:ORTH"), Edit(2, 3, "", "U:NOUN")
    missed, other = Edit(1, 1, "x", "M:DET"), Edit(3, 4, "D", "R:NOUN")
    made = Version(("A b d", "a b c d"), ((hit, needless), ()))
    gold = Version(("A x b c d", "a b c D"), ((hit, missed), (other,)))
    corpus = Corpus(source, {"mine": made}, (gold,))
    settings = Score(macro=True, by_type=1)
    row, even, gleu = gecjury.score(corpus, ["errant", "errant:beta=1", "gleu"], settings).rows()
    # Sentences: P 1/2, R 1/2, F 1/2; then no edit is proposed: P 1, R 0, F 0.
    assert row["macro"]["sentences"] == {
        "precision": 0.75, "recall": 0.25, "score": 0.25, "units": 2,
    }  # fmt: skip
    # Type R has 1/0/1 (TP/FP/FN), U 0/1/0, M 0/0/1. Precision averages R and U, (1 + 0)/2, recall
    # R and M, (1/2 + 0)/2; F0.5 of R is 1.25 · 1/2 / (1/4 + 1/2) = 5/6, of the others 0.
    assert row["macro"]["types"] == pytest.approx(
        {"precision": 0.5, "recall": 0.25, "score": 5 / 18, "units": 3}
    )
    # F1 of R is 2/3.
    assert even["macro"]["types"]["score"] == pytest.approx(2 / 9)
    assert "macro" not in gleu
    with pytest.raises(OptionError, match="`macro=`: none of the metrics named has precision"):
        gecjury.score(corpus, "gleu", Score(macro=True))


def test_metrics_without_error_types_are_refused() -> None:
    with pytest.raises(OptionError, match="none of the metrics named counts error types"):
        gecjury.score("sample", "green", Score(by_type=1))


def test_missing_references_are_refused_before_scoring(tmp_path: Path) -> None:
    corpus = corpus_of_texts(SOURCE, {"x": FIXED})
    with pytest.raises(InputError, match="green needs references"):
        gecjury.score(corpus, ["changes", "green"], folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_errors_about_misplaced_lists_name_the_right_function() -> None:
    lists = "gecjury.corpus_of_texts"
    with pytest.raises(OptionError, match=f"settings is a list; expected Score.*{lists}"):
        gecjury.score(["a"], ["a"], ["a"])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=f"2 names of data; expected one benchmark, .*{lists}"):
        gecjury.score(["a", "b"], "changes")


def test_records_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    result = gecjury.score("sample", ["green", "changes"])
    table = pandas.DataFrame(result.rows()).pivot(index="system", columns="metric", values="score")
    assert table.loc["careful", "green"] == result.rows()[0]["score"]


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    pytest.importorskip("errant")
    corpus = read_corpus("source.txt", ["mine.txt", "source.txt"], ["ref.txt"])
    settings = Score(sentences=True, by_type=2, worst=1)
    result = gecjury.score(corpus, ["green", "errant"], settings)
    words = ["source.txt", "mine.txt", "source.txt", "-r", "ref.txt", "-m", "green", "-m", "errant"]
    words += ["--sentences", "--by-type", "2", "--worst", "1"]
    status, out, _ = shell("score", *words, "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(to_json(result.document()))
