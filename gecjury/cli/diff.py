"""`gecjury diff`: what a new output gains and loses against an old one, and a gate for releases."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from gecjury.cli.inputs import (
    MOST_DRAWS,
    add_gold,
    add_metrics,
    files_to_score,
    language_from,
    up_to,
)
from gecjury.cli.streams import reader_has_gone, set_aside, tell
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.reading import read_corpus, read_versions, system_name
from gecjury.corpus.tokens import in_language
from gecjury.decisions.diff import Difference, DiffSettings, TypeLevels, diff
from gecjury.decisions.gate import Verdict, figure_names, figures_of, parse_gate
from gecjury.decisions.groups import read_groups
from gecjury.decisions.paired import RATES
from gecjury.errors import IncompleteError, InputError, OptionError
from gecjury.report.tables import Column, Table, audit_tables, print_result
from gecjury.textfiles import write_text

if TYPE_CHECKING:
    from gecjury.runtime import Runtime
    from gecjury.scoring.scorer import Scorer

TRIPPED = 3
"""Exit status where a condition of `--fail-if` holds."""

_SHOWN = 1000  # sentences and edits of each direction that may be listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    usual = DiffSettings()
    parser.add_argument("source", metavar="SOURCE", help="sentences to correct: text, M2 or JSON")
    parser.add_argument("old", metavar="OLD", help="output of the system that was: text, M2, JSON")
    parser.add_argument("new", metavar="NEW", help="output of the system that is to be")
    add_gold(parser)
    add_metrics(parser)
    parser.add_argument(
        "--by",
        metavar="FILE[:COLUMN]",
        help="groups of sentences (domain, level), each compared by itself: a file of one label a "
        "source line, or a column of a table (TSV, CSV, JSON lines) of one row a source line",
    )
    parser.add_argument(
        "--by-type",
        type=int,
        choices=get_args(TypeLevels),
        default=usual.by_type,
        help="error types: 1 operation (M, R, U), 2 category, 3 both, 0 none "
        f"(default: {usual.by_type})",
    )
    parser.add_argument(
        "--show",
        type=up_to(_SHOWN, least=0),
        default=usual.shown,
        metavar="N",
        help="sentences and edits that are listed, of each direction, by metric (default: "
        f"{usual.shown})",
    )
    parser.add_argument(
        "--resamples",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.resamples,
        metavar="B",
        help=f"resamples of the paired bootstrap (default: {usual.resamples})",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=usual.confidence,
        metavar="C",
        help=f"confidence of intervals (default: {usual.confidence})",
    )
    parser.add_argument(
        "--permutations",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.permutations,
        metavar="K",
        help=f"permutations of each paired test (default: {usual.permutations})",
    )
    parser.add_argument(
        "--seed", type=int, default=usual.seed, help="seed of the resampling and of the tests"
    )
    parser.add_argument(
        "--fail-if",
        dest="conditions",
        metavar="CONDITION",
        action="append",
        default=[],
        help="end with status 3 where this holds, with 2 where something could not be scored: "
        "'errant < -0.005 or over-correction > 0.01'. A name is the difference NEW − OLD; behind "
        "a dot old, new, low and high (bounds of the interval) or p; repeat for more",
    )
    parser.add_argument("--html", metavar="PAGE", help="write the tables as a page")


def run(args: argparse.Namespace) -> int:
    """Compare, print, judge."""
    settings = DiffSettings(
        resamples=args.resamples,
        confidence=args.confidence,
        permutations=args.permutations,
        seed=args.seed,
        by_type=args.by_type,
        shown=args.show,
    )
    gate = parse_gate(args.conditions) if args.conditions else None
    if gate is not None and args.dry_run:
        raise OptionError(
            "--dry-run scores nothing, so --fail-if has nothing to judge: leave one out"
        )
    typed = list(dict.fromkeys(args.metrics))
    given = files_to_score(args, _read)
    if given is None:
        return 0
    scorers, corpus, runtime = given
    by = read_groups(args.by, len(corpus)) if args.by else None
    names = _names(typed, scorers, corpus, runtime)
    if gate is not None:
        gate.check(figure_names([*names.values()], names, bool(corpus.references)))
    try:
        found = diff(corpus, metrics=scorers, by=by, settings=settings, runtime=runtime)
    except IncompleteError as error:
        if gate is None:
            raise
        raise InputError(f"{error} (--fail-if passes nothing that was not scored)") from None
    verdict = None if gate is None else gate.judge(figures_of(found.figures, names))
    shown = tables(found)
    if args.html:
        from gecjury.report.page.scores import tables_html

        title = f"{found.new} against {found.old}"
        write_text(args.html, tables_html(title[:120], shown, corpus.language.code))
    try:
        print_result(shown, document(found, verdict), args.format)
        sys.stdout.flush()
    except BrokenPipeError:
        # Where the reader has gone a command ends with 0, and a gate would have passed.
        if verdict is None or not reader_has_gone():
            raise
        set_aside(sys.stdout)
    if verdict is None:
        return 1 if found.unanswered else 0
    return _judged(verdict, found)


def _read(args: argparse.Namespace) -> Corpus:
    """OLD and NEW, which may have one name in two folders."""
    old, new = Path(args.old), Path(args.new)
    if args.old == args.new or (old.is_file() and new.is_file() and old.samefile(new)):
        raise InputError(
            f"OLD and NEW are the same file ({args.old}); name the outputs of two systems"
        )
    language = language_from(args)
    rest = (args.references, args.m2, language)
    if system_name(old) != system_name(new):
        return read_corpus(args.source, [args.old, args.new], *rest)
    corpus = read_corpus(args.source, [args.old], *rest)
    (mine,) = corpus.systems.values()
    versions = read_versions(args.new)
    if len(versions) != 1:
        raise InputError(
            f"{args.new}: an M2 file of {len(versions)} annotators; "
            "a hypothesis file holds the edits of one"
        )
    both = {args.old: mine, args.new: versions[0]}
    return in_language(replace(corpus, systems=both), language)


def _names(
    typed: Sequence[str], scorers: Sequence[Scorer], corpus: Corpus, runtime: Runtime
) -> dict[str, str]:
    """What metrics may be called, with their labels: as typed, and shortly where that is clear."""
    labels = [scorer.signature(corpus, runtime).label for scorer in scorers]
    found = dict(zip(typed, labels, strict=True))
    short = [scorer.name for scorer in scorers]
    for name, label in zip(short, labels, strict=True):
        alike = {one for one, other in zip(labels, short, strict=True) if other == name}
        if label == name or len(alike) == 1:
            found.setdefault(name, label)
    return found


def _judged(verdict: Verdict, found: Difference) -> int:
    """Tell on stderr what the gate makes of the figures; the exit status."""
    for text, values in verdict.tripped:
        tell(f"gate: {text} holds: {_values(values)}")
    unscored = [
        f"{table.unanswered} scores of {table.signature.label}"
        for table in found.tables
        if table.unanswered
    ]
    missing = [*unscored, *(f"{name} is not defined" for name in verdict.missing)]
    if missing:
        tell(f"gate: cannot be judged: missing: {'; '.join(missing)}")
        return 2
    if verdict.tripped:
        return TRIPPED
    tell(f"gate: passed: {_values(verdict.values)}")
    return 0


def _values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())


def document(found: Difference, verdict: Verdict | None = None) -> dict[str, Any]:
    """What JSON shows.

    Args:
        found: the comparison.
        verdict: of the gate, where there is one.
    """
    settings = found.settings
    result: dict[str, Any] = {
        "old": found.old,
        "new": found.new,
        "rows": found.rows(),
        "types": [one.row() for one in found.types],
        "by": found.grouped_by or None,
        "groups": [one.row() for one in found.groups],
        "edits": None,
        "moved": [vars(one) for one in found.moved],
        "uncertainty": {
            "resamples": settings.resamples,
            "over": "sentences",
            "permutations": settings.permutations,
            "seed": settings.seed,
            "confidence": settings.confidence,
            "correction": "holm",
        },
        "notes": list(found.notes),
    }
    if found.edits is not None:
        result["edits"] = {
            "totals": found.edits.totals(),
            "changes": [vars(one) for one in found.edits.edits if one.move != "kept"],
        }
    if verdict is not None:
        result["gate"] = {
            "passed": verdict.passed,
            "tripped": [{"condition": text, "values": v} for text, v in verdict.tripped],
            "missing": list(verdict.missing),
            "values": verdict.values,
        }
    return result


def tables(found: Difference) -> list[Table]:
    """What people see: scores and rates, types, groups, edits, sentences."""
    shown = [_differences(found)]
    shown += _type_tables(found)
    if found.groups:
        shown.append(_group_table(found))
    shown += _edit_tables(found)
    if found.moved:
        shown.append(_moved_table(found))
    return shown + audit_tables(list(found.tables))


_FIGURES = ("old", "new", "difference", "low", "high")


def _figures() -> list[Column]:
    """Columns of a breakdown, whose plain p stands in JSON: it is not to be read by itself."""
    columns = [Column(key, digits=3) for key in _FIGURES]
    return [*columns, Column("adjusted", "p (Holm)", digits=4)]


def _bounded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A record with the bounds of its interval in columns of their own."""
    low, high = row["ci95"]
    return {**row, "low": low, "high": high}


