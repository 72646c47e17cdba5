"""Printing: unrounded numbers for programs, rounded for people, no truncation in terminals."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import numpy as np
import pytest

from gecjury.core.wording import width
from gecjury.report.result import Column, Result, Table, print_result
from gecjury.report.table import crossed
from gecjury.report.tables import (
    audit_table,
    print_table,
    print_tables,
    records_text,
    to_json,
)

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


def test_json_has_plain_numbers_and_null_for_missing_values() -> None:
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


def test_tsv_is_unrounded(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "tsv").splitlines()
    table = list(csv.reader(lines, delimiter="\t"))
    assert table[0] == ["system", "score", "n", "ok"]
    assert table[1] == ["a|b & 100%_x", repr(1 / 3), "1200", "True"]
    assert table[2] == ["Ω", "", "", "False"]
    assert table[3] == ["short", "2.0", "", ""]


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "markdown", title="T", notes=["note one", "two"]) == (
        "**T**\n"
        "\n"
        "| system | Score | n | ok |\n"
        "|---|---:|---:|---|\n"
        "| a\\|b & 100%\\_x | 0.33 | 1200 | yes |\n"
        "| Ω | – | – | no |\n"
        "| short | 2.00 | – | – |\n"
        "\n"
        "note one  \n"
        "two  \n"
    )


def test_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "latex", title="T", notes=["a note"]) == (
        "% T\n"
        "% this table has letters that pdflatex lacks: compile with xelatex or lualatex and a font "
        "that has them, or use the package CJKutf8\n"
        "\\begin{tabular}{lrrl}\n"
        "\\toprule\n"
        "system & Score & n & ok \\\\\n"
        "\\midrule\n"
        "a\\textbar{}b \\& 100\\%\\_x & 0.33 & 1200 & yes \\\\\n"
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
        ("go → went, ± λ", r"go $\rightarrow$ went, $\pm$ $\lambda$"),
        ("> undamaged", r"$>$ undamaged"),
        # LaTeX would read a bracket at the start of a row as an option of the `\\` above it.
        ("[9,9] → that", r"{}[9,9] $\rightarrow$ that"),
    ],
)
def test_latex_escapes(capsys: pytest.CaptureFixture[str], text: str, escaped: str) -> None:
    print_table(["x"], [{"x": text}], "latex")
    assert f"\n{escaped} \\\\\n" in capsys.readouterr().out


def test_a_table_in_a_pipe_is_never_truncated(capsys: pytest.CaptureFixture[str]) -> None:
    wide = {f"column {i}": "x" * 60 for i in range(30)}
    note = "remark " * 60
    print_table(list(wide), [wide], "table", notes=[note, "a" * 150], title="A title")
    out = capsys.readouterr().out
    assert "…" not in out
    # The first column, which names the rows, is in each panel. Two columns with names of sixty
    # characters are folded, and nothing is lost.
    assert out.count("x") == 60 * 2 * 29
    assert out.count("remark") == 60
    assert f"\n{'a' * 150}\n" in out  # a long word, such as an address, is not split
    assert max(len(line) for line in out.splitlines() if "aaa" not in line) <= 100
    assert all(name in out for name in wide)
    assert "\x1b" not in out  # no colours outside a terminal


LONG = "uot-errant:encoder=/models/all-mpnet-base-v2,layer=9,lambda1=0.25,pooling=mean"


def test_signatures_below_a_table_are_numbered(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers assign them to metrics; a signature stays on one line and can be copied."""
    signatures = ["green|n=4|" + "x" * 150, "jury|equal=my members.txt|" + "y" * 150]
    rows = [
        {"metric": metric, "system": system, "signature": signature}
        for metric, signature in zip(("green", LONG), signatures, strict=True)
        for system in ("a", "b")
    ] + [{"metric": "random", "system": "a", "signature": ""}]
    table = Table([Column("metric"), Column("system")], rows, notes=["a note", *signatures])
    print_tables([table], {}, "table")
    out = capsys.readouterr().out
    assert out.count("green [1] ") == 2
    assert re.findall(r"^.*\[2\]", out, re.MULTILINE)[:2] == [f" {LONG} [2]"] * 2
    assert "random [" not in out
    assert out.endswith(f"\na note\n[1] {signatures[0]}\n[2] {signatures[1]}\n")
    # A single metric needs no number, and other formats have none.
    print_tables([Table(table.columns, rows[:2], notes=signatures[:1])], {}, "table")
    assert "[1]" not in capsys.readouterr().out
    for form in ("tsv", "markdown", "latex"):
        print_tables([table], {}, form)
        assert "[1]" not in capsys.readouterr().out


