"""Systems scored with any metrics: `gecjury score`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError
from gecjury.report.result import Column, Result, Table
from gecjury.report.tables import audit_tables
from gecjury.scoring.error_types import TypeLevel, merged_type, whole_counts
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.settings import option
from gecjury.stats.counts import precision_recall_f
from gecjury.studies.study import Study, Takes, Work, function_of
from gecjury.studies.system_tests import scores_without

_CANDIDATES = 200


@dataclass(frozen=True, kw_only=True)
class Score(Study):
    """Scores of systems by any metrics.

    Attributes:
        sentences: print every sentence's score.
        by_type: also counts by error type: 1 operation (M, R, U), 2 category, 3 both.
        worst: the N sentences that cost most, by system.
    """

    takes: ClassVar[Takes] = "files or dataset"
    keeps: ClassVar[bool] = True
    page: ClassVar[bool] = True
    sentences: bool = False
    by_type: TypeLevel | None = None
    worst: int | None = option(None, metavar="N", least=1, most=10_000)

    def run(self, work: Work) -> Result:
        """Score the systems.

        The records of table `rows` are one a metric and system: `score`, `precision` and `recall`
        where the metric has them, and where they are asked for `sentences` and `by_type` (counts,
        precision, recall and F0.5 by error type). Table `worst` has the sentences that cost most.

        Raises:
            OptionError: counts by error type are asked for, and no metric has them.
        """
        tables = work.scores()
        counts = [type_records(table, self.by_type) if self.by_type else [] for table in tables]
        # Told after scoring: only the statistics say which metrics count types.
        if self.by_type and not any(counts):
            raise OptionError(
                "--by-type: none of the metrics named counts error types; errant does"
            )
        # JSON has what is asked for in the records themselves; people see it in tables of its own.
        rows = [
            self._row(table, number, row, records)
            for table, records in zip(tables, counts, strict=True)
            for number, row in enumerate(table.rows())
        ]
        notes = tuple(dict.fromkeys(note for one in tables for note in one.statistics.notes))
        columns = [Column(key, digits=4) for key in ("system", "metric", "score")]
        parts = [key for key in ("precision", "recall") if any(key in row for row in rows)]
        columns += [Column(key, digits=4) for key in parts]
        signatures = [str(table.signature) for table in tables]
        shown = [Table(columns, rows, notes=[*signatures, *notes], name="rows")]
        if self.sentences:
            shown.append(_sentence_table(tables))
        if self.by_type:
            records = [record for of_metric in counts for record in of_metric]
            shown.append(Table([Column(key) for key in records[0]], records, "By error type"))
        shown += audit_tables(list(tables))
        if self.worst:
            worst = costly_sentences(tables, work.scorers, work.corpus, self.worst)
            shown.append(costly_table(worst))
        audits = {
            str(table.signature): table.statistics.details["audit"]["members"]
            for table in tables
            if "audit" in table.statistics.details
        }
        return Result(
            tuple(shown),
            {"audits": audits} if audits else {},
            notes,
            int(any(table.unanswered for table in tables)),
            language=work.corpus.language.code,
            title=f"Scores of {', '.join(work.corpus.names)}",
        )

    def _row(
        self,
        table: ScoreTable,
        number: int,
        row: dict[str, Any],
        counts: Sequence[dict[str, Any]],
    ) -> dict[str, Any]:
        if self.sentences:
            row["sentences"] = table.sentences[number].tolist()
        about = ("system", "metric", "type")
        by_type = {
            record["type"]: {key: value for key, value in record.items() if key not in about}
            for record in counts
            if record["system"] == row["system"]
        }
        return {**row, "by_type": by_type} if by_type else row


def type_records(table: ScoreTable, level: TypeLevel) -> list[dict[str, Any]]:
    """Return a record for each system and error type, with counts, precision, recall and F0.5.

    Args:
        table: scores of a metric; there are no records where the metric counts no types.
        level: how finely types are told apart.
    """
    records = []
    for system, counts in table.statistics.details.get("by_type", {}).items():
        sums: dict[str, FloatArray] = {}
        for kind, values in counts.items():
            merged = merged_type(kind, level)
            sums[merged] = sums.get(merged, np.zeros(3)) + np.array(values)
        for kind in sorted(sums):
            # Counts are whole numbers but for metrics that weigh edits.
            tp, fp, fn = whole_counts(sums[kind].tolist())
            shares = precision_recall_f(*sums[kind][:, None], beta=0.5)
            precision, recall, score = (float(share[0]) for share in shares)
            records.append(
                {
                    "system": system,
                    "metric": table.signature.label,
                    "type": kind,
                    "tp": tp,
                    "fp": fp,
                    "fn": fn,
                    "precision": precision,
                    "recall": recall,
                    "f0.5": score,
                }
            )
    return records


def _sentence_table(tables: Sequence[ScoreTable]) -> Table:
    # A system may be called `line` or `metric`: its column is then told apart from those.
    systems = tables[0].systems
    keys = [f"system {name}" if name in ("line", "metric") else name for name in systems]
    rows = [
        {
            "line": line,
            "metric": table.signature.label,
            **dict(zip(keys, scores, strict=True)),
        }
        for table in tables
        for line, scores in enumerate(table.sentences.T.tolist(), 1)
    ]
    columns = [Column("line"), Column("metric"), *(Column(key, digits=4) for key in keys)]
    return Table(columns, rows, "Sentence scores")


def costly_table(records: Sequence[dict[str, Any]]) -> Table:
    """Return the table of the sentences that cost most.

    Args:
        records: of `costly_sentences`.
    """
    columns = [Column(key) for key in ("system", "metric", "line")]
    columns += [Column("score", digits=4), Column("cost", digits=5), Column("marked", "correction")]
    note = "cost: by how much the corpus score is higher without the sentence; edits as [old→new]"
    return Table(columns, records, "Sentences that cost most", [note], "worst")


def costly_sentences(
    tables: Sequence[ScoreTable], scorers: Sequence[Scorer], corpus: Corpus, count: int
) -> list[dict[str, Any]]:
    """Return a record for each sentence without which a corpus score would be highest.

    It has the `system`, the `metric`, the `line` from 1 and its `score`; the `cost`, by how much
    the corpus score is higher without it; the `source`; and the correction as `marked`, its edits
    as `[old→new]`.

    Tried are the five times `count`, 200 at least, with the lowest sentence scores, of equal ones
    the longest.

    Args:
        tables: scores of the corpus.
        scorers: what made the tables, in their order.
        corpus: the texts.
        count: how many of each metric and system; fewer where fewer cost anything.
    """
    worst: list[dict[str, Any]] = []
    language = corpus.language
    sizes = [-len(text.split()) for text in corpus.sources]
    for scorer, table in zip(scorers, tables, strict=True):
        for number, system in enumerate(table.systems):
            scores = table.sentences[number].tolist()
            # The lowest scores are the likeliest to cost much; a trial of every line takes long.
            scored = [line for line, score in enumerate(scores) if score == score]
            scored.sort(key=lambda line: (scores[line], sizes[line]))  # at once
            tried = scored[: max(_CANDIDATES, 5 * count)]
            if len(scores) < 2:
                continue  # Without its only sentence a corpus has no score.
            gains = scores_without(scorer, table, tried)[:, number] - table.by_system.score[number]
            costs = np.nan_to_num(gains).tolist()
            order = sorted(zip(costs, tried, strict=True), key=lambda pair: (-pair[0], pair[1]))
            worst += [
                {
                    "system": system,
                    "metric": table.signature.label,
                    "line": line + 1,
                    "score": scores[line],
                    "cost": cost,
                    "source": language.joined(corpus.sources[line]),
                    "marked": corpus.systems[system].marked(corpus.sources[line], line, language),
                }
                for cost, line in order[:count]
                if cost > 0
            ]
    return worst


score = function_of(Score)
