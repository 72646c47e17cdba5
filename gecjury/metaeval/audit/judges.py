"""Audits that judges report about themselves, and their agreement with people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.metaeval.study import Result, Study
from gecjury.scoring.scores import ScoreTable


@dataclass(frozen=True)
class Audit:
    """A scorer's audit of itself, and its agreement with people.

    Attributes:
        label: the metric's label.
        signature: the metric's signature in one line.
        members: the scorer's audits, one for each member.
        rows: the audits as cells: `model`, `what`, `value`.
        humans: by view the metric's accuracy and that of two annotators (NaN if not known).
        with_invalid: by view the accuracy if pairs without a valid reply count as wrong.
        panel: agreement of a panel's models: Krippendorff's α, `ordinal` and `interval`, and the
            number of `corrections` it is computed from; None for a single model.
    """

    label: str
    signature: str
    members: Sequence[Any]
    rows: Sequence[Mapping[str, Any]]
    humans: Mapping[View, tuple[float, float]]
    with_invalid: Mapping[View, float]
    panel: Mapping[str, float | None] | None = None


def judges_audits(
    study: Study,
    tables: Sequence[ScoreTable],
    results: Sequence[Result],
    ceilings: Mapping[View, float],
) -> Iterator[Audit]:
    """Yield the audits of the metrics that have one, with their agreement with people.

    Args:
        study: the benchmark and the settings.
        tables: scores, one table per metric.
        results: the metrics' results against every view.
        ceilings: by view, how often two annotators agree; views where this is not known are absent.
    """
    for table in tables:
        left = table.statistics.details.get("audit")
        if left is None:
            continue
        humans: dict[View, tuple[float, float]] = {}
        with_invalid: dict[View, float] = {}
        for result in results:
            if result.signature != str(table.signature) or result.sentence is None:
                continue
            # The agreement of two annotators is the yardstick for a scorer's own audit.
            ceiling = ceilings.get(result.view, float("nan"))
            humans[result.view] = result.sentence.accuracy, ceiling
            with_invalid[result.view] = accuracy_with_invalid(study, table, result, left["members"])
        signature = table.signature
        yield Audit(
            signature.label,
            str(signature),
            left["members"],
            left["rows"],
            humans,
            with_invalid,
            left.get("panel"),
        )


def accuracy_with_invalid(
    study: Study, table: ScoreTable, result: Result, members: Sequence[Mapping[str, Any]]
) -> float:
    """Return the accuracy at sentence level if pairs without a valid reply count as wrong.

    Such a pair lacks a score, and a reply about its sentence stayed invalid. Pairs that the judge
    was never asked about stay left out.

    Args:
        study: the benchmark and the settings.
        table: the judge's scores.
        result: its agreement with one view, which has a sentence level.
        members: the audits of its models, with the lines of `missing` replies.

    Returns:
        0 to 1, at most the accuracy over valid replies; NaN without pairs.
    """
    agreement = result.sentence
    assert agreement is not None  # callers check this
    entries = [entry for member in members for entry in member.get("missing", ())]
    rows = sorted({entry["line"] - 1 for entry in entries})
    invalid = 0
    for pairs in study.parts(result.view) if rows else ():
        first, second = study.sides(result.view, table, pairs)
        # As for the accuracy, pairs that people tied count only under `calibrated`.
        counting = (pairs.preference != 0) | (agreement.ties == "calibrated")
        lacking = counting & (np.isnan(first) | np.isnan(second))
        invalid += int(np.count_nonzero(lacking & np.isin(pairs.sentence, rows)))
    counted = agreement.pairs - (agreement.tied if agreement.ties == "drop" else 0)
    if not counted + invalid:
        return float("nan")
    return (agreement.accuracy * counted if counted else 0.0) / (counted + invalid)
