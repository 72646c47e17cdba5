"""Bad input to `gecjury compare`: each case gives one clear line and exit status 2, or a caveat."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.judgments import RankedItem, expand_pairs
from gecjury.benchmarks.load import load_benchmark
from gecjury.cli import main
from gecjury.core.errors import InputError
from gecjury.metaeval.cautions import cautions, check_scored, count_repeats
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.scoring.registry import load

RATINGS = "sentence,system,score\n"
PREFERENCES = "sentence,system_a,system_b,preference\n"
RANKINGS = "sentence,system,rank,annotator\n"
GOOD = PREFERENCES + "1,good,none,a\n2,good,half,a\n2,good,none,a\n1,half,none,a\n"
XML = "<s><ranking-item id='1' src-id='1' user='x'>{}</ranking-item></s>"
RANKED = "<translation system='good' rank='1'/><translation system='none' rank='2'/>"


@pytest.fixture(autouse=True)
def good(folder: Path) -> None:
    """Write judgments that can be used; each test replaces or extends them."""
    (folder / "judgments.csv").write_text(GOOD)


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a comparison that is refused and return the one line that it prints."""
    assert main(["compare", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert captured.err.startswith("gecjury: ")
    return captured.err


def accepted(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert main(["compare", *argv, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


SKIP = 'unknown_systems = "skip"\n'
MORE = "3,good,ghost,a\n3,ghost,none,b\n3,spectre,ghost,a\n"


def test_judgments_of_systems_without_output_can_be_left_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are refused with a remedy, unless skipped; skipped judgments are counted."""
    plain = accepted(capsys, str(folder), "-m", "green", "--resample", "none")
    (folder / "judgments.csv").write_text(GOOD + MORE)
    message = refused(capsys, str(folder), "-m", "green")
    assert "line 6, column system_b: 'ghost'; expected a system" in message
    assert 'unknown_systems = "skip"' in message
    (folder / "benchmark.toml").write_text(SKIP)
    found = accepted(capsys, str(folder), "-m", "green", "--resample", "none")
    # All three added rows are skipped: they name ghost three times and spectre once.
    note = "3 of 7 judgments name systems without output and are left out: ghost 3, spectre 1"
    assert note in found["notes"]
    assert [row["sentence"] for row in found["rows"]] == [row["sentence"] for row in plain["rows"]]
    (folder / "benchmark.toml").write_text('unknown_systems = "drop"')
    message = refused(capsys, str(folder), "-m", "green")
    assert "unknown_systems is 'drop'; expected 'refuse' or 'skip'" in message


def test_a_ranking_keeps_systems_with_an_output(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "judgments.csv").unlink()
    ranked = (
        "<translation system='good ghost' rank='1'/><translation system='wraith' rank='2'/>"
        "<translation system='none' rank='3'/>"
    )
    (folder / "judgments.xml").write_text(XML.format(ranked))
    argv = [str(folder), "-m", "green", "--resample", "none"]
    assert "line 1: unknown system 'ghost'" in refused(capsys, *argv)
    (folder / "benchmark.toml").write_text(SKIP)
    found = accepted(capsys, *argv)
    assert found["rows"][0]["sentence"]["pairs"] == 1  # good is ahead of none
    assert found["notes"] == [
        "2 of 4 judgments name systems without output and are left out: ghost 1, wraith 1"
    ]


def test_undefined_results_are_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No preferences, two judged systems, one annotator, no window of four systems."""
    (folder / "judgments.csv").write_text(RATINGS + "1,good,4\n1,none,4\n")
    found = accepted(capsys, str(folder), "-m", "green", "--windows")
    assert (
        "no judgment (sentence) prefers one of these systems to another: the sentence level is not "
        "defined" in found["caveats"]
    )
    # Two systems allow no conclusion: with a single pair even a constant would get 1.
    assert found["chance"]["constant"]["human"]["sentence"]["system"]["spa"] is None
    assert main(["compare", str(folder), "-m", "green", "--windows"]) == 0
    printed = capsys.readouterr().out
    assert "a window has 4 or 8 systems; there are 3 here" in printed
    assert "one rater" not in printed


def test_tuning_on_two_systems_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "benchmark.toml").write_text('[system_sets]\nbase = ["good", "none"]')
    assert main(["tune", "green:beta=1:2:1", str(folder)]) == 2
    assert "mine (base) has fewer than three systems" in capsys.readouterr().err


def test_judgments_of_only_unknown_systems_leave_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "judgments.csv").write_text(PREFERENCES + "1,ghost,wraith,a\n")
    (folder / "benchmark.toml").write_text(SKIP)
    message = refused(capsys, str(folder), "-m", "green")
    assert "every judgment names a system without output (ghost 1, wraith 1)" in message
    assert "good, half, none" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["judgments.csv: the file is empty", "sentence,system,score"]),
        (RATINGS, ["judgments.csv: no ratings below the header"]),
        ("sentence,system\n1,good\n", ["line 1: columns sentence, system; expected a header"]),
        ("sentence,system,score,mood\n", ["line 1: unknown column 'mood'", "annotator,aspect"]),
        (RATINGS + "1,good,4\n\n1,godo,4\n", ["line 4, column system: 'godo'", "mean good"]),
        (RATINGS + "0,good,4\n", ["line 2, column sentence: '0'", "first_sentence = 0"]),
        (RATINGS + "9,good,4\n", ["line 2, column sentence: '9'; expected a whole number from 1"]),
        ("sentence;system;score\n1;good;3,5\n", ["'3,5'; expected a number with a decimal point"]),
        (
            RATINGS + "1,good,nan\n",
            ["column score: 'nan'; expected", "leave the cell empty"],
        ),
        (RATINGS + "1,good,\n", ["every score is empty"]),
        (RATINGS + "1,good,4\n2,half,4\n", ["no sentence has judgments of two systems"]),
        (PREFERENCES + "1,good,none,c\n", ["line 2, column preference: 'c'", "a (for good)"]),
        (PREFERENCES + "1,good,good,a\n", ["column system_b: 'good'; expected another system"]),
        (PREFERENCES + "1,good,nine,a\n", ["column system_b: 'nine'; expected a system"]),
        (
            RANKINGS + "1,good,0,x\n",
            ["column rank: '0'; expected a whole number from 1 to"],
        ),
        (RANKINGS + "1,good,1,x\n1,good,2,x\n", ["line 3, column system: 'good'", "x has not ran"]),
    ],
)
def test_wrong_judgments_name_their_line(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str]
) -> None:
    (folder / "judgments.csv").write_text(text)
    message = refused(capsys, str(folder), "-m", "green")
    assert "judgments.csv" in message
    for word in words:
        assert word in message


