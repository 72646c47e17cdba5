"""`gecjury train some`: regressors trained on rated sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gecjury.cli.streams import tell
from gecjury.cli.train_options import data_folder, settings_from, warn_of_leaks

if TYPE_CHECKING:
    from gecjury.corpus.splits import Split
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.training.grid import GridTrial
    from gecjury.refless.training.intermediate import IntermediateData
    from gecjury.refless.training.recipe import Recipe
    from gecjury.refless.training.some import Report

__all__ = ["print_grid", "train"]


def train(args: argparse.Namespace) -> int:
    """Read ratings, train, print."""
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.some import Job, train_some

    if len(args.inputs) > 1:
        raise OptionError("train some takes one set of ratings; join files beforehand")
    recipe = _recipe(args)
    runtime = runtime_from(args)
    data, split = _parts(args)
    extra = []
    if args.gug:
        if "grammaticality" not in data.aspects:
            raise OptionError("--gug rates grammaticality, which is not among the aspects trained")
        gug = _read(args, "gug")
        extra = [gug.take([row for row, name in enumerate(gug.names) if name == "train"])]
    name = shown_name(args.inputs[0])
    notes = warn_of_leaks(args, [*data.sources, *data.outputs], name)
    steps = _steps(args) if recipe.intermediate else None
    job = Job(
        data=data,
        split=split,
        recipe=recipe,
        folder=Path(args.output),
        runtime=runtime,
        extra=extra,
        steps=steps,
        origin={"data": name},
        notes=notes,
    )
    if args.grid:
        from gecjury.refless.training.grid import train_grid

        return print_grid(args, train_grid(job))
    return _print_report(args, train_some(job))


def _recipe(args: argparse.Namespace) -> Recipe:
    from gecjury.refless.training.recipe import Recipe

    return Recipe(
        encoder=args.encoder,
        shared=args.shared,
        features=args.features,
        intermediate=tuple(args.intermediate),
        intermediate_epochs=args.intermediate_epochs,
        intermediate_rate=args.intermediate_rate,
        frozen=args.freeze_embeddings,
        kernel=args.kernel,
        within=args.within,
        read_source=args.read_source,
        seeds=tuple(args.seeds),
        settings=settings_from(args),
    )


def _parts(args: argparse.Namespace) -> tuple[Annotations, Split]:
    """The rated sentences and their split: by files, by column, or drawn."""
    from gecjury.errors import InputError, OptionError
    from gecjury.refless.data.rated_sets import join_parts
    from gecjury.refless.data.splits import split_as_named, split_by_source

    data = _read(args, args.inputs[0], args.aspects)
    if bool(args.dev) != bool(args.test):
        raise OptionError("--dev and --test go together: a split by file needs all three files")
    if args.dev:
        return join_parts(
            data, _read(args, args.dev, args.aspects), _read(args, args.test, args.aspects)
        )
    try:
        split = split_as_named(data) if data.names else split_by_source(data, args.split_seed)
    except InputError as error:
        raise InputError(f"{args.inputs[0]}: {error}") from None
    if data.names:
        return data, split
    tell(f"split by source: {split}")
    return data, split


def _read(args: argparse.Namespace, name: str, aspects: Sequence[str] | None = None) -> Annotations:
    """Rated sentences by name of a set or from a file, of some aspects or of all."""
    from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
    from gecjury.refless.data.rated_sets import NAMED_SETS, choose_aspects

    path = str(data_folder(args).path(NAMED_SETS[name])) if name in NAMED_SETS else name
    columns = ColumnMap.parse(args.column) if args.column and name not in NAMED_SETS else None
    scale = Scale() if name in NAMED_SETS else Scale.parse(args.scale)
    found = read_annotations(path, columns, scale, aspects)
    for note in found.notes:
        tell(f"{name}: {note}")
    return choose_aspects(found, aspects)


def _steps(args: argparse.Namespace) -> IntermediateData:
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.data.rated_sets import read_rated_sets, read_treebank_text
    from gecjury.refless.training.intermediate import IntermediateData
    from gecjury.textfiles import read_lines

    wanted = set(args.intermediate)
    corrections = (
        read_parallel(args.parallel, lambda: data_folder(args))
        if wanted & {"detection", "ranking"}
        else []
    )
    clean: list[str] = []
    if args.clean == "en-ewt":
        clean = read_treebank_text(data_folder(args).path("ud/en_ewt/en_ewt-ud-train.conllu"))
    elif args.clean:
        clean = read_lines(args.clean)
    rated = read_rated_sets(args.data, args.cache) if "ratings" in wanted else []
    texts = [text for c in corrections for text in (c.source, c.text())]
    warn_of_leaks(args, texts, "the parallel text")
    return IntermediateData(corrections, clean, rated)


def _print_report(args: argparse.Namespace, report: Report) -> int:
    from gecjury.refless.nets.bundle import metric_for
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.tables import Column, Table, print_result

    if not is_main_process():
        return 0
    rows = [
        {"part": part, "aspect": aspect, **figures}
        for part, aspects in report.figures.items()
        for aspect, figures in aspects.items()
    ]
    columns = [Column(key) for key in ("part", "aspect", "pearson", "spearman", "rmse")]
    columns.append(Column("rows", digits=0))
    aspects = [aspect for part in report.figures.values() for aspect in part]
    notes = [f"model: {report.folder}; score with -m {metric_for(str(report.folder), aspects)}"]
    document = {
        "model": str(report.folder),
        "figures": report.figures,
        "trained": report.trained,
        "steps": report.steps,
    }
    print_result([Table(columns, rows, notes=notes)], document, args.format)
    return 0


def print_grid(args: argparse.Namespace, trials: Sequence[GridTrial]) -> int:
    """Print what each combination of the grid reached."""
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.tables import Column, Table, print_result

    if not is_main_process():
        return 0
    keys = ("aspect", "max_length", "batch_size", "learning_rate", "epochs", "dev", "test")
    columns = [Column(key, digits=5 if key == "learning_rate" else 3) for key in keys]
    rows = [
        {key: getattr(trial, key) for key in (*keys, "chosen")} | {"chosen": "*" * trial.chosen}
        for trial in trials
    ]
    print_result([Table([*columns, Column("chosen")], rows)], {"rows": rows}, args.format)
    return 0
