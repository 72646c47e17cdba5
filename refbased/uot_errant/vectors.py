"""Edit vectors (Goto et al. 2026, section 3.1), and counts of the mass transported between them.

A vector says how one edit changes a sentence's encoding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gecjury.core.arrays import Float32Array, FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.extraction.extract import CorpusEdits
from gecjury.models.encoder import Encoder, EncoderSpec, load_encoder
from gecjury.refbased.edit_metric import Types
from gecjury.refbased.uot_errant.transport import Problem

Vectorise = Literal["remove", "add"]
Mass = Literal["norm", "uniform"]
Cost = Literal["euclidean", "cosine"]


@dataclass(frozen=True)
class EditSet:
    """A set of edits that turns one source into one corrected version of it.

    Attributes:
        source: tokens joined by single spaces.
        edits: non-overlapping edits from left to right.
    """

    source: str
    edits: tuple[Edit, ...]


def edit_texts(edit_set: EditSet, how: Vectorise) -> list[str]:
    """Return the texts whose encodings give the vectors: the base, then one for each edit.

    `remove` compares the whole correction with the correction that lacks the edit, `add` the
    source with the edit applied to it alone.
    """
    tokens, edits = edit_set.source.split(), edit_set.edits
    variants: list[tuple[Edit, ...]]
    if how == "add":
        variants = [(edit,) for edit in edits]
        base = tokens
    else:
        variants = [(*edits[:place], *edits[place + 1 :]) for place in range(len(edits))]
        base = apply_edits(tokens, edits)
    return [" ".join(base), *(" ".join(apply_edits(tokens, variant)) for variant in variants)]


def edit_vectors(
    sets: Sequence[EditSet], how: Vectorise, encoder: Encoder
) -> tuple[list[FloatArray], int]:
    """Return the vectors of all edits of all sets; every distinct text is encoded once.

    Returns:
        Edits × d for each set, and the number of texts that the encoder cuts.
    """
    texts, distinct = all_texts(sets, how)
    encoded = encoder.encode(distinct)
    return differences(texts, distinct, encoded.vectors, how), encoded.truncated


def all_texts(sets: Sequence[EditSet], how: Vectorise) -> tuple[list[list[str]], list[str]]:
    """Return the texts of each set by `edit_texts` (none without edits), and the distinct ones."""
    texts = [edit_texts(edit_set, how) if edit_set.edits else [] for edit_set in sets]
    return texts, list(dict.fromkeys(text for set_texts in texts for text in set_texts))


def differences(
    texts: Sequence[Sequence[str]], distinct: Sequence[str], vectors: Float32Array, how: Vectorise
) -> list[FloatArray]:
    """Return edit vectors (edits × d for each set) from those of the distinct texts (texts × d)."""
    place = {text: row for row, text in enumerate(distinct)}
    sign = 1.0 if how == "remove" else -1.0
    result: list[FloatArray] = []
    for set_texts in texts:
        rows = vectors[[place[text] for text in set_texts]].astype(np.float64)
        result.append(sign * (rows[:1] - rows[1:]))
    return result


def masses(vectors: FloatArray, kind: Mass) -> FloatArray:
    """Return the mass of each edit, (k,): its vector's L2 norm, or 1/k of k edits."""
    if kind == "norm" or not len(vectors):
        norms: FloatArray = np.linalg.norm(vectors, axis=1)
        return norms
    return np.full(len(vectors), 1.0 / len(vectors))


def costs(first: FloatArray, second: FloatArray, kind: Cost) -> FloatArray:
    """Return costs between edits, n × m: Euclidean, or 1 − cosine (1 for a zero vector)."""
    if kind == "euclidean":
        # Differences are taken before they are squared: equal vectors then cost exactly 0.
        distances: FloatArray = np.linalg.norm(first[:, None] - second[None], axis=2)
        return distances
    outer = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)[None]
    products = first @ second.T
    cosines: FloatArray = np.divide(products, outer, out=np.zeros_like(products), where=outer > 0)
    return 1.0 - cosines


EditSets = tuple[EditSet, EditSet]
EditPlace = tuple[int, int, int]  # system, sentence, reference


