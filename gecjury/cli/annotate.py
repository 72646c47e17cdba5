"""`gecjury annotate`: judgments collected on a page of this machine."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gecjury.cli.options import settings_of
from gecjury.cli.parsers import declares
from gecjury.cli.serve import Server, serve_page
from gecjury.settings import REQUIRED, check, option
from gecjury.web import MOST_SET, Order, Task


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """What is judged, and how.

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
    """

    source: str = option(REQUIRED, "SOURCE")
    outputs: tuple[str, ...] = option(REQUIRED, "HYP")
    output: str = option(REQUIRED, "-o", "--output", metavar="FILE")
    references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    task: Task = "rank"
    sets_of: int = option(5, metavar="N", least=2, most=MOST_SET)
    hide_edits: bool = False
    annotator: str | None = option(None, metavar="NAME")
    order: Order | None = None
    metrics: tuple[str, ...] = option((), "-m", "--metric", metavar="METRIC")
    seed: int = 0

    def __post_init__(self) -> None:
        check(self)


add_arguments = declares(Annotation, Server, needs=("texts", "judges"))


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.cli.inputs import language_from, runtime_from
    from gecjury.cli.streams import tell
    from gecjury.web.running import check_installed, listen

    check_installed("annotate")
    from gecjury.web.annotate import annotate_app
    from gecjury.web.study import open_study

    settings = settings_of(Annotation, args)
    with listen(settings_of(Server, args).port) as listening:
        study = open_study(
            # A file named twice is refused by the reader, not passed over.
            **{**vars(settings), "outputs": args.outputs, "references": args.references},
            language=language_from(args),
            runtime=runtime_from(args),
            tell=lambda text: tell(f"gecjury: {text}"),
        )
        kept = len(study.journal.answers())
        tell(f"gecjury: {len(study.items)} to judge, {kept} answers so far in {args.output}")
        serve_page(annotate_app(study), listening, args)
    # Answers are in the journal first: it is complete even where the CSV could not be written.
    study.journal.close()
    now = len(study.journal.answers())
    if study.journal.behind:
        tell(
            f"gecjury: {now} answers in {study.journal.path}, and fewer in {args.output} "
            f"({study.journal.behind}): start the command again to have it written"
        )
    else:
        tell(f"gecjury: {now} answers in {args.output}")
    if study.command:
        tell(f"gecjury: try metrics against them with {study.command}")
    return 0
