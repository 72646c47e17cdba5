"""The edit level of `compare`: scorers that credit single edits against annotators' verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.benchmarks import Benchmark
    from gecjury.editlevel import EditScorer
    from gecjury.report import Table
    from gecjury.runtime import Runtime
    from gecjury.scorer import Plan, Scorer

__all__ = ["compare_edits", "edit_scorers", "plan_edits"]


def edit_scorers(scorers: list[Scorer], benchmark: Benchmark, level: str) -> list[EditScorer]:
    """The scorers to be tried at the edit level, where the benchmark has verdicts on edits.

    Raises:
        OptionError: the level was asked for and no scorer credits single edits.
        DataError: it was asked for and the benchmark has no verdicts.
    """
    from gecjury.editlevel import EditScorer
    from gecjury.errors import OptionError

    found: list[EditScorer] = [s for s in scorers if isinstance(s, EditScorer)]
    if level == "edit":
        if not found:
            raise OptionError(
                "--level edit: none of the metrics named credits single edits; choose system, "
                "sentence or all"
            )
        benchmark.verdicts()
    if level not in ("edit", "all") or not benchmark.has_verdicts:
        return []
    return found


def plan_edits(scorers: list[EditScorer], benchmark: Benchmark, runtime: Runtime) -> list[Plan]:
    """What the edit level would send to a paid service."""
    from gecjury.editlevel import edit_cases

    if not scorers:
        return []
    cases = edit_cases(benchmark)
    plans = [scorer.plan_edits(cases, runtime) for scorer in scorers]
    return [plan for plan in plans if plan is not None]


def compare_edits(
    scorers: list[EditScorer], benchmark: Benchmark, runtime: Runtime, document: dict[str, Any]
) -> tuple[list[Table], int]:
    """Score every judged edit; the table, and how many verdicts are missing.

    The document's rows of a metric take an entry `edit`; with no rows at all they are made.
    """
    from dataclasses import asdict

    from gecjury.editlevel import edit_agreement, edit_cases
    from gecjury.report import Column, Table

    if not scorers:
        return [], 0
    cases = edit_cases(benchmark)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    missing = 0
    for scorer in scorers:
        scores, report = scorer.edit_scores(cases, runtime)
        found = asdict(edit_agreement(cases, scores))
        missing += found["missing"]
        label = scorer.signature(benchmark.corpus, runtime).label
        mine = [row for row in document["rows"] if row["metric"] == label]
        if not mine:
            mine = [{"metric": label, "family": scorer.family, "human": "edit"}]
            document["rows"] += mine
        for row in mine:
            row["edit"] = found
        rows.append({"metric": label, "family": scorer.family, **found})
        notes += report.notes
    columns = [Column("metric"), Column("family")]
    columns += [Column(key) for key in ("auc", "accuracy", "balanced", "kappa", "cases")]
    columns += [Column("valid"), Column("missing")]
    title = f"{benchmark.name}: single edits against the annotators' verdicts"
    return [Table(columns, rows, title, notes)], missing
