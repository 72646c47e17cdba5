"""Meanings of words on the comparison page, and metrics by their full names and papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gecjury.errors import MissingExtraError, OptionError
from gecjury.report.citations import CITED, entries
from gecjury.scoring.registry import METRICS, scorer_class

TERMS: Mapping[str, tuple[str, str]] = {
    "r": (
        "r",
        "Pearson correlation of the systems’ scores by a metric with those by people: 1 on a "
        "rising straight line, 0 unrelated, −1 reversed.",
    ),
    "rho": ("ρ", "Spearman: r of the ranks; only the order of the systems counts."),
    "tau": ("τ", "Kendall: pairs in the order of people minus the others, over all pairs."),
    "pairs": ("pair acc", "Share of the pairs of systems in the order of people, 0 to 1."),
    "spa": (
        "SPA",
        "Soft pairwise accuracy: how near a metric’s certainty about each pair of systems is to "
        "that of people, 0 to 1. A pair that people cannot tell apart costs little.",
    ),
    "accuracy": (
        "accuracy",
        "Share of the pairs of corrections of one sentence that stand in the order that a person "
        "gave; 0 to 1, a coin gives 0.5. τ beside it: right minus wrong.",
    ),
    "tied": ("tied %", "Share of these pairs to which the metric gave equal scores."),
    "cluster": (
        "cluster",
        "From the best metric down, a new cluster begins with the first one that is significantly "
        "worse than one of the cluster before. Within a cluster nothing is told apart.",
    ),
    "interval": (
        "[low, high]",
        "Bootstrap interval: how far the value moves when sentences or systems are drawn anew. A "
        "new study may fall outside. Paired: of a difference, both metrics on the same draws.",
    ),
    "people": (
        "two annotators",
        "How often two people agree on a pair that both judged. That is no upper "
        "bound: a metric that is always right may agree with them more often.",
    ),
    "missing": (
        "missing",
        "Sentence scores that could not be had; left out, neither zero nor a tie.",
    ),
    "auc": (
        "AUC",
        "How often a valid edit gets more credit than an invalid one, ties one half; 0.5 is "
        "chance.",
    ),
    "ap": ("AP", "Average precision of finding the valid, or the invalid, edits."),
    "threshold": (
        "accuracy of edits",
        "At a threshold found on the other half of the data, where the metric has none of its "
        "own; balanced: mean over valid and invalid edits.",
    ),
    "seconds": ("seconds", "Time of scoring in this run, 0 where scores were read."),
}
"""Words as tables spell them, and a sentence or two on what they mean, by the card's anchor."""


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
"""Meanings of metrics' names; for other metrics their own summary is shown."""


def metric_names(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Return the metrics of rows, each once; those that are not registered are left out.

    Returns:
        The name on the command line; the full name, or a description; author and year of the paper
        and its address, "" where there is none.
    """
    plain = [str(row.get("signature") or row["metric"]).partition("|")[0] for row in rows]
    metrics = []
    for name in dict.fromkeys(label.partition(":")[0] for label in plain):
        try:
            scorer = scorer_class(name)
        except (OptionError, MissingExtraError):
            continue
        # Another package may not take the name of a metric of ours, so its paper is never ours.
        address = entries()[CITED[name][0]].address if name in METRICS else ""
        metrics.append((name, NAMES.get(name, scorer.summary), scorer.paper, address))
    return metrics
