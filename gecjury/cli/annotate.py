"""`gecjury annotate`: collect judgments on a local web page."""

from __future__ import annotations

import argparse
from dataclasses import replace

from gecjury.cli.options import arguments_of, runtime_from, settings_of
from gecjury.cli.parsers import declares
from gecjury.cli.serve import Server, serve_page
from gecjury.web import Annotation

add_arguments = declares(Annotation, Server, needs=("texts", "judges"))


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted."""
    from gecjury.cli.streams import tell
    from gecjury.studies.inputs import Shared, language_from
    from gecjury.web.running import check_installed, listen

    check_installed("annotate")
    from gecjury.web.annotate import annotate_app
    from gecjury.web.study import open_study

    settings = settings_of(Annotation, args)
    with listen(settings_of(Server, args).port) as listening:
        study = open_study(
            # The reader refuses a file that is named twice.
            replace(settings, outputs=tuple(args.outputs), references=tuple(args.references)),
            language=language_from(arguments_of(Shared, args)),
            runtime=runtime_from(args),
            tell=lambda text: tell(args.parser.as_typed(f"gecjury: {text}")),
        )
        kept = len(study.journal.answers())
        tell(f"gecjury: {len(study.items)} to judge, {kept} answers so far in {args.output}")
        serve_page(annotate_app(study), listening, args)
    # Answers go to the journal first: it is complete even if the CSV could not be written.
    study.journal.close()
    now = len(study.journal.answers())
    if study.journal.behind:
        tell(
            f"gecjury: {now} answers in {study.journal.path}, and fewer in {args.output} "
            f"({study.journal.behind}): start the command again to write it"
        )
    else:
        tell(f"gecjury: {now} answers in {args.output}")
    if study.command:
        tell(f"gecjury: compare metrics with them: {study.command}")
    return 0
