"""A comparison in words: every sentence is derived from the numbers of its result document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from gecjury.core.wording import listed, number, p_value, percent, shortly
from gecjury.scoring.options import short_names

# `rank` uses a sentence from here and must not import the benchmarks or their readers.
if TYPE_CHECKING:
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.disagreement import Consensus

FAMILY_NAMES: Mapping[str, str] = {
    "refbased": "reference-based",
    "refless": "reference-free",
    "judges": "LLM judge",
    "jury": "jury",
    "scores": "given scores",
    "chance": "chance",
    "humans": "people",
}
BESIDE = ("chance", "humans")
"""Families that are not metrics but are shown next to them."""
CAN_WAIT = ("Ties", "Notes")
"""Headings of cautions that nearly every comparison has; only the others are shown unfolded."""
VIEWS: Mapping[str, str] = {"edit": "edit-based judgments", "sentence": "sentence-based judgments"}
SHOWN_MEASURES: Mapping[str, str] = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ",
    "pairwise_accuracy": "pairwise accuracy",
    "spa": "soft pairwise accuracy",
    "accuracy": "sentence accuracy",
}
PROPER = {
    "perm-both": "PERM-BOTH",
    "perm-systems": "PERM-SYS",
    "paired-permutation": "paired permutation",
    "holm": "Holm",
}
"""Names of tests and corrections for running text."""
EXTENTS = {
    "perm-systems": "to other systems as well",
    "perm-both": "to other sentences by these systems",
    "paired-permutation": "to other sentences by these systems",
}
"""How far the significant differences of a test generalise."""
_SAMPLE = "This sample shows how the program works; it is never evidence about a metric."
# Values that look equal when rounded are not distinguished in words either.
_SAME = 0.0005

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """A paragraph with its topic; folded if it is less important."""

    topic: str
    text: str
    folded: bool = False


@dataclass(frozen=True)
class Standing:
    """The metrics at one level against one view, as sentences and plots compare them.

    Attributes:
        document: the comparison as plain JSON values.
        view: the view of the human judgments.
        level: `system` or `sentence`.
        test: the test between the metrics; None if there was none.
        measure: the measure of leads: the one that was tested, otherwise Pearson or accuracy.
        values: the metrics' values, best first; metrics without a value are left out.
    """

    document: Document
    view: str
    level: str
    test: Mapping[str, Any] | None
    measure: str
    values: Mapping[str, float]

    @classmethod
    def of(cls, document: Document, view: str, level: str) -> Standing:
        """Return the metrics by the measure that was tested, if any metric has a value for it."""
        tests = document.get("significance") or ()
        test = next((t for t in tests if (t["human"], t["level"]) == (view, level)), None)
        # Leads and tests must use the same statistic; otherwise an untested lead would look tested.
        measures = [test["statistic"]] if test and test["statistic"] in SHOWN_MEASURES else []
        measures.append("pearson" if level == "system" else "accuracy")
        values = {key: values_by(document, view, level, key) for key in measures}
        measure = next(filter(values.get, measures), measures[-1])
        return cls(document, view, level, test, measure, values[measure])

    @property
    def test_name(self) -> str:
        """The name of the test for running text; "" if there was none."""
        name = self.test["test"] if self.test else ""
        return PROPER.get(name, name)

    def p_value(self, one: str, other: str) -> float | None:
        """Return the corrected p-value of the difference of two metrics; None if not tested."""
        if self.test is None or not {one, other} <= set(self.test["metrics"]):
            return None
        i, j = map(self.test["metrics"].index, (one, other))
        p: float | None = self.test["adjusted"][i][j]
        return p

    def paired(self, one: str, other: str) -> str:
        """Return the paired interval of a metric's lead over another; "" if there is none."""
        over = (self.document.get("uncertainty") or {}).get("over", "")
        place = (self.view, self.level, self.measure, {one, other})
        for gap in self.document.get("differences") or ():
            pair = {gap["first"], gap["second"]}
            bounds = gap["ci95"].get(over)
            if (gap["human"], gap["level"], gap["statistic"], pair) == place and bounds:
                # The interval is that of the first metric's lead; the other's is its mirror image.
                low, high = bounds if gap["first"] == one else [b and -b for b in bounds[::-1]]
                ends = f"{number(low)} to {number(high)}"
                return "" if None in bounds else f" (paired {_confidence(self.document)}: {ends})"
        return ""


