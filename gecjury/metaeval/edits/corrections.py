"""Labels of whole corrections: the AUC of a metric's scores, and decisions by the scores.

The AUC of a class of bad corrections is the probability that a good correction scores above a bad
one, ties one half. It compares corrections of different sources, so a score must have the same
meaning for all of them. If a metric scores single texts, the gain over the score of the uncorrected
source is compared as well. Intervals come from resampled sources with all their corrections.

A decision keeps the corrections that score at least a threshold, in order to keep only good ones.
Labels, or ratings of at least a bound, define which are good. The threshold is learnt from other
sources than those on which it is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, CorrectionLabels
from gecjury.core.arrays import BLOCK, BoolArray, FloatArray, IntArray, blocks
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Version
from gecjury.metaeval.edits.measures import weighted_ranking
from gecjury.metaeval.ratings import RatedPoints, rated_points
from gecjury.metaeval.study import Row, Study
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.counts import f_beta, ratio
from gecjury.stats.grouped import grouped_pairs
from gecjury.stats.logistic import folds_of
from gecjury.stats.preferences import preference_agreement

ANY = "any"
"""The class of all bad corrections together."""

_FOLDS = 5  # of sources; each threshold is learnt from four of them
_BETA = 0.5  # keeping a bad correction is worse than losing a good one
FEW_BAD = 30
"""The AUC of a class with fewer corrections is reported with a caution."""


@dataclass(frozen=True, kw_only=True)
class LabelAgreement:
    """Scores against the labels of whole corrections, for one class of bad ones.

    Attributes:
        auc: probability that a good correction scores above a bad one; NaN without either.
        good: number of good corrections that have a score.
        bad: number of bad ones of the class that have a score.
        missing: number of corrections of both kinds without a score.
    """

    auc: float
    good: int
    bad: int
    missing: int


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Corrections kept by a threshold that was learnt from other sources.

    Attributes:
        precision: share of good corrections among those kept, 0 to 1; NaN if none is kept.
        recall: share of the good corrections that are kept.
        f: F0.5 of the two, which the threshold maximises on the other sources.
        kept: share of all corrections that are kept.
        threshold: the least score that is kept, learnt from all sources, for data without labels.
        better: share of the pairs of a good and a bad correction of one source in which the good
            one scores higher, ties one half; NaN without pairs.
        pairs: number of those pairs.
        good: number of good corrections with a score.
        bad: number of bad ones with a score.
        missing: number of corrections without a score.
    """

    precision: float
    recall: float
    f: float
    kept: float
    threshold: float
    better: float
    pairs: int
    good: int
    bad: int
    missing: int


Decided = Row[Decision]
"""One metric, by whose scores corrections are kept."""


Labelled = Row[LabelAgreement]
"""One metric against one class of bad corrections."""


