"""`gecjury annotate`: judgments collected on a page of this machine."""

from __future__ import annotations

import argparse

from gecjury.cli.inputs import add_metrics, add_reference
from gecjury.cli.numbers import up_to
from gecjury.cli.pages import add_server_options, serve_page
from gecjury.cli.parsers import CommandParser


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges")
    from gecjury.web import MOST_SET, ORDERS, TASKS

    parser.add_argument("source", metavar="SOURCE", help="sentences to correct: text, M2 or JSON")
    parser.add_argument(
        "outputs",
        metavar="HYP",
        nargs="+",
        help="system outputs, called by their file names; annotators never see whose is whose",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="judgments as CSV, written after each answer; what is there already is gone on with",
    )
    add_reference(parser, "a reference, for -m and for `compare` afterwards; repeat for more")
    parser.add_argument(
        "--task",
        choices=TASKS,
        default="rank",
        help="rank sets of corrections (default), rate single ones by grammaticality, fluency and "
        "meaning, or judge their edits",
    )
    parser.add_argument(
        "--sets-of",
        type=up_to(MOST_SET),
        default=5,
        metavar="N",
        help="most corrections in a set to rank, 2 to 9 (default: 5)",
    )
    parser.add_argument(
        "--hide-edits", action="store_true", help="show corrections without marking their edits"
    )
    parser.add_argument(
        "--annotator", metavar="NAME", help="who judges; without it the page asks for a name"
    )
    parser.add_argument(
        "--order",
        choices=ORDERS,
        help="what is asked next: what tells most (default with -m, and for rank), random (default "
        "otherwise), or the file's order",
    )
    add_metrics(parser, "ask first where these metrics disagree; two at least")
    parser.add_argument("--seed", type=int, default=0, help="seed of sets, orders and places")
    add_server_options(parser)


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.cli.inputs import language_from, runtime_from
    from gecjury.cli.streams import tell
    from gecjury.web.running import check_installed, listen

    check_installed("annotate")
    from gecjury.web.annotate import annotate_app
    from gecjury.web.study import open_study

    with listen(args.port) as listening:
        study = open_study(
            args.source,
            args.outputs,
            args.output,
            references=args.references,
            task=args.task,
            sets_of=args.sets_of,
            hide_edits=args.hide_edits,
            annotator=args.annotator,
            order=args.order,
            metrics=args.metrics,
            seed=args.seed,
            language=language_from(args),
            runtime=runtime_from(args),
            tell=lambda text: tell(f"gecjury: {text}"),
        )
        kept = len(study.journal.answers())
        tell(f"gecjury: {len(study.items)} to judge, {kept} answers so far in {args.output}")
        serve_page(annotate_app(study), listening, args)
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
