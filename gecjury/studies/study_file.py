"""`gecjury study`: a comparison over several benchmarks from a file, as one page."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.core.settings import option, options_of, settings_from
from gecjury.core.textfiles import read_toml
from gecjury.report.result import Result
from gecjury.report.table import MOST_NOTES
from gecjury.report.tables import to_json
from gecjury.studies.compare import Compare, ComparedTasks
from gecjury.studies.inputs import Arguments, Benchmarks, Inputs, with_servers
from gecjury.studies.study import Output, Work

if TYPE_CHECKING:
    from gecjury.metaeval.tasks.comparison import TaskComparison
    from gecjury.studies.inputs import Shared


@dataclass(frozen=True, kw_only=True)
class StudyFile(Compare):
    """One comparison over many benchmarks: from a study file to a page."""

    inputs: ClassVar[Inputs] = Benchmarks(
        "a .toml file: benchmarks, metrics, settings", "STUDY", None, count=1, described=True
    )
    keeps: ClassVar[Output | None] = Output(
        "receives index.html, study.json and the scores, which a second run reuses", required=True
    )
    page: ClassVar[bool | str] = False
    title: str = option("", hidden=True)
    file: str = option("", hidden=True)

    def asked(self, given: Arguments) -> tuple[StudyFile, Arguments]:
        """Return the study that the file describes, after the user's consent to what it does."""
        (file,), shared = given.names, given.shared
        record = read_study(file)
        _require_consent(file, shared, record)
        metrics = with_servers(record.metrics, shared.base_url, shared.allow_judges)
        settings = settings_from(type(self), record.settings)
        study = replace(settings, weights=record.weights, title=record.title, file=file)
        return study, replace(given, names=tuple(record.benchmarks), metrics=tuple(metrics))

    def run(self, work: Work) -> Result:
        """Compare, and write the page and the figures into the folder."""
        from gecjury.report.page.tasks import tasks_page
        from gecjury.scoring.score_files import check_writable

        folder = cast(str, work.folder)
        check_writable(folder)
        start = time.perf_counter()
        # A file names at least two benchmarks.
        compared = super().run(replace(work, folder=Path(folder, "scores")))
        result = cast(ComparedTasks, self.with_settings(compared))
        made = {
            "command": f"gecjury study {self.file} -o {folder}",
            "seconds": f"{time.perf_counter() - start:.0f}",
        }
        document = {**result.document(), "made": made}
        write_text(Path(folder, "study.json"), to_json(document) + "\n")
        page = tasks_page(result.comparison, [*made.items()], title=self.title)
        write_text(Path(folder, "index.html"), page)
        place = f"page: {Path(folder, 'index.html').absolute()}"
        said = (*result.sentences("brief"), *_incomplete(result.comparison)[:MOST_NOTES], place)
        # The figures are in the files, so only the table of a paper is printed on stdout.
        return replace(result, text="", said=said)


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


def _require_consent(file: str, shared: Shared, record: StudyRecord) -> None:
    """Refuse what the file's metrics, benchmarks and settings do without the user's consent."""
    from gecjury.benchmarks.own.folder import outside_of
    from gecjury.scoring.consent import Consent, home_of, is_outside, powers_of, require_consent

    home = home_of(file)
    read = [
        Consent(f"reads {other}, outside {home}", who=f"the benchmark {name}")
        for name in record.benchmarks
        for other in outside_of(name, home)
    ] + [
        Consent(f"reads {value}, outside {home}", who=f"the setting {key}")
        for key, value in record.settings.items()
        if isinstance(value, str) and is_outside(value, home)
    ]
    named = [power for text in record.metrics for power in powers_of(text, home, shared.base_url)]
    require_consent(
        file,
        [*named, *read],
        allowed=shared.allow_judges,
        key=shared.api_key_env,
        servers=(shared.base_url,),
    )


@dataclass(frozen=True)
class StudyRecord:
    """The contents of a study file, with the values of settings in the form of options."""

    benchmarks: Sequence[str]
    metrics: Sequence[str]
    title: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    weights: Mapping[str, float] | None = None


def read_study(path: str) -> StudyRecord:
    """Read a study file.

    Raises:
        InputError: the file cannot be read, lacks benchmarks or metrics, or a value has the wrong
            type.
        OptionError: a key is unknown; names the nearest one.
    """
    record = read_toml(path, "a study")
    for key in record:
        known_name(f"key of {path}", key, [one.name for one in fields(StudyRecord)])
    for key, least in (("benchmarks", 2), ("metrics", 1)):
        names = record.get(key, [])
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not texts or len(names) < least:
            raise InputError(f"{path}: {key} = {names!r:.60}; expected {least} or more names")
    for key, kind in (("title", str), ("settings", dict), ("weights", dict)):
        if not isinstance(record.get(key, kind()), kind):
            expected = "a text" if kind is str else "a table"
            raise InputError(f"{path}: {key} = {record[key]!r:.60}; expected {expected}")
    for name, weight in record.get("weights", {}).items():
        if not isinstance(weight, int | float):
            raise InputError(f"{path}: weights.{name} = {weight!r:.60}; expected a number")
    options = {one.name.replace("_", "-"): one for one in options_of(Compare)}
    settings = {}
    for key, value in record.get("settings", {}).items():
        option = options[known_name(f"setting of {path}", key.replace("_", "-"), [*options])]
        try:
            settings[option.name] = option.read_all(value)
        except OptionError as error:
            raise InputError(f"{path}: settings.{key}: {error}") from None
    return StudyRecord(**{**record, "settings": settings, "weights": record.get("weights") or None})
