"""Scores computed elsewhere, compared like those of any metric.

A file or Python lists give the score of each system on each line. Nothing is computed, so the
scores are valid only for the texts they were computed for.

Example:
    >>> from gecjury import corpus_of_texts, given_scores, rank
    >>> systems = {"a": ["He go .", "I is ."], "b": ["He goes .", "I am ."]}
    >>> corpus = corpus_of_texts(["He go .", "I is ."], systems)
    >>> ranked = rank(corpus, [given_scores({"a": [0.1, 0.2], "b": [0.9, 0.8]})])
    >>> [row["system"] for row in ranked.rows()]
    ['b', 'a']
"""

from __future__ import annotations

import hashlib
import json
import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import parse_json, read_bytes, read_text
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.rows import (
    check_names,
    csv_rows,
    refuse,
)
from gecjury.scoring.result_folder import (
    chosen_metric,
    folder_digest,
    is_result_folder,
    read_result_folder,
)
from gecjury.scoring.score_files import ScoreFile
from gecjury.scoring.scorer import Scorer, setting
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Setting, Signature

_UNSCORED = {"", "nan", "na", "none", "null"}
_TOTAL = {"total", "corpus"}
_NAMES = {
    "system": ("system",),
    "line": ("line", "sentence"),
    "score": ("score", "value"),
}
_FORM = "expected rows of system, line and score"
# Totals and means that differ only by rounding are the same.
_SAME = 1e-9
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
        ours = {
            name: self._row(name, self.rows[name], corpus)
            for name in corpus.names
            if name in self.rows
        }
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
        more = [name for name in self.rows if name not in corpus.systems]
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
                "resampled: `gecjury rank` has intervals and tests of means and TrueSkill"
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
        file: a table of system, line and score, a score file of `-o`, the output of `score
            --sentences --format json`, or a folder that `gecjury score DATASET -o` created.
        label: name of the metric in tables.
        metric: the metric whose scores are read, for a file with scores of several metrics.
    """

    name: ClassVar[str] = "scores"
    family: ClassVar[str] = "scores"
    summary: ClassVar[str] = "scores computed elsewhere, read from a file: file=PATH"
    paper: ClassVar[str] = "as given"

    file: str = setting("", names="scores")
    label: str = ""
    metric: str = ""

    @property
    def fixed(self) -> bool:
        """True, since nothing is computed."""
        return True

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
                "score; in Python gecjury.given_scores(...)"
            )
        return _read(self.file, _digest(Path(self.file)), self.metric)

    def settings(self) -> dict[str, Setting]:
        """Return the settings that affect a score; never the path of the file."""
        return {"label": self.label, "metric": self.metric}

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, labelled by metric and first digits of the hash without a label."""
        metric = {"metric": self.metric} if self.metric else {}
        named = {"label": self.label} if self.label else {**metric, "sha256": self.held.digest[:8]}
        return replace(super().signature(corpus, runtime), changed=named)

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
    data: Mapping[str, Sequence[float | None]],
    name: str = "",
    *,
    totals: Mapping[str, float] | None = None,
) -> GivenScores:
    """Return a scorer for scores computed elsewhere, to be used like any other scorer.

    Args:
        data: one number per line for each system; NaN or None where a line is not scored.
        name: name of the metric in tables.
        totals: corpus scores by system; by default the means.

    Raises:
        InputError: a value is not a number, or the data is not such a mapping.
    """
    where = f"scores {name!r}" if name else "scores"
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: a {type(data).__name__}; expected numbers by system")
    rows = {str(n): _of_lines(f"{where}, {n}", values) for n, values in data.items()}
    if len(rows) < len(data):
        raise InputError(f"{where}: two systems have the same name as text; rename one")
    for system, value in (totals or {}).items():
        if system not in rows:
            raise InputError(f"{where}: a total of {system!r}: {nearest(str(system), rows)}")
        total = _number(value, f"{where}, total of {system}")
        rows[system] = replace(rows[system], total=total)
    content = {n: [sorted(row.cells.items()), row.lines, row.total] for n, row in rows.items()}
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(text).hexdigest()
    return _HeldScores(label=name, content=_given(where, digest, rows))


