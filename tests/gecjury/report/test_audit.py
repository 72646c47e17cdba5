"""Audits as tables, JSON, a section of the page, and a sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.wording import number
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.report.audit import audit_sentences, audit_tables
from gecjury.report.comparison import document
from gecjury.report.page.page import comparison_page
from gecjury.report.words import ComparisonWords
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.test_audit import SCORES, TOY, planted

MEMBER = {
    "model": "gpt-4o",
    "requests": {"distinct": 10, "asked": 10},
    "valid": 9,
    "missing": [],
    "flips": {"compared": 50, "flipped": 0.08, "changed": 0.1, "chance": 0.4},
    "repeat_agreement": {"compared": 50, "equal": 0.98},
    "positions": [{"position": 1}, {"position": 2}],
}
SINGLE = {**MEMBER, "valid": 10, "flips": None, "repeat_agreement": None}
DRAWN = Settings(level="sentence", resampling=Resampling(over="sentences", resamples=200))


def compared(data: Benchmark, scores: FloatArray, settings: Settings, **entry: Any) -> Comparison:
    table = sentence_table("m", data.corpus.names, scores)
    if entry:
        details = {"audit": {"rows": [], **entry}}
        table = replace(table, statistics=replace(table.statistics, details=details))
    return compare(data, [table], settings)


def longest(data: Benchmark) -> FloatArray:
    lines = [version.lines for version in data.corpus.systems.values()]
    return np.array([[float(len(line)) for line in of_one] for of_one in lines])


def test_the_sentence_of_a_judge() -> None:
    data, _ = planted(1)
    comparison = compared(data, longest(data), DRAWN, members=[MEMBER])
    edits, longer, _ = comparison.at("bias")
    # The longer correction always has one edit more, so both figures are from the same pairs.
    assert edits.intervals == longer.intervals
    low, high = (number(end) for end in longer.intervals["difference"])
    size = f"{number(1 - longer.values['people'])} ({low} to {high})"
    assert dict(audit_sentences(comparison)) == {
        "m": f"m prefers more edits than people do by {size}, prefers longer text than people do "
        f"by {size}, could not be tested for its own model family (no such pair was judged), "
        "flips 8.0% of the preferences when reordered (by chance 40.0%), gives a different score "
        "in 2.0% when asked again and leaves 10.0% of the questions invalid: never use a single "
        "order."
    }
    (table,) = audit_tables(comparison)
    cells = {row["what"]: row["value"] for row in table.rows}
    assert cells["bias for longer text (edit)"] == (
        f"{number(1 - longer.values['people'])} [{low}, {high}]: prefers it in 100.0% of 120 "
        f"pairs, people in {100 * longer.values['people']:.1f}%"
    )
    assert cells["bias for own family (edit)"] == "not measurable (no such pair)"
    assert table.notes == list(dict(audit_sentences(comparison)).values())


def test_without_intervals_no_bias_is_called_shown() -> None:
    settings = Settings(resampling=Resampling(over="none"))
    (sentence,) = dict(audit_sentences(compared(TOY, SCORES, settings, members=[SINGLE]))).values()
    assert sentence.startswith(
        "m has a bias of 0.600 for more edits (no interval), has a bias of 0.900 for longer text "
        "(no interval)"
    )
    # Metrics other than judges are not audited.
    silent = compared(TOY, SCORES, settings)
    assert (list(audit_tables(silent)), list(audit_sentences(silent))) == ([], [])
    assert not {"biases", "audit_verdict"} & set(document(ComparisonWords(silent)))


def test_json_and_page_of_an_audit() -> None:
    settings = Settings(resampling=Resampling(over="none"))
    panel = {"ordinal": 0.25, "interval": 0.5, "corrections": 6}
    comparison = compared(TOY, SCORES, settings, members=[MEMBER, SINGLE], panel=panel)
    record = document(ComparisonWords(comparison))
    (audit,) = record["audits"].values()
    assert audit["panel"] == panel
    assert set(audit["humans"]["edit"]) == {"accuracy", "ceiling", "with_invalid"}
    assert [row["side"] for row in record["biases"]] == ["more edits", "longer text", "own family"]
    assert set(record["biases"][0]) == {
        "metric", "family", "human", "side", "difference", "preferred", "people", "pairs",
        "missing", "systems", "ci95",
    }  # fmt: skip
    (sentence,) = record["audit_verdict"].values()
    assert "flips 8.0% of the preferences of gpt-4o when reordered" in sentence
    assert "is a panel whose models agree with an α of 0.250" in sentence
    page = comparison_page(ComparisonWords(comparison), {})
    assert "Biases: preferences that people do not share" in page
    assert "own family" in page
    assert 'id="audit"' not in comparison_page(ComparisonWords(compared(TOY, SCORES, settings)), {})
