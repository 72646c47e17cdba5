"""A user's own judgments: ratings, preferences or rankings of corrections in a CSV or TSV file.

The header shows which: `sentence,system,score`, `sentence,system_a,system_b,preference` or
`sentence,system,rank`; a column `annotator` may be added to each, `aspect` to ratings and `item` to
rankings. Everything is checked, and errors name the line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path

import numpy as np

from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource, ReadVerdicts
from gecjury.benchmarks.judgments import (
    FIRST_SENTENCE,
    MOST_RANK,
    SKIP_UNKNOWN,
    RankedItem,
    rank_ratings,
    ranked_places,
)
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, nearest_of
from gecjury.core.wording import listed, single_spaced
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.rows import Row, TableFile, read_table
from gecjury.stats.permutation import standardise

_ONE = "annotator"

_LARGEST = 1e100
"""The largest rating accepted, so that sums of ratings remain finite."""

_NO_SCORE = ", higher is better; leave the cell empty where nothing was rated"


@dataclass(frozen=True)
class OwnJudgments:
    """The contents of a file of judgments.

    Attributes:
        items: ranking items; `sentence` is the row of the corpus.
        raters: each annotator's ratings by aspect, shape (annotators, systems, sentences), NaN
            where there is none; empty unless the file contains ratings.
        notes: remarks for readers of results.
        warnings: remarks that readers need to understand the results.
    """

    items: tuple[RankedItem, ...]
    raters: Mapping[str, FloatArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_judgments(
    path: Path, corpus: Corpus, first: int = 1, *, skip_unknown: bool = False
) -> OwnJudgments:
    """Read ratings, preferences or rankings.

    Args:
        path: a CSV or TSV file; the separator (comma, semicolon or tab) follows from its header.
        corpus: the corpus whose systems and sentences were judged.
        first: number of the first source in `sentence`.
        skip_unknown: leave out and count judgments of systems that the corpus lacks.

    Raises:
        InputError: the columns fit no form, a cell cannot be used, or no judgment is left.
    """
    # A form is recognised by its required columns; other columns are refused below.
    forms = "; or ".join(",".join(needed) for needed, _, _ in FORMS.values())
    expected = f"a header with the columns {forms}"
    table = read_table(path, expected)
    form = next((f for f, (needed, *_) in FORMS.items() if {*needed} <= {*table.columns}), None)
    if form is None:
        named = ", ".join(table.columns)
        raise InputError(f"{path}, line 1: columns {named:.300}; expected {expected}")
    needed, optional, _ = FORMS[form]
    _refuse_columns(table, needed, optional, form)
    if not skip_unknown:
        return judgments_of(form, table.rows, corpus, first)
    rows, notes = _known_rows(path, table.rows, corpus.names)
    judged = judgments_of(form, rows, corpus, first)
    return replace(judged, notes=(*judged.notes, *notes))


def judgments_of(form: str, rows: Sequence[Row], corpus: Corpus, first: int = 1) -> OwnJudgments:
    """Return the judgments in the rows of a table; a name is one annotator however it is spelt.

    Args:
        form: a key of `FORMS`.
        rows: the rows below the header.
        corpus: as for `read_judgments`.
        first: as for `read_judgments`.

    Raises:
        InputError: a cell cannot be used.
    """
    rows, spelt = _one_spelling(rows)
    judged = FORMS[form][2](rows, corpus, first)
    return replace(judged, warnings=(*spelt, *judged.warnings))


def _one_spelling(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Return the rows with the first spelling of each annotator's name, and what was joined."""
    spellings: dict[str, dict[str, None]] = {}
    people = []
    for row in rows:
        name = row.text(_ONE)
        people.append(spellings.setdefault(" ".join(name.casefold().split()), {}))
        people[-1][name] = None
    joined = [listed(list(names)) for names in spellings.values() if len(names) > 1]
    named = zip(rows, people, strict=True)
    return (
        [replace(row, cells={**row.cells, _ONE: next(iter(names))}) for row, names in named],
        [f"annotators whose names differ in case or blanks alone are one: {'; '.join(joined)}"]
        if joined
        else [],
    )


def _known_rows(
    path: Path, rows: Sequence[Row], systems: Sequence[str]
) -> tuple[Sequence[Row], tuple[str, ...]]:
    """Return the rows whose systems all have an output, and a note on the others."""
    kept = []
    unknown: Counter[str] = Counter()
    for row in rows:
        named = (row[column] for column in ("system", "system_a", "system_b"))
        strange = [name for name in dict.fromkeys(named) if name and name not in systems]
        unknown.update(strange)
        if not strange:
            kept.append(row)
    return kept, left_out(path, len(rows), len(kept), unknown, systems)


