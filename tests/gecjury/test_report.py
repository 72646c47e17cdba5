"""Printing: numbers unrounded for programs, rounded for people, nothing cut off terminals."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from gecjury.report import FORMATS, Column, Table, print_result, print_table, to_json

NAN = math.nan
COLUMNS = [Column("system"), Column("score", "Score", digits=2), Column("n"), Column("ok")]
ROWS = [
    {"system": "a|b & 100%_x", "score": 1 / 3, "n": np.int64(1200), "ok": True},
    {"system": "Ω", "score": NAN, "n": None, "ok": np.False_},
    {"system": "short", "score": np.float64(2.0)},
]


def printed(capsys: pytest.CaptureFixture[str], form: str, **options: object) -> str:
    print_table(COLUMNS, ROWS, form, **options)  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert err == ""
    assert out.endswith("\n")
    return out


def test_json_has_plain_numbers_and_null_for_what_is_missing() -> None:
    document = {
        "nan": NAN,
        "infinite": [math.inf, -math.inf, np.float64(NAN)],
        "array": np.array([[0.1, NAN], [1 / 3, 2]]),
        "numpy": (np.int32(3), np.float32(0.5), np.bool_(True)),
        1: "é",
    }
    text = to_json(document)
    assert json.loads(text) == {
        "nan": None,
        "infinite": [None, None, None],
        "array": [[0.1, None], [1 / 3, 2.0]],
        "numpy": [3, 0.5, True],
        "1": "é",
    }
    assert "é" in text
    assert "NaN" not in text
    assert "Infinity" not in text


def test_json_of_a_table_is_a_list_of_objects(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "json"))
    assert rows[0] == {"system": "a|b & 100%_x", "score": 1 / 3, "n": 1200, "ok": True}
    assert rows[1] == {"system": "Ω", "score": None, "n": None, "ok": False}


def test_tsv_is_unrounded(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "tsv").splitlines()
    table = list(csv.reader(lines, delimiter="\t"))
    assert table[0] == ["system", "score", "n", "ok"]
    assert table[1] == ["a|b & 100%_x", repr(1 / 3), "1200", "True"]
    assert table[2] == ["Ω", "", "", "False"]
    assert table[3] == ["short", "2.0", "", ""]


def test_tsv_keeps_tabs_inside_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(["a", "b"], [{"a": 'x\ty "z"', "b": "new\nline"}], "tsv")
    rows = list(csv.reader(capsys.readouterr().out.splitlines(keepends=True), delimiter="\t"))
    assert rows == [["a", "b"], ['x\ty "z"', "new\nline"]]


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "markdown", title="T", notes=["note one", "two"]) == (
        "**T**\n"
        "\n"
        "| system | Score | n | ok |\n"
        "|---|---:|---:|---|\n"
        "| a\\|b & 100%_x | 0.33 | 1200 | yes |\n"
        "| Ω | – | – | no |\n"
        "| short | 2.00 | – | – |\n"
        "\n"
        "note one  \n"
        "two  \n"
    )


def test_markdown_escapes_headings(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([Column("a|b")], [{"a|b": 1.0}], "markdown")
    assert capsys.readouterr().out.splitlines()[0] == "| a\\|b |"


def test_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "latex", title="T", notes=["a note"]) == (
        "% T\n"
        "\\begin{tabular}{lrrl}\n"
        "\\toprule\n"
        "system & Score & n & ok \\\\\n"
        "\\midrule\n"
        "a|b \\& 100\\%\\_x & 0.33 & 1200 & yes \\\\\n"
        "Ω & -- & -- & no \\\\\n"
        "short & 2.00 & -- & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "% a note\n"
    )


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("&%$#_{}", r"\&\%\$\#\_\{\}"),
        ("\\", r"\textbackslash{}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("ρ τ β", r"$\rho$ $\tau$ $\beta$"),
    ],
)
def test_latex_escapes(capsys: pytest.CaptureFixture[str], text: str, escaped: str) -> None:
    print_table(["x"], [{"x": text}], "latex")
    assert f"\n{escaped} \\\\\n" in capsys.readouterr().out


def test_a_table_into_a_pipe_is_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    wide = {f"column {i}": "x" * 60 for i in range(30)}
    note = "signature " * 60
    print_table(list(wide), [wide], "table", notes=[note], title="A title")
    out = capsys.readouterr().out
    assert "…" not in out
    assert out.count("x" * 60) == 30
    assert len([line for line in out.splitlines() if "x" * 60 in line]) == 1
    assert note.strip() in out
    assert all(name in out for name in wide)
    assert "\x1b" not in out  # no colours outside terminals


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "table", title="[bold]T[/bold]")
    # names that look like markup are names
    assert out.splitlines()[0].strip() == "[bold]T[/bold]"
    rows = [line.split() for line in out.splitlines()]
    assert ["system", "Score", "n", "ok"] in rows
    assert ["Ω", "–", "–", "no"] in rows
    assert ["short", "2.00", "–", "–"] in rows


@pytest.mark.parametrize("form", FORMATS)
def test_several_tables_and_no_rows(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables = [
        Table([Column("a")], [{"a": 0.123456}], title="One"),
        Table([Column("b")], [], title="Two"),
    ]
    print_result(tables, {"rows": []}, form)
    out = capsys.readouterr().out
    if form == "json":
        assert json.loads(out) == {"rows": []}
    else:
        assert out.index("One") < out.index("0.123") < out.index("Two")
