"""Reports of a training during and after the run: figures, services, the card's licence."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell
from gecjury.core.settings import option

if TYPE_CHECKING:
    from gecjury.refless.training.worth import Worth
    from gecjury.report.result import Result, Table


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How a training is monitored and reported.

    Attributes:
        figure: draw losses and dev scores, updated after each epoch, or those of kernel regression
            by amount of data: .png, .pdf or .svg.
        report_to: tensorboard, wandb, mlflow or another service that transformers reports to.
        logging_dir: folder for TensorBoard (default: logs in the output folder).
        license: licence named in the model card.
    """

    figure: str | None = option(
        None, metavar="FILE", heading="while it trains, and afterwards", needs={"grid": ()}
    )
    report_to: tuple[str, ...] = option((), metavar="SERVICE", several=True)
    logging_dir: str | None = option(None, metavar="DIR", needs={"": ("report_to tensorboard",)})
    license: str = option("", metavar="NAME")


def job_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of every job besides its data, its recipe and their origin.

    Raises:
        OptionError: a service is unknown, or the figure cannot be drawn.
        MissingExtraError: a service's package is not installed.
    """
    from gecjury.cli.inputs import runtime_from
    from gecjury.cli.train_recipes import chosen_recipe
    from gecjury.refless.training.watching import check_reporting

    if args.report_to:
        check_reporting(args.report_to)
    return {
        "folder": Path(args.output),
        "runtime": runtime_from(args, log=True),
        "recipe_name": chosen_recipe(args),
        "license": args.license,
        "report_to": tuple(args.report_to),
        "logs": Path(args.logging_dir) if args.logging_dir else None,
        "drawn": _drawn(args),
        "told": tell,
    }


def _drawn(args: argparse.Namespace) -> Callable[[Mapping[str, Any]], None] | None:
    """Return a function that draws the figure during a training; None if there is no figure."""
    if args.figure is None:
        return None
    from gecjury.core.errors import OutputError
    from gecjury.report.figures import check_figure, learning_curves

    check_figure(args.figure)

    def draw(history: Mapping[str, Any]) -> None:
        # Hours of training must not fail because of a figure; the final drawing may.
        try:
            learning_curves(history, args.figure)
        except OutputError as error:
            tell(f"warning: {error}")

    return draw


def print_training(args: argparse.Namespace, result: Result) -> int:
    """Print the result of a training and draw its figure, in one of its processes.

    The whole history is drawn, even if the training had already finished.
    """
    from gecjury.cli.studies import shown
    from gecjury.core.textfiles import read_json
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.refless.training.watching import HISTORY_FILE
    from gecjury.report.figures import learning_curves

    # Only one of several processes prints, since all have the same result.
    if not is_main_process():
        return 0
    path = Path(args.output) / HISTORY_FILE
    if args.figure is not None and path.exists():
        learning_curves(read_json(path, "the history of a training"), args.figure)
    elif args.figure is not None:
        tell(f"no figure: {args.output} was trained without a history")
    return shown(result, args.format)


def training_result(
    args: argparse.Namespace,
    tables: Sequence[Table],
    facts: Mapping[str, Any],
    worth: Worth | None,
    model: str,
) -> Result:
    """Return the result of a training, with the table of held-out pairs and its verdict.

    Args:
        args: options of the target.
        tables: one or more tables.
        facts: further entries of the JSON output.
        worth: None for folders of earlier versions, which lack it.
        model: the note that names the model, which comes last.
    """
    from gecjury.report.result import Column, Result, Table

    notes = [model]
    # The verdict comes first, and the model's name last, where users look for it.
    if worth is not None:
        if not worth.above_changes and args.encoder == "embedded" and not args.recipe:
            notes.insert(0, "the best measured settings for the packaged encoder: --recipe small")
        notes.insert(0, worth.verdict)
    shown = list(tables)
    if worth is not None and worth.rows:
        title = f"Held-out pairs of corrections of one source, by {worth.judged}"
        columns = [Column("what"), Column("accuracy", "in the right order", interval="interval")]
        shown.append(Table(columns, [vars(row) for row in worth.rows], title))
    shown[-1] = replace(shown[-1], notes=[*shown[-1].notes, *notes])
    return Result(tuple(shown), {**facts, "worth": worth and asdict(worth)}, tuple(notes))
