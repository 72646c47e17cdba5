"""Credit of judged edits by attribution, for any sentence metric, in one pass over all variants.

A variant is the source with some edits of a correction applied. Every distinct variant of a source
is scored once, however many corrections share it:

    leave-one-out   score of the correction − score of it without the edit
    add-one         score of the source with this edit alone − score of the source
    shapley         mean gain over the orders in which the correction's edits may be applied

Metrics that score hypotheses side by side are shown the variants of one correction together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.metaeval.edits.attribution import Method, Subsets
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.scorer import GroupScorer, Scorer
from gecjury.scoring.scores import Plan

METHODS: Mapping[str, Method] = {
    "leave-one-out": "remove",
    "add-one": "add",
    "shapley": "shapley",
}
# Number of variants shown together to a scorer that defines no group size.
_TOGETHER = 5


Cells = dict[int, tuple[int, int]]
"""Cells (system and row, or system and group) by subset of a correction's edits (bit mask)."""


@dataclass(frozen=True)
class Correction:
    """A correction whose edits were judged, and the places of its variants.

    Attributes:
        row: row of its source.
        edits: its edits from left to right.
        places: for each judged edit the case, and the edit's place among `edits`.
        needed: the subsets that are scored.
        cells: the cell of each variant; for a variant that is in several groups, the last.
        anchors: by subset, the cell of the variant it is compared with; empty if every variant has
            only one score.
    """

    row: int
    edits: tuple[Edit, ...]
    places: tuple[tuple[int, int], ...]
    needed: Subsets
    cells: Cells = field(default_factory=dict)
    anchors: Cells = field(default_factory=dict)

    def variant(self, tokens: Sequence[str], mask: int) -> tuple[str, tuple[Edit, ...]]:
        """Return the text with a subset of the edits applied, and these edits."""
        made = tuple(edit for place, edit in enumerate(self.edits) if mask >> place & 1)
        return " ".join(apply_edits(tokens, made)), made


@dataclass(frozen=True)
class Variants:
    """A corpus of variants, and the corrections that they are variants of."""

    corpus: Corpus
    corrections: tuple[Correction, ...]


def check_attribution(scorer: Scorer, method: str) -> None:
    """Refuse scorers whose scores of variants are meaningless or cannot be computed.

    Args:
        scorer: the metric.
        method: one of `METHODS`; other names are not checked.

    Raises:
        OptionError: the scorer weighs systems against each other, and variants are not systems; or
            Shapley values were asked for, and the scorer cannot be shown all variants at once.
    """
    if method in METHODS and "rivals" in scorer.needs:
        raise OptionError(
            f"{scorer.name} weighs systems against each other, and variants of one correction are "
            "not systems; choose --credit counts"
        )
    if method == "shapley" and scorer.joint:
        raise OptionError(
            f"{scorer.name} scores hypotheses side by side, and Shapley values need more variants "
            "than it accepts at once; choose --credit leave-one-out or add-one"
        )


def variant_corpus(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    method: Method,
    *,
    seed: int = 0,
) -> Variants:
    """Return the corpus that attribution scores.

    Args:
        scorer: the metric, which `check_attribution` has accepted.
        cases: judged edits; those of sources outside the corpus are left out.
        corpus: the benchmark's corpus, with references, gold edits and contexts.
        method: the method, which determines the variants needed.
        seed: the seed of the orders drawn for corrections too long for exact Shapley values.

    Raises:
        OptionError: no case is in the corpus.
    """
    places_of: dict[tuple[int, tuple[Edit, ...]], list[tuple[int, int]]] = {}
    for number, case in enumerate(cases):
        if case.row >= 0:
            ordered = tuple(sorted(case.edits, key=lambda edit: (edit.start, edit.end)))
            place = (number, ordered.index(case.edit))
            places_of.setdefault((case.row, ordered), []).append(place)
    if not places_of:
        raise OptionError("none of the judged edits belongs to a source of the benchmark loaded")
    # Corrections of one source are next to each other.
    corrections = tuple(
        Correction(row, edits, tuple(places), Subsets.plan(len(edits), method, seed=seed))
        for (row, edits), places in sorted(places_of.items(), key=lambda item: item[0][0])
    )
    if scorer.joint:
        size = scorer.group_size if isinstance(scorer, GroupScorer) else _TOGETHER
        return Variants(_side_by_side(corpus, corrections, size), corrections)
    return Variants(_one_by_one(corpus, corrections), corrections)


