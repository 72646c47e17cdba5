"""Files and values from untrusted sources: one line names the fault, with exit status 2."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli import main
from tests.shell import Shell

pytestmark = pytest.mark.security

DEEP = "[" * 100_000 + "]" * 100_000
NINES = "9" * 5_000
TABLE = "system,line,score\n"
OWN = "sentence,system,rank\n"
ROWS = '{"output": "a b", "source": "a c", "fluency": 3}\n'

SCORE = ["score", "source.txt", "mine.txt", "-m"]
GLEU = [*SCORE, "gleu", "-r"]
GIVEN = [*SCORE, "scores:file=x.csv"]
TRAIN = ["train", "some", "x.jsonl", "-o", "out", "--encoder", "embedded", "--leakage", "none"]
MINE = ["compare", "mine", "-m", "gleu"]


def annotator(number: str) -> str:
    return f"S a b\nA 0 1|||X|||c|||REQUIRED|||-NONE-|||{number}\n\n"


@pytest.mark.parametrize(
    ("name", "text", "words", "message"),
    [
        ("x.jsonl", '{"text": "a"}\n{"text": ' + DEEP + "}\n", [*GLEU, "x.jsonl"], "line 2: lists"),
        ("x.jsonl", '{"text": "a \\ud800"}\n', [*GLEU, "x.jsonl"], "half a surrogate pair"),
        ("x.m2", annotator(NINES), ["m2", "check", "x.m2"], "of at most 18 digits"),
        ("x.csv", TABLE + "mine,1," + "1" * 2_000_000, GIVEN, "x.csv, line 2: not CSV (a cell of"),
        ("x.csv", f"{TABLE}mine,{NINES},1\n", GIVEN, "a whole number from 1 to 100000000"),
        ("x.csv", TABLE + "mine,1," + "9" * 400 + "\n", GIVEN, "a score as a finite number"),
        ("x.json", DEEP, [*GLEU, "x.json"], "nested deeper"),
        ("x.jsonl", ROWS.replace("3", NINES), TRAIN, "line 1: has an integer of thousands"),
        ("mine/judgments.csv", OWN + f"1,a,{NINES}\n", MINE, "a whole number from 1 to"),
        ("mine/judgments.csv", OWN + f"1,{'b' * 9_000},1\n", MINE, "column system: 'bbb"),
        ("mine/benchmark.toml", "source = " + DEEP, MINE, "nested deeper than 100"),
        ("mine/benchmark.toml", 'outputs = ["**/*"]', MINE, "expected a folder or pattern within"),
        ("mine/benchmark.toml", 'source = "a\\u0000b"', MINE, "which cannot be a file name"),
        (
            "mine/judgments.xml",
            '<x><ranking-item src-id="1" user="u"><translation system="a" '
            f'rank="{10**20}"/></ranking-item></x>',
            MINE,
            "expected 1 (best) to 1000000000",
        ),
    ],
)
def test_files_are_refused_by_name(
    shell: Shell, name: str, text: str, words: list[str], message: str
) -> None:
    if words is MINE:
        for file in ("source.txt", "outputs/a.txt", "outputs/b.txt"):
            (shell.folder / "mine" / file).parent.mkdir(parents=True, exist_ok=True)
            (shell.folder / "mine" / file).write_text("a b\n")
        if "judgments" not in name:
            shell.write("mine/judgments.csv", OWN + "1,a,1\n1,b,2\n")
    shell.write(name, text)
    status, out, err = shell(*words, "--quiet")
    output = err + out
    assert status == 2
    assert message in output
    assert Path(name).name in output
    assert len(err) < 3_000
    assert len(err.splitlines()) <= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rank", "--resamples", "1" + "0" * 12], "expected 1 to 1000000"),
        (["rank", "--permutations", NINES], "expected a whole number, 1 to 1000000"),
        (["rank", "--confidence", "nan"], "--confidence nan: expected a finite number"),
        (["rank", "--resamples", "“5”"], "'“5”': expected a whole number, 1 to 1000000; leave out"),
        (["score", "--output", ""], "--output: its value is empty"),
        (["score", "-m", "gleu:draws=1000000000000"], "draws=1000000000000: expected 1 to 1000000"),
        (["score", "-m", "gleu:draws=" + "9" * 30], ": expected at most 9223372036854775807"),
        (["score", "-m", "green:beta=“1”"], "leave out the quotation marks"),
        (["score", "-m", "errant:tagger=" + "x" * 5_000], "is not a name"),
        (["score", "-m", "some:max_length=-1"], "max_length=-1: expected 0 to 1000000"),
        # From Python 3.14 on, such a file is one that does not exist.
        (
            ["score", "-m", "some:model=" + "x" * 5_000],
            "File name too long" if sys.version_info < (3, 14) else "or correct the path",
        ),
        (["score", "-m", "x" * 5_000], "unknown metric 'xxx"),
    ],
)
def test_values_have_bounds(shell: Shell, words: list[str], message: str) -> None:
    command, *more = words
    metric = [] if "-m" in more else ["-m", "gleu"]
    status, _, err = shell(command, "source.txt", "mine.txt", "-r", "ref.txt", *metric, *more)
    assert status == 2
    assert message in err
    assert len(err) < 2_000


def test_an_annotator_of_eleven_digits_is_refused_at_once(shell: Shell) -> None:
    # Numbers start at 0, so this implies a hundred billion annotators without a correction.
    shell.write("x.m2", annotator("99999999999"))
    status, _, err = shell("maege", "x.m2", "-m", "gleu", "--references", "all")
    assert status == 2
    assert "none of the 1 sentences was changed by each of the 100000000000 annotators" in err


def test_seeds_and_resamples_have_bounds(shell: Shell) -> None:
    for option in ("--seeds", "--resamples"):
        status, _, err = shell("maege", "gold.m2", "-m", "gleu", option, "1" + "0" * 11)
        assert status == 2
        assert f"{option} 100000000000: expected 1 to 10" in err


def kept(shell: Shell, metric: str = "gleu") -> tuple[Path, dict[str, Any], list[str | Path]]:
    """Return a score file, its content and the command that reads it."""
    words: list[str | Path] = [*SCORE, metric, "-r", "ref.txt", "-o", "scores", "--quiet"]
    assert shell(*words)[0] == 0
    (path,) = (shell.folder / "scores").glob("*.json")
    return path, json.loads(path.read_text()), words


def packed(size: int) -> str:
    return base64.b64encode(zlib.compress(bytes(size), 9)).decode()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("details",), {"by_type": {"mine": {"R:X": [1, 2, 10**400]}}}),
        (("details",), {"audit": {"rows": [], "members": [{"missing": [{"line": "1"}]}]}}),
        (("rows", 0, "system"), ["mine"]),
        (("rows", 0, "statistics", "shape"), [1, -3, -1]),
        (("rows", 0, "statistics", "shape"), [10**9, 10**9]),
        (("rows", 0, "statistics", "dtype"), ["<f8"]),
        (("rows", 0, "statistics", "zlib"), packed(100_000_000)),
    ],
)
def test_a_changed_score_file_is_refused(
    shell: Shell, place: tuple[str | int, ...], value: object
) -> None:
    path, record, words = kept(shell)
    at: Any = record
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    path.write_text(json.dumps(record))
    status, _, err = shell(*words)
    assert status == 2
    assert "delete it to create it again" in err
    assert path.name in err


def test_statistics_of_another_metric_are_refused(shell: Shell) -> None:
    path, record, words = kept(shell)
    shape = [1, 3, 0]
    record["rows"][0]["statistics"] |= {"shape": shape, "zlib": packed(0)}
    path.write_text(json.dumps(record))
    status, _, err = shell(*words)
    assert status == 2
    assert "its statistics are not those of gleu" in err


@pytest.mark.parametrize("option", [["-m", "gleu", "-r"], ["-m", "m2", "--m2"]])
def test_standard_input_is_read_once(shell: Shell, option: list[str]) -> None:
    with shell.reading("gold.m2" if "m2" in option else "ref.txt"):
        assert shell("score", "source.txt", "mine.txt", *option, "-", "--quiet")[0] == 0
        status, _, err = shell("score", "source.txt", "-", *option, "-", "--quiet")
    assert status == 2
    assert "standard input (-) is named twice" in err


def test_a_sentence_that_is_not_utf8_is_refused(shell: Shell) -> None:
    status, _, err = shell("explain", "a \udcff b", "a b", "a b", "-m", "errant")
    assert status == 2
    assert "is not UTF-8, which a sentence must be" in err


def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    source = tmp_path / "x.m2"
    source.write_text("S a b\n\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert main(["m2", "convert", str(source), "-o", str(pipe)]) == 2  # nobody reads
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["m2", "convert", str(source), "-o", str(pipe)]) == 0
        assert os.read(reader, 100) == b"S a b\n\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
