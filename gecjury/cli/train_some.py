"""`gecjury train some`: regressors trained on rated sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from gecjury.cli.numbers import MOST_SEED, up_to
from gecjury.cli.streams import tell
from gecjury.cli.train_detection import (
    add_detection,
    add_detector,
    add_step_options,
    detection_origin,
    error_weight,
    labelled_text,
    step_choices,
    unread_of_detection,
)
from gecjury.cli.train_options import (
    add_check,
    add_inputs,
    add_optimisation,
    data_folder,
    refuse_unread,
    settings_from,
    told_of_reading,
    training_language,
    warn_of_leaks,
    with_worth,
)
from gecjury.cli.train_recipes import add_recipe, chosen_recipe, refuse_without_detector
from gecjury.cli.train_watching import add_watching, draw_history, watching_choices

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser
    from gecjury.corpus.language import Language
    from gecjury.corpus.splits import Split
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.training.evaluation import Report
    from gecjury.refless.training.grid import GridTrial
    from gecjury.refless.training.recipe import Recipe
    from gecjury.refless.training.steps.intermediate import IntermediateData

_PARALLEL = ("jfleg", "gmeg-dev")


def add_options(parser: CommandParser) -> None:
    """Declare data, model and improvements beyond the paper."""
    parser.epilog = """\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
