"""The page of scores: leaders, intervals, error types, sentences; edits split into pieces."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from gecjury.report.page.listed import Scored, pieces_of, scores_html


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


def rows(*scores: tuple[str, float], **more: Any) -> list[dict[str, Any]]:
    common = {"metric": "errant", "family": "refbased", "directed": True, **more}
    return [{**common, "system": name, "score": score} for name, score in scores]


def page(*records: dict[str, Any], **more: Any) -> str:
    empty = dict.fromkeys(("types", "worst", "tables", "facts", "notes", "signatures"), ())
    return scores_html(Scored(records, **{**empty, **more}), "Scores of <b>", "en")


def said(*records: dict[str, Any]) -> str:
    (text,) = re.findall(r"<dd>(.*?)</dd>", page(*records))
    return str(text)


@pytest.mark.parametrize(
    ("p_value", "how"),
    [(0.01, "significant (p = 0.010)"), (0.2, "not significant (p = 0.200)"), (None, "not tested")],
)
def test_the_summary_names_the_leader(p_value: float | None, how: str) -> None:
    records = rows(("new", 0.5), ("old", 0.4), p_next=p_value)
    assert said(*records) == f"new leads: 0.500, 0.100 ahead of old, {how}."


def test_metrics_without_a_leader_are_described() -> None:
    assert (
        said(*rows(("new", 0.5), ci95=[0.4, 0.6]))
        == "new scores 0.500 (95%: 0.400 to 0.600) by errant."
    )
    assert said(*rows(("new", 0.5), ("old", 0.5))) == "new and old share the lead by errant: 0.500."
    assert said(*rows(("new", math.nan))) == "errant: no system has a score."
    assert said(*rows(("a", 2.0), ("b", 1.0), directed=False)) == (
        "errant describes outputs: highest in a, 2.000."
    )


def test_details_follow_below() -> None:
    kind = {"metric": "errant", "system": "new", "type": "DET", "cost": 0.25}
    kind |= {"precision": 0.5, "recall": 1.0, "f0.5": 0.6, "tp": 3, "fp": 2, "fn": 0}
    sentence = {"metric": "errant", "system": "new", "line": 7, "score": 0.0, "cost": 0.125}
    sentence |= {"correction": "a [b→c ✗] .", "reference": "a [b→d ○] .", "which": 2}
    text = page(
        *rows(("new", 0.5), ("old", 0.4), p_next=0.01, ci95=[0.3, 0.6]),
        types=[kind, {**kind, "system": "old"}],
        worst=[sentence, {**sentence, "reference": "", "line": 8}],
        notes=["few sentences"],
        signatures=["errant|v1"],
    )
    assert "Scores of &lt;b&gt;" in text
    assert "<script" not in text
    assert 'role="img"' in text
    assert "<summary>errant: old</summary>" in text
    assert re.search(r'<th scope="row" dir="auto">DET</th><td class="n" data-v="0.25">0.2500', text)
    assert "line 7 · score 0.0000 · cost 0.12500" in text
    assert text.count("reference 2") == 1
    assert 'a <mark class="missed"><del>b</del> <ins>d</ins> ○</mark> .' in text
    assert "few sentences." in text
    assert '<code class="copy">errant|v1</code>' in text