def _one_by_one(corpus: Corpus, corrections: tuple[Correction, ...]) -> Corpus:
    """Return a corpus of one system, with a row for each distinct variant; set their cells."""
    tokens = [source.split() for source in corpus.sources]
    places: dict[tuple[int, str], int] = {}
    edits: list[tuple[Edit, ...]] = []
    for correction in corrections:
        for mask in correction.needed.masks:
            text, made = correction.variant(tokens[correction.row], mask)
            # Subsets of different edits may give the same text, which is scored once.
            place = places.setdefault((correction.row, text), len(places))
            if place == len(edits):
                edits.append(made)
            correction.cells[mask] = (0, place)
    version = Version(tuple(text for _, text in places), tuple(edits))
    return corpus.take([row for row, _ in places], {"variant": version})


def _side_by_side(corpus: Corpus, corrections: tuple[Correction, ...], size: int) -> Corpus:
    """Return a corpus with a row for each group: an anchor and up to size − 1 other variants."""
    tokens = [source.split() for source in corpus.sources]
    rows: list[int] = []
    lines: list[list[tuple[str, tuple[Edit, ...]]]] = []
    for correction in corrections:
        masks = correction.needed.masks
        # The anchor, with which the others are compared, is the whole correction or the source.
        anchor = max(masks) if correction.needed.method == "remove" else 0
        others = [mask for mask in masks if mask != anchor]
        for start in range(0, len(others), size - 1):
            together = [anchor, *others[start : start + size - 1]]
            for place, mask in enumerate(together):
                correction.cells[mask] = (place, len(rows))
                correction.anchors[mask] = (0, len(rows))
            rows.append(correction.row)
            # Groups that are not full repeat the anchor, whose copies then share its rank.
            made = [correction.variant(tokens[correction.row], mask) for mask in together]
            lines.append(made + made[:1] * (size - len(made)))
    systems = {}
    for place, column in enumerate(zip(*lines, strict=True), 1):
        texts, edits = zip(*column, strict=True)
        systems[f"variant {place}"] = Version(texts, edits)
    groups = []
    for number, line in enumerate(lines):
        shared: dict[str, list[str]] = {}
        for name, (text, _) in zip(systems, line, strict=True):
            shared.setdefault(text, []).append(name)
        groups.append(Group(f"variants {number + 1}", number, tuple(map(tuple, shared.values()))))
    return replace(corpus.take(rows, systems), groups=tuple(groups))


def attribute_edits(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    method: Method,
    *,
    seed: int = 0,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Credit every case by attribution.

    Args:
        scorer: any metric that scores sentences.
        cases: N judged edits.
        corpus: the benchmark's corpus, with references, gold edits and contexts.
        runtime: device, caches, progress.
        method: one of the values of `METHODS`; the module's docstring describes the methods.
        seed: the seed of the orders drawn for corrections too long for exact Shapley values.

    Returns:
        Credits, shape (N,), higher for better edits and NaN where a score is missing, and notes
        for the user.
    """
    variants = variant_corpus(scorer, cases, corpus, method, seed=seed)
    table = scorer.score_corpus(variants.corpus, runtime)
    items = table.statistics.items
    grid = table.sentences if items is None or not scorer.joint else items
    values = np.full(len(cases), np.nan)
    for correction in variants.corrections:
        scores = {mask: float(grid[cell]) for mask, cell in correction.cells.items()}
        # Scores of different groups are not comparable, but differences within a group are.
        for mask, anchor in correction.anchors.items():
            scores[mask] -= float(grid[anchor])
        credit, _ = correction.needed.credit(scores)
        for case, place in correction.places:
            values[case] = credit[place]
    return values, table.statistics.notes


def plan_attribution(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    method: Method,
) -> Plan | None:
    """Return the requests that attribution would send to a paid service; None if there are none."""
    return scorer.plan(variant_corpus(scorer, cases, corpus, method).corpus, runtime)
