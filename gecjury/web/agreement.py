"""How far annotators agree in what they have answered so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from gecjury.benchmarks.annotators import annotator_agreement, annotator_kappa, cohen_kappa
from gecjury.benchmarks.judgments import RankedItem, judged_entries
from gecjury.web import Task
from gecjury.web.answers import ItemAnswer
from gecjury.web.tasks import ASPECTS


@dataclass(frozen=True)
class Agreement:
    """Agreement of annotators on one question.

    Attributes:
        what: the question: `ranking`, an aspect, or `verdicts`.
        count: judgments that two annotators share: pairs of systems, ratings or verdicts.
        same: share of them that are the same, ties included; NaN without any.
        decided: share among those that neither tied; NaN for other tasks.
        kappa: Cohen's κ, mean over the pairs of annotators; NaN where it is not defined.
        pairs: κ and number of shared judgments of every two annotators.
    """

    what: str
    count: int
    same: float
    decided: float
    kappa: float
    pairs: Mapping[tuple[str, str], tuple[float, int]]


def ranked_items(answers: Sequence[ItemAnswer]) -> tuple[RankedItem, ...]:
    """Rankings as `compare` has them."""
    return tuple(
        RankedItem(a.item, a.sentence - 1, a.annotator, a.systems, a.values) for a in answers
    )


def agreement(task: Task, answers: Sequence[ItemAnswer], systems: Sequence[str]) -> list[Agreement]:
    """Agreement so far; empty while nothing was judged by two annotators.

    Rankings: `gecjury.benchmarks.annotators`, the figures of `compare`: the shares over pairs of
    systems, κ over pairs of corrections. Ratings and verdicts: κ over what both judged.

    Args:
        task: what was asked.
        answers: those that stand.
        systems: all systems.
    """
    if task == "rank":
        return _rankings(answers, systems)
    names = list(ASPECTS) if task == "rate" else ["verdicts"]
    found = []
    for place, name in enumerate(names):
        labels: dict[str, dict[object, int]] = {}
        for answer in answers:
            mine = labels.setdefault(answer.annotator, {})
            if task == "rate":
                mine[answer.item] = answer.values[place]
            else:
                for edit, value in zip(answer.edits, answer.values, strict=True):
                    mine[answer.item, edit] = value
        if (one := _labelled(name, labels)) is not None:
            found.append(one)
    return found


def _rankings(answers: Sequence[ItemAnswer], systems: Sequence[str]) -> list[Agreement]:
    items = ranked_items(answers)
    pairs = annotator_agreement(judged_entries(items, systems))
    if not pairs.pairs:
        return []
    kappa = annotator_kappa(items)
    by_pair = {duo: (value, kappa.counts[duo]) for duo, value in kappa.values.items()}
    return [Agreement("ranking", pairs.pairs, pairs.with_ties, pairs.accuracy, kappa.mean, by_pair)]


def _labelled(what: str, labels: Mapping[str, Mapping[object, int]]) -> Agreement | None:
    by_pair = {}
    same = count = 0
    for one, two in combinations(labels, 2):
        both = [key for key in labels[one] if key in labels[two]]
        if not both:
            continue
        a, b = (np.array([labels[name][key] for key in both]) for name in (one, two))
        by_pair[one, two] = cohen_kappa(a, b), len(both)
        same += int((a == b).sum())
        count += len(both)
    if not count:
        return None
    defined = [value for value, _ in by_pair.values() if not math.isnan(value)]
    mean = float(np.mean(defined)) if defined else math.nan
    return Agreement(what, count, same / count, math.nan, mean, by_pair)