def values_by(document: Document, view: str, level: str, measure: str) -> dict[str, float]:
    """Return the metrics' values of a measure, best first; undefined ones are left out."""
    values = {
        row["metric"]: float(value)
        for row in document["rows"]
        if row["human"] == view and (value := (row.get(level) or {}).get(measure)) is not None
    }
    return dict(sorted(values.items(), key=lambda item: -item[1]))


def _best(values: Mapping[str, float]) -> tuple[list[str], float]:
    """Return the names whose value, as shown, is the largest, and that value."""
    top = max(values.values())
    return [name for name, value in values.items() if top - value < _SAME], top


def is_compared(row: Mapping[str, Any]) -> bool:
    """Return True if a row has a figure above the edit level."""
    return bool(row.get("system") or row.get("sentence"))


def _confidence(document: Document) -> str:
    return f"{100 * (document.get('uncertainty') or {}).get('confidence', 0.95):g}%"


def significance_level(document: Document) -> float:
    """Return the significance level of the document's clusters and tests; 0.05 by default."""
    return float((document.get("uncertainty") or {}).get("level", 0.05))


def summarise(document: Document, view: str, consensus: Consensus | None) -> list[Statement]:
    """Return the statements on one view that a reader should see first.

    Args:
        document: the result of `compare`, as in its JSON output.
        view: the view of the human judgments.
        consensus: how far the camps agree on judged pairs.
    """
    statements = [
        Statement("System level", _leader(Standing.of(document, view, "system"))),
        Statement("Sentence level", _leader(Standing.of(document, view, "sentence"))),
        *(
            Statement(task, _recommended(Standing.of(document, view, level)))
            for level, task in _TASKS.items()
        ),
        Statement("People", _two_annotators(document, view)),
        Statement("Where they agree", _agreement(document, consensus), True),
    ]
    return [statement for statement in statements if statement.text]


def _leader(standing: Standing) -> str:
    """Return who leads a level, by how much and how certainly, and who leads by other measures."""
    document, view, level = standing.document, standing.view, standing.level
    metrics = list(standing.values)
    if not metrics:
        compared = any(row["human"] == view and row.get(level) for row in document["rows"])
        return "No metric can be ranked: too few systems, or constant scores." if compared else ""
    leaders, top = _best(standing.values)
    head = f"{SHOWN_MEASURES[standing.measure]} {number(top)}"
    if len(metrics) == 1:
        return f"{metrics[0]}, the only metric: {head}."
    paired = standing.paired(metrics[0], metrics[1])
    if len(leaders) > 1:
        shared = paired if len(leaders) == 2 else ""
        text = f"{listed(leaders)} share the lead: {head}{shared}."
    else:
        gap = number(top - standing.values[metrics[1]])
        text = (
            f"{metrics[0]} leads: {head}, {gap} ahead of {metrics[1]}{paired}, "
            f"{_significance(standing)}."
        )
    return f"{text} {_other_leaders(standing, leaders)}".strip()


def _significance(standing: Standing) -> str:
    first, *others = standing.values
    p_values = {other: standing.p_value(first, other) for other in others}
    return certainty(p_values, standing.test_name, significance_level(standing.document))


def certainty(p_values: Mapping[str, float | None], test: str, level: float) -> str:
    """Return how certain a lead is: `not significant (p = 0.210, Holm), nor against green`.

    Args:
        p_values: corrected p-value of the leader's difference from each of the others, the nearest
            first; None or NaN if it was not tested.
        level: the significance level.
    """
    tested = {name: None if p is None or math.isnan(p) else p for name, p in p_values.items()}
    p = next(iter(tested.values()))
    if p is None:
        return "not tested"
    how = f"{p_value(p)}, {test}" if test else p_value(p)
    if p <= level:
        return f"significant ({how})"
    # A metric that was not tested cannot be called worse.
    level_with = [name for name, value in tested.items() if value is None or value > level]
    if len(level_with) == len(tested) > 1:
        return f"not significant ({how}), nor against any other"
    more = f", nor against {listed(level_with[1:])}" if len(level_with) > 1 else ""
    return f"not significant ({how}){more}"


def _other_leaders(standing: Standing, leaders: Sequence[str]) -> str:
    """Return who leads by the other measures of a level, if it is a different metric."""
    from gecjury.metaeval.result import SYSTEM_STATISTICS

    others: dict[str, list[str]] = {}
    for measure in SYSTEM_STATISTICS if standing.level == "system" else ():
        values = values_by(standing.document, standing.view, "system", measure)
        if measure != standing.measure and values:
            names, top = _best(values)
            if not set(names) & set(leaders):
                word = "SPA" if measure == "spa" else SHOWN_MEASURES.get(measure, measure)
                others.setdefault(listed(names), []).append(f"{word} {number(top)}")
    parts = [f"{name} leads by {listed(measures)}" for name, measures in others.items()]
    return f"But {'; '.join(parts)}." if parts else ""


