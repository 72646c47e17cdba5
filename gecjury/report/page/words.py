"""A comparison in words: every sentence follows from the numbers of its result document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.metaeval.disagreement import Consensus
from gecjury.wording import listed, number, percent

__all__ = [
    "FAMILY_NAMES",
    "SHOWN_MEASURES",
    "VIEWS",
    "Statement",
    "best_rows",
    "confidence_level",
    "edit_statement",
    "headline",
    "is_compared",
    "listed",
    "p_value",
    "percent",
    "proper",
    "summarise",
    "tested_measure",
    "value_of",
]

FAMILY_NAMES: Mapping[str, str] = {
    "refbased": "reference-based",
    "refless": "reference-free",
    "judges": "LLM judge",
    "jury": "jury",
    "scores": "given scores",
    "chance": "chance",
    "humans": "people",
}
VIEWS: Mapping[str, str] = {"edit": "edit-based judgments", "sentence": "sentence-based judgments"}
SHOWN_MEASURES: Mapping[str, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ",
    "pairwise_accuracy": "pairwise accuracy",
    "spa": "soft pairwise accuracy",
    "accuracy": "sentence accuracy",
}
SIGNIFICANT = 0.05
# Shown values that are equal to a reader are not told apart in words either.
SAME = 0.0005

Document = Mapping[str, Any]
_Row = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """One paragraph: what it is about, and what is said."""

    topic: str
    text: str


def value_of(row: _Row, level: str, key: str) -> float:
    """A row's measure; NaN where it is not there or not defined."""
    found = (row.get(level) or {}).get(key)
    return float("nan") if found is None else float(found)


def best_rows(document: Document, view: str, level: str, key: str) -> list[_Row]:
    """The metrics against one view, best first; those without a value are left out."""
    rows = [row for row in document["rows"] if row["human"] == view]
    known = [row for row in rows if not math.isnan(value_of(row, level, key))]
    return sorted(known, key=lambda row: -value_of(row, level, key))


def is_compared(row: _Row) -> bool:
    """Whether a row has anything above the level of edits."""
    return bool(row.get("system") or row.get("sentence"))


def _test(document: Document, view: str, level: str) -> Mapping[str, Any] | None:
    for test in document.get("significance") or ():
        if test["human"] == view and test["level"] == level:
            return dict(test)
    return None


def tested_measure(document: Document, view: str, level: str) -> str:
    """What leads are told by: the measure that was tested, otherwise Pearson or accuracy."""
    test = _test(document, view, level)
    statistic = str(test["statistic"]) if test else ""
    if statistic in SHOWN_MEASURES and best_rows(document, view, level, statistic):
        return statistic
    return "pearson" if level == "system" else "accuracy"


def p_value(document: Document, view: str, level: str, one: str, other: str) -> float | None:
    """The (corrected) p-value of a difference between two metrics; None if it was not tested."""
    test = _test(document, view, level)
    if test is None or one not in test["metrics"] or other not in test["metrics"]:
        return None
    table = test.get("adjusted") or test["p"]
    i, j = test["metrics"].index(one), test["metrics"].index(other)
    # One-sided tests leave the other half empty or near 1.
    found = [p for p in (table[i][j], table[j][i]) if p is not None]
    return min(found) if found else None


def _interval(document: Document, row: _Row, level: str, key: str) -> str:
    bounds = ((row.get(level) or {}).get("ci95") or {}).get(key)
    if not bounds or None in bounds:
        return ""
    low, high = (number(float(bound)) for bound in bounds)
    return f" ({confidence_level(document)} interval {low} to {high})"


def confidence_level(document: Document) -> str:
    """The confidence of the document's intervals, such as `95%`."""
    return f"{100 * float((document.get('uncertainty') or {}).get('confidence', 0.95)):g}%"


def proper(name: object) -> str:
    """How a test or a correction is written in running text."""
    known = {
        "perm-both": "PERM-BOTH",
        "perm-systems": "PERM-SYS",
        "paired-permutation": "paired permutation test",
        "holm": "Holm",
        "bonferroni": "Bonferroni",
    }
    return known.get(str(name), str(name))


