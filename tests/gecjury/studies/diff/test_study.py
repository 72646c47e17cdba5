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
from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.corpus.reading import read_corpus
from gecjury.report.tables import to_json
from tests.shell import FIXED, REPOSITORY, SOURCE, Shell

WORKFLOW = REPOSITORY / "docs" / "examples" / "quality-gate.yml"
FAST = ["--resamples", "20", "--permutations", "20"]
# The first line corrected, the last changed for no reason.
NEW = [FIXED[0], SOURCE[1], "All is good here ."]


def lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


@pytest.fixture
def files(shell: Shell) -> Shell:
    """A shell with an old output equal to the source, and a new one."""
    shell.write("old.txt", lines(SOURCE))
    shell.write("new.txt", lines(NEW))
    shell.write("about.tsv", "id\tdomain\n1\tnews\n2\tmail\n3\tmail\n")
    return shell


GOOD = ["diff", "source.txt", "old.txt", "new.txt", "-r", "ref.txt", "-m", "green", *FAST]
BARE = ["diff", "source.txt", "old.txt", "new.txt", "-m", "changes", *FAST]


def printed(shell: Shell, *words: str, status: int = 0) -> dict[str, Any]:
    exit_status, out, _ = shell(*GOOD, *words, "--format", "json")
    assert exit_status == status
    document: dict[str, Any] = json.loads(out)
    return document


def test_json_is_what_the_function_gives(files: Shell) -> None:
    pytest.importorskip("errant")
    corpus = read_corpus("source.txt", ["old.txt", "new.txt"], ["ref.txt"])
    how = Resampling(over="sentences", resamples=20, permutations=20, confidence=0.8)
    settings = Diff(resampling=how, seed=3, by_type=3, show=2, by="about.tsv:domain")
    difference = gecjury.diff(corpus, ["green", "errant"], settings)
    words = ["-m", "errant", "--confidence", "0.8", "--seed", "3", "--by-type", "3", "--show", "2"]
    own = printed(files, *words, "--by", "about.tsv:domain")
    assert own == json.loads(to_json(difference.document()))
    measures = ["green", "errant", "over-correction", "under-correction", "success"]
    assert [row["measure"] for row in own["rows"]] == measures
    assert [(row["old"], row["new"]) for row in own["rows"][2:]] == [(0, 1), (1, 0.5), (0, 0.5)]
    assert {row["type"] for row in own["types"]} >= {"R:VERB:SVA", "R:ADJ"}
    assert [(row["group"], row["measure"]) for row in own["groups"][:2]] == [
        ("mail", "green"), ("news", "green"),
    ]  # fmt: skip
    assert [change["move"] for change in own["edits"]["changes"]] == ["came", "came"]
    assert [(row["line"], row["effect"] > 0) for row in own["moved"][:2]] == [(3, False), (1, True)]


def test_without_references_the_parts_that_need_them_are_left_out(files: Shell) -> None:
    status, out, _ = files(*BARE, "--format", "json")
    own = json.loads(out)
    assert status == 0
    assert [row["measure"] for row in own["rows"]] == ["changes"]
    assert any("no references (-r): rates of over-correction" in note for note in own["notes"])
    if own["edits"]:
        assert {change["right"] for change in own["edits"]["changes"]} == {None}
        _, out, _ = files(*BARE)
        assert "right" not in out.partition("Edits that came and went")[2]


@pytest.mark.parametrize("form", ["table", "tsv", "markdown", "latex"])
def test_every_format_shows_every_part(files: Shell, form: str) -> None:
    pytest.importorskip("errant")
    status, out, err = files(*GOOD, "-m", "errant", "--by", "about.tsv:domain", "--format", form)
    assert (status, err) == (0, "")
    for part in ("new (NEW) − old (OLD)", "By error type: errant", "By domain",
                 "Edits that came and went", "Sentences that moved most"):  # fmt: skip
        assert part in out
    assert re.search(r"\[are.+is\]", out)


def test_the_page_contains_the_tables(files: Shell) -> None:
    pytest.importorskip("errant")
    files.write("new.txt", lines([FIXED[0], "<b>He</b> goes", SOURCE[2]]))
    status, _, _ = files(*GOOD, "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert status == 0
    assert "<h1>new against old</h1>" in page
    assert re.search(r"<mark>\[are→is\]</mark>", page)
    assert "<b>" not in page
    assert "&lt;b&gt;He" in page
    assert "script-src 'none'" in page.replace("&#39;", "'")


# --- the gate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "status", "message"),
    [
        ("green < 0", 0, "gate: passed: green = 0"),
        ("green > 0", 3, "gate: green > 0 holds: green = 0"),
        ("green < 0 or over-correction > .5", 3, "gate: over-correction > .5 holds: over-corr"),
        ("success.new >= 0.5 and green.p <= 1", 3, "success.new = 0.5, green.p = "),
    ],
)
def test_gate(files: Shell, condition: str, status: int, message: str) -> None:
    exit_status, out, err = files(*GOOD, "--fail-if", condition)
    assert exit_status == status
    assert message in err
    assert "\nnew (NEW) − old (OLD)\n" in out
    gate = printed(files, "--fail-if", condition, status=status)["gate"]
    assert gate["passed"] == (status == 0)
    assert bool(gate["tripped"]) == (status == 3)


