"""The page of scores: leaders, intervals, error types, sentences; edits split into pieces."""

from __future__ import annotations

import re
from typing import Any

from gecjury.report.page.listed import SystemsPage, pieces_of, systems_html
from gecjury.report.result import Column, Table
from gecjury.report.verdict import PairedTests, Ranked, opening
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


def systems_page(**more: Any) -> str:
    lead = Ranked(
        {"new": 0.5, "old": 0.4}, tests=PairedTests(("new", "old"), [[1, 0.01], [0.01, 1]])
    )
    figures = [
        Figure(metric="errant", family="refbased", system=name, statistic="score", value=value)
        for name, value in lead.values.items()
    ]
    main = Table([Column("system"), Column("score")], [{"system": "new", "score": 0.5}])
    empty = dict.fromkeys(("tables", "facts", "notes", "signatures"), ())
    fields = {
        **empty,
        "kicker": "scores",
        "title": "Scores of <b>",
        "language": "en",
        "names": {},
        "verdict": opening({"errant": lead}),
        "leads": {"errant": lead},
        "figures": figures,
        "main": main,
        "types": {},
        "sentences": {},
    }
    return systems_html(SystemsPage(**{**fields, **more}))


def test_the_page_opens_with_the_leader() -> None:
    sentence = "new leads: 0.500, 0.100 ahead of old, significant (p = 0.010)."
    text = systems_page()
    assert f'<p class="lead">errant: {sentence}</p>' in text
    assert re.findall(r"<dd>(.*?)</dd>", text) == [sentence]


def test_details_follow_below() -> None:
    keys = ("type", "cost")
    kinds = Table([Column(key) for key in keys], [dict(zip(keys, ("DET", 0.25), strict=True))])
    about = "line 7 · score 0.0000 · cost 0.12500"
    texts = [("correction", "a [b→c ✗] ."), ("reference 2", "a [b→d ○] .")]
    text = systems_page(
        types={"errant: new": kinds, "errant: old": kinds},
        sentences={"errant: new": [(about, texts), (about, texts[:1])]},
        notes=["few sentences"],
        signatures=["errant|v1"],
    )
    assert "Scores of &lt;b&gt;" in text
    assert "<script" not in text
    assert 'role="img"' in text
    assert "errant: old</b></summary>" in text
    assert re.search(r'DET</td><td class="n">0.25000', text)
    assert about in text
    assert text.count("reference 2") == 1
    assert 'a <mark class="missed"><del>b</del> <ins>d</ins> ○</mark> .' in text
    assert "few sentences." in text
    assert '<code class="copy">errant|v1</code>' in text
