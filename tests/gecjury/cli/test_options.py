"""Command-line options: refused where they would do nothing, shown with their defaults."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

import gecjury
from gecjury.cli import command_parser
from gecjury.core.errors import install_hint
from tests.shell import (
    FIXED,
    SCORE,
    Shell,
)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["compare", "sample", "-m", "green", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["rank", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "green", "--seed", "-2"], "-2"),
        (["attack", "sample", "-m", "green", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["maege", "gold.m2", "-m", "green", "--seed", "-1"], "--seed -1: expected 0 or more"),
        # Options that would do nothing, or something unexpected.
        (["analyse", "norms", "sample", "-r", "ref.txt"], "-r and --m2 are for files"),
        (["attack", "source.txt", "-m", "green"], "source.txt is the only input"),
        (
            ["analyse", "norms", "source.txt", "mine.txt", "--references", "official"],
            "--systems and --references are for a benchmark",
        ),
        ([*SCORE, "-r", "ref.txt", "--batch-size", "0"], "--batch-size 0: expected 1 to 1000000"),
        (
            ["score", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "green:unit=1"],
            "green: unit='1': expected one of word, char, line\n",
        ),
        (
            ["train", "some", "x.csv", "-o", "x", "--pairs"],
            "--pairs is an option of `train impara`: `train some` does not read it",
        ),
        (
            ["train", "impara", "x.csv", "-o", "x", "--compact"],
            "--compact is an option of `train some`: `train impara` does not read it",
        ),
        ([*SCORE, "-r", "ref.txt", "--cache", "ref.txt"], "--cache ref.txt: is a file; expected"),
        (["data", "fetch", "seeda", "--dry-run"], "`data fetch` does not read it"),
    ],
)
def test_options_out_of_range_or_out_of_place(shell: Shell, argv: list[str], message: str) -> None:
    status, out, err = shell(*argv)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_choices_are_named_as_users_type_them(shell: Shell) -> None:
    _, err = shell.ended("compare", "sample", "-m", "green", "--statistic", "pairwise", status=2)
    assert "kendall, pairwise-accuracy, spa; did you mean pairwise-accuracy?" in err


def test_metrics_that_differ_in_an_option_have_different_names(shell: Shell) -> None:
    """Both used to be called `green`, with different scores."""
    words = ["source.txt", "mine.txt", "source.txt", "-r", "ref.txt", "-m", "green"]
    words += ["-m", "green:unit=char"]
    rows = shell.rows("score", *words)
    assert [row["metric"] for row in rows] == ["green"] * 2 + ["green:n=6,unit=char"] * 2
    _, out, _ = shell("score", *words, "--sentences", "--format", "tsv")
    assert "1\tgreen:n=6,unit=char\t" in out
    rows = shell.rows("rank", *words, "--resample", "none")
    assert [row["metric"] for row in rows] == ["green"] * 2 + ["green:n=6,unit=char"] * 2


@pytest.mark.parametrize("command", ["score", "rank"])
def test_the_notes_of_a_scorer_are_in_the_table_and_the_json(
    shell: Shell, registered: Callable[..., Path], command: str
) -> None:
    registered({"length": "tests.gecjury.scoring.test_scorer:Length"})
    words = [command, "source.txt", "mine.txt", "-m", "length"]
    assert "empty lines left out" in shell(*words)[1]
    assert json.loads(shell(*words, "--format", "json")[1])["notes"] == ["empty lines left out"]


def test_help_shows_defaults(shell: Shell) -> None:
    _, out, _ = shell("compare", "--help")
    words = " ".join(out.split())
    assert "corpus: the metric's own (default: trueskill)" in words
    assert "the tests and the limit (default: 0)" in words
    assert "--concurrency N simultaneous requests (default: 32)" in words
    assert words.count("(default: half)") == 1
    _, out, _ = shell("train", "some", "--help")
    assert "--epochs N largest number of epochs (default: 10)" in " ".join(out.split())


def test_a_package_that_is_missing_when_scoring_is_reported_with_its_extra(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics import heavy packages only when scoring; a missing one used to give a traceback."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    status, out, err = shell("score", "source.txt", "mine.txt", "-m", "scribendi")
    assert (status, out) == (2, "")
    assert err.startswith("gecjury: refless needs the package t")
    assert err.endswith(f"which is not installed: {install_hint('refless')}\n")


def test_a_single_json_list_is_read_if_its_name_says_so(shell: Shell) -> None:
    for name, indent in (("flat", None), ("deep", 2)):
        for ending, expected in ((".json", 0), (".txt", 2)):
            shell.write(f"{name}{ending}", json.dumps(FIXED, indent=indent))
            words = ("source.txt", f"{name}{ending}", "-r", "ref.txt", "-m", "green")
            status, out, err = shell("score", *words, "--format", "json")
            assert status == expected
            if status:
                assert f"{name}.txt: one JSON list; expected one value a line" in err
            else:
                # FIXED equals the reference.
                assert json.loads(out)["rows"][0]["score"] == 1
    # A sentence in brackets is a sentence.
    shell.write("one.txt", '[ "a" ] .\n[ 1 ]\n[]\n')
    assert shell("score", "source.txt", "one.txt", "-r", "ref.txt", "-m", "green")[0] == 0


def test_score_files_need_a_folder(shell: Shell) -> None:
    words = ("score", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "green", "-o", "ref.txt")
    status, _, err = shell(*words)
    message = "gecjury: ref.txt: cannot be written: it is a file, but score files need a folder\n"
    assert (status, err) == (2, message)


def test_a_missing_package_of_a_model_is_reported_before_edits_are_extracted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("errant")
    monkeypatch.setitem(sys.modules, "torch", None)
    extract = Mock(side_effect=AssertionError)
    monkeypatch.setattr("gecjury.extraction.retyping.corpus_edits", extract)
    words = ["score", "source.txt", "mine.txt", "-r", "ref.txt", "-m"]
    monkeypatch.setattr("gecjury.refbased.pt_m2.extract_system_edits", extract)
    for metric in ("pt-errant", "pt-m2", "uot-errant"):
        status, _, err = shell(*words, metric, "--m2", "gold.m2")
        assert status == 2
        assert f"{metric} needs the package torch, which is not inst" in err


@pytest.mark.parametrize(
    ("command", "name", "remedy"),
    [
        ("score", "page.html", "for a page use --html"),
        ("attack", "page.html", "this command writes no page"),
        ("rank", "ranks.json", "for .json use --format json > ranks.json"),
    ],
)
def test_a_new_output_folder_named_like_a_file_is_refused(
    shell: Shell, command: str, name: str, remedy: str
) -> None:
    words = ["source.txt", "mine.txt", "-r", "ref.txt", "-m", "green", "-o", name]
    status, _, err = shell(command, *words)
    assert (status, err) == (2, f"gecjury: -o {name}: -o is a folder; {remedy}\n")
    assert not (shell.folder / name).exists()
    (shell.folder / name).mkdir()
    assert shell(command, *words)[0] == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            [*SCORE[:3], "-m", "green"],
            "green needs references: give at least one (-r FILE)",
        ),
        (
            ["compare", "sample", "-m", "green", "--statistic", "spa", "--level", "edit"],
            "--statistic spa: nothing is tested at system level with --resample none, --level "
            "sentence or --level edit; leave one of them out",
        ),
        (
            ["compare", "sample", "-m", "green", "--aggregate", "expected_win"],
            "--aggregate 'expected_win': expected one of trueskill, expected-wins, corpus, mean; "
            "did you mean expected-wins?",
        ),
    ],
)
def test_settings_in_messages_are_shown_as_options(
    shell: Shell, argv: list[str], message: str
) -> None:
    assert shell(*argv) == (2, "", f"gecjury: {message}\n")


@pytest.mark.parametrize(
    ("command", "message", "typed"),
    [
        ("compare", "use `level=sentence` or `windows=True`", "use --level sentence or --windows"),
        ("compare", "fewer `resamples=` (`base_url=URL`)", "fewer --resamples (--base-url URL)"),
        ("compare", "`resample=none`, `over=none`", "--resample none, --resample none"),
        ("compare", "`aggregate=expected-wins`", "--aggregate expected-wins"),
        # Values of users stay as they are, and so do names alone, which may be of a column.
        ("compare", "`references=my_refs.txt`; `level`", "--references my_refs.txt; `level`"),
        ("score", "`references=FILE`, `metrics=A`", "-r FILE, --metric A"),
        ("estimate", "`references=FILE`, `references=all`", "-r FILE, --references all"),
        # Settings of other commands, and options of metrics, are not renamed.
        ("score", "`train_batch=`, `tagger=none`", "`train_batch=`, `tagger=none`"),
    ],
)
def test_a_command_shows_its_own_options(command: str, message: str, typed: str) -> None:
    parser = command_parser().declared().actions[command].declared()
    assert parser.as_typed(message) == typed


def test_training_options_differ_from_the_names_of_settings() -> None:
    parser = command_parser().declared().actions["train"].declared().actions["some"].declared()
    assert parser.as_typed("`column=source=S`, `bf16=`") == "--column source=S, --bf16"
    assert parser.as_typed("a smaller `train_batch=`") == "a smaller --train-batch"


def test_notes_are_translated_for_a_command_and_keep_keywords_in_python(shell: Shell) -> None:
    note = "20 of 51 judged sentences, drawn with seed 0, the same for every metric"
    argv = ["compare", "sample", "-m", "green", "--resample", "none", "--limit", "20"]
    for form in ("table", "json"):
        assert f"--limit: {note}" in shell(*argv, "--verbose", "--format", form)[1]
    result = gecjury.compare("sample", "green", resample="none", limit=20)
    assert any(f"`limit=`: {note}" in text for text in result.document()["notes"])
