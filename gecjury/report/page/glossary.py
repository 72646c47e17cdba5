"""Explanations of terms on the comparison page, and full names and papers of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gecjury.core.errors import MissingExtraError, OptionError
from gecjury.report.citations import address_of
from gecjury.scoring.registry import scorer_class
from gecjury.stats.catalogue import CATALOGUE

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


NAMES: Mapping[str, str] = {
    "asano": "grammaticality, fluency and meaning preservation",
    "cleme": "Chunk-Level Multi-reference Evaluation",
    "cleme2": "Chunk-Level Multi-reference Evaluation 2.0",
    "errant": "Error Annotation Toolkit",
    "gleu": "Generalized Language Evaluation Understanding",
    "gleu-official": "Generalized Language Evaluation Understanding, authors’ script",
    "green": "n-gram F-score of edits",
    "i-measure": "Improvement Measure",
    "impara": "Impact-based Metric using Parallel Data",
    "llm-e": "language model as judge of edits",
    "llm-s": "language model as judge of sentences",
    "m2": "MaxMatch",
    "pt-errant": "ERRANT weighted by a pretrained metric",
    "pt-m2": "MaxMatch weighted by a pretrained metric",
    "scribendi": "Scribendi Score",
    "sent-errant": "Error Annotation Toolkit, mean over sentences",
    "sentm2": "MaxMatch, mean over sentences",
    "some": "Sub-metrics Optimized for Manual Evaluation",
    "uot-errant": "ERRANT by unbalanced optimal transport",
}
"""Full names or descriptions of metrics; for other metrics their own summary is shown."""


def metric_names(signatures: Iterable[str]) -> list[tuple[str, str, str, str]]:
    """Return the metrics of signatures, each once; those that are not registered are left out.

    Returns:
        The name on the command line; the full name, or a description; author and year of the paper
        and its address, "" if there is none.
    """
    plain = [signature.partition("|")[0] for signature in signatures]
    metrics = []
    for name in dict.fromkeys(label.partition(":")[0] for label in plain):
        try:
            scorer = scorer_class(name)
        except (OptionError, MissingExtraError):
            continue
        # Another package cannot use the name of a built-in metric.
        full = NAMES.get(name, scorer.summary)
        metrics.append((name, full, scorer.paper, address_of(name)))
    return metrics
