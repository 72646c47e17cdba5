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
from dataclasses import dataclass, replace

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.errors import OptionError
from gecjury.metaeval.edits.attribution import Method, Subsets
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.scorer import GroupScorer, Scorer
from gecjury.scoring.scores import Plan

METHODS: Mapping[str, Method] = {
    "leave-one-out": "remove",
    "add-one": "add",
    "shapley": "shapley",
}
# Variants shown together to a scorer that has no group size of its own.
_TOGETHER = 5


@dataclass(frozen=True)
class _Correction:
    """A correction: its row, its edits, and the positions of its judged edits among the cases."""

    row: int
    edits: tuple[Edit, ...]
    places: tuple[tuple[int, int], ...]  # case, edit

    def made(self, mask: int) -> tuple[Edit, ...]:
        """Return the edits of a subset."""
        return tuple(edit for place, edit in enumerate(self.edits) if mask >> place & 1)


@dataclass(frozen=True)
class Variants:
    """A corpus of variants, and the cell that holds the score of each.

    Attributes:
        corpus: the corpus to score.
        corrections: the corrections whose edits were judged.
        subsets: the subsets that each correction needs.
        cells: for each correction by subset (system, row), or with groups (system, group);
            subsets that are compared across groups do not occur.
        anchors: for each correction, by subset, the cell of the variant it is compared with;
            empty where every variant has one score.
    """

    corpus: Corpus
    corrections: tuple[_Correction, ...]
    subsets: tuple[Subsets, ...]
    cells: tuple[dict[int, tuple[int, int]], ...]
    anchors: tuple[dict[int, tuple[int, int]], ...] = ()


