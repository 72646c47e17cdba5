"""Estimate system quality from few labels and a metric's scores of all: `gecjury estimate`.

`gecjury.studies.estimate.prediction_powered` has the statistics, `labels` the formats of labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import check_needs, option
from gecjury.core.wording import listed, number
from gecjury.report.result import Column, Reader, Record, Result, Table
from gecjury.scoring.scores import ScoreTable
from gecjury.studies.estimate.labels import Labels, labels_of_benchmark, read_labels
from gecjury.studies.estimate.prediction_powered import (
    LEAST,
    Forecast,
    Interval,
    Moments,
    Outputs,
    Verdicts,
    disagree,
    filled,
)
from gecjury.studies.study import Study, Takes, Work, function_of

_MOST_PAIRED = 200  # systems; with more, only neighbours are compared instead of all pairs
_SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)  # labelled sources of the curve
_ODD = 3.3  # standard errors; beyond them, labelled outputs were hardly drawn at random
_ALL = "all corrections"


@dataclass(frozen=True, kw_only=True)
class Estimate(Study):
    """The quality of systems, from people's labels of a few outputs and a metric's scores of all.

    Attributes:
        labels: people's labels: a file of `gecjury annotate`, of your own judgments, or of ratings
            as `train some` reads them (default: a benchmark's own judgments).
        human: which rankings of a benchmark (default: its usual view).
        aspect: which aspect of ratings (default: the mean of all).
        good: labels of at least R count as 1, the others as 0.
        binary: scores of at least T count as the verdict good, the others as bad; labels must be 0
            or 1. Adds Rogan and Gladen's estimate.
        draw: use the labels of N sources, drawn with the seed, and compare with those of all.
        widths: the width that an interval should reach; repeat for more.
        weight: of the scores: 0 for labels alone, 1 for scores as they are (default: the weight
            with the narrowest interval).
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
    aspect: str = option("", metavar="NAME")
    good: float | None = option(None, metavar="R")
    binary: float | None = option(None, metavar="T")
    draw: int | None = option(None, metavar="N", least=LEAST)
    widths: tuple[float, ...] = option((), "--width", metavar="W", above=0)
    weight: float | None = option(None, metavar="L", least=0, most=1)
    confidence: float = option(0.95, metavar="C", within=(0, 1))
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
        intervals; `labelled` of `sources`; `explained`, the share of the labels' variance that the
        scores explain; `worth`, the number of labelled sources with which labels alone would give
        the same standard error. With --draw, `all_labels` is the mean of the labels of all sources.
        With --binary, there are `rogan_gladen` and its interval.

        Table `differences` has one record per pair of systems, of which the first is the better
        one, with the same keys; `neighbours` is true if no system is between them. `curve` has the
        medians of widths by the number of labelled sources, `needed` that number for the requested
        widths, and `verdicts` sensitivity and specificity.
        """
        labels, drawn = self._labelled(work)
        tables = work.scores()
        parts = [
            _Part(self, work, labels, drawn, scorer.family, table)
            for scorer, table in zip(work.scorers, tables, strict=True)
        ]
        rows = [row for part in parts for row in part.rows]
        differences = [row for part in parts for row in part.differences]
        curve = [row for part in parts for row in part.curve()]
        needed = [row for part in parts for row in part.needed()]
        verdicts = [row for part in parts for row in part.verdicts()]
        notes = [note for part in parts for note in part.notes]
        notes += [*labels.notes, *(note for one in tables for note in one.statistics.notes)]
        notes = list(dict.fromkeys(notes))
        facts = {
            "inputs": work.inputs,
            "labels": labels.origin,
            "label": labels.kind,
            "draw": self.draw,
            "binary": self.binary,
            "confidence": self.confidence,
            "seed": self.seed,
        }
        several = len(tables) > 1
        shown = [
            self._main_table(rows, labels, work, notes, several),
            *([self._difference_table(differences, several)] if differences else []),
            _curve_table(curve, several),
        ]
        shown += [_needed_table(needed, several)] if needed else []
        shown += [_verdict_table(verdicts)] if verdicts else []
        return Result(
            tuple(shown),
            facts,
            tuple(notes),
            int(any(one.unanswered for one in tables)),
            language=work.corpus.language.code,
            title=f"Estimates from few labels{work.named}",
            verdict=tuple(sentence for part in parts for sentence in part.sentences()),
        )

    def html(self, result: Result) -> str:
        """Return the result as one page, with the intervals of systems and of neighbours drawn."""
        from gecjury.report.page.listed import tables_html

        return tables_html(result, _plots(result))

    def _labelled(self, work: Work) -> tuple[Labels, FloatArray]:
        """Return all labels, and those that are used, systems × sentences.

        Raises:
            OptionError: there are no labels, or fewer than should be drawn.
            InputError: fewer than `LEAST` sources have labels, all labels are equal, or labels
                other than 0 and 1 are used with --binary.
        """
        if self.labels:
            labels = read_labels(self.labels, work.corpus, self.aspect)
        elif work.benchmark is not None:
            labels = labels_of_benchmark(work.benchmark, self.human, self.aspect)
        else:
            raise OptionError(
                "no labels: name a file with --labels, or a benchmark that people judged"
            )
        if labels.relative and _places(work):
            raise InputError(
                f"{labels.origin}: rankings of corrections from unknown systems always average one "
                "half; expected ratings"
            )
        if self.good is not None:
            labels = labels.of_good(self.good)
        values = labels.values
        present = values[~np.isnan(values)]
        if not len(present):
            raise InputError(f"{labels.origin}: no label matches an output")
        out_of_reach = self.good is not None and present.max() == 0
        if labels.scale[0] == labels.scale[1] or out_of_reach:
            raise InputError(
                f"{labels.origin}: all {len(present)} labels are {present[0]:g}; expected labels "
                "that differ between good outputs and bad ones, or --good R, the lowest label of a "
                "good output, for the share of good outputs"
            )
        odd = present[(present != 0) & (present != 1)]
        if self.binary is not None and len(odd):
            raise InputError(
                f"{labels.origin}: a label is {odd[0]:g}, and --binary expects 0 or 1; set the "
                "lowest label of a good output with --good R"
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
        if _places(work):
            most = np.count_nonzero(~np.isnan(drawn).all(axis=0))
        if most < LEAST:
            raise InputError(
                f"{labels.origin}: no system has labels of more than {most} sources; an interval "
                f"needs at least {LEAST}"
            )
        return labels, drawn

    def _main_table(
        self,
        rows: Sequence[Record],
        labels: Labels,
        work: Work,
        notes: Sequence[str],
        several: bool,
    ) -> Table:
        extra = [Column("all_labels", "all labels")] * (self.draw is not None)
        corrected = [Column("rogan_gladen", "Rogan-Gladen", interval="rogan_gladen_interval")]
        columns = [
            *([Column("metric")] * several),
            Column("system"),
            Column("estimate", interval="interval"),
            *extra,
            *(corrected * (self.binary is not None)),
            Column("labels_alone", "labels alone", interval="labels_alone_interval"),
            Column("metric_alone", "metric alone"),
            Column("worth"),
        ]
        more = [
            Column("labelled"),
            Column("sources"),
            Column("error", digits=4),
            Column("weight"),
            Column("explained"),
        ]
        signatures = list(dict.fromkeys(row["signature"] for row in rows))
        scale = "mean score, on the metric's scale"
        if labels.relative:
            scale = "share of the other systems that the output beats by its score"
        if self.binary is not None:
            scale = f"share of outputs that it scores at least {self.binary:g}"
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

    def _difference_table(self, rows: Sequence[Record], several: bool) -> Table:
        columns = [
            *([Column("metric")] * several),
            Column("first"),
            Column("second"),
            Column("estimate", "first - second", interval="interval"),
            *([Column("all_labels", "all labels")] * (self.draw is not None)),
            *(
                [Column("rogan_gladen", "Rogan-Gladen", interval="rogan_gladen_interval")]
                * (self.binary is not None)
            ),
            Column("labels_alone", "labels alone", interval="labels_alone_interval"),
            Column("worth"),
        ]
        title = "Differences, paired by source"
        table = Table(columns, rows, title, name="differences")
        neighbours = [row for row in rows if row["neighbours"]]
        note = "neighbours in the order of estimates; --verbose has all pairs"
        few = replace(table, rows=neighbours, notes=[note] if len(neighbours) < len(rows) else [])
        instead: dict[Reader, Table] = {"brief": few, "latex": few}
        return replace(table, instead=instead)


def _places(work: Work) -> bool:
    """Return whether the systems of the corrections are unknown."""
    return work.benchmark is not None and work.benchmark.places


@dataclass
class _Part:
    """The estimates by one metric.

    Attributes:
        rows: records of systems.
        differences: records of pairs of systems.
        notes: remarks for the reader.
        gains: gains of the systems, see `Interval.gain`.
    """

    study: Estimate
    work: Work
    labels: Labels
    drawn: FloatArray
    family: str
    table: ScoreTable
    rows: list[dict[str, Any]] = field(default_factory=list)
    differences: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)
    _forecasts: dict[str, list[Forecast]] = field(default_factory=dict)
    _verdicts: Verdicts | None = None

    def __post_init__(self) -> None:
        label, threshold = self.table.signature.label, self.study.binary
        scores = self.table.settled().sentences
        if threshold is None:
            scores = self.labels.predictions(scores)
        else:
            scores = np.where(np.isnan(scores), np.nan, scores >= threshold)
        try:
            predictions = filled(scores)
        except InputError as error:
            raise InputError(f"{label}: {error}") from None
        groups = self._groups(predictions)
        groups = self._without_few(groups)
        if missing := int(np.isnan(scores).sum()):
            self.notes.append(f"{label}: {missing} outputs without a score get the mean score")
        if threshold is not None:
            systems = [outputs for outputs, _, _ in self._groups(scores).values()]
            try:
                self._verdicts = Verdicts.of(systems)
            except InputError as error:
                raise InputError(f"{self.labels.origin}: {error}") from None
            if self._verdicts.informedness.value <= 0:
                self.notes.append(
                    f"{label}: its verdicts are no better than chance on the labelled outputs: no "
                    "Rogan-Gladen estimate"
                )
        self._check_drawn_at_random(list(groups.values()))
        self._estimate(groups)

    def _groups(self, predictions: FloatArray) -> dict[str, tuple[Outputs, FloatArray, int]]:
        """Return outputs, all labels and a number by system; unknown systems form one group."""
        names = self.table.systems
        if _places(self.work):
            # Places without a correction repeat another one, and have no label.
            kept = ~np.isnan(self.labels.values)
            every = range(len(names))
            return {_ALL: (*self._outputs(predictions, every, kept), 0)}
        kept = np.ones(predictions.shape, dtype=np.bool_)
        return {
            name: (*self._outputs(predictions, [row], kept), row) for row, name in enumerate(names)
        }

    def _outputs(
        self, predictions: FloatArray, rows: Sequence[int], kept: BoolArray
    ) -> tuple[Outputs, FloatArray]:
        chosen = list(rows)
        cells = kept[chosen]
        sources = np.broadcast_to(np.arange(cells.shape[1]), cells.shape)[cells]
        outputs = Outputs(
            self.drawn[chosen][cells], predictions[chosen][cells], sources, self.labels.scale
        )
        return outputs, self.labels.values[chosen][cells]

    def _without_few(
        self, groups: dict[str, tuple[Outputs, FloatArray, int]]
    ) -> dict[str, tuple[Outputs, FloatArray, int]]:
        """Return the systems with enough labels; notes name the others."""
        counts = {name: outputs.labelled_sources for name, (outputs, _, _) in groups.items()}
        left_out = [f"{name} ({count})" for name, count in counts.items() if count < LEAST]
        if left_out:
            self.notes.append(
                f"left out because fewer than {LEAST} sources have labels: {listed(left_out)}"
            )
        return {name: group for name, group in groups.items() if counts[name] >= LEAST}

    def _check_drawn_at_random(self, groups: Sequence[tuple[Outputs, FloatArray, int]]) -> None:
        """Note labelled outputs whose scores differ from those of the others."""
        labels, predictions, sources = (
            np.concatenate(parts)
            for parts in zip(
                *((one.labels, one.predictions, one.sources) for one, _, _ in groups), strict=True
            )
        )
        every = Outputs(labels, predictions, sources)
        control = Moments.of(every).control
        if abs(control.value) > _ODD * float(np.linalg.norm(control.parts)) > 0:
            self.notes.append(
                f"{self.table.signature.label}: labelled outputs have scores "
                f"{'above' if control.value > 0 else 'below'} those of the others; estimates need "
                "labels of sources drawn at random"
            )

    def _estimate(self, groups: dict[str, tuple[Outputs, FloatArray, int]]) -> None:
        """Fill rows and differences."""
        study = self.study
        moments = {name: Moments.of(outputs) for name, (outputs, _, _) in groups.items()}
        values = {name: one.estimate(weight=study.weight).value for name, one in moments.items()}
        order = sorted(moments, key=lambda name: -values[name])
        equal, strange = [], []
        for name in order:
            outputs, every, number_of = groups[name]
            # With all scores as labels, this is the mean score with its interval.
            alone = Moments.of(Outputs(outputs.predictions, outputs.predictions, outputs.sources))
            row = {
                "metric": self.table.signature.label,
                "family": self.family,
                "signature": str(self.table.signature),
                "system": name,
                **self._figures("system", moments[name], number_of, None, level=0.05 / len(order)),
                **_figure("metric_alone", alone.estimate(study.confidence, weight=0)),
                "sources": moments[name].scored,
            }
            if study.draw is not None:
                row["all_labels"] = float(np.nanmean(every))
            judged = outputs.labels[outputs.labelled]
            equal += [name] * bool((judged == judged[0]).all())
            strange += [name] * row.pop("_strange", False)
            self.rows.append(row)
        if equal:
            self.notes.append(
                "all labels are equal, so the interval follows only from their number and scale: "
                f"{listed(equal)}"
            )
        if strange:
            self.notes.append(
                f"{self.table.signature.label}: Rogan-Gladen and PPI++ differ significantly for "
                f"{listed(strange)}: the errors of the verdicts differ there from those on all "
                "systems"
            )
        pairs = combinations(order, 2) if len(order) <= _MOST_PAIRED else pairwise(order)
        neighbours = set(pairwise(order))
        for one, other in pairs:
            (first, every, a), (second, others, b) = groups[one], groups[other]
            row = {
                "metric": self.table.signature.label,
                "family": self.family,
                "first": one,
                "second": other,
                **self._figures("difference", Moments.of(first, second), a, b),
                "neighbours": (one, other) in neighbours,
            }
            if study.draw is not None:
                row["all_labels"] = float(np.nanmean(every) - np.nanmean(others))
            self.differences.append(row)

    def _figures(
        self, kind: str, moments: Moments, first: int, second: int | None, level: float = 0.05
    ) -> dict[str, Any]:
        """Return the figures of a system or of a pair, and keep its forecast."""
        study = self.study
        powered = moments.estimate(study.confidence, study.weight)
        alone = moments.estimate(study.confidence, weight=0)
        forecast = moments.forecast(study.confidence)
        self._forecasts.setdefault(kind, []).append(forecast)
        labelled = np.count_nonzero(moments.labelled)
        if second is None:
            self.gains.append(powered.gain)
        figures: dict[str, Any] = {
            **_figure("estimate", powered),
            "error": powered.error,
            "weight": powered.weight,
            **_figure("labels_alone", alone),
            "labelled": int(labelled),
            "explained": forecast.explained,
            "worth": round(labelled * powered.gain) if math.isfinite(powered.gain) else None,
        }
        if self._verdicts is not None:
            corrected = self._verdicts.estimate(first, second, study.confidence)
            nothing = Interval(math.nan, math.nan, math.nan, math.nan)
            figures |= _figure("rogan_gladen", corrected or nothing)
            if corrected is not None and second is None and powered.parts.any():
                figures["_strange"] = disagree(corrected, powered, level)
        return figures

    def curve(self) -> Iterator[dict[str, Any]]:
        """Yield median widths of intervals by the number of labelled sources."""
        for kind, forecasts in self._forecasts.items():
            sources = min(one.sources for one in forecasts)
            for labelled in (*(size for size in _SIZES if size < sources), sources):
                if labelled < LEAST:
                    continue
                widths = [
                    float(np.median([one.width(labelled, alone=alone) for one in forecasts]))
                    for alone in (True, False)
                ]
                yield {
                    "metric": self.table.signature.label,
                    "of": kind,
                    "labelled": labelled,
                    "labels_alone": widths[0],
                    "with_metric": widths[1],
                }

    def needed(self) -> Iterator[dict[str, Any]]:
        """Yield the labelled sources that every width needs, medians over systems or pairs."""
        for width in self.study.widths:
            for kind, forecasts in self._forecasts.items():
                alone, helped = (
                    _median([one.needed(width, alone=alone) for one in forecasts])
                    for alone in (True, False)
                )
                yield {
                    "metric": self.table.signature.label,
                    "of": kind,
                    "width": width,
                    "labels_alone": alone,
                    "with_metric": helped,
                    "sources": min(one.sources for one in forecasts),
                }

    def verdicts(self) -> Iterator[dict[str, Any]]:
        """Yield the errors of binary verdicts, if there are any."""
        if self._verdicts is not None:
            yield {
                "metric": self.table.signature.label,
                "threshold": self.study.binary,
                "sensitivity": self._verdicts.sensitivity.value,
                "specificity": self._verdicts.specificity.value,
                "informedness": self._verdicts.informedness.value,
            }

    def sentences(self) -> Iterator[str]:
        """Yield what the metric gains, and which system leads by how much."""
        label, confidence = self.table.signature.label, self.study.confidence
        labelled = round(float(np.median([row["labelled"] for row in self.rows])))
        worth = _median([row["worth"] for row in self.rows])
        smaller = 1 - 1 / math.sqrt(float(np.median(self.gains)))
        change = f"{abs(smaller):.0%} {'smaller' if smaller > 0 else 'larger'} than"
        yield (
            f"{label}: standard errors are {change if worth != labelled else 'not smaller than'} "
            f"those of labels alone (median): {labelled} labelled sources are worth "
            f"{worth or 'any number'}."
        )
        if not self.differences:
            return
        top, gap = self.rows[0], self.differences[0]
        bounds = [number(bound) for bound in (*top["interval"], *gap["interval"])]
        estimate = f"{number(top['estimate'])} ({confidence:.0%}: {bounds[0]} to {bounds[1]})"
        low, high = gap["interval"]
        if low > 0:
            verb, compared = "leads", "is significantly better"
        else:
            verb = "has the highest estimate"
            compared = f"is {'significantly worse' if high < 0 else 'not significantly better'}"
        yield (
            f"{label}: {top['system']} {verb}: {estimate}. Paired by source, it {compared} than "
            f"{gap['second']}: {number(gap['estimate'])} ({bounds[2]} to {bounds[3]})."
        )


def _figure(name: str, one: Interval) -> dict[str, Any]:
    key = "interval" if name == "estimate" else f"{name}_interval"
    return {name: one.value, key: [one.low, one.high]}


def _median(counts: Sequence[int | None]) -> int | None:
    """Return the median of counts, with None as infinity; None if the median is infinite."""
    middle = float(np.median([math.inf if count is None else count for count in counts]))
    return round(middle) if math.isfinite(middle) else None


def _curve_table(rows: Sequence[Record], several: bool) -> Table:
    columns = [
        *([Column("metric")] * several),
        Column("of", "interval of a"),
        Column("labelled"),
        Column("labels_alone", "labels alone"),
        Column("with_metric", "with metric"),
    ]
    note = "medians over systems and over pairs of systems, forecast from the labels at hand"
    return Table(columns, rows, "Width of intervals by labelled sources", [note], "curve")


def _needed_table(rows: Sequence[Record], several: bool) -> Table:
    columns = [
        *([Column("metric")] * several),
        Column("of", "interval of a"),
        Column("width"),
        Column("labels_alone", "labels alone"),
        Column("with_metric", "with metric"),
        Column("sources"),
    ]
    note = "– with metric: even labels of all sources would give a wider interval"
    notes = [note] if any(row["with_metric"] is None for row in rows) else []
    return Table(columns, rows, "Labelled sources needed for a width", notes, "needed")


def _verdict_table(rows: Sequence[Record]) -> Table:
    columns = [Column(key) for key in ("metric", "threshold")]
    columns += [Column(key) for key in ("sensitivity", "specificity", "informedness")]
    note = (
        "on the labelled outputs of all systems, one right and one wrong verdict added to each; "
        "informedness: sensitivity + specificity - 1"
    )
    return Table(columns, rows, "Errors of the verdicts", [note], "verdicts")


def _plots(result: Result) -> list[tuple[str, str, Any]]:
    """Return pictures of intervals: of systems and of neighbours, for each metric."""
    from gecjury.report.figure import Figure
    from gecjury.report.page.pictures import picture
    from gecjury.report.page.svg import intervals
    from gecjury.scoring.options import short_names

    plots = []
    metrics = dict.fromkeys(row["metric"] for row in result.rows())
    names = short_names(metrics)
    pairs = [table for table in result.tables if table.name == "differences"]
    neighbours = [row for table in pairs for row in table.seen_by("brief").rows]
    for metric in metrics:
        for title, records in (
            ("Systems", result.rows()),
            ("Neighbours, first - second", neighbours),
        ):
            figures = []
            for row in records:
                if row["metric"] != metric:
                    continue
                system = row["system"] if "system" in row else f"{row['first']} - {row['second']}"
                # Rings show labels alone.
                for family, key, bounds, name in (
                    (row["family"], "estimate", "interval", system),
                    ("humans", "labels_alone", "labels_alone_interval", "labels alone"),
                ):
                    values = (row[key], *row[bounds])
                    figures.append(Figure("system", "", name, family, key, *values))
            if figures:
                lines = [] if title == "Systems" else [("", 0.0)]
                drawn = intervals(figures, "mean label", lines)
                name = names[metric]
                plots.append((f"{title}: {name}", "mean label", picture(drawn, title, name)))
    return plots


estimate = function_of(Estimate)
