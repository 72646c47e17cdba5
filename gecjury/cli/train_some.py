"""`gecjury train some`: regressors trained on rated sentences."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell
from gecjury.cli.train_data import (
    StepData,
    data_folder,
    detection_origin,
    labelled_text,
    told_of_reading,
    training_language,
    warn_of_leaks,
)
from gecjury.cli.train_watching import training_result
from gecjury.core.settings import option
from gecjury.refless.training.recipe import Recipe

if TYPE_CHECKING:
    from gecjury.corpus.language import Language
    from gecjury.corpus.splits import Split
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.data.pairs import Correction
    from gecjury.refless.training.evaluation import Report
    from gecjury.refless.training.grid import GridTrial
    from gecjury.refless.training.steps.intermediate import IntermediateData
    from gecjury.report.result import Result

_PARALLEL = ("jfleg", "gmeg-dev")


@dataclass(frozen=True, kw_only=True)
class RatedData(StepData):
    """The data of a SOME metric.

    Attributes:
        column: column for output, source, grammaticality, fluency, meaning, or only quality
            (several raters: COL1,COL2 or several numbers in a cell), or split (train, dev, test);
            repeat.
        scale: lowest and highest rating.
        aspects: train only these.
        dev: dev ratings, instead of a random split; needs --test.
        test: test ratings; needs --dev.
        split_seed: seed of the split by source.
        gug: GUG as extra grammaticality data.
        parallel: parallel text for detection and ranking (default: jfleg gmeg-dev).
        clean: clean sentences, or en-ewt, in which errors are inserted for detection.
        grid: try the paper's grid: max length 128, 256; batch 8, 16; learning rate 2e-5, 3e-5,
            5e-5.
    """

    column: tuple[str, ...] = option((), metavar="ROLE=COLUMN")
    scale: str = option("1:4", metavar="LOW:HIGH")
    aspects: tuple[str, ...] | None = option(None, metavar="ASPECT", several=True)
    dev: str | None = option(None, metavar="FILE", needs={"": ("test",)})
    test: str | None = option(None, metavar="FILE", needs={"": ("dev",)})
    split_seed: int = option(0, metavar="N", needs={"dev": ()})
    gug: bool = option(False, needs={"kernel": ("fine_tune",), "encoder features": ()})
    parallel: tuple[str, ...] = option(
        (),
        metavar="TEXT",
        several=True,
        needs={
            "": ("intermediate detection", "intermediate ranking"),
            "detection": ("intermediate ranking",),
        },
    )
    clean: str | None = option(
        None, metavar="FILE", needs={"": ("intermediate detection",), "detection": ()}
    )
    grid: bool = option(False, needs={"encoder features": ()})


OPTIONS = (RatedData, Recipe)

EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
"""


def train(args: argparse.Namespace, recipe: Recipe, options: Mapping[str, Any]) -> Result:
    """Read ratings and train.

    Args:
        args: options of the command.
        recipe: recipe of the training.
        options: see `gecjury.cli.train_watching.job_options`.
    """
    from gecjury.core.errors import OptionError
    from gecjury.refless.data.rated_sets import NAMED_SETS, SET_LANGUAGES
    from gecjury.refless.training.grid import train_grid
    from gecjury.refless.training.job import Job
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.some import train_some

    if len(args.inputs) > 1:
        raise OptionError("train some accepts one set of ratings; join the files first")
    (name,) = args.inputs
    if name in NAMED_SETS and not args.dev:
        _refuse_unread(args, ("column", "scale"), f"{name} has known columns and ratings")
    # The data determines the language, and some options are only for English, so the options can
    # only be checked once the set is known.
    language = training_language(args, {name: SET_LANGUAGES.get(name)})
    _refuse_english(args, language)
    data, split = _parts(args, language)
    extra = []
    if args.gug:
        if "grammaticality" not in data.aspects:
            raise OptionError("--gug rates grammaticality, which is not among the aspects trained")
        gug = _read(args, "gug", language)
        # GUG's dev and test parts stay unseen, so that they remain usable for evaluation.
        extra = [gug.take([row for row, part in enumerate(gug.names) if part == "train"])]
    # Training sentences are looked up in the benchmarks on which the model will be compared.
    notes = warn_of_leaks(args, [*data.sources, *data.outputs], shown_name(name))
    notes += told_of_reading(args.encoder, data.outputs, language)
    job = Job(
        data=data,
        split=split,
        recipe=replace(recipe, language=language.code),
        extra=extra,
        steps=_steps(args, recipe, language) if recipe.intermediate else None,
        origin={
            "data": shown_name(name),
            "command": _command(args, shown_name(name)),
            "sentences looked for in": ", ".join(args.check) or "no benchmark",
            **detection_origin(args),
        },
        notes=notes,
        **options,
    )
    return grid_result(args, *train_grid(job)) if args.grid else _result(args, train_some(job))