@dataclass(frozen=True)
class Alignment(Problem):
    """A match of a hypothesis' edits with a reference's edits: their problem and its plan.

    Attributes:
        hypothesis: n edits.
        reference: m edits.
        plan: n × m transported mass; None if no optimum was found.
    """

    hypothesis: tuple[Edit, ...]
    reference: tuple[Edit, ...]
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
        unsolved: number of those pairs without an optimum.
        truncated: number of distinct texts that the encoder cuts.
        vectors: number of distinct edits.
        massless: number of those edits that do not change the encoder's vector.
    """

    corpus: Corpus
    edits: CorpusEdits
    encoder: EncoderSpec
    vectorise: Vectorise
    runtime: Runtime
    values: FloatArray = field(init=False)
    types: dict[EditPlace, Types] = field(default_factory=dict)
    pairs: int = 0
    unsolved: int = 0
    truncated: int = 0
    vectors: int = 0
    massless: int = 0

    def __post_init__(self) -> None:
        shape = len(self.corpus.systems), len(self.corpus), len(self.corpus.references), 3
        self.values = np.full(shape, np.nan)

    def add(
        self, places: Mapping[EditSets, Sequence[EditPlace]], aligned: Sequence[Alignment]
    ) -> None:
        """Count the alignment of each distinct pair at all its places."""
        self.pairs += sum(1 for alignment in aligned if alignment.cost.size)
        for alignment, where in zip(aligned, places.values(), strict=True):
            self.unsolved += alignment.plan is None
            types = _types(alignment)
            for place in where:
                self.values[place] = alignment.counts
                self.types[place] = types

    def collect(
        self, rows: range
    ) -> tuple[dict[EditSets, list[EditPlace]], dict[EditSet, FloatArray]]:
        """Return each distinct pair's places, and each edit set's vectors (edits × d)."""
        places = self.distinct(rows)
        sets = list(dict.fromkeys(edit_set for pair in places for edit_set in pair))
        encoder = load_encoder(self.encoder, self.runtime)
        vectors, truncated = edit_vectors(sets, self.vectorise, encoder)
        self.truncated += truncated
        self.vectors += sum(map(len, vectors))
        # Counted by the norm, whatever `mass` is: the encoder does not see such an edit.
        self.massless += sum(int((masses(rows, "norm") == 0).sum()) for rows in vectors)
        return places, dict(zip(sets, vectors, strict=True))

    def distinct(self, rows: range) -> dict[EditSets, list[EditPlace]]:
        """Return the distinct pairs of edit sets and where each occurs.

        Outputs repeat each other, so each pair is solved once for all its places.
        """
        systems = list(self.edits.systems.values())
        outputs = [[self._set(row, lines[row]) for row in rows] for lines in systems]
        targets = [
            [self._set(row, reference[row]) for row in rows] for reference in self.edits.references
        ]
        places: dict[EditSets, list[EditPlace]] = {}
        for system, column in enumerate(outputs):
            for index, other in enumerate(targets):
                for row, first, second in zip(rows, column, other, strict=True):
                    places.setdefault((first, second), []).append((system, row, index))
        return places

    def _set(self, row: int, edits: Sequence[Edit]) -> EditSet:
        return EditSet(" ".join(self.corpus.sources[row].split()), counted_edits(edits))


def _types(alignment: Alignment) -> Types:
    """Return TP (0), FP (1) by the hypothesis edit's type, FN (2) by the reference edit's."""
    types: defaultdict[tuple[str, int], float] = defaultdict(float)
    if alignment.plan is None:
        return types
    for edit, mass, sent in zip(
        alignment.hypothesis, alignment.a, alignment.plan.sum(axis=1), strict=True
    ):
        # Mass that is sent counts for the hypothesis edit's type: the plan may split it over many
        # reference edits.
        types[edit.type, 0] += float(sent)
        types[edit.type, 1] += float(mass - sent)
    for edit, mass, got in zip(
        alignment.reference, alignment.b, alignment.plan.sum(axis=0), strict=True
    ):
        types[edit.type, 2] += float(mass - got)
    return types