def summarise(
    document: Document,
    human: Mapping[str, Mapping[str, float]],
    consensus: Mapping[str, Consensus | None],
) -> list[Statement]:
    """What a reader should know first.

    Args:
        document: the result of `compare`, as JSON has it.
        human: by view the human score of each system.
        consensus: by view how far the camps agree on judged pairs.
    """
    statements: list[Statement] = []
    for view in human:
        place = f", {VIEWS[view]}" if len(human) > 1 else ""
        for level in ("system", "sentence"):
            text = _leader(document, view, level)
            if text:
                statements.append(Statement(f"{level.capitalize()} level{place}", text))
        text = _two_annotators(document, view)
        if text:
            statements.append(Statement(f"People{place}", text))
        text = _first_system(document, view, human[view])
        if text:
            statements.append(Statement(f"Best system{place}", text))
        text = _agreement(document, consensus.get(view))
        if text:
            statements.append(Statement(f"Where they agree{place}", text))
    return statements


def _leader(document: Document, view: str, level: str) -> str:
    key = tested_measure(document, view, level)
    rows = best_rows(document, view, level, key)
    asked = [row for row in document["rows"] if row["human"] == view and row.get(level)]
    if not rows:
        if not asked:
            return ""
        return "No metric can be ranked: too few systems, or constant scores."
    first = rows[0]
    top = value_of(first, level, key)
    interval = _interval(document, first, level, key)
    head = f"{first['metric']} has {SHOWN_MEASURES[key]} {number(top)}{interval}"
    if len(rows) == 1:
        return f"{head}; no other metric was compared."
    equal = [row["metric"] for row in rows if top - value_of(row, level, key) < SAME]
    if len(equal) > 1:
        text = f"{listed(equal)} share the lead: {SHOWN_MEASURES[key]} {number(top)}."
    else:
        second = rows[1]
        gap = top - value_of(second, level, key)
        text = (
            f"{first['metric']} leads: {head.removeprefix(first['metric'] + ' has ')}, "
            f"{number(gap)} more than {second['metric']} "
            f"({number(value_of(second, level, key))}). "
            + _significance(document, view, level, rows)
        )
    return f"{text} {_other_leaders(document, view, level, key, equal)}".strip()


def _significance(document: Document, view: str, level: str, rows: Sequence[_Row]) -> str:
    first, second = rows[0]["metric"], rows[1]["metric"]
    p = p_value(document, view, level, first, second)
    test = _test(document, view, level)
    if p is None or test is None:
        return "Whether that is more than chance was not tested."
    how = f"p = {number(p)}" if p >= 0.0005 else "p < 0.001"
    how += f", {proper(test['test'])}"
    how += f", {proper(test['correction'])}-corrected" if test.get("correction") else ""
    if p < SIGNIFICANT:
        return f"The difference is significant ({how})."
    level_with = [
        str(row["metric"])
        for row in rows[1:]
        if (q := p_value(document, view, level, first, row["metric"])) is None or q >= SIGNIFICANT
    ]
    if len(level_with) == len(rows) - 1 and len(rows) > 2:
        return f"The difference is not significant ({how}), nor is that to any other metric."
    more = ""
    if len(level_with) > 1:
        more = f"; the lead over {listed(level_with[1:])} is not significant either"
    return f"The difference is not significant ({how}){more}."


def _other_leaders(
    document: Document, view: str, level: str, key: str, leaders: Sequence[str]
) -> str:
    """Who leads by the other measures of a level, where that is someone else."""
    if level != "system":
        return ""
    others: dict[str, list[str]] = {}
    for measure in ("pearson", "spearman", "kendall", "pairwise_accuracy", "spa"):
        rows = best_rows(document, view, level, measure)
        if measure == key or not rows:
            continue
        top = value_of(rows[0], level, measure)
        names = [r["metric"] for r in rows if top - value_of(r, level, measure) < SAME]
        if not set(names) & set(leaders):
            others.setdefault(listed(names), []).append(f"{SHOWN_MEASURES[measure]} {number(top)}")
    if not others:
        return ""
    parts = [f"{name} leads by {listed(measures)}" for name, measures in others.items()]
    return f"But {'; '.join(parts)}."


def _two_annotators(document: Document, view: str) -> str:
    """How far people agree, what a metric could reach, and what metrics reach on the same pairs."""
    people = (document.get("ceiling") or {}).get(view)
    compared = best_rows(document, view, "sentence", "accuracy")
    if not compared or not people or people.get("accuracy") is None:
        return ""
    agreed = people["accuracy"]
    text = (
        f"Two annotators agree on {percent(agreed)} of the {number(people['decided'])} pairs "
        f"that both {'judged' if document.get('ties') == 'calibrated' else 'decided'}."
    )
    perfect = people.get("perfect")
    if perfect is not None and not math.isnan(perfect):
        text += (
            f" A metric that is always right would agree with them on {percent(agreed)} to "
            f"{percent(perfect)} of these: more where they err independently of each other."
        )
    there = {
        row["metric"]: row["sentence"]["doubly_judged"]["accuracy"]
        for row in document["rows"]
        if row["human"] == view and (row.get("sentence") or {}).get("doubly_judged")
    }
    if there:
        best = max(there.values())
        names = [name for name, value in there.items() if best - value < SAME]
        verb = "has" if len(names) == 1 else "have"
        text += f" On the same pairs {listed(names)} {verb} {percent(best)}."
    return text


