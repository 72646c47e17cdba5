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
from gecjury.report.result import Column, Record, Result, Table
from gecjury.report.verdict import Ranked
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.figure import Figure
from gecjury.studies.estimate.labels import Labels, labels_of_benchmark, read_labels
from gecjury.studies.estimate.prediction_powered import LEAST, Interval, Moments, Outputs, filled
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.study import SCORES, Output, Study, Work, function_of

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

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark, whose judgments are the labels; or a source file and outputs, with --labels"
    )
    keeps: ClassVar[Output | None] = SCORES
    page: ClassVar[bool | str] = True
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
        systems, differences, notes, verdict = list[Record](), list[Record](), [], []
        for scorer, table in zip(work.scorers, tables, strict=True):
            about = {"metric": table.signature.label, "family": scorer.family}
            estimates, gaps, remarks = self._estimates(table, labels, drawn)
            verdict += self._verdict(table.signature.label, estimates, gaps)
            signed = {**about, "signature": str(table.signature)}
            systems += [{**signed, **one.record()} for one in estimates]
            differences += [{**about, **one.record()} for one in gaps]
            notes += remarks
        notes = list(dict.fromkeys([*notes, *(n for t in tables for n in t.statistics.notes)]))
        facts = {
            "inputs": work.inputs,
            "labels": labels.origin,
            "label": labels.kind,
            "draw": self.draw,
            "confidence": self.confidence,
            "seed": self.seed,
        }
        title = f"Estimates from few labels{work.named}"
        about_rows = [*notes, *self._how(labels), *(str(table.signature) for table in tables)]
        metric = [Column("metric")] * (len(tables) > 1)
        columns = [*metric, Column("system"), *self._columns("estimate")]
        more = [Column("labelled"), Column("sources"), Column("error", digits=4), Column("weight")]
        main = Table(columns, systems, title, about_rows, "rows")
        verbose = replace(main, columns=[*columns, *more])
        brief = replace(main, notes=notes, legend=self._legend())
        shown = [replace(main, instead={"verbose": verbose, "brief": brief})]
        if differences:
            columns = [*metric, Column("first"), Column("second"), *self._columns("first - second")]
            shown.append(_difference_table(Table(columns, differences, name="differences")))
        return Result(
            tuple(shown),
            facts,
            tuple(notes),
            int(any(table.unanswered for table in tables)),
            language=work.corpus.language.code,
            title=title,
            verdict=tuple(verdict),
        )

    def html(self, result: Result) -> str:
        """Return the estimates as one page, with a plot for each metric."""
        # Imported here: most results are never written as a page.
        from gecjury.report.page.listed import Details, result_html

        rows = result.rows()
        figures = [
            Figure(
                metric=row["metric"],
                family=row["family"],
                system=row["system"],
                statistic="estimate",
                value=row["estimate"],
                low=row["interval"][0],
                high=row["interval"][1],
            )
            for row in rows
        ]
        systems = len({row["system"] for row in rows})
        title = f"Estimates of {systems} system{'s' * (systems != 1)} from few labels"
        facts = (
            f"{number(max(row['sources'] for row in rows))} sentences",
            f"up to {number(max(row['labelled'] for row in rows))} labelled",
            f"labels: {result.facts['labels']}",
        )
        return result_html(
            replace(result, title=title), Details(kicker="estimates", facts=facts, figures=figures)
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
        self, table: ScoreTable, labels: Labels, drawn: FloatArray
    ) -> tuple[list[Estimated], list[Estimated], list[str]]:
        """Return a metric's estimates of systems, the best first, and of their differences.

        Args:
            table: scores of all outputs.
            drawn: the labels that are used.

        Returns:
            Estimates of systems, and of pairs of them; and remarks for the reader.
        """
        metric, notes = table.signature.label, []
        scores = labels.predictions(table.settled().sentences)
        try:
            predictions = filled(scores)
        except InputError as error:
            raise InputError(f"{metric}: {error}") from None
        counts = np.count_nonzero(~np.isnan(drawn), axis=1)
        few = [f"{table.systems[n]} ({count})" for n, count in enumerate(counts) if count < LEAST]
        if few:
            notes.append(f"left out because fewer than {LEAST} sources have labels: {listed(few)}")
        if missing := int(np.isnan(scores).sum()):
            notes.append(f"{metric}: {missing} outputs without a score get the mean score")
        outputs = {
            system: Outputs(drawn[system], predictions[system], labels.scale)
            for system in np.flatnonzero(counts >= LEAST).tolist()
        }
        moments = {system: Moments.of(one) for system, one in outputs.items()}
        notes += _not_at_random(metric, list(moments.values()))
        known = np.array([np.nanmean(line) if system in outputs else np.nan
                          for system, line in enumerate(labels.values)])  # fmt: skip
        systems = {}
        for system, one in moments.items():
            # With all scores as labels, this is the mean score with its interval.
            scored = Moments.of(Outputs(predictions[system], predictions[system]))
            alone = scored.alone(self.confidence)
            more = {
                "metric_alone": alone.value,
                "metric_alone_interval": alone.bounds,
                "sources": len(predictions[system]),
            }
            names = (table.systems[system],)
            systems[system] = self._estimated(names, one, float(known[system]), more)
        order = sorted(systems, key=lambda system: -systems[system].powered.value)
        neighbours = set(pairwise(order))
        pairs = [
            self._estimated(
                (table.systems[one], table.systems[other]),
                Moments.of(outputs[one], outputs[other]),
                float(known[one] - known[other]),
                {"neighbours": (one, other) in neighbours},
            )
            for one, other in combinations(order, 2)
        ]
        return [systems[system] for system in order], pairs, notes

    def _estimated(
        self, names: tuple[str, ...], moments: Moments, known: float, more: dict[str, Any]
    ) -> Estimated:
        """Return the estimate of a system or of a difference.

        Args:
            known: mean of the labels of all sources.
            more: further entries of the record.
        """
        return Estimated(
            names,
            moments.estimate(self.confidence),
            moments.alone(self.confidence),
            int(np.count_nonzero(moments.labelled)),
            more if self.draw is None else {**more, "all_labels": known},
        )

    def _columns(self, heading: str) -> list[Column]:
        """Return the columns that systems and differences share."""
        return [
            Column("estimate", heading, interval="interval"),
            *[Column("all_labels")] * (self.draw is not None),
            Column("labels_alone", interval="labels_alone_interval"),
            *[Column("metric_alone")] * (heading == "estimate"),
            Column("worth"),
        ]

    def _legend(self) -> str:
        """Return what the columns are, in short."""
        return (
            f"estimate: mean label of all outputs; [low, high]: {self.confidence:.0%} over "
            "sources; worth: labelled sources with which labels alone would have the same error"
        )

    def _how(self, labels: Labels) -> list[str]:
        """Return notes on what the figures are."""
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
        return how

    def _verdict(
        self, metric: str, systems: Sequence[Estimated], pairs: Sequence[Estimated]
    ) -> list[str]:
        """Return sentences on what a metric gains, and on which system leads by how much."""
        labelled = round(float(np.median([one.labelled for one in systems])))
        middle = np.median([math.inf if one.worth is None else one.worth for one in systems])
        worth = round(float(middle)) if np.isfinite(middle) else None
        smaller = 1 - 1 / math.sqrt(float(np.median([one.powered.gain for one in systems])))
        change = f"{abs(smaller):.0%} {'smaller' if smaller > 0 else 'larger'} than"
        if worth == labelled:
            change = "not smaller than"
        elif change.startswith("0%"):
            change = "about as large as"
        gain = (
            f"{metric}: standard errors are {change} those of labels alone (median): {labelled} "
            f"labelled sources are worth {worth or 'any number'}."
        )
        if not pairs:
            return [gain]
        estimates = {one.names[0]: one.powered for one in systems}
        gaps = {(one.names[0], one.names[1]): one.powered for one in pairs}
        ranked = Ranked(
            {system: one.value for system, one in estimates.items()},
            intervals={system: one.bounds for system, one in estimates.items()},
            paired={both: one.bounds for both, one in gaps.items()},
            gaps={both: one.value for both, one in gaps.items()},
            confidence=self.confidence,
        )
        return [gain, f"{metric}: {ranked.verdict()}"]


