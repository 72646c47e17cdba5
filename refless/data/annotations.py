"""Rated sentences, and the tables they are read from: which columns hold what, on which scale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.hub import hub_dataset
from gecjury.corpus.language import ENGLISH, Language
from gecjury.corpus.leakage import normalise
from gecjury.corpus.rows import Row, read_table
from gecjury.corpus.tokens import folded
from gecjury.errors import InputError, OptionError

ASPECTS = ("grammaticality", "fluency", "meaning")
"""The aspects that SOME rates, in the order of its weights α, β, γ."""

QUALITY = "quality"
"""One rating of a correction as a whole, beside its source: an aspect that is trained by itself."""

RATED = (*ASPECTS, QUALITY)
"""All aspects that a regressor can be trained on."""

PAIRED = frozenset({"meaning", QUALITY})
"""Aspects that are rated of pairs of source and output."""


@dataclass(frozen=True)
class Scale:
    """Lowest and highest rating, and whether 0 below it means "other"."""

    low: float = 1.0
    high: float = 4.0
    zero_is_other: bool = True

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read `LOW:HIGH`; 0 means "other" wherever it lies below LOW."""
        low, _, high = text.partition(":")
        try:
            scale = cls(float(low), float(high), float(low) > 0)
        except ValueError:
            scale = cls(math.nan, math.nan)
        if not -math.inf < scale.low < scale.high < math.inf:
            raise OptionError(
                f"--scale {text!r:.60} is not LOW:HIGH, two numbers such as 1:4, the lower first"
            )
        return scale


@dataclass(frozen=True)
class Annotations:
    """Rated sentences.

    Attributes:
        aspects: names of the columns of `ratings`.
        outputs: N rated sentences.
        sources: N sentences they correct; "" where there is none.
        ratings: N × aspects, means over raters; NaN = not rated.
        scale: of the ratings.
        names: N entries `train`, `dev` or `test` where the data brings its split, else empty.
        notes: what was left out, for people.
        raters: by aspect the ratings that `ratings` are means of, N × raters, NaN for "other";
            aspects of whose rows some have more ratings than others are absent.
    """

    aspects: tuple[str, ...]
    outputs: tuple[str, ...]
    sources: tuple[str, ...]
    ratings: FloatArray
    scale: Scale = field(default_factory=Scale)
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    raters: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.outputs)

    def take(self, rows: Sequence[int] | IntArray) -> Annotations:
        """Return some rows, in that order."""
        chosen = [int(row) for row in rows]
        return replace(
            self,
            outputs=tuple(self.outputs[row] for row in chosen),
            sources=tuple(self.sources[row] for row in chosen),
            ratings=self.ratings[chosen],
            names=tuple(self.names[row] for row in chosen) if self.names else (),
            raters={aspect: table[chosen] for aspect, table in self.raters.items()},
        )

    def groups(self) -> IntArray:
        """Return the number of each row's source, from 0; rows without one are their own."""
        numbers: dict[str, int] = {}
        keys = [normalise(s or o) for s, o in zip(self.sources, self.outputs, strict=True)]
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def check_sources(self, paired: bool) -> None:
        """Refuse rows without a source where an aspect is rated or read with it.

        Args:
            paired: whether --read-source asks for it.

        Raises:
            InputError: names the aspect and the remedy.
        """
        pairs = [aspect for aspect in self.aspects if aspect in PAIRED]
        if (pairs or paired) and not all(self.sources):
            raise InputError(
                f"{pairs[0] if pairs else 'meaning'} is rated of pairs, and --read-source reads "
                "them: name the column of the sources (--column source=...)"
            )

    @property
    def print(self) -> str:
        """Fingerprint of all texts and ratings: 16 hexadecimal digits."""
        numbers = (" ".join(f"{value:.6g}" for value in row) for row in self.ratings)
        return fingerprint(
            part
            for parts in zip(self.sources, self.outputs, numbers, strict=True)
            for part in parts
        )


