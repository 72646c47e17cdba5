"""People's verdicts on the corrections of stored replies, looked up by their texts."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.table import View
from gecjury.corpus.edits import ARROW
from gecjury.judges.showing import mark_safe, one_line

Wins = Mapping[tuple[int, int], int]
"""How often people preferred the first of two corrections; both are keys of `text_key`."""


@dataclass(frozen=True, kw_only=True)
class Human:
    """People's verdict on one shown correction.

    Attributes:
        won: comparisons with the other corrections in which people preferred it.
        decided: comparisons that they decided; ties do not count.
        rating: their mean rating; None if there is none.
        valid: how many annotators called a judged edit valid.
        annotators: how many annotators judged that edit.
    """

    won: int = 0
    decided: int = 0
    rating: float | None = None
    valid: int = 0
    annotators: int = 0


@lru_cache(maxsize=20_000)  # orders and repetitions show the same texts again
def text_key(text: str) -> int:
    """Return a number that identifies a text, ignoring blanks that a prompt or tokenizer added."""
    plain = "".join(one_line(mark_safe(text)).split())
    digest = hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")


def edit_key(edit: str) -> int:
    """Return the number of an edit, written `[old→new]`; 0 if there is none."""
    old, arrow, new = edit.partition(ARROW)
    # The edit's own arrow is the first one: arrows in the words are written `->`.
    return text_key(f"{old}\0{new}") if arrow else 0


class People:
    """The human judgments of a benchmark."""

    def __init__(self, benchmark: Benchmark) -> None:
        """Look up judgments in a benchmark, which should have all its systems."""
        self._benchmark = benchmark
        self._wins: dict[tuple[int, View], Wins] = {}

    @cached_property
    def _rows(self) -> Mapping[int, list[int]]:
        rows: dict[int, list[int]] = defaultdict(list)
        for row, source in enumerate(self._benchmark.corpus.sources):
            rows[text_key(source)].append(row)
        return rows

    @cached_property
    def _ratings(self) -> Mapping[tuple[int, int], float]:
        table, corpus = self._benchmark.segment_scores, self._benchmark.corpus
        if table is None:
            return {}
        return {
            (text_key(corpus.sources[row]), text_key(version.lines[row])): float(table[at, row])
            for at, version in enumerate(corpus.systems.values())
            for row in range(len(corpus))
            if table[at, row] == table[at, row]
        }

    @cached_property
    def _edits(self) -> Mapping[tuple[int, int, int], Counter[bool]]:
        """Verdicts on edits, by source, correction and edit."""
        verdicts: dict[tuple[int, int, int], Counter[bool]] = defaultdict(Counter)
        if self._benchmark.has_verdicts:
            for verdict in self._benchmark.verdicts()[0]:
                edit = edit_key(f"[{mark_safe(verdict.old)}{ARROW}{mark_safe(verdict.new)}]")
                key = text_key(verdict.sentence), text_key(verdict.correction), edit
                verdicts[key][verdict.valid] += 1
        return verdicts

    def knows(self, source: int) -> bool:
        """Return whether a source is one of the benchmark's."""
        return source in self._rows

    def wins(self, source: int, *, shows_edits: bool) -> Wins:
        """Return how often people preferred one correction of a source to another.

        Args:
            source: its key.
            shows_edits: whether the corrections were shown by their edits. If a benchmark has
                rankings of both edits and sentences, those of the same view are used.
        """
        views = tuple(self._benchmark.rankings)
        wanted: View = "edit" if shows_edits else "sentence"
        view = wanted if wanted in views else self._benchmark.view
        if (source, view) not in self._wins:
            self._wins[source, view] = self._counted(self._rows.get(source, ()), view)
        return self._wins[source, view]

    def _counted(self, rows: Sequence[int], view: View) -> Wins:
        systems, wins = self._benchmark.corpus.systems, Counter[tuple[int, int]]()
        for item in self._by_row(view, rows):
            ranks: dict[int, int] = {}
            for group, rank in zip(item.groups, item.ranks, strict=True):
                # All systems of a group made the same correction.
                name = next((name for name in group if name in systems), None)
                if name is not None:
                    ranks.setdefault(text_key(systems[name].lines[item.sentence]), rank)
            for (a, first), (b, second) in combinations(ranks.items(), 2):
                if first != second:
                    wins[(a, b) if first < second else (b, a)] += 1
        return wins

    def _by_row(self, view: View, rows: Iterable[int]) -> list[RankedItem]:
        return [item for row in rows for item in self._items.get((view, row), ())]

    @cached_property
    def _items(self) -> Mapping[tuple[View, int], list[RankedItem]]:
        items: dict[tuple[View, int], list[RankedItem]] = defaultdict(list)
        for view, ranked in self._benchmark.rankings.items():
            for item in ranked:
                items[view, item.sentence].append(item)
        return items

    def edit(self, source: int, text: int, edit: int) -> Counter[bool]:
        """Return how many annotators called an edit valid, and how many did not."""
        return self._edits.get((source, text, edit), Counter())

    def rating(self, source: int, text: int) -> float | None:
        """Return the mean rating of a correction; None if there is none."""
        return self._ratings.get((source, text))
