"""Scores computed elsewhere, compared like those of any metric.

A file or Python lists give the score of each system on each line. Nothing is computed, so the
scores are valid only for the texts they were computed for.
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import decoded_text, parse_json, read_bytes, read_lines, read_text
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.rows import (
    PARQUET,
    check_names,
    csv_rows,
    looks_like_objects,
    read_table,
    refuse,
)
from gecjury.scoring.result_folder import (
    chosen_metric,
    folder_digest,
    is_result_folder,
    read_result_folder,
)
from gecjury.scoring.score_files import ScoreFile
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Setting

_UNSCORED = {"", "nan", "na", "none", "null"}
_TOTAL = {"total", "corpus"}
_NAMES = {
    "system": ("system",),
    "line": ("line", "sentence"),
    "score": ("score", "value"),
}
_FORMS = (
    "expected rows of system, line and score, or a header of system names with one number per "
    "line below each"
)
# Columns with these names are line numbers if they are whole numbers.
_COUNTED = {"id", "row", "index", "no", "nr", "#"}
# Totals and means that differ only by rounding are the same.
_SAME = 1e-9
_LINE_DIGITS = 20
_MOST_LINE = 100_000_000  # no text has more lines; an array of this length is allocated
_MOST_LISTED = 5  # lines or systems that a message names individually


@dataclass(frozen=True)
class SystemRow:
    """The scores of one system.

    Attributes:
        cells: score by line, lines counted from 1; NaN = marked as unscored.
        lines: number of the system's lines in the file that the scores come from.
        total: corpus score, if one is given.
        mark: fingerprint of the system's texts, if the file contains one; otherwise empty.
    """

    cells: Mapping[int, float]
    lines: int
    total: float | None = None
    mark: str = ""

    def scores(self, count: int) -> FloatArray:
        """Return the scores of all lines, shape (count,); NaN where there is none."""
        return np.array([self.cells.get(line, math.nan) for line in range(1, count + 1)])

    @property
    def mean(self) -> float:
        """Return the mean of the scored lines; NaN without any."""
        scored = [score for score in self.cells.values() if not math.isnan(score)]
        return sum(scored) / len(scored) if scored else math.nan


@dataclass(frozen=True)
class Given:
    """Scores of some systems, read but not yet matched with a corpus.

    Attributes:
        where: name for errors: the file's path, or `scores` for scores given in Python.
        digest: SHA-256 of the content, hexadecimal.
        rows: rows by system; several if a file contains a system's scores of several texts.
        source_mark: the start of the fingerprint of the sources, if the file contains one.
    """

    # Only the digest is compared, so that scorers of the same scores are equal and found in caches.
    where: str = field(compare=False)
    digest: str
    rows: Mapping[str, tuple[SystemRow, ...]] = field(compare=False)
    source_mark: str = field(default="", compare=False)

    @property
    def alone(self) -> bool:
        """Return whether the scores are of a single system without a name."""
        return list(self.rows) == [""]

    @property
    def totals(self) -> bool:
        """Return whether corpus scores are given that are not the means of sentence scores."""
        return any(
            row.total is not None
            and not math.isclose(row.total, row.mean, rel_tol=_SAME, abs_tol=_SAME)
            for rows in self.rows.values()
            for row in rows
        )

    def of(self, corpus: Corpus) -> dict[str, SystemRow]:
        """Return the scores of each system of a corpus that has any.

        Raises:
            InputError: the scores belong to other texts or sources or have another number of lines,
                some totals are missing, or there is no system.
        """
        # The one-line form of a signature contains only the start of the fingerprint.
        if not corpus.source_print.startswith(self.source_mark):
            raise InputError(
                f"{self.where}: contains scores of other sources (fingerprint {self.source_mark}, "
                f"here {corpus.source_print}): score these texts again"
            )
        rows = self._named(corpus)
        ours = {name: self._row(name, rows[name], corpus) for name in corpus.names if name in rows}
        if not ours:
            raise InputError(
                f"{self.where}: contains no score of any system here: it has "
                f"{_listed(self.rows)}; here are {_listed(corpus.names)}"
            )
        without = [name for name, row in ours.items() if row.total is None]
        if self.totals and without:
            raise InputError(
                f"{self.where}: has corpus scores of some systems, but not of "
                f"{_listed(without)}: give all or none"
            )
        return ours

    def _named(self, corpus: Corpus) -> Mapping[str, tuple[SystemRow, ...]]:
        if not self.alone:
            return self.rows
        if len(corpus.systems) != 1:
            raise InputError(
                f"{self.where}: contains one number per line without a system name, but there "
                f"are {len(corpus.systems)} systems ({_listed(corpus.names)}): name a folder with "
                "one such file per system, or a table with one column per system"
            )
        return {corpus.names[0]: next(iter(self.rows.values()))}

    def _row(self, name: str, rows: Sequence[SystemRow], corpus: Corpus) -> SystemRow:
        # Of several texts of a system, choose the one in this corpus; a file without marks fits
        # any.
        mark = corpus.system_prints[name]
        fitting = [row for row in rows if row.mark in ("", mark)]
        if not fitting:
            raise InputError(
                f"{self.where}: contains scores of other texts of {name} (fingerprint "
                f"{rows[0].mark}, here {mark}): other outputs, or outputs with other edits; "
                "score these texts again"
            )
        (row, *_) = fitting
        if row.lines != len(corpus):
            raise InputError(
                f"{self.where}: has {row.lines} lines of {name}, but there are {len(corpus)} "
                "sentences: these scores belong to other texts (write nan for a missing score)"
            )
        return row

    def notes(self, corpus: Corpus) -> tuple[str, ...]:
        """Return notes for the user: missing or extra systems, and lines without a score."""
        scored = self.of(corpus)
        more = [] if self.alone else [name for name in self.rows if name not in corpus.systems]
        notes = []
        if absent := [name for name in corpus.names if name not in scored]:
            named = [f"{name} ({nearest(name, more)})" if more else name for name in absent]
            notes.append(f"given scores: no scores of {_listed(named)}: not scored")
        if more:
            notes.append(
                f"given scores: ignored systems that are not compared here: {_listed(more)}"
            )
        if empty := _counts(scored, lambda row: sum(map(math.isnan, row.cells.values()))):
            notes.append(f"given scores: empty or NaN, not scored: {empty}")
        if gaps := _counts(scored, lambda row: row.lines - len(row.cells)):
            name, row = next((n, r) for n, r in scored.items() if len(r.cells) < r.lines)
            lines = [str(line) for line in range(1, row.lines + 1) if line not in row.cells]
            notes.append(
                f"given scores: missing lines, not scored: {gaps} (of {name} line {_listed(lines)})"
            )
        if self.totals:
            notes.append(
                "given scores: corpus scores are the totals that were given, which cannot be "
                "resampled: intervals and tests need --aggregate mean or trueskill"
            )
        return tuple(notes)


_NOTHING = Given("scores", "", {})


@dataclass(frozen=True)
class GivenScores(Scorer):
    """Scores that were computed elsewhere, read from a file.

    Sentence scores are those of the file; higher is better. The corpus score is the total in the
    file, if there is one, or the mean of the sentence scores. A system or line without a score is
    not scored.

    Attributes:
        file: a table of system, line and score, a table with one column per system, JSON, a folder
            with one file per system, or a folder that `gecjury score DATASET -o` created.
        label: name of the metric in tables.
        metric: the metric whose scores are read, for a file with scores of several metrics.
    """

    name: ClassVar[str] = "scores"
    family: ClassVar[str] = "scores"
    summary: ClassVar[str] = "scores computed elsewhere, read from a file: file=PATH"
    paper: ClassVar[str] = "as given"
    must_name: ClassVar[Mapping[str, str]] = {"file": "scores"}
    fixed: ClassVar[bool] = True

    file: str = ""
    label: str = ""
    metric: str = ""

    @property
    def held(self) -> Given:
        """The scores.

        Raises:
            OptionError: no file is named.
            InputError: the file cannot be used.
        """
        if not self.file:
            raise OptionError(
                "scores: no file is named: give -m scores:file=PATH, a table of system, line and "
                "score or with one column per system; in Python gecjury.given_scores(...)"
            )
        return _read(self.file, _digest(Path(self.file)), self.metric)

    def settings(self) -> dict[str, Setting]:
        """Return the settings that affect a score; never the path of the file."""
        return {"label": self.label, "metric": self.metric}

    def _changed(self) -> dict[str, Setting]:
        """Return the label, or the first digits of the file's hash, to distinguish two files."""
        if self.label:
            return {"label": self.label}
        return {"sha256": self.held.digest[:8]}

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the hash of the scores."""
        return {"sha256": self.held.digest[:16]}

    def check(self, corpus: Corpus) -> None:
        """Refuse scores of other texts.

        Raises:
            OptionError: no file is named.
            InputError: see `Given.of`.
        """
        self.held.of(corpus)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return scores, systems × sentences; with totals, × 2, each total repeated."""
        # Totals are a second layer of the array, in which resampling can find them missing.
        held, count = self.held, len(corpus)
        rows_of = held.of(corpus)
        empty = SystemRow({}, count, math.nan)
        rows = [rows_of.get(name, empty) for name in corpus.names]
        values = np.stack([row.scores(count) for row in rows])
        if held.totals:
            totals = np.array([row.total for row in rows], dtype=np.float64)
            values = np.stack([values, np.broadcast_to(totals[:, None], values.shape)], axis=2)
        return Statistics(values, notes=held.notes(corpus))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the scores themselves."""
        values = statistics.values
        return Scores(values[..., 0] if values.ndim == 3 else values)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return the totals if given; for resampled corpora they are NaN."""
        values = statistics.values
        if values.ndim < 3:
            return Scores(values).mean(draws)
        if draws is None:
            return Scores(values[:, 0, 1])
        return Scores(np.full((len(draws), len(values)), np.nan))

    def table(
        self, corpus: Corpus, statistics: Statistics, runtime: Runtime, seconds: float
    ) -> ScoreTable:
        """Return the table, with notes about this corpus, not about an earlier, smaller one."""
        noted = replace(statistics, notes=self.held.notes(corpus))
        return super().table(corpus, noted, runtime, seconds)


