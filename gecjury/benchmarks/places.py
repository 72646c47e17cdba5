"""Corrections whose systems are unknown: the first, second, ... correction of each source.

A corpus contains every system's version of every source. Corrections without a system's name are
arranged in it by their place, and a source with fewer corrections than others repeats its first
one, so that the corpus contains no text that nobody made or judged.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.core.arrays import FloatArray
from gecjury.core.records import PassedOn
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.tokens import in_language


@dataclass(frozen=True)
class PlacedCorrections:
    """Corrections by place and source.

    Attributes:
        sources: S sources in the order of their first corrections.
        names: the names of the places: `output1`, `output2`, ...
        cells: for each correction given, its place and its source, by number.
    """

    sources: tuple[str, ...]
    names: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]

    def versions(self, texts: Sequence[str]) -> dict[str, Version]:
        """Return the corrections by place, S lines each.

        Args:
            texts: the texts of the corrections given, in their order.
        """
        lines = self._laid(texts, "")
        # An empty correction is a correction too, so an empty text does not mark an empty place.
        made = self._laid([True] * len(texts), False).astype(np.bool_)
        filled = np.where(made, lines, lines[:1])
        return {n: Version(tuple(row)) for n, row in zip(self.names, filled.tolist(), strict=True)}

    def table(self, values: Sequence[float]) -> FloatArray:
        """Return a table of the corrections' values, places × sources; NaN without a correction."""
        return self._laid(values, math.nan).astype(np.float64)

    def words(self, values: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return words of the corrections by place and source; empty without a correction."""
        return tuple(map(tuple, self._laid(values, "").tolist()))

    def _laid(self, values: Sequence[object], missing: object) -> NDArray[np.object_]:
        table = np.full((len(self.names), len(self.sources)), missing, dtype=np.object_)
        for cell, value in zip(self.cells, values, strict=True):
            table[cell] = value
        return table


def lay_out(sources: Sequence[str], keys: Sequence[Hashable] | None = None) -> PlacedCorrections:
    """Give each correction a place among those of its source.

    Args:
        sources: the source of each correction.
        keys: key of the source of each correction; by default its text.
    """
    keys = sources if keys is None else keys
    rows: dict[Hashable, int] = {}
    texts: list[str] = []
    counts: list[int] = []
    cells = []
    for source, key in zip(sources, keys, strict=True):
        # Sources are numbered as they come, so that the order of the file is kept.
        row = rows.setdefault(key, len(rows))
        if row == len(texts):
            texts.append(source)
            counts.append(0)
        cells.append((counts[row], row))
        counts[row] += 1
    names = tuple(f"output{number}" for number in range(1, max(counts, default=0) + 1))
    return PlacedCorrections(tuple(texts), names, tuple(cells))


def placed_corpus(
    request: LoadRequest, layout: PlacedCorrections, corrections: Sequence[str]
) -> Corpus:
    """Return the corpus of a benchmark that comes without references.

    Args:
        request: the request, which may name files of references.
        layout: the layout of the corrections.
        corrections: texts in the order in which they were laid out.
    """
    corpus = request.corpus(layout.sources, layout.versions(corrections))
    return in_language(corpus, request.language)


def placed_benchmark(
    request: LoadRequest,
    corpus: Corpus,
    layout: PlacedCorrections,
    notes: Sequence[str],
    **more: PassedOn,
) -> Benchmark:
    """Return a benchmark of places, without rankings unless the loader passes some.

    Args:
        corpus: from `placed_corpus`.
        layout: the layout of its corrections.
        notes: remarks for a reader of results.
        **more: other attributes of a `Benchmark`, such as its judgments.
    """
    attributes: dict[str, PassedOn] = {
        "rankings": {},
        "human": {"sentence": {"mean": dict.fromkeys(layout.names, math.nan)}},
        "system_sets": dict.fromkeys(request.info.system_sets, layout.names),
    }
    return request.benchmark(corpus, notes=tuple(notes), places=True, **(attributes | more))
