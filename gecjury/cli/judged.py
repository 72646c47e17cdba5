"""What `compare` asks of a benchmark, and what it says of its ratings and judgments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.ratings import RatingAgreement
    from gecjury.metaeval.study import Result, Study
    from gecjury.report.tables import Table
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable

__all__ = ["check_benchmark", "rating_tables", "with_caveats"]


def check_benchmark(
    study: Study, views: Sequence[View], scorers: Sequence[Scorer], level: str
) -> None:
    """Refuse, before any scoring, what a benchmark cannot give.

    Raises:
        InputError: a metric needs what it lacks, or nothing of the level can be computed.
    """
    from gecjury.errors import InputError
    from gecjury.metaeval.cautions import check_study, need_message

    check_study(study, views, level)
    for scorer in scorers:
        message = need_message(scorer.needs, scorer.name, study.benchmark)
        if message:
            raise InputError(message)
        scorer.check(study.benchmark.corpus)


def with_caveats(
    table: Table,
    study: Study,
    views: Sequence[View],
    scored: Sequence[ScoreTable],
    results: Sequence[Result],
    chance: Sequence[Result],
    document: dict[str, Any],
) -> Table:
    """The main table with what its readers must know; the document gets it as `caveats`.

    That is what the metrics noted (of leakage, say), and what the judgments and results call for.

    Raises:
        InputError: no metric scored anything that was judged.
    """
    from dataclasses import replace

    from gecjury.metaeval.cautions import caveats, check_scored

    check_scored(results)
    noted = dict.fromkeys(note for part in scored for note in part.statistics.notes)
    document["caveats"] = [*noted, *caveats(study, views, results, chance)]
    return replace(table, notes=[*table.notes, *document["caveats"]])


def rating_tables(
    args: argparse.Namespace,
    study: Study,
    tables: Sequence[ScoreTable],
    results: Sequence[Result],
    document: dict[str, Any],
) -> list[Table]:
    """How scores of single corrections follow their ratings, by aspect; none without ratings.

    Args:
        args: `resample`, `resamples` and `confidence` of the intervals, which draw sources.
        study: benchmark and settings.
        tables: scores of each metric.
        results: what the study found; the system scores are read.
        document: gets the rows as `ratings`.
    """
    benchmark = study.benchmark
    if not benchmark.rated or not tables:
        return []
    from gecjury.metaeval.chance import chance_scores
    from gecjury.metaeval.ratings import one_rater
    from gecjury.report.tables import Column, Table

    scores = {result.signature: result.scores for result in results}
    entries = [
        (t.signature.label, t.signature.family, t.sentences, scores[str(t.signature)])
        for t in tables
    ]
    for name, sentences in chance_scores(benchmark.corpus, study.seed).items():
        if name != "constant":  # Nothing of it is defined.
            means = study.system_scores(sentences, sentences.mean(axis=1))
            entries.append((name, "chance", sentences, means))
    rows = _rating_rows(args, study, entries)
    people = [_rating_row("one rater", "humans", found) for found in one_rater(benchmark)]
    rows += people
    document["ratings"] = rows
    columns = [
        Column("metric"),
        Column("family"),
        Column("aspect"),
        Column("pearson", "r", interval="pearson_ci"),
        Column("spearman", "ρ", interval="spearman_ci"),
        Column("kendall", "τ"),
        Column("within", "τ in source", interval="within_ci"),
        Column("sources"),
        Column("outputs"),
        Column("missing"),
        Column("system_pearson", "r sys"),
        Column("system_spearman", "ρ sys"),
    ]
    shown = [{**row, **{f"{k}_ci": v for k, v in row["ci95"].items()}} for row in rows]
    return [
        Table(columns, shown, "Ratings of single corrections", _rating_notes(args, bool(people)))
    ]


def _rating_rows(
    args: argparse.Namespace, study: Study, entries: Sequence[tuple[str, str, Any, Any]]
) -> list[dict[str, Any]]:
    """A row for each metric and aspect, with intervals unless they are not wanted."""
    from gecjury.metaeval.ratings import rating_agreement, resampled_ratings
    from gecjury.stats.bootstrap import interval, make_resampled

    benchmark = study.benchmark
    draws = None
    if args.resample in ("both", "sentences"):
        draws = make_resampled("sentences", args.resamples, len(benchmark.corpus), 1, args.seed)
    rows = []
    for label, family, sentences, means in entries:
        drawn = {} if draws is None else resampled_ratings(benchmark, sentences, draws.counts)
        for found in rating_agreement(benchmark, sentences, means):
            statistics = drawn.get(found.aspect, {})
            bounds = {k: interval(v, args.confidence)[0] for k, v in statistics.items()}
            rows.append({**_rating_row(label, family, found), "ci95": bounds})
    return rows


def _rating_row(label: str, family: str, found: RatingAgreement) -> dict[str, Any]:
    from dataclasses import asdict

    return {"metric": label, "family": family, **asdict(found), "ci95": {}}


def _rating_notes(args: argparse.Namespace, people: bool) -> list[str]:
    notes = [
        "over single corrections and their mean ratings; a correction that several systems made "
        "counts once; τ in source: mean over the sources"
    ]
    if args.resample in ("both", "sentences"):
        notes.append("[low, high]: bootstrap over sources, each with all its corrections")
    if people:
        notes.append("one rater: against the mean of the others, which is less steady than of all")
    return notes
