"""Templates: escaping, missing values, characters invalid in a page, white space, policy."""

from __future__ import annotations

import html
import importlib.resources
import re
from typing import Any

import pytest

from gecjury.report.escaping import clean
from gecjury.report.page.environment import environment
from gecjury.report.page.listed import Piece
from gecjury.report.page.markup import lang_attribute, render_page

EVIL = "\"><script>alert('x')</script>"


def written(template: str, **values: object) -> str:
    return environment().from_string(template).render(values)


def test_characters_invalid_in_a_page_are_replaced() -> None:
    assert clean("a\x00b\ud800\tc\n\x85") == "a\ufffdb\ufffd\tc\n\ufffd"
    assert written("{{ x }}", x="a\x00b\ud800") == "a\ufffdb\ufffd"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("<tr>\n  <td>\n    {{ x }}\n  </td>\n</tr>\n", "<tr><td>1</td></tr>"),
        ("<p>one\n   two</p>", "<p>one two</p>"),
        ('<p id="a"\n   class="b">', '<p id="a" class="b">'),
        ("<b>a</b> <i>b</i>", "<b>a</b> <i>b</i>"),
        ("{% if x %}\n  {{ x }}\n{% endif %}\n{{ x }}", "11"),
        ("<p>of {{ x }} and\n  {{ x }}</p>", "<p>of 1 and1</p>"),
    ],
)
def test_line_breaks_of_templates_are_removed(template: str, expected: str) -> None:
    assert written(template, x=1) == expected
    # Inserted values keep their line breaks.
    assert written("<p>\n{{ x }}\n</p>", x="a\n b") == "<p>a\n b</p>"


def test_no_template_switches_escaping_off() -> None:
    folder = importlib.resources.files("gecjury.report.page") / "templates"
    names = [file.name for file in folder.iterdir()]
    assert "base.html.jinja" in names
    for name in names:
        text = (folder / name).read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|\bon[a-z]+=|\bstyle=", text), name


def test_a_page_allows_only_its_own_style_and_script() -> None:
    table = (
        EVIL,
        [(EVIL, "n")],
        [[([Piece(EVIL, kind, EVIL, EVIL, EVIL) for kind in ("", "edit", "right")], EVIL)]],
        [EVIL],
    )
    common: dict[str, Any] = {"facts": [(EVIL, EVIL)], "lang_attribute": lang_attribute("uk")}
    common["tables"] = [table]
    plain = render_page("listed", title=EVIL, **common)
    assert "script-src 'none'" in html.unescape(plain)
    assert "<script" not in plain
    ruled = render_page("listed", title=EVIL, rules=".s1{color:red}", **common)
    first, second = (
        re.findall(r"style-src 'sha256-([^']*)'", html.unescape(page)) for page in (plain, ruled)
    )
    assert len(first) == len(second) == 1
    assert first != second
    assert ".s1{color:red}</style>" in ruled


def test_texts_state_their_language() -> None:
    assert lang_attribute("en") == ""
    assert lang_attribute("ja") == ' lang="ja"'
    assert lang_attribute("und") == ' lang=""'
    assert lang_attribute('"><b>') == ' lang="&#34;&gt;&lt;b&gt;"'