def test_fewer_than_three_systems(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "outputs/half.txt").unlink()
    (folder / "judgments.csv").write_text(PREFERENCES + "1,good,none,a\n2,good,none,a\n")
    message = refused(capsys, str(folder), "-m", "green", "--level", "system")
    assert "has 2 systems (good, none): a correlation needs three or more" in message
    (row,) = accepted(capsys, str(folder), "-m", "green:n=2")["rows"]
    for measure in ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"):
        assert row["system"][measure] is None
    assert row["sentence"]["accuracy"] == 1.0


def test_constant_scores_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("half", "none"):
        text = (folder / "outputs/good.txt").read_text()
        (folder / f"outputs/{name}.txt").write_text(text)
    (folder / "judgments.csv").write_text(
        RATINGS + "1,good,4\n1,half,4\n1,none,2\n2,good,2\n2,half,2\n2,none,4\n"
    )
    found = accepted(capsys, str(folder), "-m", "green", "--aggregate", "mean")
    assert found["rows"][0]["system"]["pearson"] is None
    assert found["rows"][0]["system"]["spearman"] is None
    assert found["caveats"][-2:] == [
        "humans give all systems the same score (sentence): correlations over systems are not "
        "defined",
        "green gives all systems the same score (sentence): its correlations over systems are not "
        "defined",
    ]


