"""`gecjury maege`: metrics against chains of one annotator's edits, whose order is known."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from gecjury.cli.inputs import add_metrics, dry_run, language_from, load_scorers, runtime_from
from gecjury.cli.numbers import MOST_DRAWS, up_to
from gecjury.cli.parsers import CommandParser
from gecjury.experiments.maege.chains import MEANS, SourceChoice
from gecjury.experiments.maege.experiment import (
    CorpusScore,
    Maege,
    MaegeSettings,
    draw_texts,
    measure,
)
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "plans", "data")
    usual = MaegeSettings()
    parser.add_argument(
        "corpus",
        metavar="M2",
        nargs="+",
        help="conll14, geccc, geccc-dev, ua-gec, ua-gec-fluency, or M2 files of the same sentences "
        "(their annotators are put together)",
    )
    add_metrics(parser)
    parser.add_argument(
        "--references",
        nargs="+",
        default=[],
        metavar="SET",
        help="others (each chain against the other annotators), all (every annotator of the "
        "corpus), for conll14 8refs, 10refs or 18refs, or files; default: 8refs for conll14, "
        "otherwise others",
    )
    parser.add_argument(
        "--source",
        choices=get_args(SourceChoice),
        default=usual.source,
        help="what metrics see as the source: the learner's sentence (default), a random text of "
        "the chain, or those texts sorted, as the released program leaves them",
    )
    parser.add_argument(
        "--aggregate",
        choices=get_args(CorpusScore),
        default=usual.aggregate,
        help="a corpus' score: the metric's own (default), or the mean over its sentences, as in "
        "the released program",
    )
    parser.add_argument("--by-type", action="store_true", help="also score change by error type")
    parser.add_argument(
        "--seeds",
        type=up_to(10_000, least=0),
        default=usual.seeds,
        metavar="K",
        help=f"draws (default: {usual.seeds})",
    )
    parser.add_argument(
        "--seed", type=int, default=usual.seed, help=f"the first seed (default: {usual.seed})"
    )
    parser.add_argument(
        "--chains",
        type=up_to(10_000, least=0),
        default=usual.chains,
        metavar="K",
        help=f"chains an annotation (default: {usual.chains})",
    )
    parser.add_argument(
        "--sentences", type=int, metavar="N", help="use N sentences, drawn with the first seed"
    )
    parser.add_argument(
        "--means",
        type=float,
        nargs="+",
        metavar="X",
        help="mean edits a sentence of the corpora compared (default: 0 1 2 ... 10)",
    )
    parser.add_argument(
        "--variance",
        type=float,
        default=usual.variance,
        help=f"variance of the number of edits (default: {usual.variance})",
    )
    parser.add_argument(
        "--resamples",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.resamples,
        metavar="B",
        help=f"for intervals (default: {usual.resamples})",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Draw, score, measure, print."""
    scorers = load_scorers(args.metrics)
    for scorer in scorers:  # before the texts are drawn, which takes a while
        scorer.check_new_texts("maege")
    settings = MaegeSettings(
        references=tuple(args.references),
        source=args.source,
        aggregate=args.aggregate,
        by_type=args.by_type,
        seeds=args.seeds,
        seed=args.seed,
        chains=args.chains,
        sentences=args.sentences,
        means=tuple(args.means or MEANS),
        variance=args.variance,
        resamples=args.resamples,
    )
    told = any((args.lang, args.tokens, args.fold, args.tagger))
    language = language_from(args) if told else None
    drawn = draw_texts(args.corpus, settings, data=args.data, cache=args.cache, language=language)
    runtime = runtime_from(args)
    if runtime.dry_run:
        texts = drawn.pool.corpus(False, False, runtime)[0]
        dry_run([], texts, runtime, drawn.plans(scorers, runtime))
        return 0
    found = measure(drawn, scorers, folder=args.output, runtime=runtime)
    print_tables(tables(found), document(found), args.format)
    return 1 if found.unanswered else 0


def document(found: Maege) -> dict[str, Any]:
    """What JSON shows."""
    by_type = {"by_type": found.type_rows()} if found.drawn.settings.by_type else {}
    return {**found.about(), "rows": found.rows(), **by_type}


def tables(found: Maege) -> list[Table]:
    """What people see: correlations, and changes by error type if asked for."""
    shown = [_main_table(found)]
    return [*shown, _type_table(found)] if found.drawn.settings.by_type else shown


def _main_table(found: Maege) -> Table:
    columns = [
        Column("metric"),
        Column("family"),
        Column("corpus_pearson", "r corpus"),
        Column("corpus_spearman", "ρ corpus"),
        Column("pearson", "r sent"),
        Column("r95", "95%"),
        Column("kendall", "τ sent"),
        Column("t95", "95%"),
        Column("kendall_ties_agree", "τ, ties agree"),
        Column("tied", "tied %", 1),
        Column("missing"),
        Column("seconds", "s", 1),
    ]
    shown = [
        {
            **row,
            **row["sentence"],
            "missing": row["missing"],
            "corpus_pearson": row["corpus"]["pearson"],
            "corpus_spearman": row["corpus"]["spearman"],
            "r95": _range(row["sentence"]["ci95"]["pearson"]),
            "t95": _range(row["sentence"]["ci95"]["kendall"]),
            "tied": 100 * row["sentence"]["tied_share"],
        }
        for row in found.rows()
    ]
    about = found.about()
    left = "; ".join(f"{count} {reason}" for reason, count in about["left_out"].items())
    notes = [
        f"{about['chains']} chains with {about['texts']} texts a seed, {about['seeds']} seeds "
        f"averaged, {about['scored']} distinct texts scored; references "
        f"{about['references']} ({about['reference_count']}), source {about['source']}",
        f"corpus level: {len(about['means'])} corpora of growing quality, scored by "
        f"{'the mean of their sentences' if about['aggregate'] == 'mean' else 'the metric itself'}"
        f"; intervals: {about['resamples']} resamples of the sentences",
        *([f"left out: {left}"] if left else []),
        *found.notes,
        *(one.scores.signature for one in found.metrics),
    ]
    title = f"MAEGE on {' '.join(about['corpus'])}, {about['sentences']} sentences"
    return Table(columns, shown, title, notes)


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return f"{low:.3f} to {high:.3f}"


def _type_table(found: Maege) -> Table:
    """Score change by error type, types × metrics."""
    rows: dict[str, dict[str, Any]] = {}
    columns = [Column("type"), Column("edits")]
    for number, one in enumerate(found.metrics):
        columns += [Column(f"m{number}", one.scores.label), Column(f"e{number}", "±")]
        for kind, change in one.by_type.items():
            row = rows.setdefault(kind, {"type": kind, "edits": change.edits})
            row[f"m{number}"] = change.mean
            row[f"e{number}"] = change.error
    title = "Mean score change when one edit of a type is applied, with its standard error"
    return Table(columns, list(rows.values()), title)
