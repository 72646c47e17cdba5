"""`gecjury diff`: its output is that of the Python function; the gate; invalid input."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import gecjury
from gecjury import Diff, Resampling
from gecjury.core.errors import OptionError
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.result import Result
from gecjury.report.tables import to_json
from gecjury.scoring.given_scores import given_scores
from tests.shell import FIXED, REPOSITORY, SOURCE, Shell

WORKFLOW = REPOSITORY / "docs" / "examples" / "quality-gate.yml"
FEW = Resampling(over="sentences", resamples=20, permutations=20)
# The first line corrected, the last changed for no reason.
NEW = [FIXED[0], SOURCE[1], "All is good here ."]


def lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def compared(
    metrics: Any = "green",
    *condition: str,
    new: list[str] = NEW,
    references: tuple[list[str], ...] = (FIXED,),
    **settings: Any,
) -> Result:
    """Compare an old output equal to the source with a new one."""
    corpus = corpus_of_texts(SOURCE, {"old": SOURCE, "new": new}, references)
    return gecjury.diff(corpus, metrics, Diff(resampling=FEW, fail_if=condition, **settings))


@pytest.fixture
def files(shell: Shell) -> Shell:
    shell.write("old.txt", lines(SOURCE))
    shell.write("new.txt", lines(NEW))
    return shell


WORDS = ["diff", "source.txt", "old.txt", "new.txt", "-r", "ref.txt", "-m", "green"]
WORDS += ["--resamples", "20"]


def test_the_command_prints_what_the_function_gives(files: Shell) -> None:
    pytest.importorskip("errant")
    corpus = read_corpus("source.txt", ["old.txt", "new.txt"], ["ref.txt"])
    how = Resampling(over="sentences", resamples=20, permutations=1000, confidence=0.8)
    settings = Diff(resampling=how, seed=3, by_type=3, show=2)
    difference = gecjury.diff(corpus, ["green", "errant"], settings)
    words = ["-m", "errant", "--confidence", "0.8", "--seed", "3", "--by-type", "3", "--show", "2"]
    own = json.loads(files.ended(*WORDS, *words, "--format", "json")[0])
    assert own == json.loads(to_json(difference.document()))
    measures = ["green", "errant", "over-correction", "under-correction", "success"]
    assert [row["measure"] for row in own["rows"]] == measures
    assert [(row["old"], row["new"]) for row in own["rows"][2:]] == [(0, 1), (1, 0.5), (0, 0.5)]
    assert {row["type"] for row in own["types"]} >= {"R:VERB:SVA", "R:ADJ"}
    assert [change["move"] for change in own["edits"]["changes"]] == ["came", "came"]
    assert [(row["line"], row["effect"] > 0) for row in own["moved"][:2]] == [(3, False), (1, True)]
    out, _ = files.ended(*WORDS, *words)
    assert out.endswith("\nmore: --verbose, or --html page.html\n")
    assert "By error type" not in out
    out, _ = files.ended(*WORDS, *words, "--verbose", "--html", "page.html")
    assert "more:" not in out
    for part in ("new (NEW) − old (OLD)", "By error type: errant",
                 "Edits that came and went", "Sentences that moved most"):  # fmt: skip
        assert part in out
    page = (files.folder / "page.html").read_text(encoding="utf-8")
    assert "<h1>new against old</h1>" in page
    # Edits are judged by the nearest reference, a plot has the differences.
    assert '<mark class="right"><del>are</del> <ins>is</ins> ✓</mark>' in page
    assert '<mark class="wrong"><del>well</del> <ins>good</ins> ✗</mark>' in page
    assert "<title>over-correction ↓: difference 1.000" in page
    plain = page.replace(' dir="auto"', "")
    # OLD makes no edits, so that its F0.5 of a type that no reference has is not defined.
    assert re.search(r"<td>R:ADJ</td><td>0/0/0</td><td>0/1/0</td><td class=.n.>–</td>", plain)
    assert '<p class="lead">green: ' in page
    assert 'class="who">OLD<' in page


def test_without_references_the_parts_that_need_them_are_left_out() -> None:
    result = compared("changes", references=())
    assert [row["measure"] for row in result.rows()] == ["changes"]
    assert any("no references (-r): rates of over-correction" in note for note in result.notes)
    if result.facts["edits"]:
        assert {change["right"] for change in result.facts["edits"]["changes"]} == {None}
        assert "right" not in str(result).partition("Edits that came and went")[2]


# --- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "status", "messages"),
    [
        (["green < 0"], 0, ["gate: passed: green = 0"]),
        (["green > 0"], 3, ["gate: green > 0 holds: green = 0"]),
        (["green < 0 or over-correction > .5"], 3, ["gate: over-correction > .5 holds: over-corr"]),
        (["success.new >= 0.5 and green.p <= 1"], 3, ["gate: success.new >= 0.5 and green.p"]),
        (["green > 0", "success > 0"], 3, ["gate: green > 0", "gate: success > 0"]),
    ],
)
def test_gate(conditions: list[str], status: int, messages: list[str]) -> None:
    result = compared("green", *conditions)
    assert result.status == status
    assert all(map(str.startswith, result.said, messages))
    assert len(result.said) == len(messages)
    gate = result.facts["gate"]
    assert (gate["passed"], bool(gate["tripped"])) == (status == 0, status == 3)


def test_a_gate_does_not_pass_what_is_missing() -> None:
    changed = ([FIXED[0], FIXED[1], "All is fine here ."],)
    result = compared("green", "green > 0 or over-correction > 0.01", references=changed)
    assert result.status == 2
    assert result.said[0].startswith("gate: green > 0 holds")
    assert result.said[1] == "gate: cannot be judged: missing: over-correction is not defined"
    scores = given_scores({"old": [0.5] * 3, "new": [0.5, 0.5, float("nan")]})
    assert compared(["green", scores]).status == 1
    result = compared(["green", scores], "green < -1")
    assert result.status == 2
    assert "missing: 1 scores of " in result.said[0]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("chnges < 0", "no figure is called 'chnges': did you mean changes"),
        ("changes < ", "column 10: a score's name or a number is missing"),
        ("success < 0", "success needs references"),
    ],
)
def test_conditions_are_checked_before_scoring(condition: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compared("changes", condition, references=())


def test_a_dry_run_has_nothing_to_judge(files: Shell) -> None:
    _, err = files.ended(*WORDS, "--fail-if", "green < 0", "--dry-run", status=2)
    assert "--dry-run scores nothing" in err


def test_a_metric_with_options_has_a_full_and_a_short_name() -> None:
    names = "`green:beta=1` < -9 or `gleu:n=2.p` > 2 or gleu < -9 or green < -9"
    assert compared(["green", "green:beta=1", "gleu:n=2"], names).status == 0
    with pytest.raises(OptionError, match="no figure is called 'green'"):
        compared(["green:beta=1", "green:beta=3"], "green < 0")


def test_a_gate_fails_even_if_the_reader_of_the_output_has_gone(files: Shell) -> None:
    words = [sys.executable, "-m", "gecjury", *WORDS, "--fail-if", "green > 0", "--format", "json"]
    with subprocess.Popen(
        words,
        cwd=files.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "LC_ALL": "C.UTF-8"},
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 3


# --- files ---------------------------------------------------------------------------------------


def test_the_same_file_twice_is_refused(files: Shell) -> None:
    Path("link.txt").symlink_to("old.txt")
    for other in ("./old.txt", "link.txt"):
        words = [other if word == "new.txt" else word for word in WORDS]
        assert "OLD and NEW are the same file" in files.ended(*words, status=2)[1]


def test_outputs_with_the_same_name_in_two_folders(files: Shell) -> None:
    files.write("main/out.txt", lines(SOURCE))
    files.write("pr/out.txt", lines(NEW))
    names = {"old.txt": "main/out.txt", "new.txt": "pr/out.txt"}
    words = [names.get(word, word) for word in WORDS]
    own = json.loads(files.ended(*words, "--format", "json")[0])
    assert (own["old"], own["new"]) == ("main/out.txt", "pr/out.txt")
    assert own["rows"] == json.loads(files.ended(*WORDS, "--format", "json")[0])["rows"]
    files.write("pr/out.txt", lines(NEW[:2]))
    _, err = files.ended(*words, status=2)
    assert "pr/out.txt has 2 lines, but source.txt has 3" in err


def test_identical_outputs_are_reported() -> None:
    result = compared(new=SOURCE)
    assert "OLD and NEW have the same corrections on all 3 lines" in result.notes
    assert {(row["difference"], row["p"]) for row in result.rows()} == {(0, 1)}
    assert result.facts["moved"] == []


# --- what people see -----------------------------------------------------------------------------


def test_the_verdict_agrees_with_the_test_in_the_table() -> None:
    how = Resampling(over="sentences", resamples=20, permutations=100)
    corpus = gecjury.load_benchmark("sample").corpus
    for old, new in (("careful", "fluent"), ("fluent", "careful")):
        result = gecjury.diff(corpus.with_systems([old, new]), "green", Diff(resampling=how))
        row, (sentence,) = result.rows()[0], result.verdict
        best, gap = max(row["old"], row["new"]), abs(row["difference"])
        first, second = ("OLD", "NEW") if old == "careful" else ("NEW", "OLD")
        assert sentence.startswith(
            f"green: careful ({first}) leads: {best:.4f}, {gap:.4f} ahead of fluent ({second}) "
            "(paired 95%: "
        )
        low, high = sorted(abs(bound) for bound in row["ci95"])
        assert f"{low:.4f} to {high:.4f})" in sentence
        p = "p < 0.001" if row["p"] < 0.0005 else f"p = {row['p']:.3f}"
        assert sentence.endswith(f", significant ({p}, approximate randomisation).")
        figures = {(f.system, f.statistic): f for f in result.figures() if f.metric == "green"}
        difference = figures[f"{new} − {old}", "difference"]
        assert (difference.value, difference.interval) == (row["difference"], tuple(row["ci95"]))
        assert figures[old, "score"].value == row["old"]
    (sentence,) = compared(new=SOURCE).verdict
    assert "old (OLD) and new (NEW) share the lead" in sentence


def test_both_corrections_of_a_sentence_are_adjacent() -> None:
    shown = [table for table in compared(["green", "changes"], show=1).tables if table.columns]
    (moved,) = [table for table in shown if table.title.startswith("Sentences that moved most")]
    assert moved.title.endswith(": green")
    assert [(row["line"], row["side"]) for row in moved.rows] == [(1, "OLD"), ("", "NEW")]


# --- the example in the documentation ------------------------------------------------------------


def commands(step: str) -> str:
    """Return the commands that a named step of the workflow runs."""
    text = WORKFLOW.read_text(encoding="utf-8")
    (part,) = (each for each in text.split("      - name: ")[1:] if each.startswith(f"{step}\n"))
    match = re.search(r"^        run: (?:\|\n)?(.*)\Z", part, re.M | re.S)
    assert match is not None
    return match[1]


@pytest.mark.parametrize(("new", "status"), [(NEW, 3), (SOURCE[:2], 2)])
def test_the_workflow_runs(shell: Shell, new: list[str], status: int) -> None:
    pytest.importorskip("errant")
    folder = shell.folder
    for name, texts in (("source", SOURCE), ("ref", FIXED), ("released", SOURCE)):
        shell.write(f"eval/{name}.txt", lines(texts))
    shell.write("corrected", lines(new))
    shell.write("correct", "#!/bin/sh\ncat corrected\n").chmod(0o755)
    program = f'gecjury() {{ {shlex.quote(sys.executable)} -m gecjury "$@"; }}\n'
    steps = [commands("Correct"), program + commands("Compare")]
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "GITHUB_STEP_SUMMARY": str(folder / "sum")}
    done = [
        # As GitHub runs `shell: bash`.
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step],
            cwd=folder, env=env, capture_output=True, text=True, timeout=60,
        )
        for step in (*steps, commands("Show"))
    ]  # fmt: skip
    assert [each.returncode for each in done] == [0, status, 0], done
    summary = (folder / "sum").read_text(encoding="utf-8")
    assert ("**new (NEW) − released (OLD)**" in summary) == (status != 2)
    said = {3: "over-correction > 0.01 holds", 2: "new.txt has 2 lines"}
    assert said[status] in done[1].stderr
    assert (folder / "difference.html").exists() == (status != 2)
