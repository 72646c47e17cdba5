"""`gecjury study`: a comparison over several benchmarks from a file, as one page."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import (
    named_benchmark,
    print_plans,
    runtime_from,
    with_servers,
)
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import tell
from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.core.settings import options_of, settings_from
from gecjury.core.textfiles import read_toml, write_text

if TYPE_CHECKING:
    from gecjury.metaeval.tasks.comparison import TaskComparison

_KEYS = ("title", "benchmarks", "metrics", "settings", "weights")


def add_arguments(parser: CommandParser) -> None:
    """Declare the file, the folder and the shared options of judges and models."""
    parser.needs = ("judges", "plans", "data")
    parser.add_argument("file", metavar="STUDY", help="a .toml file: benchmarks, metrics, settings")
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        required=True,
        help="receives index.html, study.json and the scores, which a second run reuses",
    )
    parser.set_defaults(systems=None, references=None)


def run(args: argparse.Namespace) -> int:
    """Run the comparison that the file describes, and write the page and the figures."""
    from gecjury.report.page.tasks import tasks_page
    from gecjury.report.tables import to_json
    from gecjury.scoring.score_files import check_writable
    from gecjury.studies.compare import Compare, ComparedTasks
    from gecjury.studies.study import Work

    record = read_study(args.file)
    _require_consent(args, record)
    settings = replace(settings_from(Compare, record["settings"]), weights=record["weights"])
    names = [str(name) for name in record["benchmarks"]]
    metrics = with_servers(record["metrics"], args.base_url, args.allow_judges)
    work = Work.of(
        settings,
        lambda: tuple(named_benchmark(args, name, settings.view) for name in names),
        metrics,
        runtime_from(args),
        Path(args.output, "scores"),
        names,
    )
    settings.check(work)
    if work.runtime.dry_run:
        print_plans(settings.plans(work))
        return 0
    check_writable(args.output)
    start = time.perf_counter()
    result = settings.run(work)
    assert isinstance(result, ComparedTasks)  # since there are at least two benchmarks
    made = {
        "command": f"gecjury study {args.file} -o {args.output}",
        "seconds": f"{time.perf_counter() - start:.0f}",
    }
    page = tasks_page(result.comparison, [*made.items()], title=record["title"])
    write_text(Path(args.output, "study.json"), to_json({**result.document(), "made": made}) + "\n")
    write_text(Path(args.output, "index.html"), page)
    for sentence in (*result.sentences(), *_incomplete(result.comparison)):
        tell(sentence)
    tell(f"page: {Path(args.output, 'index.html').absolute()}")
    return result.status


def _incomplete(compared: TaskComparison) -> list[str]:
    """Return which metrics lack scores of outputs, and which have no figure for a task."""
    from gecjury.report.tasks import absences

    unanswered = [
        f"warning: {table.signature.label}: {table.unanswered} scores are missing on {name}"
        for name, comparison in compared.comparisons.items()
        for table in comparison.tables
        if table.unanswered
    ]
    return unanswered + [f"note: {line}" for line in absences(compared)]


def _require_consent(args: argparse.Namespace, record: Mapping[str, Any]) -> None:
    """Refuse what the file's metrics, benchmarks and settings do without the user's consent."""
    from gecjury.benchmarks.own.folder import outside_of
    from gecjury.scoring.consent import Power, home_of, is_outside, powers_of, require_consent

    home = home_of(args.file)
    read = [
        Power(f"reads {file}, outside {home}", who=f"the benchmark {name}")
        for name in record["benchmarks"]
        for file in outside_of(name, home)
    ] + [
        Power(f"reads {value}, outside {home}", who=f"the setting {key}")
        for key, value in record["settings"].items()
        if isinstance(value, str) and is_outside(value, home)
    ]
    named = [power for text in record["metrics"] for power in powers_of(text, home, args.base_url)]
    require_consent(
        args.file,
        [*named, *read],
        allowed=args.allow_judges,
        key=args.api_key_env,
        servers=(args.base_url,),
    )


def read_study(path: str) -> dict[str, Any]:
    """Return a study file's tables, with the values of settings in the form of options.

    Raises:
        InputError: the file cannot be read, lacks benchmarks or metrics, or a value has the wrong
            type.
        OptionError: a key is unknown; names the nearest one.
    """
    from gecjury.studies.compare import Compare

    record = read_toml(path, "a study")
    for key in record:
        known_name(f"key of {path}", key, _KEYS)
    usual: dict[str, Any] = {"title": "", "settings": {}, "weights": {}}
    record = {**usual, **record}
    for key, least in (("benchmarks", 2), ("metrics", 1)):
        names = record.get(key, [])
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not texts or len(names) < least:
            raise InputError(f"{path}: {key} = {names!r:.60}; expected {least} or more names")
    for key, kind in (("title", str), ("settings", dict), ("weights", dict)):
        if not isinstance(record[key], kind):
            expected = "a text" if kind is str else "a table"
            raise InputError(f"{path}: {key} = {record[key]!r:.60}; expected {expected}")
    for name, weight in record["weights"].items():
        if not isinstance(weight, int | float):
            raise InputError(f"{path}: weights.{name} = {weight!r:.60}; expected a number")
    options = {one.name.replace("_", "-"): one for one in options_of(Compare)}
    settings = {}
    for key, value in record["settings"].items():
        option = options[known_name(f"setting of {path}", key.replace("_", "-"), [*options])]
        try:
            settings[option.name] = option.read_all(value)
        except OptionError as error:
            raise InputError(f"{path}: settings.{key}: {error}") from None
    return {**record, "settings": settings, "weights": record["weights"] or None}
