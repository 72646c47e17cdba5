"""`gecjury train jury`: combine metrics of any family by learning from human preferences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import named_benchmark
from gecjury.cli.options import settings_of
from gecjury.cli.streams import tell
from gecjury.jury.training import JuryTraining, train_jury

if TYPE_CHECKING:
    from gecjury.core.runtime import Runtime
    from gecjury.jury.model import JuryModel, Member
    from gecjury.jury.training import TrainingPairs
    from gecjury.report.result import Result, Table

EPILOG = """\
example:
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
"""


OPTIONS = (JuryTraining,)


def train(args: argparse.Namespace) -> Result:
    """Score, train, write."""
    from dataclasses import replace
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.core.errors import OptionError
    from gecjury.jury.model import write_jury
    from gecjury.report.result import Result
    from gecjury.scoring.score_files import check_writable

    members = _members(args.metrics)
    settings = settings_of(JuryTraining, args)
    if Path(args.output).is_dir():
        raise OptionError(f"{args.output} is a folder; a jury is one file: -o FILE.json")
    # Scoring may take hours, so an unwritable path is reported first.
    check_writable(Path(args.output).parent)
    runtime = runtime_from(args)
    if settings.scores:
        check_writable(settings.scores)
        runtime = replace(runtime, scores=Path(settings.scores))
    parts = _collect(args, settings, members, runtime)
    model = train_jury(parts, members, runtime, settings)
    # The file lists what was excluded, so that a jury's figures can be judged without its command.
    model = replace(model, record={**model.record, "exclude": list(settings.exclude)})
    write_jury(args.output, model)
    return Result(tuple(_tables(args.output, model)), dict(model.record) | {"file": args.output})


def _members(names: list[str]) -> list[Member]:
    from gecjury.core.errors import OptionError
    from gecjury.jury.model import Member

    members = [Member.parse(name) for name in dict.fromkeys(names)]
    if not members:
        raise OptionError("train jury: name the members with -m METRIC, e.g. -m gleu -m green")
    for member in members:
        scorer = member.scorer()  # A typo is reported before anything is read.
        context = getattr(scorer, "context", "none")
        if context not in ("corpus", "neighbours", "none"):
            raise OptionError(
                f"{member.label}: a jury's file cannot name a file of sentences to send "
                f"(context={context}); use corpus, neighbours or none"
            )
    return members


def _collect(
    args: argparse.Namespace, settings: JuryTraining, members: list[Member], runtime: Runtime
) -> list[TrainingPairs]:
    from gecjury.jury.training import collect_pairs

    # Hashes are sufficient to exclude sentences.
    excluded = _excluded(args, settings.exclude)
    parts = []
    for name in args.inputs:
        benchmark = named_benchmark(args, name, references=settings.references, view=settings.human)
        part = collect_pairs(benchmark, members, benchmark.view, excluded, runtime)
        parts.append(part)
        for label, why in part.record["absent"].items():
            tell(f"{name}: {label} cannot score it ({why})")
    return parts


def _excluded(args: argparse.Namespace, names: Sequence[str]) -> frozenset[str]:
    """Return hashes of the sources of the named benchmarks or files."""
    from pathlib import Path

    from gecjury.benchmarks.load import load_benchmark
    from gecjury.benchmarks.table import BENCHMARKS
    from gecjury.corpus.files.reading import read_source
    from gecjury.corpus.leakage import sentence_key

    texts: list[str] = []
    for name in names:
        if name not in BENCHMARKS and Path(name).is_file():
            texts += read_source(name).lines
        else:
            texts += load_benchmark(
                name, data=args.data, cache=args.cache, quiet=args.quiet
            ).corpus.sources
    return frozenset(map(sentence_key, texts))


def _tables(file: str, model: JuryModel) -> list[Table]:
    from gecjury.report.result import Column, Table

    record = model.record
    members = [
        Column("member"),
        Column("weight"),
        Column("alone", "accuracy alone", 4),
        Column("worth", "lost without it", 4),
        Column("worth_error", "± s.e.", 4),
        Column("scored", "pairs scored"),
    ]
    # The member with the largest absolute weight comes first.
    rows: list[dict[str, Any]] = sorted(
        record["members"], key=lambda row: abs(row["weight"]), reverse=True
    )
    sets = [Column(key) for key in ("benchmark", "pairs", "sources")]
    sets += [Column("ties", "ties left out"), Column("excluded_sources", "excluded sources")]
    sets += [Column("accuracy", digits=4), Column("from_others", "trained on others", 4)]
    # One row per benchmark: what was read of it, and how well its pairs are ordered.
    merged = [
        {**part, **figures}
        for part, figures in zip(record["benchmarks"], record["by_benchmark"], strict=True)
    ]
    strengths = [Column("strength", digits=0), Column("accuracy", digits=4)]
    strengths += [Column("error", "± s.e.", 4)]
    notes = [
        f"cross-validated accuracy {record['accuracy']:.4f} ± {record['error']:.4f} over "
        f"{record['pairs']} pairs of {record['sources']} sources ({record['folds']} folds by "
        f"source); strength {record['strength']:g}",
        f"jury: {file}; score with -m jury:file={file}",
    ]
    return [
        Table(sets, merged, "Trained on"),
        Table(strengths, record["strengths"], "Pull towards equal weights"),
        Table(members, rows, "Members", notes),
    ]
