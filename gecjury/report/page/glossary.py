"""Explanations of terms on the comparison page, and full names and papers of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gecjury.core.errors import MissingExtraError, OptionError
from gecjury.report.citations import address_of
from gecjury.scoring.registry import scorer_class

TERMS: Mapping[str, tuple[str, str]] = {
    "r": (
        "r",
        "Pearson correlation between a metric’s scores of the systems and those of people: 1 is a "
        "rising straight line, 0 unrelated, −1 reversed.",
    ),
    "rho": ("ρ", "Spearman: r of the ranks; only the order of the systems counts."),
    "tau": (
        "τ",
        "Kendall: pairs that metric and people put in the same order, minus the others, divided by "
        "all pairs.",
    ),
    "pairs": (
        "pair acc",
        "Share of the pairs of systems that metric and people put in the same order, 0 to 1.",
    ),
    "spa": (
        "SPA",
        "Soft pairwise accuracy: how close a metric’s certainty about each pair of systems is to "
        "that of people, 0 to 1. A pair that people cannot distinguish costs little.",
    ),
    "accuracy": (
        "accuracy",
        "Share of the pairs of corrections of the same sentence that are in the order that a "
        "person gave, 0 to 1; chance is 0.5. τ: share of right pairs minus share of wrong pairs.",
    ),
    "tied": ("tied %", "Share of these pairs to which the metric gave equal scores."),
    "cluster": (
        "cluster",
        "From the best metric down, a new cluster begins with the first metric that is "
        "significantly worse than one of the previous cluster. Differences within a cluster are "
        "not significant.",
    ),
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
    "missing": (
        "missing",
        "Sentence scores that are not available. They are left out and count neither as zero nor "
        "as a tie.",
    ),
    "auc": (
        "AUC",
        "How often a valid edit gets more credit than an invalid one; ties count one half; 0.5 is "
        "chance.",
    ),
    "ap": ("AP", "Average precision of finding the valid, or the invalid, edits."),
    "threshold": (
        "accuracy of edits",
        "At a threshold found on the other half of the data, unless the metric has its own; "
        "balanced: mean over valid and invalid edits.",
    ),
    "seconds": ("seconds", "Scoring time in this run; 0 if stored scores were read."),
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


def metric_names(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Return the metrics of rows, each once; metrics that are not registered are left out.

    Returns:
        The name on the command line; the full name, or a description; author and year of the paper
        and its address, "" if there is none.
    """
    plain = [str(row.get("signature") or row["metric"]).partition("|")[0] for row in rows]
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
