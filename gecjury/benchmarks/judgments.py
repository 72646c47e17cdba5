"""Human rankings of corrections: Appraise-style XML, and the pairwise judgments they imply.

A ranking item shows up to five distinct corrections of one source to one annotator. A correction
that several systems produced is one `translation` that names them all; expanding it turns one
judgment of texts into judgments of systems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_bytes
from gecjury.corpus.corpus import Corpus, Group

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

FIRST_SENTENCE = "if the judgments count from 0, set first_sentence = 0 in benchmark.toml"
"""The remedy for a sentence number below the first."""

SKIP_UNKNOWN = (
    'Remove such judgments; for a benchmark of your own, unknown_systems = "skip" in '
    "benchmark.toml leaves them out and counts them"
)
"""The remedy for a system without output."""


MOST_RANK = 1_000_000_000
"""The highest rank accepted: nobody ranks so many, and tables of ranks hold no larger number."""


PAIRS_AT_ONCE = 500_000
"""Judged pairs that are in memory at once where their number is unlimited: about 40 MB of arrays.

Published benchmarks have fewer pairs in all.
"""


_RankT = TypeVar("_RankT", int, float)


@dataclass(frozen=True, slots=True)
class RankedItem:
    """One annotator's ranking of the distinct corrections of one source.

    Attributes:
        item_id: the item's id in the file; unique within an annotator only.
        sentence: line of the source in the full output files (0-based).
        annotator: the annotator's name.
        groups: for each correction the systems that produced it.
        ranks: for each correction its rank, 1 is best; equal ranks are a tie.
    """

    item_id: str
    sentence: int
    annotator: str
    groups: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgmentPairs:
    """Pairwise judgments as parallel arrays, one entry for each pair; always `first < second`.

    Attributes:
        sentence: line of the source in the full output files.
        first: index of the system that comes earlier in `systems`.
        second: index of the system that comes later in `systems`.
        preference: +1 where the first is better, -1 where the second is, 0 for a tie.
        annotator: index into `annotators`.
        item: index into the items that the pairs come from.
        shared: True where both systems produced the same text, which makes the pair a tie.
        systems: names of the systems.
        annotators: names of the annotators, in order of first appearance.
    """

    sentence: IntArray
    first: IntArray
    second: IntArray
    preference: IntArray
    annotator: IntArray
    item: IntArray
    shared: BoolArray
    systems: tuple[str, ...]
    annotators: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.preference)

    def select(self, mask: BoolArray | IntArray) -> JudgmentPairs:
        """Return the pairs that a boolean mask or an index array selects, in its order."""
        names = {column.name for column in fields(self)} - {"systems", "annotators"}
        return replace(self, **{name: getattr(self, name)[mask] for name in names})

    @property
    def decided(self) -> JudgmentPairs:
        """Return the pairs that the annotator did not tie."""
        return self.select(self.preference != 0)

    def parts(self) -> Iterator[JudgmentPairs]:
        """Yield the pairs as one part; `JudgedEntries.parts` may yield several."""
        yield self


class _RankingHandler:
    """A handler that collects ranking items and reports the line of an error."""

    def __init__(
        self,
        path: Path,
        first_line: int,
        lines: int | None,
        systems: Collection[str],
        unknown: Counter[str] | None,
        rows: Mapping[tuple[str, int], int] | None,
    ):
        self.items: list[RankedItem] = []
        self._path, self._first_line, self._lines = path, first_line, lines
        self._systems, self._unknown = systems, unknown
        self._rows = rows
        self.parser: XMLParserType | None = None
        self._open: tuple[str, int, str] | None = None
        self._seen: set[str] = set()
        self._groups: list[tuple[str, ...]] = []
        self._ranks: list[int] = []

    def start(self, name: str, attrs: Mapping[str, str]) -> None:
        """Read the start of an element."""
        if name == "ranking-item":
            if self._open is not None:
                self._fail("a ranking-item inside a ranking-item", "close the first one before it")
            line = self._integer(name, attrs, "src-id") - self._first_line
            if line < 0 or (self._lines is not None and line >= self._lines):
                top = "" if self._lines is None else f" to {self._lines - 1 + self._first_line}"
                remedy = f"expected {self._first_line}{top}, counted from {self._first_line}"
                if line < 0:
                    remedy += f"; {FIRST_SENTENCE}"
                self._fail(f"src-id {attrs['src-id']!r} names no sentence", remedy)
            if self._rows is not None:
                line = self._rows[self._text(name, attrs, "doc-id"), line]
            # A system may be ranked once per item, so the systems seen are reset with each item.
            self._open = (attrs.get("id", ""), line, self._text(name, attrs, "user"))
            self._seen, self._groups, self._ranks = set(), [], []
        elif name == "translation":
            if self._open is None:
                self._fail("a translation outside any ranking-item", "put it inside one")
            group = self._group(name, attrs)
            rank = self._integer(name, attrs, "rank")
            if not 1 <= rank <= MOST_RANK:
                self._fail(f"rank {rank!s:.40}", f"expected 1 (best) to {MOST_RANK}")
            if group:
                self._groups.append(group)
                self._ranks.append(rank)

    def end(self, name: str) -> None:
        """Read the end of an element."""
        if name != "ranking-item" or self._open is None:
            return
        if self._groups:  # An annotator may have skipped the item.
            item_id, line, user = self._open
            groups, ranks = tuple(self._groups), tuple(self._ranks)
            self.items.append(RankedItem(item_id, line, user, groups, ranks))
        self._open = None

    def _group(self, name: str, attrs: Mapping[str, str]) -> tuple[str, ...]:
        group = []
        for system in self._text(name, attrs, "system").split():
            if system in self._seen:
                self._fail(f"system {system!r} is ranked twice in one item", "remove one of them")
            self._seen.add(system)
            if not self._systems or system in self._systems:
                group.append(system)
            elif self._unknown is not None:
                self._unknown[system] += 1
            else:
                expected = ", ".join(sorted(self._systems))
                remedy = f"expected one of {expected}. {SKIP_UNKNOWN}"
                self._fail(f"unknown system {system!r}", remedy)
        return tuple(group)

    def _text(self, name: str, attrs: Mapping[str, str], key: str) -> str:
        value = attrs.get(key, "").strip()
        if not value:
            self._fail(f"<{name}> has no attribute {key!r}", f'expected {key}="..."')
        return value

    def _integer(self, name: str, attrs: Mapping[str, str], key: str) -> int:
        value = self._text(name, attrs, key)
        try:
            return int(value)
        except ValueError:
            self._fail(
                f"{key} {value!r:.60} of <{name}> is not a whole number", "write it in digits"
            )

    def _fail(self, wrong: str, remedy: str) -> NoReturn:
        line = "?" if self.parser is None else self.parser.CurrentLineNumber
        raise InputError(f"{self._path}, line {line}: {wrong}; {remedy}")


_Placed = TypeVar("_Placed", RankedItem, Group)


def renumbered(items: Iterable[_Placed], row_of: Mapping[int, int]) -> tuple[_Placed, ...]:
    """Return the items of the sentences that are kept, with their new rows."""
    return tuple(
        replace(item, sentence=row_of[item.sentence]) for item in items if item.sentence in row_of
    )


def read_rankings(
    path: Path,
    *,
    first_line: Literal[0, 1],
    lines: int | None = None,
    systems: Collection[str] = (),
    unknown: Counter[str] | None = None,
    rows: Mapping[tuple[str, int], int] | None = None,
) -> tuple[RankedItem, ...]:
    """Read a file of Appraise ranking results.

    Args:
        path: XML file, e.g. `judgments_edit.xml` of SEEDA or `judgments.xml` of GJG15.
        first_line: number of the first sentence in `src-id`: 1 in SEEDA, 0 in GJG15.
        lines: number of sentences in the output files.
        systems: the systems that may occur; empty for any.
        unknown: counter of the judgments of other systems, which are then left out; None to refuse
            them.
        rows: row of each sentence by `doc-id` and `src-id`, where these count lines of several
            files; every place that a pinned file names.

    Returns:
        The items in file order; items that the annotator skipped are left out.

    Raises:
        InputError: the file cannot be read, is not well-formed, contains entities or external
            references, lacks an attribute, has an invalid rank or sentence number, names an
            unknown system, ranks one twice, or contains no ranking.
    """
    handler = _RankingHandler(path, first_line, lines, frozenset(systems), unknown, rows)
    _parse_xml(path, handler)
    if not handler.items and not unknown:
        raise InputError(
            f"{path}: no rankings: expected <ranking-item> elements with <translation> inside"
        )
    return tuple(handler.items)


def _parse_xml(path: Path, handler: _RankingHandler) -> None:
    """Parse an untrusted XML file."""
    from xml.parsers.expat import XML_PARAM_ENTITY_PARSING_UNLESS_STANDALONE

    # defusedxml ships no type hints. Its parser for SAX would import modules for the network.
    import defusedxml.ElementTree as etree  # type: ignore[import-untyped]
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]

    data, parser = read_bytes(path), etree.DefusedXMLParser(target=handler)
    handler.parser = parser.parser
    # So that a reference to another file is noticed, which is then refused.
    parser.parser.SetParamEntityParsing(XML_PARAM_ENTITY_PARSING_UNLESS_STANDALONE)
    try:
        parser.feed(data)
        parser.close()
    except InputError:
        raise
    except DefusedXmlException as error:
        raise InputError(
            f"{path}: declares entities or external references, which are not read "
            f"({type(error).__name__}); write the text out instead"
        ) from error
    except etree.ParseError as error:
        wrong, _, place = str(error).partition(": line ")
        raise InputError(
            f"{path}, line {place.partition(',')[0]}: not well-formed XML ({wrong}); expected "
            "Appraise ranking results"
        ) from error
    except (LookupError, ValueError) as error:
        raise InputError(
            f"{path}: its XML declaration names an encoding that cannot be read ({error}); "
            "save the file as UTF-8 and declare that encoding"
        ) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedEntries:
    """Rankings of the given systems as parallel arrays, whose pairs are built when needed.

    For 2,000 systems ranked on one sentence there are 2,000 entries and two million pairs.

    Attributes:
        item: index of the item of each entry, ascending.
        system: index of its system, ascending within an item.
        rank: the annotator's rank, 1 is best.
        text: number of the correction within its item; systems that share one share the text.
        sentence: for each item, its line in the full output files.
        annotator: for each item, index into `annotators`.
        systems: names of the systems.
        annotators: names of the annotators, in order of first appearance.
        shared: True if two systems with the same text form a pair.
    """

    item: IntArray
    system: IntArray
    rank: IntArray
    text: IntArray
    sentence: IntArray
    annotator: IntArray
    systems: tuple[str, ...]
    annotators: tuple[str, ...]
    shared: bool = True

    def __len__(self) -> int:
        """Return the number of pairs, including those of the same text even if not built."""
        return int(self._later.sum())

    @property
    def _later(self) -> IntArray:
        """Return how many entries of the same item come after each entry."""
        ends = np.bincount(self.item, minlength=len(self.sentence)).cumsum()
        return np.asarray(ends[self.item] - 1 - np.arange(len(self.item)), dtype=np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of items and systems."""
        return len(self.sentence), len(self.systems)

    @property
    def cells(self) -> int:
        """Return the number of cells of a table of items × systems."""
        return len(self.sentence) * len(self.systems)

    @property
    def compared(self) -> BoolArray:
        """Return which systems are in at least one pair, shape (systems,)."""
        held = np.bincount(self.item, minlength=len(self.sentence))
        compared = np.zeros(len(self.systems), dtype=np.bool_)
        compared[self.system[held[self.item] > 1]] = True
        return compared

    def whole(self) -> JudgmentPairs:
        """Return all pairs at once, in the order of items, then of first and second system."""
        return self._pairs(np.arange(len(self.item)), self._later)

    def parts(self, at_once: int = PAIRS_AT_ONCE) -> Iterator[JudgmentPairs]:
        """Yield all pairs in their order, in parts; at least one part.

        Args:
            at_once: limit of pairs in a part; one system in one item may have more.
        """
        later = self._later
        for part in _stretches(later, np.arange(len(later)), at_once):
            yield self._pairs(part, later)

    def repeated(self, *, within: bool, at_once: int = PAIRS_AT_ONCE) -> Iterator[JudgmentPairs]:
        """Yield pairs whose first system is in several items of the sentence, in no fixed order.

        All judgments of two systems on one sentence are in one part, in the order of `whole`; pairs
        whose first system nobody judged again are left out.

        Args:
            within: require several items of the same annotator, not of any annotators.
            at_once: limit of pairs, as in `parts`.
        """
        sentence, size = self.sentence[self.item], max(len(self.systems), 1)
        place = sentence * size + self.system
        who = self.annotator[self.item] if within else np.zeros(len(place), dtype=np.int64)
        # Equal places are adjacent: a part contains all judgments of a system on a sentence.
        order = np.lexsort((np.arange(len(place)), place))
        _, at, counts = np.unique(
            place * max(len(self.annotators), 1) + who, return_inverse=True, return_counts=True
        )
        chosen = order[(counts[at] > 1)[order]]
        later = self._later
        for part in _stretches(later[chosen], place[chosen], at_once):
            yield self._pairs(np.sort(chosen[part]), later)

    def _pairs(self, firsts: IntArray, later: IntArray) -> JudgmentPairs:
        """Return the pairs that have these first entries."""
        held = later[firsts]
        first = np.repeat(firsts, held)
        # The second entries of a pair are numbered from the one after its first entry.
        second = first + 1 + np.arange(len(first)) - np.repeat(held.cumsum() - held, held)
        # Nobody can decide between equal texts: such a pair is a tie or is left out.
        same = self.text[first] == self.text[second]
        if not self.shared:
            first, second, same = first[~same], second[~same], same[~same]
        item = self.item[first]
        return JudgmentPairs(
            sentence=self.sentence[item],
            first=self.system[first],
            second=self.system[second],
            preference=np.sign(self.rank[second] - self.rank[first]),
            annotator=self.annotator[item],
            item=item,
            shared=same,
            systems=self.systems,
            annotators=self.annotators,
        )


