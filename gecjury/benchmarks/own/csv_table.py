"""A user's own benchmark in one table with texts and judgments, one judgment a row.

A row has `source`, `output` and a `score` or `rank`, and optionally `system`, `annotator`,
`language` and the other columns of that form of judgments. Without systems, corrections are
compared within a source. Equal sources are one sentence, unless a column `sentence` or `line`
numbers them. Tables with AQUA's columns are read like AQUA.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.loaders.edit_labels import AQUA_COLUMNS
from gecjury.benchmarks.own.folder import check_overlap, check_own_name, human_of, ratings_of
from gecjury.benchmarks.own.judgments import FORMS, judgments_of
from gecjury.benchmarks.places import PlacedCorrections, lay_out, placed_benchmark, placed_corpus
from gecjury.benchmarks.table import BenchmarkInfo
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.aligned import NUMBERS
from gecjury.corpus.files.rows import Row, TableFile, read_table
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.tokens import in_language

_COLUMNS = {"score": "ratings", "rank": "rankings"}
_TEXTS = ("source", "output")
SHAPE = f"a table with the columns {', '.join(_TEXTS)} and {' or '.join(_COLUMNS)}"


@dataclass(frozen=True)
class _Texts:
    """The rows of a table, with the places of their corrections.

    Attributes:
        form: form of the judgments, `ratings` or `rankings`.
        rows: rows with the cells `sentence`, the number of the source from 1, and `system`.
        corrections: corrections in the order of the file, once for each source.
        systems: output for each source by system; empty where the table names no system.
        layout: layout of the corrections.
        notes: remarks for readers of results.
    """

    form: str
    rows: tuple[Row, ...]
    corrections: tuple[str, ...]
    systems: dict[str, tuple[str, ...]]
    layout: PlacedCorrections
    notes: tuple[str, ...]


def table_info(path: Path) -> BenchmarkInfo:
    """Return the systems, views and language of a table.

    Raises:
        InputError: the columns are wrong, or a cell cannot be used.
    """
    table = read_table(path, SHAPE, texts=True)
    name = path.name.removesuffix(path.suffix)
    check_own_name(name, path)
    if {*AQUA_COLUMNS} <= {*table.columns}:
        loader = "gecjury.benchmarks.loaders.edit_labels:load_aqua"
        return BenchmarkInfo(name, "labels of your own", loader, path=path, tokens="intl")
    read = _read(path)
    names = tuple(read.systems)
    return BenchmarkInfo(
        name,
        "judgments of your own",
        "gecjury.benchmarks.own.csv_table:load_table",
        {"base": names, "all": names},
        path=path,
        language=_language(read.rows),
    )


def load_table(request: LoadRequest) -> Benchmark:
    """Load a table for `gecjury.benchmarks.load.load_benchmark`."""
    assert request.info.path is not None  # table_info set it
    read = _read(request.info.path)
    layout = read.layout
    if not read.systems:
        corpus = placed_corpus(request, layout, read.corrections)
        judged = judgments_of(read.form, read.rows, corpus)
        # Ratings are compared over all corrections, too; ranks only within a source.
        if not judged.raters:
            check_overlap(judged, corpus.names, request.info.path, request.systems)
        notes = (
            "the table names no systems: corrections are compared within a source and over all "
            "sources; there is no system level",
            *read.notes,
            *judged.notes,
        )
        more = ratings_of(judged)
        more |= {"rankings": {"sentence": judged.items}, "warnings": judged.warnings}
        return placed_benchmark(request, corpus, layout, notes, **more)
    versions = {name: Version(lines) for name, lines in read.systems.items()}
    judged = judgments_of(read.form, read.rows, Corpus(layout.sources, versions))
    names = tuple(versions)
    check_overlap(judged, names, request.info.path, request.systems)
    corpus = request.corpus(layout.sources, versions, ranked=judged.items)
    return request.benchmark(
        in_language(corpus, request.language),
        rankings={"sentence": judged.items},
        human={"sentence": human_of(judged, names)},
        notes=(*read.notes, *judged.notes),
        warnings=judged.warnings,
        **ratings_of(judged),
    )


def _form_of(table: TableFile) -> str:
    """Return the form of the judgments in a table, by the column that only this form has."""
    form = next((form for column, form in _COLUMNS.items() if column in table.columns), None)
    if form is None or not {*_TEXTS} <= {*table.columns}:
        raise InputError(
            f"{table.path}: judgments alone are not a benchmark, since texts are needed to score; "
            f"columns {', '.join(table.columns):.300}; expected {SHAPE}, or a folder with these "
            "judgments, source.txt and outputs/"
        )
    return form


def _read(path: Path) -> _Texts:
    """Read the texts of a table, and number its sources and corrections."""
    table = read_table(path, SHAPE, texts=True)
    form = _form_of(table)
    needed, optional, _ = FORMS[form]
    read = {*_TEXTS, *needed, *optional, *NUMBERS, "language"}
    unread = [column for column in table.columns if column not in read]
    rows = [
        replace(row, cells={key: _cell(row, key) for key in row.cells if key in read})
        for row in table.rows
    ]
    if not rows:
        raise InputError(f"{path}: no row below the header; expected one judgment a row")
    for row in rows:
        if not row["source"]:
            row.refuse("source", "the sentence that was corrected")
    keys = _sentence_keys(rows, table.columns)
    made = [(key, row["output"]) for key, row in zip(keys, rows, strict=True)]
    corrections = dict.fromkeys(made)
    layout = lay_out([source for (_, source), _ in corrections], [key for key, _ in corrections])
    sources = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    systems: dict[str, tuple[str, ...]] = {}
    if "system" in table.columns:
        systems = _outputs(rows, keys)
        names = [row["system"] for row in rows]
    else:
        cells = dict(zip(corrections, layout.cells, strict=True))
        names = [layout.names[cells[correction][0]] for correction in made]
    placed = tuple(
        replace(row, cells={**row.cells, "sentence": str(sources[key] + 1), "system": name})
        for row, key, name in zip(rows, keys, names, strict=True)
    )
    notes = (f"columns that are not read: {', '.join(unread)}",) if unread else ()
    outputs = tuple(output for _, output in corrections)
    return _Texts(form, placed, outputs, systems, layout, (*table.notes, *notes))


def _cell(row: Row, column: str) -> str:
    """Return a cell as text; line breaks in sentences become spaces.

    Raises:
        InputError: the cell is a list or an object, or a name or a number has a line break.
    """
    # Cells of JSON may have any type, and quoted cells may contain line breaks.
    text = _LINE_BREAKS.sub(" ", row.text(column))
    if column not in _TEXTS and text != row.text(column):
        row.refuse(column, "no line break; is a quotation mark open?")
    return text


_LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")


_CellKey = tuple[str, str]
"""The number of a sentence, empty where the table has none, and its source."""


def _sentence_keys(rows: Sequence[Row], columns: Sequence[str]) -> list[_CellKey]:
    """Return the key of each row's sentence.

    Raises:
        InputError: a row has no number where others have one, or a number has two sources.
    """
    column = next((name for name in NUMBERS if name in columns), "")
    first: dict[str, Row] = {}
    for row in rows if column else ():
        if not row[column]:
            row.refuse(column, "the number of the sentence, as in other rows")
        earlier = first.setdefault(row[column], row)
        if earlier["source"] != row["source"]:
            row.refuse(
                column,
                f"one source for each {column}; line {earlier.line} has another source with it",
            )
    return [(row[column] if column else "", row["source"]) for row in rows]


def _outputs(rows: Sequence[Row], keys: Sequence[_CellKey]) -> dict[str, tuple[str, ...]]:
    """Return the output of each system for each source.

    Raises:
        InputError: a row names no system, a system has two outputs for a source, or none.
    """
    outputs: dict[str, dict[_CellKey, Row]] = {}
    for row, key in zip(rows, keys, strict=True):
        if not row["system"]:
            row.refuse("system", "the name of a system; omit this column if systems are unknown")
        first = outputs.setdefault(row["system"], {}).setdefault(key, row)
        if first["output"] != row["output"]:
            row.refuse(
                "output",
                f"the output of {row['system']} for this source in line {first.line}; a system has "
                "one output for a source",
            )
    first_rows = dict(zip(reversed(keys), reversed(rows), strict=True))
    for name, of_system in outputs.items():
        if missing := next((key for key in dict.fromkeys(keys) if key not in of_system), None):
            row = first_rows[missing]
            raise InputError(
                f"{row.place('source')}: no output of system {name:.60} for {missing[1]!r:.60}; "
                "expected a row for each system and source, with an empty score where nobody rated "
                "it, or no column system"
            )
    return {
        name: tuple(of_system[key]["output"] for key in dict.fromkeys(keys))
        for name, of_system in outputs.items()
    }


def _language(rows: Iterable[Row]) -> str:
    """Return the language that the rows name; English where they name none.

    Raises:
        InputError: an unknown language, or several.
    """
    first = ""
    for row in rows:
        if not row["language"]:
            continue
        try:
            code = language_of(row["language"]).code
        except OptionError as error:
            raise InputError(f"{row.place('language')}: {error}") from None
        first = first or code
        if code != first:
            row.refuse("language", f"{first}, as above; a file must have one language")
    return first or "en"
