"""The page of a result: the opening, plots, error types, sentences; edits split into pieces."""

from __future__ import annotations

import re
from typing import Any

from gecjury.report.page.listed import Details, pieces_of, result_html
from gecjury.report.result import Column, Result, Table
from gecjury.stats.figure import Figure


def test_edits_of_a_sentence_are_split_by_kind() -> None:
    pieces = pieces_of("a [b→c ✓] [→d ✗][e→○] [f→ ○] [g→h] ] [i")
    edits = [(one.kind, one.old, one.new, one.sign) for one in pieces if one.kind]
    assert edits == [
        ("right", "b", "c", "✓"),
        ("wrong", "", "d", "✗"),
        ("missed", "e", "", "○"),
        ("missed", "f", "", "○"),
        ("edit", "g", "h", ""),
    ]
    assert "".join(one.text for one in pieces) == "a [b→c ✓] [→d ✗][e→○] [f→ ○] [g→h] ] [i"


def written(verdict: str = "errant: new leads.", **more: Any) -> str:
    """Return the page of a result with one row and a plot of two systems."""
    figures = [
        Figure(metric="errant", family="refbased", system=name, statistic="score", value=value)
        for name, value in (("new", 0.5), ("old", 0.25))
    ]
    row = {"system": "new", "metric": "errant", "score": 0.5, "signature": "errant|v1"}
    main = Table([Column("system"), Column("score")], [row], name="rows")
    result = Result((main,), title="Scores of <b>", notes=("few sentences",), verdict=(verdict,))
    return result_html(result, Details(kicker="scores", figures=figures, **more))


def test_the_page_opens_with_the_leader() -> None:
    statements = {"errant": "new leads.", "gleu": "old leads."}
    text = written(statements=statements)
    assert '<p class="lead">errant: new leads.</p>' in text
    # The card has only what the opening does not say.
    assert re.findall(r"<dd>(.*?)</dd>", text) == ["old leads.", "few sentences."]
    assert "Other metrics" not in written(statements={"errant": "new leads."})


def test_details_follow_below() -> None:
    keys = ("type", "cost")
    kinds = Table([Column(key) for key in keys], [dict(zip(keys, ("DET", 0.25), strict=True))])
    about = "line 7 · score 0.0000 · cost 0.12500"
    texts = [("correction", "a [b→c ✗] ."), ("reference 2", "a [b→d ○] .")]
    text = written(
        types={"errant: new": kinds, "errant: old": kinds},
        sentences={"errant: new": [(about, texts), (about, texts[:1])]},
    )
    assert "Scores of &lt;b&gt;" in text
    assert "<script" not in text
    assert "<title>score: new 0.5000, old 0.2500</title>" in text
    assert "errant: old</b></summary>" in text
    assert re.search(r'DET</td><td class="n">0.25000', text)
    assert about in text
    assert text.count("reference 2") == 1
    assert 'a <mark class="missed"><del>b</del> <ins>d</ins> ○</mark> .' in text
    assert '<code class="copy">errant|v1</code>' in text


def test_parts_without_content_have_no_section() -> None:
    plain = Table([Column("edit")], [{"edit": "[a→b] [→] " + 40 * "x"}], "Edits")
    text = result_html(Result((plain,), title="t"), Details(kicker="k"))
    assert re.findall(r"<h2>(.*?)</h2>", text) == ["Further tables"]
    # Edits without a sign have colours; what only looks like an edit stays; long texts get room.
    assert f'<td class="text" dir="auto"><del>a</del> <ins>b</ins> [→] {40 * "x"}</td>' in text