@dataclass(frozen=True)
class _HeldScores(GivenScores):
    """Scores given from Python."""

    content: Given = field(default=_NOTHING, repr=False)

    @property
    def held(self) -> Given:
        """The scores."""
        return self.content


def given_scores(
    data: Any, name: str = "", *, totals: Mapping[str, float] | None = None
) -> GivenScores:
    """Return a scorer for scores computed elsewhere, to be used like any other scorer.

    Args:
        data: a mapping from system to one number per line (NaN or None if not scored); or rows of
            system, line (from 1) and score, as tuples or mappings; or a pandas DataFrame, with
            these three columns or one column per system.
        name: name of the metric in tables.
        totals: corpus scores by system; by default the means.

    Raises:
        InputError: a value is not a number or is given twice, or the data has none of these forms.
    """
    where = f"scores {name!r}" if name else "scores"
    if hasattr(data, "columns") and hasattr(data, "to_dict"):
        data = _of_frame(data, where)
    rows = _of_values(where, data)
    for system, value in (totals or {}).items():
        if system not in rows:
            raise InputError(f"{where}: a total of {system!r}: {nearest(str(system), rows)}")
        total = _number(value, f"{where}, total of {system}")
        rows[system] = replace(rows[system], total=total)
    content = {n: [sorted(row.cells.items()), row.lines, row.total] for n, row in rows.items()}
    digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()
    return _HeldScores(label=name, content=_given(where, digest, rows))


