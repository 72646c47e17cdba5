"""Explanations of terms on the comparison page, and the papers of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gecjury.core.errors import MissingExtraError, OptionError
from gecjury.report.citations import address_of
from gecjury.scoring.registry import scorer_class
from gecjury.stats.catalogue import CATALOGUE, Statistic, register

register(
    Statistic(
        "page.seconds",
        "seconds",
        digits=1,
        meaning="Scoring time in this run; – if stored scores were read.",
    )
)

_TERMS = {
    "r": "pearson",
    "rho": "spearman",
    "tau": "kendall",
    "pairs": "pairwise_accuracy",
    "spa": "spa",
    "accuracy": "accuracy",
    "tied": "tied_share",
    "cluster": "cluster",
    "missing": "missing",
    "auc": "auc",
    "ap": "average_precision",
    "threshold": "edit.accuracy",
    "seconds": "page.seconds",
}

TERMS: Mapping[str, tuple[str, str]] = {
    anchor: (entry.heading or entry.key, entry.meaning)
    for anchor, key in _TERMS.items()
    if (entry := CATALOGUE[key])
} | {
    "interval": (
        "[low, high]",
        "Bootstrap interval: how far the value varies when sentences or systems are resampled. A "
        "new study may fall outside. Paired: of a difference, with both metrics on the same draws.",
    ),
    "people": (
        "two annotators",
        "How often two people agree on a pair that both judged. That is not an upper "
        "bound: a metric that is always right may agree with them more often.",
    ),
}
"""Terms as tables spell them, and a sentence or two on their meaning, by the card's anchor."""


def metric_names(signatures: Iterable[str]) -> list[tuple[str, str, str, str]]:
    """Return the metrics of signatures, each once; those that are not registered are left out.

    Returns:
        The name on the command line, its summary, author and year of the paper, and its address,
        which is "" if there is none.
    """
    plain = [signature.partition("|")[0] for signature in signatures]
    metrics = []
    for name in dict.fromkeys(label.partition(":")[0] for label in plain):
        try:
            scorer = scorer_class(name)
        except (OptionError, MissingExtraError):
            continue
        metrics.append((name, scorer.summary, scorer.paper, address_of(name)))
    return metrics