@dataclass(frozen=True)
class LabelComparison:
    """Metrics against the labels of whole corrections.

    Attributes:
        labels: the annotators' labels.
        rows: metrics, then chance, for each class of bad corrections.
    """

    labels: CorrectionLabels
    rows: tuple[Labelled, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Count corrections by label, in the order of the labels."""
        labels = self.labels
        counter = Counter(value for line in labels.values for value in line if value)
        return {name: counter[name] for name in (labels.true, *labels.false, *labels.others)}

    @property
    def few(self) -> Mapping[str, int]:
        """Return the classes with few bad corrections, and their counts."""
        counts = self.counts
        return {name: counts[name] for name in self.labels.false if counts[name] < FEW_BAD}


def compare_labels(
    study: Study,
    metrics: Sequence[Scorer | ScoreTable],
    tables: Sequence[ScoreTable],
    runtime: Runtime,
) -> LabelComparison | None:
    """Return the AUC of scores against labels, by metric and class of bad corrections.

    None without labels, or if the level was not asked for.

    Args:
        study: the benchmark, and the settings of the resampling.
        metrics: the metrics compared.
        tables: the scores of each.
        runtime: device, workers and the like.
    """
    benchmark, counts = study.benchmark, study.drawn_counts
    labels = benchmark.labels
    if labels is None or not tables or study.settings.level == "system":
        return None
    rows = []
    for metric, table in zip(
        (*metrics, *study.chance_tables), (*tables, *study.chance_tables), strict=True
    ):
        if (table.signature.family, table.signature.metric) == ("chance", "constant"):
            continue  # Its AUC is always one half.
        kinds = {"score": table.sentences}
        sources = source_scores(metric, benchmark, runtime) if isinstance(metric, Scorer) else None
        if sources is not None:
            kinds["gain"] = table.sentences - sources
        for kind, scores in kinds.items():
            for name, agreement, drawn in label_agreements(labels, scores, counts):
                rows.append(study.row(table, name, agreement, drawn, kind))
    return LabelComparison(labels, tuple(rows))


def label_agreements(
    labels: CorrectionLabels, scores: FloatArray, counts: FloatArray | None
) -> Iterator[tuple[str, LabelAgreement, Mapping[str, FloatArray]]]:
    """Compare scores with labels, by class of bad corrections.

    Args:
        labels: labels by system and sentence.
        scores: systems × sentences, higher for better corrections, NaN where there is none.
        counts: counts of each source in each draw, draws × sentences; None for no draws.

    Yields:
        `any` and each label of bad corrections with its agreement, and `auc` on every draw, NaN
        where good or bad corrections were not drawn.
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
        agreement = LabelAgreement(
            auc=float(auc),
            good=int(truth.sum()),
            bad=int((~truth).sum()),
            missing=int(np.count_nonzero(compared & ~used)),
        )
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


def source_scores(scorer: Scorer, benchmark: Benchmark, runtime: Runtime) -> FloatArray | None:
    """Return a metric's scores of the uncorrected sources, shape (sentences,).

    None for a metric that cannot score a single new text (it scores hypotheses side by side, or has
    finished scores), or that would send more requests to a paid service.
    """
    if scorer.fixed or scorer.joint or "rivals" in scorer.needs:
        return None
    corpus = benchmark.corpus
    # The sources become the only system, and are scored like its corrections.
    version = Version(corpus.sources, text=corpus.source_text)
    corpus = replace(corpus, systems={"source": version}, groups=None)
    if scorer.plan(corpus, runtime) is not None:
        return None
    scores: FloatArray = scorer.score_corpus(corpus, runtime).sentences[0]
    return scores


def decisions(study: Study, tables: Sequence[ScoreTable]) -> tuple[Decided, ...]:
    """Return the results of keeping corrections by their scores, for metrics and then chance.

    There are none if it is not known which corrections are good, or if all are good or all bad. A
    metric that gives everything the same score keeps everything: `constant` is the baseline.
    """
    good = study.good
    if good is None or study.settings.level == "system":
        return ()
    _, of_source = np.unique(study.benchmark.corpus.sources, return_inverse=True)
    fold = folds_of(of_source, _FOLDS, study.settings.seed)
    rows = []
    for table in (*tables, *study.chance_tables):
        # A correction that several systems made counts once, as with ratings.
        points = rated_points(study.benchmark.corpus, good, table.sentences)
        if len(np.unique(points.ratings)) < 2 or len(np.unique(of_source[points.source])) < _FOLDS:
            continue
        decision, drawn = _decision(points, fold, study.drawn_counts)
        rows.append(study.row(table, "", decision, drawn))
    return tuple(rows)


def _decision(
    points: RatedPoints, fold: IntArray, counts: FloatArray | None
) -> tuple[Decision, dict[str, FloatArray]]:
    """Return a decision, and its figures on every draw of sources with fixed thresholds.

    Args:
        points: 1 for good and 0 for bad corrections, and their scores.
        fold: the fold of each source; its sources are tested with the threshold of all others.
        counts: counts of each source in each draw, draws × sentences; None for no draws.
    """
    truth, scores, source = points.ratings > 0, points.scores, points.source
    kept = np.zeros(len(scores), dtype=np.bool_)
    for number in range(_FOLDS):
        held = fold[source] == number
        kept[held] = scores[held] >= best_threshold(scores[~held], truth[~held])
    lines = points.scored.shape[1]
    # A draw needs only sums by source.
    right, held_back, chosen, every = (
        np.bincount(source, values, minlength=lines)
        for values in (kept & truth, truth, kept, np.ones(len(kept)))
    )

    def figures(weights: FloatArray) -> dict[str, FloatArray]:
        precision = ratio(weights @ right, weights @ chosen, np.nan)
        recall = ratio(weights @ right, weights @ held_back, np.nan)
        share = ratio(weights @ chosen, weights @ every, np.nan)
        f = f_beta(np.nan_to_num(precision), recall, _BETA)
        return {"precision": precision, "recall": recall, "f": f, "kept": share}

    human = np.where(points.scored, points.human, np.nan)
    pairs = grouped_pairs(human, points.metric, "item")
    decided = pairs.preference != 0
    outcome = preference_agreement(
        pairs.preference[decided], pairs.first[decided], pairs.second[decided]
    )
    whole = {name: float(values[0]) for name, values in figures(np.ones((1, lines))).items()}
    decision = Decision(
        **whole,
        threshold=best_threshold(scores, truth),
        better=outcome.accuracy,
        pairs=outcome.pairs,
        good=int(truth.sum()),
        bad=int((~truth).sum()),
        missing=points.missing,
    )
    return decision, {} if counts is None else figures(counts)


def best_threshold(scores: FloatArray, truth: BoolArray) -> float:
    """Return the least score to keep for the highest F0.5 of good corrections.

    If several thresholds give the highest, the largest is returned. Without good corrections
    nothing is kept, and the threshold is infinity.

    Args:
        scores: shape (n,), finite.
        truth: True for good corrections.
    """
    if not truth.any():
        return float("inf")
    order = np.argsort(-scores, kind="stable")
    right, kept = np.cumsum(truth[order]), np.arange(1, len(scores) + 1)
    f = f_beta(right / kept, right / right[-1], _BETA)
    # Equal scores are kept or dropped together, so a threshold must be where the score changes.
    ends = np.append(scores[order][1:] != scores[order][:-1], True)
    return float(scores[order][np.argmax(np.where(ends, f, -1.0))])