def left_out(
    path: Path, total: int, kept: int, unknown: Counter[str], systems: Sequence[str]
) -> tuple[str, ...]:
    """Return a note on judgments of systems without output.

    Args:
        path: file of the judgments, for the error.
        total: judgments in it.
        kept: those of systems with an output.
        unknown: judgments of each system without one.
        systems: the systems that have an output.

    Raises:
        InputError: nothing is left.
    """
    if not unknown:
        return ()
    names = ", ".join(f"{name} {count}" for name, count in unknown.most_common())
    if not kept:
        raise InputError(
            f"{path}: every judgment names a system without output ({names}); there are outputs of "
            f"{', '.join(systems)}: name the files as the judgments name the systems"
        )
    what = f"{total - kept} of {total} judgments name systems without output and are left out"
    return (f"{what}: {names}",)


def _refuse_columns(
    table: TableFile, needed: Sequence[str], optional: Sequence[str], what: str
) -> None:
    """Refuse a table with other columns, or without a row.

    Raises:
        InputError: a column is unknown or missing, or there is no row; names the expected columns.
    """
    expected = f"expected {what} with the columns {','.join(needed)} and optionally " + ",".join(
        optional
    )
    for column in table.columns:
        if column not in (*needed, *optional):
            raise InputError(f"{table.path}, line 1: unknown column {column!r:.60}; {expected}")
    for column in needed:
        if column not in table.columns:
            raise InputError(f"{table.path}, line 1: no column {column!r}; {expected}")
    if not table.rows:
        raise InputError(f"{table.path}: no {what} below the header; {expected}")


def _sentence(row: Row, first: int, corpus: Corpus) -> int:
    """Return the row of the corpus that a sentence number refers to."""
    remedy = f"; {FIRST_SENTENCE}" if row["sentence"] == str(first - 1) else ""
    return row.whole("sentence", first, first + len(corpus) - 1, remedy) - first


def _system(row: Row, column: str, corpus: Corpus) -> str:
    """Return the name of a system of the corpus."""
    name: str = row[column]
    if name not in corpus.systems:
        row.refuse(column, f"a system: {nearest_of(name, corpus.names)}. {SKIP_UNKNOWN}")
    return name


_ScoreKey = tuple[str, str, int, int]
"""Aspect, annotator, number of the system, row of the sentence."""


def _given_scores(
    rows: Sequence[Row], corpus: Corpus, first: int
) -> tuple[dict[_ScoreKey, list[float]], int]:
    """Return the scores that annotators gave, and the number of empty cells.

    An empty cell is not a rating of zero: the correction was not rated.
    """
    scores: dict[_ScoreKey, list[float]] = {}
    empty = 0
    for row in rows:
        sentence = _sentence(row, first, corpus)
        system = corpus.names.index(_system(row, "system", corpus))
        if not row["score"]:
            empty += 1
            continue
        key = row["aspect"] or "rating", row["annotator"] or _ONE, system, sentence
        scores.setdefault(key, []).append(row.number("score", _LARGEST, _NO_SCORE))
    if not scores:
        raise InputError(f"{rows[0].table}: every score is empty; expected at least one number")
    return scores, empty


