"""A user's own judgments: ratings, preferences or rankings of corrections in a CSV or TSV file.

The header tells which: `sentence,system,score`, `sentence,system_a,system_b,preference` or
`sentence,system,rank`; a column `annotator` may be added to each, `aspect` to ratings and `item` to
rankings. Everything is checked, and whatever is wrong is named with its line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource, VerdictProblem
from gecjury.benchmarks.judgments import (
    FIRST_SENTENCE,
    MOST_RANK,
    SKIP_UNKNOWN,
    RankedItem,
    rank_ratings,
)
from gecjury.corpus.corpus import Corpus
from gecjury.errors import InputError, nearest_of
from gecjury.textfiles import csv_rows, read_text

FORMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ratings": (("sentence", "system", "score"), ("annotator", "aspect")),
    "preferences": (("sentence", "system_a", "system_b", "preference"), ("annotator",)),
    "rankings": (("sentence", "system", "rank"), ("annotator", "item")),
}
"""The kinds of files: columns that must be there, and columns that may be."""

_ONE = "annotator"

_LARGEST = 1e100
"""Of ratings, whose sums have to be numbers as well."""


@dataclass(frozen=True)
class OwnJudgments:
    """What a file of judgments says.

    Attributes:
        items: ranking items; `sentence` is the row of the corpus.
        raters: by aspect each annotator's ratings, shape (annotators, systems, sentences), NaN
            where there is none; empty unless the file holds ratings.
        notes: what a reader of results must know.
    """

    items: tuple[RankedItem, ...]
    raters: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Row:
    """One line: cells by column, and where it stands, for messages."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def fail(self, wrong: str, remedy: str) -> NoReturn:
        # A cell may be of any length, and so may be the names of systems.
        raise InputError(f"{self.path}, line {self.line}: {wrong:.300}; {remedy:.1000}")

    def number(self, column: str, least: int, most: int | None = None) -> int:
        """A whole number within bounds."""
        top = "or more" if most is None else f"to {most}"
        try:
            value = int(self[column])
        except ValueError:
            self.fail(
                f"{column} {self[column]!r:.60} is no whole number", f"expected {least} {top}"
            )
        if value < least or (most is not None and value > most):
            self.fail(f"{column} {value!s:.40} is out of range", f"expected {least} {top}")
        return value

    def system(self, column: str, known: Mapping[str, object]) -> str:
        """The name of a system of the corpus."""
        name = self[column]
        if name not in known:
            self.fail(
                f"unknown system {name!r:.200} in column {column}",
                f"{nearest_of(name, tuple(known))}. {SKIP_UNKNOWN}",
            )
        return name

    def sentence(self, first: int, lines: int) -> int:
        """The row of the corpus that a line number means."""
        if self["sentence"] == str(first - 1):
            self.fail(
                f"sentence {first - 1} is out of range",
                f"expected {first} to {first + lines - 1}; {FIRST_SENTENCE}",
            )
        return self.number("sentence", first, first + lines - 1) - first


def read_judgments(
    path: Path, corpus: Corpus, first: int = 1, *, skip_unknown: bool = False
) -> OwnJudgments:
    """Read ratings, preferences or rankings.

    Args:
        path: a CSV or TSV file; the separator (comma, semicolon or tab) is told by its header.
        corpus: its systems and sentences are judged.
        first: what `sentence` calls the first source.
        skip_unknown: leave out, and count, what was said of systems that the corpus lacks.

    Raises:
        InputError: the columns fit no form, a cell cannot be used, or no judgment is left.
    """
    form, rows = _read_table(path)
    notes: tuple[str, ...] = ()
    if skip_unknown:
        rows, notes = _known_rows(path, rows, corpus.names)
    readers: Mapping[str, Callable[[Sequence[_Row], Corpus, int], OwnJudgments]] = {
        "ratings": _ratings,
        "preferences": _preferences,
        "rankings": _rankings,
    }
    judged = readers[form](rows, corpus, first)
    return replace(judged, notes=(*judged.notes, *notes))


def _known_rows(
    path: Path, rows: Sequence[_Row], known: Sequence[str]
) -> tuple[list[_Row], tuple[str, ...]]:
    """The rows whose systems all have an output, and a note on the others."""
    kept = []
    unknown: Counter[str] = Counter()
    for row in rows:
        named = (row[column] for column in ("system", "system_a", "system_b"))
        strange = [name for name in dict.fromkeys(named) if name and name not in known]
        unknown.update(strange)
        if not strange:
            kept.append(row)
    return kept, _left_out(path, len(rows), len(kept), unknown, known)