def _of_frame(frame: Any, where: str) -> Any:
    """Return a data frame as rows or as columns."""
    columns = [str(column) for column in frame.columns]
    places = _header(columns)
    if places is None:
        if len(set(columns)) < len(columns):
            raise InputError(f"{where}: two columns of the same name; expected one per system")
        return {n: frame.iloc[:, at].tolist() for at, n in enumerate(columns)}
    parts = [frame.iloc[:, places[key]].tolist() for key in ("system", "line", "score")]
    return list(zip(*parts, strict=True))


@lru_cache(maxsize=32)
def _read(file: str, digest: str, metric: str) -> Given:
    """Read a file or folder; a change of its digest, part of the cache key, reads it again."""
    path = Path(file)
    if is_result_folder(path):
        results = read_result_folder(path, metric).items()
        rows = {s: replace(_of_lines(f"{file}, {s}", v), total=total) for s, (v, total) in results}
        return _given(file, digest, rows)
    # One file of numbers per system, as many programs write them.
    if path.is_dir():
        parts = _by_system(path).items()
        return _given(file, digest, {name: _of_column(part) for name, part in parts})
    data = read_bytes(path)
    text = "" if data.startswith(PARQUET) else decoded_text(data, path)
    document: Any = None
    if not text or _is_json_lines(text):
        document = [row.cells for row in read_table(path, texts=True).rows]
    elif text.lstrip()[:1] in ("{", "["):
        expected = "numbers by system, rows, or a score file"
        document = parse_json(text, file, expected, halves=True)
        if isinstance(document, Mapping) and isinstance(document.get("rows"), list):
            return _of_written(file, digest, document, metric)
    _refuse_metric(file, metric)
    rows = _of_table(path) if document is None else _of_values(file, document)
    return _given(file, digest, rows)