def _stretches(held: IntArray, label: IntArray, at_once: int) -> Iterator[IntArray]:
    """Yield places in parts of limited size, equal labels together; at least one part."""
    total = held.cumsum()
    if not len(held):
        yield np.arange(0)
        return
    # Places with the same label stay together: parts end where the label changes.
    ends = np.flatnonzero(np.append(label[1:] != label[:-1], True)) + 1
    start, done = 0, 0
    while start < len(held):
        # The last end within the bound, or the next one.
        most = int(np.searchsorted(total, done + at_once, side="right"))
        at = max(
            int(np.searchsorted(ends, most, side="right")) - 1,
            int(np.searchsorted(ends, start, side="right")),
        )
        stop = int(ends[at])
        yield np.arange(start, stop)
        start, done = stop, int(total[stop - 1])


def judged_entries(
    items: Sequence[RankedItem],
    systems: Sequence[str],
    mode: Literal["expanded", "unexpanded"] = "expanded",
) -> JudgedEntries:
    """Return rankings of the given systems; arguments as in `expand_pairs`."""
    index = {system: number for number, system in enumerate(systems)}
    # Numbered by first appearance, so that results do not depend on the annotators' names.
    annotators: dict[str, int] = {}
    of_item: list[tuple[int, int]] = []
    rows: list[tuple[int, int, int, int]] = []
    for number, item in enumerate(items):
        of_item.append((item.sentence, annotators.setdefault(item.annotator, len(annotators))))
        entries = []
        for text, (group, rank) in enumerate(zip(item.groups, item.ranks, strict=True)):
            members = [index[system] for system in group if system in index]
            if mode == "unexpanded":
                # The first of the given systems represents the text, in any order of the file.
                members = [min(members)] if members else []
            entries += [(number, member, rank, text) for member in members]
        # Sorted by system, so that the earlier one is the first of each pair.
        rows += sorted(entries)
    item_of, system, rank_of, text_of = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
    sentence, annotator = np.array(of_item, dtype=np.int64).reshape(-1, 2).T.copy()
    return JudgedEntries(
        item=item_of,
        system=system,
        rank=rank_of,
        text=text_of,
        sentence=sentence,
        annotator=annotator,
        systems=tuple(systems),
        annotators=tuple(annotators),
    )


