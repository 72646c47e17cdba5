"""Good text and what systems change in it: counts, their figures, and the tables of edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from gecjury.core.arrays import FloatArray, blocks, draw_weights
from gecjury.core.errors import InputError
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import ARROW, Edit, counted_edits, marked_edits
from gecjury.corpus.remarks import remarks_on
from gecjury.report.result import Column, Table
from gecjury.report.table import Sentences
from gecjury.scoring.system_tests import SystemTests, mean_pair_tests
from gecjury.stats.bootstrap import figure_interval, sentence_draws
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.counts import ratio, wilson_interval
from gecjury.stats.figure import Figure, figures_about
from gecjury.stats.resampling import Resampling
from gecjury.studies.systems.page import USUAL_LEVEL
from gecjury.studies.systems.parts import merged_type
from gecjury.studies.systems.ranking import Ranking, ranking

register(
    Statistic("changed", words="share of sentences changed", better="lower", range=(0, 1)),
    Statistic("per_thousand", "in 1,000 words", "edits in 1,000 words", digits=1, better="lower"),
)

_PER = 1000


@dataclass(frozen=True)
class AlarmCounts:
    """Counts of edits that systems make in sentences.

    Attributes:
        systems: S names.
        changed: S × N, 1 where a system changes the tokens of a sentence, otherwise 0.
        edits: S × N, numbers of edits.
        words: shape (N,), number of tokens of the source that contain a letter or digit.
    """

    systems: tuple[str, ...]
    changed: FloatArray
    edits: FloatArray
    words: FloatArray

    @classmethod
    def of(cls, good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]]) -> AlarmCounts:
        """Count a corpus of good text."""
        sources = [source.split() for source in good.sources]
        changed = [
            [line.split() != source for line, source in zip(version.lines, sources, strict=True)]
            for version in good.systems.values()
        ]
        words = [sum(any(map(str.isalnum, token)) for token in source) for source in sources]
        edits = [[len(line) for line in lines] for lines in counted]
        return cls(
            good.names, np.array(changed, float), np.array(edits, float), np.array(words, float)
        )

    def changed_by(self, system: str) -> int:
        """Return the number of sentences that a system changes."""
        return int(self.changed[self.systems.index(system)].sum())

    def row(self, system: str) -> dict[str, int]:
        """Return the numbers of sentences that a system changes, and of its edits."""
        edits = int(self.edits[self.systems.index(system)].sum())
        return {"changed_sentences": self.changed_by(system), "edits": edits}

    def figures(self, how: Resampling, seed: int) -> dict[str, tuple[Figure, Figure]]:
        """Return the share of changed sentences and the edits in 1,000 words of every system."""
        size = len(self.words)
        draws = sentence_draws(size, how.resamples, seed)
        rates = np.empty((how.resamples, len(self.edits)))
        for part in blocks(how.resamples, size):
            weights = draw_weights(draws[part], size)
            rates[part] = _PER * ratio(
                weights @ self.edits.T, weights @ self.words[:, None], np.nan
            )
        made = _PER * ratio(self.edits.sum(axis=1), self.words.sum(), np.nan)
        figures = {}
        for row, system in enumerate(self.systems):
            changed = float(self.changed[row].sum())
            # A share has an interval that needs no resampling.
            shares = wilson_interval(changed, size, how.confidence)
            bounds = figure_interval(rates[:, row], how.confidence)[0]
            one, two = figures_about(
                {"changed": changed / size, "per_thousand": float(made[row])},
                {"changed": shares, "per_thousand": bounds},
                level="score",
                system=system,
                n=size,
            )
            figures[system] = (one, two)
        return figures

    def ranked(self, how: Resampling, seed: int) -> Ranking:
        """Return the systems, the fewest alarms first."""
        numbers = self.figures(how, seed)
        shares = np.array([changed.value for changed, _ in numbers.values()])
        p = mean_pair_tests(self.changed, how.permutations, seed)
        # Shares are negated: fewer alarms are better, but ranks go by the larger score.
        tests = SystemTests.of(-shares, p, how.level)
        rates = [rate.value for _, rate in numbers.values()]
        return ranking(numbers, tests, how, ties=rates, what="share changed")


def about_leader(ranked: Ranking, counts: AlarmCounts) -> Iterator[str]:
    """Yield how often the only leading system changes good text."""
    if len(ranked.lead.leaders) == 1:
        first = ranked.systems[0]
        yield (
            f"{first.name} changes {number(counts.changed_by(first.name))} of "
            f"{number(counts.words.size)} good sentences and makes "
            f"{number(first.numbers[1].value, 1)} edits in 1,000 words."
        )


def good_lines(corpus: Corpus) -> list[int]:
    """Return the indices of the sentences that need no change: all, or those no reference changes.

    Lines that are empty in the source and in all outputs are left out.

    Raises:
        InputError: there are no such sentences.
    """
    lines = []
    for row, source in enumerate(corpus.sources):
        tokens = source.split()
        if not tokens and not any(v.lines[row].split() for v in corpus.systems.values()):
            continue
        # An annotator may mark an error without correcting it, which leaves the text as it is.
        if all(
            version.lines[row].split() == tokens
            and not (version.edits and counted_edits(version.edits[row], detected=True))
            for version in corpus.references
        ):
            lines.append(row)
    if not lines:
        reason = "every sentence is changed by some reference" if corpus.references else "no text"
        raise InputError(
            f"{corpus.label('source')}: {reason}; expected sentences that need no change"
        )
    return lines


def remarks(corpus: Corpus, lines: Sequence[int]) -> Iterator[str]:
    """Yield notes on how files were read, and on what was left out."""
    yield from remarks_on(corpus, ("references",))
    if corpus.references:
        yield (
            f"good text: the {len(lines)} of {len(corpus)} sentences that no reference changes "
            f"(references: {len(corpus.references)})"
        )
    elif len(lines) < len(corpus):
        yield f"empty lines are left out: {len(corpus) - len(lines)}"


def frequent_table(good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]], show: int) -> Table:
    """Return the most frequent edits of each system."""
    records = []
    for system, lines in zip(good.names, counted, strict=True):
        made = Counter(
            (_shown(good, row, edit), edit.type) for row, line in enumerate(lines) for edit in line
        )
        # Edits with equal counts are sorted by their texts.
        most = sorted(made.items(), key=lambda pair: (-pair[1], pair[0]))[:show]
        records += [
            {"system": system, "edit": edit, "type": kind, "count": count}
            for (edit, kind), count in most
        ]
    columns = [Column("system"), Column("edit"), Column("type"), Column("count")]
    return Table(columns, records, "Most frequent edits", name="edits")


def _shown(good: Corpus, row: int, edit: Edit) -> str:
    """Return an edit as `[old→new]`."""
    old = " ".join(good.sources[row].split()[edit.start : edit.end])
    return good.language.shown(f"[{old}{ARROW}{edit.correction}]")


def alarm_records(
    good: Corpus,
    lines: Sequence[int],
    counted: Sequence[Sequence[Sequence[Edit]]],
    counts: AlarmCounts,
) -> list[dict[str, object]]:
    """Return a record of every sentence that a system changes, with its edits marked."""
    return [
        {"system": system, "line": lines[row] + 1, "marked": _marked(good, row, of_one[row])}
        for system, of_one, changed in zip(good.names, counted, counts.changed, strict=True)
        for row in np.flatnonzero(changed).tolist()
    ]


def _marked(good: Corpus, row: int, edits: Sequence[Edit]) -> str:
    return good.language.shown(marked_edits(good.sources[row].split(), edits))


def type_tables(
    good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]], counts: AlarmCounts
) -> dict[str, Table]:
    """Return the error types of each system's edits, the most frequent first, for the page."""
    columns = [Column(key) for key in ("type", "edits", "per_thousand")]
    words, tables = float(counts.words.sum()) or nan, {}
    for system, of_one in zip(good.names, counted, strict=True):
        types = Counter(merged_type(edit.type, USUAL_LEVEL) for line in of_one for edit in line)
        rows = [
            {"type": kind, "edits": count, "per_thousand": _PER * count / words}
            for kind, count in sorted(types.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        if rows:
            tables[system] = Table(columns, rows)
    return tables


def most_changed(
    good: Corpus, lines: Sequence[int], counted: Sequence[Sequence[Sequence[Edit]]], show: int
) -> Sentences:
    """Return the sentences in which each system makes most edits, for the page."""
    groups = {}
    for system, of_one in zip(good.names, counted, strict=True):
        order = sorted(range(len(lines)), key=lambda row: -len(of_one[row]))[:show]
        groups[system] = [
            (f"line {lines[row] + 1} · edits: {count}", [("", _marked(good, row, of_one[row]))])
            for row in order
            if (count := len(of_one[row]))
        ]
    return {system: sentences for system, sentences in groups.items() if sentences}