def _is_json_lines(text: str) -> bool:
    """Return True for JSON with an object in each of several lines."""
    first, _, rest = text.strip().partition("\n")
    try:
        return bool(rest) and looks_like_objects(text) and isinstance(json.loads(first), Mapping)
    except (ValueError, RecursionError):
        return False


def _refuse_metric(file: str, metric: str) -> None:
    if metric:
        raise OptionError(f"scores: metric={metric}: {file} contains the scores of one metric")


def _given(where: str, digest: str, rows: Mapping[str, SystemRow]) -> Given:
    if not any(row.cells for row in rows.values()):
        raise InputError(f"{where}: contains no score; {_FORMS}")
    return Given(where, digest, {name: (row,) for name, row in rows.items()})


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files of a folder with their names."""
    if not path.is_dir():
        if str(path) == "-":
            raise OptionError(
                "scores: file=- is standard input, which can be read once: write it to a file"
            )
        read_bytes(path)  # raises the usual errors for an unusable file
        return _file_hash(path)
    if is_result_folder(path):
        return folder_digest(path)
    digest = hashlib.sha256()
    for name, part in _by_system(path).items():
        digest.update(json.dumps([name, _file_hash(part)]).encode())
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, compressed or not."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _by_system(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by system: the file name up to the last dot."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.is_file():
            continue
        name = path.name.removesuffix(".gz")
        name = name.rpartition(".")[0] or name
        if name in files:
            raise InputError(f"{path}: {files[name].name} contains scores of {name} as well")
        files[name] = path
    if not files:
        raise InputError(f"{folder}: is an empty folder; expected one file of numbers per system")
    return files


def _of_column(path: Path) -> SystemRow:
    """Read one number per line."""
    return _of_lines(str(path), [_cell(line) for line in read_lines(path)])


def _of_table(path: Path) -> dict[str, SystemRow]:
    """Read a table with or without header; see `GivenScores.file`."""
    file = str(path)
    table = list(csv_rows(read_text(path), file))
    head = table[0][1] if table else []
    if head and _header(head) is not None:
        check_names([name.lower() for name in head], f"{file}, line 1")
    # One number per line needs no header, and a header is not a number.
    if len(head) <= 1 and not isinstance(_cell("".join(head)), str):
        return {"": _of_column(path)}
    places = _header(head)
    if places is not None:
        return _of_records(file, _long_rows(file, table[1:], places))
    # Without a header, the middle cell distinguishes a long table from a wide one.
    if len(head) == 3 and _is_line(head[1]) and not isinstance(_cell(head[2]), str):
        return _of_records(file, _long_rows(file, table, {"system": 0, "line": 1, "score": 2}))
    lower = {name.lower() for name in head}
    if lower & {"system", "score"}:
        lacking = [key for key, names in _NAMES.items() if not lower & {*names}]
        ours = "; `gecjury score --sentences --format json` writes a form that is read"
        raise InputError(
            f"{file}, line 1: no column {' and '.join(lacking)}; {_FORMS}"
            + (ours if "metric" in lower else "")
        )
    return _of_wide(file, head, table[1:])


def _long_rows(
    file: str, table: Iterable[tuple[int, Sequence[str]]], places: Mapping[str, int]
) -> Iterator[_Record]:
    """Yield the rows of a table of system, line and score."""
    width = max(places.values()) + 1
    for number, cells in table:
        place = f"{file}, line {number}"
        if not any(cells):
            continue
        if len(cells) < width:
            raise InputError(f"{place}: {len(cells)} cells; expected system, line and score")
        system, line, score = (cells[places[key]] for key in ("system", "line", "score"))
        counted = int(line) if _is_line(line) and line.isdigit() else line.lower()
        yield place, system, counted, _cell(score)


def _of_wide(
    file: str, head: Sequence[str], table: Sequence[tuple[int, list[str]]]
) -> dict[str, SystemRow]:
    """Read a table with one column per system."""
    if not all(isinstance(_cell(name), str) for name in head):
        what = "a column has no name" if "" in head else "no names of systems in the first line"
        raise InputError(f"{file}, line 1: {what}; {_FORMS}")
    if twice := next((name for at, name in enumerate(head) if name in head[:at]), None):
        raise InputError(f"{file}, line 1: system {twice} has two columns; expected one per system")
    for number, row in table:
        # In a table with a single column, an empty line is a line without a score.
        if len(row or [""]) != len(head):
            raise InputError(
                f"{file}, line {number}: {len(row)} cells; expected {len(head)}, one per system"
            )
    rows: dict[str, SystemRow] = {}
    for at, name in enumerate(head):
        # `gecjury pick --scores` writes which system was chosen.
        if name == "chosen" and all(row and row[at] in head for _, row in table):
            continue
        column = [
            _number(_cell(row[at] if row else ""), f"{file}, line {number}, column {name}")
            for number, row in table
        ]
        rows[name] = SystemRow(dict(enumerate(column, 1)), len(column))
    return _placed(file, rows)


def _placed(where: str, rows: dict[str, SystemRow]) -> dict[str, SystemRow]:
    """Put the scores of a table with one column per system at the lines that a column numbers.

    Raises:
        InputError: numbers are not whole, occur twice, or differ between two such columns.
    """
    columns = {name: [*row.cells.values()] for name, row in rows.items()}
    numbering = {name: values for name, values in columns.items() if _numbers_lines(name, values)}
    for name, values in numbering.items():
        first = next(iter(numbering.values()))
        whole = all(value >= 0 and value % 1 == 0 and value <= _MOST_LINE for value in values)
        if not whole or len({*values}) < len(values) or values != first:
            raise InputError(
                f"{where}, column {name}: expected the number of each line once, from 0 or 1; "
                "remove the column if the rows are in the order of the texts"
            )
        lines = [int(value) + (0 in values) for value in values]
        if any(len(column) != len(lines) for column in columns.values()):
            raise InputError(f"{where}, {name}: expected one line number for each score")
        systems = {n: values for n, values in columns.items() if n not in numbering}
        rows = {
            n: SystemRow(dict(sorted(zip(lines, column, strict=True))), max(lines, default=0))
            for n, column in systems.items()
        }
    return rows


def _numbers_lines(name: str, column: Sequence[float]) -> bool:
    """Return whether a column contains line numbers rather than a system's scores."""
    whole = all(value % 1 == 0 for value in column)
    return name.lower() in _NAMES["line"] or (name.lower() in _COUNTED and whole)