def _two_annotators(document: Document, view: str) -> str:
    """Return how far people agree, and how far metrics could and do agree on the same pairs."""
    people = (document.get("ceiling") or {}).get(view) or {}
    agreed, perfect = people.get("accuracy"), people.get("perfect")
    if agreed is None or not values_by(document, view, "sentence", "accuracy"):
        return ""
    text = f"Two annotators agree on {percent(agreed)} of {number(people['decided'])} pairs"
    parts = []
    if perfect is not None:
        parts.append(f"a perfect metric would on {percent(agreed)} to {percent(perfect)}")
    accuracies = {
        row["metric"]: row["sentence"]["doubly_judged"]["accuracy"]
        for row in document["rows"]
        if row["human"] == view and (row.get("sentence") or {}).get("doubly_judged")
    }
    if accuracies:
        names, best = _best(accuracies)
        parts.append(f"{listed(names)} {'does' if len(names) == 1 else 'do'} on {percent(best)}")
    return "; ".join([text, ", ".join(parts)]) + "." if parts else f"{text}."


def _agreement(document: Document, consensus: Consensus | None) -> str:
    """Return on how many judged pairs the camps agree, and who is right on the others."""
    if consensus is None or not consensus.pairs:
        return ""
    who = "families" if len({row["family"] for row in document["rows"]}) > 1 else "metrics"
    share = percent(consensus.united / consensus.pairs)
    text = f"All {who} agree on {share} of {number(consensus.pairs)} judged pairs"
    if consensus.united:
        text += f"; people agree with them on {percent(consensus.right)} of these"
    defined = {n: r for n, r in consensus.split_right.items() if not math.isnan(r)}
    if defined:
        best = max(defined, key=lambda name: defined[name])
        name = FAMILY_NAMES.get(best, best)
        text += f". On the others {name} is right most often ({percent(defined[best])})"
    return text + "."


def views_of(document: Document) -> list[View]:
    """Return the views of the human judgments that a comparison was made with."""
    from gecjury.benchmarks.table import View

    return [view for view in get_args(View) if view in document["human_scores"]]


def verdict(document: Document) -> list[str]:
    """Return the sentences that answer a comparison, the most important first.

    They say who leads at each level, by how much and how certainly, how the families compare, and
    which metrics to use. Metrics are called by their shortest distinct names.

    Args:
        document: the result of `compare` as plain JSON values.
    """
    views = views_of(document)
    sentences = [
        f"{place}: {text}"
        for level in ("system", "sentence")
        for view in views
        if (text := _leader(Standing.of(document, view, level)))
        and (place := _place(level, view, views))
    ]
    if statement := edit_statement(document):
        sentences.append(f"{statement.topic}: {statement.text}")
    if document.get("sample"):
        sentences.insert(0, _SAMPLE)
    sentences += [*family_contrast(document), *recommendations(document)]
    names = short_names(row["metric"] for row in document["rows"])
    return [shortly(sentence, names) for sentence in sentences]


def _place(level: str, view: str, views: Sequence[str]) -> str:
    """Return the words for a level, with the kind of judgments if there are several."""
    return f"{level.capitalize()} level" + f", {VIEWS[view]}" * (len(views) > 1)


def family_contrast(document: Document) -> list[str]:
    """Return a sentence for each level and view on the best metrics of the families.

    The list is empty if all metrics are of one family.
    """
    sentences = []
    views = views_of(document)
    families = {row["metric"]: row["family"] for row in document["rows"]}
    for level in ("system", "sentence"):
        for view in views:
            standing = Standing.of(document, view, level)
            best: dict[str, str] = {}
            for metric in standing.values:
                best.setdefault(families[metric], metric)
            if len(best) > 1:
                place = _place(level, view, views)
                sentences.append(f"{place}, best of each family: {_contrast(standing, best)}.")
    return sentences


