"""The catalogue of statistics: what every number of a result is called and means.

Headings of tables, terms on pages, digits, and the words of verdicts are read here. A new statistic
is a function in `gecjury.stats` and an entry here; one that a single study has is registered by its
module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Statistic:
    """An entry of the catalogue.

    Attributes:
        key: its key in records and JSON; `place.key` if it is called or means something else in
            one table or level.
        heading: heading of its column; the key if empty.
        words: its name in a sentence; the heading if empty.
        digits: digits after the decimal point.
        better: whether higher or lower values are better; empty if neither is.
        range: the lowest and the highest possible value.
        chance: its value for a metric that knows nothing; None if it is not a constant.
        meaning: a sentence or two for readers of a page.
        p_value: whether it is a p-value: one that rounds to 0 is shown as `< 0.001`.
    """

    key: str
    heading: str = ""
    words: str = ""
    digits: int = 3
    better: Literal["higher", "lower", ""] = ""
    range: tuple[float, float] = (-math.inf, math.inf)
    chance: float | None = None
    meaning: str = ""
    p_value: bool = False


def _correlation(key: str, heading: str, words: str, meaning: str = "") -> Statistic:
    return Statistic(key, heading, words, 3, "higher", (-1, 1), 0.0, meaning)


def _share(
    key: str,
    heading: str = "",
    words: str = "",
    meaning: str = "",
    chance: float | None = 0.5,
    digits: int = 3,
) -> Statistic:
    return Statistic(key, heading, words, digits, "higher", (0, 1), chance, meaning)


def _percentage(key: str, heading: str) -> Statistic:
    return Statistic(key, heading, digits=1, range=(0, 100))


def _count(key: str, heading: str = "", meaning: str = "") -> Statistic:
    return Statistic(key, heading, "", 0, "", (0, math.inf), None, meaning)


def _p_value(key: str, heading: str = "") -> Statistic:
    return Statistic(key, heading, "", 3, "lower", (0, 1), p_value=True)


_ENTRIES = (
    # Agreement with people over systems.
    _correlation(
        "pearson",
        "r",
        "Pearson r",
        "Pearson correlation between a metric’s scores of the systems and those of people: 1 is a "
        "rising straight line, 0 unrelated, −1 reversed.",
    ),
    _correlation(
        "spearman",
        "ρ",
        "Spearman ρ",
        "Spearman: r of the ranks; only the order of the systems counts.",
    ),
    _correlation(
        "kendall",
        "τ",
        "Kendall τ",
        "Kendall: pairs that metric and people put in the same order, minus the others, divided by "
        "all pairs.",
    ),
    _share(
        "pairwise_accuracy",
        "pair acc",
        "pairwise accuracy",
        "Share of the pairs of systems that metric and people put in the same order, 0 to 1.",
    ),
    _share(
        "spa",
        "SPA",
        "soft pairwise accuracy",
        "Soft pairwise accuracy: how close a metric’s certainty about each pair of systems is to "
        "that of people, 0 to 1. A pair that people cannot distinguish costs little.",
    ),
    # Agreement with people over pairs of corrections of a sentence.
    _share(
        "accuracy",
        "accuracy",
        "sentence accuracy",
        "Share of the pairs of corrections of the same sentence that are in the order that a "
        "person gave, 0 to 1; chance is 0.5. τ: share of right pairs minus share of wrong pairs.",
    ),
    _percentage("tied", "tied %"),
    _share(
        "tied_share",
        "tied %",
        meaning="Share of these pairs to which the metric gave equal scores.",
        chance=None,
    ),
    _count("pairs"),
    _share("relative", chance=None),
    _count("judgments"),
    # In tables with columns of both levels.
    _correlation("system.kendall", "τ sys", "Kendall τ"),
    _correlation("sentence_kendall", "τ sent", "Kendall τ"),
    _share("sentence.accuracy", "sent acc", "sentence accuracy"),
    _count("brief.cluster", "cl"),
    _count("system_cluster", "cl sys"),
    _count("sentence_cluster", "cl sent"),
    _count(
        "cluster",
        "cluster",
        "From the best metric down, a new cluster begins with the first metric that is "
        "significantly worse than one of the previous cluster. Differences within a cluster are "
        "not significant.",
    ),
    # Single edits.
    _share(
        "auc",
        "AUC",
        "AUC",
        "How often a valid edit gets more credit than an invalid one; ties count one half; 0.5 is "
        "chance.",
    ),
    _share("auc_there", "AUC there"),
    _share(
        "average_precision",
        "AP valid",
        meaning="Average precision of finding the valid, or the invalid, edits.",
        chance=None,
    ),
    _share("average_precision_invalid", "AP invalid", chance=None),
    _share(
        "edit.accuracy",
        "accuracy of edits",
        "",
        "At a threshold found on the other half of the data, unless the metric has its own; "
        "balanced: mean over valid and invalid edits.",
        chance=None,
    ),
    _share("balanced"),
    _correlation("kappa", "κ", "Cohen’s κ"),
    _count("cases"),
    _count("valid"),
    # Ratings of single corrections, and the segment level.
    _correlation("within", "τ in source", "Kendall τ in a source"),
    _correlation("system_pearson", "r sys", "Pearson r over systems"),
    _correlation("system_spearman", "ρ sys", "Spearman ρ over systems"),
    _count("sources"),
    _count("outputs"),
    _count("groups"),
    _share("acc_eq", words="accuracy with ties", chance=None),
    _share("acc_exact", "acc ε=0", chance=None),
    Statistic("epsilon", "ε", digits=4),
    _correlation("pdp", "PDP", "Pearson r of differences"),
    _percentage("human_tied", "human tied %"),
    # Scores of systems, and differences between them.
    Statistic("score", digits=4, better="higher"),
    _share("precision", chance=None, digits=4),
    _share("recall", chance=None, digits=4),
    _share("f0.5", "F0.5", "F0.5", chance=None, digits=4),
    _count("rank"),
    Statistic("ranks"),
    _p_value("p"),
    _p_value("adjusted", "p (Holm)"),
    _p_value("p_next", "p to next"),
    _p_value("p_best", "p to best"),
    Statistic("difference", better="higher"),
    Statistic("cost", digits=5),
    Statistic("partner_mass", "partner's mass"),
    Statistic("mean"),
    # Edits, rows of data, and columns of text.
    Statistic("side", " "),
    # Beside the figures.
    _count(
        "missing",
        "missing",
        "Sentence scores that are not available. They are left out and count neither as zero nor "
        "as a tie.",
    ),
    Statistic("seconds", "s", digits=1),
)

CATALOGUE = {entry.key: entry for entry in _ENTRIES}
"""The entries by key: those above, and those that studies register."""


def register(*entries: Statistic) -> None:
    """Add the entries of a study, which only its own tables and figures need."""
    CATALOGUE.update((entry.key, entry) for entry in entries)


def statistic(key: str, place: str = "") -> Statistic:
    """Return the entry of a key; an empty one if the column is not a statistic, such as `metric`.

    Args:
        key: key in records.
        place: a level or a table in which the key may have an entry of its own.
    """
    entry = CATALOGUE.get(f"{place}.{key}") or CATALOGUE.get(key)
    return entry or Statistic(key)
