"""Pages on this machine alone: judgments collected by hand, and metrics tried out.

What the command line offers stands here, so that its help needs nothing else of the room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gecjury.settings import REQUIRED, check, option

__all__ = ["Annotation", "Order", "Task"]

Task = Literal["rank", "rate", "edits"]
"""Tasks of annotators: rankings of corrections, ratings of one, verdicts on its edits."""

Order = Literal["informative", "random", "file"]
"""Orders of items; see `gecjury.web.choosing`."""


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """Settings of an annotation: what is judged, and how.

    Attributes:
        source: sentences to correct: text, M2 or JSON.
        outputs: system outputs, called by their file names; annotators never see whose is whose.
        output: judgments as CSV, written after each answer; what is there already is gone on with.
        references: a reference, for -m and for `compare` afterwards; repeat for more.
        task: rank sets of corrections (default), rate single ones by grammaticality, fluency and
            meaning, or judge their edits.
        sets_of: most corrections in a set to rank, 2 to 9.
        hide_edits: show corrections without marking their edits.
        annotator: who judges; without it the page asks for a name.
        order: what is asked next: what tells most (default with -m, and for rank), random (default
            otherwise), or the file's order.
        metrics: ask first where these metrics disagree; two at least.
        seed: seed of sets, orders and places.

    Raises:
        OptionError: a value that there is none of.
    """

    source: str = option(REQUIRED, "SOURCE")
    outputs: tuple[str, ...] = option(REQUIRED, "HYP")
    output: str = option(REQUIRED, "-o", "--output", metavar="FILE")
    references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    task: Task = "rank"
    sets_of: int = option(5, metavar="N", least=2, most=9)  # each rank is one key
    hide_edits: bool = False
    annotator: str | None = option(None, metavar="NAME")
    order: Order | None = None
    metrics: tuple[str, ...] = option((), "-m", "--metric", metavar="METRIC")
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that the options do not have."""
        check(self)
