"""`gecjury train`: train SOME or IMPARA on your own data, or search SOME's weights."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gecjury.cli.train_options import add_train_options

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.data.splits import Split
    from gecjury.refless.training.intermediate import IntermediateData
    from gecjury.refless.training.some import Recipe
    from gecjury.refless.training.trainer import TrainSettings

__all__ = ["add_arguments", "run"]

_EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --encoder embedded
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
  gecjury train impara jfleg gmeg-dev -o my-impara --encoder embedded
  gecjury train weights gjg15 --model my-some --share 0.1
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
A run that was killed goes on where it stopped when the same command is given again.
"""


def add_arguments(parser: argparse.ArgumentParser, others: Mapping[str, str]) -> None:
    """Declare the targets and their options.

    Args:
        parser: of `gecjury train`.
        others: targets that are trained elsewhere, each with what it is.
    """
    parser.epilog = _EPILOG
    more = "".join(f"; {target}: {what}" for target, what in others.items())
    parser.add_argument(
        "target",
        choices=("some", "weights", "impara", *others),
        help="some: regressors of grammaticality, fluency, meaning on rated sentences; "
        "impara: a ranker on parallel text; weights: α, β, γ of a trained SOME on a benchmark"
        + more,
    )
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="DATA",
        help="some: tmu-gfm, gug, a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]; "
        "impara: jfleg, gmeg-dev, an M2 file or SOURCE,REF[,REF...]; weights: a benchmark; "
        "jury: one benchmark or several",
    )
    parser.add_argument(
        "-o", "--output", metavar="PATH", help="folder for the trained model; file for a jury"
    )
    add_train_options(parser)


def run(args: argparse.Namespace) -> int:
    """Train or search; results on stdout."""
    from pathlib import Path

    from gecjury.errors import OptionError
    from gecjury.scoring.registry import missing_extra

    if args.target != "weights" and not args.output:
        raise OptionError(f"train {args.target}: name the folder for the model with -o DIR")
    if args.output and Path(args.output).is_file():
        raise OptionError(f"{args.output} is a file; -o names a folder for the model or scores")
    try:
        if args.target == "some":
            return _some(args)
        if args.target == "impara":
            return _impara(args)
        return _weights(args)
    except ModuleNotFoundError as error:
        raise missing_extra("training", "refless", error) from None


def _folder(args: argparse.Namespace) -> DataFolder:
    from gecjury.benchmarks.data_folder import open_data

    return open_data(args.data, cache=args.cache)


def _settings(args: argparse.Namespace) -> TrainSettings:
    from gecjury.refless.training.trainer import TrainSettings

    return TrainSettings(
        max_length=args.max_length,
        batch_size=args.train_batch,
        accumulation=args.accumulation,
        learning_rate=args.learning_rate,
        epochs=args.epochs,
        patience=args.patience,
        seed=args.seeds[0],
        bf16=args.bf16,
        loss=args.loss,
    )


def _recipe(args: argparse.Namespace) -> Recipe:
    from gecjury.refless.training.some import Recipe

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
        settings=_settings(args),
    )


_FILES = {
    "tmu-gfm": "TMU-GFM-Dataset/tmu-gfm-dataset.csv",
    "gug": "gug-data/gug_annotations.tsv",
}


def _read(args: argparse.Namespace, name: str, aspects: Sequence[str] | None = None) -> Annotations:
    """Rated sentences by name of a set or from a file, of some aspects or of all."""
    from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
    from gecjury.refless.data.rated_sets import choose_aspects

    path = str(_folder(args).path(_FILES[name])) if name in _FILES else name
    columns = ColumnMap.parse(args.column) if args.column and name not in _FILES else None
    scale = Scale() if name in _FILES else Scale.parse(args.scale)
    found = read_annotations(path, columns, scale, aspects)
    for note in found.notes:
        print(f"{name}: {note}", file=sys.stderr)
    return choose_aspects(found, aspects)