def _of_written(file: str, digest: str, document: Mapping[str, Any], metric: str) -> Given:
    """Read what this package writes: a score file, or what `score --format json` prints."""
    try:
        record = from_record(ScoreFile, document)
    except ValueError as error:
        raise InputError(f"{file}: {error}, as `gecjury score` writes it") from None
    names = dict.fromkeys(row.metric for row in record.rows if row.metric)
    chosen = chosen_metric(file, tuple(names), metric)
    # A score file keeps other texts of a system without sentence scores.
    kept = [row for row in record.rows if row.metric == chosen and row.sentences is not None]
    if not kept:
        raise InputError(
            f"{file}: no sentence scores; `gecjury score --sentences --format json` writes them"
        )
    rows: dict[str, tuple[SystemRow, ...]] = {}
    for row in kept:
        name, place = row.system, f"{file}, {row.system}"
        if any(other.mark == row.print for other in rows.get(name, ())):
            raise InputError(f"{place}: the system occurs twice; expected one row per system")
        total = None if row.score is None else _number(row.score, place)
        read = replace(_of_lines(place, row.sentences), mark=row.print, total=total)
        rows[name] = (*rows.get(name, ()), read)
    # The signature contains the fingerprint of the sources, or its start.
    line = re.search(r"\|data=([0-9a-f]{8})", str(record.rows[0].signature))
    data = (record.signature or {}).get("data", {})
    mark = str(data.get("sources", "")) if data else line[1] if line else ""
    return Given(file, digest, rows, mark)


_Record = tuple[str, object, object, object]
"""Place, system, line and score."""