class Terminal(io.StringIO):
    """An output stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int, table: Table) -> list[str]:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    print_tables([table], {}, "table")
    return re.sub("\x1b\\[[0-9;]*m", "", screen.getvalue()).splitlines()


def test_a_wide_table_is_split_into_panels_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns that distinguish the rows are in every panel, and no number is truncated."""
    rows = [
        {"metric": name, "family": "refbased", "human": human, "ci": (0.1, 0.9)}
        | {f"figure {i}": i + place / 10 for i in range(9)}
        for place, (name, human) in enumerate(
            [("green", "edit"), ("green", "sentence"), ("gleu", "edit"), ("gleu", "sentence")]
        )
    ]
    columns = [Column("metric"), Column("family"), Column("human")]
    columns += [Column(f"figure {i}", interval="ci") for i in range(9)]
    note = "metric|" + "option=value," * 9 + "v1"
    lines = on_terminal(monkeypatch, 80, Table(columns, rows, "A title", [note]))
    assert note in lines  # the signature can be copied
    drawn = [line for line in lines if line != note]
    assert max(map(len, drawn)) <= 80
    assert "…" not in "".join(lines)
    heads = [line.split() for line in drawn if line.split()[:1] == ["metric"]]
    assert len(heads) > 1
    assert heads[0][:3] == ["metric", "family", "human"]
    assert all(head[:2] == ["metric", "human"] for head in heads[1:])  # family is not needed
    for i in range(9):
        assert f"{i + 0.1:.3f}".removeprefix("0") + " [.10, .90]" in "".join(drawn)


def test_records_as_text() -> None:
    rows = [
        {"name": "a", "x": 0.123456, "deep": {"b": 1}, "signature": "s|1"},
        {"name": "[b]b[/b]", "n": 2, "deep": None, "signature": "s|1"},
    ]
    head, line, first, second, note = records_text(rows).splitlines()
    assert head.split() == ["name", "x", "n"]
    assert set(line.strip()) == {"─"}
    assert first.split() == ["a", "0.1235", "–"]
    assert second.split() == ["[b]b[/b]", "–", "2"]
    assert note == "s|1"
    assert records_text([]) == ""


def test_columns_in_other_scripts_are_aligned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ["errant", "日本語の指標", "гарна метрика", "cafe\u0301", "👩\u200d👧", "ｶﾅ"]
    rows = [{"metric": name, "score": 0.5} for name in names]
    print_table([Column("metric"), Column("score")], rows, "table")
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if line.endswith("0.5000 ")]
    assert len(lines) == len(names)
    assert {width(line) for line in lines} == {width(lines[0])}


