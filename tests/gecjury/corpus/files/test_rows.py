"""Users' tables: formats, cell values and error messages."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import InputError
from gecjury.corpus.files import rows as rows_module
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.files.rows import Row, csv_rows, read_table, table_of

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
        ('a,b\n1,"2\n3,4"\n', r"f, line 2: the cell '2\\n3,4' has a line break; expected none"),
        ('{"a": 1, "A": 2}\n', "f: column 'a' occurs twice"),
        ('[{"a": 1, "a": 2}]\n', "f: 'a' occurs twice in an object"),
        ('[{"a": "1\\n2"}]\n', r"f, row 1, column a: '1\\n2'; expected text without a line br"),
        ('[{"a": 1}, 2]', "f, row 2: '2'; expected a JSON object"),
        ('{"a": [1, 2], "b": [3, 4]}', "f: is one JSON object with lists .* as a, b; exp.*records"),
        ('{\n"a": 1\n}', "f: is one JSON object over several lines; expected a list of objects"),
        ("PK\x03\x04\x14\x00", r"f: is a spreadsheet \(.xlsx, .ods\).* export a table as CSV"),
        ("PAR1rest", "f: cannot be read as Parquet"),
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


QUOTED = [
    # pandas, Excel and Miller quote cells with quotation marks, tabs or line breaks.
    ('a\tb\n"""Yes"" , he say ."\t1\n', '"Yes" , he say .'),
    ('a\tb\n"Dear Ann,\nhi"\t1\n', "Dear Ann,\nhi"),
    ('a\tb\n"x\ty"\t1\n', "x\ty"),
    ('"a"\t"b"\n"Yes ."\t"1"\n', "Yes ."),
    # Excel also quotes every cell with a comma.
    ('a\tb\r\n"Yes, I do ."\t1\r\n"No, I see ."\t2\r\n', "Yes, I do ."),
]


@pytest.mark.parametrize(("text", "cell"), QUOTED)
def test_quoted_cells_of_tab_separated_sentences_are_read_as_spreadsheets_do(
    text: str, cell: str
) -> None:
    table = table_of(text, "f.txt", texts=True)
    assert (table.columns, table.rows[0]["a"]) == (("a", "b"), cell)
    (note,) = table.notes
    assert "in quotation marks, which are not part of the text" in note


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('a\tb\n"Yes," he says .\t1\n', ""),
        ('a\tb\nThe "big" one\t1\n', ""),
        ('a\tb\n"Yes ."\t1\n', "around 1 cells are part of the text"),
        # An Excel file quotes all cells with commas.
        ('a\tb\n"Yes, I do ."\t1\nNo, I see .\t2\n', "around 1 cells are part of the text"),
        # One cell shows that quotation marks are text.
        (
            'a\tb\n"""Yes"" , he say ."\t1\n"Yes," he says .\t1\n',
            "around 1 cells are part of the text, since a cell in line 3 has some that are not",
        ),
        # The marks of two cells do not enclose the rows between them.
        ('a\tb\n"Oh , he says .\t1\nYes .\t2\nhe says , no"\t1\n', ""),
    ],
)
def test_quotation_marks_of_other_tab_separated_sentences_are_text(text: str, note: str) -> None:
    table = table_of(text, "f.tsv", texts=True)
    rows = ["\t".join(row.cells.values()) for row in table.rows]
    assert rows == text.splitlines()[1:]
    assert [note in one for one in table.notes] == ([True] if note else [])


def test_the_remedy_for_a_row_of_another_width_is_the_true_one() -> None:
    with pytest.raises(InputError, match=r"line 2: 1 cells; .* read as text, since a cell in line"):
        table_of('a\tb\n"Dear "Ann"\nhi"\t1\n', "f.tsv", texts=True)
    with pytest.raises(InputError, match=r"3 cells; .* must be its first and last characters"):
        table_of('a,b\n1, "2,3"\n', "f.csv", texts=True)


# With every separator; csv leaves a lone carriage return unquoted.
CELL = st.text(st.sampled_from(['"', ",", ";", "\n", "\t", " ", "a", "\x85", "é"]), max_size=6)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4), st.sampled_from(",;\t"))
def test_tables_of_pythons_writer_are_read_back(
    rows: list[tuple[str, str]], separator: str
) -> None:
    # A cell with line breaks and tabs may look like rows.
    rows = [tuple(c.replace("\t", " ") if "\n" in c else c for c in row) for row in rows]  # type: ignore[misc]  # two each
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows([("t0", "t1"), *rows])
    table = table_of(out.getvalue(), "f", texts=True)
    assert [tuple(row.cells.values()) for row in table.rows] == rows
    if any("\n" in cell for row in rows for cell in row):
        with pytest.raises(InputError, match="has a line break"):
            list(csv_rows(out.getvalue(), "f"))


