"""Templates: escaping, missing values, characters invalid in a page, white space, policy."""

from __future__ import annotations

import html
import importlib.resources
import re
from typing import Any

import pytest

from gecjury.report.escaping import clean
from gecjury.report.page.environment import environment
from gecjury.report.page.listed import Details, result_html
from gecjury.report.page.markup import lang_attribute
from gecjury.report.result import Column, Result, Table
from gecjury.stats.figure import Figure

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


def test_a_page_allows_only_its_own_style_and_no_script() -> None:
    sentences = {EVIL: [(EVIL, [(EVIL, f"{EVIL} [{EVIL}→{EVIL} ✓] [{EVIL}→{EVIL}]")])]}
    table = Table([Column(EVIL)], [{EVIL: EVIL}], EVIL, [EVIL])
    result = Result((table,), title=EVIL, notes=(EVIL,), verdict=(EVIL,), language="uk")
    more: Any = {"types": {EVIL: table}, "sentences": sentences, "about_sentences": EVIL}
    figure = Figure(metric=EVIL, system=EVIL, statistic=EVIL, value=0.5)
    page = result_html(result, Details(kicker=EVIL, facts=[EVIL], figures=[figure], **more))
    assert "script-src 'none'" in html.unescape(page)
    assert "<script" not in page
    assert len(re.findall(r"style-src 'sha256-([^']*)'", html.unescape(page))) == 1


def test_texts_state_their_language() -> None:
    assert lang_attribute("en") == ""
    assert lang_attribute("ja") == ' lang="ja"'
    assert lang_attribute("und") == ' lang=""'
    assert lang_attribute('"><b>') == ' lang="&#34;&gt;&lt;b&gt;"'
