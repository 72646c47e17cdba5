"""A worker, which scores a shard, writes its part and returns its summary.

`python -m gecjury.datasets.work` is a worker for another process; see `gecjury.core.processes`.
"""

from __future__ import annotations

import gc
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.processes import serve_standard_streams
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.references import empty_note, meant_references
from gecjury.corpus.remarks import language_remark
from gecjury.corpus.tokens import in_language
from gecjury.datasets.output import side_path, write_kept, write_part, written
from gecjury.datasets.rows import Batch, RowReader
from gecjury.datasets.shards import Kept, Shard, ShardJob, ShardSummary, Total
from gecjury.scoring.abilities import HasParts, Sums, asks, part_names
from gecjury.scoring.conditions import parse_condition
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer

MANY_REFERENCES = (
    "with several references per sentence, the corpus score chooses them by running sums over the "
    "whole corpus"
)
"""The reason why a metric that can be summed with one reference cannot be with several."""

_TOLD = 20  # remarks of metrics that are kept
_BLAMED = 16  # rows that a metric may refuse in a batch before the batch itself is at fault


def column_name(system: str, label: str, part: str = "") -> str:
    """Return the name of a column of results: `green`, `green.recall`, `mine.green`."""
    return ".".join(filter(None, (system, label, part)))


class _ShardMetric(NamedTuple):
    """A metric, its name in the results, and how it is run."""

    scorer: Scorer
    label: str
    runtime: Runtime


