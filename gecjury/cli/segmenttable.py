"""The segment level of `gecjury compare`: accuracy with ties and correlations by group."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.arrays import FloatArray
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.segments import SegmentAgreement, Segments
    from gecjury.metaeval.study import Study
    from gecjury.report.tables import Table
    from gecjury.scoring.scores import ScoreTable

__all__ = ["add_grouping", "check_grouping", "segment_tables"]

GROUPINGS = ("item", "system", "none")


def add_grouping(parser: argparse.ArgumentParser) -> None:
    """Declare how corrections are grouped at segment level."""
    parser.add_argument(
        "--grouping",
        choices=GROUPINGS,
        help="segment level (acc_eq with its ε, τ-b, r): compare the corrections of one source, "
        "of one system, or all (default: item where corrections were rated, otherwise left out; "
        "rankings allow item alone)",
    )


def check_grouping(args: argparse.Namespace, study: Study, views: Sequence[View]) -> None:
    """Refuse a grouping that the level or the benchmark does not allow.

    Raises:
        OptionError: says what is missing.
    """
    from gecjury.errors import OptionError

    if args.grouping is None:
        return
    benchmark = study.benchmark
    if args.level in ("system", "edit"):
        raise OptionError(
            f"--grouping {args.grouping} with --level {args.level}: it is for the segment level; "
            "take --level sentence or all"
        )
    if benchmark.rated:
        return
    if not any(benchmark.rankings.get(view) for view in views):
        raise OptionError(
            f"--grouping {args.grouping}: {benchmark.name} has neither ratings nor rankings of "
            "single corrections; leave the option out"
        )
    if args.grouping != "item":
        raise OptionError(
            f"--grouping {args.grouping}: {benchmark.name} has rankings and no ratings, and ranks "
            "given in different rankings cannot be compared; take --grouping item, which compares "
            "within each ranking"
        )


def segment_tables(
    args: argparse.Namespace,
    study: Study,
    views: Sequence[View],
    tables: Sequence[ScoreTable],
    document: dict[str, Any],
) -> list[Table]:
    """The segment level, into the document as `segment` too; nothing where it was not asked for."""
    grouping = args.grouping or ("item" if study.benchmark.rated else None)
    if grouping is None or args.level in ("system", "edit") or not tables:
        return []
    from gecjury.report.tables import Column, Table

    rows = _rows(args, study, views, tables, grouping)
    what = "ratings" if study.benchmark.rated else "rankings"
    document["segment"] = {"grouping": grouping, "humans": what, "rows": rows}
    columns = [
        Column("metric"),
        Column("family"),
        Column("human"),
        Column("acc_eq", interval="acc_eq_ci"),
        Column("epsilon", "ε", 4),
        Column("acc_exact", "acc ε=0"),
        Column("kendall", "τ", interval="kendall_ci"),
        *([Column("pearson", "r", interval="pearson_ci")] if what == "ratings" else []),
        Column("groups"),
        Column("pairs"),
        Column("tied", "tied %", 1),
        Column("human_tied", "human tied %", 1),
        Column("missing"),
    ]
    shown = [_shown(row) for row in rows]
    title = f"Segment level by {what}, grouping: {grouping}"
    return [Table(columns, shown, title, _notes(args, study, grouping, what))]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    ends = {f"{key}_ci": bounds for key, bounds in row["ci95"].items()}
    shares = {"tied": row["tied_share"], "human_tied": row["human_tied_share"]}
    return {**row, **ends, **{k: None if v is None else 100 * v for k, v in shares.items()}}


def _rows(
    args: argparse.Namespace,
    study: Study,
    views: Sequence[View],
    tables: Sequence[ScoreTable],
    grouping: Any,
) -> list[dict[str, Any]]:
    """A row for each metric and aspect (or view), then chance, then people."""
    from gecjury.metaeval.chance import chance_scores
    from gecjury.metaeval.segments import (
        mean_rater,
        ranked_segments,
        rated_segments,
        two_annotators,
    )
    from gecjury.stats.bootstrap import make_resampled

    benchmark = study.benchmark
    counts = None
    if args.resample in ("both", "sentences"):
        counts = make_resampled(
            "sentences", args.resamples, len(benchmark.corpus), 1, args.seed
        ).counts
    entries: list[tuple[str, str, FloatArray, FloatArray | None]] = [
        (t.signature.label, t.signature.family, t.sentences, t.statistics.items) for t in tables
    ]
    chance = chance_scores(benchmark.corpus, study.seed)
    entries += [(name, "chance", sentences, None) for name, sentences in chance.items()]
    rows = []
    for label, family, sentences, items in entries:
        if benchmark.rated:
            for aspect, ratings in benchmark.rated.items():
                found = rated_segments(benchmark, ratings, sentences, grouping)
                rows.append(_row(args, label, family, aspect, found, counts))
            continue
        for view in (view for view in views if benchmark.rankings.get(view)):
            found = ranked_segments(study, view, sentences, items)
            rows.append(_row(args, label, family, view, found, counts))
    if benchmark.rated:
        for aspect in benchmark.rated:
            rater = mean_rater(benchmark, aspect, grouping)
            if rater is not None:
                rows.append(_entry("one rater", "humans", aspect, rater))
    else:
        for view in (view for view in views if benchmark.rankings.get(view)):
            both = two_annotators(study, view)
            if both.pairs:
                rows.append(_entry("two annotators", "ceiling", view, both))
    return rows


def _row(
    args: argparse.Namespace,
    label: str,
    family: str,
    human: str,
    found: Segments,
    counts: FloatArray | None,
) -> dict[str, Any]:
    from gecjury.stats.bootstrap import interval

    drawn = {} if counts is None else found.resampled(counts)
    bounds = {name: list(interval(v, args.confidence)[0]) for name, v in drawn.items()}
    return {**_entry(label, family, human, found.agreement()), "ci95": bounds}


def _entry(label: str, family: str, human: str, found: SegmentAgreement) -> dict[str, Any]:
    from dataclasses import asdict

    return {"metric": label, "family": family, "human": human, **asdict(found), "ci95": {}}


def _notes(args: argparse.Namespace, study: Study, grouping: str, what: str) -> list[str]:
    compared = {
        "item": "pairs of corrections of one source",
        "system": "pairs of outputs of one system",
        "none": "all pairs of corrections",
    }[grouping]
    if what == "rankings":
        compared = "pairs of corrections in one ranking"
    notes = [
        f"acc_eq: {compared}, human ties count, scores at most ε apart are a tie, ε the best for "
        "these pairs; acc ε=0: only equal scores are a tie; means over the groups, of τ and r over "
        "those that define it"
    ]
    if grouping != "system":
        notes.append("a correction that several systems made counts once")
    if what == "rankings":
        notes.append(
            "no r, and no other grouping: ranks are comparable within one ranking only; two "
            "annotators: equal judgments of the same two corrections, over all at once"
        )
    if args.resample in ("both", "sentences"):
        notes.append(
            "[low, high]: bootstrap over sources, ε chosen anew in every draw"
            if grouping == "item"
            else "[low, high]: bootstrap over sources, of r alone"
        )
    if any(len(raters) > 1 for raters in study.benchmark.raters.values()):
        notes.append("one rater: against the mean of the others, averaged over the raters")
    return notes
