"""The edit level of a comparison: metrics' credits for single edits against annotators' verdicts.

`edit_metrics` chooses metrics before any scoring, so that a wrong option costs nothing
and `plan_edits` can count the requests to judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.arrays import FloatArray
from gecjury.metaeval.edits.cases import (
    annotator_pairs,
    baselines,
    edit_cases,
    unused_verdicts,
)
from gecjury.metaeval.edits.credit import credit_edits, credit_kind, plan_credit
from gecjury.metaeval.edits.measures import edit_agreement
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.scoring.abilities import CreditsEdits, EditJudge
from gecjury.scoring.scorer import Scorer, check_new_texts
from gecjury.scoring.scores import Plan

JUDGE = "one annotator by another"
"""The row of people at the level of edits."""

# Measures of a metric that are also computed on the edits and verdicts of the ceiling.
_BESIDE = ("auc", "average_precision", "average_precision_invalid", "balanced")


@dataclass(frozen=True)
class EditComparison:
    """The edit level of a comparison.

    Attributes:
        rows: metrics, baselines (`gecjury.metaeval.edits.cases.baselines`), and one annotator's
            verdicts against another's, whose values also have the number of `edits` with verdicts
            of more than one annotator, and of `pairs` of annotators on one edit, each counted in
            both directions. Values with the suffix `_there` are measured on these edits and
            verdicts; `seconds` is the time that credits took.
        edits: number of judged edits.
        corrections: number of corrections that contain them.
        sources: number of distinct texts that were corrected; intervals resample them.
        resamples: number of resamples for the intervals.
        untried: metrics that were left out because they would cost much.
        notes: remarks for the user.
    """

    rows: tuple[AgreementRow, ...]
    edits: int
    corrections: int
    sources: int
    resamples: int
    untried: tuple[str, ...]
    notes: tuple[str, ...]


def edit_metrics(
    scorers: Sequence[Scorer], benchmark: Benchmark, settings: Settings
) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
    """Choose the metrics to compare; none if the benchmark has no verdicts on edits.

    With `level="all"` only metrics that cost little are used: those that count edits without a
    neural model, and scorers that judge edits.

    Returns:
        The metrics, and the names of those that are left out because they would cost much.

    Raises:
        OptionError: a metric cannot credit single edits.
        DataError: the level was asked for and the benchmark has no verdicts.
    """
    asked = settings.level == "edit"
    if asked:
        for scorer in scorers:
            check_new_texts(scorer, "the edit level")
        benchmark.verdicts()
    if settings.level not in ("edit", "all") or not benchmark.has_verdicts:
        return (), ()
    chosen: list[Scorer] = []
    others: list[str] = []
    for scorer in scorers:
        if scorer.fixed:  # Credits need scores of texts without the edit.
            continue
        cheap = isinstance(scorer, CreditsEdits) and "torch" not in scorer.packages
        if asked or cheap or isinstance(scorer, EditJudge):
            credit_kind(scorer)
            chosen.append(scorer)
        else:
            others.append(scorer.name)
    return tuple(chosen), tuple(dict.fromkeys(others))


def plan_edits(study: MetaEvaluation) -> list[Plan]:
    """Return the requests that the edit level would send to paid services."""
    if not study.edit_metrics:
        return []
    benchmark = study.benchmark
    cases = edit_cases(benchmark)
    plans = [
        plan_credit(scorer, cases, benchmark.corpus, study.runtime) for scorer in study.edit_metrics
    ]
    return [plan for plan in plans if plan is not None]


def compare_edits(study: MetaEvaluation, folder: str | Path | None = None) -> EditComparison | None:
    """Credit every judged edit and compare the credits with the verdicts.

    Args:
        study: a benchmark with verdicts on edits, and the metrics; None is returned without any.
        folder: folder of score files; None for no files.

    Raises:
        InputError: the corpus lacks what a metric needs, or a score file is damaged.
        OutputError: a score file cannot be written.
    """
    if not study.edit_metrics:
        return None
    benchmark, settings, runtime = study.benchmark, study.settings, study.runtime
    cases = edit_cases(benchmark)
    notes = list(unused_verdicts(benchmark))
    short = {(c.row, c.source, c.correction) for c in cases if not c.complete}
    if short:
        notes.append(
            f"{len(short)} corrections have an edit whose verdict cannot be read; their other "
            "edits are credited without it"
        )
    # The ceiling uses the edits that several annotators judged; metrics are measured there too.
    pairs, verdicts, place = annotator_pairs(benchmark, cases)
    seed, resamples = settings.seed, settings.resampling.resamples

    def result(
        metric: str, family: str, kind: str, scores: FloatArray, **more: float
    ) -> AgreementRow:
        # A judge's verdict already says yes or no; other credits need a threshold.
        threshold = 0.5 if kind == "verdicts" else None
        row = edit_agreement(
            cases,
            scores,
            metric=metric,
            family=family,
            threshold=threshold,
            resamples=resamples,
            seed=seed,
        )
        there = edit_agreement(pairs, scores[place], threshold=None, seed=seed).values
        more |= {f"{key}_there": there[key] for key in _BESIDE}
        return replace(row, credit=kind, values={**row.values, **more})

    rows = []
    for scorer in study.edit_metrics:
        credited = credit_edits(scorer, cases, benchmark.corpus, runtime, folder)
        label, kind = scorer.signature(benchmark.corpus, runtime).label, credit_kind(scorer)
        seconds = float(credited.seconds)
        rows.append(result(label, scorer.family, kind, credited.values, seconds=seconds))
        notes.extend(credited.notes)
    chance = baselines(cases, seed).items()
    rows += [result(name, "chance", "", scores) for name, scores in chance]
    ceiling = edit_agreement(
        pairs, verdicts, metric=JUDGE, family="humans", resamples=resamples, seed=seed
    )
    sizes = {"edits": len(set(place.tolist())), "pairs": len(pairs)}
    own = {**ceiling.values, **sizes, "auc_there": ceiling.auc}
    return EditComparison(
        rows=(*rows, replace(ceiling, values=own)),
        edits=len(cases),
        corrections=len({(case.row, case.source, case.correction) for case in cases}),
        sources=len({case.source for case in cases}),
        resamples=resamples,
        untried=study.untried,
        notes=tuple(dict.fromkeys(notes)),
    )