def _ratings(rows: Sequence[Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Read ratings: an annotator's ratings of a sentence form one ranking item."""
    scores, empty = _given_scores(rows, corpus, first)
    # Aspects and annotators are numbered in the order of the file.
    aspects = list(dict.fromkeys(key[0] for key in scores))
    annotators = list(dict.fromkeys(key[1] for key in scores))
    shape = len(annotators), len(corpus.names), len(corpus)
    raters = {aspect: np.full(shape, np.nan) for aspect in aspects}
    for (aspect, annotator, system, sentence), values in scores.items():
        raters[aspect][annotators.index(annotator), system, sentence] = np.mean(values)
    warnings = _like_ranks(scores)
    if scales := _scales(raters, annotators):
        raters = {aspect: np.stack([*map(_standard, of)]) for aspect, of in raters.items()}
        lost = len(scores) - sum(np.count_nonzero(~np.isnan(of)) for of in raters.values())
        text = f"annotators rate on different scales ({scales}): ratings are standardised"
        text += " by annotator (less the mean, in standard deviations)"
        warnings.append(
            text + f"; {lost} of annotators with equal ratings are left out" * bool(lost)
        )
    # Several aspects give one ranking: that of their mean, where every aspect was rated.
    mean = np.mean(list(raters.values()), axis=0)
    items = [
        item
        for number, annotator in enumerate(annotators)
        for item in rank_ratings(mean[number], corpus, annotator)
    ]
    repeated = [values for values in scores.values() if len(values) > 1]
    differ = sum(len(set(values)) > 1 for values in repeated)
    notes = [
        "rankings are derived from ratings: one item per annotator and sentence, equal ratings tie"
    ]
    if repeated:
        notes.append(
            f"{len(repeated)} corrections were rated more than once by one annotator, {differ} of "
            "them differently; the mean is used"
        )
    if empty:
        notes.append(f"{empty} ratings are empty and left out")
    return OwnJudgments(tuple(items), raters, tuple(notes), tuple(warnings))


def _scales(raters: Mapping[str, FloatArray], annotators: Sequence[str]) -> str:
    """Return the ranges of annotators whose scales differ in kind; empty if they do not.

    One who is strict uses a part of the scale, so a range has to be at most half of another and
    fit a smaller usual scale. Few ratings do not show a range, and neither do equal ones.
    """
    ranges: dict[float, str] = {}
    for aspect, tables in raters.items():
        for name, table in zip(annotators, tables, strict=True):
            given = table[~np.isnan(table)]
            if len(given) < _SHOWS_RANGE or given.min() == given.max():
                continue
            who = f"{name} {given.min():g} to {given.max():g}"
            top = float(np.abs(given).max())
            ranges.setdefault(top, who + f" in {aspect}" * (len(raters) > 1))
    if not ranges:
        return ""
    low, high = min(ranges), max(ranges)
    differ = 2 * low <= high and any(low <= top < high for top in _USUAL_TOPS)
    return f"{ranges[low]}, {ranges[high]}" if differ else ""


_USUAL_TOPS = (1, 5, 10, 100)
_SHOWS_RANGE = 5  # ratings


def _standard(ratings: FloatArray) -> FloatArray:
    """Return an annotator's ratings less their mean, in deviations; NaN if all are equal."""
    equal = np.nanmin(ratings, initial=np.inf) >= np.nanmax(ratings, initial=-np.inf)
    return np.full(ratings.shape, np.nan) if equal else standardise(ratings)


def _like_ranks(scores: Mapping[_ScoreKey, Sequence[float]]) -> list[str]:
    """Return a warning if the ratings of every sentence are ranks from 1, of which 1 is best."""
    ranked: dict[tuple[str, str, int], list[float]] = {}
    for (aspect, annotator, _, sentence), values in scores.items():
        ranked.setdefault((aspect, annotator, sentence), []).extend(values)
    several = [sorted(values) for values in ranked.values() if len(values) > 1]
    for values in several:
        dense = {value: place for place, value in enumerate(dict.fromkeys(values), 1)}
        if any(value not in (dense[value], values.index(value) + 1) for value in values):
            return []
    if sum(len(set(values)) > 1 for values in several) < _SHOWS_RANKS:
        return []
    return [
        "the scores of every sentence are 1, 2, ... as ranks are, but the highest score counts as "
        "the best; if 1 is the best, call the column rank"
    ]


_SHOWS_RANKS = 3  # sentences


def _preferences(rows: Sequence[Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Read preferences: each is an item of two systems."""
    rankings = []
    for row in rows:
        sentence = _sentence(row, first, corpus)
        a, b = (_system(row, column, corpus) for column in ("system_a", "system_b"))
        if a == b:
            row.refuse("system_b", "another system than in system_a")
        # The name of the better system takes precedence, as a system may be called `a` or `b`.
        if (word := row["preference"]) in (a, b):
            ranks = {a: 1 + (word == b), b: 1 + (word == a)}
        else:
            expected = f"a (for {a}), b (for {b}), tie, or the name of the better system"
            sides = row.choice("preference", _PREFERENCES, expected)
            ranks = dict(zip((a, b), sides, strict=True))
        rankings.append((row["annotator"] or _ONE, f"line {row.line}", sentence, ranks))
    return _ranked(rankings, corpus)


_PREFERENCES = {"a": (1, 2), ">": (1, 2), "b": (2, 1), "<": (2, 1), "tie": (1, 1), "=": (1, 1)}


def _rankings(rows: Sequence[Row], corpus: Corpus, first: int) -> OwnJudgments:
    """Read rankings: the rows of one annotator, sentence and item; 1 is best, equal ranks tie."""
    ranked: dict[tuple[str, str], tuple[int, dict[str, int]]] = {}
    for row in rows:
        sentence = _sentence(row, first, corpus)
        name = _system(row, "system", corpus)
        rank = row.whole("rank", 1, MOST_RANK)
        key = row["annotator"] or _ONE, row["item"] or f"sentence {sentence + first}"
        # Rows of an item may be anywhere in the file; the first one determines its sentence.
        place, ranks = ranked.setdefault(key, (sentence, {}))
        if place != sentence:
            row.refuse("item", f"an item of one sentence; it ranks sentence {place + first} too")
        if name in ranks:
            row.refuse(
                "system",
                f"a system that {key[0]} has not ranked in {key[1]}; a second ranking of the "
                "sentence needs another name in a column item",
            )
        ranks[name] = rank
    return _ranked(((*key, *ranking) for key, ranking in ranked.items()), corpus)


def _ranked(
    rankings: Iterable[tuple[str, str, int, Mapping[str, int]]], corpus: Corpus
) -> OwnJudgments:
    """Return rankings (annotator, item, sentence, rank by system) as items of corrections.

    Systems with the same text and rank share a place. A text with two ranks is kept as judged.
    """
    items = []
    equal = 0
    for annotator, name, sentence, ranks in rankings:
        places = ranked_places(ranks, corpus, sentence)
        equal += len(places) - len({text for _, text in places})
        groups = tuple(map(tuple, places.values()))
        items.append(
            RankedItem(name, sentence, annotator, groups, tuple(rank for rank, _ in places))
        )
    note = f"{equal} judgments prefer one of two equal texts; they are kept as they are"
    return OwnJudgments(tuple(items), notes=(note,) if equal else ())


_JudgmentReader = Callable[[Sequence[Row], Corpus, int], OwnJudgments]
FORMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], _JudgmentReader]] = {
    "ratings": (("sentence", "system", "score"), ("annotator", "aspect"), _ratings),
    "preferences": (
        ("sentence", "system_a", "system_b", "preference"), ("annotator",), _preferences,
    ),
    "rankings": (("sentence", "system", "rank"), ("annotator", "item"), _rankings),
}  # fmt: skip
"""The kinds of files: required columns, optional columns, and the function that reads the rows."""

_VERDICTS = ("sentence", "system", "start", "end", "correction", "valid")
_WORDS = {"1": True, "true": True, "right": True, "0": False, "false": False, "wrong": False}


def read_own_verdicts(
    path: Path, corpus: Corpus, first: int = 1, *, skip_unknown: bool = False
) -> ReadVerdicts:
    """Read verdicts on single edits, as `gecjury annotate --task edits` writes them.

    Args:
        path: a CSV or TSV file with one edit a row: the sentence, the system whose correction it
            belongs to, the source tokens replaced (`start` from 0, `end` after the last), the
            tokens that replace them, and whether that is right (1, true, right; 0, false, wrong);
            a column `annotator` may be added. Systems with the same text may each have the row.
        first: number of the first source in `sentence`.
        skip_unknown: leave out and count verdicts on systems that the corpus lacks.

    Raises:
        InputError: the columns are wrong, or a cell cannot be used; names the line.
    """
    table = read_table(path, f"a header with the columns {','.join(_VERDICTS)}")
    _refuse_columns(table, _VERDICTS, (_ONE,), "verdicts")
    verdicts: dict[tuple[object, ...], HumanVerdict] = {}
    rows, unknown = _one_spelling(table.rows)[0], Counter[str]()
    for row in rows:
        if skip_unknown and row["system"] not in corpus.systems:
            unknown[row["system"]] += 1
            continue
        verdict = _verdict(row, corpus, first)
        # Systems with the same text share one correction, so their rows must agree on it.
        key = astuple(replace(verdict, valid=True))
        earlier = verdicts.setdefault(key, verdict)
        if earlier.valid != verdict.valid:
            said = "right" if earlier.valid else "wrong"
            row.refuse(
                "valid",
                f"one verdict: {verdict.annotator} called this edit {said} in another line; keep "
                "one of the two",
            )
    judged = dict.fromkeys((verdict.row, verdict.sentence) for verdict in verdicts.values())
    sources = tuple(
        JudgedSource(sentence, *(corpus.contexts[row] if corpus.contexts else ("", "")), row=row)
        for row, sentence in judged
    )
    # Raises an error if no verdict is left.
    left_out(path, len(rows), len(verdicts), unknown, corpus.names)
    unread = [
        ("", f"verdicts on {one}, which has no output: left out") for one in unknown.elements()
    ]
    return tuple(verdicts.values()), sources, tuple(unread)


def _verdict(row: Row, corpus: Corpus, first: int) -> HumanVerdict:
    """Return the verdict of one row."""
    sentence = _sentence(row, first, corpus)
    text = corpus.systems[_system(row, "system", corpus)].lines[sentence]
    tokens = corpus.sources[sentence].split()
    start = row.whole("start", 0, len(tokens))
    end = row.whole("end", start, len(tokens))
    return HumanVerdict(
        row["annotator"] or _ONE,
        " ".join(tokens),
        single_spaced(text),
        start,
        end,
        single_spaced(row["correction"]),
        row.choice("valid", _WORDS),
        row=sentence,
    )
