"""A comparison in words: every sentence follows from the numbers of its result document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.metaeval.disagreement import Consensus
from gecjury.metaeval.result import SYSTEM_STATISTICS
from gecjury.wording import listed, number, percent

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
_JUDGED: Mapping[str, str] = {"edit": "by edits", "sentence": "by sentences"}
SHOWN_MEASURES: Mapping[str, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ",
    "pairwise_accuracy": "pairwise accuracy",
    "spa": "soft pairwise accuracy",
    "accuracy": "sentence accuracy",
}
# Shown values that are equal to a reader are not told apart in words either.
SAME = 0.0005

Document = Mapping[str, Any]
_Row = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """A paragraph with its topic; folded where it can wait."""

    topic: str
    text: str
    folded: bool = False


def value_of(row: _Row, level: str, key: str) -> float:
    """Return a row's measure; NaN where it is missing or undefined."""
    value = (row.get(level) or {}).get(key)
    return float("nan") if value is None else float(value)


def best_rows(document: Document, view: str, level: str, key: str) -> list[_Row]:
    """Return the metrics against one view, best first; those without a value are left out."""
    rows = [row for row in document["rows"] if row["human"] == view]
    defined = [row for row in rows if not math.isnan(value_of(row, level, key))]
    return sorted(defined, key=lambda row: -value_of(row, level, key))


def is_compared(row: _Row) -> bool:
    """Return True if a row has a figure above the edit level."""
    return bool(row.get("system") or row.get("sentence"))


def _test(document: Document, view: str, level: str) -> Mapping[str, Any] | None:
    for test in document.get("significance") or ():
        if test["human"] == view and test["level"] == level:
            return dict(test)
    return None


def tested_measure(document: Document, view: str, level: str) -> str:
    """Return the measure of leads: the one that was tested, otherwise Pearson or accuracy."""
    test = _test(document, view, level)
    statistic = str(test["statistic"]) if test else ""
    if statistic in SHOWN_MEASURES and best_rows(document, view, level, statistic):
        return statistic
    return "pearson" if level == "system" else "accuracy"


def p_value(document: Document, view: str, level: str, one: str, other: str) -> float | None:
    """Return the (corrected) p-value of a difference of two metrics; None if it was not tested."""
    test = _test(document, view, level)
    if test is None or one not in test["metrics"] or other not in test["metrics"]:
        return None
    table = test.get("adjusted") or test["p"]
    i, j = test["metrics"].index(one), test["metrics"].index(other)
    # One-sided tests leave the other half empty or near 1.
    values = [p for p in (table[i][j], table[j][i]) if p is not None]
    return min(values) if values else None


def _paired(document: Document, view: str, level: str, key: str, one: str, other: str) -> str:
    """Return the paired interval of a metric's lead over another; "" where there is none."""
    over = str((document.get("uncertainty") or {}).get("over", ""))
    for gap in document.get("differences") or ():
        if (gap["human"], gap["level"], gap["statistic"]) != (view, level, key):
            continue
        bounds = (gap.get("ci95") or {}).get(over)
        if {gap["first"], gap["second"]} != {one, other} or not bounds or None in bounds:
            continue
        low, high = bounds
        ahead = (low, high) if gap["first"] == one else (-high, -low)
        ends = " to ".join(number(float(bound)) for bound in ahead)
        return f" (paired {confidence_level(document)}: {ends})"
    return ""


def confidence_level(document: Document) -> str:
    """Return the confidence of the document's intervals, such as `95%`."""
    return f"{100 * float((document.get('uncertainty') or {}).get('confidence', 0.95)):g}%"


def significance_level(document: Document) -> float:
    """Return the level at which the document's clusters and tests were made; 0.05 by default."""
    return float((document.get("uncertainty") or {}).get("level", 0.05))


def proper(name: object) -> str:
    """Return the name of a test or a correction for running text."""
    spellings = {
        "perm-both": "PERM-BOTH",
        "perm-systems": "PERM-SYS",
        "paired-permutation": "paired permutation",
        "holm": "Holm",
        "bonferroni": "Bonferroni",
    }
    return spellings.get(str(name), str(name))


def generalises(test: object) -> str:
    """Return to what a significant difference of a test extends; "" for an unknown test."""
    sentences = "to other sentences by these systems"
    extents = {
        "perm-systems": "to other systems as well",
        "perm-both": sentences,
        "paired-permutation": sentences,
    }
    return extents.get(str(test), "")


