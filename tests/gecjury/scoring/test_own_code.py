"""Metrics in the user's own files, scripts and notebooks: named by file, or passed as objects."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.texts import corpus_of_texts
from gecjury.scoring.options import parse, split_name
from gecjury.scoring.registry import load, load_all, origin, paper_of
from tests.gecjury.scoring.test_scorer import Length
from tests.shell import Shell

CODE = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.scoring import MeanScorer, Statistics


def same(source, hypothesis, references):
    """Share of references that a hypothesis equals."""
    return sum(hypothesis == reference for reference in references) / len(references)


def longer(source, hypothesis):
    return None if not hypothesis else len(hypothesis) - len(source)


@dataclass(frozen=True)
class Words(MeanScorer):
    """Words times a factor.

    Attributes:
        factor: what words count.
    """

    name: ClassVar[str] = "words"
    family: ClassVar[str] = "refless"
    factor: float = 1.0

    def statistics(self, corpus, runtime):
        lines = [version.lines for version in corpus.systems.values()]
        return Statistics(np.array([[self.factor * len(l.split()) for l in s] for s in lines]))


@dataclass(frozen=True)
class Failing(MeanScorer):
    name: ClassVar[str] = "failing"
    family: ClassVar[str] = "refless"

    def statistics(self, corpus, runtime):
        return Statistics(np.array(undefined))


@dataclass(frozen=True)
class Flat(Failing):
    name: ClassVar[str] = "flat"

    def statistics(self, corpus, runtime):
        return Statistics(np.ones(len(corpus)))


@dataclass(frozen=True)
class Nameless(MeanScorer):
    def statistics(self, corpus, runtime):
        return Statistics(np.ones((1, 1)))


def compared(source, hypothesis, references=None, n=1):
    return len(references)


def wrong(source, hypothesis):
    return "many"


def failing(source, hypothesis):
    return 1 / 0


def endless(source, hypothesis):
    return float("inf")


number = 3
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(CODE, encoding="utf-8")
    return path


def shared(source: str, hypothesis: str, references: Sequence[str]) -> float:
    return max(len({*hypothesis.split()} & {*r.split()}) for r in references)


def test_names_of_files_are_distinguished_from_options() -> None:
    assert split_name("a/b.py:f") == ("a/b.py:f", "")
    assert parse("b.py:F:n=1,m=x:y") == ("b.py:F", {"n": "1", "m": "x:y"})
    assert parse(r"C:\b.py:F:n=1") == (r"C:\b.py:F", {"n": "1"})
    assert parse("jury:equal=a.py:f+gleu") == ("jury", {"equal": "a.py:f+gleu"})


def test_a_function_scores_sentences(file: Path) -> None:
    same = load(f"{file}:same")
    assert (same.name, same.family, same.needs) == ("same", "refbased", {"references"})
    assert same.summary == "Share of references that a hypothesis equals"
    table = same.score(["a", "b"], {"x": ["a", "c"], "y": ["d", "d"]}, [["a", "c"], ["d", "c"]])
    np.testing.assert_array_equal(table.sentences, [[0.5, 1.0], [0.5, 0.0]])
    assert table.totals["x"] == 0.75
    with pytest.raises(InputError, match="same needs references"):
        same.score(["a"], ["a"])
    # a function of two arguments gets no references, and None means no score
    longer = load(f"{file}:longer").score(["a", "b"], ["abc", ""], ["a", "b"])
    np.testing.assert_array_equal(longer.sentences, [[2.0, np.nan]])
    assert longer.signature.references == ""


def test_a_class_of_a_file_has_options(file: Path, shell: Shell) -> None:
    scorer = load(f"{file}:Words:factor=2", factor=3)
    assert scorer.score(["a"], ["a b"]).totals[0] == 6.0
    assert load(scorer, factor=1).settings() == {"factor": 1.0}
    with pytest.raises(OptionError, match="has no option 'factr': did you mean factor"):
        load(f"{file}:Words:factr=2")
    status, out, _ = shell("metrics", "own.py:Words", "--format", "json")
    assert status == 0
    assert [json.loads(out)[0][key] for key in ("from", "options")] == ["own.py", "factor=1.0"]
    assert "use: -m own.py:Words:factor=1.0" in shell("metrics", "own.py:Words")[1]
    assert "it has no options" in shell("metrics", "own.py:longer")[1]


def test_classes_and_functions_are_accepted_in_place_of_names(file: Path) -> None:
    functions = load_all([shared, Length, Length(2.0), "green", f"{file}:same"])
    assert [scorer.name for scorer in functions] == ["shared", "length", "length", "green", "same"]
    assert load_all(shared) == load_all([shared, shared]) == [load(shared)]
    found = gecjury.compare("sample", [shared, Length, f"{file}:longer", "green"])
    assert {row["metric"] for row in found.rows()} > {"shared", "length", "longer", "green"}
    ranked = gecjury.rank(
        corpus_of_texts(["a b", "c"], {"x": ["a b", "d"], "y": ["a", "d"]}), Length
    )
    assert [row["system"] for row in ranked.rows()] == ["x", "y"]


def test_commands_accept_a_file(file: Path, shell: Shell) -> None:
    files = ["source.txt", "mine.txt", "-r", "ref.txt"]
    rows = shell.rows("score", *files, "-m", "own.py:same", "-m", "own.py:Words:factor=2")
    made = [(row["metric"], row["score"]) for row in rows]
    assert made == [("same", 1.0), ("words:factor=2.0", 10.0)]
    explained = shell(
        "explain", "a b", "a c", "a c", "-m", "own.py:same", "--attribution", "remove"
    )
    assert (explained[0], explained[2]) == (0, "")
    tuned = ["tune", "own.py:Words:factor=1:2:0.5", "sample", "--format", "json"]
    status, out, err = shell(*tuned)
    assert (status, err) == (0, "")
    assert "own.py:Words" in out
    equal = shell.rows("score", *files, "-m", "jury:equal=own.py:longer+green")
    assert len(equal) == 1


@pytest.mark.slow
def test_other_processes_load_the_file(file: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"source": "a", "hypothesis": "a b"}\n' * 4, encoding="utf-8")
    metrics = [f"{file}:longer", load(f"{file}:Words", factor=2.0)]
    found = gecjury.score_dataset(
        rows, tmp_path / "out", metrics=metrics, shard_rows=2, runtime=gecjury.Runtime(workers=2)
    )
    assert {row["metric"]: row["score"] for row in found.rows()} == {"longer": 2.0, "words": 4.0}
    with pytest.raises(OptionError, match="its code is not in a file"):
        gecjury.score_dataset(rows, tmp_path / "other", metrics=eval("lambda s, h: 0", {}))


def test_the_signature_has_a_hash_of_the_code(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def code(metric: Any) -> str:
        return load(metric).score(["a"], ["a"], ["a"]).signature.extra.get("code", "")

    first = code(f"{file}:longer")
    assert re.fullmatch("[0-9a-f]{12}", first)
    assert code(f"{file}:Words") == first == code(f"{file}:longer")
    file.write_text(CODE.replace("- len(source)", "+ len(source)"), encoding="utf-8")
    assert code(f"{file}:longer") != first
    assert load(f"{file}:longer").score(["a"], ["ab"]).totals[0] == 3.0  # by the code as it is now
    # There is no hash for packages, whose version changes when scores change.
    assert code(Length) == code("green") == ""
    # Code whose source is not available never equals other code.
    unread = [eval("lambda s, h: 0", {}) for _ in range(2)]
    assert code(unread[0]) == code(unread[0]) != code(unread[1])


SCRIPT = """
import gecjury
from gecjury.scoring import MeanScorer, Statistics
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Mine(MeanScorer):
    name = "mine"
    family = "refless"

    def statistics(self, corpus, runtime):
        return Statistics(np.ones((len(corpus.systems), len(corpus))))

