"""Escaping of names, sentences and notes: rows stay rows, and no text has an effect."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gecjury.core.wording import visible
from gecjury.report.escaping import clean, json_text, latex, markdown_line
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables, to_json

pytestmark = pytest.mark.security

TAGS = (
    "<script>alert(1)</script> <img/src=x/onerror=a> <http://e.x> <1@b.c> <!-- --> <?php </table>"
)
SIGNS = "` `` ``` | \\ * ** *** _ __ ~ ~~ < > & % $ # { } ^ [ ] ]( [x]: [^1]: ![i](u) =cmd() a_b"
LINKS = "[a](javascript:alert(1)) http://e.x _www.e.x &lt; \\input{/etc/passwd} ^^5cinput"
LINES = ["# h", "> q", "- l", "1. n", "12) n", "---", "===", ":-", "|---|---|", "    code"]
OBEYED = [*"\n\r\t\u2028\u202e\x85\x7f\x00\ud800", "\x1b]0;t\x07", "\x1b[2J", "\x9b31m"]
PIECES = [
    *TAGS.split(),
    *SIGNS.split(),
    *LINKS.split(),
    *LINES,
    "[x]: u",
    *OBEYED,
    " ",
    "'",
    '"',
    "ä",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=5).map("".join)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    keys = [f"key {number}" for number in range(draw(st.integers(1, 3)))]
    columns = [Column(key, draw(texts)) for key in keys]
    rows = [{key: draw(texts) for key in keys} for _ in range(draw(st.integers(0, 3)))]
    return Table(columns, rows, draw(texts), draw(st.lists(texts, max_size=3)))


def printed(table: Table, form: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_tables([table], table.rows, form)
    return out.getvalue()


def acting(text: str) -> list[str]:
    """Return the characters that control a terminal or reverse the text around them."""
    kinds = ("Cc", "Cs", "Zl", "Zp")
    return [
        c
        for c in text
        if (unicodedata.category(c) in kinds and c != "\n") or c in "\u202e\u2066\u200f"
    ]


def shown(table: Table) -> list[list[str]]:
    """Return the heading and rows as people should see them."""
    head = [visible(column.title) for column in table.columns]
    return [head, *([visible(row[c.key]) for c in table.columns] for row in table.rows)]


def plain(rows: list[list[str]]) -> list[list[str]]:
    return [[" ".join(cell.split()) for cell in row] for row in rows]


@pytest.mark.parametrize("form", ["table", "json", "tsv", "markdown", "latex"])
@given(table=tables())
@settings(max_examples=6, deadline=None)
def test_printed_text_has_no_effect(form: str, table: Table) -> None:
    out = printed(table, form)
    assert acting(out.replace("\t", "") if form == "tsv" else out) == []
    if form != "json":
        out.encode()


@given(table=tables())
def test_a_line_of_tsv_is_a_row(table: Table) -> None:
    lines = printed(table, "tsv").splitlines()
    assert len(lines) == 1 + len(table.rows)
    assert all(line.count("\t") == len(table.columns) - 1 for line in lines)
    rows = list(csv.reader(lines, delimiter="\t"))
    assert [[*row] or [""] for row in rows[1:]] == shown(table)[1:]


class Page(HTMLParser):
    """A parser of rendered Markdown that collects the cells and all unexpected tags."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[object] = []
        self.rows: list[list[str]] = []
        self.rest = ""
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td") or attrs:
            self.foreign.append((tag, attrs))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data
        else:
            self.rest += data

    def handle_comment(self, data: str) -> None:
        self.foreign.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def renders_as_text(table: Table) -> None:
    text = printed(table, "markdown")
    page = Page()
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    page.feed(parser.render(text))
    page.close()
    assert page.foreign == []
    assert plain(page.rows) == plain(shown(table))
    said = [visible(table.title), *map(visible, table.notes)]
    assert page.rest.split() == " ".join(said).split()


@given(table=tables())
def test_markdown_renders_as_the_original_text(table: Table) -> None:
    renders_as_text(table)


@pytest.mark.parametrize(
    "notes",
    [
        ["# h"], ["> q"], ["- l"], ["+ l"], ["1. n"], ["12) n"], ["-- -"], ["~a~"], ["```"],
        ["~~~"], ["    code"], ["`a`"], ["_a_"], ["*a*"], ["~~a~~"], ["a", "==="], ["a", "---"],
        ["a", "--"], ["a | b", "|---|---|", "1 | 2"], ["a | b", "---|---"], ["[x]: u", "[x]"],
        ["[x", "]: u"], ['[x]: u "t"'], ["[x]:", "u"], ["[a](b", "]: u"], ["&lt;b&gt;"],
        ["<1@b.c>"], ["<b>"],
    ],
)  # fmt: skip
def test_notes_are_not_taken_for_markdown(notes: list[str]) -> None:
    renders_as_text(Table([Column("x")], [{"x": note} for note in notes], notes[0], notes))


@pytest.mark.parametrize("text", ["[" * 9, "]:" * 9, "&a" * 9, "- " * 9, "[a]: (" * 9, "<" * 9])
def test_markdown_takes_linear_time(text: str) -> None:
    long = text * 30_000
    assert len(markdown_line(long)) < 3 * len(long)


MACRO = re.compile(
    r"\\text(?:backslash|asciitilde|asciicircum|bar)\{\}|\\[&%$#_{}]|\$(?:\\[a-z]+|<|>|-)\$"
)


@given(table=tables())
def test_latex_has_no_commands_from_the_text(table: Table) -> None:
    lines = printed(table, "latex").splitlines()
    comments = [line for line in lines if line.startswith("% ")]
    fonts = sum("pdflatex lacks" in line for line in comments)
    assert len(comments) == bool(table.title) + len(table.notes) + fonts
    assert not any(re.search(r"\\(?!text[a-z]+\{\}|[{}])|\^", line) for line in comments)
    rest = [line for line in lines if line not in comments]
    assert rest[0].startswith("\\begin{tabular}")
    assert [rest[1], rest[3]] == ["\\toprule", "\\midrule"]
    assert rest[-2:] == ["\\bottomrule", "\\end{tabular}"]
    rows = [rest[2], *rest[4:-2]]
    assert len(rows) == 1 + len(table.rows)
    for row in rows:
        assert row.endswith(" \\\\")
        assert not row.lstrip().startswith(("[", "*"))
        cells = MACRO.sub("x", row.removesuffix("\\\\").removeprefix("{}")).split("&")
        assert len(cells) == len(table.columns)
        assert not any(set(cell) & set("\\{}$#%^_~&") for cell in cells)


def test_signatures_in_latex_can_be_copied() -> None:
    signature = "uot-errant|tagger=english,α=0.5|v1|refs=a_b:2"
    out = printed(Table([Column("x")], [], notes=[signature]), "latex")
    assert f"% {signature}\n" in out
    assert latex("a_b") == "a\\_b"


def test_json_is_valid_in_every_encoding() -> None:
    document = {"é😀": "\x7f\x9b\u202e\ud800"}
    assert to_json(document).count("\\u") == 4
    assert json.loads(to_json(document)) == document
    ascii_only = json_text(to_json(document), "ascii")
    assert ascii_only.isascii()
    assert json.loads(ascii_only) == document


@pytest.mark.security
def test_a_page_shows_characters_that_turn_the_direction_of_text() -> None:
    assert clean("He \u202eog\u202c \u2066x\u2069 home .") == "He �og� �x� home ."
    assert clean("שלום\u200f!") == "שלום\u200f!"  # a mark without effect on other letters