def test_json_and_parquet_are_read_as_csv_is(tmp_path: Path) -> None:
    records = [{"System": "x", "n": 3.0, "rest": None}, {"System": "y", "n": 2, "rest": True}]
    (tmp_path / "list.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "lines.txt").write_text("\n".join(map(json.dumps, records)))
    files = ["list.json", "lines.txt"]
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        pass
    else:
        index = [{**record, "__index_level_0__": 7} for record in records]
        parquet.write_table(pyarrow.Table.from_pylist(index), tmp_path / "wrong.csv")
        files.append("wrong.csv")
    for name in files:
        table = read_table(tmp_path / name)
        assert table.columns == ("system", "n", "rest")
        assert [dict(row.cells) for row in table.rows] == [
            {"system": "x", "n": "3", "rest": ""},
            {"system": "y", "n": "2", "rest": "true"},
        ]
        assert read_table(tmp_path / name, texts=True).rows[0]["n"] == 3


def test_numbers_of_parquet_are_plain(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    table = pyarrow.Table.from_pylist([{"a": Decimal("1.5"), "b": float("nan")}])
    parquet.write_table(table, tmp_path / "f")
    (row,) = read_table(tmp_path / "f", texts=True).rows
    assert (row["a"], row.number("a", 9), row.text("b"), row.unit) == (1.5, 1.5, "", "row")


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


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_the_filled_sheet_of_an_excel_file_is_a_table(tmp_path: Path) -> None:
    rows: list[list[object]] = [["id", "output"], [2, "b"], [1, None]]
    path = workbook(tmp_path / "a.xlsx", {"texts": rows, "empty": []})
    table = read_table(path, texts=True)
    assert table.columns == ("id", "output")
    assert [(row.text("id"), row.text("output")) for row in table.rows] == [("2", "b"), ("1", "")]


def test_an_empty_cell_is_an_absent_reference_or_an_empty_output(tmp_path: Path) -> None:
    rows: list[list[object]] = [["n", "output", "reference"], [1, "", "a b ."], [2, "c d .", None]]
    paths = [workbook(tmp_path / "a.xlsx", {"texts": rows}), tmp_path / "a.csv"]
    with paths[1].open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (tmp_path / "s.txt").write_text("a b .\nc e .\n")
    (tmp_path / "r.txt").write_text("a b .\nc f .\n")
    for path in paths:
        corpus = read_corpus(tmp_path / "s.txt", [path], [path, tmp_path / "r.txt"])
        assert [version.lines for version in corpus.systems.values()] == [("", "c d .")]
        assert [(one.lines, one.borrowed) for one in corpus.references] == [
            (("a b .", "c f ."), (1,)),
            (("a b .", "c f ."), ()),
        ]


def test_excel_files_that_are_no_single_table_are_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"one": [["x"]], "two": [["y"]]})
    with pytest.raises(InputError, match=r"a\.xlsx: 2 sheets with cells \(one, two\)"):
        read_table(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"cannot be read as an Excel file .* export the sheet"):
        read_table(path)


def rewritten(path: Path, part: str, old: str, new: str) -> Path:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


FIRST, FORMULA = "xl/worksheets/sheet1.xml", "<f>1</f><v />"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        (FORMULA, "<f>1</f><v>0</v>"),  # what XlsxWriter stores for every formula
        (FORMULA, "<v>#N/A</v>"),
    ],
)
def test_a_cell_without_a_value_of_its_own_is_named(tmp_path: Path, old: str, new: str) -> None:
    path = workbook(tmp_path / "a.xlsx", {"texts": [["id", "output"], [1, "a"], [2, "=1"]]})
    rewritten(path, FIRST, old, new)
    if "#" in new:
        rewritten(path, FIRST, 'r="B3"', 'r="B3" t="e"')
    with pytest.raises(InputError, match=r"a\.xlsx, sheet texts, cell B3: .* and save it"):
        read_table(path, texts=True)