def test_each_tripped_gate_is_reported(files: Shell) -> None:
    status, _, err = files(*GOOD, "--fail-if", "green > 0", "--fail-if", "success > 0")
    assert status == 3
    assert [line.partition(" holds")[0] for line in err.splitlines()] == [
        "gate: green > 0", "gate: success > 0",
    ]  # fmt: skip


def test_a_gate_does_not_pass_undefined_figures(files: Shell) -> None:
    files.write("ref.txt", lines([FIXED[0], FIXED[1], "All is fine here ."]))
    status, _, err = files(*GOOD, "--fail-if", "over-correction > 0.01")
    assert status == 2
    assert err == "gate: cannot be judged: missing: over-correction is not defined\n"
    status, _, err = files(*GOOD, "--fail-if", "green > 0 or over-correction > 0.01")
    assert status == 2
    assert "gate: green > 0 holds" in err


def test_a_gate_does_not_pass_missing_scores(files: Shell) -> None:
    rows = [f"{system}\t{line}\t0.5\n" for system in ("old", "new") for line in (1, 2, 3)]
    files.write("given.tsv", "".join(rows[:-1]) + "new\t3\tnan\n")
    words = ["-m", "scores:file=given.tsv,label=given"]
    assert files(*GOOD, *words)[0] == 1
    status, _, err = files(*GOOD, *words, "--fail-if", "green < -1")
    assert status == 2
    assert "missing: 1 scores of " in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--fail-if", "gren < 0"], "no figure is called 'gren': did you mean green"),
        (["--fail-if", "green < "], "column 8: a score's name or a number is missing"),
        (["--fail-if", "green"], "a comparison"),
        (["--fail-if", ""], "its value is empty"),
        (["--fail-if", "green < 0", "--dry-run"], "--dry-run scores nothing"),
        (["--by", "about.tsv:domian"], "no column is called 'domian': did you mean domain"),
        (["--by", "about.tsv"], "name one of its columns, as about.tsv:COLUMN (id, domain)"),
        (["--by", "old.txt:x"], "no column is called 'x'"),
        (["--by", "none.tsv"], "none.tsv: no such file"),
        (["--resamples", "0"], "--resamples 0: expected 1 or more"),
        (["-m", "gleu:n=0"], "n=0 is out of range"),
    ],
)
def test_refusals(files: Shell, words: list[str], message: str) -> None:
    status, out, err = files(*GOOD, *words)
    assert (status, out) == (2, "")
    assert message in err


def test_a_rate_without_references_is_refused_before_scoring(files: Shell) -> None:
    status, out, err = files(*BARE, "--fail-if", "success < 0")
    assert (status, out) == (2, "")
    assert "success needs references" in err


def test_a_metric_with_options_has_a_full_and_a_short_name(files: Shell) -> None:
    words = ["-m", "green:beta=1", "-m", "gleu:n=2"]
    condition = "`green:beta=1` < -9 or `gleu:n=2.p` > 2 or gleu < -9 or green < -9"
    assert files(*GOOD, *words, "--fail-if", condition)[0] == 0
    words = [word for word in GOOD if word not in ("-m", "green")]
    words += ["-m", "green:beta=1", "-m", "green:beta=3"]
    status, _, err = files(*words, "--fail-if", "green < 0")
    assert (status, "no figure is called 'green'" in err) == (2, True)


def test_a_gate_fails_even_if_the_reader_of_the_output_has_gone(files: Shell) -> None:
    words = [sys.executable, "-m", "gecjury", *GOOD, "--fail-if", "green > 0", "--format", "json"]
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
    for other in ("old.txt", "./old.txt", "link.txt"):
        words = [other if word == "new.txt" else word for word in GOOD]
        status, out, err = files(*words)
        assert (status, out) == (2, "")
        assert "OLD and NEW are the same file" in err


