"""`gecjury train detector`: an encoder trained to tell wrong tokens, on labelled text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gecjury.cli.train_detection import (
    add_detection,
    error_weight,
    labelled_code,
    labelled_text,
)
from gecjury.cli.train_options import (
    add_check,
    add_inputs,
    add_optimisation,
    refuse_unread,
    settings_from,
    told_of_reading,
)
from gecjury.cli.train_recipes import add_recipe, chosen_recipe
from gecjury.cli.train_watching import add_watching, draw_history, watching_choices

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser

_EPOCHS, _BATCH = 3, 32


def add_options(parser: CommandParser) -> None:
    """Declare data and model."""
    parser.epilog = """\
examples:
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train some tmu-gfm -o my-some --encoder embedded --detector my-detector --kernel
"""
    add_inputs(
        parser,
        "multiged-en (-cs, -de, -it, -sv), two-column files (TOKEN, tab, c or i) or M2 files",
        "folder for the trained model",
    )
    group = parser.add_argument_group("data")
    add_detection(group, named=False)
    add_check(group)
    add_optimisation(parser.add_argument_group("model and optimisation"))
    add_watching(parser)
    add_recipe(parser, "detector")
    parser.set_defaults(epochs=_EPOCHS, train_batch=_BATCH)


def train(args: argparse.Namespace) -> int:
    """Read labelled text, train, print."""
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.corpus.language import language_of
    from gecjury.refless.training.detector import DetectorJob, train_detector
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.recipe import BaseRecipe
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.result import Column
    from gecjury.report.tables import print_table

    if len(args.seeds) > 1:
        refuse_unread(args, {"seeds": "a detector is one model, so give one seed"})
    telling = watching_choices(args)
    settings = settings_from(args)
    language = labelled_code(args, args.inputs)
    text = labelled_text(args, args.inputs, language)
    if language not in ("en", "mul"):
        read = [sentence.text for sentence in text.train]
        told_of_reading(args.encoder, read, language_of(language))
    job = DetectorJob(
        text=text,
        recipe=BaseRecipe(
            args.encoder,
            detection_weight=error_weight(args),
            language=language,
            settings=settings,
        ),
        folder=Path(args.output),
        runtime=runtime_from(args),
        origin={"data": " ".join(map(shown_name, args.inputs))},
        recipe_name=chosen_recipe(args),
        **telling,
    )
    figures = train_detector(job)
    draw_history(args, job.folder)
    if is_main_process():
        columns = [Column("part")]
        columns += [Column(key, digits=4) for key in ("f0.5", "precision", "recall", "ap")]
        columns.append(Column("tokens", digits=0))
        notes = [f"model: {args.output}; start from it with --detector {args.output}"]
        print_table(columns, [{"part": "dev", **figures}], args.format, notes=notes)
    return 0
