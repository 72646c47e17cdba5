"""`gecjury train impara`: a ranker trained on parallel text."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gecjury.cli.inputs import up_to
from gecjury.cli.train_options import (
    add_check,
    add_inputs,
    add_optimisation,
    data_folder,
    settings_from,
    warn_of_leaks,
)

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser

__all__ = ["add_options", "train"]


def add_options(parser: CommandParser) -> None:
    """Declare data and model."""
    parser.epilog = (
        "example:\n  gecjury train impara jfleg gmeg-dev -o my-impara --encoder embedded"
    )
    add_inputs(
        parser,
        "jfleg, gmeg-dev, an M2 file or SOURCE,REF[,REF...]",
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


def train(args: argparse.Namespace) -> int:
    """Read parallel text, train, print."""
    from pathlib import Path

    from gecjury.cli.inputs import runtime_from
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.training.impara import RankerJob, train_impara
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.report.tables import Column, print_table

    corrections = read_parallel(args.inputs, lambda: data_folder(args))
    texts = [text for c in corrections for text in (c.source, c.text())]
    name = " ".join(map(shown_name, args.inputs))
    notes = warn_of_leaks(args, texts, name)
    job = RankerJob(
        corrections=corrections,
        encoder=args.encoder,
        settings=settings_from(args),
        folder=Path(args.output),
        runtime=runtime_from(args),
        count=args.pairs,
        frozen=args.freeze_embeddings,
        origin={"data": name},
        notes=notes,
    )
    figures = train_impara(job)
    if is_main_process():
        print_table(
            [Column(key) for key in ("part", "accuracy", "pairs")],
            figures,
            args.format,
            notes=[f"model: {args.output}; score with -m impara:model={args.output}"],
        )
    return 0
