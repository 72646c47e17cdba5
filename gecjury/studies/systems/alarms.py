"""How often systems change text that needs no change: `gecjury alarms`.

Example:
    >>> from gecjury import alarms, corpus_of_texts
    >>> right = ["He goes home .", "It rains ."]
    >>> result = alarms(corpus_of_texts(right, {"mine": ["He goes home .", "It rained ."]}))
    >>> result.rows()[0]["changed"]
    0.5
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any, ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, blocks, draw_weights
from gecjury.core.errors import InputError
from gecjury.core.settings import option
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import ARROW, Edit, counted_edits, marked_edits
from gecjury.extraction.extract import corpus_edits
from gecjury.report.result import Column, Record, Result, Table
from gecjury.scoring.by_edit import merged_type
from gecjury.scoring.system_tests import SystemTests, mean_pair_tests
from gecjury.stats.bootstrap import interval, sentence_draws
from gecjury.stats.counts import ratio, wilson_interval
from gecjury.stats.figure import Figure
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.inputs import FilesOrBenchmark, Inputs, Need, References
from gecjury.studies.study import Work, function_of
from gecjury.studies.systems.page import (
    USUAL_LEVEL,
    Sentences,
    Systems,
    SystemsStudy,
    opening_of,
)
from gecjury.studies.systems.ranking import (
    CERTAINTY,
    Ranking,
    about_tests,
    ranking,
    settings_of_tests,
)

_PER = 1000


@dataclass(frozen=True, kw_only=True)
class _Unchanged(References):
    """References that show which text is good.

    Attributes:
        reference_files: with files: a reference, text or M2; only sentences that every reference
            leaves unchanged then count as good text; repeat for more.
    """


@dataclass(frozen=True, kw_only=True)
class Alarms(SystemsStudy):
    """False alarms: how often systems change text that needs no change.

    Attributes:
        show: number of edits listed for each system.
        resampling: the bootstrap over sentences, and the paired tests between systems.
        seed: seed of the resampling and of the tests.
    """

    needs: ClassVar[tuple[Need, ...]] = ("texts", "edits")
    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "good text and what systems output for it, CLEAN and OUTPUT...; or a benchmark's name",
        "BENCHMARK|CLEAN OUTPUT",
        _Unchanged,
    )
    metrics: ClassVar[str | None] = None
    page: ClassVar[bool | str] = True
    show: int = option(5, metavar="N", least=0, most=1000)
    resampling: Resampling = option(
        Resampling(over="sentences", permutations=1000),
        offers=("resamples", "confidence", "permutations"),
    )
    seed: int = option(0, least=0)

    def check(self, work: Work) -> None:
        """Refuse a benchmark without references, which does not show which text is good."""
        corpus = work.corpus
        if work.benchmark is not None and not corpus.references:
            raise InputError(
                f"{work.benchmark.name} has no references to show which of its sentences need no "
                "change: give good text and outputs as files"
            )
        check_resamples(self.resampling.resamples, len(corpus))

    def run(self, work: Work) -> Result:
        """Count what systems change in good text.

        Table `rows` has one record per system, the fewest alarms first: `changed`, the share of
        sentences that it changes (0 to 1, lower is better) with `ci95`; `per_thousand`, its edits
        in 1,000 words with `per_thousand_ci95`; and `cluster`, `rank_range`, `ranks` and `p_next`
        as in `rank`. Table `edits` has the most frequent ones of each system, `alarms` every
        changed sentence, and `significance` all p-values.

        Raises:
            InputError: every sentence needs a change.
        """
        corpus = work.corpus
        lines = _good_lines(corpus)
        good = replace(corpus.take(lines), references=(), gold=None)
        edits = corpus_edits(good, "embedded", work.runtime)
        counted = [[counted_edits(line) for line in of_one] for of_one in edits.systems.values()]
        counts = _Counts.of(good, counted)
        ranked = self._ranked(good.names, counts)
        first = ranked.systems[0]
        rows = [
            {
                **ranked.row(system),
                "changed_sentences": counts.changed_by(system.name),
                "edits": counts.edits_by(system.name),
            }
            for system in ranked.systems
        ]
        notes = [*_remarks(corpus, lines), *edits.notes]
        tables = [
            self._main(rows, counts, notes),
            self._frequent(good, counted),
            Table((), _alarms(good, lines, counted, counts), name="alarms"),
            Table((), [ranked.significance()], name="significance"),
        ]
        verdict = opening_of([ranked])
        if len(ranked.lead.leaders) == 1:
            verdict += (
                f"{first.name} changes {number(counts.changed_by(first.name))} of "
                f"{number(counts.words.size)} good sentences and makes "
                f"{number(first.numbers[1].value, 1)} edits in 1,000 words.",
            )
        return Systems(
            tuple(tables),
            {
                "sentences": counts.words.size,
                "words": int(counts.words.sum()),
                "of_sentences": len(corpus),
                "good_by": "references" if corpus.references else "file",
                "uncertainty": {
                    **settings_of_tests(self.resampling, self.seed),
                    "correction": "holm",
                },
            },
            tuple(notes),
            language=good.language.code,
            title=f"False alarms of {', '.join(good.names)} on good text",
            verdict=verdict,
            kicker="false alarms",
            rankings=(ranked,),
            work=replace(work, data=good),
            types_on_page=_types(good, counted, counts),
            sentences_on_page=(_CHANGED, partial(_most_changed, good, lines, counted, self.show)),
        )

    def _ranked(self, systems: Sequence[str], counts: _Counts) -> Ranking:
        """Return the systems, the fewest alarms first."""
        how = self.resampling
        numbers = counts.figures(how, self.seed)
        shares = np.array([changed.value for changed, _ in numbers.values()])
        p = mean_pair_tests(counts.changed, how.permutations, self.seed)
        # Shares are negated: fewer alarms are better, but ranks go by the larger score.
        tests = SystemTests.of(-shares, p, how.level)
        rates = [rate.value for _, rate in numbers.values()]
        return ranking(numbers, tests, how, ties=rates, what="share changed", bounded=True)

    def _main(self, rows: Sequence[Record], counts: _Counts, notes: Sequence[str]) -> Table:
        how = self.resampling
        columns = [Column("system"), *_FIGURES]
        legend = f"[low, high]: {how.confidence:.0%}; changed: share of sentences; lower is better"
        about = [
            "changed: share of sentences that the system changes, Wilson interval; edits in 1,000 "
            "words: words of the good text that contain a letter or digit; [low, high]: "
            f"{how.confidence:.0%} percentile bootstrap over sentences, {how.resamples} "
            f"resamples, seed {self.seed}"
        ]
        if len(rows) > 1:
            columns += CERTAINTY
            legend += f"; ranks, cluster: consistent with tests at {how.level:g}"
            about.append(about_tests(how))
        size = f"{number(counts.words.size)} sentences, {number(int(counts.words.sum()))} words"
        table = Table(columns, rows, f"False alarms: {size}", [*about, *notes], "rows")
        return replace(table, instead={"brief": replace(table, notes=notes, legend=legend)})

    def _frequent(self, good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]]) -> Table:
        """Return the most frequent edits of each system."""
        records = []
        for system, lines in zip(good.names, counted, strict=True):
            made = Counter(
                (_shown(good, row, edit), edit.type)
                for row, line in enumerate(lines)
                for edit in line
            )
            # Edits with equal counts are sorted by their texts.
            most = sorted(made.items(), key=lambda pair: (-pair[1], pair[0]))[: self.show]
            records += [
                {"system": system, "edit": edit, "type": kind, "count": count}
                for (edit, kind), count in most
            ]
        columns = [Column("system"), Column("edit"), Column("type"), Column("count")]
        return Table(columns, records, "Most frequent edits", name="edits")


_FIGURES = (
    Column("changed", interval="ci95"),
    Column("edits"),
    Column("per_thousand", interval="per_thousand_ci95"),
)


@dataclass(frozen=True)
class _Counts:
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
    def of(cls, good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]]) -> _Counts:
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

    def edits_by(self, system: str) -> int:
        """Return the number of edits that a system makes."""
        return int(self.edits[self.systems.index(system)].sum())

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
            low, high = wilson_interval(changed, size, how.confidence)
            share = Figure(
                level="score",
                system=system,
                statistic="changed",
                value=changed / size,
                low=low,
                high=high,
                n=size,
            )
            low, high = interval(rates[:, row], how.confidence)[0]
            rate = float(made[row])
            edits = replace(share, statistic="per_thousand", value=rate, low=low, high=high)
            figures[system] = (share, edits)
        return figures


def _good_lines(corpus: Corpus) -> list[int]:
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


def _remarks(corpus: Corpus, lines: Sequence[int]) -> Iterator[str]:
    """Yield notes on how files were read, and on what was left out."""
    yield from corpus.remarks(("references",))
    if corpus.references:
        yield (
            f"good text: the {len(lines)} of {len(corpus)} sentences that no reference changes "
            f"(references: {len(corpus.references)})"
        )
    elif len(lines) < len(corpus):
        yield f"empty lines are left out: {len(corpus) - len(lines)}"


def _shown(good: Corpus, row: int, edit: Edit) -> str:
    """Return an edit as `[old→new]`."""
    old = " ".join(good.sources[row].split()[edit.start : edit.end])
    return good.language.shown(f"[{old}{ARROW}{edit.correction}]")


def _alarms(
    good: Corpus,
    lines: Sequence[int],
    counted: Sequence[Sequence[Sequence[Edit]]],
    counts: _Counts,
) -> list[dict[str, Any]]:
    """Return a record of every sentence that a system changes, with its edits marked."""
    return [
        {"system": system, "line": lines[row] + 1, "marked": _marked(good, row, of_one[row])}
        for system, of_one, changed in zip(good.names, counted, counts.changed, strict=True)
        for row in np.flatnonzero(changed).tolist()
    ]


def _marked(good: Corpus, row: int, edits: Sequence[Edit]) -> str:
    return good.language.shown(marked_edits(good.sources[row].split(), edits))


def _types(
    good: Corpus, counted: Sequence[Sequence[Sequence[Edit]]], counts: _Counts
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


_CHANGED = "The changed sentences with most edits."


def _most_changed(
    good: Corpus, lines: Sequence[int], counted: Sequence[Sequence[Sequence[Edit]]], show: int
) -> Sentences:
    """Return the sentences in which each system makes most edits, for the page."""
    groups = {}
    for system, of_one in zip(good.names, counted, strict=True):
        order = sorted(range(len(lines)), key=lambda row: -len(of_one[row]))[:show]
        groups[system] = [
            (
                f"line {lines[row] + 1} · edits: {count}",
                [("", _marked(good, row, of_one[row]))],
            )
            for row in order
            if (count := len(of_one[row]))
        ]
    return {system: sentences for system, sentences in groups.items() if sentences}


alarms = function_of(Alarms)
