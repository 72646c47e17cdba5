"""`gecjury train detector`: train an encoder to detect wrong tokens, on labelled text."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gecjury.cli.train.data import TextData, labelled_code, labelled_text, told_of_reading
from gecjury.refless.training.recipe import DetectorRecipe

if TYPE_CHECKING:
    from gecjury.report.result import Result

OPTIONS = (TextData, DetectorRecipe)

EPILOG = """\
examples:
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train some tmu-gfm -o my-some --encoder embedded --detector my-detector --kernel
"""


def train(args: argparse.Namespace, recipe: DetectorRecipe, options: Mapping[str, Any]) -> Result:
    """Read labelled text and train; see `gecjury.cli.train.some.train`."""
    from gecjury.corpus.languages.language import language_of
    from gecjury.refless.training.detection import DetectorJob, train_detector
    from gecjury.refless.training.model_card import shown_name
    from gecjury.report.result import Column, Result, Table

    language = labelled_code(args, args.inputs)
    text = labelled_text(args, args.inputs, language)
    # For text in several languages, it is unclear which words an encoder should know.
    if language not in ("en", "mul"):
        read = [sentence.text for sentence in text.train]
        told_of_reading(args.encoder, read, language_of(language))
    job = DetectorJob(
        text=text,
        recipe=replace(recipe, language=language),
        origin={"data": " ".join(map(shown_name, args.inputs))},
        **options,
    )
    rows = [{"part": "dev", **train_detector(job)}]
    columns = [Column("part")]
    columns += [Column(key, digits=4) for key in ("f0.5", "precision", "recall", "ap")]
    columns.append(Column("tokens", digits=0))
    notes = (f"model: {args.output}; start from it with --detector {args.output}",)
    table = Table(columns, rows, notes=notes, name="rows")
    return Result((table,), notes=notes)
