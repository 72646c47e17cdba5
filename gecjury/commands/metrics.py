"""`gecjury metrics`: every metric with its family, needs and default signature."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("name", nargs="*", help="only these metrics, with all their options")


def run(args: argparse.Namespace) -> int:
    """List metrics; one whose package is missing is listed with the remedy."""
    from gecjury.errors import MissingExtraError
    from gecjury.registry import METRICS, load, scorer_class
    from gecjury.report import Column, print_table

    rows = []
    for name in args.name or METRICS:
        try:
            found = scorer_class(name)
            scorer = load(name)
        except MissingExtraError as error:
            rows.append({"name": name, "family": METRICS[name].split(".")[0], "needs": str(error)})
            continue
        settings = ",".join(f"{key}={value}" for key, value in scorer.settings().items())
        rows.append(
            {
                "name": name,
                "family": found.family,
                "needs": ", ".join(sorted(found.needs)) or "nothing",
                "options": settings,
                "version": found.version,
                "summary": found.summary,
            }
        )
    columns = ["name", "family", "needs", "options", "version", "summary"]
    print_table([Column(key) for key in columns], rows, args.format)
    return 0