def _of_values(where: str, data: Any) -> dict[str, SystemRow]:
    """Read numbers by system, or rows, given in Python or JSON."""
    if isinstance(data, Mapping):
        rows = {str(n): _of_lines(f"{where}, {n}", values) for n, values in data.items()}
        return _placed(where, rows)
    if isinstance(data, str) or not isinstance(data, Iterable):
        raise InputError(f"{where}: a {type(data).__name__}; expected numbers by system, or rows")
    records = list(data)
    # A table with one column per system.
    if records and all(isinstance(r, Mapping) and not {"system", "score"} & {*r} for r in records):
        names = dict.fromkeys(name for record in records for name in record)
        return _of_values(where, {n: [record.get(n) for record in records] for n in names})
    return _of_records(where, _records(where, records))


def _records(where: str, rows: Iterable[Any]) -> Iterator[_Record]:
    for number, row in enumerate(rows):
        parts = row
        if isinstance(row, Mapping):
            named = [[key for key in names if key in row] for names in _NAMES.values()]
            parts = [row[keys[0]] for keys in named if keys]
        if isinstance(parts, str) or not isinstance(parts, Sequence) or len(parts) != 3:
            refuse(f"{where}[{number}]", row, "a row of system, line and score")
        yield f"{where}[{number}]", parts[0], parts[1], parts[2]


def _of_records(where: str, records: Iterable[_Record]) -> dict[str, SystemRow]:
    """Put rows of system, line and score together by system.

    The texts have as many lines as the highest line number of any system.
    """
    cells: dict[str, dict[Any, float]] = {}
    seen: dict[tuple[str, object], str] = {}
    for place, system, line, score in records:
        name = "" if system is None else str(system)
        if not name:
            raise InputError(f"{place}: the name of the system is missing")
        # A system's total may be among its lines, as line `total` or `corpus`.
        if isinstance(line, str) and line in _TOTAL:
            line = "total"
        elif (
            isinstance(line, bool)
            or not isinstance(line, numbers.Integral)
            or not 1 <= int(line) <= _MOST_LINE
        ):
            refuse(f"{place}, line", line, f"a whole number from 1 to {_MOST_LINE}, or total")
        if (name, line) in seen:
            what = "the total" if line == "total" else f"line {line}"
            raise InputError(f"{place}: {what} of {name} occurs twice, first in {seen[name, line]}")
        seen[name, line] = place.removeprefix(f"{where}, ")
        cells.setdefault(name, {})[line] = _number(score, place)
    totals = {name: lines.pop("total", None) for name, lines in cells.items()}
    last = max((int(line) for lines in cells.values() for line in lines), default=0)
    return {
        name: SystemRow({int(line): score for line, score in lines.items()}, last, totals[name])
        for name, lines in cells.items()
    }


def _of_lines(where: str, values: Any) -> SystemRow:
    """Read one number per line."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        refuse(where, values, "a list of numbers, one per line")
    cells = {n: _number(value, f"{where}, line {n}") for n, value in enumerate(values, 1)}
    return SystemRow(cells, len(cells))


def _number(value: object, place: str) -> float:
    """Return a score given as a number; None and NaN mean that there is no score."""
    if value is None:
        return math.nan
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isinf(number):
            return number
    refuse(place, value, "a score as a finite number, or nan where there is none")


def _cell(text: str) -> float | str | None:
    """Return the number in a cell, None for a cell without a score, otherwise its text."""
    word = text.strip()
    if word.lower() in _UNSCORED:
        return None
    try:
        return float(word)
    except ValueError:
        return word


def _is_line(text: str) -> bool:
    return text.lower() in _TOTAL or (
        text.isascii() and text.isdigit() and len(text) <= _LINE_DIGITS and int(text) > 0
    )


def _header(cells: Sequence[str]) -> dict[str, int] | None:
    """Return the columns of system, line and score if the first line names them."""
    lower = [cell.lower() for cell in cells]
    places = {
        key: lower.index(name)
        for key, names in _NAMES.items()
        for name in reversed(names)
        if name in lower
    }
    return places if len(places) == len(_NAMES) else None


def _counts(rows: Mapping[str, SystemRow], count: Callable[[SystemRow], int]) -> str:
    """Return the counts by system as words, without systems whose count is 0."""
    numbers_of = {name: number for name, row in rows.items() if (number := count(row))}
    return _listed(f"{name} {number} of {rows[name].lines}" for name, number in numbers_of.items())


def _listed(names: Iterable[str]) -> str:
    """Return the first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED + 1 else ""
    return ", ".join(every[:_MOST_LISTED] if more else every) + more