def check_attribution(scorer: Scorer, method: str) -> None:
    """Refuse scorers whose scores of variants mean nothing or cannot be computed.

    Args:
        scorer: the metric.
        method: one of `METHODS`; other names are not checked.

    Raises:
        OptionError: it weighs systems against each other, which variants are not; or Shapley
            values were asked of a scorer that cannot be shown all variants at once.
    """
    if method in METHODS and "rivals" in scorer.needs:
        raise OptionError(
            f"{scorer.name} weighs systems against each other, and variants of one correction are "
            "no systems; choose --credit counts"
        )
    if method == "shapley" and scorer.joint:
        raise OptionError(
            f"{scorer.name} scores hypotheses side by side, more variants than it takes at "
            "once for Shapley values; choose --credit leave-one-out or add-one"
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
        scorer: the metric, which `check_attribution` let pass.
        cases: judged edits; those of sources outside the corpus are left out.
        corpus: the benchmark's, with references, gold edits and contexts.
        method: the method, which decides the variants needed.
        seed: the seed of the orders drawn for corrections too long for exact Shapley values.

    Raises:
        OptionError: no case is in the corpus.
    """
    corrections = _corrections(cases)
    if not corrections:
        raise OptionError("none of the judged edits belongs to a source of the benchmark loaded")
    subsets = tuple(Subsets.plan(len(c.edits), method, seed=seed) for c in corrections)
    if scorer.joint:
        size = scorer.group_size if isinstance(scorer, GroupScorer) else _TOGETHER
        return _side_by_side(corpus, corrections, subsets, size)
    return _one_by_one(corpus, corrections, subsets)


def _corrections(cases: Sequence[EditCase]) -> tuple[_Correction, ...]:
    """Return the distinct corrections, those of one source side by side."""
    places_of: dict[tuple[int, tuple[Edit, ...]], list[tuple[int, int]]] = {}
    for number, case in enumerate(cases):
        if case.row >= 0:
            ordered = tuple(sorted(case.edits, key=lambda edit: (edit.start, edit.end)))
            place = (number, ordered.index(case.edit))
            places_of.setdefault((case.row, ordered), []).append(place)
    corrections = (
        _Correction(row, edits, tuple(places)) for (row, edits), places in places_of.items()
    )
    return tuple(sorted(corrections, key=lambda correction: correction.row))


def _one_by_one(
    corpus: Corpus, corrections: tuple[_Correction, ...], subsets: tuple[Subsets, ...]
) -> Variants:
    """Return a corpus of one system, with a row for each distinct variant."""
    tokens = [source.split() for source in corpus.sources]
    places: dict[tuple[int, str], int] = {}
    edits: list[tuple[Edit, ...]] = []
    cells = []
    for correction, needed in zip(corrections, subsets, strict=True):
        by_mask = {}
        for mask in needed.masks:
            made = correction.made(mask)
            text = " ".join(apply_edits(tokens[correction.row], made))
            place = places.setdefault((correction.row, text), len(places))
            if place == len(edits):
                edits.append(made)
            by_mask[mask] = (0, place)
        cells.append(by_mask)
    lines = tuple(text for _, text in places)
    rows = [row for row, _ in places]
    systems = {"variant": Version(lines, tuple(edits))}
    return Variants(corpus.take(rows, systems), corrections, subsets, tuple(cells))


def _side_by_side(
    corpus: Corpus, corrections: tuple[_Correction, ...], subsets: tuple[Subsets, ...], size: int
) -> Variants:
    """Return a corpus with a row for each group: a variant and up to size − 1 compared with it."""
    tokens = [source.split() for source in corpus.sources]
    rows: list[int] = []
    lines: list[list[tuple[str, tuple[Edit, ...]]]] = []
    cells: list[dict[int, tuple[int, int]]] = []
    anchors: list[dict[int, tuple[int, int]]] = []
    for correction, needed in zip(corrections, subsets, strict=True):
        anchor = max(needed.masks) if needed.method == "remove" else 0
        others = [mask for mask in needed.masks if mask != anchor]
        by_mask: dict[int, tuple[int, int]] = {}
        compared: dict[int, tuple[int, int]] = {}
        for start in range(0, len(others), size - 1):
            together = [anchor, *others[start : start + size - 1]]
            made = [correction.made(mask) for mask in together]
            texts = [" ".join(apply_edits(tokens[correction.row], edits)) for edits in made]
            for place, mask in enumerate(together):
                by_mask[mask] = (place, len(rows))
                compared[mask] = (0, len(rows))
            rows.append(correction.row)
            # Groups that are not full repeat the first variant, which then shares its place.
            both = list(zip(texts, made, strict=True))
            lines.append(both + both[:1] * (size - len(both)))
        cells.append(by_mask)
        anchors.append(compared)
    systems = {
        f"variant {n + 1}": Version(
            tuple(line[n][0] for line in lines), tuple(line[n][1] for line in lines)
        )
        for n in range(size)
    }
    groups = tuple(_group(number, line, tuple(systems)) for number, line in enumerate(lines))
    taken = replace(corpus.take(rows, systems), groups=groups)
    return Variants(taken, corrections, subsets, tuple(cells), tuple(anchors))


def _group(number: int, line: Sequence[tuple[str, object]], names: tuple[str, ...]) -> Group:
    places: dict[str, list[str]] = {}
    for name, (text, _) in zip(names, line, strict=True):
        places.setdefault(text, []).append(name)
    return Group(f"variants {number + 1}", number, tuple(map(tuple, places.values())))


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
        corpus: the benchmark's, with references, gold edits and contexts.
        runtime: device, caches, progress.
        method: one of `METHODS`, described in the module.
        seed: the seed of the orders drawn for corrections too long for exact Shapley values.

    Returns:
        Credits, shape (N,), higher for better edits and NaN where a score is missing, and notes
        for the user.
    """
    variants = variant_corpus(scorer, cases, corpus, method, seed=seed)
    table = scorer.score_corpus(variants.corpus, runtime)
    items = table.statistics.items
    grid = table.sentences if items is None or not variants.anchors else items
    values = np.full(len(cases), np.nan)
    for number, (correction, needed) in enumerate(
        zip(variants.corrections, variants.subsets, strict=True)
    ):
        scores = {mask: float(grid[cell]) for mask, cell in variants.cells[number].items()}
        if variants.anchors:
            # Scores of different groups are not comparable: only differences within one are.
            against = variants.anchors[number]
            scores = {mask: score - float(grid[against[mask]]) for mask, score in scores.items()}
        credit, _ = needed.credit(scores)
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
