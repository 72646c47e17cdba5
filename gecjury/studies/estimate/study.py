"""How good every system is, from few labels and a metric's scores of all: `gecjury estimate`.

`gecjury.studies.estimate.prediction_powered` has the statistics, `labels` the formats of labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import check_needs, option
from gecjury.core.wording import listed, number
from gecjury.report.result import Column, Reader, Record, Result, Table
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.studies.estimate.labels import Labels, labels_of_benchmark, read_labels
from gecjury.studies.estimate.prediction_powered import LEAST, Interval, Moments, Outputs, filled
from gecjury.studies.study import Study, Takes, Work, function_of

_ODD = 3.3  # standard errors; beyond them, labelled outputs were hardly drawn at random


@dataclass(frozen=True, kw_only=True)
class Estimate(Study):
    """The quality of systems, from people's labels of a few outputs and a metric's scores of all.

    Attributes:
        labels: people's labels: a file of `gecjury annotate`, or of your own judgments (default: a
            benchmark's own judgments).
        human: which rankings of a benchmark (default: its usual view).
        draw: use the labels of N sources, drawn with the seed, and compare with those of all.
        confidence: confidence of the intervals.
        seed: seed of the draw.
    """

    takes: ClassVar[Takes] = "either"
    keeps: ClassVar[bool] = True
    page: ClassVar[bool] = True
    data: ClassVar[str] = (
        "a benchmark, whose judgments are the labels; or a source file and outputs, with --labels"
    )
    labels: str | None = option(None, metavar="FILE")
    human: View | None = option(None, needs={"labels": ()})
    draw: int | None = option(None, metavar="N", least=LEAST)
    confidence: float = option(0.95, metavar="C", above=0, below=1)
    seed: int = option(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_needs(self, "human")

    def check(self, work: Work) -> None:
        """Refuse labels that give no estimate, before a metric costs anything."""
        self._labelled(work)
        super().check(work)

    def run(self, work: Work) -> Result:
        """Score all outputs and correct the scores by the labels.

        Table `rows` has one record per metric and system, the best first: the `estimate` by PPI++
        with its `interval` and standard `error`; the `weight` λ; `labels_alone` and
        `metric_alone`, the means of labels and of scores (which have their own scale), with
        intervals; `labelled` of `sources`; `worth`, the number of labelled sources with which
        labels alone would give the same standard error. With --draw, `all_labels` is the mean of
        the labels of all sources.

        Table `differences` has one record per pair of systems, of which the first is the better
        one, with the same keys; `neighbours` is true if no system is between them.
        """
        labels, drawn = self._labelled(work)
        tables = work.scores()
        rows: list[dict[str, Any]] = []
        differences: list[dict[str, Any]] = []
        notes: list[str] = []
        verdict: list[str] = []
        for scorer, table in zip(work.scorers, tables, strict=True):
            systems, pairs, gain = self._estimates(scorer, table, labels, drawn, notes)
            verdict += self._verdict(systems, pairs, gain)
            rows += systems
            differences += pairs
        notes += (note for one in tables for note in one.statistics.notes)
        notes = list(dict.fromkeys(notes))
        facts = {
            "inputs": work.inputs,
            "labels": labels.origin,
            "label": labels.kind,
            "draw": self.draw,
            "confidence": self.confidence,
            "seed": self.seed,
        }
        several = [Column("metric")] * (len(tables) > 1)
        shown = [self._main_table(rows, labels, work, notes, several)]
        shown += [self._difference_table(differences, several)] if differences else []
        return Result(
            tuple(shown),
            facts,
            tuple(notes),
            int(any(one.unanswered for one in tables)),
            language=work.corpus.language.code,
            title=f"Estimates from few labels{work.named}",
            verdict=tuple(verdict),
        )

    def _labelled(self, work: Work) -> tuple[Labels, FloatArray]:
        """Return all labels, and those that are used, systems × sentences.

        Raises:
            OptionError: there are no labels, or fewer than should be drawn.
            InputError: fewer than `LEAST` sources have labels, or all labels are equal.
        """
        if self.labels:
            labels = read_labels(self.labels, work.corpus)
        elif work.benchmark is not None:
            labels = labels_of_benchmark(work.benchmark, self.human)
        else:
            raise OptionError(
                "no labels: name a file with --labels, or a benchmark that people judged"
            )
        values = labels.values
        if labels.scale[0] == labels.scale[1]:
            present = values[~np.isnan(values)]
            raise InputError(
                f"{labels.origin}: all {len(present)} labels are {present[0]:g}; expected labels "
                "that differ between good outputs and bad ones"
            )
        rows = np.flatnonzero(~np.isnan(values).all(axis=0))
        drawn = values
        if self.draw is not None:
            if self.draw > len(rows):
                raise OptionError(
                    f"--draw {self.draw}: {labels.origin} has labels of {len(rows)} sources"
                )
            chosen = np.random.default_rng(self.seed).choice(rows, self.draw, replace=False)
            drawn = np.full(values.shape, np.nan)
            drawn[:, chosen] = values[:, chosen]
        most = max(np.count_nonzero(~np.isnan(line)) for line in drawn)
        if most < LEAST:
            raise InputError(
                f"{labels.origin}: no system has labels of more than {most} sources; an interval "
                f"needs at least {LEAST}"
            )
        return labels, drawn

    def _estimates(
        self,
        scorer: Scorer,
        table: ScoreTable,
        labels: Labels,
        drawn: FloatArray,
        notes: list[str],
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
        """Return the records of systems and of their pairs by one metric, and its median gain.

        Args:
            table: scores of all outputs.
            drawn: those that are used.
            notes: receives remarks for the reader.
        """
        about = {"metric": table.signature.label, "family": scorer.family}
        scores = labels.predictions(table.settled().sentences)
        try:
            predictions = filled(scores)
        except InputError as error:
            raise InputError(f"{about['metric']}: {error}") from None
        counts = np.count_nonzero(~np.isnan(drawn), axis=1)
        few = [f"{table.systems[n]} ({count})" for n, count in enumerate(counts) if count < LEAST]
        if few:
            notes.append(f"left out because fewer than {LEAST} sources have labels: {listed(few)}")
        if missing := int(np.isnan(scores).sum()):
            notes.append(f"{about['metric']}: {missing} outputs without a score get the mean score")
        outputs = {
            system: Outputs(drawn[system], predictions[system], labels.scale)
            for system in np.flatnonzero(counts >= LEAST).tolist()
        }
        moments = {system: Moments.of(one) for system, one in outputs.items()}
        _check_drawn_at_random(about["metric"], list(moments.values()), notes)
        means = {system: one.estimate(self.confidence) for system, one in moments.items()}
        order = sorted(means, key=lambda system: -means[system].value)
        rows = []
        for system in order:
            # With all scores as labels, this is the mean score with its interval.
            scored = Moments.of(Outputs(predictions[system], predictions[system]))
            row = {
                **about,
                "signature": str(table.signature),
                "system": table.systems[system],
                **self._figures(moments[system]),
                **_figure("metric_alone", scored.alone(self.confidence)),
                "sources": len(predictions[system]),
            }
            if self.draw is not None:
                row["all_labels"] = float(np.nanmean(labels.values[system]))
            rows.append(row)
        pairs = []
        neighbours = set(pairwise(order))
        for one, other in combinations(order, 2):
            row = {
                **about,
                "first": table.systems[one],
                "second": table.systems[other],
                **self._figures(Moments.of(outputs[one], outputs[other])),
                "neighbours": (one, other) in neighbours,
            }
            if self.draw is not None:
                first, second = (float(np.nanmean(labels.values[n])) for n in (one, other))
                row["all_labels"] = first - second
            pairs.append(row)
        return rows, pairs, float(np.median([one.gain for one in means.values()]))

    def _figures(self, moments: Moments) -> dict[str, Any]:
        """Return the figures of a system or of a pair."""
        powered = moments.estimate(self.confidence)
        labelled = int(np.count_nonzero(moments.labelled))
        return {
            **_figure("estimate", powered),
            "error": powered.error,
            "weight": powered.weight,
            **_figure("labels_alone", moments.alone(self.confidence)),
            "labelled": labelled,
            "worth": round(labelled * powered.gain) if math.isfinite(powered.gain) else None,
        }

    def _main_table(
        self,
        rows: Sequence[Record],
        labels: Labels,
        work: Work,
        notes: Sequence[str],
        several: Sequence[Column],
    ) -> Table:
        columns = [
            *several,
            Column("system"),
            Column("estimate", interval="interval"),
            *[Column("all_labels", "all labels")] * (self.draw is not None),
            Column("labels_alone", "labels alone", interval="labels_alone_interval"),
            Column("metric_alone", "metric alone"),
            Column("worth"),
        ]
        more = [Column("labelled"), Column("sources"), Column("error", digits=4), Column("weight")]
        signatures = list(dict.fromkeys(row["signature"] for row in rows))
        scale = "mean score, on the metric's scale"
        if labels.relative:
            scale = "share of the other systems that the output beats by its score"
        how = [
            f"label: {labels.kind} ({labels.origin}); estimate: mean label of all outputs, from "
            "the labelled ones and the metric's scores of all (PPI++); [low, high]: "
            f"{self.confidence:.0%} over sources",
            f"metric alone: {scale}; worth: labelled sources with which labels alone would give "
            "the same standard error",
        ]
        if self.draw is not None:
            how.append(
                f"all labels: mean of the labels of all sources, of which {self.draw} were drawn "
                f"(seed {self.seed})"
            )
        title = f"Estimates from few labels{work.named}"
        brief = Table(columns, rows, title, [*how, *notes, *signatures], "rows")
        whole = replace(brief, columns=[*columns, *more])
        return replace(brief, instead={"verbose": whole})

    def _difference_table(self, rows: Sequence[Record], several: Sequence[Column]) -> Table:
        columns = [
            *several,
            Column("first"),
            Column("second"),
            Column("estimate", "first - second", interval="interval"),
            *[Column("all_labels", "all labels")] * (self.draw is not None),
            Column("labels_alone", "labels alone", interval="labels_alone_interval"),
            Column("worth"),
        ]
        table = Table(columns, rows, "Differences, paired by source", name="differences")
        neighbours = [row for row in rows if row["neighbours"]]
        note = "neighbours in the order of estimates; --verbose has all pairs"
        few = replace(table, rows=neighbours, notes=[note] if len(neighbours) < len(rows) else [])
        instead: dict[Reader, Table] = {"brief": few, "latex": few}
        return replace(table, instead=instead)

    def _verdict(self, rows: Sequence[Record], pairs: Sequence[Record], gain: float) -> list[str]:
        """Return sentences on what a metric gains, and on which system leads by how much.

        Args:
            rows: records of systems by one metric.
            gain: median over the systems.
        """
        label, top = rows[0]["metric"], rows[0]
        labelled = round(float(np.median([row["labelled"] for row in rows])))
        middle = np.median([math.inf if row["worth"] is None else row["worth"] for row in rows])
        worth = round(float(middle)) if np.isfinite(middle) else None
        smaller = 1 - 1 / math.sqrt(gain)
        change = f"{abs(smaller):.0%} {'smaller' if smaller > 0 else 'larger'} than"
        sentences = [
            f"{label}: standard errors are {change if worth != labelled else 'not smaller than'} "
            f"those of labels alone (median): {labelled} labelled sources are worth "
            f"{worth or 'any number'}."
        ]
        if pairs:
            gap = pairs[0]
            (low, high), (least, most) = top["interval"], gap["interval"]
            compared = "is not significantly better"
            if least > 0:
                compared = "is significantly better"
            elif most < 0:
                compared = "is significantly worse"
            sentences.append(
                f"{label}: {top['system']} {'leads' if least > 0 else 'has the highest estimate'}: "
                f"{number(top['estimate'])} ({self.confidence:.0%}: {number(low)} to "
                f"{number(high)}). Paired by source, it {compared} than {gap['second']}: "
                f"{number(gap['estimate'])} ({number(least)} to {number(most)})."
            )
        return sentences


def _check_drawn_at_random(label: str, moments: Sequence[Moments], notes: list[str]) -> None:
    """Note labelled outputs whose scores differ from those of the others."""
    apart = float(np.mean([one.control.value for one in moments]))
    error = float(np.linalg.norm(np.mean([one.control.parts for one in moments], axis=0)))
    if abs(apart) > _ODD * error > 0:
        notes.append(
            f"{label}: labelled outputs have scores {'above' if apart > 0 else 'below'} those of "
            "the others; estimates need labels of sources drawn at random"
        )


def _figure(name: str, one: Interval) -> dict[str, Any]:
    key = "interval" if name == "estimate" else f"{name}_interval"
    return {name: one.value, key: [one.low, one.high]}


estimate = function_of(Estimate)
