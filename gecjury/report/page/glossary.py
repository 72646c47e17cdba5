"""Meanings of words on the comparison page, and metrics by their full names and papers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gecjury.errors import MissingExtraError, OptionError
from gecjury.report.citations import CITED, entries
from gecjury.scoring.registry import METRICS, scorer_class


@dataclass(frozen=True)
class Term:
    """A word, and the card that explains it.

    Attributes:
        key: the card's anchor.
        word: spelling in tables.
        meaning: a sentence or two.
    """

    key: str
    word: str
    meaning: str


TERMS: tuple[Term, ...] = (
    Term(
        "r",
        "r",
        "Pearson correlation of the systems’ scores by a metric with those by people: 1 on a "
        "rising straight line, 0 unrelated, −1 reversed.",
    ),
    Term("rho", "ρ", "Spearman: r of the ranks; only the order of the systems counts."),
    Term("tau", "τ", "Kendall: pairs in the order of people minus the others, over all pairs."),
    Term("pairs", "pair acc.", "Share of the pairs of systems in the order of people, 0 to 1."),
    Term(
        "spa",
        "SPA",
        "Soft pairwise accuracy: how near a metric’s certainty about each pair of systems is to "
        "that of people, 0 to 1. A pair that people cannot tell apart costs little.",
    ),
    Term(
        "accuracy",
        "accuracy",
        "Share of the pairs of corrections of one sentence that stand in the order that a person "
        "gave; 0 to 1, a coin gives 0.5. τ beside it: right minus wrong.",
    ),
    Term("tied", "tied %", "Share of these pairs to which the metric gave equal scores."),
    Term(
        "cluster",
        "cluster",
        "From the best metric down, a new cluster begins with the first one that is significantly "
        "worse than one of the cluster before. Within a cluster nothing is told apart.",
    ),
    Term(
        "interval",
        "[low, high]",
        "Bootstrap interval: how far the value moves when sentences or systems are drawn anew. A "
        "new study may fall outside. Paired: of a difference, both metrics on the same draws.",
    ),
    Term(
        "people",
        "two annotators",
        "How often two people agree on a pair that both judged. That is no upper "
        "bound: a metric that is always right may agree with them more often.",
    ),
    Term(
        "missing",
        "missing",
        "Sentence scores that could not be had; left out, neither zero nor a tie.",
    ),
    Term(
        "auc",
        "AUC",
        "How often a valid edit gets more credit than an invalid one, ties one half; 0.5 is "
        "chance.",
    ),
    Term("ap", "AP", "Average precision of finding the valid, or the invalid, edits."),
    Term(
        "threshold",
        "accuracy of edits",
        "At a threshold found on the other half of the data, where the metric has none of its "
        "own; balanced: mean over valid and invalid edits.",
    ),
    Term("seconds", "seconds", "Time of scoring in this run, 0 where scores were read."),
)


def term(key: str) -> Term:
    """Return the term of a key.

    Raises:
        KeyError: there is none.
    """
    return {entry.key: entry for entry in TERMS}[key]


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


@dataclass(frozen=True)
class MetricName:
    """A metric's full name and paper.

    Attributes:
        name: name on the command line.
        words: the full name, or a description of the metric.
        paper: author and year, "" without one.
        address: address of the paper, "" where not known.
    """

    name: str
    words: str
    paper: str
    address: str


def metric_names(rows: Iterable[Mapping[str, Any]]) -> list[MetricName]:
    """Return the metrics of rows, each once; those that are not registered are left out."""
    plain = [str(row.get("signature") or row["metric"]).partition("|")[0] for row in rows]
    metrics = []
    for name in dict.fromkeys(label.partition(":")[0] for label in plain):
        try:
            scorer = scorer_class(name)
        except (OptionError, MissingExtraError):
            continue
        # Another package may not take the name of a metric of ours, so its paper is never ours.
        address = entries()[CITED[name][0]].address if name in METRICS else ""
        metrics.append(MetricName(name, NAMES.get(name, scorer.summary), scorer.paper, address))
    return metrics