def _contrast(standing: Standing, best: Mapping[str, str]) -> str:
    """Return how far apart the best families are, given the best metric of each, best first."""
    named = {metric: f"{FAMILY_NAMES.get(f, f)} {metric}" for f, metric in best.items()}
    first, second, *others = named
    p_values = {second: standing.p_value(first, second)}
    certain = certainty(p_values, standing.test_name, significance_level(standing.document))
    text = (
        f"{named[first]} ({SHOWN_MEASURES[standing.measure]} {number(standing.values[first])}) is "
        f"{number(standing.values[first] - standing.values[second])} ahead of {named[second]}"
        f"{standing.paired(first, second)}, {certain}"
    )
    rest = [f"{named[metric]} has {number(standing.values[metric])}" for metric in others]
    return "; ".join([text, listed(rest)]) if rest else text


_TASKS = {"system": "To rank systems", "sentence": "To order corrections of a sentence"}


def recommendations(document: Document) -> list[str]:
    """Return which metrics to use for each task and which not, judging by tests and intervals.

    The list is empty for a sample, which is not evidence, and without intervals and tests.
    """
    views = views_of(document)
    return [
        f"{_TASKS[level]}{f' ({VIEWS[view]})' * (len(views) > 1)}: {text}"
        for level in _TASKS
        for view in views
        if (text := _recommended(Standing.of(document, view, level)))
    ]


def _recommended(standing: Standing) -> str:
    """Return the metrics that no test places below the leader, and those not above chance."""
    first, limit = next(iter(standing.values), ""), significance_level(standing.document)
    lows = {
        row["metric"]: ((row[standing.level].get("ci95") or {}).get(standing.measure) or [None])[0]
        for row in standing.document["rows"]
        if row["human"] == standing.view and row["metric"] in standing.values
    }
    # A single metric leaves no choice, and without tests and intervals there is no basis for one.
    untested = standing.test is None or None in lows.values()
    if not standing.values or standing.document.get("sample") or untested:
        return ""
    p_values = {other: standing.p_value(first, other) for other in standing.values}
    level_with = [m for m, p in p_values.items() if m == first or (p is not None and p > limit)]
    floors = _floors(standing)
    # A metric is listed under the first floor that its interval does not clear.
    below: dict[str, list[str]] = {}
    rivals = [metric for metric in lows if metric.partition(":")[0] == "changes"]
    for metric, low in lows.items():
        # The simplest rival is the floor that the others are compared with.
        if metric in rivals:
            continue
        if reached := next((words for words, floor in floors.items() if low <= floor), ""):
            below.setdefault(reached, []).append(metric)
    weak = {metric for metrics in below.values() for metric in metrics}
    useful = [metric for metric in level_with if metric not in weak and metric not in rivals]
    text = f"use {listed(useful, 'or')}" if useful else "no metric can be recommended"
    if len(useful) > 1:
        text += " (no test places them below the leader)"
    confidence = _confidence(standing.document)
    for words, metrics in below.items():
        text += f". Not above {words} by their {confidence} intervals: {listed(metrics)}"
    return f"{text}."


def _floors(standing: Standing) -> dict[str, float]:
    """Return the floors that a metric has to exceed, by name: chance, then the simplest rival."""
    share = standing.measure in ("accuracy", "spa", "pairwise_accuracy")
    floor = 0.5 if share else 0.0
    floors = {f"chance ({SHOWN_MEASURES[standing.measure]} {floor:g})": floor}
    chance = (standing.document.get("chance") or {}).get("copy-source") or {}
    copied = (chance.get("human") or {}).get(standing.view, {}).get("sentence") or {}
    if standing.level == "sentence" and copied.get("accuracy") is not None:
        # Similarity to the source, negated, counts the changes: it is right where the other is
        # wrong.
        likeness = copied["accuracy"]
        if likeness >= 0.5:
            floors[f"similarity to the source ({number(likeness)})"] = likeness
        elif standing.document["ties"] == "half":
            floors[f"counting the changes ({number(1 - likeness)})"] = 1 - likeness
    return floors


def edit_statement(document: Document) -> Statement | None:
    """Return which metric distinguishes valid from invalid edits best; None without edits."""
    aucs = {
        row["metric"]: float(row["edit"]["auc"])
        for row in document["rows"]
        if row.get("edit") and row["edit"].get("auc") is not None
    }
    if not aucs:
        return None
    names, top = _best(aucs)
    text = (
        f"{listed(names)} {'separates' if len(names) == 1 else 'separate'} valid from invalid "
        f"edits best: AUC {number(top)} (chance 0.5"
    )
    ceiling = (document.get("edit_ceiling") or {}).get("auc")
    if ceiling is not None:
        text += f", one annotator by another {number(ceiling)}"
    return Statement("Edit level", f"{text}).", folded=True)