def test_very_long_cells_are_shortened_only_for_people(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # rich processes every character dozens of times, which takes a minute for a million.
    cell = "é" * 100_000
    for form in ("table", "tsv"):
        print_table([Column("edit")], [{"edit": cell}], form)
    shown, whole = capsys.readouterr().out.split("edit\n")
    assert shown.count("é") == 4_000 - 1
    assert "…" in shown
    assert whole == cell + "\n"


def test_small_p_values_are_not_printed_as_zero(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"p": value} for value in (0.0, 0.00004, 0.0001, 0.5, NAN, None)]
    columns = [Column("p", digits=4)]
    print_table(columns, rows, "markdown")
    shown = [line.strip("| ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert shown == ["< 0.0001", "< 0.0001", "0.0001", "0.5000", "–", "–"]
    print_table(columns, rows[:1], "tsv")
    assert capsys.readouterr().out == "p\n0.0\n"


LABEL = "llm-s:model=/models/a,base_url=http://host/v1"


def result_of_readers() -> Result:
    signature = "llm-s|model=/models/a|v1"
    scores = [("b", 0.25), ("a", 0.5)]
    rows = [
        {"system": name, "metric": LABEL, "score": score, "seconds": 1.5, "signature": signature}
        for name, score in scores
    ]
    columns = [Column(key) for key in ("system", "metric", "score", "seconds")]
    table = Table(columns, rows, "Scores", [f"{LABEL}: a note", signature], "rows")
    brief = Table(columns[:3], rows[::-1], "Scores", table.notes)
    instead = {"brief": brief, "latex": crossed(table, "score")}
    full = Table(columns, rows, "Scores", table.notes, "rows", instead)
    return Result((full,), verdict=(f"{LABEL}: a leads.",))


def test_people_see_the_verdict_first_and_only_the_main_columns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = result_of_readers()
    print_result(result, "markdown")
    assert capsys.readouterr().out == (
        "llm-s: a leads.  \n\n**Scores**\n\n| system | metric | score |\n|---|---|---:|\n"
        "| a | llm-s | 0.5000 |\n| b | llm-s | 0.2500 |\n\nllm-s: a note  \n"
    )
    print_result(result, "table")
    out = capsys.readouterr().out
    assert out.startswith("llm-s: a leads.\n\nScores\n")
    assert "seconds" not in out
    assert out.index(" a ") < out.index(" b ")
    print_result(result, "table", verbose=True)
    out = capsys.readouterr().out
    assert "   s " in out
    assert "\nllm-s|model=/models/a|v1\n" in out
    assert str(result).startswith("llm-s: a leads.\nScores\n")


def test_people_see_little_without_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column(f"c{number}") for number in range(9)]
    row = {column.key: 1 for column in columns}
    notes = [f"note {number}" for number in range(4)]
    main = Table(columns, [row], "Main", notes, "rows", legend="the legend")
    further = Table(columns[:1], [row], "Further", name="further")
    asked = Table(columns[:1], [row], "Asked", name="asked", asked=True)
    result = Result((main, further, asked), verdict=("One.", "Two.", "Three."))
    print_result(result, "table", more="--verbose")
    out = capsys.readouterr().out
    assert out.startswith("One.\nTwo.\n\nMain\n")
    assert "c7" in out
    assert "\nthe legend\nnote 0\nnote 1\nnote 2\n" in out
    assert out.endswith("\nmore: --verbose\n")
    for hidden in ("Three.", "c8", "note 3", "Further"):
        assert hidden not in out
    assert "Asked" in out
    assert "more:" not in str(result)
    print_result(result, "table", verbose=True, more="--verbose")
    out = capsys.readouterr().out
    for shown in ("Three.", "c8", "the legend\nnote 0", "note 3", "Further", "Asked"):
        assert shown in out
    assert "more:" not in out
    # If nothing is left out, nothing points to it.
    print_result(Result((asked,)), "table", more="--verbose")
    assert "more:" not in capsys.readouterr().out


def test_one_table_has_the_columns_legends_and_notes_of_every_reader() -> None:
    columns = [
        Column("system"),
        Column("metric"),
        Column("score", interval="ci95", legend="short", notes=("in full",), bare=("brief",)),
        Column("ranks", legend="ranks: short", hidden=("latex",)),
        Column("cluster", notes=("cluster: in full",), hidden=("brief",)),
    ]
    row = {"system": "a", "metric": "green", "score": 0.5, "ci95": (0.25, 0.75), "ranks": "1"}
    table = Table(columns, [row], notes=["note"], legend="the end", crossed=("score",))
    brief, verbose, latex = (table.seen_by(reader) for reader in ("brief", "verbose", "latex"))
    assert [column.key for column in brief.columns] == ["system", "metric", "score", "ranks"]
    assert brief.columns[2].interval == ""
    assert brief.notes == ["short; ranks: short; the end", "note"]
    # Notes in full replace the legend of their column.
    assert verbose.notes == ["ranks: short; the end", "in full", "cluster: in full", "note"]
    assert verbose.columns[2].interval == "ci95"
    # Papers see a column per metric.
    assert [column.title for column in latex.columns] == ["system", "green"]
    assert latex.notes == ["the end", "in full", "note"]
    assert [column.key for column in table.columns_for("tsv").columns] == [c.key for c in columns]


def test_the_gist_of_a_table_is_shown_in_its_place() -> None:
    columns, row = [Column("system")], {"system": "a"}
    main = Table(columns, [row], notes=["one", "two", "three"], legend="legend")
    rows = [
        {"model": "m", "what": "valid replies", "value": "1 of 2 (50.0%)"},
        {"model": "m", "what": "refused", "value": "1"},
        {"model": "m", "what": "cost", "value": "0.01 USD"},
    ]
    audit = audit_table("llm-s", rows)
    (shown,) = Result((main, audit), {}).shown_to("brief")
    gist = "llm-s: valid replies 1 of 2 (50.0%); cost: 0.01 USD"
    assert shown.notes == ["legend", gist, "one", "two"]
    first, second = Result((main, audit), {}).shown_to("verbose")
    assert (first.notes, second.rows) == (["legend", "one", "two", "three"], rows)


def test_output_for_programs_has_all_columns_and_json_full_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = result_of_readers()
    print_result(result, "json")
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == ["llm-s: a leads."]
    assert [row["metric"] for row in document["rows"]] == [LABEL, LABEL]
    print_result(result, "tsv")
    assert capsys.readouterr().out == (
        "system\tmetric\tscore\tseconds\nb\tllm-s\t0.25\t1.5\na\tllm-s\t0.5\t1.5\n"
    )


def test_latex_tables_are_systems_by_metrics_with_the_best_in_bold(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_result(result_of_readers(), "latex")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:7] == [
        "\\begin{tabular}{lr}", "\\toprule", "system & llm-s \\\\", "\\midrule",
        "b & 0.2500 \\\\", "a & \\textbf{0.5000} \\\\",
    ]  # fmt: skip
    # Values that look equal are all best, unless all values of the column are equal.
    rows = [
        {"system": name, "metric": metric, "score": score}
        for metric, scores in (("x", (0.1, 0.30001, 0.3)), ("y", (1.0, 1.0, 1.0)))
        for name, score in zip("abc", scores, strict=True)
    ]
    table = Table([Column(key) for key in ("system", "metric", "score")], rows)
    print_tables([crossed(table, "score")], None, "latex")
    assert capsys.readouterr().out.splitlines()[4:7] == [
        "a & 0.1000 & 1.0000 \\\\", "b & \\textbf{0.3000} & 1.0000 \\\\",
        "c & \\textbf{0.3000} & 1.0000 \\\\",
    ]  # fmt: skip
