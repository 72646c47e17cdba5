"""How many sentences, systems or judgments are needed to detect a difference: `gecjury power`.

The data at hand show how differences vary; `gecjury.stats.sizes` has the statistics behind the
answers.

Example:
    >>> from gecjury import power
    >>> row = power("sample", ["green"]).rows()[0]
    >>> row["value"], row["unit"], row["needed"]
    (0.01, 'sentences', 1753)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.stats.choices import PowerSubject
from gecjury.stats.resampling import Resampling
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.study import Study, Work, function_of


@dataclass(frozen=True, kw_only=True)
class Power(Study):
    """How many sentences, systems or judgments are needed to detect a difference.

    Attributes:
        pair: one of the two systems that are compared; give two (default: the median over all
            pairs).
        questions: what is compared: systems by scores or by judgments, metrics by accuracy or by
            pearson; repeat for more (default: all that the data allow).
        power: the probability of detecting the difference.
        resampling: the resamples at every size, and the level of the two-sided test.
        seed: seed of the resamples.
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark, or a source file and at least two outputs"
    )
    metrics: ClassVar[str] = (
        "metric whose scores are compared (see `gecjury metrics`); two or more are also compared "
        "by their agreement with people"
    )
    pair: tuple[str, ...] = option((), "--system", metavar="NAME")
    questions: tuple[PowerSubject, ...] = option((), "--what")
    power: float = option(0.8, metavar="P", above=0, below=1)
    resampling: Resampling = option(
        Resampling(over="sentences", resamples=300), offers=("level", "resamples")
    )
    seed: int = option(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        level, resamples = self.resampling.level, self.resampling.resamples
        if self.power <= level:
            raise OptionError(f"`power={self.power}`: expected more than `level={level}`")
        if not 20 <= resamples <= 100_000:
            raise OptionError(f"`resamples={resamples}`: expected 20 to 100000")
        if len(self.pair) not in (0, 2) or len(set(self.pair)) < len(self.pair):
            named = ", ".join(self.pair)
            raise OptionError(f"`system=`: {named} named; expected two systems, or none for all")

    def check(self, work: Work) -> None:
        """Refuse data without two systems, or without those that are named."""
        corpus = work.corpus
        if len(corpus.systems) < 2:
            raise InputError(f"{len(corpus.systems)} system: a difference needs two")
        for name in self.pair:
            if name not in corpus.systems:
                raise OptionError(f"`system={name}`: {nearest(name, corpus.names)}")
        super().check(work)

    def run(self, work: Work) -> Result:
        """Measure how differences vary, and compute how much data detects them.

        Table `rows` has one record per question, metric and difference; see `DataNeeded`.

        Raises:
            OptionError: the data cannot answer a question, or answer none at all.
            InputError: there are too few data, or nothing differs.
        """
        from gecjury.studies.power.data_needed import answerable, check_varies, needs_of

        tables = list(zip(work.scorers, work.scores(), strict=True))
        remarks = (note for _, table in tables for note in table.statistics.notes)
        notes = tuple(dict.fromkeys(remarks))
        asked = answerable(tables, work.benchmark, self.questions, self.pair)
        if not asked:
            raise OptionError(
                "these data answer no question: give a metric with -m, or a benchmark with "
                "people's judgments"
            )
        for one in asked:
            check_varies(one)
        how = (self.power, self.resampling, self.seed)
        needs = [need for one in asked for need in needs_of(one, *how)]
        facts = {"inputs": work.inputs}
        slopes = [need.slope for need in needs]
        assumed = (
            f"assumed: errors fall with the square root of the size; measured exponents "
            f"{min(slopes):.2f} to {max(slopes):.2f} (-0.50 expected)"
        )
        title = f"How much data a difference needs{work.named}"
        columns = self._columns(max(need.pairs for need in needs))
        rows = [need.row() for need in needs]
        figures = tuple(figure for need in needs for figure in need.figures)
        table = Table(columns, rows, title, [*notes, assumed], "rows")
        return Result((table,), facts, notes, numbers=figures)

    def _columns(self, pairs: int) -> list[Column]:
        needed = (
            f"needed: to detect a difference with {self.power:.0%} power at "
            f"{self.resampling.level:g} (two-sided)"
        )
        between = (
            "between: 90% interval for one pair, 10th to 90th percentile of pairs for several "
            f"(here up to {pairs})"
        )
        errors = (
            "error there: standard error of the difference with what is at hand; observed: the "
            "difference at hand"
        )
        return [
            Column("question"),
            Column("label", place="power"),
            Column("value", place="power"),
            Column("needed", legend=needed),
            Column("between", legend=between),
            Column("unit"),
            Column("at_hand"),
            Column("error", place="power", notes=(errors,), hidden=("brief",)),
            Column("observed", hidden=("brief",)),
        ]


power = function_of(Power)