def shorter(source, hypothesis):
    return len(source) - len(hypothesis)

if __name__ == "__main__":
    found = gecjury.score_dataset("rows.jsonl", "out", metrics=[Mine, shorter], shard_rows=1,
                                  runtime=gecjury.Runtime(workers=2))
    print([(row["metric"], row["score"]) for row in found.rows()])
    print(Mine().score(["a"], ["a"]).signature.extra["code"])
"""


@pytest.mark.slow
def test_workers_load_a_class_of_the_running_script(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text('{"source": "ab", "hypothesis": "a"}\n' * 2)
    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout.startswith("[('mine', 1.0), ('shorter', 1.0)]\n"), ran.stderr
    code = load(f"{tmp_path / 'script.py'}:Mine").score(["a"], ["a"]).signature.extra["code"]
    assert ran.stdout.splitlines()[1] == code


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own.py:lnger", "own.py has no lnger: did you mean longer"),
        ("none.py:f", "none.py:f: there is no file none.py; expected FILE.py:NAME"),
        ("own.py:number", "3 is neither a function of .* nor a subclass of gecjury.scoring.Scorer"),
        ("own.py:Nameless", "it has no name; expected e.g. name = 'Nameless' in Nameless"),
        ("own:longer", r"'longer' is not `option=value`; did you mean own\.py:longer\?"),
        ("own.py", r"'own\.py' names only a file; expected FILE\.py:NAME"),
        ("failing.py:f", r"\(ModuleNotFoundError: .*, line 2 of failing\.py\)"),
        ("named.py:green", "green: gecjury has a metric of that name; choose another name"),
    ],
)
def test_names_that_are_not_metrics_are_refused_in_one_line(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(file.parent)
    Path("failing.py").write_text("import json\nimport not_installed", encoding="utf-8")
    Path("named.py").write_text("def green(source, hypothesis): return 1", encoding="utf-8")
    with pytest.raises(OptionError, match=message) as caught:
        load(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["wrong", "endless"])
def test_a_value_that_is_not_a_number_is_reported(file: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{name}: fails on sentence 1 of x \(ValueError"):
        load(f"{file}:{name}").score(["a"], {"x": ["a"]})


def test_an_error_in_a_function_is_reported_with_its_line(file: Path) -> None:
    line = CODE.splitlines().index("    return 1 / 0") + 1
    with pytest.raises(InputError, match=rf"\(ZeroDivisionError: .*, line {line} of own\.py\)"):
        load(f"{file}:failing").score(["a"], {"x": ["a"]})


def test_an_error_in_a_class_is_reported_as_the_users(file: Path, shell: Shell) -> None:
    line = CODE.splitlines().index("        return Statistics(np.array(undefined))") + 1
    files = ["source.txt", "mine.txt"]
    status, _, err = shell("score", *files, "-m", "own.py:Failing")
    assert status == 2
    assert err == (
        "gecjury: failing: its statistics cannot be computed (NameError: name 'undefined' is not "
        f"defined, line {line} of own.py)\n"
    )
    status, _, err = shell("score", *files, "-m", "own.py:Flat")
    assert (status, err.count("\n")) == (2, 1)
    assert "flat: its statistics are of shape (3,); expected systems × sentences, (1, 3)" in err


def test_an_argument_called_references_gets_the_references(file: Path) -> None:
    scorer = load(f"{file}:compared")
    assert scorer.needs == {"references"}
    assert scorer.score(["a"], ["a"], [["a"], ["b"]]).totals[0] == 2.0


def test_no_file_of_results_or_members_runs_code(file: Path, shell: Shell) -> None:
    """Metric names in files written by others must not import a file without consent."""
    file.write_text("raise SystemExit('it ran')", encoding="utf-8")
    assert paper_of(f"{file}:f") is None
    assert origin(f"{file}:f") == str(file)
    listed = shell.write("members.txt", f"gleu\n{file}:f\n")
    with pytest.raises(OptionError, match=r"need your consent:\n.*own\.py:f runs the code"):
        load("jury", equal=str(listed))


@pytest.mark.security
@pytest.mark.parametrize(
    ("code", "name", "parts"),
    [
        ("import sys\nsys.exit(0)", "f", ["cannot be imported (SystemExit: 0, line 2 of own.py)"]),
        ("def f(a, b):\n    raise KeyboardInterrupt", "f", ["fails on sentence 1", "line 2"]),
        (
            "class E(Exception):\n    def __str__(self): raise self\ndef f(a, b):\n    raise E",
            "f",
            ["fails on sentence 1 of", "(E, line 4 of own.py)"],
        ),
        (
            f"{CODE}\n@dataclass(frozen=True)\nclass Ends(Words):\n    name = 'ends'\n"
            "    def corpus_scores(self, statistics, draws=None): raise SystemExit(0)\n",
            "Ends",
            ["code of a metric ended the command (SystemExit: 0", "of own.py"],
        ),
    ],
)
def test_code_cannot_end_the_command(
    shell: Shell, tmp_path: Path, code: str, name: str, parts: list[str]
) -> None:
    (tmp_path / "own.py").write_text(code)
    (tmp_path / "a.txt").write_text("a b\n")
    status, out, err = shell("score", "a.txt", "a.txt", "-m", f"own.py:{name}")
    assert (status, out) == (2, "")
    for part in parts:
        assert part in err


@pytest.mark.security
def test_what_code_prints_is_not_among_the_results(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "print('noise\\x1b]')\ndef f(a, b):\n    print('noise\\x1b[')\n    return 1.0\n"
    )
    (tmp_path / "a.txt").write_text("a b\n")
    status, out, err = shell("score", "a.txt", "a.txt", "-m", "own.py:f", "--format", "json")
    assert status == 0
    assert json.loads(out)["rows"][0]["score"] == 1.0
    assert [line for line in err.splitlines() if "noise" in line] == [r"noise\x1b]", r"noise\x1b["]