def _some(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.some import train_some

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
    notes = _leak_warnings(args, [*data.sources, *data.outputs], name)
    steps = _steps(args) if recipe.intermediate else None
    origin = {"data": name}
    if args.grid:
        from gecjury.refless.training.grid import train_grid

        trials = train_grid(
            data, split, recipe, Path(args.output), runtime, extra=extra, steps=steps,
            origin=origin, notes=notes,
        )  # fmt: skip
        return _print_grid(args, trials)
    report = train_some(
        data, split, recipe, Path(args.output), runtime, extra=extra, steps=steps, origin=origin,
        notes=notes,
    )  # fmt: skip
    return _print_report(args, report)


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
    print(f"split by source: {split}", file=sys.stderr)
    return data, split


def _steps(args: argparse.Namespace) -> IntermediateData:
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.data.rated_sets import read_rated_sets, read_treebank_text
    from gecjury.refless.training.intermediate import IntermediateData
    from gecjury.textfiles import read_lines

    wanted = set(args.intermediate)
    corrections = (
        read_parallel(args.parallel, lambda: _folder(args))
        if wanted & {"detection", "ranking"}
        else []
    )
    clean: list[str] = []
    if args.clean == "en-ewt":
        clean = read_treebank_text(_folder(args).path("ud/en_ewt/en_ewt-ud-train.conllu"))
    elif args.clean:
        clean = read_lines(args.clean)
    rated = read_rated_sets(args.data, args.cache) if "ratings" in wanted else []
    texts = [text for c in corrections for text in (c.source, c.text())]
    _leak_warnings(args, texts, "the parallel text")
    return IntermediateData(corrections, clean, rated)


def _leak_warnings(args: argparse.Namespace, texts: list[str], what: str) -> list[str]:
    """Warn on stderr of sentences shared with benchmarks whose data is here."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning
    from gecjury.errors import DataError

    found = []
    for name in args.check:
        try:
            corpus = load_benchmark(name, systems="all", data=args.data, cache=args.cache).corpus
        except DataError as error:
            print(f"leakage into {name} was not checked: {error}", file=sys.stderr)
            continue
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            found.append(line)
            print(f"warning: {line}", file=sys.stderr)
    return found


def _print_report(args: argparse.Namespace, report: Any) -> int:
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
    notes = [f"model: {report.folder}; score with -m some:model={report.folder}"]
    document = {
        "model": str(report.folder),
        "figures": report.figures,
        "trained": report.members,
        "steps": report.steps,
    }
    print_result([Table(columns, rows, notes=notes)], document, args.format)
    return 0


def _print_grid(args: argparse.Namespace, trials: Any) -> int:
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


def _impara(args: argparse.Namespace) -> int:
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.training.impara import train_impara
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.tables import Column, print_table

    corrections = read_parallel(args.inputs, lambda: _folder(args))
    texts = [text for c in corrections for text in (c.source, c.text())]
    name = " ".join(map(shown_name, args.inputs))
    notes = _leak_warnings(args, texts, name)
    figures = train_impara(
        corrections, args.encoder, _settings(args), Path(args.output), runtime_from(args),
        count=args.pairs, frozen=args.freeze_embeddings, origin={"data": name},
        notes=notes,
    )  # fmt: skip
    if is_main_process():
        print_table(
            [Column(key) for key in ("part", "accuracy", "pairs")],
            figures,
            args.format,
            notes=[f"model: {args.output}; score with -m impara:model={args.output}"],
        )
    return 0


def _weights(args: argparse.Namespace) -> int:
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.training.weights import search_weights
    from gecjury.report.tables import Column, Table, print_result
    from gecjury.scoring.registry import load
    from gecjury.scoring.score_files import score_with_files

    if len(args.inputs) > 1:
        raise OptionError("train weights takes one benchmark")
    benchmark = load_benchmark(
        args.inputs[0], systems=args.systems, view=args.human, data=args.data, cache=args.cache
    )
    scorer = load("some", model=args.model or "")
    table = score_with_files(scorer, benchmark.corpus, args.output, runtime_from(args))
    rows = search_weights(
        table.statistics.values, benchmark, args.level, share=args.share, seed=args.seed
    )
    columns = [Column("weights"), *[Column(k, digits=2) for k in ("alpha", "beta", "gamma")]]
    columns += [Column("searched", digits=4), Column("held_out", "held out", digits=4)]
    measure = "Kendall τ over judged pairs" if args.level == "sentence" else "Pearson over systems"
    best = rows[0]
    option = f"alpha={best['alpha']:g},beta={best['beta']:g},gamma={best['gamma']:g}"
    notes = [f"{measure}; use with -m some:model={args.model},{option}"]
    document = {"benchmark": args.inputs[0], "level": args.level, "measure": measure, "rows": rows}
    print_result([Table(columns, rows, notes=notes)], document, args.format)
    return 0
