"""How good every system is, from few labels and a metric's scores of all: `gecjury estimate`.

`prediction_powered` has the statistics, `labels` the formats of labels, and `estimates` applies the
former to the latter.

Example:
    >>> from gecjury import estimate
    >>> row = estimate("sample", ["changes"]).rows()[0]
    >>> row["system"], round(row["estimate"], 3), [round(end, 3) for end in row["interval"]]
    ('careful', 0.835, [0.792, 0.871])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from gecjury.benchmarks.table import View
from gecjury.core.errors import OptionError
from gecjury.core.settings import check_needs, option
from gecjury.core.wording import number
from gecjury.report.result import Column, Record, Result, Table
from gecjury.stats.choices import FEWEST_LABELS
from gecjury.stats.figure import Figure
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.study import SCORES, Output, Study, Work, function_of

if TYPE_CHECKING:
    from gecjury.core.arrays import FloatArray
    from gecjury.studies.estimate.labels import Labels


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
    draw: int | None = option(None, metavar="N", least=FEWEST_LABELS)
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
        from gecjury.studies.estimate.estimates import estimates_of, verdict_of

        (labels, drawn), tables = self._labelled(work), work.scores()
        systems, pairs, figures = list[Record](), list[Record](), list[Figure]()
        verdict, notes = [], [*labels.warnings]
        for scorer, table in zip(work.scorers, tables, strict=True):
            metric, drew = (table.signature.label, scorer.family), self.draw is not None
            estimates, gaps, remarks = estimates_of(
                table, labels, drawn, self.confidence, all_labels=drew
            )
            verdict += verdict_of(metric[0], estimates, gaps, self.confidence)
            signature = {"signature": str(table.signature)}
            systems += [{**signature, **one.row(*metric)} for one in estimates]
            pairs += [one.row(*metric) for one in gaps]
            figures += [figure for one in (*estimates, *gaps) for figure in one.figures(*metric)]
            notes += remarks
        notes = list(dict.fromkeys([*notes, *(n for t in tables for n in t.statistics.notes)]))
        title = f"Estimates from few labels{work.named}"
        columns, about = self._columns(labels, len(tables)), [str(t.signature) for t in tables]
        shown = [Table(columns, systems, title, [*notes, *about], "rows")]
        if pairs:
            shown.append(self._difference_table(pairs, len(tables)))
        return Result(
            tuple(shown),
            {"inputs": work.inputs, "labels": labels.origin, "label": labels.kind},
            tuple(notes),
            int(any(table.unanswered for table in tables)),
            language=work.corpus.language.code,
            title=title,
            verdict=tuple(verdict),
            numbers=tuple(figures),
        )

    def html(self, result: Result) -> str:
        """Return the estimates as one page, with a plot for each metric."""
        # Imported here: most results are never written as a page.
        from gecjury.report.page.listed import Details, result_html

        of_systems = [figure for figure in result.figures() if figure.level == "estimate"]

        def of(statistic: str) -> list[Figure]:
            return [figure for figure in of_systems if figure.statistic == statistic]

        systems = len({figure.system for figure in of_systems})
        title = f"Estimates of {systems} system{'s' * (systems != 1)} from few labels"
        facts = (
            f"{number(max(figure.value for figure in of('sources')))} sentences",
            f"up to {number(max(figure.value for figure in of('labelled')))} labelled",
            f"labels: {result.facts['labels']}",
        )
        details = Details(kicker="estimates", facts=facts, figures=of("estimate"))
        return result_html(replace(result, title=title), details)

    def _labelled(self, work: Work) -> tuple[Labels, FloatArray]:
        """Return all labels, and those that are used, systems × sentences.

        Raises:
            OptionError: there are no labels, or fewer than should be drawn.
            InputError: too few sources have labels, or all labels are equal.
        """
        from gecjury.studies.estimate.labels import drawn_labels, labels_of_benchmark, read_labels

        if self.labels:
            labels = read_labels(self.labels, work.corpus)
        elif work.benchmark is not None:
            labels = labels_of_benchmark(work.benchmark, self.human)
        else:
            raise OptionError(
                "no labels: name a file with `labels=FILE`, or a benchmark that people judged"
            )
        return labels, drawn_labels(labels, self.draw, self.seed)

    def _columns(self, labels: Labels, metrics: int) -> list[Column]:
        """Return the columns of systems."""
        legend = (
            f"estimate: mean label of all outputs; [low, high]: {self.confidence:.0%} over "
            "sources; worth: labelled sources with which labels alone would have the same error"
        )
        more = (Column("labelled"), Column("sources"), Column("error", digits=4), Column("weight"))
        return [
            *[Column("metric")] * (metrics > 1),
            Column("system"),
            Column("estimate", interval="interval", legend=legend, notes=self._how(labels)),
            *self._means(),
            Column("metric_alone"),
            Column("worth"),
            *(replace(column, hidden=("brief", "latex", "tsv")) for column in more),
        ]

    def _means(self) -> list[Column]:
        alone = Column("labels_alone", interval="labels_alone_interval")
        return [alone] if self.draw is None else [Column("all_labels"), alone]

    def _how(self, labels: Labels) -> tuple[str, ...]:
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
        return tuple(how)

    def _difference_table(self, pairs: Sequence[Record], metrics: int) -> Table:
        """Return the table of differences, of which papers show those of neighbours."""
        columns = [
            *[Column("metric")] * (metrics > 1),
            *map(Column, ("first", "second")),
            Column("estimate", interval="interval", place="difference"),
            *self._means(),
            Column("worth"),
        ]
        table = Table(columns, pairs, "Differences, paired by source", name="differences")
        near = [row for row in pairs if row.get("neighbours")]
        notes = ["neighbours in the order of estimates"] if len(near) < len(pairs) else []
        return replace(table, instead={"latex": replace(table, rows=near, notes=notes)})


estimate = function_of(Estimate)
