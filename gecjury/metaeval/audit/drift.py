"""Drift of a metric's scores between two runs, e.g. runs of a hosted judge some weeks apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.metaeval.study import Row, Study
from gecjury.scoring.score_files import kept_scores
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.correlation import signs
from gecjury.stats.counts import ratio
from gecjury.stats.preferences import pair_outcomes, sums_by_sentence


@dataclass(frozen=True)
class EarlierRun:
    """A metric's scores of an earlier run.

    Attributes:
        table: the scores.
        date: the day on which their file was written (UTC), e.g. `2026-10-01`.
    """

    table: ScoreTable
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of a metric's scores since an earlier run, against one view of the judgments.

    Attributes:
        earlier: date of the earlier scores (UTC).
        scores: number of corrections that both runs scored; judges of sets count every set.
        equal: share of equal scores.
        mean: mean of the new scores minus the earlier scores, in the metric's points.
        pairs: number of judged pairs of different texts that both runs scored.
        flipped: share of these pairs with the opposite preference.
        changed: share of these pairs with a different preference, ties included.
        before: accuracy of the earlier scores on the pairs that both runs scored; 0 to 1.
        accuracy: accuracy of the new scores on the same pairs.
        difference: `accuracy` minus `before`.
    """

    earlier: str
    scores: int
    equal: float
    mean: float
    pairs: int
    flipped: float
    changed: float
    before: float
    accuracy: float
    difference: float


Drift = Row[Change]
"""A metric's drift against one view."""


def read_earlier(study: Study, metrics: Sequence[object], runtime: Runtime) -> list[EarlierRun]:
    """Return the earlier scores that the settings name, one entry per metric that has some.

    Args:
        study: the benchmark and the settings.
        metrics: scorers and finished scores; the latter have no earlier run.
        runtime: device, workers and the like.

    Raises:
        InputError: the folder has no scores of any of the metrics, or a file is damaged.
    """
    folder, corpus = study.settings.drift_from, study.benchmark.corpus
    if folder is None:
        return []
    scorers = [metric for metric in metrics if isinstance(metric, Scorer)]
    runs = []
    for scorer in scorers:
        if kept := kept_scores(scorer, corpus, folder, runtime):
            table, seconds = kept
            date = datetime.fromtimestamp(seconds, UTC).date().isoformat()
            runs.append(EarlierRun(table.settled(), date))
    if not runs:
        names = ", ".join(scorer.name for scorer in scorers) or "finished scores"
        state = "has no score file" if Path(folder).is_dir() else "is not a folder with score files"
        raise InputError(
            f"--drift-from {folder}: {state} of {names} with these options and texts; create it "
            f"with `gecjury compare {study.benchmark.name} -m METRIC -o {folder}`, which reads "
            "stored replies of a judge without asking it again"
        )
    return runs


def measure_drift(
    study: Study, views: Sequence[View], tables: Sequence[ScoreTable], earlier: Sequence[EarlierRun]
) -> tuple[Drift, ...]:
    """Return the drift of every metric with an earlier run, metric by metric and view by view.

    Args:
        study: the benchmark and the settings.
        views: views of the human judgments.
        tables: the new scores.
        earlier: the result of `read_earlier`.
    """
    now = {table.signature.key: table for table in tables}
    return tuple(
        _row(study, view, run, now[run.table.signature.key])
        for run in earlier
        for view in views
        if study.benchmark.rankings.get(view)
    )


def _scores(table: ScoreTable) -> FloatArray:
    """Return the scores as the metric gave them: those of sets if a judge scored sets."""
    items = table.statistics.items
    return table.sentences if items is None else items


def _row(study: Study, view: View, run: EarlierRun, table: ScoreTable) -> Drift:
    ties, lines = study.settings.ties, len(study.benchmark.corpus)
    pairs = flipped = changed = 0
    # For the earlier and the new scores, by sentence: agreements with people, and pairs that count
    # for the accuracy.
    won, used = np.zeros((2, lines)), np.zeros((2, lines))
    for part in study.parts(view):
        then, now = study.sides(view, run.table, part), study.sides(view, table, part)
        kept = ~(np.isnan(np.stack([*then, *now])).any(axis=0) | part.shared)
        before, after = (signs(*sides)[kept] for sides in (then, now))
        pairs += len(before)
        flipped += int(np.count_nonzero(before * after < 0))
        changed += int(np.count_nonzero(before != after))
        # The accuracies are over the decided pairs, as in `compare`.
        outcomes = [pair_outcomes(part.preference, *sides, ties=ties) for sides in (then, now)]
        sums = sums_by_sentence(outcomes[0], outcomes[1], part.sentence, lines)
        for total, more in zip((won, used), sums, strict=True):
            total += more
    old, new = _scores(run.table), _scores(table)
    gaps = (new - old)[~np.isnan(new - old)]
    accuracies = ratio(won.sum(axis=1), used.sum(axis=1), np.nan)
    before_, after_ = (float(accuracy) for accuracy in accuracies)
    change = Change(
        earlier=run.date,
        scores=len(gaps),
        equal=float((gaps == 0).mean()) if len(gaps) else float("nan"),
        mean=float(gaps.mean()) if len(gaps) else float("nan"),
        pairs=pairs,
        flipped=flipped / pairs if pairs else float("nan"),
        changed=changed / pairs if pairs else float("nan"),
        before=before_,
        accuracy=after_,
        difference=after_ - before_,
    )
    drawn: dict[str, FloatArray] = {}
    if (counts := study.drawn_counts) is not None and used.any():
        then_, now_ = (
            ratio(counts @ right, counts @ count, np.nan)
            for right, count in zip(won, used, strict=True)
        )
        drawn["difference"] = now_ - then_
    return study.row(table, view, change, drawn)
