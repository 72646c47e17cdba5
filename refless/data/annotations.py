"""Rated sentences, and the tables they are read from: the roles of columns and the scale."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.files.hub import hub_dataset
from gecjury.corpus.files.rows import Row, read_table
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.leakage import normalise

ASPECTS = ("grammaticality", "fluency", "meaning")
"""The aspects that SOME rates, in the order of its weights α, β, γ."""

QUALITY = "quality"
"""One rating of a whole correction, given its source: an aspect that is trained separately."""

RATED = (*ASPECTS, QUALITY)
"""All aspects that a regressor can be trained on."""

PAIRED = frozenset({"meaning", QUALITY})
"""Aspects whose ratings are of pairs of source and output."""


@dataclass(frozen=True)
class Scale:
    """Lowest and highest rating, and whether a 0 below the lowest means "other"."""

    low: float = 1.0
    high: float = 4.0
    zero_is_other: bool = True

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Parse `LOW:HIGH`; if LOW is above 0, 0 means "other"."""
        low, _, high = text.partition(":")
        try:
            scale = cls(float(low), float(high), float(low) > 0)
        except ValueError:
            scale = cls(math.nan, math.nan)
        if not -math.inf < scale.low < scale.high < math.inf:
            raise OptionError(
                f"`scale={text!r:.60}` is not LOW:HIGH, two numbers such as 1:4, the lower first"
            )
        return scale