@lru_cache(maxsize=32)
def _read(file: str, digest: str, metric: str) -> Given:
    """Read a file or folder; a change of its digest, part of the cache key, reads it again."""
    path = Path(file)
    if is_result_folder(path):
        results = read_result_folder(path, metric).items()
        rows = {s: replace(_of_lines(f"{file}, {s}", v), total=total) for s, (v, total) in results}
        return _given(file, digest, rows)
    text = read_text(path)
    if text.lstrip()[:1] == "{":
        document = parse_json(text, file, "a score file", halves=True)
        return _of_written(file, digest, document, metric)
    if metric:
        raise OptionError(f"scores: metric={metric}: {file} contains the scores of one metric")
    return _given(file, digest, _of_table(file, text))


def _given(where: str, digest: str, rows: Mapping[str, SystemRow]) -> Given:
    if not any(row.cells for row in rows.values()):
        raise InputError(f"{where}: contains no score; {_FORM}")
    return Given(where, digest, {name: (row,) for name, row in rows.items()})


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, compressed or not, or of a folder of results."""
    if is_result_folder(path):
        return folder_digest(path)
    if str(path) == "-":
        raise OptionError(
            "scores: file=- is standard input, which can be read once: write it to a file"
        )
    read_bytes(path)  # raises the usual errors for an unusable file
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_table(file: str, text: str) -> dict[str, SystemRow]:
    """Read a table of system, line and score, with or without a header.

    The texts have as many lines as the highest line number of any system.
    """
    table = list(csv_rows(text, file))
    head = [name.lower() for name in table[0][1]] if table else []
    lacking = [key for key, names in _NAMES.items() if not {*names} & {*head}]
    if not lacking:
        check_names(head, f"{file}, line 1")
        table = table[1:]
        places = [next(head.index(n) for n in names if n in head) for names in _NAMES.values()]
    elif len(head) == 3 and _line(head[1]):
        places = [0, 1, 2]
    else:
        ours = "; `gecjury score --sentences --format json` writes a form that is read"
        raise InputError(
            f"{file}, line 1: no column {' and '.join(lacking)}; {_FORM}"
            + (ours if "metric" in head else "")
        )
    cells: dict[str, dict[int | str, float]] = {}
    seen: dict[tuple[str, int | str], int] = {}
    for number, row in table:
        if not any(row):
            continue
        place = f"{file}, line {number}"
        if len(row) <= max(places):
            raise InputError(f"{place}: {len(row)} cells; expected system, line and score")
        name, typed, score = (row[at] for at in places)
        if not name:
            raise InputError(f"{place}: the name of the system is missing")
        line = _line(typed)
        if not line:
            refuse(f"{place}, line", typed, f"a whole number from 1 to {_MOST_LINE}, or total")
        if (name, line) in seen:
            what = "the total" if line == "total" else f"line {line}"
            earlier = seen[name, line]
            raise InputError(f"{place}: {what} of {name} occurs twice, first in line {earlier}")
        seen[name, line] = number
        cells.setdefault(name, {})[line] = _number(_cell(score), place)
    # A system's total may be among its lines.
    totals = {name: lines.pop("total", None) for name, lines in cells.items()}
    last = max((int(line) for lines in cells.values() for line in lines), default=0)
    return {
        name: SystemRow({int(line): score for line, score in lines.items()}, last, totals[name])
        for name, lines in cells.items()
    }


def _of_written(file: str, digest: str, document: Mapping[str, object], metric: str) -> Given:
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


def _of_lines(where: str, values: object) -> SystemRow:
    """Read one number per line."""
    # An array without dimensions is iterable by its type, and has nothing to iterate over.
    single = isinstance(values, str | Mapping) or getattr(values, "shape", None) == ()
    if single or not isinstance(values, Iterable):
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


def _line(text: str) -> int | str:
    """Return a line number, or `total`; 0 for any other text."""
    if text.lower() in _TOTAL:
        return "total"
    # `isdecimal` alone is also true of digits of other scripts.
    short = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_LINE))
    line = int(text) if short else 0
    return line if line <= _MOST_LINE else 0


def _counts(rows: Mapping[str, SystemRow], count: Callable[[SystemRow], int]) -> str:
    """Return the counts by system as words, without systems whose count is 0."""
    numbers_of = {name: number for name, row in rows.items() if (number := count(row))}
    return _listed(f"{name} {number} of {rows[name].lines}" for name, number in numbers_of.items())


def _listed(names: Iterable[str]) -> str:
    """Return the first few names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED + 1 else ""
    return ", ".join(every[:_MOST_LISTED] if more else every) + more
