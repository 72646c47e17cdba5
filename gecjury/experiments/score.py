"""Any hypotheses scored with any metrics; the numbers of `gecjury score`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gecjury.corpus.edits import differing_spans, marked_edits
from gecjury.corpus.language import ENGLISH, Language
from gecjury.errors import OptionError
from gecjury.experiments.result import ExperimentResult

if TYPE_CHECKING:
    # Nothing that needs numpy is imported before something is scored: `gecjury score --help`
    # reads its choices here and comes at once.
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.corpus.m2 import M2Sentence
    from gecjury.experiments.inputs import Metrics, Texts
    from gecjury.runtime import Runtime
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable

TypeLevel = Literal[1, 2, 3]
"""How finely error types are told apart: 1 operation (M, R, U), 2 category, 3 both."""


@dataclass(frozen=True)
class TypeCounts:
    """A system's edits of one error type, as a metric counts them.

    Attributes:
        system: whose edits.
        metric: the metric's label; `signature`: what made its scores.
        type: the error type.
        tp: right edits; `fp`: wrong ones; `fn`: missed ones (whole numbers, or weights).
    """

    system: str
    metric: str
    signature: str
    type: str
    tp: float
    fp: float
    fn: float

    @property
    def precision(self) -> float:
        """Share of the system's edits that are right; 1 where none was made."""
        return self._shares()[0]

    @property
    def recall(self) -> float:
        """Share of the wanted edits that were made; 1 where none was wanted."""
        return self._shares()[1]

    @property
    def f05(self) -> float:
        """F0.5; 0 where precision and recall are."""
        return self._shares()[2]

    def _shares(self) -> tuple[float, float, float]:
        """Precision, recall and F0.5 by the rule of ERRANT's scorer."""
        import numpy as np

        from gecjury.stats.counts import precision_recall_f

        counts = (np.array(count) for count in (self.tp, self.fp, self.fn))
        precision, recall, score = precision_recall_f(*counts, beta=0.5)
        return float(precision), float(recall), float(score)

    def row(self) -> dict[str, Any]:
        """The counts as a record, without system and metric."""
        precision, recall, score = self._shares()
        return {
            "type": self.type,
            "tp": self.tp,
            "fp": self.fp,
            "fn": self.fn,
            "precision": precision,
            "recall": recall,
            "f0.5": score,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Scored(ExperimentResult):
    """Scores of several systems by several metrics.

    Attributes:
        tables: one a metric, in the order in which the metrics were named.
    """

    tables: tuple[ScoreTable, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the metrics have to say to the user, each remark once."""
        return tuple(dict.fromkeys(n for table in self.tables for n in table.statistics.notes))

    @property
    def audits(self) -> dict[str, Any]:
        """By signature, the audits that metrics left with their scores."""
        return {
            str(table.signature): table.statistics.details["audit"]["members"]
            for table in self.tables
            if "audit" in table.statistics.details
        }

    @property
    def unanswered(self) -> int:
        """How many scores were wanted and not had."""
        return sum(table.unanswered for table in self.tables)

    def rows(
        self, *, sentences: bool = False, by_type: TypeLevel | None = None
    ) -> list[dict[str, Any]]:
        """One record a metric and system.

        Args:
            sentences: also every sentence's score, as a list.
            by_type: also the counts by error type, where a metric counts them.
        """
        rows = []
        counts = self.by_type(by_type) if by_type else []
        for table in self.tables:
            for index, system in enumerate(table.systems):
                row: dict[str, Any] = {
                    "system": system,
                    "metric": table.signature.label,
                    "family": table.signature.family,
                    "signature": str(table.signature),
                    "score": float(table.by_system.score[index]),
                }
                if table.by_system.precision is not None and table.by_system.recall is not None:
                    row["precision"] = float(table.by_system.precision[index])
                    row["recall"] = float(table.by_system.recall[index])
                if sentences:
                    row["sentences"] = table.by_sentence.score[index].tolist()
                own = [
                    c.row() for c in counts if (c.system, c.signature) == (system, row["signature"])
                ]
                if own:
                    row["by_type"] = {entry.pop("type"): entry for entry in own}
                rows.append(row)
        return rows

    def by_type(self, level: TypeLevel) -> list[TypeCounts]:
        """Counts by error type, of the metrics that tell them.

        Raises:
            OptionError: none of the metrics does.
        """
        found = []
        for table in self.tables:
            by_system = table.statistics.details.get("by_type", {})
            for system, counts in by_system.items():
                about = system, table.signature.label, str(table.signature)
                found += [
                    TypeCounts(*about, kind, *whole_counts(values))
                    for kind, values in sorted(_merged(counts, level).items())
                ]
        if not found:
            raise OptionError(
                "--by-type: none of the metrics named counts error types; errant does"
            )
        return found


_CANDIDATES = 200
_TOGETHER = 32  # corpora without one sentence that are scored at once


@dataclass(frozen=True)
class CostlySentence:
    """A sentence that cost a system much.

    Attributes:
        system: whose output.
        metric: the metric's label.
        line: of the sentence, from 1.
        score: of the sentence.
        cost: by how much the corpus score is higher without it.
        source: the sentence that was corrected.
        marked: the correction, its edits as `[old→new]`.
    """

    system: str
    metric: str
    line: int
    score: float
    cost: float
    source: str
    marked: str


def costly_sentences(
    found: Scored, scorers: Sequence[Scorer], corpus: Corpus, count: int
) -> list[CostlySentence]:
    """The sentences without which each corpus score would be highest, by metric and system.

    Tried are the five times `count`, 200 at least, with the lowest sentence scores, of equal ones
    the longest.

    Args:
        found: scores of the corpus.
        scorers: what made its tables, in their order.
        corpus: the texts.
        count: how many of each system, fewer where it has fewer that cost anything.
    """
    worst: list[CostlySentence] = []
    language = corpus.language
    sizes = [-len(text.split()) for text in corpus.sources]
    for scorer, table in zip(scorers, found.tables, strict=True):
        for number, system in enumerate(table.systems):
            scores = table.sentences[number].tolist()
            known = [line for line, score in enumerate(scores) if score == score]
            known.sort(key=lambda line: (scores[line], sizes[line]))  # at once
            tried = known[: max(_CANDIDATES, 5 * count)]
            costs = _costs(scorer, table, number, tried)
            order = sorted(zip(costs, tried, strict=True), key=lambda pair: (-pair[0], pair[1]))
            worst += [
                CostlySentence(
                    system,
                    table.signature.label,
                    line + 1,
                    scores[line],
                    cost,
                    language.joined(corpus.sources[line]),
                    marked_correction(corpus.sources[line], corpus.systems[system], line, language),
                )
                for cost, line in order[:count]
                if cost > 0
            ]
    return worst


def _costs(scorer: Scorer, table: ScoreTable, system: int, lines: Sequence[int]) -> list[float]:
    """By how much a system's corpus score is higher without each of the lines."""
    import numpy as np

    size = table.sentences.shape[1]
    if size < 2:
        return [0.0] * len(lines)
    whole = float(table.by_system.score[system])
    every = np.arange(size)
    costs: list[float] = []
    for start in range(0, len(lines), _TOGETHER):
        draws = np.array([np.delete(every, line) for line in lines[start : start + _TOGETHER]])
        scores = scorer.corpus_scores(table.statistics, draws).score[:, system]
        costs += [float(score) - whole if score == score else 0.0 for score in scores]
    return costs


def marked_correction(
    source: str, version: Version, line: int, language: Language = ENGLISH
) -> str:
    """Return a correction with its edits as `[old→new]`: the file's own, else by the tokens kept.

    Args:
        source: its tokens.
        version: the corrections.
        line: from 0.
        language: of the sentences, which says whether blanks part words.
    """
    tokens = source.split()
    edits = version.edits[line] if version.edits is not None else ()
    shown = edits or differing_spans(tokens, version.lines[line].split())
    return language.joined(marked_edits(tokens, shown))


def merged_type(kind: str, level: TypeLevel) -> str:
    """Return the error type as a level tells types apart."""
    operation, _, category = kind.partition(":")
    return {1: operation, 2: category or kind, 3: kind}[level]


def _merged(counts: Mapping[str, Sequence[float]], level: TypeLevel) -> dict[str, list[float]]:
    """Return true positives, false positives and false negatives by the types of a level."""
    merged: dict[str, list[float]] = {}
    for kind, values in counts.items():
        sums = merged.setdefault(merged_type(kind, level), [0.0, 0.0, 0.0])
        sums[:] = [a + b for a, b in zip(sums, values, strict=True)]
    return merged


def whole_counts(counts: Iterable[float]) -> tuple[float, float, float]:
    """Return TP, FP and FN as whole numbers, sums of weights as they are."""
    tp, fp, fn = (int(v) if float(v).is_integer() else float(v) for v in counts)
    return tp, fp, fn


def score(
    texts: Texts,
    hypotheses: Mapping[str, Sequence[str]] | None = None,
    references: Sequence[Sequence[str]] = (),
    *,
    metrics: Metrics,
    gold: Sequence[M2Sentence] | None = None,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> Scored:
    """Score systems with several metrics.

    Whatever can be refused (a metric, the texts, the folder) is refused before any scoring.

    Args:
        texts: N tokenised sources; or a corpus, a benchmark or a benchmark's name, which bring
            their own hypotheses and references.
        hypotheses: system name → N sentences.
        references: R lists of N sentences; one list of strings counts as one reference.
        metrics: names, with options as on the command line, or scorers.
        gold: N M2 blocks, for metrics that match gold edits; without references they give these.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric, option or benchmark.
        InputError: texts that do not belong together, or that lack what a metric needs.
        OutputError: the folder cannot be written.
    """
    from gecjury.experiments.inputs import corpus_of, scorers_of
    from gecjury.runtime import Runtime
    from gecjury.scoring.score_files import check_writable, score_with_files

    scorers = scorers_of(metrics)
    corpus = corpus_of(texts, hypotheses, references, gold)
    for scorer in scorers:
        scorer.check(corpus)
    if folder:
        check_writable(folder)
    runtime = runtime or Runtime()
    return Scored(tuple(score_with_files(one, corpus, folder or None, runtime) for one in scorers))
