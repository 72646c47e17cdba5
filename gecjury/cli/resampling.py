"""Options of resampling, which several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gecjury.cli.inputs import MOST_DRAWS, up_to

if TYPE_CHECKING:
    from gecjury.stats.resampling import Resampling


def add_resampling(parser: argparse.ArgumentParser, over: Sequence[str] | None = None) -> None:
    """Declare the options of resampling.

    Args:
        parser: of the command.
        over: what may be drawn, the default first; by default whatever a comparison can draw.
    """
    if over is None:
        from gecjury.stats.resampling import OVER

        over = OVER
    parser.add_argument(
        "--resample",
        choices=over,
        default=over[0],
        help=f"what the bootstrap draws; none: no intervals, no tests (default: {over[0]})",
    )
    parser.add_argument(
        "--resamples",
        type=up_to(MOST_DRAWS, least=0),
        default=1000,
        metavar="B",
        help="resamples of the bootstrap (default: 1000)",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="C",
        help="confidence of intervals (default: 0.95)",
    )


def resampling_from(args: argparse.Namespace) -> Resampling:
    """What these options ask for.

    Raises:
        OptionError: a value out of its range; names the option.
    """
    from gecjury.stats.resampling import Resampling

    return Resampling(over=args.resample, resamples=args.resamples, confidence=args.confidence)
