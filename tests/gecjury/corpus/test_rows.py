"""Users' tables: formats, cell values and error messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gecjury.corpus.rows import Row, read_table
from gecjury.errors import InputError

pytestmark = pytest.mark.security


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'System , n\n"a,b",1\n\n , \nc,2\n'),
        ("a.csv", "system;n\na,b;1\nc;2"),
        ("a.txt", 'system\tn\n"a,b"\t1\r\nc\t2\r\n'),
        ("a.tsv", "\n system\tn\na,b\t1\nc\t2\n"),
    ],
)
def test_every_separator_gives_the_same_rows(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    table = read_table(path)
    assert table.columns == ("system", "n")
    assert [dict(row.cells) for row in table.rows] == [
        {"system": "a,b", "n": "1"}, {"system": "c", "n": "2"},
    ]  # fmt: skip


def test_sentences_keep_their_quotation_marks_blanks_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('Text\tn\n"Hi," \t1\n\t\n')
    rows = read_table(path, texts=True).rows
    assert [(row.line, row["Text"], row["n"]) for row in rows] == [(2, '"Hi," ', "1"), (3, "", "")]
    path = tmp_path / "a.jsonl"
    path.write_text('{"Text": "a\u2028b"}\n\n{"n": 1}\n')
    table = read_table(path, texts=True)
    assert table.columns == ("Text", "n")
    assert [(row.line, row["Text"], row["n"]) for row in table.rows] == [
        (1, "a\u2028b", ""), (3, "", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"f: the file is empty; expected a header"),
        (" \n\n", r"f: the file is empty; expected a header"),
        ("a,b\n1,2\n1\n", r"f, line 3: 1 cells; expected 2, as the header has \(a, b\); quote"),
        ("a,A\n1,2\n", "f, line 1: column 'a' occurs twice; rename one of them"),
        ('a,b\n1,"2\n', "f, line 2: not CSV .*: is a quotation mark open?"),
        (f"a,b\n1,{'2' * 1_000_001}\n", "f, line 2: not CSV .a cell of more than 1000000 char"),
    ],
)
def test_malformed_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n[]\n', r"f, line 2: '\[\]'; expected a JSON object"),
        ('{"a": 1}\n{"a": \n', "f, line 2: is not JSON"),
    ],
)
def test_lines_that_are_not_objects_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "f", texts=True)


ROW = Row("f", 7, {"n": "3", "x": "-.5", "word": "No", "comma": "3,5", "far": "9" * 5000})


def test_cells_are_converted_to_their_type() -> None:
    assert ROW.whole("n", 1, 3) == 3
    assert ROW.number("x", 1.0) == -0.5
    assert ROW.choice("word", {"yes": True, "no": False}) is False
    assert ROW.text("absent") == ""
    values = {"n": 2, "t": True, "x": 0.5, "s": " a ", "none": None}
    row = Row("f", 1, values)
    assert [row.text(column) for column in values] == ["2", "true", "0.5", "a", ""]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (
            lambda: ROW.whole("n", 4, 9, "; say why"),
            "n: '3'; expected a whole number from 4 to 9",
        ),
        (lambda: ROW.whole("x", 0, 9), r"x: '-\.5'; expected a whole number from 0 to 9"),
        (lambda: ROW.whole("far", 0, 9), "far: '9{59}; expected a whole number from 0 to 9"),
        (lambda: ROW.number("n", 2.0), "n: '3'; expected a number from -2 to 2"),
        (
            lambda: ROW.number("comma", 2.0),
            "comma: '3,5'; expected a number with a decimal point from -2",
        ),
        (lambda: ROW.number("absent", 2.0), "absent: ''; expected a number from -2 to 2"),
        (lambda: ROW.choice("word", {"a": 1, "b": 2}), "word: 'No'; expected one of a, b"),
        (lambda: Row("f", 7, {"l": [1]}).text("l"), r"l: \[1\]; expected text or a number"),
    ],
)
def test_cells_of_another_type_are_named(read: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=f"f, line 7, column {message}"):
        read()
