"""What may make a reader of a comparison believe too much, in words from its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gecjury.report.page.words import (
    VIEWS,
    Statement,
    confidence,
    is_compared,
    listed,
    percent,
    value_of,
)
from gecjury.report.tables import number

__all__ = ["warnings"]

MANY_TIES = 0.1

Document = Mapping[str, Any]


def warnings(document: Document) -> list[Statement]:
    """What may make a reader believe too much."""
    found: list[Statement] = []
    if document.get("sample"):
        found.append(
            Statement(
                "Sample data",
                "These figures come from a small sample made to show the program. They are never "
                "evidence about a metric.",
            )
        )
    found += _few_systems(document)
    found += _rows_that(document)
    intervals = any(
        (row.get(level) or {}).get("ci95")
        for row in document["rows"]
        for level in ("system", "sentence")
    )
    compared = [row for row in document["rows"] if is_compared(row)]
    if compared and not intervals:
        text = "No intervals were computed: small differences may be due to the choice of data."
        found.append(Statement("No intervals", text))
    if not document.get("significance") and len({r["metric"] for r in compared}) > 1:
        text = "Differences between metrics were not tested."
        found.append(Statement("No significance tests", text))
    told = (
        () if document.get("sample") else document.get("notes") or ()
    )  # the sample's is said above
    notes = (*told, *(document.get("caveats") or ()), *(document.get("warnings") or ()))
    found += [Statement("Notes", f"{str(text).rstrip('.')}.") for text in notes]
    return found


def _few_systems(document: Document) -> list[Statement]:
    count = len(document["systems"])
    if not any(row.get("system") for row in document["rows"]):
        return []
    if count < 3:
        text = f"{count} systems have no correlation; three are the least."
        return [Statement("Too few systems", text)]
    if count >= 20:
        return []
    text = f"Correlations rest on {count} systems."
    known = {value_of(row, "system", "pearson"): row for row in document["rows"]}
    known = {r: row for r, row in known.items() if not math.isnan(r) and abs(r) < 1}
    if known and count > 3:
        top = max(known)
        bounds = (known[top]["system"].get("ci95") or {}).get("pearson") or ()
        how = f"{confidence(document)} interval"
        if not bounds or None in bounds:
            half = 1.96 / math.sqrt(count - 3)
            bounds = [math.tanh(math.atanh(top) + sign * half) for sign in (-1, 1)]
            how = "Fisher's 95% interval"
        low, high = (number(float(bound), 2) for bound in bounds)
        text += (
            f" Over so few, r = {number(top)} leaves everything from {low} to {high} open ({how})."
        )
    return [Statement("Few systems", text)]


def _rows_that(document: Document) -> list[Statement]:
    """Warnings that name metrics: ties, missing scores, no correlation, no better than chance."""
    ties: dict[str, float] = {}
    missing: dict[str, int] = {}
    undefined: list[str] = []
    weak: list[str] = []
    chance = ((document.get("chance") or {}).get("constant") or {}).get("human") or {}
    for row in document["rows"]:
        name = row["metric"]
        share = value_of(row, "sentence", "tied_share")
        if share >= MANY_TIES:
            ties[name] = max(share, ties.get(name, 0.0))
        if row.get("missing"):
            missing[name] = row["missing"]
        if row.get("system") and row["system"].get("pearson") is None and name not in undefined:
            undefined.append(name)
        floor = value_of(chance.get(row["human"]) or {}, "sentence", "accuracy")
        bounds = ((row.get("sentence") or {}).get("ci95") or {}).get("accuracy") or (None, None)
        low = value_of(row, "sentence", "accuracy") if bounds[0] is None else bounds[0]
        if low <= floor:
            weak.append(f"{name} ({VIEWS[row['human']]})")
    found = []
    if ties:
        each = listed([f"{n} {percent(s)}" for n, s in sorted(ties.items(), key=lambda t: -t[1])])
        text = f"Pairs that a metric cannot tell apart: {each}. {_tie_rule(document)}"
        found.append(Statement("Ties", text))
    if missing:
        each = listed([f"{name} {number(count)}" for name, count in missing.items()])
        text = f"Sentence scores that are missing and left out: {each}."
        found.append(Statement("Missing scores", text))
    if undefined and len(document["systems"]) >= 3:
        text = f"No correlation is defined for {listed(undefined)}: the system scores are constant"
        found.append(Statement("Undefined", text + " or missing."))
    if weak:
        text = f"Not above chance at the sentence level: {listed(weak)}."
        found.append(Statement("Chance", text))
    return found


def _tie_rule(document: Document) -> str:
    rule = document["ties"]
    meaning = {
        "half": "each counts as half right",
        "official": "each goes to the system that comes later in the fixed order",
        "loss": "each counts as wrong",
        "drop": "they are left out, so metrics are compared on different pairs",
        "calibrated": "a tie is an answer like the others",
    }.get(rule, "")
    return f"Under the rule “{rule}” {meaning}." if meaning else f"Rule: {rule}."
