"""Comparison of people with metrics: both are measured against single annotators.

At system level each annotator's own scores of the systems, and the metrics' scores, are compared
with the scores computed from the judgments of all other annotators; figures are means over the
annotators. At sentence level only pairs that two annotators judged are used: one annotator, and
every metric, is compared with the judgment of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from gecjury.benchmarks.judgments import judged_entries
from gecjury.benchmarks.table import View
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.metaeval.ratings import against_rest
from gecjury.metaeval.study import LEAST_SENTENCES, AgreementRow, MetaEvaluation, mean_by_rater
from gecjury.metaeval.uncertainty import LEAST_SYSTEMS, Draws, resampled_human_scores
from gecjury.stats.bootstrap import figure_interval
from gecjury.stats.correlation import MEASURES, correlations
from gecjury.stats.counts import ratio
from gecjury.stats.permutation import cluster_ranks, holm_matrix, perm_systems
from gecjury.stats.preferences import (
    PairOutcomes,
    drawn_sums,
    outcomes_by_pair,
    pair_outcomes,
)

PEOPLE = "two annotators"
"""Label of the row of people."""
COUNTS = ("annotators", "judgments")
LEVELS = ("system", "sentence")


@dataclass
class _ViewFigures:
    """The figures of one view, with one value for each metric, then people.

    Attributes:
        figures: figures and their draws, rows × draws.
        counts: numbers of annotators and judgments.
        clusters: clusters by level.
    """

    figures: dict[str, tuple[FloatArray, FloatArray | None]] = field(default_factory=dict)
    counts: dict[str, Sequence[int]] = field(default_factory=dict)
    clusters: dict[str, Sequence[int | None]] = field(default_factory=dict)


def among_people(measured: Draws) -> tuple[AgreementRow, ...]:
    """Return a row for each metric, then chance, then people, by view.

    Of the values, those of systems (`pearson`, `spearman`, ...) compare scores with the others'
    scores and are means over `annotators`; `accuracy`, 0 to 1, is that on the pairs that two
    annotators judged, `relative` is `accuracy` divided by that of two annotators, and `judgments`
    counts two for each pair. A figure without data is NaN.

    A view has rows if two annotators judged the same pairs, or if each of several annotators
    judged enough for scores of systems.

    Args:
        measured: the metrics, then the chance baselines, with their draws.
    """
    study, level = measured.study, measured.study.settings.level
    rows: list[AgreementRow] = []
    for view in study.views:
        if not study.benchmark.rankings.get(view):
            continue
        of_view = _ViewFigures()
        if level in ("system", "all"):
            _over_systems(measured, view, of_view)
        if level in ("sentence", "all"):
            _over_pairs(measured, view, of_view)
        if of_view.figures:
            rows += _rows(measured, view, of_view)
    return tuple(rows)


def _rows(measured: Draws, view: View, of_view: _ViewFigures) -> Iterator[AgreementRow]:
    """Yield the rows of one view from figures, (rows,), with their draws, rows × draws."""
    confidence = measured.study.settings.resampling.confidence
    signatures = [entry.table.signature for entry in measured.entries]
    names = [(about.label, about.family) for about in signatures] + [(PEOPLE, "humans")]
    undefined = dict.fromkeys((*MEASURES, "accuracy", "relative"), math.nan)
    undefined |= dict.fromkeys(COUNTS, 0)
    for row, (label, family) in enumerate(names):
        values = {name: float(observed[row]) for name, (observed, _) in of_view.figures.items()}
        bounds = {
            name: figure_interval(drawn[row], confidence, values[name])[0]
            for name, (_, drawn) in of_view.figures.items()
            if drawn is not None
        }
        values |= {name: column[row] for name, column in of_view.counts.items()}
        ranks = {level: column[row] for level, column in of_view.clusters.items()}
        ranks = dict.fromkeys(LEVELS) | ranks
        made = AgreementRow("annotators", label, family, view, undefined | values, clusters=ranks)
        yield replace(made, intervals=bounds)


def _over_systems(measured: Draws, view: View, of_view: _ViewFigures) -> None:
    """Add figures of the system level: means over annotators of correlations with the others."""
    study = measured.study
    settings, over = study.settings, study.settings.resampling.over
    draws = None
    if over != "none" and len(study.benchmark.corpus) >= LEAST_SENTENCES:
        draws = measured.draws_of(view, over)
    once = np.ones((1, len(study.benchmark.corpus)))
    parts: list[tuple[dict[str, FloatArray], dict[str, FloatArray] | None]] = []
    tests: list[FloatArray] = []
    metrics = _metrics(measured)
    # SPA needs scores of single sentences, which a person does not give.
    statistic = "pearson" if settings.statistic == "spa" else settings.statistic
    for person in _people(study, view, once if draws is None else draws.counts):
        scored = ~np.isnan(study.human(view) + person.own + person.others)
        plain = measured.plain_scores[:, 0]
        if not _varies(person.own, scored) or not _varies(person.others, scored):
            continue
        whole = np.vstack([plain, person.own])
        observed = correlations(person.others[None, scored], whole[:, scored])
        drawn = None
        if draws is not None and (draws.systems is None or scored.sum() >= LEAST_SYSTEMS):
            judged = slice(None) if draws.systems is not None else scored
            made = [
                correlations(person.others_drawn[:, judged], row[:, judged], draws.systems)
                for row in (*measured.scores, person.own_drawn)
            ]
            drawn = {name: np.stack([one[name] for one in made]) for name in observed}
        parts.append((observed, drawn))
        if over != "none":
            tests.append(
                perm_systems(
                    person.others[scored],
                    whole[[*metrics, len(plain)]][:, scored],
                    statistic=statistic,
                    permutations=settings.resampling.permutations,
                    seed=settings.seed,
                )[1]
            )
    if not parts:
        return
    for name in parts[0][0]:
        draws_of_all = [drawn[name] for _, drawn in parts if drawn is not None]
        mean = np.mean([observed[name] for observed, _ in parts], axis=0)
        of_view.figures[name] = mean, np.mean(draws_of_all, axis=0) if draws_of_all else None
    of_view.counts["annotators"] = [len(parts)] * (len(measured.entries) + 1)
    if tests:
        # Twice the mean of p-values is a valid p-value under any dependence (Vovk and Wang 2020).
        p = np.minimum(2 * np.mean(tests, axis=0), 1)
        of_view.clusters["system"] = _clusters(measured, of_view.figures[statistic][0], p)


def _over_pairs(measured: Draws, view: View, of_view: _ViewFigures) -> None:
    """Add figures of the pairs that two annotators judged, for metrics and people."""
    study, over = measured.study, measured.study.settings.resampling.over
    first, second, sentence, outcomes = _twice_judged(measured, view)
    if not len(sentence):
        return
    sums = [outcomes_by_pair(outcome)[::2] for outcome in outcomes]
    right, used = (np.array([part.sum() for part in side]) for side in zip(*sums, strict=True))
    accuracy = ratio(right, used, np.nan)
    people = len(outcomes) - 1  # their row comes after those of the metrics
    drawn = relative = None
    if over != "none" and len(study.benchmark.corpus) >= LEAST_SENTENCES:
        draws = measured.draws_of(view, over)
        at = sentence, first, second, draws.counts, draws.multiplicity
        drawn = np.stack([ratio(drawn_sums(r, *at), drawn_sums(u, *at), np.nan) for r, u in sums])
        relative = ratio(drawn, np.broadcast_to(drawn[people], drawn.shape), np.nan)
    of_view.figures["accuracy"] = accuracy, drawn
    of_view.figures["relative"] = ratio(accuracy, accuracy[people], np.nan), relative
    of_view.counts["judgments"] = [int(count) for count in used]
    if over != "none":
        tested = [outcomes[row] for row in (*_metrics(measured), people)]
        _, p = measured.paired_test([(sentence, tested)], len(tested))
        of_view.clusters["sentence"] = _clusters(measured, accuracy, p)


def _twice_judged(
    measured: Draws, view: View
) -> tuple[IntArray, IntArray, IntArray, list[PairOutcomes]]:
    """Return both systems and the sentence of each judgment, and outcomes of metrics and people."""
    study, ties = measured.study, measured.study.settings.ties
    columns: list[tuple[IntArray, ...]] = []
    sides: list[list[tuple[FloatArray, FloatArray]]] = []
    for pairs, rows in study.doubly_judged[view]:
        chosen = pairs.select(rows)
        columns.append((chosen.first, chosen.second, chosen.sentence, chosen.preference))
        scores = [study.sides(view, entry.table, chosen) for entry in measured.entries]
        # Judgments of the first annotators come before those of the second, in the same order. The
        # other annotator's preference is the answer of a person.
        other = np.roll(chosen.preference, len(rows) // 2).astype(np.float64)
        sides.append([*scores, (other, np.zeros(len(other)))])
    if not columns:
        none = np.zeros(0, dtype=np.int64)
        return none, none, none, []
    first, second, sentence, preference = (
        np.concatenate(column) for column in zip(*columns, strict=True)
    )
    outcomes = []
    for of_row in zip(*sides, strict=True):
        left, right = (np.concatenate([part[side] for part in of_row]) for side in (0, 1))
        outcomes.append(pair_outcomes(preference, left, right, ties=ties))
    return first, second, sentence, outcomes


class _Person(NamedTuple):
    """Scores of systems by one annotator, and from the judgments of all others.

    Attributes:
        own: the annotator's, over all sentences, (systems,).
        others: likewise those of the others.
        own_drawn: the annotator's on every draw, draws × systems.
        others_drawn: likewise those of the others.
    """

    own: FloatArray
    others: FloatArray
    own_drawn: FloatArray
    others_drawn: FloatArray


def _people(study: MetaEvaluation, view: View, counts: FloatArray) -> Iterator[_Person]:
    """Yield the scores of each annotator; `counts` are those of the draws, draws × sentences."""
    benchmark, kind = study.benchmark, study.human_kind(view)
    counts = np.vstack([np.ones((1, counts.shape[1])), counts])
    if kind == "mean" and benchmark.raters:
        tables = mean_by_rater(benchmark.raters)
        for sides in against_rest(tables) if len(tables) > 1 else ():
            drawn = [
                resampled_human_scores(replace(benchmark, segment_scores=side), kind, None, counts)
                for side in sides
            ]
            yield from _both(*drawn)
        return
    items, names = study.rankings_by_people(view), benchmark.corpus.names
    people = dict.fromkeys(item.annotator for item in items)
    for name in people if len(people) > 1 else ():
        own = judged_entries([item for item in items if item.annotator == name], names)
        rest = judged_entries([item for item in items if item.annotator != name], names)
        # Rankings have no mean ratings, but they give shares of wins.
        how = "expected-wins" if kind == "mean" else kind
        yield from _both(
            *(resampled_human_scores(benchmark, how, side, counts) for side in (own, rest))
        )


def _both(own: FloatArray | None, others: FloatArray | None) -> Iterator[_Person]:
    """Yield the scores if both arrays exist, whose first row is over all sentences."""
    if own is not None and others is not None:
        yield _Person(own[0], others[0], own[1:], others[1:])


def _varies(scores: FloatArray, scored: BoolArray) -> bool:
    """Return True if at least three systems have a score, and not all scores are equal."""
    values = scores[scored]
    return len(values) > 2 and bool((values != values[0]).any())


def _metrics(measured: Draws) -> list[int]:
    """Return the indices of the entries that are tested: all except chance."""
    families = [entry.table.signature.family for entry in measured.entries]
    return [row for row, family in enumerate(families) if family != "chance"]


def _clusters(measured: Draws, values: FloatArray, p: FloatArray) -> list[int | None]:
    """Return clusters of metrics and people, in the order of all rows; None for chance."""
    places = [*_metrics(measured), len(measured.entries)]
    level = measured.study.settings.resampling.level
    clusters: list[int | None] = [None] * (len(measured.entries) + 1)
    for place, cluster in zip(
        places, cluster_ranks(values[places], holm_matrix(p), level), strict=True
    ):
        clusters[place] = cluster
    return clusters