@dataclass(frozen=True)
class Estimated:
    """An estimate of a system, or of the difference of two.

    Attributes:
        names: the system, or the two systems.
        powered: by PPI++.
        alone: by labels alone.
        labelled: number of sources with a label.
        more: further entries of the record.
    """

    names: tuple[str, ...]
    powered: Interval
    alone: Interval
    labelled: int
    more: dict[str, Any]

    @property
    def worth(self) -> int | None:
        """Labelled sources with which labels alone would give the same error; None for no limit."""
        gain = self.powered.gain
        return round(self.labelled * gain) if math.isfinite(gain) else None

    def record(self) -> dict[str, Any]:
        """Return the estimate for JSON."""
        keys = ("system",) if len(self.names) == 1 else ("first", "second")
        return {
            **dict(zip(keys, self.names, strict=True)),
            "estimate": self.powered.value,
            "interval": self.powered.bounds,
            "error": self.powered.error,
            "weight": self.powered.weight,
            "labels_alone": self.alone.value,
            "labels_alone_interval": self.alone.bounds,
            "labelled": self.labelled,
            "worth": self.worth,
            **self.more,
        }


def _difference_table(pairs: Table) -> Table:
    """Return the table of differences, of which papers show those of neighbours."""
    pairs = replace(pairs, title="Differences, paired by source")
    neighbours = [row for row in pairs.rows if row.get("neighbours")]
    notes = ["neighbours in the order of estimates"] if len(neighbours) < len(pairs.rows) else []
    return replace(pairs, instead={"latex": replace(pairs, rows=neighbours, notes=notes)})


def _not_at_random(metric: str, moments: Sequence[Moments]) -> list[str]:
    """Return a note if labelled outputs have other scores than the rest."""
    apart = float(np.mean([one.control.value for one in moments]))
    error = float(np.linalg.norm(np.mean([one.control.parts for one in moments], axis=0)))
    if not abs(apart) > _ODD * error > 0:
        return []
    return [
        f"{metric}: labelled outputs have scores {'above' if apart > 0 else 'below'} those of "
        "the others; estimates need labels of sources drawn at random"
    ]


estimate = function_of(Estimate)