def summarise(
    document: Document,
    human: Mapping[str, Mapping[str, float]],
    consensus: Mapping[str, Consensus | None],
) -> list[Statement]:
    """Return the statements that a reader should see first.

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
            statements.append(Statement(f"Best system{place}", text, folded=True))
        text = _agreement(document, consensus.get(view))
        if text:
            statements.append(Statement(f"Where they agree{place}", text, folded=True))
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
    head = f"{SHOWN_MEASURES[key]} {number(top)}"
    if len(rows) == 1:
        return f"{first['metric']}, the only metric: {head}."
    equal = [row["metric"] for row in rows if top - value_of(row, level, key) < SAME]
    second = rows[1]["metric"]
    paired = _paired(document, view, level, key, first["metric"], second)
    if len(equal) > 1:
        shared = paired if len(equal) == 2 else ""
        text = f"{listed(equal)} share the lead: {SHOWN_MEASURES[key]} {number(top)}{shared}."
    else:
        gap = top - value_of(rows[1], level, key)
        text = (
            f"{first['metric']} leads: {head}, {number(gap)} ahead of {second}{paired}, "
            f"{_significance(document, view, level, rows)}."
        )
    return f"{text} {_other_leaders(document, view, level, key, equal)}".strip()


def _significance(document: Document, view: str, level: str, rows: Sequence[_Row]) -> str:
    first, second = rows[0]["metric"], rows[1]["metric"]
    p = p_value(document, view, level, first, second)
    test = _test(document, view, level)
    if p is None or test is None:
        return "not tested"
    how = f"p = {number(p)}" if p >= 0.0005 else "p < 0.001"
    how += f", {proper(test['test'])}"
    limit = significance_level(document)
    if p <= limit:
        return f"significant ({how})"
    level_with = [
        str(row["metric"])
        for row in rows[1:]
        if (q := p_value(document, view, level, first, row["metric"])) is None or q > limit
    ]
    if len(level_with) == len(rows) - 1 and len(rows) > 2:
        return f"not significant ({how}), nor against any other"
    more = f", nor against {listed(level_with[1:])}" if len(level_with) > 1 else ""
    return f"not significant ({how}){more}"


def _other_leaders(
    document: Document, view: str, level: str, key: str, leaders: Sequence[str]
) -> str:
    """Return who leads by the other measures of a level, if not the same metric."""
    if level != "system":
        return ""
    others: dict[str, list[str]] = {}
    for measure in SYSTEM_STATISTICS:
        rows = best_rows(document, view, level, measure)
        if measure == key or not rows:
            continue
        top = value_of(rows[0], level, measure)
        names = [r["metric"] for r in rows if top - value_of(r, level, measure) < SAME]
        if not set(names) & set(leaders):
            word = "SPA" if measure == "spa" else SHOWN_MEASURES[measure]
            others.setdefault(listed(names), []).append(f"{word} {number(top)}")
    if not others:
        return ""
    parts = [f"{name} leads by {listed(measures)}" for name, measures in others.items()]
    return f"But {'; '.join(parts)}."


def _two_annotators(document: Document, view: str) -> str:
    """Return how far people agree, and what metrics could and do reach on the same pairs."""
    people = (document.get("ceiling") or {}).get(view)
    compared = best_rows(document, view, "sentence", "accuracy")
    if not compared or not people or people.get("accuracy") is None:
        return ""
    agreed = people["accuracy"]
    text = f"Two annotators agree on {percent(agreed)} of {number(people['decided'])} pairs"
    parts = []
    perfect = people.get("perfect")
    if perfect is not None and not math.isnan(perfect):
        parts.append(f"a perfect metric would on {percent(agreed)} to {percent(perfect)}")
    accuracies = {
        row["metric"]: row["sentence"]["doubly_judged"]["accuracy"]
        for row in document["rows"]
        if row["human"] == view and (row.get("sentence") or {}).get("doubly_judged")
    }
    if accuracies:
        best = max(accuracies.values())
        names = [name for name, value in accuracies.items() if best - value < SAME]
        parts.append(f"{listed(names)} {'does' if len(names) == 1 else 'do'} on {percent(best)}")
    return "; ".join([text, ", ".join(parts)]) + "." if parts else f"{text}."


def _first_system(document: Document, view: str, human: Mapping[str, float]) -> str:
    scored = {name: score for name, score in human.items() if not math.isnan(score)}
    rows = [row for row in document["rows"] if row["human"] == view and row.get("scores")]
    if not scored or not rows:
        return ""
    top = max(scored.values())
    favoured = [name for name, score in scored.items() if score == top]
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
    text = f"All {who} agree on {percent(share)} of {number(found.pairs)} judged pairs"
    if found.united:
        text += f", people with them on {percent(found.right)} of these"
    defined = {n: r for n, r in found.split_right.items() if not math.isnan(r)}
    if defined:
        best = max(defined, key=lambda name: defined[name])
        text += f". Elsewhere {names[best]} is right most often ({percent(defined[best])})"
    return text + "."


def headline(document: Document, views: Sequence[str]) -> str:
    """Return a line for each level on who leads, and how significantly; empty without rankings."""
    parts = []
    for level in ("system", "sentence"):
        leaders: dict[str, list[str]] = {}
        for view in views:
            rows = best_rows(document, view, level, tested_measure(document, view, level))
            if rows:
                words = f"{rows[0]['metric']} {_lead_verb(document, view, level, rows)}"
                leaders.setdefault(words, []).append(_JUDGED[view])
        if len(leaders) == 1:
            text = next(iter(leaders))
        else:
            text = ", ".join(f"{words} {listed(where)}" for words, where in leaders.items())
        if leaders:
            parts.append(f"{level.capitalize()} level: {text}.")
    return " ".join(parts)


def _lead_verb(document: Document, view: str, level: str, rows: Sequence[_Row]) -> str:
    if len(rows) < 2:
        return "leads"
    p = p_value(document, view, level, rows[0]["metric"], rows[1]["metric"])
    if p is None:
        return "leads"
    significant = p <= significance_level(document)
    return "leads significantly" if significant else "is highest (not significantly)"


def edit_statement(document: Document) -> Statement | None:
    """Return which metric tells valid from invalid edits best; None without edits."""
    aucs = {
        str(row["metric"]): float(row["edit"]["auc"])
        for row in document["rows"]
        if row.get("edit") and row["edit"].get("auc") is not None
    }
    if not aucs:
        return None
    top = max(aucs.values())
    names = [name for name, auc in aucs.items() if top - auc < SAME]
    text = (
        f"{listed(names)} {'tells' if len(names) == 1 else 'tell'} valid from invalid edits best: "
        f"AUC {number(top)} (chance 0.5"
    )
    ceiling = (document.get("edit_ceiling") or {}).get("auc")
    if ceiling is not None:
        text += f", one annotator by another {number(ceiling)}"
    return Statement("Edit level", f"{text}).", folded=True)