def test_values_of_formulas_are_read(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"texts": [["a", "b"], ["=1", "x"], ["=1", "y"]]})
    rewritten(path, FIRST, f'<c r="A2">{FORMULA}', '<c r="A2" t="str"><f>1</f><v></v>')
    rewritten(path, FIRST, FORMULA, "<f>1</f><v>0</v>")
    # As Excel saves it: nothing has to be calculated again.
    rewritten(path, "xl/workbook.xml", ' fullCalcOnLoad="1"', "")
    assert [row.text("a") for row in read_table(path, texts=True).rows] == ["", "0"]


def test_rows_of_excel_have_their_numbers_whatever_range_is_named(tmp_path: Path) -> None:
    rows: list[list[object]] = [[None], ["id", "output"], [1, "a"], [2, "b", "beside"], [3]]
    path = workbook(tmp_path / "a.xlsx", {"texts": rows})
    rewritten(path, FIRST, '<dimension ref="A1:C5" />', '<dimension ref="A2:A3" />')
    table = read_table(path, texts=True)
    assert [(row.line, row.text("id"), row.text("output")) for row in table.rows] == [
        (3, "1", "a"), (4, "2", "b"), (5, "3", ""),
    ]  # fmt: skip


def changed(path: Path, ending: str, data: str) -> Path:
    """Return a workbook in which one part has other contents."""
    workbook(path, {"s": [["source", "mine"]]})
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, data if name.endswith(ending) else content)
    return path


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    "{}</sheetData></worksheet>"
)


@pytest.mark.parametrize(
    ("ending", "data", "message"),
    [
        # Each row is padded to Excel's last column, 16,384.
        ("sheet1.xml", SHEET.format('<row><c r="XFD1"/></row>' * 200), "5 rows with 81,925 cells"),
        ("sheet1.xml", SHEET.format('<row r="900000000"/>'), "9,052 rows with 9,052 cells or more"),
        ("sheet1.xml", SHEET.format("<row/>" * 1_050_000), "has more than 1,048,576 rows"),
        ("sheet1.xml", SHEET.format("<row>" + "<c/>" * 4_100_000), "has a row of 8,000,000 bytes"),
        ("styles.xml", "<xf/>" * 3_300_000, "unpacks to more than 16 MB of settings"),
        ("sheet1.xml", SHEET.format("<c/>" * 5_100_000), "unpacks to more than 20 MB of cells"),
    ],
)
def test_a_small_workbook_cannot_take_much_memory(
    ending: str, data: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = changed(tmp_path / "a.xlsx", ending, data)
    monkeypatch.setattr(rows_module, "_MOST_MEMORY", 4_200_000)
    monkeypatch.setattr(rows_module, "_MOST_XML", 20_000_000)
    with pytest.raises(InputError, match=message):
        read_table(path)


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"s": [["source"], ["He go ."]]})
    sound = path.read_bytes()
    for at in range(0, len(sound), 61):
        path.write_bytes(
            sound[:at] + bytes(byte ^ 255 for byte in sound[at : at + 9]) + sound[at + 9 :]
        )
        with suppress(InputError):
            read_table(path)


def test_a_small_parquet_file_cannot_take_much_memory(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    def repeated(text: str, count: int) -> object:
        return arrow.DictionaryArray.from_arrays(
            arrow.repeat(arrow.scalar(0, "int8"), count), [text]
        )

    nulls = arrow.ListArray.from_arrays([0, 70_000_000], arrow.nulls(70_000_000))
    path = tmp_path / "a.parquet"
    for table, message in (
        (arrow.table({f"c{n}": [1] for n in range(10_001)}), "10,001 columns; expected at most 10"),
        (arrow.table({"source": repeated("a", 11_000_000)}), "11,000,000 rows with 11,000,000 cel"),
        (arrow.table({"source": nulls}), "1 rows with 70,000,000 cell"),
        (arrow.table({"source": repeated("a" * 10_000_000, 200)}), "has more than 512 MB"),
    ):
        parquet.write_table(table, path, compression="zstd")
        with pytest.raises(InputError, match=message):
            read_table(path)


def test_many_rows_of_text_are_refused_before_they_are_read() -> None:
    for name, text in (("a.csv", "a\n" * 10_500_000), ("a.jsonl", "{}\n" * 10_500_000)):
        with pytest.raises(InputError, match=rf"{name}: 10,500,000 rows with 0 cells or more"):
            table_of(text, name)
