"""What `compare` asks of a benchmark, and what it says of its ratings and judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.benchmarks import View
    from gecjury.metaeval import Result, Study
    from gecjury.report import Table
    from gecjury.scorer import Scorer
    from gecjury.scoretable import ScoreTable

__all__ = ["check_benchmark", "rating_tables", "with_caveats"]


def check_benchmark(
    study: Study, views: Sequence[View], scorers: Sequence[Scorer], level: str
) -> None:
    """Refuse, before any scoring, what a benchmark cannot give.

    Raises:
        InputError: a metric needs what it lacks, or nothing of the level can be computed.
    """
    from gecjury.caveats import check_study, need_message
    from gecjury.errors import InputError

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
    document: dict[str, Any],
) -> Table:
    """The main table with what its readers must know; the document gets it as `caveats`.

    That is what the metrics noted (of leakage, say), and what the judgments and results call for.

    Raises:
        InputError: no metric scored anything that was judged.
    """
    from dataclasses import replace

    from gecjury.caveats import caveats, check_scored

    check_scored(results)
    noted = dict.fromkeys(note for part in scored for note in part.statistics.notes)
    document["caveats"] = [*noted, *caveats(study, views, results)]
    return replace(table, notes=[*table.notes, *document["caveats"]])


def rating_tables(
    study: Study, tables: Sequence[ScoreTable], results: Sequence[Result], document: dict[str, Any]
) -> list[Table]:
    """How scores of single corrections follow their ratings, by aspect; none without ratings.

    Args:
        study: benchmark and settings.
        tables: scores of each metric.
        results: what the study found; the system scores are read.
        document: gets the rows as `ratings`.
    """
    benchmark = study.benchmark
    if not benchmark.rated or not tables:
        return []
    from dataclasses import asdict

    from gecjury.chance import chance_scores
    from gecjury.ratings import one_rater, rating_agreement
    from gecjury.report import Column, Table

    scores = {result.signature: result.scores for result in results}
    parts = [
        (
            table.signature.label,
            table.signature.family,
            rating_agreement(benchmark, table.sentences, scores[str(table.signature)]),
        )
        for table in tables
    ]
    for name, sentences in chance_scores(benchmark.corpus, study.seed).items():
        if name == "constant":
            continue  # Nothing is defined.
        means = study.system_scores(sentences, sentences.mean(axis=1))
        parts.append((name, "chance", rating_agreement(benchmark, sentences, means)))
    parts.append(("one rater", "humans", one_rater(benchmark)))
    rows = [
        {"metric": label, "family": family, **asdict(found)}
        for label, family, agreements in parts
        for found in agreements
    ]
    document["ratings"] = rows
    columns = [
        Column("metric"),
        Column("family"),
        Column("aspect"),
        Column("pearson", "r"),
        Column("spearman", "ρ"),
        Column("kendall", "τ"),
        Column("within", "τ in source"),
        Column("sources"),
        Column("outputs"),
        Column("missing"),
        Column("system_pearson", "r sys"),
        Column("system_spearman", "ρ sys"),
    ]
    notes = [
        "over single corrections and their mean ratings; a correction that several systems made "
        "counts once; τ in source: mean over the sources",
        *(
            ["one rater: against the mean of the others, which is less steady than that of all"]
            if benchmark.raters
            else []
        ),
    ]
    return [Table(columns, rows, "Ratings of single corrections", notes)]