"""
    add_inputs(
        parser,
        "tmu-gfm, gug, autojqe, a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]",
        "folder for the trained model",
    )
    _add_data(parser)
    _add_model(parser)
    _add_improvements(parser)
    add_watching(parser, "; with --kernel also dev scores by amount of data")
    add_recipe(parser, "some")


def _add_data(parser: CommandParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="ROLE=COLUMN",
        help="which column is output, source, grammaticality, fluency, meaning, or quality alone "
        "(several raters: COL1,COL2 or several numbers in a cell), or split (train, dev, test); "
        "repeat",
    )
    group.add_argument(
        "--scale", default="1:4", metavar="LOW:HIGH", help="lowest and highest rating"
    )
    group.add_argument("--aspects", nargs="+", metavar="ASPECT", help="train only these")
    group.add_argument("--dev", metavar="FILE", help="dev ratings, instead of a drawn split")
    group.add_argument("--test", metavar="FILE", help="test ratings; needs --dev")
    group.add_argument(
        "--split-seed",
        type=up_to(MOST_SEED, least=0),
        default=0,
        help="seed of the split by source",
    )
    add_check(group)


def _add_model(parser: CommandParser) -> None:
    from gecjury.refless.training.recipe import Loss, TrainSettings

    group = parser.add_argument_group("model and optimisation")
    add_optimisation(group)
    group.add_argument(
        "--shared", action="store_true", help="one encoder with all heads instead of a model each"
    )
    group.add_argument("--loss", choices=get_args(Loss), default=TrainSettings.loss)
    group.add_argument(
        "--grid",
        action="store_true",
        help="the paper's grid: max length 128, 256; batch 8, 16; learning rate 2e-5, 3e-5, 5e-5",
    )


def _add_improvements(parser: CommandParser) -> None:
    from gecjury.refless.training.recipe import Intermediate, Recipe

    usual = Recipe()
    group = parser.add_argument_group("beyond the paper (see docs/training.md for what each gives)")
    group.add_argument(
        "--features", action="store_true", help="add case, spelling and edit features"
    )
    group.add_argument(
        "--kernel",
        action="store_true",
        help="kernel regression on hidden states and features instead of fine-tuning",
    )
    group.add_argument(
        "--fine-tune",
        action="store_true",
        help="with --kernel: fine-tune too, and average both, weighed on the dev part",
    )
    group.add_argument(
        "--within",
        type=float,
        default=usual.within,
        metavar="X",
        help="with --kernel: how much more differences between corrections of one source count",
    )
    group.add_argument(
        "--read-source",
        action="store_true",
        help="with --kernel: grammaticality and fluency read the source (not to compare systems)",
    )
    group.add_argument(
        "--intermediate",
        nargs="+",
        default=[],
        choices=get_args(Intermediate),
        help="steps before the regression, in order",
    )
    add_step_options(group)
    group.add_argument(
        "--parallel",
        nargs="+",
        metavar="TEXT",
        help="parallel text for detection and ranking (default: jfleg gmeg-dev)",
    )
    group.add_argument(
        "--clean", metavar="FILE", help="clean sentences, or en-ewt, to spoil for detection"
    )
    add_detection(group)
    add_detector(group)
    group.add_argument("--gug", action="store_true", help="GUG as extra grammaticality data")


def train(args: argparse.Namespace) -> int:
    """Read ratings, train, print."""
    from gecjury.cli.inputs import runtime_from
    from gecjury.errors import OptionError
    from gecjury.refless.data.rated_sets import SET_LANGUAGES
    from gecjury.refless.training.job import Job
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.some import train_some

    refuse_without_detector(args)
    if args.detection and "detection" not in args.intermediate:
        args.intermediate = ["detection", *args.intermediate]
    if len(args.inputs) > 1:
        raise OptionError("train some takes one set of ratings; join files beforehand")
    language = training_language(args, {args.inputs[0]: SET_LANGUAGES.get(args.inputs[0])})
    recipe = _recipe(args, language)
    refuse_unread(args, _unread(args))
    _refuse_english(args, language)
    if args.grid and args.figure is not None:
        raise OptionError("--figure draws one training, --grid makes many: leave out one of them")
    telling = watching_choices(args)
    runtime = runtime_from(args)
    data, split = _parts(args, language)
    extra = []
    if args.gug:
        if "grammaticality" not in data.aspects:
            raise OptionError("--gug rates grammaticality, which is not among the aspects trained")
        gug = _read(args, "gug", language)
        extra = [gug.take([row for row, name in enumerate(gug.names) if name == "train"])]
    name = shown_name(args.inputs[0])
    notes = warn_of_leaks(args, [*data.sources, *data.outputs], name)
    notes += told_of_reading(args.encoder, data.outputs, language)
    steps = _recipe_steps(args, language) if recipe.intermediate else None
    job = Job(
        data=data,
        split=split,
        recipe=recipe,
        folder=Path(args.output),
        runtime=runtime,
        extra=extra,
        steps=steps,
        origin={
            "data": name,
            "sentences looked for in": ", ".join(args.check) or "no benchmark",
            **detection_origin(args),
        },
        notes=notes,
        recipe_name=chosen_recipe(args),
        **telling,
    )
    if args.grid:
        from gecjury.refless.training.grid import train_grid

        return print_grid(args, *train_grid(job))
    report = train_some(job)
    draw_history(args, job.folder)
    return _print_report(args, report)


def _unread(args: argparse.Namespace) -> dict[str, str]:
    """Options that this command line would not read, with why."""
    from gecjury.refless.data.rated_sets import NAMED_SETS

    steps = set(args.intermediate)
    found = unread_of_detection(args)
    if args.inputs[0] in NAMED_SETS and not args.dev:
        why = f"{args.inputs[0]} has known columns and ratings"
        found |= {"column": why, "scale": why}
    if args.dev:
        found["split_seed"] = "the split is that of the files"
    if "detection" not in steps or args.detection:
        found["clean"] = "it is spoilt for --intermediate detection on parallel text"
        if "ranking" not in steps:
            found["parallel"] = "no step reads parallel text (--intermediate detection or ranking)"
    if args.grid:
        why = "the grid tries values of its own"
        found |= dict.fromkeys(("max_length", "train_batch", "learning_rate"), why)
    if not args.kernel:
        found["read_source"] = "it is an option of kernel regression (--kernel)"
        return found
    if args.fine_tune:
        return found
    why = "kernel regression (--kernel) is not fine-tuned"
    found |= dict.fromkeys(("shared", "learning_rate", "epochs", "patience", "loss"), why)
    found["features"] = "kernel regression (--kernel) reads the features by itself"
    found["gug"] = "kernel regression (--kernel) learns from one set of ratings"
    if not steps:
        why = "kernel regression (--kernel) trains no network where no step stands before it"
        names = ("train_batch", "accumulation", "bf16", "freeze_embeddings", "seeds")
        found |= dict.fromkeys(names, why)
    return found


def _refuse_english(args: argparse.Namespace, language: Language) -> None:
    """Refuse what is English by itself in a training on another language."""
    from gecjury.errors import OptionError

    if language.code == "en":
        return
    where = f"the ratings are of {language.name}"
    if args.gug:
        raise OptionError(f"--gug is English, and {where}")
    if "ratings" in args.intermediate:
        raise OptionError(f"--intermediate ratings learns from English sentences, and {where}")
    if args.clean:
        named = f"--recipe {args.recipe} sets --clean, which" if args.recipe else "--clean"
        raise OptionError(f"{named} is spoilt by rules of English, and {where}")
    parallel = {"ranking"} if args.detection else {"ranking", "detection"}
    if parallel & set(args.intermediate) and not args.parallel:
        raise OptionError(
            f"--intermediate learns from English text by default, and {where}; name text of that "
            "language with --parallel"
        )


def _recipe(args: argparse.Namespace, language: Language) -> Recipe:
    from gecjury.refless.training.recipe import Recipe

    epochs, rate = step_choices(args)
    return Recipe(
        encoder=args.encoder,
        shared=args.shared,
        features=args.features,
        intermediate=tuple(args.intermediate),
        intermediate_epochs=epochs,
        intermediate_rate=rate,
        detector=args.detector or "",
        detection_weight=error_weight(args),
        kernel=args.kernel,
        fine_tune=args.fine_tune,
        within=args.within,
        read_source=args.read_source,
        seeds=tuple(args.seeds),
        language=language.code,
        settings=settings_from(args),
    )


def _parts(args: argparse.Namespace, language: Language) -> tuple[Annotations, Split]:
    """The rated sentences and their split: by files, by column, or drawn."""
    from gecjury.errors import InputError, OptionError
    from gecjury.refless.data.rated_sets import join_parts
    from gecjury.refless.data.splits import split_as_named, split_by_source

    data = _read(args, args.inputs[0], language, args.aspects)
    if bool(args.dev) != bool(args.test):
        raise OptionError("--dev and --test go together: a split by file needs all three files")
    if args.dev:
        rest = [_read(args, name, language, args.aspects) for name in (args.dev, args.test)]
        return join_parts(data, *rest)
    try:
        split = split_as_named(data) if data.names else split_by_source(data, args.split_seed)
    except InputError as error:
        raise InputError(f"{args.inputs[0]}: {error}") from None
    if data.names:
        refuse_unread(args, {"split_seed": f"{args.inputs[0]} has a split of its own"})
        return data, split
    tell(f"split by source: {split}")
    return data, split


def _read(
    args: argparse.Namespace,
    name: str,
    language: Language,
    aspects: Sequence[str] | None = None,
) -> Annotations:
    """Rated sentences by name of a set or from a file, of some aspects or of all."""
    from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
    from gecjury.refless.data.rated_sets import NAMED_SETS, choose_aspects, read_named

    if name in NAMED_SETS:
        found = read_named(name, data_folder(args), aspects)
    else:
        columns = ColumnMap.parse(args.column) if args.column else None
        found = read_annotations(name, columns, Scale.parse(args.scale), aspects, language)
    for note in found.notes:
        tell(f"{name}: {note}")
    return choose_aspects(found, aspects)


def _recipe_steps(args: argparse.Namespace, language: Language) -> IntermediateData:
    """Return `_steps`; the error about missing data says which recipe wants it, and the remedy."""
    from gecjury.errors import DataError

    try:
        return _steps(args, language)
    except DataError as error:
        if not args.recipe:
            raise
        raise DataError(
            f"--recipe {args.recipe} learns error detection beforehand, from jfleg, gmeg-dev and "
            f"en-ewt: {error}; or name text of your own with --parallel SOURCE,REF and --clean FILE"
        ) from None


def _steps(args: argparse.Namespace, language: Language) -> IntermediateData:
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.data.rated_sets import read_rated_sets, read_treebank_text
    from gecjury.refless.training.steps.intermediate import IntermediateData
    from gecjury.textfiles import read_lines

    wanted = set(args.intermediate)
    labelled = labelled_text(args, args.detection, language.code) if args.detection else None
    corrections = (
        read_parallel(args.parallel or _PARALLEL, lambda: data_folder(args), language)
        if wanted & ({"ranking"} if args.detection else {"detection", "ranking"})
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
    return IntermediateData(corrections, clean, rated, labelled, language.code)


def _print_report(args: argparse.Namespace, report: Report) -> int:
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables

    if not is_main_process():
        return 0
    named = {"both": report.figures, **{f"{n} alone": f for n, f in report.alone.items()}}
    rows = [
        {"what": what, "part": part, "aspect": aspect, **figures}
        for what, parts in named.items()
        for part, aspects in parts.items()
        for aspect, figures in aspects.items()
    ]
    columns = [Column("what")] * bool(report.alone)
    columns += [Column(key) for key in ("part", "aspect", "pearson", "spearman", "rmse")]
    columns.append(Column("rows", digits=0))
    document: dict[str, object] = {
        "model": str(Path(args.output)),
        "figures": report.figures,
        "trained": report.trained,
        "steps": report.steps,
        "worth": asdict(report)["worth"],
    }
    if report.alone:
        document |= {"alone": report.alone, "shares": report.shares}
    tables = [Table(columns, rows)]
    if report.beside:
        document["beside"] = [vars(row) for row in report.beside]
        shown = [Column("what"), Column("of", "agrees with")]
        shown += [Column("pearson", interval="interval"), Column("spearman")]
        shown.append(Column("rows", digits=0))
        title = "On held-out sources (the test part), intervals of 95% by bootstrap over sources"
        tables.append(Table(shown, [vars(row) for row in report.beside], title))
    print_tables(
        with_worth(args, tables, report.worth, _model(args, report)), document, args.format
    )
    return 0


def print_grid(args: argparse.Namespace, trials: Sequence[GridTrial], report: Report) -> int:
    """Print what each combination of the grid reached, and what the chosen one is worth."""
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables

    if not is_main_process():
        return 0
    keys = ("aspect", "max_length", "batch_size", "learning_rate", "epochs", "dev", "test")
    columns = [Column(key, digits=5 if key == "learning_rate" else 3) for key in keys]
    rows = [
        {key: getattr(trial, key) for key in (*keys, "chosen")} | {"chosen": "*" * trial.chosen}
        for trial in trials
    ]
    tables = with_worth(
        args, [Table([*columns, Column("chosen")], rows)], report.worth, _model(args, report)
    )
    print_tables(tables, {"rows": rows, "worth": asdict(report)["worth"]}, args.format)
    return 0


def _model(args: argparse.Namespace, report: Report) -> str:
    """Return where the model is and how to score with it."""
    from gecjury.refless.nets.bundle import metric_for

    aspects = [aspect for part in report.figures.values() for aspect in part]
    folder = str(Path(args.output))
    return f"model: {folder}; score with -m {metric_for(folder, aspects)}"
