"""Pages served on this machine only: for collecting judgments by hand and for trying out metrics.

The options of the command line are defined here, so that its help needs no other module of this
package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gecjury.core.settings import REQUIRED, check, option

__all__ = ["Annotation", "AnnotationTask", "Order"]

AnnotationTask = Literal["rank", "rate", "edits"]
"""Tasks of annotators: to rank corrections, to rate one, or to judge its edits."""

Order = Literal["informative", "random", "file"]
"""Orders of items; see `gecjury.web.choosing`."""


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """Settings of an annotation: what is judged, and how.

    Attributes:
        source: sentences to correct: text, M2 or JSON.
        outputs: system outputs, called by their file names; annotators never see these names.
        output: CSV file of judgments, written after each answer; an existing one is continued.
        references: a reference, for -m and for `compare` afterwards; repeat for more.
        task: rank sets of corrections (default), rate single ones by grammaticality, fluency and
            meaning, or judge their edits.
        annotator: name of the annotator; without it the page asks for one.
        order: which item is asked next: the most informative (default with -m, and for rank), a
            random one (default otherwise), or the next in the file.
        metrics: ask first about sentences on which these metrics disagree; at least two.
        seed: seed of sets, orders and places.

    Raises:
        OptionError: a value is not allowed.
    """

    source: str = option(REQUIRED, "SOURCE")
    outputs: tuple[str, ...] = option(REQUIRED, "HYP")
    output: str = option(REQUIRED, "-o", "--output", metavar="FILE")
    references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    task: AnnotationTask = "rank"
    annotator: str | None = option(None, metavar="NAME")
    order: Order | None = None
    metrics: tuple[str, ...] = option((), "-m", "--metric", metavar="METRIC")
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        check(self)
