"""What a training tells while it runs and afterwards: figures, services, the card's licence."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell

if TYPE_CHECKING:
    from gecjury.cli.parsers import CommandParser


def add_watching(parser: CommandParser, drawn: str = "") -> None:
    """Declare --figure, --report-to, --logging-dir and --license.

    Args:
        parser: of the target.
        drawn: what the figure shows besides.
    """
    group = parser.add_argument_group("while it trains, and afterwards")
    group.add_argument(
        "--figure",
        metavar="FILE",
        help=f"draw losses and dev scores, anew after each epoch: .png, .pdf or .svg{drawn}",
    )
    group.add_argument(
        "--report-to",
        nargs="+",
        default=[],
        metavar="SERVICE",
        help="tensorboard, wandb, mlflow or whatever else transformers reports to",
    )
    group.add_argument(
        "--logging-dir", metavar="DIR", help="for TensorBoard (default: logs in the output folder)"
    )
    group.add_argument("--license", default="", metavar="NAME", help="named in the model card")


def watching_choices(args: argparse.Namespace) -> dict[str, Any]:
    """What a job is told of it: `license`, `report_to`, `logs` and `drawn`.

    Raises:
        OptionError: a service that is not known, a folder for logs that nothing would write, or a
            figure that cannot be drawn.
        MissingExtraError: a service's package is not installed.
    """
    from gecjury.errors import OptionError

    if args.report_to:
        from gecjury.refless.training.watching import check_reporting

        check_reporting(args.report_to)
    if args.logging_dir and "tensorboard" not in args.report_to:
        raise OptionError("--logging-dir is for TensorBoard: add --report-to tensorboard")
    return {
        "license": args.license,
        "report_to": tuple(args.report_to),
        "logs": Path(args.logging_dir) if args.logging_dir else None,
        "drawn": _drawn(args),
    }


def _drawn(args: argparse.Namespace) -> Callable[[Mapping[str, Any]], None] | None:
    """What draws the figure while a training runs; None without one."""
    if args.figure is None:
        return None
    from gecjury.errors import OutputError
    from gecjury.report.figures import check_figure, check_place, learning_curves

    check_figure(args.figure)
    check_place(args.figure)

    def draw(history: Mapping[str, Any]) -> None:
        # A training of hours must not end because of a figure; the last drawing may fail.
        try:
            learning_curves(history, args.figure)
        except OutputError as error:
            tell(f"warning: {error}")

    return draw


def draw_history(args: argparse.Namespace, folder: Path) -> None:
    """Draw the whole history, also of a training that was finished before."""
    from gecjury.refless.training.trainer import is_main_process
    from gecjury.refless.training.watching import HISTORY_FILE
    from gecjury.report.figures import learning_curves
    from gecjury.textfiles import read_json

    path = folder / HISTORY_FILE
    if args.figure is None or not is_main_process():
        return
    if not path.exists():
        tell(f"no figure: {folder} was trained without a history")
        return
    learning_curves(read_json(path, "the history of a training"), args.figure)