def _differences(found: Difference) -> Table:
    settings = found.settings
    notes = [
        f"low, high: {settings.confidence:.0%} paired percentile bootstrap of the difference over "
        f"sentences, {settings.resamples} resamples, seed {settings.seed}; p: paired approximate "
        f"randomisation, {settings.permutations} permutations (small p from a normal curve)",
        *(f"{name}: {RATES[name]}" for name in found.rates),
        *found.notes,
        *(str(table.signature) for table in found.tables),
    ]
    columns = [Column("measure"), *(Column(key, digits=4) for key in (*_FIGURES, "p"))]
    columns.append(Column("sentences"))
    rows = [_bounded(row) for row in found.rows()]
    return Table(columns, rows, f"{found.new} (NEW) − {found.old} (OLD)", notes)


def _type_tables(found: Difference) -> list[Table]:
    shown = []
    for metric in dict.fromkeys(one.metric for one in found.types):
        rows = []
        for one in found.types:
            if one.metric == metric:
                counts = {"old tp/fp/fn": _three(one.old), "new tp/fp/fn": _three(one.new)}
                rows.append({**_bounded(one.row()), **counts})
        columns = [Column(key) for key in ("type", "old tp/fp/fn", "new tp/fp/fn")]
        note = "F0.5; p (Holm): corrected over the types; references as the corpus score took them"
        title = f"By error type: {metric}"
        shown.append(Table([*columns, *_figures()], rows, title, [note]))
    return shown


