"""The keys of JSON documents: one table of the fields that are read, so that no rename hides."""

from __future__ import annotations

from collections.abc import Mapping

from gecjury.stats.figure import values_of

KEYS: Mapping[str, str] = {
    "settings": "aggregate seed ties",
    "resampling": "over resamples confidence permutations level",
    "ceiling": "accuracy decided with_ties pairs perfect",
    "test": "level test statistic metrics values p adjusted clusters permutations=resamples",
    "difference": "level human statistic first second difference ci95",
    "labels": "true false others counts",
    "audited": "accuracy ceiling with_invalid",
    # What figures are about, by level.
    "metric": "metric family signature human",
    "annotators": "human metric family",
    "rating": "human=aspect metric family",
    "segment": "human metric family",
    "label": "human=bad metric family",
    "bias": "human side systems metric family",
    "window": "metric human systems",
    # Trainings.
    "worth": "judged pairs sources above_chance above_changes verdict",
    "worth_row": "what accuracy interval",
    # Several benchmarks.
    "task": "name=task benchmark human level statistic group weight",
    "cell": "value ci95 state",
    "average": "metric family value=average interval=ci95",
    "shared": "value=shared interval=shared_ci95 cluster",
    "pair": "first second tasks difference ci95 p adjusted",
}
"""By kind of object, the fields that a document has; see `values_of`."""


def keyed(kind: str, value: object) -> dict[str, object]:
    """Return the fields of an object that its kind has in `KEYS`, by their keys."""
    return values_of(value, *KEYS[kind].split())