@dataclass(frozen=True)
class ColumnMap:
    """Roles of the columns.

    Attributes:
        output: the rated sentence.
        aspects: by aspect the columns with its ratings; a cell may hold several (`3,4,3`).
        source: the sentence that was corrected; empty where ratings are of lone sentences.
        split: a column that says `train`, `dev` or `test`; rows that say otherwise are left out.
    """

    output: str
    aspects: Mapping[str, tuple[str, ...]]
    source: str = ""
    split: str = ""

    @property
    def names(self) -> list[str]:
        """All columns that are named."""
        named = (self.output, self.source, self.split, *sum(self.aspects.values(), ()))
        return [column for column in named if column]

    @classmethod
    def parse(cls, assignments: Sequence[str]) -> ColumnMap:
        """Read `role=column` assignments; an aspect may name several columns (`fluency=f1,f2`)."""
        named: dict[str, str] = {}
        for text in assignments:
            role, _, column = text.partition("=")
            columns = column.split(",") if role in RATED else [column]
            if role not in (*RATED, "source", "output", "split") or "" in columns:
                raise OptionError(
                    f"--column {text!r:.60} is not ROLE=COLUMN, e.g. output=hypothesis; roles are "
                    f"source, output and split, and {', '.join(RATED)} with COLUMN[,COLUMN...]"
                )
            named[role] = column
        aspects = {a: tuple(named[a].split(",")) for a in RATED if a in named}
        if QUALITY in aspects and len(aspects) > 1:
            raise OptionError(
                f"--column: {QUALITY} is one rating of a correction as a whole and is trained by "
                f"itself; leave out {', '.join(a for a in aspects if a != QUALITY)}, or {QUALITY}"
            )
        roles = {role: named.get(role, "") for role in ("output", "source", "split")}
        return cls(aspects=aspects, **roles)

    def completed(self, path: str, names: Sequence[str]) -> ColumnMap:
        """Return it with the columns that are called what they hold, where no other is named.

        Raises:
            InputError: there is no sentence, or no rating, among the columns.
        """
        # Who names an aspect wants that one, not whatever else the file rates.
        aspects = self.aspects or {a: (a,) for a in ASPECTS if a in names}
        if not aspects and QUALITY in names:
            aspects = {QUALITY: (QUALITY,)}
        roles = {
            role: getattr(self, role) or (role if role in names else "")
            for role in ("output", "source", "split")
        }
        if not roles["output"] or not aspects:
            lost = "a rating" if roles["output"] else "the rated sentence (output)"
            raise InputError(
                f"{path}: columns {', '.join(names)} are neither TMU-GFM's nor GUG's, and none is "
                f"called, or said to hold, {lost}; say which is which with --column output=... and "
                "at least one of " + ", ".join(f"--column {aspect}=..." for aspect in RATED)
            )
        return ColumnMap(aspects=aspects, **roles)


TMU_COLUMNS = ColumnMap(
    "output",
    {"grammaticality": ("grammer",), "fluency": ("fluency",), "meaning": ("meaning",)},
    "source",
)
"""TMU-GFM as released (its first rating column is spelt `grammer`)."""

GUG_COLUMNS = ColumnMap("Sentence", {"grammaticality": ("Average",)}, split="Dataset")
"""GUG as released: the mean of the expert and five crowd ratings, with its own split."""


JQE_COLUMNS = ColumnMap("訂正", {QUALITY: ("個別評価",)}, "原文")
"""autoJQE as released: three ratings of a correction in one cell; 0 is left out of its means."""


def known_columns(names: Sequence[str]) -> ColumnMap:
    """Return TMU-GFM's, autoJQE's or GUG's columns where they are these; else none."""
    if "grammer" in names and TMU_COLUMNS.output in names:
        return TMU_COLUMNS
    if {"原文", "訂正", "個別評価"} <= set(names):
        return JQE_COLUMNS
    return GUG_COLUMNS if GUG_COLUMNS.output in names else ColumnMap("", {})