def _three(counts: tuple[float, float, float]) -> str:
    return "/".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in counts)


def _group_table(found: Difference) -> Table:
    columns = [Column("group", found.grouped_by), Column("measure"), *_figures()]
    rows = [_bounded(one.row()) for one in found.groups]
    note = "each group as a corpus of its own; p (Holm): corrected over the groups of a measure"
    title = f"By {found.grouped_by}"
    return Table([*columns, Column("sentences")], rows, title, [note])


def _edit_tables(found: Difference) -> list[Table]:
    if found.edits is None:
        return []
    judged = ["right", "wrong"] if any(one.right is not None for one in found.edits.edits) else []
    columns = [Column(key) for key in ("edits", "count", *judged)]
    notes = ["came: only NEW makes it; went: only OLD did"]
    if judged:
        columns.append(Column("share", "right of all"))
        notes[0] += "; right: some reference has it, at the same place"
    shown = [Table(columns, found.edits.totals(), "Edits that came and went", notes)]
    rows = found.edits.most_frequent(found.settings.shown)
    if rows:
        columns = [Column(key) for key in ("edits", "edit", "type", "count", *judged)]
        shown.append(Table(columns, rows, "The most frequent of them"))
    return shown


def _moved_table(found: Difference) -> Table:
    columns = [Column("metric"), Column("line"), Column("effect", digits=5)]
    columns += [Column("old", digits=4), Column("new", digits=4)]
    columns += [Column("old_marked", "OLD correction"), Column("new_marked", "NEW correction")]
    notes = [
        "effect: how much of NEW − OLD is gone without the sentence; old, new: its own scores; "
        "edits as [old→new]"
    ]
    return Table(columns, [vars(one) for one in found.moved], "Sentences that moved most", notes)