@dataclass(frozen=True)
class Annotations:
    """Rated sentences.

    Attributes:
        aspects: names of the columns of `ratings`.
        outputs: N rated sentences.
        sources: N sentences they correct; "" if there is none.
        ratings: N × aspects, means over raters; NaN = not rated.
        scale: scale of the ratings.
        names: N entries `train`, `dev` or `test` if the data has its own split, else empty.
        notes: messages about rows and aspects that were left out.
    """

    aspects: tuple[str, ...]
    outputs: tuple[str, ...]
    sources: tuple[str, ...]
    ratings: FloatArray
    scale: Scale = field(default_factory=Scale)
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
        )

    def groups(self) -> IntArray:
        """Number the sources from 0 and return each row's; rows without one use their output."""
        numbers: dict[str, int] = {}
        keys = [normalise(s or o) for s, o in zip(self.sources, self.outputs, strict=True)]
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)

    def check_sources(self, paired: bool) -> None:
        """Raise an error for rows without a source if an aspect needs it.

        Args:
            paired: True if --read-source is given, so that all aspects need it.

        Raises:
            InputError: names the aspect and the remedy.
        """
        pairs = [aspect for aspect in self.aspects if aspect in PAIRED]
        if (pairs or paired) and not all(self.sources):
            recipe = "" if pairs else ", or choose a model that needs none (`recipe=paper`)"
            raise InputError(
                f"{pairs[0] if pairs else '`read_source=`'} needs sources, but some rows have "
                f"none: name the column of the sources (`column=source=...`){recipe}"
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
        aspects: for each aspect, the columns with its ratings; a cell may have several (`3,4,3`).
        source: the sentence that was corrected; empty if ratings are of single sentences.
        split: a column with `train`, `dev` or `test`; rows with other values are left out.
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
        """Parse `role=column` assignments; an aspect may have several columns (`fluency=f1,f2`)."""
        named: dict[str, str] = {}
        for text in assignments:
            role, _, column = text.partition("=")
            columns = column.split(",") if role in RATED else [column]
            if role not in (*RATED, "source", "output", "split") or "" in columns:
                raise OptionError(
                    f"`column={text!r:.60}` is not ROLE=COLUMN, e.g. output=hypothesis; roles are "
                    f"source, output and split, and {', '.join(RATED)} with COLUMN[,COLUMN...]"
                )
            named[role] = column
        aspects = {a: tuple(named[a].split(",")) for a in RATED if a in named}
        if QUALITY in aspects and len(aspects) > 1:
            raise OptionError(
                f"`column=`: {QUALITY} is one rating of a whole correction and is trained alone; "
                f"leave out {', '.join(a for a in aspects if a != QUALITY)}, or {QUALITY}"
            )
        roles = {role: named.get(role, "") for role in ("output", "source", "split")}
        return cls(aspects=aspects, **roles)

    def completed(self, path: str, names: Sequence[str]) -> ColumnMap:
        """Return the map with missing roles filled in from columns named like them.

        Raises:
            InputError: no column has the sentence, or none has a rating.
        """
        # If aspects are named, only these are wanted, even if the file rates others.
        aspects = self.aspects or {a: (a,) for a in ASPECTS if a in names}
        if not aspects and QUALITY in names:
            aspects = {QUALITY: (QUALITY,)}
        roles = {
            role: getattr(self, role) or (role if role in names else "")
            for role in ("output", "source", "split")
        }
        if not roles["output"] or not aspects:
            missing = "a rating" if roles["output"] else "the rated sentence (output)"
            raise InputError(
                f"{path}: no column is known to contain {missing}: {', '.join(names)}; expected "
                "the columns of TMU-GFM, GUG or autoJQE, or name them with `column=output=...` and "
                "at least one of " + ", ".join(f"`column={aspect}=...`" for aspect in RATED)
            )
        return ColumnMap(aspects=aspects, **roles)


TMU_COLUMNS = ColumnMap(
    "output",
    {"grammaticality": ("grammer",), "fluency": ("fluency",), "meaning": ("meaning",)},
    "source",
)
"""TMU-GFM as released (its first rating column is spelt `grammer`)."""

GUG_COLUMNS = ColumnMap("Sentence", {"grammaticality": ("Average",)}, split="Dataset")
"""GUG as released: the mean of the expert's and five crowd ratings, with its own split."""

JQE_COLUMNS = ColumnMap("訂正", {QUALITY: ("個別評価",)}, "原文")
"""autoJQE as released: three ratings of a correction in one cell; means leave out 0."""


def known_columns(names: Sequence[str]) -> ColumnMap:
    """Return the column map of TMU-GFM, autoJQE or GUG if the names match, else an empty one."""
    if "grammer" in names and TMU_COLUMNS.output in names:
        return TMU_COLUMNS
    if {"原文", "訂正", "個別評価"} <= set(names):
        return JQE_COLUMNS
    return GUG_COLUMNS if GUG_COLUMNS.output in names else ColumnMap("", {})


def read_annotations(
    path: str | Path,
    columns: ColumnMap | None = None,
    scale: Scale | None = None,
    language: Language = ENGLISH,
) -> Annotations:
    """Read ratings from a table (see `gecjury.corpus.files.rows`) or from a Hugging Face dataset.

    Args:
        path: a file, or `hf:NAME`, `hf:NAME:SPLIT` for a dataset
            of the `datasets` package: a hub name, or a folder written by `save_to_disk`.
        columns: roles of the columns; by default those of TMU-GFM, GUG or autoJQE, or columns named
            like their roles (`output`, `source`, `split`, `grammaticality`, ...).
        scale: scale of the ratings; by default 1 to 4, with 0 for "other".
        language: language of the sentences. In English, repeated spaces become one. In other
            languages, characters are folded as the language prescribes, and only line breaks and
            spaces at either end are changed.

    Raises:
        InputError: a column is missing, or a rating is missing, not a number or outside the scale
            (names row and column); no row is left; all ratings of an aspect are equal.
    """
    rows, quoting = _rows(str(path))
    if not rows:
        raise InputError(f"{path}: contains no row; expected one rated sentence per row")
    names = list(rows[0].cells)
    # Known columns of released data sets rate aspects even if the user did not name them; a note
    # reports those that are not used.
    usual = known_columns(names).aspects
    basis = "`column=` says" if columns else "its columns say"
    columns = (columns or known_columns(names)).completed(str(path), names)
    rated = {*columns.aspects, *usual, *names}
    for name in columns.names:
        if name not in names:
            raise InputError(f"{path}: has no column {name!r}; it has {', '.join(names)}")
    data = _collect(str(path), rows, columns, scale or Scale(), language)
    data = replace(data, notes=(*data.notes, *quoting))
    # Correlations with a constant are undefined, so no epoch could be chosen.
    _refuse_constant(str(path), data)
    unused = [a for a in RATED if a in rated and a not in columns.aspects]
    if not unused:
        return data
    more = (f"`column={a}={','.join(usual.get(a, (a,)))}`" for a in unused)
    note = (
        f"rates {', '.join(a for a in RATED if a in rated)}; used: "
        f"{', '.join(columns.aspects)}, as {basis}; left out: {', '.join(unused)} "
        f"(to train {'it' if len(unused) == 1 else 'them'} too, add {' '.join(more)})"
    )
    return replace(data, notes=(*data.notes, note))


def _rows(path: str) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Return the rows of a table or dataset, and notes on how the table was read."""
    if path.startswith("hf:"):
        return [Row(path, n, dict(row), "row") for n, row in enumerate(hub_dataset(path), 1)], ()
    table = read_table(path, "a header and one rated sentence per row", texts=True)
    # Those who tell the notes name the file.
    return table.rows, tuple(note.removeprefix(f"{table.path}: ") for note in table.notes)


def _collect(
    path: str,
    rows: Sequence[Row],
    columns: ColumnMap,
    scale: Scale,
    language: Language,
) -> Annotations:
    kept: list[tuple[str, str, list[float], str]] = []
    others = elsewhere = 0
    wanted = columns.names
    outside = _outside(rows, columns, scale)
    for row in rows:
        # In JSON lines and data sets, each row has its own columns.
        lacking = [column for column in wanted if column not in row.cells]
        if lacking:
            row.refuse(lacking[0], f"{', '.join(wanted)} in every row, as in the first")
        name = str(row[columns.split]).strip().lower() if columns.split else ""
        # Tables use different names for the same part.
        name = "dev" if name in ("validation", "valid") else name
        if columns.split and name not in ("train", "dev", "test"):
            elsewhere += 1
            continue
        # Texts are checked before ratings: a row without a rating must still be complete.
        output = _text(row, columns.output, language)
        source = _text(row, columns.source, language) if columns.source else ""
        means = [
            _mean_rating(_row_ratings(row, cells, scale, outside))
            for cells in columns.aspects.values()
        ]
        if any(math.isnan(mean) for mean in means):
            others += 1
            continue
        kept.append((output, source, means, name))
    if not kept:
        raise InputError(
            f"{path}: no rated sentence is left ({others} rows were marked 0, other); expected "
            "one rated sentence per row"
        )
    notes = []
    if others:
        notes.append(f"{others} rows left out: most raters marked them 0 (other)")
    if elsewhere:
        notes.append(
            f"{elsewhere} rows left out: the column {columns.split} is not train, dev or test"
        )
    outputs, sources, ratings, names = zip(*kept, strict=True)
    return Annotations(
        tuple(columns.aspects),
        outputs,
        sources,
        np.array(ratings, dtype=np.float64),
        scale,
        names if columns.split else (),
        tuple(notes),
    )


def joined(parts: Sequence[Annotations]) -> Annotations:
    """Join sets with the same aspects and scale, in order; notes are dropped."""
    return replace(
        parts[0],
        outputs=sum((part.outputs for part in parts), ()),
        sources=sum((part.sources for part in parts), ()),
        ratings=np.concatenate([part.ratings for part in parts]),
        names=sum((part.names for part in parts), ()),
        notes=(),
    )


def _text(row: Row, column: str, language: Language) -> str:
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        row.refuse(column, "a sentence")
    if language.code == "en":
        return " ".join(value.split())
    return language.text(" ".join(value.strip().splitlines()))


def _outside(rows: Sequence[Row], columns: ColumnMap, scale: Scale) -> str:
    """Return how many ratings are outside the scale, and their range; empty for none."""
    names = [name for cells in columns.aspects.values() for name in cells]
    values = [v for row in rows for name in names for v in _numbers(row.cells.get(name))]
    beyond = [
        v for v in values if not scale.low <= v <= scale.high and (v or not scale.zero_is_other)
    ]
    if not beyond:
        return ""
    return (
        f" ({len(beyond)} of {len(values)} ratings are outside this scale; the ratings go from "
        f"{min(values):g} to {max(values):g})"
    )


def _row_ratings(row: Row, columns: Sequence[str], scale: Scale, outside: str) -> list[float]:
    """Return all ratings in the columns; NaN for "other".

    Args:
        outside: see `_outside`.
    """
    values: list[float] = []
    for column in columns:
        # If the scale starts above 0, 0 means "other".
        ratings = [
            math.nan if scale.zero_is_other and value == 0 else value
            for value in _numbers(row[column])
        ]
        if not ratings or any(value < scale.low or value > scale.high for value in ratings):
            row.refuse(
                column,
                f"a rating from {scale.low:g} to {scale.high:g}"
                + (" (or 0 for other)" if scale.zero_is_other else "")
                + " or several (3,4,3); correct it, or give the scale with `scale=LOW:HIGH`"
                + outside,
            )
        values += ratings
    return values


def _mean_rating(values: Sequence[float]) -> float:
    """Return the mean of a row's ratings; NaN if most raters said "other"."""
    kept = [value for value in values if not math.isnan(value)]
    if 2 * len(kept) < len(values):
        return math.nan
    return sum(kept) / len(kept) if kept else math.nan


def _numbers(cell: object) -> list[float]:
    """Return the ratings in a cell; an empty list if it is empty or contains a non-number."""
    if isinstance(cell, int | float):
        parts: list[object] = [cell]
    elif isinstance(cell, list | tuple):
        parts = list(cell)
    else:
        # In tab-separated tables, quotation marks are part of the cell: "3,4,3".
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
                f"{path}: all {len(values)} ratings of {aspect} are {values[0]:g}, so there is "
                "nothing to learn: leave the aspect out or check the columns"
            )
