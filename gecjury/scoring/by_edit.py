"""Scores of single edits: credit, verdicts, explanations; and counts of edits by error type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gecjury.core.arrays import FloatArray
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.stats.choices import TypeLevel


@dataclass(frozen=True)
class EditCase:
    """A single edit that annotators judged.

    Attributes:
        row: the source's row in the benchmark's corpus; -1 if the corpus does not contain it.
        source: the source, tokens joined by single blanks.
        context: the sentences before and after it; None if they are unknown or not shown.
        edit: the edit.
        edits: all edits of the correction that it belongs to, including itself.
        valid: the verdict, as the share of annotators who accepted the edit.
        correction: text of the correction; it has more edits than `edits` if the verdict on one of
            them is unreadable.
        language: language of the texts.
    """

    row: int
    source: str
    context: tuple[str, str] | None
    edit: Edit
    edits: tuple[Edit, ...]
    valid: float
    correction: str = ""
    language: Language = ENGLISH

    @property
    def complete(self) -> bool:
        """True if applying the edits gives the correction."""
        return " ".join(apply_edits(self.source.split(), self.edits)) == self.correction


@dataclass(frozen=True)
class EditCounts:
    """The credit that an edit-counting metric gives to N judged edits.

    Attributes:
        own: credit under the metric's own rule for multiple references, shape (N,).
        notes: remarks for the user.
    """

    own: FloatArray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeatMap:
    """A matrix of the mass transported from rows to columns.

    Attributes:
        title: title of the matrix.
        rows: labels of the hypothesis' edits, with their masses.
        columns: labels of the reference's edits, with their masses.
        values: rows × columns.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Explanation:
    """A record of how a metric judged one hypothesis against one reference.

    Attributes:
        scores: precision, recall, score and other single numbers.
        columns: keys of the rows, in order.
        rows: one record per edit or chunk.
        heat_map: the transport plan, for metrics that have one.
    """

    scores: Mapping[str, float]
    columns: Sequence[str]
    rows: Sequence[Mapping[str, object]]
    heat_map: HeatMap | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


def edit_label(edit: Edit) -> str:
    """Return an edit as the paper writes it: `[27,29] → their`."""
    return f"[{edit.start},{edit.end}] → {edit.correction or '∅'}"


def merged_type(kind: str, level: TypeLevel) -> str:
    """Return the part of an error type that a level distinguishes."""
    operation, _, category = kind.partition(":")
    return {1: operation, 2: category or kind, 3: kind}[level]


def whole_counts(counts: Iterable[float]) -> tuple[float, float, float]:
    """Return TP, FP and FN, as integers if they are whole numbers; sums of weights stay floats."""
    tp, fp, fn = (int(v) if float(v).is_integer() else float(v) for v in counts)
    return tp, fp, fn
