"""Counts of transported mass over a corpus, filled window by window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, counted_edits
from gecjury.extraction.extract import CorpusEdits
from gecjury.models.encoder import load_encoder
from gecjury.refbased.edit_metric import Types
from gecjury.refbased.uot_errant.vectors import EditSet, edit_vectors, masses
from gecjury.runtime import Runtime

if TYPE_CHECKING:
    from gecjury.refbased.uot_errant.metric import UOTERRANT

EditSets = tuple[EditSet, EditSet]
Place = tuple[int, int, int]  # system, sentence, reference


@dataclass(frozen=True)
class Alignment:
    """A match of a hypothesis' edits with a reference's edits.

    Attributes:
        hypothesis: n edits.
        reference: m edits.
        a: masses of the hypothesis' edits.
        b: masses of the reference's edits.
        cost: n × m costs; empty where one side has no edits.
        plan: n × m transported mass; None if no optimum was found.
    """

    hypothesis: tuple[Edit, ...]
    reference: tuple[Edit, ...]
    a: FloatArray
    b: FloatArray
    cost: FloatArray
    plan: FloatArray | None

    @property
    def counts(self) -> tuple[float, float, float]:
        """TP, FP, FN: mass transported, not sent, not received; NaN without a plan."""
        if self.plan is None:
            return float("nan"), float("nan"), float("nan")
        moved = float(self.plan.sum())
        return moved, float(self.a.sum()) - moved, float(self.b.sum()) - moved


@dataclass
class Tally:
    """Counts of a corpus, filled window by window; each distinct pair is solved once.

    Attributes:
        values: TP, FP, FN: systems × sentences × references × 3.
        types: the same by error type, for each place.
        pairs: number of distinct pairs with edits on both sides.
        unsolved: those of them without an optimum.
    """

    scorer: UOTERRANT
    corpus: Corpus
    edits: CorpusEdits
    runtime: Runtime
    values: FloatArray = field(init=False)
    types: dict[Place, Types] = field(default_factory=dict)
    pairs: int = 0
    unsolved: int = 0
    _truncated: int = 0
    _edits: int = 0
    _massless: int = 0

    def __post_init__(self) -> None:
        shape = len(self.corpus.systems), len(self.corpus), len(self.corpus.references), 3
        self.values = np.full(shape, np.nan)

    def add(self, rows: range) -> None:
        """Score some sentences of all systems against all references."""
        places, vectors = self.collect(rows)
        aligned = self.scorer.transported(list(places), vectors)
        self.pairs += sum(1 for alignment in aligned if alignment.cost.size)
        for alignment, where in zip(aligned, places.values(), strict=True):
            self.unsolved += alignment.plan is None
            types = _types(alignment)
            for place in where:
                self.values[place] = alignment.counts
                self.types[place] = types

    def collect(self, rows: range) -> tuple[dict[EditSets, list[Place]], dict[EditSet, FloatArray]]:
        """Return each distinct pair's places, and each edit set's vectors (edits × d)."""
        places = self.distinct(rows)
        sets = list(dict.fromkeys(edit_set for pair in places for edit_set in pair))
        encoder = load_encoder(self.scorer.encoder_spec, self.runtime)
        vectors, report = edit_vectors(sets, self.scorer.vectorise, encoder)
        self._truncated += report.truncated
        self._edits += sum(map(len, vectors))
        self._massless += sum(int((masses(rows, "norm") == 0).sum()) for rows in vectors)
        return places, dict(zip(sets, vectors, strict=True))

    def distinct(self, rows: range) -> dict[EditSets, list[Place]]:
        """Return the distinct pairs of edit sets and where each occurs."""
        systems = list(self.edits.systems.values())
        outputs = [[self._set(row, lines[row]) for row in rows] for lines in systems]
        targets = [
            [self._set(row, reference[row]) for row in rows] for reference in self.edits.references
        ]
        places: dict[EditSets, list[Place]] = {}
        for system, column in enumerate(outputs):
            for index, other in enumerate(targets):
                for row, first, second in zip(rows, column, other, strict=True):
                    places.setdefault((first, second), []).append((system, row, index))
        return places

    def _set(self, row: int, edits: Sequence[Edit]) -> EditSet:
        return EditSet(" ".join(self.corpus.sources[row].split()), counted_edits(edits))

    def notes(self) -> list[str]:
        """Return notes for the user."""
        name, notes = self.scorer.name, []
        if self._truncated:
            notes.append(
                f"{name}: {self._truncated} distinct texts are longer than the encoder reads and "
                f"were cut at {self.scorer.max_length} word pieces or the model's own limit"
            )
        if self._massless:
            notes.append(
                f"{name}: {self._massless} of {self._edits} distinct edits do not move the "
                "encoder's vector (e.g. case, for a lower-casing one) and have no mass"
                + (
                    "; a reference with such an edit is scored by POT's plan, as published, unless "
                    "that plan is out of proportion to the masses (solver=pot: always by POT's "
                    "plan; solver=optimum: they count neither for nor against)"
                    if self.scorer.solver == "published"
                    else ": they count neither for nor against"
                )
            )
        if self.unsolved:
            notes.append(
                f"{name}: {self.unsolved} of {self.pairs} transport problems have no optimum "
                "within reach (numbers not finite, or penalties far above epsilon): not scored"
            )
        return notes


def _types(alignment: Alignment) -> Types:
    """Return TP (0), FP (1) by the hypothesis edit's type, FN (2) by the reference edit's."""
    types: defaultdict[tuple[str, int], float] = defaultdict(float)
    if alignment.plan is None:
        return types
    for edit, mass, sent in zip(
        alignment.hypothesis, alignment.a, alignment.plan.sum(axis=1), strict=True
    ):
        types[edit.type, 0] += float(sent)
        types[edit.type, 1] += float(mass - sent)
    for edit, mass, got in zip(
        alignment.reference, alignment.b, alignment.plan.sum(axis=0), strict=True
    ):
        types[edit.type, 2] += float(mass - got)
    return types