def known_items(
    path: Path, items: Sequence[RankedItem], known: Sequence[str]
) -> tuple[tuple[RankedItem, ...], tuple[str, ...]]:
    """Rankings without the systems that nobody has an output of, and a note on those.

    Args:
        path: where the rankings were read, for the error.
        items: rankings of any systems.
        known: the systems that there is an output of.

    Raises:
        InputError: nothing is left.
    """
    found = []
    unknown: Counter[str] = Counter()
    for item in items:
        places = [tuple(name for name in group if name in known) for group in item.groups]
        unknown.update(name for group in item.groups for name in group if name not in known)
        kept = [(group, rank) for group, rank in zip(places, item.ranks, strict=True) if group]
        if kept:
            groups, ranks = zip(*kept, strict=True)
            found.append(replace(item, groups=groups, ranks=ranks))
    total = sum(len(group) for item in items for group in item.groups)
    return tuple(found), _left_out(path, total, total - unknown.total(), unknown, known)


def _left_out(
    path: Path, total: int, kept: int, unknown: Counter[str], known: Sequence[str]
) -> tuple[str, ...]:
    if not unknown:
        return ()
    names = ", ".join(f"{name} {count}" for name, count in unknown.most_common())
    if not kept:
        raise InputError(
            f"{path}: every judgment names a system without output ({names}); outputs there are of "
            f"{', '.join(known)}: call the files as the judgments call the systems"
        )
    what = f"{total - kept} of {total} judgments name systems without output and are left out"
    return (f"{what}: {names}",)


def _columns(path: Path, expected: str) -> tuple[list[str], list[_Row]]:
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path}: the file is empty; {expected}")
    header = text.partition("\n")[0]
    separator = max("\t,;", key=header.count)
    reader = csv_rows(text, str(path), delimiter=separator)
    columns = [name.strip().lower() for name in next(reader)[1]]
    rows = list(_cells(path, reader, columns))
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise InputError(f"{path}, line 1: column {twice!r} occurs twice; rename one of them")
    return columns, rows


def _read_table(path: Path) -> tuple[str, list[_Row]]:
    columns, rows = _columns(path, _expected())
    form = next((f for f, (needed, _) in FORMS.items() if set(needed) <= set(columns)), None)
    if form is None:
        raise InputError(f"{path}, line 1: columns {', '.join(columns)} fit no form; {_expected()}")
    needed, optional = FORMS[form]
    extra = [name for name in columns if name not in (*needed, *optional)]
    if extra:
        raise InputError(
            f"{path}, line 1: unknown column {extra[0]!r}; {form} have {', '.join(needed)} and "
            f"may have {', '.join(optional)}"
        )
    if not rows:
        raise InputError(f"{path}: no judgment below the header; {_expected()}")
    return form, rows


def _cells(
    path: Path, reader: Iterable[tuple[int, list[str]]], columns: Sequence[str]
) -> Iterator[_Row]:
    for line, cells in reader:
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            raise InputError(
                f"{path}, line {line}: {len(cells)} cells, expected {len(columns)} "
                f"({', '.join(columns)})"
            )
        stripped = (cell.strip() for cell in cells)
        yield _Row(path, line, dict(zip(columns, stripped, strict=True)))


def _expected() -> str:
    forms = "; or ".join(",".join(needed) for needed, _ in FORMS.values())
    return f"expected a header with the columns {forms}"


