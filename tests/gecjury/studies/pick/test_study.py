"""`gecjury pick`: choice by score or by agreement, the gain, and invalid input."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import gecjury
from gecjury import Pick, Resampling
from gecjury.cli import main
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.report.tables import to_json
from gecjury.scoring.given_scores import given_scores
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.scoring.signature import Signature
from gecjury.studies.pick.choices import Votes, choose_by_risk, choose_by_score
from gecjury.studies.pick.gains import best_elsewhere, part_draws
from tests.shell import Shell

SOURCE = ["This are a sentence .", "He go home now .", "All is well here ."]
GOOD = ["This is a sentence .", "He goes home now .", "All is well here ."]
ODD = ["These are a sentence .", "He went home now .", "All is well here ."]
BAD = ["This are sentence .", "Go home .", "All is well here ."]
CANDIDATES = {"bad": BAD, "good": GOOD, "odd": ODD, "same": list(GOOD)}
QUIET = Runtime(use_cache=False)


def corpus(references: bool = False) -> Corpus:
    return corpus_of_texts(SOURCE, CANDIDATES, [GOOD] if references else [])


def test_the_highest_score_wins_and_the_first_of_equal_ones() -> None:
    given = given_scores({"bad": [1, 5, 0], "good": [2, 5, 0], "odd": [2, 1, 0], "same": [0, 0, 0]})
    result = choose_by_score(given, corpus(), QUIET)
    assert result.chosen.tolist() == [1, 0, 0]
    assert result.lines == (GOOD[0], BAD[1], GOOD[2])
    # Ties: 2 and 2, 5 and 5 for different texts; the third sentence has only one text.
    assert result.tied == 2
    assert result.shares == {"bad": 2, "good": 1, "odd": 0, "same": 0}


def test_unscored_texts_are_never_chosen_and_sentences_without_scores_are_reported() -> None:
    none = float("nan")
    given = given_scores(
        {"bad": [none, none, 0], "good": [-9, none, 0], "odd": [none] * 3, "same": [none] * 3}
    )
    result = choose_by_score(given, corpus(), QUIET)
    assert result.chosen.tolist() == [1, 0, 0]
    assert result.unscored == 1
    assert any("scored none of the corrections of 1 sentences" in note for note in result.notes)


def plain_risk(name: str, votes: str) -> np.ndarray:
    """Compare every candidate with every other file (or text), with one metric call each."""
    texts = list(CANDIDATES.values())
    table = np.full((4, 3), np.nan)
    for row, (one, mine) in itertools.product(range(3), enumerate(texts)):
        others = [t[row] for place, t in enumerate(texts) if place != one]
        if votes == "texts":
            others = sorted({text for text in others if text != mine[row]})
        values = [
            load(name).score([SOURCE[row]], {"x": [mine[row]]}, [[o]], runtime=QUIET).sentences[0]
            for o in others
        ]
        table[one, row] = np.mean(values) if values else 1.0
    return table


@pytest.mark.parametrize("votes", get_args(Votes))
@pytest.mark.parametrize("name", ["errant", "green"])
def test_risk_is_the_mean_over_the_others(name: str, votes: Votes) -> None:
    result = choose_by_risk(load(name), corpus(), QUIET, votes)
    assert result.scores == pytest.approx(plain_risk(name, votes))


def test_votes_of_files_choose_a_text_that_two_wrote_and_ignore_references() -> None:
    result = choose_by_risk(load("errant"), corpus(), QUIET, "files")
    assert result.lines[:2] == tuple(GOOD[:2])
    beside = corpus_of_texts(SOURCE, CANDIDATES, [BAD])
    again = choose_by_risk(load("errant"), beside, QUIET, "files")
    assert np.array_equal(result.scores, again.scores)


def test_errant_on_sets_of_edits_gives_the_scores_of_the_metric() -> None:
    # An option that the fast path does not support uses the slow path; the scores are the same.
    short = choose_by_risk(load("errant"), corpus(), QUIET, "files")
    long = choose_by_risk(load("errant:compat=official"), corpus(), QUIET, "files")
    assert short.scores == pytest.approx(long.scores, abs=1e-4)


def test_gain_is_measured_against_the_best_single_system() -> None:
    settings = Pick(mbr=("errant",), measured=True)
    picked = gecjury.pick(corpus(references=True), "green", settings)
    rows = {row["output"]: row for row in picked.rows()}
    assert picked.facts["best"] == {"errant": "good", "gleu": "good"}
    assert rows["good"]["errant"] == rows["green"]["errant"] == 1.0
    assert rows["good"]["errant_gain"] == 0.0
    assert rows["oracle errant"]["errant"] == 1.0
    assert rows["bad"]["errant_gain"] < rows["random pick"]["errant_gain"] < 0
    assert rows["bad"]["ci95"]["errant"][0] <= rows["bad"]["errant_gain"]
    assert "green chose by the references" in " ".join(picked.notes)
    assert picked.facts["alike"] == 1


def given_table(scorer: Scorer, values: np.ndarray) -> ScoreTable:
    """Return a score table with these sentence scores, systems × sentences."""
    statistics, names = Statistics(values), tuple("abcdefghi"[: len(values)])
    scores = scorer.sentence_scores(statistics), scorer.corpus_scores(statistics)
    signature = Signature("changes", "refless", {})
    return ScoreTable(names, signature, *scores, statistics, dict.fromkeys(names, ""))


def test_the_best_system_owes_nothing_to_luck() -> None:
    # A ninth system, fixed in advance, is as good as the best of eight systems of equal quality.
    rng = np.random.default_rng(4)
    scorer = load("changes")
    parts, draws = part_draws(60, 99, 0)
    gains, lucky, holds = [], [], []
    for _ in range(60):
        values = rng.random((9, 60))
        table = given_table(scorer, values)
        baseline = best_elsewhere(scorer, table, 8, parts, draws)
        drawn = scorer.corpus_scores(table.statistics, draws).score[:, 8] - baseline
        gains.append(drawn[0])
        lucky.append(values[8].mean() - values[:8].mean(axis=1).max())
        low, high = np.quantile(drawn[1:], [0.025, 0.975])
        holds.append(low <= 0 <= high)
    error = np.std(gains) / np.sqrt(60)
    assert abs(np.mean(gains)) < 3 * error
    assert np.mean(lucky) < -6 * error
    assert np.mean(holds) > 0.9


def test_the_best_system_of_a_half_is_chosen_by_the_other_half() -> None:
    scorer = load("changes")
    parts, draws = part_draws(60, 5, 0)
    assert draws[0].tolist() == list(range(60))
    assert (np.sort(parts[draws], axis=1) == np.repeat(np.arange(6), 10)).all()
    # Each of two systems is right in three of the six parts. A half with two or three of a
    # system's parts chooses it for the other half, where it has one part or none. Of ten pairs of
    # halves one is 3:0, where both halves choose wrongly and score 0; nine are 2:1, where each
    # system is chosen for 30 sentences and is right in 10 of them: 20 of 60.
    first = (parts < 3).astype(float)
    table = given_table(scorer, np.stack([first, 1 - first]))
    chosen = best_elsewhere(scorer, table, 2, parts, draws)
    assert chosen.tolist() == pytest.approx([0.9 * 20 / 60] * 6)
    # With a single sentence, the best system is chosen on that sentence.
    parts, draws = part_draws(1, 5, 0)
    table = given_table(scorer, np.array([[0.1], [0.7]]))
    assert best_elsewhere(scorer, table, 2, parts, draws).tolist() == [0.7] * 6


def test_identical_candidates_are_reported() -> None:
    picked = gecjury.pick(corpus_of_texts(SOURCE, {"a": GOOD, "b": GOOD}), (), Pick(mbr=("green",)))
    assert "b has the same lines as a" in picked.notes[0]
    assert "nothing to choose" in picked.notes[1]
    assert [row["text"] for row in picked.table("lines").rows] == GOOD
    assert picked.rows()[0]["tied"] == 0


def test_choosing_writes_no_cache(tmp_path: Path) -> None:
    gecjury.pick(corpus(), (), Pick(mbr=(load("green"),)), runtime=Runtime(cache=tmp_path))
    assert not list(tmp_path.iterdir())


# --- the command -----------------------------------------------------------------------------


FILES = ["source.txt", "bad.txt", "good.txt", "odd.txt"]


@pytest.fixture
def files(shell: Shell) -> list[str]:
    for name, lines in (("source", SOURCE), ("ref", GOOD), *CANDIDATES.items()):
        shell.write(f"{name}.txt", "".join(f"{line}\n" for line in lines))
    return FILES


def test_only_one_line_per_sentence_is_printed(shell: Shell, files: list[str]) -> None:
    status, out, err = shell("pick", *files, "--mbr", "green", "--format", "tsv")
    assert status == 0
    assert all(line in lines for line, *lines in zip(out.splitlines(), BAD, GOOD, ODD, strict=True))
    assert "among equals, the first file named" in err
    assert "note: all candidates are equal in 1 of 3 sentences" in err


def test_files_are_written(shell: Shell, files: list[str]) -> None:
    words = ["pick", *files, "--mbr", "green"]
    status, out, _ = shell(*words, "-o", "best.txt", "--scores", "scores.tsv")
    assert (status, out) == (0, "")
    table = shell.folder.joinpath("scores.tsv").read_text()
    head, *rows = table.splitlines()
    assert head == "line\tchosen\tbad\tgood\todd"
    best = shell.folder.joinpath("best.txt").read_text().splitlines()
    assert len(rows) == len(best) == 3
    for row in rows:
        _, chosen, *values = row.split("\t")
        first = ["bad", "good", "odd"][values.index(max(values, key=float))]
        assert chosen == first
    assert shell(*words, "--scores", "-")[1] == table


def untimed(document: Any) -> Any:
    rows = [{**row, "seconds": None} for row in document["rows"]]
    return {**document, "rows": rows, "methods": [{**m, "seconds": 0} for m in document["methods"]]}


@pytest.mark.parametrize("measured", [False, True])
def test_the_command_prints_what_the_function_gives(
    shell: Shell, files: list[str], measured: bool
) -> None:
    texts = gecjury.read_corpus(files[0], files[1:], ["ref.txt"])
    how = Resampling(over="sentences", resamples=20)
    settings = Pick(mbr=("green",), votes="texts", measured=measured, resampling=how, seed=3)
    picked = gecjury.pick(texts, "changes" if measured else (), settings)
    words = ["--mbr", "green", "--votes", "texts", "--resamples", "20", "--seed", "3"]
    words += ["-m", "changes", "--try"] if measured else []
    status, out, _ = shell("pick", *files, "-r", "ref.txt", *words, "--format", "json")
    own = json.loads(out)
    assert (status, own["inputs"]) == (0, files)
    given = json.loads(to_json({**picked.document(), "inputs": files}))
    assert untimed(own) == untimed(given)
    kinds = [row.get("kind") for row in own["rows"]]
    tried = ["picked"] * 2 + ["system"] * 3 + ["random"] + ["oracle"] * 2
    assert kinds == (tried if measured else [None])
    assert ("lines" in own) is not measured


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-m", "changes", "--mbr", "green"], "several ways to choose give several outputs"),
        ([], "no way to choose"),
        (["-m", "green"], "green needs references: "),
        (["-m", "green"], "(--mbr green)"),
        (["--mbr", "changes"], "--mbr changes: expected a metric that compares"),
        (["--mbr", "m2"], "--mbr m2: expected a metric that compares"),
        (["--mbr", "gren"], "did you mean green"),
        (["--mbr", "green", "--try"], "measuring the gain needs references"),
        (["-m", "changes", "--votes", "people"], "invalid choice"),
        (["-m", "changes", "--resamples", "0"], "--resamples 0: expected 1 or more"),
    ],
)
def test_unsuitable_options_are_refused(
    shell: Shell, files: list[str], words: list[str], message: str
) -> None:
    status, out, err = shell("pick", *files, *words)
    assert (status, out) == (2, "")
    assert message in err


def test_mismatched_files_are_refused(shell: Shell, files: list[str]) -> None:
    shell.write("short.txt", "one line\n")
    for words, message in (
        (["good.txt", "short.txt"], "short.txt has 1 lines, but source.txt has 3"),
        (["good.txt", "good.txt"], "named twice"),
        (["good.txt"], "1 output to choose among"),
    ):
        status, _, err = shell("pick", files[0], *words, "-m", "changes")
        assert (status, message in err) == (2, True), err
    with pytest.raises(OptionError, match="unknown value of --votes 'people'"):
        Pick(votes="people")  # type: ignore[arg-type]  # what is refused


def test_raw_corrections_are_written_as_they_were_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("He go , yes .\n")
    Path("a.txt").write_text("He “goes”, yes.\n")
    Path("b.txt").write_text("He “goes”, yes.\n")
    assert main(["pick", "s.txt", "a.txt", "b.txt", "--mbr", "gleu", "-o", "out.txt"]) == 0
    assert Path("out.txt").read_text() == "He “goes”, yes.\n"
