"""`gecjury score` of a dataset: rows of Parquet, JSON lines or the hub, scored into a folder."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import REQUIRED, option, options_of, settings_from
from gecjury.studies.inputs import Arguments, Files, Inputs, Outputs, language_from
from gecjury.studies.study import Study, Work

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.languages.language import Language
    from gecjury.datasets.run import DatasetScores
    from gecjury.report.result import Result, Table
    from gecjury.scoring.scores import Plan

_DATASET = re.compile(r"^hf:|[*?\[]|/$|\.(parquet|pq|jsonl|ndjson|json)(\.gz)?$")
"""Names that may be those of a dataset."""
_CONDITION = ("condition", "removed", "failed")
"""The values of a part of a condition that tables and JSON have."""
_HEADING = "datasets: rows of files of any size (docs/guides/scale.md)"


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Options that apply only to datasets.

    Attributes:
        columns: the columns of the data: id, source, hypothesis (repeat for several), references.
        keep: write the rows that satisfy a condition, e.g. 'green >= .8'.
        engine: engine that runs the workers; ray uses the cluster of $RAY_ADDRESS, or else starts
            one on this machine.
    """

    columns: tuple[str, ...] = option((), "--column", metavar="ROLE=NAME", heading=_HEADING)
    keep: str | None = option(None, metavar="CONDITION")
    engine: Literal["local", "ray"] = "local"


@dataclass(frozen=True, kw_only=True)
class OutputsOrRows(DatasetOptions, Outputs):
    """A source and the outputs of systems, or rows of a dataset.

    Attributes:
        source: sentences to correct: text, M2 or JSON; - reads standard input, here and below; or a
            dataset: Parquet, JSON lines, a folder or glob of them, hf:NAME[:SPLIT].
    """

    source: str = option(REQUIRED, "SOURCE")
    # A dataset may be the only input; for text files, `FilesOrDataset` reports missing outputs.
    hypotheses: tuple[str, ...] = option((), "HYP", several=True)


@dataclass(frozen=True)
class FilesOrDataset(Files):
    """A source and the outputs of systems as text files, or rows of a dataset."""

    options: type | None = OutputsOrRows

    def read(self, given: Arguments, study: object, runtime: Runtime) -> Corpus:
        """Read the text files; large plain ones stay on disk.

        Raises:
            OptionError: there are no outputs.
        """
        if not given.options.hypotheses:
            raise OptionError(
                "the following arguments are required: HYP, since "
                f"{given.options.source} is a text file"
            )
        return self._corpus(given, given.options.hypotheses, on_disk=True)


@dataclass(frozen=True)
class Dataset:
    """The inputs of a scoring of rows."""

    names: tuple[str, ...]
    language: Language
    quiet: bool


class Rows(Inputs):
    """Rows of a dataset, which `FilesOrDataset` names."""

    def read(self, given: Arguments, study: object, runtime: Runtime) -> Dataset:
        """Return the names of the files; the rows are read in parts."""
        return Dataset(_names(given), language_from(given.shared), given.shared.quiet)


@dataclass(frozen=True, kw_only=True)
class DatasetScoring(DatasetOptions, Study):
    """Scores of the rows of a dataset, written into a folder."""

    inputs: ClassVar[Inputs] = Rows()
    logs: ClassVar[bool] = True

    def check(self, work: Work) -> None:
        """Refuse nothing, since the rows have not been read yet."""

    def plans(self, work: Work) -> list[Plan]:
        """Refuse to count requests, for which all rows would be read."""
        raise OptionError("`dry_run=`: is for texts; for a dataset try a file with a few rows")

    def kept(self, work: Work) -> str:
        """Return what an interrupted run keeps, and how to continue it."""
        return f"{work.folder} keeps the parts that were finished: the same command scores the rest"

    def run(self, work: Work) -> Result:
        """Score a dataset into its folder."""
        from gecjury.datasets.run import score_dataset
        from gecjury.report.result import Result
        from gecjury.stats.figure import values_of

        data = cast(Dataset, work.data)
        scores = score_dataset(
            data.names,
            cast(Path, work.folder),
            metrics=work.scorers,
            columns=self.columns,
            keep=self.keep or "",
            engine=self.engine,
            lang=data.language,
            runtime=work.runtime,
            tell=None if data.quiet else work.runtime.tell,
        )
        said: tuple[str, ...] = ()
        results = scores.results
        if scores.done and not data.quiet:
            rate = scores.done / max(scores.seconds, 1e-9)
            said = (f"{scores.done} rows in {scores.seconds:.1f} s, {rate:,.0f} rows/s",)
        return Result(
            tuple(_tables(scores)),
            {
                **values_of(results, "rows", "read", "bad", "nulls", "kept", "notes"),
                "conditions": [values_of(part, *_CONDITION) for part in results.conditions],
            },
            results.notes,
            int(scores.unanswered > 0),
            said,
        )


