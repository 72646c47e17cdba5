"""Preferences of metrics that people do not share, on the pairs that people judged.

In a pair of corrections of one source, one side may have more edits, have more tokens, or come from
a system of the judge's own model family. A preference for that side is not a bias in itself: people
may share it. The bias is the share of the pairs in which the metric prefers it minus the share in
which people do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import counted_edits
from gecjury.extraction.extract import corpus_edits
from gecjury.metaeval.audit.families import family_systems, model_families
from gecjury.metaeval.study import Row, Study
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import signs
from gecjury.stats.counts import ratio

Side = Literal["more edits", "longer text", "own family"]
"""The side of a pair for which a preference is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preference:
    """A metric's preference for one side of judged pairs, and people's on the same pairs.

    Attributes:
        side: the side.
        difference: `preferred` minus `people`, −1 to 1; 0 without a bias, NaN without pairs.
        preferred: share of the pairs in which the metric prefers that side, ties one half.
        people: share of the pairs in which people prefer it, ties one half.
        pairs: number of pairs whose sides differ, with both scores.
        missing: number of pairs whose sides differ, without a score.
        systems: systems of the judge's own family; empty for other sides.
    """

    side: Side
    difference: float
    preferred: float
    people: float
    pairs: int
    missing: int
    systems: tuple[str, ...] = ()


Bias = Row[Preference]
"""A metric's preference for one side against one view of the judgments."""


def measure_biases(
    study: Study, views: Sequence[View], tables: Sequence[ScoreTable], runtime: Runtime
) -> tuple[Bias, ...]:
    """Return the biases of the metrics that are audited, metric by metric and view by view.

    All metrics are audited if the settings ask for it, otherwise only those with an audit in their
    statistics (judges). A panel of judges has the families of all its models.

    Args:
        study: the benchmark and the settings.
        views: views of the human judgments.
        tables: scores, one table per metric.
        runtime: gives the cache of edits.
    """
    corpus, settings = study.benchmark.corpus, study.settings
    audited = [t for t in tables if settings.audit or "audit" in t.statistics.details]
    judged = [view for view in views if study.benchmark.rankings.get(view)]
    if not audited or not judged or settings.level not in ("sentence", "all"):
        return ()
    sizes = _sizes(corpus, runtime)
    rows = []
    for table in audited:
        sides: dict[Side, tuple[IntArray, tuple[str, ...]]] = {
            side: (size, ()) for side, size in sizes.items()
        }
        if "audit" in table.statistics.details:
            own = _own_systems(study, table)
            inside = np.array([name in own for name in corpus.names], dtype=np.int64)
            sides["own family"] = np.repeat(inside[:, None], len(corpus), axis=1), own
        for view in judged:
            rows += _rows(study, view, table, sides)
    return tuple(rows)


def _sizes(corpus: Corpus, runtime: Runtime) -> Mapping[Side, IntArray]:
    """Return the number of edits and of tokens of every correction, systems × sentences.

    Edits come from the files if they have some; otherwise they are extracted between tokens without
    a tagger: an audit only needs their number, in any language and without spaCy.
    """
    edits = corpus_edits(replace(corpus, references=()), "none", runtime).systems
    lines = [version.lines for version in corpus.systems.values()]
    return {
        "more edits": np.array(
            [[len(counted_edits(of_line)) for of_line in edits[name]] for name in edits]
        ),
        "longer text": np.array([[len(line.split()) for line in of_one] for of_one in lines]),
    }


def _own_systems(study: Study, table: ScoreTable) -> tuple[str, ...]:
    """Return the systems of a judge's model family: those in the settings, or those known."""
    if study.settings.own_systems:
        return study.settings.own_systems
    members = table.statistics.details["audit"]["members"]
    families = {family for one in members for family in model_families(str(one.get("model", "")))}
    benchmark = study.benchmark
    return family_systems(benchmark.name, benchmark.corpus.names, families)


def _rows(
    study: Study,
    view: View,
    table: ScoreTable,
    sides: Mapping[Side, tuple[IntArray, tuple[str, ...]]],
) -> list[Bias]:
    """Return a metric's biases against one view; a judge without own systems has no pairs there."""
    lines = len(study.benchmark.corpus)
    # By side and sentence: sums of metric and people (as −1, 0, 1), pairs, pairs without a score.
    sums = {side: np.zeros((4, lines)) for side in sides}
    for pairs in study.parts(view):
        first, second = study.sides(view, table, pairs)
        preferred, present = signs(first, second), ~(np.isnan(first) | np.isnan(second))
        for side, (size, _) in sides.items():
            toward = np.sign(size[pairs.first, pairs.sentence] - size[pairs.second, pairs.sentence])
            # Systems with the same text do not differ, so neither can be preferred.
            differ = (toward != 0) & ~pairs.shared
            scored = differ & present
            columns = (toward * preferred, toward * pairs.preference, scored, differ & ~scored)
            for total, column, kept in zip(
                sums[side], columns, (scored, scored, scored, differ), strict=True
            ):
                total += np.bincount(
                    pairs.sentence[kept], column[kept].astype(np.float64), minlength=lines
                )
    rows = []
    for side, (_, systems) in sides.items():
        metric, people, count, missing = sums[side]
        # A sign of −1, 0 or 1 is a share of 0, ½ or 1.
        shares = ((ratio(part.sum(), count.sum(), np.nan) + 1) / 2 for part in (metric, people))
        of_metric, of_people = (float(share) for share in shares)
        preference = Preference(
            side=side,
            difference=of_metric - of_people,
            preferred=of_metric,
            people=of_people,
            pairs=int(count.sum()),
            missing=int(missing.sum()),
            systems=systems,
        )
        drawn: dict[str, FloatArray] = {}
        if (counts := study.drawn_counts) is not None and count.any():
            gaps = counts @ (metric - people) / 2
            drawn["difference"] = ratio(gaps, counts @ count, np.nan)
        rows.append(study.row(table, view, preference, drawn))
    return rows
