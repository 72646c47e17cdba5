"""Labels of whole corrections, compared with scores by their AUC.

Do good corrections score above bad ones?

The AUC of a class of bad corrections is the probability that a good correction scores above a bad
one, ties one half. It compares corrections of different sources, so a score must have the same
meaning for all of them. Intervals come from resampled sources with all their corrections.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gecjury.benchmarks.benchmark import CorrectionLabels
from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, blocks
from gecjury.metaeval.edits.measures import weighted_ranking
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.scoring.scores import ScoreTable

ANY = "any"
"""The class of all bad corrections together."""


def compare_labels(study: MetaEvaluation, tables: Sequence[ScoreTable]) -> list[AgreementRow]:
    """Return the AUC of scores against labels, by metric and class of bad corrections.

    None without labels, or if the level was not asked for.

    Args:
        study: the benchmark, and the settings of the resampling.
        tables: the scores of the metrics.
    """
    labels, counts = study.benchmark.labels, study.drawn_counts
    if labels is None or not tables or study.settings.level == "system":
        return []
    rows = []
    for table in (*tables, *study.chance_tables):
        if (table.signature.family, table.signature.metric) == ("chance", "constant"):
            continue  # Its AUC is always one half.
        for name, agreement, drawn in label_agreements(labels, table.sentences, counts):
            rows.append(study.row("label", table, name, agreement, drawn))
    return rows


def label_agreements(
    labels: CorrectionLabels, scores: FloatArray, counts: FloatArray | None
) -> Iterator[tuple[str, dict[str, float], dict[str, FloatArray]]]:
    """Compare scores with labels, by class of bad corrections.

    Args:
        labels: labels by system and sentence.
        scores: systems × sentences, higher for better corrections, NaN where there is none.
        counts: counts of each source in each draw, draws × sentences; None for no draws.

    Yields:
        `any` and each label of bad corrections, with `auc` and the numbers of `good` and `bad`
        `corrections` with a score and of both without one (`missing`); and `auc` on every draw. The
        AUC is NaN without good or bad corrections.
    """
    values = np.array(labels.values)
    good = values == labels.true
    classes: dict[str, BoolArray] = {ANY: np.isin(values, list(labels.false))}
    classes |= {name: values == name for name in labels.false}
    for name, bad in classes.items():
        compared = good | bad
        used = compared & ~np.isnan(scores)
        source = np.nonzero(used)[1]
        # The corrections are sorted once; a draw only changes their weights.
        order = np.argsort(scores[used], kind="stable")
        score, truth, source = scores[used][order], good[used][order], source[order]
        (auc,) = _aucs(score, truth, np.ones((1, len(score))))
        agreement = {
            "auc": float(auc),
            "good": int(truth.sum()),
            "bad": int((~truth).sum()),
            "corrections": len(truth),
            "missing": int(np.count_nonzero(compared & ~used)),
        }
        drawn = {}
        if counts is not None:
            parts = [
                _aucs(score, truth, counts[rows][:, source])
                for rows in blocks(len(counts), max(len(source), 1), BLOCK)
            ]
            drawn["auc"] = np.concatenate(parts)
        yield name, agreement, drawn


def _aucs(score: FloatArray, truth: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the AUC under each row's weights; NaN without good or bad corrections.

    Scores must be ascending.
    """
    if not len(score):
        return np.full(len(weights), np.nan)
    return weighted_ranking(score, truth, weights)[0]