def _command(args: argparse.Namespace, data: str) -> str:
    """Return the command for the card; options besides the recipe are in the card's settings."""
    recipe = f" --recipe {args.recipe}" if args.recipe else ""
    return f"`gecjury train some {data}{recipe}`, with the settings below"


def _refuse_unread(args: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Refuse options that were given and would do nothing with this data.

    Raises:
        OptionError: names the first such option and the reason.
    """
    from gecjury.core.errors import OptionError

    for name in names:
        if getattr(args, name) != args.parser.get_default(name):
            raise OptionError(f"--{name.replace('_', '-')} would do nothing: {why}")


def _refuse_english(args: argparse.Namespace, language: Language) -> None:
    """Refuse options that imply English in a training on another language."""
    from gecjury.core.errors import OptionError

    if language.code == "en":
        return
    clean = f"--recipe {args.recipe} sets --clean, which" if args.recipe else "--clean"
    # Labelled text replaces parallel text only in detection.
    from_parallel = {"ranking"} if args.detection else {"ranking", "detection"}
    reasons = {
        "--gug is English": args.gug,
        "--intermediate ratings learns from English sentences": "ratings" in args.intermediate,
        f"{clean} gets errors inserted by English rules": args.clean,
        "--intermediate learns from English text by default (name other text with --parallel)": (
            from_parallel & set(args.intermediate) and not args.parallel
        ),
    }
    for reason, applies in reasons.items():
        if applies:
            raise OptionError(f"{reason}, but the ratings are in {language.name}")


def _parts(args: argparse.Namespace, language: Language) -> tuple[Annotations, Split]:
    """Return the rated sentences and their split: by files, by column, or drawn."""
    from gecjury.core.errors import InputError
    from gecjury.refless.data.rated_sets import join_parts, split_as_named, split_by_source

    (name,) = args.inputs
    data = _read(args, name, language, args.aspects)
    if args.dev:
        rest = [_read(args, part, language, args.aspects) for part in (args.dev, args.test)]
        return join_parts(data, *rest)
    try:
        split = split_as_named(data) if data.names else split_by_source(data, args.split_seed)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if data.names:
        _refuse_unread(args, ("split_seed",), f"{name} has its own split")
    else:
        tell(f"split by source: {split}")
    return data, split


def _read(
    args: argparse.Namespace,
    name: str,
    language: Language,
    aspects: Sequence[str] | None = None,
) -> Annotations:
    """Read rated sentences of a named set or from a file, for some or all aspects."""
    from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
    from gecjury.refless.data.rated_sets import NAMED_SETS, read_named, refuse_absent

    if name in NAMED_SETS:
        data = read_named(name, data_folder(args), aspects)
    else:
        columns = ColumnMap.parse(args.column) if args.column else None
        data = read_annotations(name, columns, Scale.parse(args.scale), aspects, language)
    for note in data.notes:
        tell(f"{name}: {note}")
    refuse_absent(data, aspects or ())
    return data


def _steps(args: argparse.Namespace, recipe: Recipe, language: Language) -> IntermediateData:
    """Read the data of the intermediate steps.

    Raises:
        DataError: data is missing; names the recipe that needs it, and the remedy.
    """
    from gecjury.core.errors import DataError
    from gecjury.core.textfiles import read_lines
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.data.rated_sets import read_rated_sets, read_treebank_text
    from gecjury.refless.training.steps.intermediate import IntermediateData

    steps = set(recipe.intermediate)
    labelled = labelled_text(args, args.detection, language.code) if args.detection else None
    corrections: list[Correction] = []
    clean: list[str] = []
    try:
        # Labelled text replaces parallel text in detection.
        if "ranking" in steps or ("detection" in steps and not args.detection):
            names = args.parallel or _PARALLEL
            corrections = read_parallel(names, lambda: data_folder(args), language)
        if args.clean == "en-ewt":
            place = data_folder(args).path("ud/en_ewt/en_ewt-ud-train.conllu")
            clean = read_treebank_text(place)
        elif args.clean:
            clean = read_lines(args.clean)
    except DataError as error:
        if not args.recipe:
            raise
        raise DataError(
            f"--recipe {args.recipe} first learns error detection, from jfleg, gmeg-dev and "
            f"en-ewt: {error}; or name your own text with --parallel SOURCE,REF and --clean FILE"
        ) from None
    rated = read_rated_sets(args.data, args.cache) if "ratings" in steps else []
    # The text of a step can leak like that of the training itself.
    texts = [text for c in corrections for text in (c.source, c.text())]
    warn_of_leaks(args, texts, "the parallel text")
    return IntermediateData(corrections, clean, rated, labelled, language.code)


def _result(args: argparse.Namespace, report: Report) -> Result:
    from gecjury.refless.training.model_card import figure_rows
    from gecjury.report.result import Column, Table

    rows = figure_rows(report.figures, report.alone)
    columns = [Column("what")] * bool(report.alone)
    columns += [Column(key) for key in ("part", "aspect", "pearson", "spearman", "rmse")]
    columns.append(Column("rows", digits=0))
    tables = [Table(columns, rows)]
    facts: dict[str, object] = {
        "model": str(Path(args.output)),
        "figures": report.figures,
        "trained": report.trained,
        "steps": report.steps,
    }
    if report.alone:
        facts |= {"alone": report.alone, "shares": report.shares}
    if report.beside:
        shown = [Column("what"), Column("of", "agrees with")]
        shown += [Column("pearson", interval="interval"), Column("spearman")]
        shown.append(Column("rows", digits=0))
        title = "On held-out sources (the test part), 95% intervals by bootstrap over sources"
        tables.append(Table(shown, [vars(row) for row in report.beside], title, name="beside"))
    return training_result(args, tables, facts, report.worth, _model(args, report))


def grid_result(args: argparse.Namespace, trials: Sequence[GridTrial], report: Report) -> Result:
    """Return the results of each combination of the grid, and the report of the chosen one.

    Args:
        args: options of the command.
        trials: see `gecjury.refless.training.grid.train_grid`.
        report: report of the chosen combination.
    """
    from gecjury.report.result import Column, Table

    keys = ("aspect", "max_length", "batch_size", "learning_rate", "epochs", "dev", "test")
    columns = [Column(key, digits=5 if key == "learning_rate" else 3) for key in keys]
    rows = [
        {key: getattr(trial, key) for key in (*keys, "chosen")} | {"chosen": "*" * trial.chosen}
        for trial in trials
    ]
    table = Table([*columns, Column("chosen")], rows, name="rows")
    return training_result(args, [table], {}, report.worth, _model(args, report))


def _model(args: argparse.Namespace, report: Report) -> str:
    """Return where the model is and how to score with it."""
    from gecjury.refless.nets.bundle import metric_for

    aspects = [aspect for part in report.figures.values() for aspect in part]
    folder = str(Path(args.output))
    return f"model: {folder}; score with -m {metric_for(folder, aspects)}"
