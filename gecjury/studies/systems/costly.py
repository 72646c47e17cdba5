"""Sentences that cost a system most, with their edits marked right, wrong or missed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import MISSED, differing_spans, marked_edits, nearest_reference
from gecjury.report.result import Column, Record, Table
from gecjury.scoring.abilities import Explains, ReadsEdits
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.scoring.system_tests import scores_without
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.figure import values_of
from gecjury.studies.study import Work

# Most metrics use no edits and should not wait for the import of the extraction.
if TYPE_CHECKING:
    from gecjury.extraction.extract import CorpusEdits

register(Statistic("marked", "correction"))

_CANDIDATES = 200


@dataclass(frozen=True, kw_only=True)
class CostlySentence:
    """A sentence whose removal would raise a corpus score.

    Attributes:
        line: its number, from 1.
        score: its own score.
        cost: how much higher the corpus score is without it.
        marked: the correction, with its edits as `[old→new]`.
    """

    system: str
    metric: str
    line: int
    score: float
    cost: float
    source: str
    marked: str

    def row(self) -> dict[str, object]:
        """Return its record for tables and JSON."""
        keys = ("system", "metric", "line", "score", "cost", "source", "marked")
        return values_of(self, *keys)

    @property
    def about(self) -> str:
        """Its line, score and cost in words."""
        return f"line {self.line} · score {number(self.score, 4)} · cost {number(self.cost, 5)}"


def costly_sentences(
    tables: Sequence[ScoreTable], scorers: Sequence[Scorer], corpus: Corpus, count: int
) -> Iterator[CostlySentence]:
    """Yield the sentences whose removal would raise a corpus score most, by metric and system.

    Only the sentences with the lowest scores are tried: five times `count`, but at least 200. Among
    equal scores, the longest sentences are tried first.

    Args:
        scorers: the metrics of the tables, in the same order.
        count: number of sentences per metric and system; fewer if fewer lower the score.
    """
    language = corpus.language
    sizes = [-len(text.split()) for text in corpus.sources]
    for scorer, table in zip(scorers, tables, strict=True):
        # One trial without a line scores all systems, and most lines are tried for all of them.
        without: dict[int, FloatArray] = {}
        for row, system in enumerate(table.systems):
            scores = table.sentences[row].tolist()
            scored = [line for line, score in enumerate(scores) if score == score]
            scored.sort(key=lambda line: (scores[line], sizes[line]))
            tried = scored[: max(_CANDIDATES, 5 * count)]
            if len(scores) < 2:
                continue  # Without its only sentence a corpus has no score.
            new = [line for line in tried if line not in without]
            without.update(zip(new, scores_without(scorer, table, new), strict=True))
            totals = np.array([without[line][row] for line in tried])
            costs = np.nan_to_num(totals - table.by_system.score[row]).tolist()
            order = sorted(zip(costs, tried, strict=True), key=lambda pair: (-pair[0], pair[1]))
            for cost, line in (pair for pair in order[:count] if pair[0] > 0):
                yield CostlySentence(
                    system=system,
                    metric=table.signature.label,
                    line=corpus.line(line),
                    score=scores[line],
                    cost=cost,
                    source=language.shown(corpus.sources[line]),
                    marked=corpus.systems[system].marked(corpus.sources[line], line, language),
                )


def costly_table(rows: Sequence[Record]) -> Table:
    """Return the table of the sentences that cost most."""
    columns = [Column(key) for key in ("system", "metric", "line", "score", "cost")]
    columns.append(Column("marked"))
    note = "cost: how much higher the corpus score is without the sentence; edits as [old→new]"
    if not rows:
        note = "no sentence lowers a corpus score"
    return Table(columns, rows, "Sentences that cost most", [note], "worst")


COST = "Cost: how much higher the score of all sentences is without this one."


def judged(system: str, line: int, scorer: Scorer, work: Work) -> list[tuple[str, str]]:
    """Return a system's correction of a line and its nearest reference, each with its name.

    Edits have the signs of `marked_edits`: right, wrong or missed. The reference is the one that
    shares most edits; without references there is only the correction.

    Args:
        line: the line, from 1.
        scorer: the metric whose edits are shown.
    """
    corpus, row = work.corpus, work.corpus.row(line)
    part = one_line(corpus.alone(system), row)
    source = corpus.sources[row].split()
    if isinstance(scorer, Explains):
        read = edits_as_read(scorer, part, work.runtime)
        ((own,),) = read.systems.values()
        others = [theirs for (theirs,) in read.references]
    else:
        # Without a metric that reads edits there may be no tagger, either.
        texts = [*part.systems.values(), *part.references]
        own, *others = (differing_spans(source, text.lines[0].split()) for text in texts)
    shown = corpus.language.shown
    if not others:
        return [("correction", shown(marked_edits(source, own, None)))]
    best = nearest_reference(own, others)
    gold = others[best]
    return [
        ("correction", shown(marked_edits(source, own, gold))),
        (f"reference {best + 1}", shown(marked_edits(source, gold, own, MISSED))),
    ]


def judged_groups(
    work: Work, tables: Sequence[ScoreTable], count: int
) -> dict[str, list[tuple[str, list[tuple[str, str]]]]]:
    """Return the sentences that cost most, by metric and system, for a page."""
    scorers = dict(zip((t.signature.label for t in tables), work.scorers, strict=True))
    groups: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
    for sentence in costly_sentences(tables, work.scorers, work.corpus, count):
        texts = judged(sentence.system, sentence.line, scorers[sentence.metric], work)
        group = groups.setdefault(f"{sentence.metric}: {sentence.system}", [])
        group.append((sentence.about, texts))
    return groups


def edits_as_read(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
    """Return the edits of a corpus, typed or extracted in the same way as by a metric.

    Args:
        scorer: the metric; the defaults are used for a metric that reads no edits.
    """
    from gecjury.extraction.retyping import typed_corpus_edits

    read = scorer.extraction if isinstance(scorer, ReadsEdits) else ("gold", "embedded")
    return typed_corpus_edits(corpus, *read, runtime)


def one_line(corpus: Corpus, row: int) -> Corpus:
    """Return a corpus with only one of the sentences, without gold edits and context."""
    return replace(corpus.take([row]), gold=None, contexts=None)
