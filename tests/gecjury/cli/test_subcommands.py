"""Commands with actions: separate help, refused options of others, documented command lines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gecjury.cli import COMMANDS, command_parser
from gecjury.cli.parsers import leaves
from gecjury.scoring.registry import load
from tests.documented import PAGES, command_lines, variants
from tests.shell import FIXED, SOURCE, Shell

# --- documented command lines ------------------------------------------------------------------


def quoted_lines(text: str) -> Iterator[str]:
    """Yield the command lines in running text, which often lack required arguments."""
    for line in re.findall(r"`(gecjury [a-z][^`]*)`", re.sub(r"\n\s*", " ", text)):
        yield line.removeprefix("gecjury ")


DOCUMENTED = [
    (page.name, words)
    for page in PAGES
    for line in command_lines(page.read_text(encoding="utf-8"))
    for words in variants(line)
]


def test_documented_command_lines_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    never = {"metrics", "judgments", "demo"}
    assert len(DOCUMENTED) > 80
    assert {words[0] for _, words in DOCUMENTED} >= set(COMMANDS) - never
    for page, words in DOCUMENTED:
        try:
            args, unknown = command_parser().parse_known_args(words)
        except SystemExit as leave:
            pytest.fail(f"{page}: {words}: {leave.code} {capsys.readouterr().err}")
        assert not unknown, f"{page}: {words}"
        assert args.command == words[0]


def test_command_lines_in_running_text_use_existing_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = [line for page in PAGES for line in quoted_lines(page.read_text(encoding="utf-8"))]
    assert len(lines) > 15
    for words in (words for line in lines for words in variants(line) if words[0] in COMMANDS):
        if len(words) > 1 and words[1] in ("KIND", "TARGET", "ACTION"):
            continue
        if "--help" in words:
            continue
        try:
            command_parser().parse_known_args(words)
        except SystemExit:
            # Such a line may leave out arguments and values; a wrong name is a fault.
            left_out = "arguments are required|expected (at least )?one argument"
            assert re.search(left_out, capsys.readouterr().err), words


# --- help and refusals -------------------------------------------------------------------------


LEAVES = {parser.path: parser for parser in leaves(command_parser())}


@pytest.mark.parametrize(
    ("path", "has", "lacks"),
    [
        ("train some", ("--column", "--kernel", "--device"), ("--pairs", "--model", "--folds")),
        ("train impara", ("--pairs", "--epochs"), ("--column", "--kernel", "--max-cost")),
        ("m2 check", ("--format",), ("--output", "--annotator", "--device")),
        ("m2 retype", ("--tagger", "--workers"), ("--annotator",)),
        ("data fetch", ("--data",), ("--device", "--dry-run", "--max-cost")),
        ("analyse norms", ("--min-count", "--device"), ("--seed", "--max-cost")),
        ("check", ("--m2",), ("--device", "--cache", "--data", "--batch")),
        ("judgments export", ("--cache",), ("--device", "--workers")),
    ],
)
def test_help_lists_only_the_options_that_the_command_reads(
    path: str, has: tuple[str, ...], lacks: tuple[str, ...]
) -> None:
    text = LEAVES[path].format_help()
    for flag in has:
        assert re.search(rf"{flag}\b", text), flag
    for flag in lacks:
        assert not re.search(rf"{flag}(?![\w-])", text), flag


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check", "s", "h", "--device", "cpu"], "--device is an option of `score`, `rank`"),
        (["m2", "check", "gold.m2", "-o", "x"], "-o is an option of `m2 apply`, `m2 text`"),
        (
            ["m2", "text", "gold.m2", "--annotator", "1"],
            "of `m2 apply` and `m2 convert`: `m2 text`",
        ),
        (["alarms", "sample", "--min-count=1"], "--min-count is an option of `analyse`"),
        # It must not be read as an abbreviation of --batch-size.
        (["train", "some", "x", "--batch"], "--batch is an option of `score`, `rank`"),
        (["explain", "a b", "a c", "--dry-run"], "--dry-run is an option of `score`, `rank`"),
    ],
)
def test_options_of_other_commands_are_refused_by_name(
    shell: Shell, argv: list[str], message: str
) -> None:
    status, out, err = shell(*argv)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert " does not read it" in err


def test_references_of_a_benchmark_need_another_option(shell: Shell) -> None:
    _, _, err = shell("compare", "sample", "-m", "green", "-r", "ref.txt")
    assert "unknown option -r: name references of a benchmark with --references" in err


def test_only_options_of_other_commands_are_reported_with_those_commands(shell: Shell) -> None:
    status, _, err = shell("score", "source.txt", "mine.txt", "-m", "green", "--attack", "3")
    assert (status, err.splitlines()[0]) == (
        2, "gecjury: --attack is an option of `attack`: `score` does not read it",
    )  # fmt: skip
    _, _, err = shell("check", "source.txt", "mine.txt", "--nothing-like-it")
    assert err.startswith(
        "gecjury check: unknown option --nothing-like-it; see `gecjury check --help`\n"
    )


def test_unknown_actions_are_reported_with_the_nearest_name(shell: Shell) -> None:
    status, _, err = shell("data", "fetsh")
    assert status == 2
    assert err.startswith("gecjury data: unknown action 'fetsh': did you mean fetch?")


# --- one name for one thing --------------------------------------------------------------------


def test_the_encoder_of_pt_errant_has_one_name(shell: Shell) -> None:
    for name in ("pt-errant", "pt-m2"):
        old, new = load(f"{name}:model=embedded"), load(f"{name}:encoder=embedded")
        assert old == new
        assert new.settings()["model"] == "embedded"  # as in existing score files
        assert load(name, encoder="embedded") == new
        rows = shell("metrics", name, "--format", "tsv")[1]
        assert "encoder" in rows


def test_explain_accepts_references_with_or_without_a_flag(shell: Shell) -> None:
    words = ["explain", SOURCE[0], FIXED[0], "-m", "green", "--attribution", "remove"]
    plain = shell(*words[:3], FIXED[1], FIXED[0], *words[3:])
    assert plain[0] == 0
    assert shell(*words, "-r", FIXED[1], "-r", FIXED[0]) == plain
    assert shell(*words[:3], FIXED[1], *words[3:], "--reference", FIXED[0]) == plain


def test_explain_uses_the_server_of_base_url(shell: Shell) -> None:
    """--base-url used to be read for a repeatable -m, but not for the single one of explain."""
    words = ["explain", "a b .", "a c .", "-m", "edit-verdict:model=m", "--base-url", "nowhere"]
    status, _, err = shell(*words, "--attribution", "remove")
    assert status == 2
    assert "it does not begin with http:// or https://" in err


# --- completion --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("gecjury comp", ["compare"]),
        ("gecjury train some --enc", ["--encoder"]),
        ("gecjury compare see", ["seeda"]),
        ("gecjury score a.txt b.txt -m gre", ["green"]),
    ],
)
def test_argcomplete_offers_matching_words(tmp_path: Path, line: str, names: list[str]) -> None:
    pytest.importorskip("argcomplete")
    asked = {
        "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "IFS": " ",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out"),
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "gecjury"], env={**os.environ, **asked}, check=False)
    assert (tmp_path / "out").read_text().split() == names