@dataclass
class _ShardTally:
    """The results of a shard's rows so far."""

    ids: list[str] = field(default_factory=list)
    columns: dict[str, list[FloatArray]] = field(default_factory=dict)
    bad: list[dict[str, object]] = field(default_factory=list)
    bad_rows: int = 0
    nulls: dict[str, Counter[str]] = field(default_factory=dict)
    sums: dict[str, FloatArray] = field(default_factory=dict)
    no_total: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    kept: list[int] = field(default_factory=list)
    removed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a remark; of remarks that differ only in numbers, keep the first."""
        if len(self.notes) < _TOLD:
            self.notes.setdefault(re.sub(r"\d+", "#", text), text)


class Worker:
    """A worker for shards of one job; metrics are loaded once, their models when first used."""

    def __init__(self, job: ShardJob) -> None:
        self._job = job
        self._systems = list(job.hypotheses)
        runtime = from_record(Runtime, {**job.runtime, "workers": 1})
        # Rows are read once, so edits and vectors are not cached; replies of servers cost money.
        bare = replace(runtime, use_cache=False)
        self._metrics = []
        for name, label in zip(job.metrics, job.labels, strict=True):
            scorer = load(name)
            paid = asks(scorer) or scorer.family == "jury"
            self._metrics.append(_ShardMetric(scorer, label, runtime if paid else bare))
        self._condition = parse_condition(job.keep) if job.keep else None
        self._reader = RowReader(job)

    def finish(self, shard: Shard) -> ShardSummary:
        """Score a shard and write its part completely or not at all.

        Finishing a shard twice writes the same bytes twice.

        Raises:
            InputError: the file has changed or cannot be read.
            OutputError: the part cannot be written.
        """
        start = time.perf_counter()
        conditions = self._condition.parts if self._condition else ()
        tally = _ShardTally(removed=[0] * len(conditions), failed=[0] * len(conditions))
        for batch in self._reader.batches(shard):
            self._score(batch, tally)
            self._tell(batch, tally)
            # Numbers are kept until the part is complete; texts are dropped with their batch.
            tally.ids += batch.ids
            for name, values in batch.columns.items():
                tally.columns.setdefault(name, []).append(values)
            if conditions:
                tally.kept += self._kept(batch, tally)
        summary = ShardSummary(
            shard.number,
            len(tally.ids),
            tally.bad_rows,
            {column: dict(sorted(tally.nulls[column].items())) for column in sorted(tally.nulls)},
            {metric.label: self._total(metric.label, tally) for metric in self._metrics},
            Kept(len(tally.kept), tuple(tally.removed), tuple(tally.failed)),
            tuple(tally.notes.values()),
        )
        # The part is written last, since it means that the other files of the shard are complete.
        if conditions:
            write_kept(self._job, shard, self._reader.kept(shard, tally.kept))
        self._write_bad(shard, tally.bad)
        whole = {name: np.concatenate(parts) for name, parts in tally.columns.items()}
        write_part(self._job, shard, tally.ids, whole, summary)
        return replace(summary, seconds=time.perf_counter() - start)

    def _write_bad(self, shard: Shard, records: Sequence[Mapping[str, object]]) -> None:
        """Write the records of bad rows, if there are any."""
        path = side_path(self._job, shard)
        path.unlink(missing_ok=True)
        if records:
            lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
            with written(Path(self._job.folder), path) as file:
                file.write("".join(lines).encode("utf-8"))

    def _total(self, label: str, tally: _ShardTally) -> Total:
        """Return the sums of a metric's corpus score, or the reason why there are none."""
        if label in tally.no_total or label not in tally.sums:
            return Total(why=tally.no_total.get(label, ""))
        return Total(dict(zip(self._systems, tally.sums[label].tolist(), strict=True)))

    def _score(self, batch: Batch, tally: _ShardTally) -> None:
        """Fill the columns of a batch, N numbers each; NaN where there is no score."""
        batch.columns = {
            column_name(system, metric.label, part): np.full(len(batch), np.nan)
            for system in self._systems
            for metric in self._metrics
            for part in ("", *part_names(metric.scorer))
        }
        for piece in batch.pieces():
            rows = [row for row in range(piece.start, piece.stop) if row not in batch.bad]
            # A corpus must have the same number of references for every sentence.
            for count in sorted({len(batch.references[row]) for row in rows}):
                chosen = [row for row in rows if len(batch.references[row]) == count]
                corpus = self._corpus(batch, chosen)
                if unparted := language_remark(corpus):
                    tally.note(f"some sources: {unparted}")
                for note in corpus.reading_notes:
                    tally.note(note)
                for version in corpus.references:
                    for note in filter(None, (version.note, empty_note(version, corpus.sources))):
                        tally.note(f"some references: {note}")
                for metric in self._metrics:
                    self._score_rows(metric, batch, chosen, corpus, tally)

    def _score_rows(
        self,
        metric: _ShardMetric,
        batch: Batch,
        rows: list[int],
        corpus: Corpus,
        tally: _ShardTally,
    ) -> None:
        """Score rows with one metric; rows that it refuses are found by bisection."""
        try:
            statistics = metric.scorer.counted(corpus, metric.runtime)
        except InputError as error:
            # With this many refused rows, the metric itself probably cannot work here.
            if len(batch.refused) >= _BLAMED:
                raise
            if len(rows) == 1:
                batch.refused[rows[0], metric.label] = str(error)
                return
            # One bad row among thousands is found in a dozen steps, and all others are scored.
            middle = len(rows) // 2
            for half in (rows[:middle], rows[middle:]):
                self._score_rows(metric, batch, half, self._corpus(batch, half), tally)
            return
        # Sums are kept, not scores: a corpus score is not the mean of the scores of its parts.
        scorer = metric.scorer
        if isinstance(scorer, Sums) and scorer.adds_up(len(corpus.references)):
            totals = scorer.totals(statistics)
            tally.sums[metric.label] = tally.sums.get(metric.label, 0.0) + totals
        elif len(corpus.references) > 1:
            tally.no_total[metric.label] = MANY_REFERENCES
        else:
            tally.no_total[metric.label] = "it cannot be combined from parts"
        scores = scorer.sentence_scores(statistics)
        shown = {"": scores.score}
        if isinstance(scorer, HasParts):
            shown |= scorer.parts(statistics, scores)
        for index, system in enumerate(self._systems):
            for part, values in shown.items():
                batch.columns[column_name(system, metric.label, part)][rows] = values[index]
        for note in statistics.notes:
            tally.note(f"{metric.label}, of some rows: {note}")

    def _corpus(self, batch: Batch, rows: Sequence[int]) -> Corpus:
        def chosen(lines: list[str]) -> tuple[str, ...]:
            return tuple(map(lines.__getitem__, rows))

        systems = {
            system: Version(chosen(lines))
            for system, lines in zip(self._systems, batch.hypotheses, strict=True)
        }
        references = zip(*map(batch.references.__getitem__, rows), strict=True)
        sources = chosen(batch.sources)
        versions = tuple(meant_references(Version(lines), sources) for lines in references)
        return in_language(Corpus(sources, systems, versions), self._job.language)

    def _tell(self, batch: Batch, tally: _ShardTally) -> None:
        """Record bad rows, and good ones that a metric gave no score."""
        reasons: dict[int, list[str]] = {row: [why] for row, why in batch.bad.items()}
        for metric in self._metrics:
            for system in self._systems:
                column = column_name(system, metric.label)
                for row in np.flatnonzero(np.isnan(batch.columns[column])).tolist():
                    why = batch.bad.get(row)
                    if why is None:
                        why = batch.refused.get((row, metric.label), "no score")
                        reasons.setdefault(row, []).append(f"{column}: {why}")
                    # Counted without details that differ between rows, such as lengths.
                    kind = why.partition(" (")[0].partition(":")[0]
                    tally.nulls.setdefault(column, Counter())[kind] += 1
        tally.bad_rows += len(batch.bad)
        for row in sorted(reasons):
            record = {"file": batch.file, "row": batch.first + row + 1, "id": batch.ids[row]}
            tally.bad.append({**record, "reason": "; ".join(reasons[row])})

    def _kept(self, batch: Batch, tally: _ShardTally) -> list[int]:
        """Return the places in their file of a batch's rows that fulfil the condition."""
        assert self._condition is not None
        left = np.ones(len(batch), dtype=bool)
        for number, part in enumerate(self._condition.parts):
            holds = part.holds(batch.columns)
            tally.failed[number] += int((~holds).sum())
            tally.removed[number] += int((left & ~holds).sum())
            left &= holds
        return (batch.first + np.flatnonzero(left)).tolist()


def _answers() -> Callable[[Mapping[str, object]], dict[str, object] | None]:
    """Return a function for the driver's messages: the job gives None, a shard its summary."""
    worker: Worker | None = None

    def answer(question: Mapping[str, object]) -> dict[str, object] | None:
        nonlocal worker
        if worker is None:
            worker = Worker(from_record(ShardJob, question))
            gc.freeze()  # what is loaded stays, so the garbage collector need not search it
            return None
        return asdict(worker.finish(from_record(Shard, question)))

    return answer


if __name__ == "__main__":
    serve_standard_streams(_answers)
