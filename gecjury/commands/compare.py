"""`gecjury compare`: metrics of any family tried against a benchmark's human judgments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.commands.edit_level import add_edit_options
from gecjury.commands.inputs import add_metrics, audit_tables, dry_run, load_scorers
from gecjury.commands.judged import check_benchmark, rating_tables, with_caveats

if TYPE_CHECKING:
    from gecjury.benchmarks import Benchmark, View
    from gecjury.metaeval import Result, Study
    from gecjury.report import Table
    from gecjury.scoretable import ScoreTable

__all__ = ["add_arguments", "compare", "run"]

AGGREGATES = ("trueskill", "expected-wins", "corpus", "mean")
TIE_RULES = ("half", "official", "loss", "drop", "calibrated")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "benchmark",
        help="seeda, gjg15, gmeg-{dev,test}-{fce,wiki,yahoo}, jfleg, tmu-gfm[-test], sample, or a "
        "folder or .toml file of your own",
    )
    add_metrics(parser)
    add_study_options(parser)


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Declare what `compare` and `demo` share."""
    parser.add_argument(
        "--human",
        choices=("edit", "sentence", "both"),
        help="which human judgments (default: edit, where the benchmark has them)",
    )
    parser.add_argument("--systems", default="base", help="base, fluency, input or all")
    parser.add_argument(
        "--references",
        nargs="+",
        default=["official"],
        metavar="SET",
        help="a reference set of the benchmark, or files (default: official)",
    )
    parser.add_argument("--aggregate", choices=AGGREGATES, default="trueskill")
    parser.add_argument("--level", choices=("system", "sentence", "edit", "all"), default="all")
    parser.add_argument(
        "--ties",
        choices=TIE_RULES,
        default="half",
        help="what becomes of pairs that the metric ties at sentence level (default: half)",
    )
    parser.add_argument(
        "--human-scores",
        choices=("trueskill", "expected-wins", "mean"),
        help="human column at system level (default: trueskill, where the benchmark has it)",
    )
    parser.add_argument(
        "--shuffles",
        type=int,
        default=0,
        metavar="K",
        help="average TrueSkill over K seeded shuffles instead of one pass in file order",
    )
    parser.add_argument("--seed", type=int, default=0, help="of shuffles and the random metric")
    parser.add_argument(
        "--windows", action="store_true", help="also correlations over 4 and 8 adjacent systems"
    )
    parser.add_argument(
        "--pairwise", action="store_true", help="also agreement by pair of systems and of ranks"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")
    parser.add_argument("--html", metavar="FILE", help="write the comparison as one page, too")
    add_edit_options(parser)


def run(args: argparse.Namespace) -> int:
    """Load, score, compare, print."""
    return compare(args, args.benchmark, args.metrics)


def compare(args: argparse.Namespace, name: str, metrics: list[str]) -> int:
    """Compare metrics on a benchmark; shared with `demo`."""
    from gecjury.benchmarks import load_benchmark
    from gecjury.cli import runtime_from
    from gecjury.commands.edit_level import compare_edits, edit_tasks, plan_edits
    from gecjury.htmlreport import check_page, write_page
    from gecjury.metaeval import Study
    from gecjury.report import print_result
    from gecjury.scorefiles import check_writable, score_with_files

    scorers = load_scorers(metrics)
    view = None if args.human in (None, "both") else args.human
    benchmark = load_benchmark(
        name,
        systems=args.systems,
        references=args.references,
        view=view,
        data=args.data,
        cache=args.cache,
    )
    views = benchmark.views if args.human == "both" else (benchmark.view,)
    study = Study(benchmark, args.aggregate, args.ties, args.human_scores, args.shuffles, args.seed)
    for each in views:
        study.human(each)
    check_benchmark(study, views, scorers, args.level)
    runtime = runtime_from(args)
    crediting = edit_tasks(scorers, benchmark, args.level, args.credit)
    scored = [] if args.level == "edit" else scorers
    if runtime.dry_run:
        dry_run(scored, benchmark.corpus, runtime, plan_edits(crediting[0], benchmark, runtime))
        return 0
    if args.output:
        check_writable(args.output)
    if args.html:
        check_page(args.html)
    tables = [score_with_files(s, benchmark.corpus, args.output, runtime) for s in scored]
    results = [result for table in tables for result in study.evaluate(table, views)]
    chance = study.chance(views)
    shown = [_main_table(args, study, views, results, chance)]
    document = _document(args, study, views, results, chance)
    shown[0] = with_caveats(shown[0], study, views, tables, results, document)
    edit_tables, missing = compare_edits(crediting, benchmark, runtime, document, args)
    shown = [*(shown if scored else []), *edit_tables]
    shown += rating_tables(study, tables, results, document)
    shown += _audits(study, tables, results, document)
    if args.windows:
        shown += _window_tables(study, results, document)
    if args.pairwise:
        shown += _pairwise_tables(study, tables, views, document)
    if args.html:
        write_page(args.html, document, study, tables)
    print_result(shown, document, args.format)
    return 1 if missing or any(table.unanswered for table in tables) else 0


def _main_table(
    args: argparse.Namespace,
    study: Study,
    views: tuple[View, ...],
    results: list[Result],
    chance: list[Result],
) -> Table:
    from gecjury.report import Column, Table

    system = [
        Column("pearson", "r"),
        Column("spearman", "ρ"),
        Column("kendall", "τ sys"),
        Column("pairwise_accuracy", "pair acc"),
    ]
    sentence = [
        Column("accuracy", "sent acc"),
        Column("sentence_kendall", "τ sent"),
        Column("tied", "tied %", 1),
        Column("pairs"),
    ]
    columns = [Column("metric"), Column("family"), Column("human")]
    columns += system if args.level in ("system", "all") else []
    columns += sentence if args.level in ("sentence", "all") else []
    columns += [Column("missing"), Column("seconds", "s", 1)]
    rows = [_row(result) for result in (*results, *chance)]
    for view in views:
        ceiling = study.ceiling(view)
        if ceiling is not None:
            rows.append(
                {
                    "metric": "two annotators",
                    "family": "ceiling",
                    "human": view,
                    "accuracy": ceiling.accuracy,
                    "pairs": ceiling.decided,
                }
            )
    return Table(columns, rows, _title(study.benchmark), _notes(args, study, views, results))


def _row(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {
        "metric": result.label,
        "family": result.family,
        "human": result.view,
        "pearson": result.system.pearson,
        "spearman": result.system.spearman,
        "kendall": result.system.kendall,
        "pairwise_accuracy": result.system.pairwise_accuracy,
        "missing": result.missing,
        "seconds": result.seconds,
    }
    if result.sentence is not None:
        row |= {
            "accuracy": result.sentence.accuracy,
            "sentence_kendall": result.sentence.kendall,
            "tied": 100 * result.sentence.tied_share,
            "pairs": result.sentence.pairs,
        }
    return row


def _title(benchmark: Benchmark) -> str:
    warning = "SAMPLE, NOT EVIDENCE: " if benchmark.sample else ""
    return (
        f"{warning}{benchmark.name}, {len(benchmark.corpus.names)} systems "
        f"({benchmark.systems}), {len(benchmark.corpus)} sentences, "
        f"references {benchmark.references}"
    )


def _notes(
    args: argparse.Namespace, study: Study, views: tuple[View, ...], results: list[Result]
) -> list[str]:
    how = args.aggregate
    if how == "trueskill":
        how += (
            f" (mean of {args.shuffles} shuffles, seed {args.seed})"
            if args.shuffles
            else " (one pass in file order)"
        )
    kinds = ", ".join(sorted({study.human_kind(view) for view in views}))
    notes = [
        f"system level: metric by {how}, human {kinds}; "
        f"sentence level: ties={args.ties}, tied % of the pairs that humans decided",
    ]
    notes += [str(note) for note in study.benchmark.notes]
    return notes + list(dict.fromkeys(result.signature for result in results))


def _document(
    args: argparse.Namespace,
    study: Study,
    views: tuple[View, ...],
    results: list[Result],
    chance: list[Result],
) -> dict[str, Any]:
    benchmark = study.benchmark
    ceilings = {view: study.ceiling(view) for view in views}
    levels: dict[str, Any] = {}
    for result in chance:
        entry = levels.setdefault(result.metric, {"accuracy": None, "human": {}})
        record = {"system": _system(result), "sentence": _sentence(result)}
        entry["human"][result.view] = record
        if entry["accuracy"] is None and result.sentence is not None:
            entry["accuracy"] = result.sentence.accuracy
    return {
        "benchmark": benchmark.name,
        "sample": benchmark.sample,
        "human": args.human or benchmark.view,
        "human_scores": {view: study.human_kind(view) for view in views},
        "systems": list(benchmark.corpus.names),
        "sentences": len(benchmark.corpus),
        "references": benchmark.references,
        "aggregate": args.aggregate,
        "shuffles": args.shuffles,
        "seed": args.seed,
        "ties": args.ties,
        "fingerprint": benchmark.fingerprint,
        "rows": [
            {
                "metric": result.label,
                "family": result.family,
                "signature": result.signature,
                "human": result.view,
                **({} if args.level == "sentence" else {"system": _system(result)}),
                **({} if args.level == "system" else {"sentence": _sentence(result)}),
                "scores": dict(zip(benchmark.corpus.names, result.scores.tolist(), strict=True)),
                "seconds": result.seconds,
                "missing": result.missing,
            }
            for result in results
        ],
        "ceiling": {
            view: {
                "accuracy": ceiling.accuracy,
                "decided": ceiling.decided,
                "with_ties": ceiling.with_ties,
                "pairs": ceiling.pairs,
            }
            for view, ceiling in ceilings.items()
            if ceiling is not None
        },
        "chance": levels,
    }


def _system(result: Result) -> dict[str, Any]:
    system = result.system
    return {
        "pearson": system.pearson,
        "spearman": system.spearman,
        "kendall": system.kendall,
        "pairwise_accuracy": system.pairwise_accuracy,
        "spa": system.spa,
        "ci95": {name: list(bounds) for name, bounds in system.ci95.items()},
    }


def _sentence(result: Result) -> dict[str, Any] | None:
    sentence = result.sentence
    if sentence is None:
        return None
    return {
        "accuracy": sentence.accuracy,
        "kendall": sentence.kendall,
        "tied": sentence.tied,
        "tied_share": sentence.tied_share,
        "pairs": sentence.pairs,
        "missing": sentence.missing,
        "epsilon": sentence.epsilon,
        "ci95": None,
    }


def _audits(
    study: Study, tables: list[ScoreTable], results: list[Result], document: dict[str, Any]
) -> list[Table]:
    """Audits of the scorers that leave one, with their agreement with humans beside it."""
    from dataclasses import replace

    shown = audit_tables(tables)
    audited = [table for table in tables if "audit" in table.statistics.details]
    for table, drawn in zip(audited, shown, strict=True):
        entry = {"members": table.statistics.details["audit"]["members"], "humans": {}}
        rows = [dict(row) for row in drawn.rows]
        for result in results:
            if result.signature != str(table.signature) or result.sentence is None:
                continue
            ceiling = study.ceiling(result.view)
            best = float("nan") if ceiling is None else ceiling.accuracy
            value = f"{result.sentence.accuracy:.3f}, two annotators {best:.3f}"
            what = f"agreement with humans ({result.view})"
            rows.append({"model": "", "what": what, "value": value})
            entry["humans"][result.view] = {
                "accuracy": result.sentence.accuracy,
                "ceiling": best,
            }
        shown[audited.index(table)] = replace(drawn, rows=rows)
        document.setdefault("audits", {})[str(table.signature)] = entry
    return shown


def _window_tables(study: Study, results: list[Result], document: dict[str, Any]) -> list[Table]:
    from gecjury.report import Column, Table

    names = study.benchmark.corpus.names
    rows: list[dict[str, Any]] = []
    for result in results:
        for size in (4, 8):
            found = study.windows(result.scores, result.view, size)
            for start, systems, r, rho in zip(
                found.starts, found.systems, found.pearson, found.spearman, strict=True
            ):
                rows.append(
                    {
                        "metric": result.label,
                        "human": result.view,
                        "size": size,
                        "start": int(start),
                        "systems": " ".join(names[index] for index in systems),
                        "pearson": float(r),
                        "spearman": float(rho),
                    }
                )
    document["windows"] = [{**row, "systems": row["systems"].split()} for row in rows]
    columns = [Column(key) for key in ("metric", "human", "size", "start")]
    columns += [Column("pearson", "r"), Column("spearman", "ρ"), Column("systems")]
    return [Table(columns, rows, "Windows of systems adjacent in the human ranking, best first")]


def _pairwise_tables(
    study: Study, tables: list[ScoreTable], views: tuple[View, ...], document: dict[str, Any]
) -> list[Table]:
    from gecjury.report import Column, Table

    shown: list[Table] = []
    document["pairwise"] = []
    for table in tables:
        for view in (view for view in views if study.benchmark.rankings.get(view)):
            for by in ("system", "human-rank"):
                found = study.pairwise(table, view, by)
                names = [str(rank + 1) for rank in range(len(found.accuracy))]
                if by == "system":
                    names = list(study.benchmark.corpus.names)
                document["pairwise"].append(
                    {
                        "metric": table.signature.label,
                        "human": view,
                        "by": by,
                        "labels": names,
                        "accuracy": found.accuracy,
                        "pairs": found.counts,
                    }
                )
                rows = [
                    {"": name, **dict(zip(names, line.tolist(), strict=True))}
                    for name, line in zip(names, found.accuracy, strict=True)
                ]
                title = f"{table.signature.metric}, {view}: sentence accuracy by pair of {by}s"
                columns = [Column(""), *(Column(name, digits=2) for name in names)]
                shown.append(Table(columns, rows, title))
    return shown
