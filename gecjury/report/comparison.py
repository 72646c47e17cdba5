"""The tables and the JSON document of `gecjury compare`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gecjury.report.tables import audit_tables

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.table import View
    from gecjury.metaeval.study import Result, Study
    from gecjury.report.tables import Table
    from gecjury.scoring.scores import ScoreTable

__all__ = ["audits", "main_table", "make_document", "pairwise_tables", "window_tables"]


def main_table(
    args: argparse.Namespace,
    study: Study,
    views: tuple[View, ...],
    results: list[Result],
    chance: list[Result],
    more_notes: list[str],
) -> Table:
    """Everything at one glance: a row for each metric and view, then chance, then the ceiling."""
    from gecjury.report.tables import Column, Table

    system = [
        Column("pearson", "r", interval="pearson_ci"),
        Column("spearman", "ρ", interval="spearman_ci"),
        Column("kendall", "τ sys"),
        Column("pairwise_accuracy", "pair acc"),
        Column("spa", "SPA"),
        Column("system_cluster", "cl sys"),
    ]
    sentence = [
        Column("accuracy", "sent acc", interval="accuracy_ci"),
        Column("sentence_kendall", "τ sent"),
        Column("sentence_cluster", "cl sent"),
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
    notes = [*_notes(args, study, views), *more_notes]
    notes += list(dict.fromkeys(result.signature for result in results))
    return Table(columns, rows, _title(study.benchmark), notes)


def _row(result: Result) -> dict[str, Any]:
    row: dict[str, Any] = {
        "metric": result.label,
        "family": result.family,
        "human": result.view,
        "pearson": result.system.pearson,
        "spearman": result.system.spearman,
        "kendall": result.system.kendall,
        "pairwise_accuracy": result.system.pairwise_accuracy,
        "spa": result.system.spa,
        "system_cluster": result.system.cluster,
        **{f"{name}_ci": bounds for name, bounds in result.system.ci95.items()},
        "missing": result.missing,
        "seconds": result.seconds,
    }
    if result.sentence is not None:
        row |= {
            "accuracy": result.sentence.accuracy,
            "sentence_kendall": result.sentence.kendall,
            "sentence_cluster": result.sentence_cluster,
            "accuracy_ci": result.sentence_ci95.get("accuracy"),
            "sentence_kendall_ci": result.sentence_ci95.get("kendall"),
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


def _notes(args: argparse.Namespace, study: Study, views: tuple[View, ...]) -> list[str]:
    how = args.aggregate
    if how == "trueskill":
        how += (
            f" (mean of {args.shuffles} shuffles, seed {args.seed})"
            if args.shuffles
            else " (one pass in file order)"
        )
    kinds = ", ".join(sorted({study.human_kind(view) for view in views}))
    of = "the pairs that humans decided"
    if args.ties == "calibrated":
        of = "all judged pairs of different texts, human ties are answers (two annotators: too)"
    notes = [
        f"system level: metric by {how}, human {kinds}; "
        f"sentence level: ties={args.ties}, tied % of {of}",
    ]
    return notes + [str(note) for note in study.benchmark.notes]


def make_document(
    args: argparse.Namespace,
    study: Study,
    views: tuple[View, ...],
    results: list[Result],
    chance: list[Result],
) -> dict[str, Any]:
    """What JSON shows of a comparison; see the documentation for its keys."""
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
        "notes": list(benchmark.notes),
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
        "cluster": system.cluster,
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
        "ci95": {name: list(bounds) for name, bounds in result.sentence_ci95.items()},
        "cluster": result.sentence_cluster,
    }


def audits(
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


def window_tables(study: Study, results: list[Result], document: dict[str, Any]) -> list[Table]:
    """Correlations over runs of systems adjacent in the human ranking, into the document too."""
    from gecjury.report.tables import Column, Table

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
    notes = [] if rows else [f"a window holds 4 or 8 systems; here are {len(names)}"]
    title = "Windows of systems adjacent in the human ranking, best first"
    return [Table(columns, rows, title, notes)]


def pairwise_tables(
    study: Study, tables: list[ScoreTable], views: tuple[View, ...], document: dict[str, Any]
) -> list[Table]:
    """Agreement by pair of systems and of ranks, into the document too."""
    from gecjury.report.tables import Column, Table

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
