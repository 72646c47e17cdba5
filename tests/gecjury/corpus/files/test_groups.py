"""Labels of sentences, from files of labels and from columns of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.groups import read_groups


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sentences(count: int) -> Corpus:
    return Corpus(("a .",) * count, {})


TABLES = {
    "about.tsv": 'id\tdomain\n1\tnews\n2\t"mail"\n3\t\n',
    "about.csv": 'id,domain\n1,news\n2,"""mail"""\n3,\n',
    "about.jsonl": '{"id": 1, "domain": "news"}\n{"id": 2, "domain": "\\"mail\\""}\n{"id": 3}\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_columns(here: Path, name: str) -> None:
    (here / name).write_text(TABLES[name], encoding="utf-8")
    groups = {'"mail"': [1], "(none)": [2], "news": [0]}
    assert read_groups(f"{name}:domain", sentences(3)) == ("domain", groups)
    with pytest.raises(OptionError, match="no column is called 'domian': did you mean domain"):
        read_groups(f"{name}:domian", sentences(3))
    with pytest.raises(
        OptionError, match=rf"is a table; name one of its columns, as {name}:COLUMN"
    ):
        read_groups(name, sentences(3))


def test_rows_may_be_in_another_order_than_the_lines(here: Path) -> None:
    (here / "f.csv").write_text("Line,domain\n3,mail\n1,news\n2,mail\n", encoding="utf-8")
    assert read_groups("f.csv:domain", sentences(3)) == ("domain", {"mail": [1, 2], "news": [0]})
    (here / "f.csv").write_text("line,domain\n3,mail\n3,news\n2,mail\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3: line = 3 is in line 2, too"):
        read_groups("f.csv:domain", sentences(3))


def test_a_file_of_labels(here: Path) -> None:
    (here / "a:b.txt").write_text("x\n\ny \n", encoding="utf-8")
    assert read_groups("a:b.txt", sentences(3)) == ("a:b.txt", {"(none)": [1], "x": [0], "y": [2]})


def test_json_numbers_and_booleans_are_labels(here: Path) -> None:
    (here / "x").write_text('{"n": 2}\n{"n": true}\n{"n": 0.5}\n', encoding="utf-8")
    assert read_groups("x:n", sentences(3)) == ("n", {"0.5": [2], "2": [0], "true": [1]})


@pytest.mark.security
@pytest.mark.parametrize(
    ("text", "given", "words"),
    [
        ("x\ny\n", "f", "f has 2 lines, but the source has 3 lines: --by needs one for each"),
        ("a\tb\n1\t2\n", "f:a", "f has 1 rows, but the source has 3 lines"),
        ('{"a": [1], "b": 2}\n', "f:a", r"f, line 1, column a: \[1\]; expected text or a number"),
        ("x\n", "g:a", "g:a: no such file"),
        ("", "f", "the file is empty"),
    ],
)
def test_refusals(here: Path, text: str, given: str, words: str) -> None:
    (here / "f").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_groups(given, sentences(3))


@pytest.mark.security
def test_too_many_groups(here: Path) -> None:
    (here / "f").write_text("".join(f"{n}\n" for n in range(51)), encoding="utf-8")
    with pytest.raises(OptionError, match="51 different labels; expected at most 50"):
        read_groups("f", sentences(51))
