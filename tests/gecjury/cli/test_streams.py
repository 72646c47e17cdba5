"""Messages, data and broken streams: control characters are escaped, errors set the status."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gecjury.cli import main
from gecjury.cli.streams import print_data, tell
from tests.shell import REPOSITORY, Shell, started

EVIL = "a\x1b]0;owned\x07\n\x9b31mgecjury: all is well\u202e"
SHOWN = r"a\x1b]0;owned\x07\x0a\x9b31mgecjury: all is well\u202e"

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows handles streams differently"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_further_lines_of_a_message_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    tell("gecjury: bad \x1b[2J name a\ngecjury: all is well\n  own")
    assert capsys.readouterr().err == (
        "gecjury: bad \\x1b[2J name a\n  gecjury: all is well\n  own\n"
    )


def test_data_is_escaped_only_on_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    print_data("S a\x1b[2J\tb\n")
    assert capsys.readouterr().out == "S a\x1b[2J\tb\n"
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    print_data("S a\x1b[2J\tb\n")
    assert terminal.getvalue() == "S a\\x1b[2J\tb\n"


@pytest.mark.parametrize(
    "argv",
    [
        [EVIL],
        ["metrics", f"--{EVIL}"],
        ["score", "source.txt", "mine.txt", "-m", f"green:{EVIL}=1"],
        ["compare", EVIL, "-m", "green"],
        ["explain", EVIL, EVIL, EVIL, "--line", EVIL],
        ["m2", "text", EVIL],
    ],
)
def test_errors_escape_control_characters(shell: Shell, argv: list[str]) -> None:
    status, out, err = shell(*argv)
    assert (status, out) == (2, "")
    assert not any(c in err for c in "\x1b\x07\x9b\u202e")
    lines = err.splitlines()
    assert all(line.startswith(("gecjury", "  ")) for line in lines if line), err
    assert "gecjury: all is well" not in [line[:20] for line in lines]


@pytest.mark.parametrize("form", ["table", "json", "tsv", "markdown", "latex"])
@pytest.mark.parametrize(
    "argv",
    [
        ["check", "source.txt", "{name}", "evil.txt"],
        ["score", "source.txt", "{name}", "evil.txt", "-r", "ref.txt", "-m", "green"],
        ["explain", EVIL, "b \x1b[2J", "c \x9b1m", "-m", "errant", "--attribution", "shapley"],
        ["m2", "check", "{name}.m2"],
    ],
)
def test_results_escape_control_characters(shell: Shell, argv: list[str], form: str) -> None:
    name = EVIL.replace("\x9b31m", "")
    try:
        shell.write(name, (shell.folder / "mine.txt").read_bytes())
        shell.write(f"{name}.m2", "S a \x1b[2J\nA 0 1|||R|||\x1b[2J|||REQUIRED|||-NONE-|||0\n\n")
    except OSError:
        pytest.skip("this file system does not allow such names")
    shell.write("evil.txt", "a \x1b[2J\nb \x9b1m\u202e\nc \x07 .\n")
    _, out, err = shell(*(word.replace("{name}", name) for word in argv), "--format", form)
    assert out
    assert not any(c in out + err for c in "\x1b\x07\x9b\u202e\x7f\r")
    assert not any(line.startswith("gecjury: all is well") for line in out.splitlines())


def run(
    words: list[str], streams: str, code: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    program = ["-c", code] if code else ["-m", "gecjury"]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, *program, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | more,
    )


@pytest.mark.parametrize(
    ("words", "streams", "status", "message"),
    [
        (["metrics"], ">&-", 2, "gecjury: the output cannot be written (Bad file descriptor)\n"),
        (["--help"], ">&-", 2, "gecjury: the output cannot be written (Bad file descriptor)\n"),
        (["bogus"], "2>&-", 2, ""),
        (["bogus"], "2>/dev/full", 2, ""),
        (["--help"], ">/dev/full", 2, "gecjury: the output cannot be written (No space left on "),
        (["--version"], "<&- 2>&- >/dev/null", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(
    words: list[str], streams: str, status: int, message: str
) -> None:
    if "full" in streams and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = run(words, streams)
    assert done.returncode == status
    assert done.stdout == ""  # and no text meant for stderr
    assert done.stderr.startswith(message)
    assert bool(done.stderr) == bool(message)


def test_a_file_does_not_get_the_descriptor_of_a_closed_stream(tmp_path: Path) -> None:
    code = (
        "import os, sys; from gecjury.cli.streams import hold_streams; hold_streams()\n"
        "file = open(sys.argv[1], 'w'); assert file.fileno() > 2, file.fileno()\n"
        "os.write(1, b'lost'); os.write(2, b'lost'); sys.exit(7)"
    )
    done = run([str(tmp_path / "cache")], "<&- >&- 2>&-", code)
    assert done.returncode == 7
    assert (tmp_path / "cache").read_text() == ""


FILES = "source x y -r x -m gleu"


@pytest.fixture
def texts(shell: Shell) -> Shell:
    for name, text in {"source": "a b\nc d\n", "x": "a B\nc d\n", "y": "a b\nc D\n"}.items():
        shell.write(name, text)
    return shell


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (f"score {FILES}", r"x leads: 1\.0000"),
        (f"rank {FILES}", r"x leads: 1\.0000"),
        (f"diff {FILES}", r"x \(OLD\) leads: 1\.0000"),
        # An interval is not broken.
        ("compare sample -m green -m gleu --resamples 5", r"count-changes ?\| ?\.155 \[-"),
    ],
)
def test_tables_in_a_narrow_terminal_without_utf8(
    texts: Shell, monkeypatch: pytest.MonkeyPatch, command: str, shown: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    def printed(*more: str) -> str:
        stream = io.TextIOWrapper(io.BytesIO(), "ascii")
        monkeypatch.setattr("sys.stdout", stream)
        assert (main([*command.split(), *more]), texts.capsys.readouterr().err) == (0, "")
        stream.flush()
        return stream.buffer.getvalue().decode("ascii")

    # Signs are replaced by ASCII, not escaped.
    assert "\\u" not in printed("--verbose")
    monkeypatch.setenv("COLUMNS", "40")
    narrow = printed()
    assert "\\u" not in narrow
    assert max(map(len, narrow.splitlines())) <= 40
    assert re.search(shown, " ".join(narrow.split()))


def test_a_broken_pipe_to_another_process_is_an_error() -> None:
    code = (
        "import sys; from gecjury import cli; from gecjury.cli import metrics\n"
        "def run(args): raise BrokenPipeError(32, 'a process of ours')\n"
        "metrics.run = run; sys.exit(cli.main(['metrics']))"
    )
    done = run([], "", code)
    assert done.returncode == 70
    Path(done.stderr.partition("report it with ")[2].partition(",")[0]).unlink()


def test_an_interruption_is_reported_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("gecjury.cli._run", interrupted)
    assert main(["metrics"]) == 130
    assert capsys.readouterr().err == "gecjury: interrupted; run the same command again\n"


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["-o", "out"], "out keeps the scores of the metrics that were finished: the same command "
         "continues from there"),
        ([], "nothing is kept: the same command starts again"),
    ],
)  # fmt: skip
def test_ctrl_c_says_what_is_kept(tmp_path: Path, words: list[str], kept: str) -> None:
    waits = "import time\ndef waits(source, hypothesis):\n    open('now', 'w').close()\n"
    (tmp_path / "slow.py").write_text(f"{waits}    time.sleep(60)\n    return 0.0\n")
    (tmp_path / "text.txt").write_text("a b\n")
    argv = ["score", "text.txt", "text.txt", "-m", "changes", "-m", "slow.py:waits", *words]
    with started(*argv, folder=tmp_path) as process:
        while not (tmp_path / "now").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"gecjury: interrupted; {kept}\n")
    assert [file.name.partition("-")[0] for file in tmp_path.glob("out/*.json")] == (
        ["changes"] if words else []
    )


# --- standard input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ["score", "source.txt", "FILE", "-r", "ref.txt", "-m", "green"],
        ["score", "FILE", "mine.txt", "-r", "ref.txt", "-m", "green"],
        ["diff", "source.txt", "other.txt", "FILE", "-r", "ref.txt", "-m", "green"],
        ["explain", "source.txt", "FILE", "ref.txt", "--line", "2", "-m", "errant"],
        ["check", "source.txt", "FILE", "-r", "ref.txt"],
    ],
    ids=" ".join,
)
def test_texts_are_read_from_standard_input(shell: Shell, argv: list[str]) -> None:
    shell.write("other.txt", (shell.folder / "source.txt").read_bytes())
    file = "stdin.txt"
    shell.write(
        file, (shell.folder / ("source.txt" if argv[1] == "FILE" else "mine.txt")).read_bytes()
    )
    argv = [*argv, "--format", "json"]
    status, expected, _ = shell(*(file if word == "FILE" else word for word in argv))
    with shell.reading(file):
        ended, out, err = shell(*("-" if word == "FILE" else word for word in argv))
    # The system has the same name as with the file; only mentions of the file itself differ.
    assert (ended, out, err) == (status, expected.replace(file, "-"), "")