def test_repeated_and_contradictory_judgments_are_counted() -> None:
    def item(number: str, annotator: str, *ranks: int) -> RankedItem:
        return RankedItem(number, 0, annotator, (("a",), ("b",), ("c",)), ranks)

    items = [item("1", "x", 1, 2, 2), item("2", "x", 2, 1, 1), item("3", "y", 1, 2, 3)]
    # x judged each of three pairs twice: a-b and a-c reversed, b-c tied both times.
    assert count_repeats(expand_pairs(items, ("a", "b", "c"))) == (3, 2)
    # A tie does not contradict a preference; the same pair in another sentence is not a repeat.
    items = [item("1", "x", 1, 1, 2), item("2", "x", 2, 1, 3)]
    assert count_repeats(expand_pairs(items, ("a", "b", "c"))) == (3, 0)
    elsewhere = replace(items[1], sentence=1)
    assert count_repeats(expand_pairs([items[0], elsewhere], ("a", "b"))) == (0, 0)
    shared = RankedItem("1", 0, "x", (("a", "b"),), (1,))
    assert count_repeats(expand_pairs([shared, shared], ("a", "b"))) == (0, 0)
    assert count_repeats(expand_pairs([], ("a", "b"))) == (0, 0)


def test_contradictions_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "judgments.csv").write_text(GOOD + "1,none,good,a\n2,good,half,a\n")
    found = accepted(capsys, str(folder), "-m", "green:n=2")
    assert found["caveats"][-1:] == [
        "2 comparisons (sentence) were made more than once by one annotator, 1 of them with "
        "opposite preferences; all count"
    ]
    (folder / "judgments.csv").write_text(RATINGS + "1,good,4\n1,none,2\n1,none,3\n1,good,4\n")
    assert main(["compare", str(folder), "-m", "green", "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "2 corrections were rated more than once by one annotator, 1 of them differently" in out


def test_a_preference_between_equal_texts_is_reported(folder: Path) -> None:
    (folder / "judgments.csv").write_text(GOOD + "3,half,none,a\n1,good,half,tie\n")
    (note,) = load_benchmark(str(folder)).notes
    assert note == "1 judgments prefer one of two equal texts; they are kept as they are"


def test_systems_that_were_never_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "judgments.csv").write_text(PREFERENCES + "1,good,none,a\n2,half,none,tie\n")
    (folder / "benchmark.toml").write_text(
        'system_sets = {few = ["good", "half"], two = ["half", "none"]}\n'
    )
    message = refused(capsys, str(folder), "-m", "green", "--systems", "few")
    assert "no judgment compares two of the systems good, half (set few)" in message
    options = ("--systems", "two", "--level", "sentence")
    message = refused(capsys, str(folder), "-m", "green", *options)
    assert "prefers one of the systems half, none to another" in message


def nan_results(folder: Path, level: float) -> tuple[MetaEvaluation, list[Any]]:
    """Results of a metric that scored only sentence 3, which nobody judged."""
    study = MetaEvaluation(load_benchmark(str(folder)), Settings(aggregate="mean"))
    table = load("green").score_corpus(study.benchmark.corpus)
    scores = np.full((3, 3), np.nan)
    scores[:, 2] = (level, 1.0, 2.0)
    return study, study.evaluate(
        replace(table, by_sentence=replace(table.by_sentence, score=scores))
    )


def test_nothing_both_judged_and_scored(folder: Path) -> None:
    study, results = nan_results(folder, 0.0)
    with pytest.raises(InputError, match=r"green: none of the 4 pairs that humans decided was sco"):
        check_scored(results)
    whole = study.evaluate(load("gleu").score_corpus(study.benchmark.corpus))
    check_scored([*results, *whole])
    found = cautions(study, [*results, *whole])
    assert [each.text for each in found if each.text.startswith("green")] == [
        "green scored none of the 4 pairs that humans decided (sentence): its sentence level is "
        "not defined"
    ]


_CHANGE_MORE = "systems that change more of the text are preferred on this benchmark"


@pytest.mark.slow
def test_a_preference_for_changes_is_reported(data_dir: Path) -> None:
    # SEEDA (measured): copy-source .267 (edit), .230 (sentence).
    study = MetaEvaluation(load_benchmark("seeda", data=data_dir))
    found = [each.text for each in cautions(study, [], study.chance())]
    assert any(_CHANGE_MORE + " (edit)" in text for text in found)
    assert any("with only 0.267 of the pairs" in text for text in found)
    # On GJG15 similarity to the source agrees in .494 of pairs, so nothing is reported.
    other = MetaEvaluation(load_benchmark("gjg15", data=data_dir))
    found = [each.text for each in cautions(other, [], other.chance())]
    assert not any(_CHANGE_MORE in text for text in found)