def _first_system(document: Document, view: str, human: Mapping[str, float]) -> str:
    known = {name: score for name, score in human.items() if not math.isnan(score)}
    rows = [row for row in document["rows"] if row["human"] == view and row.get("scores")]
    if not known or not rows:
        return ""
    top = max(known.values())
    favoured = [name for name, score in known.items() if score == top]
    if len(favoured) > 1:
        return f"People put {listed(favoured)} first alike."
    agree: list[str] = []
    other: dict[str, list[str]] = {}
    for row in rows:
        scores = {name: s for name, s in row["scores"].items() if s is not None}
        if scores and max(scores.values()) > min(scores.values()):
            choice = max(scores, key=lambda name: scores[name])
            if choice == favoured[0]:
                agree.append(row["metric"])
            else:
                other.setdefault(choice, []).append(row["metric"])
    text = f"People put {favoured[0]} first."
    if agree:
        text += f" So {'does' if len(agree) == 1 else 'do'} {listed(agree)}."
    elif other:
        text += " No metric does."
    parts = [
        f"{listed(names)} put{'s' if len(names) == 1 else ''} {choice} first"
        for choice, names in other.items()
    ]
    return f"{text} {'; '.join(parts)}." if parts else text


def _agreement(document: Document, found: Consensus | None) -> str:
    if found is None or not found.pairs:
        return ""
    families = {row["family"] for row in document["rows"]}
    who = "families" if len(families) > 1 else "metrics"
    share = found.united / found.pairs
    names = {name: FAMILY_NAMES.get(name, name) for name in found.split_right}
    text = (
        f"On {percent(share)} of the {number(found.pairs)} judged pairs on which all {who} have a "
        f"preference, all prefer the same correction"
    )
    if found.united:
        text += f", and people agree with them on {percent(found.right)} of these"
    known = {n: r for n, r in found.split_right.items() if not math.isnan(r)}
    if known:
        best = max(known, key=lambda name: known[name])
        text += (
            f". Where the {who} are divided, {names[best]} is right most often "
            f"({percent(known[best])})"
        )
    return text + "."


def headline(document: Document, views: Sequence[str]) -> str:
    """Who leads where, and whether significantly, in one sentence; empty with nothing ranked."""
    parts = []
    for level in ("system", "sentence"):
        leaders: dict[str, list[str]] = {}
        for view in views:
            rows = best_rows(document, view, level, tested_measure(document, view, level))
            if rows:
                words = f"{rows[0]['metric']} {_lead_verb(document, view, level, rows)}"
                leaders.setdefault(words, []).append(view)
        if len(leaders) == 1:
            ((words, where),) = leaders.items()
            text = words + (" on both kinds of judgments" if len(where) > 1 else "")
        else:
            text = " and ".join(
                f"{words} on {listed([VIEWS[view] for view in where])}"
                for words, where in leaders.items()
            )
        if leaders:
            parts.append(f"at the {level} level {text}")
    text = "; ".join(part.removesuffix(",") for part in parts)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _lead_verb(document: Document, view: str, level: str, rows: Sequence[_Row]) -> str:
    if len(rows) < 2:
        return "leads"
    p = p_value(document, view, level, rows[0]["metric"], rows[1]["metric"])
    if p is None:
        return "leads"
    return "leads significantly" if p < SIGNIFICANT else "is highest, though not significantly,"


def edit_statement(document: Document) -> Statement | None:
    """Which metric tells valid from invalid edits best; None where no edits were tried."""
    found = {
        str(row["metric"]): float(row["edit"]["auc"])
        for row in document["rows"]
        if row.get("edit") and row["edit"].get("auc") is not None
    }
    if not found:
        return None
    top = max(found.values())
    names = [name for name, auc in found.items() if top - auc < SAME]
    text = (
        f"{listed(names)} {'tells' if len(names) == 1 else 'tell'} valid from invalid edits best: "
        f"AUC {number(top)}, where 0.5 is chance"
    )
    ceiling = (document.get("edit_ceiling") or {}).get("auc")
    if ceiling is not None:
        text += f" and one annotator by another reaches {number(ceiling)}"
    return Statement("Edit level", f"{text}.")