def read_annotations(
    path: str | Path,
    columns: ColumnMap | None = None,
    scale: Scale | None = None,
    aspects: Sequence[str] | None = None,
    language: Language = ENGLISH,
) -> Annotations:
    """Read ratings from a CSV, TSV or JSON-lines file or from a Hugging Face dataset.

    Args:
        path: a file (its kind is told by its ending), or `hf:NAME`, `hf:NAME:SPLIT` for a dataset
            of the `datasets` package: a hub name, or a folder written by `save_to_disk`.
        columns: which columns hold what; by default TMU-GFM's, GUG's, autoJQE's, or columns that
            are called what they hold (`output`, `source`, `split`, `grammaticality`, ...),
            whichever fit.
        scale: of the ratings; 1 to 4 with 0 for "other" by default.
        aspects: those that are read, if the columns have them; None for all.
        language: of the sentences. English ones lose doubled blanks, as they always have; others
            are folded as the language says, and otherwise read as they stand, but for blanks at
            either end and line breaks.

    Raises:
        InputError: a column is absent, or a rating is missing, not a number or outside the scale
            (names row and column); no row is left; all ratings of an aspect are equal.
    """
    rows = _rows(str(path))
    if not rows:
        raise InputError(f"{path}: holds no row; expected one rated sentence a row")
    names = list(rows[0].cells)
    # Columns that are known from released data sets rate aspects even where nobody named them:
    # the user is told of those which are left.
    usual = known_columns(names).aspects
    asked = "--aspects says" if aspects else "--column says" if columns else "its columns say"
    columns = (columns or known_columns(names)).completed(str(path), names)
    rated = {*columns.aspects, *usual, *names}
    # Only what is trained is read, so that a flaw in another column refuses nothing.
    if aspects and set(aspects) & set(columns.aspects):
        chosen = {a: cells for a, cells in columns.aspects.items() if a in aspects}
        columns = replace(columns, aspects=chosen)
    for name in columns.names:
        if name not in names:
            raise InputError(f"{path}: has no column {name!r}; it has {', '.join(names)}")
    data = _collect(str(path), rows, columns, scale or Scale(), language)
    # Correlations with a constant are undefined, and no epoch could be chosen by them.
    _refuse_constant(str(path), data)
    left = [a for a in RATED if a in rated and a not in columns.aspects]
    if not left:
        return data
    more = (f"--column {a}={','.join(usual.get(a, (a,)))}" for a in left)
    hint = "name them with --aspects as well" if aspects else f"add {' '.join(more)}"
    note = (
        f"rates {', '.join(a for a in RATED if a in rated)}; read: "
        f"{', '.join(columns.aspects)}, as {asked}; "
        f"left: {', '.join(left)} (to train {'it' if len(left) == 1 else 'them'} too, {hint})"
    )
    return replace(data, notes=(*data.notes, note))


def _rows(path: str) -> Sequence[Row]:
    if path.startswith("hf:"):
        return [Row(path, n, dict(row), "row") for n, row in enumerate(hub_dataset(path), 1)]
    return read_table(path, "a header and one rated sentence a row", texts=True).rows


def _collect(
    path: str,
    rows: Sequence[Row],
    columns: ColumnMap,
    scale: Scale,
    language: Language,
) -> Annotations:
    kept: list[tuple[str, str, list[float], list[list[float]], str]] = []
    others = elsewhere = 0
    wanted = columns.names
    for row in rows:
        # Of JSON lines and data sets, each row brings its own columns.
        lacking = [column for column in wanted if column not in row.cells]
        if lacking:
            row.refuse(lacking[0], f"{', '.join(wanted)} in every row, as in the first")
        name = str(row[columns.split]).strip().lower() if columns.split else ""
        # Tables from the hub and from elsewhere call the same part by different names.
        name = "dev" if name in ("validation", "valid") else name
        if columns.split and name not in ("train", "dev", "test"):
            elsewhere += 1
            continue
        # Texts are checked before ratings: a row without a rating must still be a whole row.
        output = _text(row, columns.output, language)
        source = _text(row, columns.source, language) if columns.source else ""
        single = [_row_ratings(row, cells, scale) for cells in columns.aspects.values()]
        means = [_mean_rating(values) for values in single]
        if any(math.isnan(mean) for mean in means):
            others += 1
            continue
        kept.append((output, source, means, single, name))
    if not kept:
        raise InputError(f"{path}: no rated sentence is left ({others} marked 0, other)")
    notes = []
    if others:
        notes.append(f"{others} rows left out: most raters marked them 0 (other)")
    if elsewhere:
        notes.append(f"{elsewhere} rows left out: in no split by the column {columns.split}")
    outputs, sources, ratings, by_rater, names = zip(*kept, strict=True)
    return Annotations(
        tuple(columns.aspects),
        outputs,
        sources,
        np.array(ratings, dtype=np.float64),
        scale,
        names if columns.split else (),
        tuple(notes),
        _by_rater(tuple(columns.aspects), by_rater),
    )


