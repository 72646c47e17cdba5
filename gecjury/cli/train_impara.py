"""`gecjury train impara`: a ranker trained on parallel text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from gecjury.cli.numbers import up_to
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


def add_options(parser: CommandParser) -> None:
    """Declare data and model."""
    parser.epilog = """\
examples:
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara-ged --encoder embedded \\
      --detection multiged-en --pooling mean
"""
    add_inputs(
        parser,
        "jfleg, gmeg-dev, geccc-dev, ua-gec, an M2 file or SOURCE,REF[,REF...]",
        "folder for the trained model",
    )
    group = parser.add_argument_group("data")
    group.add_argument(
        "--pairs",
        type=up_to(100_000_000, least=0),
        default=4096,
        metavar="N",
        help="pairs to make",
    )
    add_check(group)
    add_optimisation(parser.add_argument_group("model and optimisation"))
    _add_improvements(parser)
    add_watching(parser)
    add_recipe(parser, "impara")


def _add_improvements(parser: CommandParser) -> None:
    from gecjury.refless.training.recipe import RankerPooling

    group = parser.add_argument_group("beyond the paper, as IMPARA-GED (see docs/training.md)")
    group.add_argument(
        "--pooling",
        choices=get_args(RankerPooling),
        default="cls",
        help="what the ranker reads: the first token, or the mean of all",
    )
    group.add_argument(
        "--intermediate",
        nargs="+",
        default=[],
        choices=["detection"],
        help="error detection before the ranking, on the parallel text where --detection names "
        "nothing",
    )
    add_step_options(group)
    add_detection(group)
    add_detector(group)


def train(args: argparse.Namespace) -> int:
    """Read parallel text, train, print."""
    from dataclasses import asdict
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.refless.data.pairs import parallel_language, read_parallel
    from gecjury.refless.training.impara import RankerJob, ranker_metric, train_impara
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.recipe import RankerRecipe
    from gecjury.refless.training.steps.intermediate import IntermediateData
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.result import Column, Table
    from gecjury.report.tables import print_tables

    refuse_without_detector(args)
    refuse_unread(args, _unread(args))
    steps = bool(args.intermediate or args.detection)
    telling = watching_choices(args)
    settings = settings_from(args)
    runtime = runtime_from(args)
    language = training_language(args, {name: parallel_language(name) for name in args.inputs})
    corrections = read_parallel(args.inputs, lambda: data_folder(args), language)
    texts = [text for c in corrections for text in (c.source, c.text())]
    name = " ".join(map(shown_name, args.inputs))
    notes = warn_of_leaks(args, texts, name)
    notes += told_of_reading(args.encoder, texts, language)
    notes += _known_to_detector(args, [c.source for c in corrections])
    detection = None
    if args.detection:
        detection = IntermediateData(labelled=labelled_text(args, args.detection, language.code))
    elif steps:
        detection = IntermediateData(corrections, language=language.code)
    epochs, rate = step_choices(args)
    recipe = RankerRecipe(
        args.encoder,
        detector=args.detector or "",
        intermediate_epochs=epochs,
        intermediate_rate=rate,
        detection_weight=error_weight(args),
        language=language.code,
        settings=settings,
        pairs=args.pairs,
        pooling=args.pooling,
    )
    job = RankerJob(
        recipe=recipe,
        corrections=corrections,
        folder=Path(args.output),
        runtime=runtime,
        steps=detection,
        origin={"data": name, **detection_origin(args)},
        notes=notes,
        recipe_name=chosen_recipe(args),
        **telling,
    )
    report = train_impara(job)
    draw_history(args, job.folder)
    if is_main_process():
        metric = ranker_metric(args.output, args.pooling)
        columns = [Column(key) for key in ("part", "accuracy", "pairs")]
        model = f"model: {args.output}; score with -m {metric}"
        print_tables(
            with_worth(args, [Table(columns, list(report.figures))], report.worth, model),
            {"rows": report.figures, "worth": asdict(report)["worth"]},
            args.format,
        )
    return 0


def _known_to_detector(args: argparse.Namespace, sources: list[str]) -> list[str]:
    """A warning, also on stderr, where the detector has learnt from what the ranker is tried on."""
    from gecjury.corpus.leakage import sentence_key
    from gecjury.refless.training.steps.detection import detection_keys

    keys = detection_keys(None, args.detector or "")
    distinct = set(sources)
    known = sum(sentence_key(source) in keys for source in distinct)
    if not known:
        return []
    line = (
        f"the detector has learnt from {known} of the {len(distinct)} sources of the parallel "
        "text, so that dev and test accuracy flatter the ranker"
    )
    tell(f"warning: {line}")
    return [line]


def _unread(args: argparse.Namespace) -> dict[str, str]:
    """Options that this command line would not read, and what does."""
    found = unread_of_detection(args)
    if len(args.seeds) > 1:
        found["seeds"] = "a ranker is one model, so give one seed"
    return found