def test_outputs_with_the_same_name_in_two_folders(files: Shell) -> None:
    files.write("main/out.txt", lines(SOURCE))
    files.write("pr/out.txt", lines(NEW))
    names = {"old.txt": "main/out.txt", "new.txt": "pr/out.txt"}
    words = [names.get(word, word) for word in GOOD]
    status, out, _ = files(*words, "--format", "json")
    own = json.loads(out)
    assert (status, own["old"], own["new"]) == (0, "main/out.txt", "pr/out.txt")
    assert own["rows"] == printed(files)["rows"]
    files.write("pr/out.txt", lines(NEW[:2]))
    status, out, err = files(*words)
    assert (status, out) == (2, "")
    assert "pr/out.txt has 2 lines, but source.txt has 3" in err


def test_outputs_of_different_lengths_are_refused(files: Shell) -> None:
    files.write("new.txt", lines(NEW[:2]))
    status, out, err = files(*GOOD)
    assert (status, out) == (2, "")
    assert "new.txt has 2 lines, but source.txt has 3" in err


def test_identical_outputs_are_reported(files: Shell) -> None:
    files.write("new.txt", lines(SOURCE))
    own = printed(files)
    assert "OLD and NEW have the same corrections on all 3 lines" in own["notes"]
    assert {(row["difference"], row["p"]) for row in own["rows"]} == {(0, 1)}
    assert own["moved"] == []


# --- the example in the documentation ------------------------------------------------------------


def commands(step: str) -> str:
    """Return the commands that a named step of the workflow runs."""
    text = WORKFLOW.read_text(encoding="utf-8")
    (part,) = (each for each in text.split("      - name: ")[1:] if each.startswith(f"{step}\n"))
    match = re.search(r"^        run: (?:\|\n)?(.*)\Z", part, re.M | re.S)
    assert match is not None
    return match[1]


@pytest.mark.parametrize(("new", "status"), [(FIXED, 0), (NEW, 3), (SOURCE[:2], 2)])
def test_the_workflow_runs(shell: Shell, new: list[str], status: int) -> None:
    pytest.importorskip("errant")
    folder = shell.folder
    for name, texts in (("source", SOURCE), ("ref", FIXED), ("released", SOURCE)):
        shell.write(f"eval/{name}.txt", lines(texts))
    shell.write("eval/about.tsv", "domain\nnews\nmail\nmail\n")
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
    assert {0: "gate: passed", 3: "over-correction > 0.01 holds", 2: "new.txt has 2 lines"}[
        status
    ] in done[1].stderr
    assert (folder / "difference.html").exists() == (status != 2)


def test_the_verdict_agrees_with_the_test_in_the_table() -> None:
    how = Resampling(over="sentences", resamples=20, permutations=100)
    corpus = gecjury.load_benchmark("sample").corpus
    for old, new, words in (
        ("careful", "fluent", "is worse than"),
        ("fluent", "careful", "is better than"),
        ("careful", "careful", "is not significantly different from"),
    ):
        both = corpus.with_systems([old, new]) if old != new else _twice(corpus, old)
        result = gecjury.diff(both, "green", Diff(resampling=how))
        row, (sentence,) = result.rows()[0], result.verdict
        start = (
            f"green: {both.names[1]} (NEW) {words} {both.names[0]} (OLD): {row['new']:.4f} against "
        )
        assert sentence.startswith(start)
        p = "p < .0001" if row["p"] < 0.0001 else f"p = {row['p']:.4f}"
        assert sentence.endswith(f", {p}).")


def _twice(corpus: Corpus, name: str) -> Corpus:
    lines = corpus.systems[name].lines
    return corpus_of_texts(corpus.sources, {"a": lines, "b": lines}, [corpus.references[0].lines])


def test_both_corrections_of_a_sentence_are_adjacent(files: Shell) -> None:
    _, out, _ = files(*GOOD, "-m", "changes", "--show", "1")
    table = out[out.index("Sentences that moved most: green") :].splitlines()
    sides = [line.split() for line in table if re.search(r" (OLD|NEW) +\d\.", line)]
    (line, _, old, *_), (new, *_) = sides
    assert (line, old, new) == ("1", "OLD", "NEW")
    # With --verbose the sentences of the other metric follow.
    _, out, _ = files(*GOOD, "-m", "changes", "--show", "1", "--verbose")
    below = out[out.index("moved most") :].splitlines()
    assert any(line.startswith(" changes ") for line in below)


def test_error_types_fit_a_screen(files: Shell) -> None:
    pytest.importorskip("errant")
    words = ["diff", "source.txt", "old.txt", "new.txt", "-r", "ref.txt", "-m", "errant", *FAST]
    _, out, _ = files(*words, "--show", "1", "--format", "markdown")
    heading = re.search(r"By error type: errant \(1 of (\d+), the most certain differences\)", out)
    assert heading
    assert "old tp/fp/fn" not in out
    _, out, _ = files(*words, "--show", "1", "--format", "json")
    assert len(json.loads(out)["types"]) == int(heading[1])