def _by_rater(
    aspects: Sequence[str], single: Sequence[Sequence[Sequence[float]]]
) -> dict[str, FloatArray]:
    """The ratings of aspects of which every row has as many, and several; see `Annotations`."""
    tables = {}
    for column, aspect in enumerate(aspects):
        widths = {len(row[column]) for row in single}
        if len(widths) == 1 and min(widths) > 1:
            tables[aspect] = np.array([row[column] for row in single], dtype=np.float64)
    return tables


def joined(parts: Sequence[Annotations]) -> Annotations:
    """Several sets with the same aspects and scale as one, in order; without notes."""
    first = parts[0]
    raters = {}
    for aspect in first.raters:
        tables = [part.raters[aspect] for part in parts if aspect in part.raters]
        # Parts in which other numbers of people rated an aspect make no one table of it.
        if len(tables) == len(parts) and len({table.shape[1] for table in tables}) == 1:
            raters[aspect] = np.concatenate(tables)
    return replace(
        first,
        outputs=sum((part.outputs for part in parts), ()),
        sources=sum((part.sources for part in parts), ()),
        ratings=np.concatenate([part.ratings for part in parts]),
        names=sum((part.names for part in parts), ()),
        notes=(),
        raters=raters,
    )


def _text(row: Row, column: str, language: Language) -> str:
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        row.refuse(column, "a sentence")
    if language.code == "en":
        return " ".join(value.split())
    return folded(" ".join(value.strip().splitlines()), language.fold)


def _row_ratings(row: Row, columns: Sequence[str], scale: Scale) -> list[float]:
    """Return all ratings in the columns; NaN for "other"."""
    values: list[float] = []
    for column in columns:
        # Where the scale begins above it, 0 stands for "other".
        ratings = [
            math.nan if scale.zero_is_other and value == 0 else value
            for value in _numbers(row[column])
        ]
        if not ratings or any(value < scale.low or value > scale.high for value in ratings):
            row.refuse(
                column,
                f"a rating from {scale.low:g} to {scale.high:g}"
                + (" (or 0 for other)" if scale.zero_is_other else "")
                + " or several (3,4,3); correct it, or give the scale with --scale LOW:HIGH",
            )
        values += ratings
    return values


def _mean_rating(values: Sequence[float]) -> float:
    """The mean of a row's ratings; NaN where most raters said "other"."""
    kept = [value for value in values if not math.isnan(value)]
    if 2 * len(kept) < len(values):
        return math.nan
    return sum(kept) / len(kept) if kept else math.nan


def _numbers(cell: object) -> list[float]:
    """Return the ratings of a cell; none for an empty one, or where something is no number."""
    if isinstance(cell, int | float):
        parts: list[object] = [cell]
    elif isinstance(cell, list | tuple):
        parts = list(cell)
    else:
        # In tab-separated tables a quotation mark is no sign of the format: "3,4,3".
        text = "" if cell is None else str(cell).strip().strip('"').strip("[]")
        parts = [part for part in re.split(r"[,;\s]+", text) if part]
    try:
        numbers = [float(str(part)) for part in parts]
    except (ValueError, OverflowError):
        return []
    return numbers if all(map(math.isfinite, numbers)) else []


def _refuse_constant(path: str, data: Annotations) -> None:
    for column, aspect in enumerate(data.aspects):
        values = data.ratings[:, column]
        if len(values) > 1 and np.ptp(values) == 0:
            raise InputError(
                f"{path}: all {len(values)} ratings of {aspect} are {values[0]:g}; "
                "nothing can be learnt from a constant: leave the aspect out or check the columns"
            )
