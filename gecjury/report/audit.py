"""Audits of judges in tables and words: what they recorded about themselves, and their biases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gecjury.core.wording import listed, number, percent
from gecjury.metaeval.audit import Audit
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.study import AgreementRow
from gecjury.report.result import Table
from gecjury.report.tables import audit_table

# Share of preferences that change with the order; from this on a single order is advised against.
_MANY_FLIPS = 0.05
# Words for a metric that prefers a side more than people do, and less.
_SIDES: Mapping[str, tuple[str, str]] = {
    "more edits": ("more edits than people do", "fewer edits than people do"),
    "longer text": ("longer text than people do", "shorter text than people do"),
    "own family": (
        "its own model family{} more than people do",
        "its own model family{} less than people do",
    ),
}


def audit_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the tables of the judges' audits, and of the biases of other metrics."""
    sentences = dict(audit_sentences(comparison))
    audits = {audit.label: audit for audit in comparison.audits}
    biases = comparison.at("bias")
    for label in dict.fromkeys([*audits, *(row.metric for row in biases)]):
        audit = audits.get(label)
        facts = [*_against_people(audit)] if audit else []
        facts += [
            (f"bias for {row.side} ({row.human})", _bias_cell(row))
            for row in biases
            if row.metric == label
        ]
        rows = [dict(row) for row in audit.stored.rows] if audit else []
        rows += [{"model": "", "what": what, "value": value} for what, value in facts]
        table = audit_table(label, rows)
        yield replace(table, notes=[sentences[label]] if label in sentences else [])


def _against_people(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the rows on a judge's agreement with people."""
    for view, one in audit.humans.items():
        agreement = f"{one.accuracy:.3f}, two annotators {one.ceiling:.3f}"
        yield f"agreement with humans ({view})", agreement
        yield f"agreement, invalid replies wrong ({view})", f"{one.with_invalid:.3f}"


def _bias_cell(row: AgreementRow) -> str:
    if not row.pairs:
        return "not measurable (no such pair)"
    of = f" ({listed(row.systems)})" if row.systems else ""
    return (
        f"{number(row.difference)}{_bounds(row.intervals)}: prefers it{of} in "
        f"{percent(row.preferred)} of {number(row.pairs)} pairs, people in "
        f"{percent(row.people)}"
    )


def _bounds(intervals: Mapping[str, tuple[float, float]]) -> str:
    ends = intervals.get("difference")
    return "" if ends is None else f" [{number(ends[0])}, {number(ends[1])}]"


def audit_sentences(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield the label of each audited metric and the verdict on it, one sentence per view.

    A preference is called a bias if its interval excludes 0.
    """
    audits = {audit.label: audit for audit in comparison.audits}
    rows = comparison.at("bias")
    for label in dict.fromkeys([*(row.metric for row in rows), *audits]):
        texts: list[str] = []
        for view in comparison.views:
            place = (label, view)
            biases = [row for row in rows if (row.metric, row.human) == place]
            clauses = [*_bias_clauses(biases)]
            advice: list[str] = []
            # A judge's audit of itself is the same for all views and is reported once.
            if not texts and label in audits:
                of_itself, advice = _self_clauses(audits[label])
                clauses += of_itself
            if clauses:
                of_view = f" ({view})" if len(comparison.views) > 1 else ""
                then = f": {listed(advice)}" if advice else ""
                texts.append(f"{label}{of_view} {listed(clauses)}{then}.")
        if texts:
            yield label, " ".join(texts)


def _bias_clauses(rows: Sequence[AgreementRow]) -> Iterator[str]:
    """Yield clauses on a metric's biases, then on sides without a bias and on untested ones."""
    without, untested = [], []
    for row in rows:
        difference = row.difference
        ends = row.intervals.get("difference", (math.nan, math.nan))
        of = f" ({listed(row.systems)})" if row.systems else ""
        gap = number(difference)
        if not row.pairs:
            untested.append(_noun(row.side))
        elif math.isnan(ends[0]):
            yield f"has a bias of {gap} for {_noun(row.side)}{of} (no interval)"
        elif ends[0] <= 0 <= ends[1]:
            without.append(f"{_noun(row.side)}{of} ({gap}, {_range(ends)})")
        else:
            words = _SIDES[row.side][difference < 0].format(of)
            yield f"prefers {words} by {number(abs(difference))} ({_range(_outward(ends))})"
    if without:
        yield f"shows no bias for {listed(without, 'or')}"
    if untested:
        yield f"could not be tested for {listed(untested, 'or')} (no such pair was judged)"


def _noun(side: str) -> str:
    return "its own model family" if side == "own family" else side


def _outward(ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval that excludes 0 as one of absolute values: a negative one is mirrored."""
    return ends if ends[0] > 0 else (-ends[1], -ends[0])


def _range(ends: tuple[float, float]) -> str:
    return f"{number(ends[0])} to {number(ends[1])}"


def _self_clauses(audit: Audit) -> tuple[list[str], list[str]]:
    """Return clauses on a judge's audit of itself, and the advice that follows from it."""
    clauses, advice = [], []
    several = len(audit.stored.members) > 1
    for member in audit.stored.members:
        of = f" of {member.get('model')}" if several else ""
        flips = _figure(member, "flips", "flipped")
        if flips is not None:
            chance = _figure(member, "flips", "chance")
            by_chance = "" if chance is None else f" (by chance {percent(chance)})"
            clauses.append(
                f"flips {percent(flips)} of the preferences{of} when reordered{by_chance}"
            )
            advice += ["never use a single order"] * (flips >= _MANY_FLIPS)
        elif len(member.get("positions", ())) > 1:
            advice.append("measure flips with orders=2")
        equal = _figure(member, "repeat_agreement", "equal")
        if equal is not None and equal < 1:
            clauses.append(f"gives a different score{of} in {percent(1 - equal)} when asked again")
        questions, valid = _figure(member, "requests", "distinct"), member.get("valid")
        if questions and isinstance(valid, int) and valid < questions:
            clauses.append(f"leaves {percent(1 - valid / questions)} of the questions{of} invalid")
    ordinal = (audit.stored.panel or {}).get("ordinal")
    if ordinal is not None:
        clauses.append(f"is a panel whose models agree with an α of {number(ordinal)}")
    return clauses, list(dict.fromkeys(advice))


def _figure(member: Mapping[str, object], key: str, name: str) -> float | None:
    """Return a figure of an audit; None if it was not measured."""
    part = member.get(key)
    figure = part.get(name) if isinstance(part, Mapping) else None
    return float(figure) if isinstance(figure, int | float) else None
