"""How far the answers of annotators agree so far."""

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
        same: share of them that are the same, ties included; NaN if there are none.
        decided: share among those that neither annotator tied; NaN for other tasks.
        kappa: mean over the pairs of annotators of Cohen's κ, or, for rankings, of Scott's π; NaN
            if it is not defined.
        pairs: κ and number of shared judgments of every two annotators.
    """

    what: str
    count: int
    same: float
    decided: float
    kappa: float
    pairs: Mapping[tuple[str, str], tuple[float, int]]


def ranked_items(answers: Sequence[ItemAnswer]) -> tuple[RankedItem, ...]:
    """Return rankings as `compare` represents them."""
    return tuple(
        RankedItem(a.item, a.sentence - 1, a.annotator, a.systems, a.values) for a in answers
    )


def agreement(task: Task, answers: Sequence[ItemAnswer], systems: Sequence[str]) -> list[Agreement]:
    """Return the agreement so far; it is empty until two annotators have judged the same item.

    Rankings have the figures of `compare`, see `gecjury.benchmarks.annotators`: shares over pairs
    of systems, κ over pairs of corrections. For ratings and verdicts κ is over what both judged.

    Args:
        task: the annotators' task.
        answers: the answers that were not taken back.
        systems: all systems.
    """
    if task == "rank":
        return _rankings(answers, systems)
    # By question and annotator: the value of each item, or of each of its edits.
    labels: dict[str, dict[str, dict[object, int]]] = {}
    for answer in answers:
        things: Sequence[object] = answer.edits or list(ASPECTS)
        for thing, value in zip(things, answer.values, strict=True):
            what = str(thing) if task == "rate" else "verdicts"
            by_annotator = labels.setdefault(what, {})
            by_annotator.setdefault(answer.annotator, {})[answer.item, thing] = value
    agreements = (_labelled(what, by_annotator) for what, by_annotator in labels.items())
    return [shared for shared in agreements if shared is not None]


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
    for first, second in combinations(labels, 2):
        shared = [key for key in labels[first] if key in labels[second]]
        if not shared:
            continue
        # Agreement is defined only for what both have judged.
        a, b = (np.array([labels[name][key] for key in shared]) for name in (first, second))
        by_pair[first, second] = cohen_kappa(a, b), len(shared)
        same += int((a == b).sum())
        count += len(shared)
    if not count:
        return None
    defined = [value for value, _ in by_pair.values() if not math.isnan(value)]
    mean = float(np.mean(defined)) if defined else math.nan
    return Agreement(what, count, same / count, math.nan, mean, by_pair)
