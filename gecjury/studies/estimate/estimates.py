"""Estimates of systems and of their differences by one metric, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.wording import listed
from gecjury.report.verdict import Ranked
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import FEWEST_LABELS
from gecjury.stats.figure import Figure, figures_about, records, values_of
from gecjury.studies.estimate.labels import Labels
from gecjury.studies.estimate.prediction_powered import (
    EstimateInterval,
    JudgedOutputs,
    Moments,
    filled,
)

register(
    Statistic("estimate", words="estimated mean label", better="higher"),
    Statistic("all_labels", "all labels"),
    Statistic("labels_alone", "labels alone"),
    Statistic("metric_alone", "metric alone"),
    Statistic("difference.estimate", "first - second"),
)

_ODD = 3.3  # standard errors; beyond them, labelled outputs were hardly drawn at random


@dataclass(frozen=True)
class Estimated:
    """An estimate of a system, or of the difference of two.

    Attributes:
        names: the system, or the two systems.
        powered: by PPI++.
        alone: by labels alone.
        labelled: number of sources with a label.
        all_labels: the mean of the labels of all sources; None if all of them are used.
        metric_alone: the mean score of a system.
        sources: number of sources with a score of a system.
        neighbours: whether no system is between the two.
    """

    names: tuple[str, ...]
    powered: EstimateInterval
    alone: EstimateInterval
    labelled: int
    all_labels: float | None = None
    metric_alone: EstimateInterval | None = None
    sources: int | None = None
    neighbours: bool | None = None

    @property
    def worth(self) -> int | None:
        """Labelled sources with which labels alone would give the same error; None for no limit."""
        gain = self.powered.gain
        return round(self.labelled * gain) if math.isfinite(gain) else None

    def figures(self, metric: str, family: str) -> list[Figure]:
        """Return the numbers of the estimate by a metric."""
        bounded = {"estimate": self.powered, "labels_alone": self.alone}
        if self.metric_alone is not None:
            bounded |= {"metric_alone": self.metric_alone}
        values = {
            **{key: one.value for key, one in bounded.items()},
            "error": self.powered.error,
            "weight": self.powered.weight,
            **values_of(self, "labelled", "worth", "sources", "all_labels"),
        }
        return figures_about(
            {key: value for key, value in values.items() if value is not None},
            {key: one.bounds for key, one in bounded.items()},
            level="estimate" if len(self.names) == 1 else "difference",
            metric=metric,
            family=family,
            system=" − ".join(self.names),
            n=self.labelled,
        )

    def row(self, metric: str, family: str) -> dict[str, object]:
        """Return the record of the estimate for tables and JSON."""
        names = {f"{key}_ci95": f"{key}_interval" for key in ("labels_alone", "metric_alone")}
        names |= {"estimate_ci95": "interval"}
        pair: dict[str, object] = {}
        if len(self.names) == 2:
            names |= {"system": ""}
            first, second = self.names
            pair = {"first": first, "second": second, "neighbours": self.neighbours}
        (row,) = records(self.figures(metric, family), names=names)
        return {"worth": None, **row, **pair}


def estimates_of(
    table: ScoreTable, labels: Labels, drawn: FloatArray, confidence: float, *, all_labels: bool
) -> tuple[list[Estimated], list[Estimated], list[str]]:
    """Return a metric's estimates of systems, the best first, and of their differences.

    Args:
        table: scores of all outputs.
        drawn: the labels that are used.
        all_labels: whether records have the means of the labels of all sources.

    Returns:
        Estimates of systems, and of pairs of them; and remarks for the reader.
    """

    def estimated(names: tuple[str, ...], moments: Moments, known: float) -> Estimated:
        return Estimated(
            names,
            moments.estimate(confidence),
            moments.alone(confidence),
            int(np.count_nonzero(moments.labelled)),
            known if all_labels else None,
        )

    metric, notes = table.signature.label, []
    scores = labels.predictions(table.settled().sentences)
    try:
        predictions = filled(scores)
    except InputError as error:
        raise InputError(f"{metric}: {error}") from None
    counts = np.count_nonzero(~np.isnan(drawn), axis=1)
    enough = counts >= FEWEST_LABELS
    few = [f"{table.systems[n]} ({counts[n]})" for n in np.flatnonzero(~enough).tolist()]
    if few:
        notes.append(
            f"left out because fewer than {FEWEST_LABELS} sources have labels: {listed(few)}"
        )
    if missing := int(np.isnan(scores).sum()):
        notes.append(f"{metric}: {missing} outputs without a score get the mean score")
    outputs = {
        system: JudgedOutputs(drawn[system], predictions[system], labels.scale)
        for system in np.flatnonzero(enough).tolist()
    }
    moments = {system: Moments.of(one) for system, one in outputs.items()}
    notes += _not_at_random(metric, list(moments.values()))
    known = np.array([np.nanmean(line) if system in outputs else np.nan
                      for system, line in enumerate(labels.values)])  # fmt: skip
    systems = {}
    for system, one in moments.items():
        # With all scores as labels, this is the mean score with its interval.
        scored = Moments.of(JudgedOutputs(predictions[system], predictions[system]))
        alone, sources = scored.alone(confidence), len(predictions[system])
        estimate = estimated((table.systems[system],), one, float(known[system]))
        systems[system] = replace(estimate, metric_alone=alone, sources=sources)
    order = sorted(systems, key=lambda system: -systems[system].powered.value)
    neighbours = set(pairwise(order))
    pairs = [
        replace(
            estimated(
                (table.systems[one], table.systems[other]),
                Moments.of(outputs[one], outputs[other]),
                float(known[one] - known[other]),
            ),
            neighbours=(one, other) in neighbours,
        )
        for one, other in combinations(order, 2)
    ]
    return [systems[system] for system in order], pairs, notes


def verdict_of(
    metric: str, systems: Sequence[Estimated], pairs: Sequence[Estimated], confidence: float
) -> list[str]:
    """Return sentences on what a metric gains, and on which system leads by how much."""
    labelled = round(float(np.median([one.labelled for one in systems])))
    middle = np.median([math.inf if one.worth is None else one.worth for one in systems])
    worth = round(float(middle)) if np.isfinite(middle) else None
    smaller = 1 - 1 / math.sqrt(float(np.median([one.powered.gain for one in systems])))
    change = f"{abs(smaller):.0%} {'smaller' if smaller > 0 else 'larger'} than"
    if worth == labelled:
        change = "not smaller than"
    elif change.startswith("0%"):
        change = "about as large as"
    gain = (
        f"{metric}: standard errors are {change} those of labels alone (median): {labelled} "
        f"labelled sources are worth {worth or 'any number'}."
    )
    if not pairs:
        return [gain]
    estimates = {one.names[0]: one.powered for one in systems}
    gaps = {(one.names[0], one.names[1]): one.powered for one in pairs}
    ranked = Ranked(
        {system: one.value for system, one in estimates.items()},
        intervals={system: one.bounds for system, one in estimates.items()},
        paired={both: one.bounds for both, one in gaps.items()},
        gaps={both: one.value for both, one in gaps.items()},
        confidence=confidence,
    )
    return [gain, f"{metric}: {ranked.verdict()}"]


def _not_at_random(metric: str, moments: Sequence[Moments]) -> list[str]:
    """Return a note if labelled outputs have other scores than the rest."""
    apart = float(np.mean([one.control.value for one in moments]))
    error = float(np.linalg.norm(np.mean([one.control.parts for one in moments], axis=0)))
    if not abs(apart) > _ODD * error > 0:
        return []
    return [
        f"{metric}: labelled outputs have scores {'above' if apart > 0 else 'below'} those of "
        "the others; estimates need labels of sources drawn at random"
    ]
