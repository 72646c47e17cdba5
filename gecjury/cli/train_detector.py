"""`gecjury train detector`: an encoder trained to tell wrong tokens, on labelled text."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from gecjury.cli.options import refuse_useless
from gecjury.cli.train_detection import TextData, labelled_code, labelled_text
from gecjury.cli.train_options import recipe_of, told_of_reading
from gecjury.cli.train_recipes import declare
from gecjury.cli.train_watching import Watching, job_options, print_training
from gecjury.refless.training.recipe import DetectorRecipe

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser

_OPTIONS = (TextData, DetectorRecipe, Watching)


def add_options(parser: CommandParser) -> None:
    """Declare data and model."""
    parser.epilog = """\
examples:
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train some tmu-gfm -o my-some --encoder embedded --detector my-detector --kernel
"""
    data = "multiged-en (-cs, -de, -it, -sv), two-column files (TOKEN, tab, c or i) or M2 files"
    declare(parser, data, *_OPTIONS)


def train(args: argparse.Namespace) -> int:
    """Read labelled text, train, print."""
    from gecjury.corpus.language import language_of
    from gecjury.refless.training.detector import DetectorJob, train_detector
    from gecjury.refless.training.model_card import shown_name
    from gecjury.report.result import Column, Result, Table

    refuse_useless(args, *_OPTIONS)
    # Whatever is wrong with the options is said before a file is read.
    recipe = recipe_of(DetectorRecipe, args)
    told = job_options(args)
    language = labelled_code(args, args.inputs)
    text = labelled_text(args, args.inputs, language)
    if language not in ("en", "mul"):
        read = [sentence.text for sentence in text.train]
        told_of_reading(args.encoder, read, language_of(language))
    job = DetectorJob(
        text=text,
        recipe=replace(recipe, language=language),
        origin={"data": " ".join(map(shown_name, args.inputs))},
        **told,
    )
    rows = [{"part": "dev", **train_detector(job)}]
    columns = [Column("part")]
    columns += [Column(key, digits=4) for key in ("f0.5", "precision", "recall", "ap")]
    columns.append(Column("tokens", digits=0))
    notes = (f"model: {args.output}; start from it with --detector {args.output}",)
    table = Table(columns, rows, notes=notes, name="rows")
    return print_training(args, Result((table,), notes=notes))