def _names(given: Arguments) -> tuple[str, ...]:
    return (given.options.source, *given.options.hypotheses)


def dataset_scoring(given: Arguments, study: Study) -> DatasetScoring | None:
    """Return the scoring of a dataset if the names are not those of text files.

    Files of JSON lines may also be texts: they are a dataset if there is only one, if options of
    datasets are given, or if the last one has both sources and hypotheses. Several files with
    references of their own (`-r`) are texts.

    Args:
        study: the scoring of texts, whose settings rows do not have.

    Raises:
        OptionError: options of one kind are given with inputs of the other.
    """
    names = _names(given)
    options = options_of(DatasetOptions)
    values = {one.name: getattr(given.options, one.name) for one in options}
    typed = [one.flags[-1] for one in options if values[one.name] != one.default]
    if not typed and len(names) > 1 and (given.options.references or given.options.m2):
        return None
    # Plain text files without options of datasets need no closer look.
    if not typed and not any(_DATASET.search(n.lower()) or os.path.isdir(n) for n in names):  # noqa: PTH112
        return None
    from gecjury.datasets.files import is_dataset, may_be_dataset

    # A name that can only be a dataset decides for all names; otherwise the options decide.
    possible = all(map(may_be_dataset, names))
    certain = possible and any(map(is_dataset, names))
    if certain or (possible and (typed or len(names) == 1 or _has_both(names[-1]))):
        _refuse_text_options(given, study)
        return settings_from(DatasetScoring, values)
    if typed:
        raise OptionError(
            f"{typed[0]} is for datasets (Parquet, JSON lines, hf:NAME), but {names[0]} is a text "
            "file"
        )
    return None


def _has_both(name: str) -> bool:
    """Return whether the first line of a file of JSON lines has a source and a hypothesis."""
    try:
        with gzip.open(name) if name.lower().endswith(".gz") else Path(name).open("rb") as lines:
            value = json.loads(lines.readline(1_000_000))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return False
    return isinstance(value, dict) and {"source", "hypothesis"} <= value.keys()


def _refuse_text_options(given: Arguments, study: Study) -> None:
    from gecjury.stats.figure import values_of

    hints = {
        "-r": ": name the column of the references with --column references=NAME",
        "--sentences": ": the scores of rows are written to the folder of -o",
    }
    source = given.options.source
    of_files = values_of(given.options, "references", "m2")
    of_study = values_of(study, "sentences", "by_type", "worst", "limit")
    for name, value in {**of_files, **of_study, "html": given.page}.items():
        if value:
            flag = "-r" if name == "references" else f"--{name.replace('_', '-')}"
            hint = hints.get(flag, "")
            raise OptionError(f"{flag} is for text files, but {source} is a dataset{hint}")
    if not given.output:
        raise OptionError(f"{source} is a dataset: name the folder of its scores with -o DIR")


def _tables(scores: DatasetScores) -> list[Table]:
    from gecjury.report.result import Column, Table
    from gecjury.stats.catalogue import Statistic, register
    from gecjury.stats.figure import values_of

    rows, results = scores.rows(), scores.results
    of_corpus = results.scores()
    columns = [Column("system")] if any(one.system for one in of_corpus) else []
    columns += [Column("metric"), Column("score", digits=4)]
    columns += [Column(k, digits=4) for k in ("precision", "recall") if any(k in r for r in rows)]
    notes = list(dict.fromkeys(one.signature for one in of_corpus))
    notes.append(f"{results.read} rows, {results.bad} of them bad")
    shown = [Table(columns, rows, notes=[*notes, *results.notes])]
    if results.nulls:
        missing = [
            {"column": column, "reason": reason, "rows": count}
            for column, reasons in results.nulls.items()
            for reason, count in reasons.items()
        ]
        keys = ("column", "reason", "rows")
        shown.append(Table([Column(key) for key in keys], missing, "Missing scores", asked=True))
    if results.kept is not None:
        about = f"{results.kept} of {results.read} rows are kept"
        register(Statistic("failed", "not fulfilled", digits=0))
        heads = [Column(key) for key in _CONDITION]
        rows = [values_of(part, *_CONDITION) for part in results.conditions]
        shown.append(Table(heads, rows, "Kept rows", [about], asked=True))
    return shown
