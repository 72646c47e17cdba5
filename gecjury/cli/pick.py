"""`gecjury pick`: the best of several corrections of every sentence."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from gecjury.cli.inputs import (
    add_metrics,
    add_references,
    benchmark_or_files,
    dry_run,
    load_scorers,
    runtime_from,
)
from gecjury.cli.numbers import MOST_DRAWS, up_to
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data, tell
from gecjury.decisions.pick import MEASURES, VOTES, Choice, Picked, PickSettings, picks
from gecjury.errors import OptionError
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_json, print_tables
from gecjury.textfiles import write_text
from gecjury.wording import number


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "plans", "data")
    usual = PickSettings()
    parser.add_argument(
        "inputs",
        metavar="BENCHMARK|SOURCE HYP",
        nargs="+",
        help="a source file and at least two outputs to choose among, or a benchmark, whose "
        "references tell what choosing gains",
    )
    add_metrics(
        parser,
        "choose by this metric's score (see `gecjury metrics`); repeat with --try",
    )
    parser.add_argument(
        "--mbr",
        metavar="METRIC",
        action="append",
        default=[],
        help="choose by minimum Bayes risk: every output scored against the others by a metric "
        "that takes references (errant, green, gleu)",
    )
    parser.add_argument(
        "--votes",
        choices=VOTES,
        default=usual.votes,
        help="with --mbr: every other file counts, or every other distinct text once",
    )
    add_references(parser, ", to choose by or to --try")
    parser.add_argument(
        "--try",
        dest="measured",
        action="store_true",
        help="show what choosing gains, by the references, instead of the corrections",
    )
    parser.add_argument(
        "--resamples",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.resamples,
        metavar="B",
        help=f"for the gain's intervals (default: {usual.resamples})",
    )
    parser.add_argument(
        "--seed", type=int, default=usual.seed, help="seed of the resamples and random picks"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the corrections here")
    parser.add_argument(
        "--scores",
        metavar="FILE",
        help="write every output's score, a line a sentence, tabs between; - for stdout",
    )


def run(args: argparse.Namespace) -> int:
    """Choose; write the corrections, or print what they gain."""
    writes = bool(args.output or args.scores)
    settings = PickSettings(votes=args.votes, resamples=args.resamples, seed=args.seed)
    metrics = load_scorers(args.metrics) if args.metrics else []
    mbr = load_scorers(args.mbr) if args.mbr else []
    corpus, benchmark = benchmark_or_files(
        args, args.inputs, args.references, args.reference_files, args.m2
    )
    runtime = runtime_from(args)
    if dry_run([*metrics, *mbr], corpus, runtime):
        return 0
    measured = args.measured or benchmark is not None
    if len(metrics) + len(mbr) > 1 and (writes or not measured):
        raise OptionError(
            "several ways to choose give several outputs: name one of -m and --mbr, or --try them"
        )
    found = picks(
        corpus,
        metrics=metrics,
        mbr=mbr,
        gain=measured,
        settings=settings,
        runtime=runtime,
    )
    choice = found.choices[0]
    if args.output:
        write_text(args.output, _text(choice))
    if args.scores and args.scores != "-":
        write_text(args.scores, score_lines(choice))
    if measured:
        print_tables([table(found, args.inputs)], document(found, args.inputs), args.format)
    else:
        _tell(found)
        _print(args, found)
    return 1 if found.unscored else 0


def _text(choice: Choice) -> str:
    return "".join(f"{line}\n" for line in choice.lines)


def _print(args: argparse.Namespace, found: Picked) -> None:
    """The corrections or their scores, where they went into no file."""
    choice = found.choices[0]
    if args.format == "json":
        print_json({**document(found, args.inputs), "lines": _records(choice)})
    elif args.scores == "-":
        print_data(score_lines(choice))
    elif not args.output:
        print_data(_text(choice))


def _tell(found: Picked) -> None:
    """Say what was chosen, and from what."""
    choice = found.choices[0]
    for note in found.notes:
        tell(f"note: {note}")
    parts = ", ".join(f"{name} {number(count)}" for name, count in choice.shares.items())
    tell(
        f"{choice.label}: {number(found.sentences)} sentences in {choice.seconds:.1f} s; chosen: "
        f"{parts} (of equal ones the first file named; {number(choice.tied)} ties of different "
        "texts)"
    )


def _records(choice: Choice) -> list[dict[str, Any]]:
    return [
        {
            "line": row + 1,
            "chosen": choice.systems[system],
            "text": text,
            "scores": dict(zip(choice.systems, choice.scores[:, row].tolist(), strict=True)),
        }
        for row, (system, text) in enumerate(zip(choice.chosen, choice.lines, strict=True))
    ]


def score_lines(choice: Choice) -> str:
    """A table of text with tabs: the line, the system chosen, and every system's score."""
    names = [json.dumps(name)[1:-1] for name in choice.systems]
    rows = ["\t".join(("line", "chosen", *names))]
    for row, system in enumerate(choice.chosen):
        cells = ["" if math.isnan(value) else repr(float(value)) for value in choice.scores[:, row]]
        rows.append("\t".join((str(row + 1), names[system], *cells)))
    return "".join(f"{row}\n" for row in rows)


def document(found: Picked, inputs: list[str]) -> dict[str, Any]:
    """What JSON shows.

    Args:
        found: the result.
        inputs: what was chosen among, as the user named it.
    """
    return {
        "inputs": inputs,
        "sentences": found.sentences,
        "alike": found.alike,
        "methods": [
            {
                "method": choice.label,
                "signature": choice.signature,
                "chosen": choice.shares,
                "tied": choice.tied,
                "unscored": choice.unscored,
                "seconds": choice.seconds,
            }
            for choice in found.choices
        ],
        "best": dict(found.best),
        "rows": found.rows(),
        "votes": found.settings.votes,
        "resamples": found.settings.resamples,
        "seed": found.settings.seed,
        "measures": list(found.signatures),
        "notes": list(found.notes),
    }


def table(found: Picked, inputs: list[str]) -> Table:
    """What people see of the gain."""
    columns = [Column("output"), Column("kind")]
    for name in MEASURES:
        columns += [
            Column(name, digits=4),
            Column(f"{name}_gain", f"{name} - best system", 4, f"{name}_ci95"),
        ]
    columns.append(Column("seconds", digits=1))
    rows = [
        {**row, **{f"{name}_ci95": row["ci95"][name] for name in MEASURES}} for row in found.rows()
    ]
    best = "; ".join(f"{name}: {system}" for name, system in found.best.items())
    notes = [
        "best system: chosen for each half of the sentences by the references of the other half, "
        f"ten pairs of halves, anew in every resample; by all sentences {best}",
        f"[low, high]: 95% paired bootstrap over sentences, {found.settings.resamples} resamples, "
        f"seed {found.settings.seed}; random pick: the mean of ten; oracle: of every sentence the "
        "text that the measure scores highest by itself",
        *found.notes,
        *(choice.signature for choice in found.choices),
        *found.signatures,
    ]
    title = f"What choosing gains, {number(found.sentences)} sentences ({' '.join(inputs)})"
    return Table(columns, rows, title, notes)