def _ratings(rows: Sequence[_Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Ratings: each annotator's ratings of one sentence make one ranking item."""
    names = corpus.names
    place = {name: number for number, name in enumerate(names)}
    scores: dict[tuple[str, str, int, int], list[float]] = {}
    empty = 0
    for row in rows:
        sentence = row.sentence(first, len(corpus))
        system = place[row.system("system", place)]
        if not row["score"]:
            empty += 1
            continue
        key = row["aspect"] or "rating", row["annotator"] or _ONE, system, sentence
        scores.setdefault(key, []).append(_score(row))
    aspects = list(dict.fromkeys(key[0] for key in scores))
    annotators = list(dict.fromkeys(key[1] for key in scores))
    shape = len(annotators), len(names), len(corpus)
    raters = {aspect: np.full(shape, np.nan) for aspect in aspects}
    for (aspect, annotator, system, sentence), values in scores.items():
        raters[aspect][annotators.index(annotator), system, sentence] = np.mean(values)
    if not scores:
        raise InputError(f"{rows[0].path}: every score is empty; expected a number for some")
    mean = np.mean(list(raters.values()), axis=0)
    items = [
        item
        for number, annotator in enumerate(annotators)
        for item in rank_ratings(mean[number], corpus, annotator)
    ]
    again = [values for values in scores.values() if len(values) > 1]
    differ = sum(len(set(values)) > 1 for values in again)
    notes = [
        "rankings are derived from ratings: one item an annotator and sentence, equal ratings tie"
    ]
    if again:
        notes.append(
            f"{len(again)} corrections were rated more than once by one annotator, {differ} of "
            "them differently; the mean is taken"
        )
    if empty:
        notes.append(f"{empty} ratings are empty and left out")
    return OwnJudgments(tuple(items), raters, tuple(notes))


def _score(row: _Row) -> float:
    try:
        value = float(row["score"])
    except ValueError:
        value = math.nan
    if math.isfinite(value) and abs(value) > _LARGEST:
        row.fail(f"score {value:g} is out of range", f"expected −{_LARGEST:g} to {_LARGEST:g}")
    if not math.isfinite(value):
        number = "a number with a decimal point" if "," in row["score"] else "a number"
        row.fail(
            f"score {row['score']!r:.60} is no finite number",
            f"expected {number}, higher is better; leave the cell empty where nothing was rated",
        )
    return value


def _preferences(rows: Sequence[_Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Preferences: each is an item of two corrections."""
    items = []
    equal = 0
    for row in rows:
        sentence = row.sentence(first, len(corpus))
        a, b = (row.system(column, corpus.systems) for column in ("system_a", "system_b"))
        if a == b:
            row.fail(f"system {a!r} is compared with itself", "name two systems")
        ranks = _preference(row, a, b)
        same = corpus.systems[a].lines[sentence] == corpus.systems[b].lines[sentence]
        equal += same and ranks[0] != ranks[1]
        groups = ((a, b),) if same and ranks[0] == ranks[1] else ((a,), (b,))
        annotator = row["annotator"] or _ONE
        items.append(
            RankedItem(f"line {row.line}", sentence, annotator, groups, ranks[: len(groups)])
        )
    return OwnJudgments(tuple(items), notes=_equal_note(equal))


def _preference(row: _Row, a: str, b: str) -> tuple[int, int]:
    """Ranks of the two sides."""
    word = row["preference"]
    if word in (a, b):
        return (1, 2) if word == a else (2, 1)
    known = {"a": (1, 2), ">": (1, 2), "b": (2, 1), "<": (2, 1), "tie": (1, 1), "=": (1, 1)}
    if word.lower() not in known:
        row.fail(
            f"preference {word!r} is not understood",
            f"expected a (for {a}), b (for {b}), tie, or the name of the better system",
        )
    return known[word.lower()]


def _rankings(rows: Sequence[_Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Rankings: the rows of one annotator, sentence and item; 1 is best, equal ranks tie."""
    ranked: dict[tuple[str, str], tuple[int, dict[str, int]]] = {}
    for row in rows:
        sentence = row.sentence(first, len(corpus))
        name = row.system("system", corpus.systems)
        rank = row.number("rank", 1)
        if rank > MOST_RANK:
            row.fail(f"rank {rank!s:.40} is out of range", f"expected 1 to {MOST_RANK}")
        key = row["annotator"] or _ONE, row["item"] or f"sentence {sentence + first}"
        place, ranks = ranked.setdefault(key, (sentence, {}))
        if place != sentence:
            row.fail(
                f"item {key[1]!r} of {key[0]} ranks sentence {place + first} as well",
                "an item ranks corrections of one sentence",
            )
        if name in ranks:
            row.fail(
                f"system {name!r} is ranked twice by {key[0]} in {key[1]}",
                "a second ranking of the same sentence needs another name in a column `item`",
            )
        ranks[name] = rank
    items = []
    equal = 0
    for (annotator, number), (sentence, ranks) in ranked.items():
        places: dict[tuple[int, str], list[str]] = {}
        for name, rank in ranks.items():
            text = corpus.systems[name].lines[sentence]
            places.setdefault((rank, text), []).append(name)
        texts = [text for _, text in places]
        equal += len(texts) - len(set(texts))
        items.append(
            RankedItem(
                number,
                sentence,
                annotator,
                tuple(tuple(names) for names in places.values()),
                tuple(rank for rank, _ in places),
            )
        )
    return OwnJudgments(tuple(items), notes=_equal_note(equal))


def _equal_note(count: int) -> tuple[str, ...]:
    if not count:
        return ()
    return (f"{count} judgments prefer one of two equal texts; they are kept as they are",)


_VERDICTS = ("sentence", "system", "start", "end", "correction", "valid")
_WORDS = {"1": True, "true": True, "right": True, "0": False, "false": False, "wrong": False}


def read_own_verdicts(
    path: Path, corpus: Corpus, first: int = 1
) -> tuple[tuple[HumanVerdict, ...], tuple[JudgedSource, ...], tuple[VerdictProblem, ...]]:
    """Read verdicts on single edits, as `gecjury annotate --task edits` writes them.

    Args:
        path: a CSV or TSV file with a row an edit: the sentence, the system whose correction it
            belongs to, the source tokens replaced (`start` from 0, `end` after the last), what was
            put there, and whether that is right (1, true, right; 0, false, wrong); a column
            `annotator` may be added. Systems with the same text may each have the row.
        corpus: its systems are judged.
        first: what `sentence` calls the first source.

    Returns:
        As `gecjury.benchmarks.edit_verdicts.read_edit_verdicts`; there are no problems.

    Raises:
        InputError: the columns are others, or a cell cannot be used; names the line.
    """
    expected = f"expected a header with the columns {','.join(_VERDICTS)} and perhaps annotator"
    columns, rows = _columns(path, expected)
    strange = [name for name in columns if name not in (*_VERDICTS, _ONE)]
    missing = [name for name in _VERDICTS if name not in columns]
    if strange or missing:
        what = f"unknown column {strange[0]!r}" if strange else f"no column {missing[0]!r}"
        raise InputError(f"{path}, line 1: {what}; {expected}")
    found: dict[tuple[object, ...], HumanVerdict] = {}
    judged: dict[tuple[str, int], dict[str, int]] = {}
    for row in rows:
        verdict = _verdict(row, corpus, first)
        texts = judged.setdefault((verdict.annotator, verdict.row), {})
        target = texts.setdefault(verdict.correction, len(texts) + 1)
        key = (verdict.annotator, verdict.row, target, verdict.start, verdict.end, verdict.new)
        known = found.setdefault(key, replace(verdict, target=target))
        if known.valid != verdict.valid:
            row.fail(
                f"{verdict.annotator} called this edit {'right' if known.valid else 'wrong'} in "
                "another line",
                "keep one of the two",
            )
    if not found:
        raise InputError(f"{path}: no verdict below the header; {expected}")
    sources = tuple(
        JudgedSource(
            annotator, str(sentence + first), _tokens(corpus.sources[sentence]),
            *(corpus.contexts[sentence] if corpus.contexts else ("", "")), tuple(texts), sentence,
        )
        for (annotator, sentence), texts in judged.items()
    )  # fmt: skip
    return tuple(found.values()), sources, ()


def _verdict(row: _Row, corpus: Corpus, first: int) -> HumanVerdict:
    """Return what one row says; its number among the corrections of the source is left at 0."""
    sentence = row.sentence(first, len(corpus))
    text = corpus.systems[row.system("system", corpus.systems)].lines[sentence]
    tokens = corpus.sources[sentence].split()
    start = row.number("start", 0, len(tokens))
    end = row.number("end", start, len(tokens))
    if row["valid"].lower() not in _WORDS:
        row.fail(f"valid {row['valid']!r:.60} is not understood", f"expected {', '.join(_WORDS)}")
    return HumanVerdict(
        row["annotator"] or _ONE,
        str(sentence + first),
        " ".join(tokens),
        _tokens(text),
        0,
        start,
        end,
        " ".join(tokens[start:end]),
        _tokens(row["correction"]),
        _WORDS[row["valid"].lower()],
        row=sentence,
    )


def _tokens(text: str) -> str:
    return " ".join(text.split())