def expand_pairs(
    items: Sequence[RankedItem],
    systems: Sequence[str],
    mode: Literal["expanded", "unexpanded"] = "expanded",
) -> JudgmentPairs:
    """Turn rankings into pairwise judgments of the given systems.

    Args:
        systems: the systems to keep; their order fixes which side of a pair is the first.
        mode: `expanded` gives a pair for every two systems of an item, those that share a
            correction included (ties). `unexpanded` gives one for every two corrections, each
            represented by the first of the given systems that produced it.

    Returns:
        The pairs in the order of items, then of first and second system.
    """
    return judged_entries(items, systems, mode).whole()


RATING_DIGITS = 9
"""Decimals of a rating that count; later ones may depend on the order of summation in a mean."""


MEAN_RATER = "mean rating"
"""The annotator of rankings that are derived from mean ratings."""


def rank_ratings(
    ratings: FloatArray, corpus: Corpus, annotator: str = MEAN_RATER
) -> tuple[RankedItem, ...]:
    """Return one ranking item for each rated sentence: equal ratings are a tie.

    Args:
        ratings: systems of the corpus × sentences; NaN where there is none.
        corpus: gives the texts; systems that share text and rating share a place.
        annotator: name of the rater.
    """
    items = []
    for row in range(len(corpus)):
        rated = zip(corpus.names, ratings[:, row].tolist(), strict=True)
        # Negated, since rank 1 is best but the highest rating is.
        marks = {name: -round(rating, RATING_DIGITS) for name, rating in rated if rating == rating}
        places = ranked_places(marks, corpus, row)
        if not places:
            continue
        order = {mark: rank for rank, mark in enumerate(sorted({mark for mark, _ in places}), 1)}
        ranks = tuple(order[mark] for mark, _ in places)
        items.append(
            RankedItem(str(row), row, annotator, tuple(map(tuple, places.values())), ranks)
        )
    return tuple(items)


def ranked_places(
    ranks: Mapping[str, _RankT], corpus: Corpus, sentence: int
) -> dict[tuple[_RankT, str], list[str]]:
    """Return systems by rank and text: those that share both share a place in a ranking.

    Args:
        ranks: ranks by system of the corpus.
        corpus: gives the texts.
        sentence: row of the corpus.
    """
    places: dict[tuple[_RankT, str], list[str]] = {}
    for name, rank in ranks.items():
        places.setdefault((rank, corpus.systems[name].lines[sentence]), []).append(name)
    return places
