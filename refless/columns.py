"""Which columns of a table of ratings hold what, and the scale of the ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gecjury.errors import InputError, OptionError

__all__ = ["ASPECTS", "GUG_COLUMNS", "TMU_COLUMNS", "ColumnMap", "Scale", "known_columns"]

ASPECTS = ("grammaticality", "fluency", "meaning")
"""What SOME rates, in the order of its weights α, β, γ."""


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
            raise OptionError(
                f"--scale {text!r} is not LOW:HIGH, two numbers such as 1:4"
            ) from None
        if not scale.low < scale.high:
            raise OptionError(f"--scale {text!r}: the lowest rating must be below the highest")
        return scale


@dataclass(frozen=True)
class ColumnMap:
    """Which columns hold what.

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

    @classmethod
    def parse(cls, assignments: Sequence[str]) -> ColumnMap:
        """Read `role=column` assignments; an aspect may name several columns (`fluency=f1,f2`)."""
        given: dict[str, str] = {}
        for text in assignments:
            role, separator, column = text.partition("=")
            if not separator or not column:
                raise OptionError(f"--column {text!r} is not ROLE=COLUMN, e.g. output=hypothesis")
            if role not in (*ASPECTS, "source", "output", "split"):
                raise OptionError(
                    f"--column {text!r}: {role!r} is no role; "
                    f"expected source, output, split, {', '.join(ASPECTS)}"
                )
            given[role] = column
        aspects = {a: tuple(given[a].split(",")) for a in ASPECTS if a in given}
        named = (given.get(role, "") for role in ("output", "source", "split"))
        output, source, split = named
        return cls(output, aspects, source, split)

    def completed(self, path: str, known: Sequence[str]) -> ColumnMap:
        """With the columns that are called what they hold, where no other is named.

        Raises:
            InputError: there is no sentence, or no rating, among the columns.
        """
        # Who names an aspect wants that one, not whatever else the file rates.
        aspects = self.aspects or {a: (a,) for a in ASPECTS if a in known}
        output, source, split = (
            given or (role if role in known else "")
            for role, given in zip(
                ("output", "source", "split"), (self.output, self.source, self.split), strict=True
            )
        )
        if not output or not aspects:
            lost = "the rated sentence (output)" if not output else "a rating"
            raise InputError(
                f"{path}: columns {', '.join(known)} are neither TMU-GFM's nor GUG's, and none is "
                f"called, or said to hold, {lost}; say which is which with --column output=... and "
                "at least one of " + ", ".join(f"--column {aspect}=..." for aspect in ASPECTS)
            )
        return ColumnMap(output, aspects, source, split)


TMU_COLUMNS = ColumnMap(
    "output",
    {"grammaticality": ("grammer",), "fluency": ("fluency",), "meaning": ("meaning",)},
    "source",
)
"""TMU-GFM as released (its first rating column is spelt `grammer`)."""

GUG_COLUMNS = ColumnMap("Sentence", {"grammaticality": ("Average",)}, split="Dataset")
"""GUG as released: the mean of the expert and five crowd ratings, with its own split."""


def known_columns(known: Sequence[str]) -> ColumnMap:
    """TMU-GFM's columns or GUG's where they are these, else a map that names none."""
    if "grammer" in known and TMU_COLUMNS.output in known:
        return TMU_COLUMNS
    return GUG_COLUMNS if GUG_COLUMNS.output in known else ColumnMap("", {})
