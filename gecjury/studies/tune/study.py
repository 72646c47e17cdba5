"""An option's best value, or the best of several candidates: `gecjury tune`.

Example:
    >>> from gecjury import tune
    >>> row = tune("sample", "green:beta=1:2:0.5").rows()[0]
    >>> row["measure"], round(row["value"], 2)
    ('pearson', 1.9)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from gecjury.benchmarks.table import View
from gecjury.core.addresses import masked
from gecjury.core.errors import OptionError
from gecjury.core.settings import check_needs, option
from gecjury.metaeval.settings import HumanKind, Settings
from gecjury.report.result import Column, Result, Table
from gecjury.stats.choices import Aggregate
from gecjury.stats.figure import Figure, records
from gecjury.studies.inputs import Benchmarks, Inputs
from gecjury.studies.study import SCORES, Output, Study, Work, function_of

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.metaeval import study as metaeval
    from gecjury.scoring.registry import Metric
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable
    from gecjury.studies.tune.candidates import Agreements

_FOLDS = 10

# For options that do nothing with candidates, which are compared on judged pairs only.
_NOT_CHOOSING: Mapping[str, tuple[str, ...]] = {"prompt": ()}


@dataclass(frozen=True, kw_only=True)
class Tune(Study):
    """An option's best value on one benchmark, and its effect on others.

    Attributes:
        test: benchmarks on which the value is compared with the default.
        human: which judgments.
        human_scores: human column; on a benchmark without it, its first column is used.
        aggregate: system scores of the metric (default: corpus; uot-errant: trueskill; some:
            mean).
        seed: seed of the folds.
        prompt: choose among candidates by accuracy on judged pairs: options added to the metric's
            (criterion=fluency), or whole metrics.
    """

    inputs: ClassVar[Inputs] = Benchmarks(
        "benchmark on which the value is found",
        count=1,
        metric="with a range of values, METRIC:OPTION=START:STOP:STEP; see below",
    )
    keeps: ClassVar[Output | None] = SCORES
    epilog: ClassVar[str] = """\
what to tune:
  green:beta=0:5:0.01      any numeric option of any metric, start:stop:step
  uot-errant:lambda1=0.02:1:0.02,lambda2=lambda1
                           the same value for two options
  some:model=DIR,alpha=0:1:0.01,beta=0:1:0.01,gamma=rest
                           several options; gamma is what the others leave of 1
  green, uot-errant, some:model=DIR
                           what the metric's paper tuned, as it was tuned there
  llm-s:model=M --prompt criterion=fluency prompt=mine.txt
                           the best wording for a judge, tested on held-out folds
"""
    test: tuple[str | object, ...] = option((), metavar="BENCHMARK", several=True)
    human: View | None = None
    human_scores: HumanKind | None = option(None, needs=_NOT_CHOOSING)
    aggregate: Aggregate | None = option(None, needs=_NOT_CHOOSING)
    seed: int = option(0, least=0)
    prompt: tuple[str, ...] = option((), metavar="CANDIDATE", several=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_needs(self, "human_scores", "aggregate")

    @property
    def view(self) -> View | None:
        """The judgments that benchmarks are loaded with."""
        return self.human

    def load(self, metric: Metric) -> Scorer:
        """Return the metric with the defaults of the options that are tuned.

        Raises:
            OptionError: an unknown metric or option, or a missing range.
        """
        from gecjury.studies.tune.trial import completed, parse_grid

        if not isinstance(metric, str):
            raise OptionError("name what to tune as on the command line: green:beta=0:5:0.01")
        if self.prompt:
            return self._candidates(metric)[0]
        return parse_grid(completed(metric)[0]).base

    def check(self, work: Work) -> None:
        """Refuse several metrics, plain texts, and a benchmark with too few systems."""
        if len(work.typed) != 1:
            raise OptionError(f"{len(work.typed)} metrics; expected one to tune")
        benchmark = work.benchmark
        if benchmark is None:
            raise OptionError("tuning needs human judgments: name a benchmark")
        if self.prompt:
            for scorer, corpus in self.to_score(work):
                scorer.check(corpus)
            return
        if self._judged(benchmark).few(benchmark.view):
            raise OptionError(
                f"{benchmark.name} ({benchmark.systems}) has fewer than three systems with "
                "human scores: nothing to correlate with; choose another set with `systems=`"
            )
        super().check(work)

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield the metric with every value, or every candidate, and the texts that it scores."""
        from gecjury.studies.tune.trial import completed, parse_grid

        (what,) = work.typed
        if self.prompt:
            scorers = self._candidates(what)
        else:
            grid = parse_grid(completed(what)[0])
            scorers = [grid.scorer(point) for point in grid.points]
        for scorer in scorers:
            yield scorer, scorer.read(work.corpus)

    def run(self, work: Work) -> Result:
        """Find the value and try it on other benchmarks.

        Table `found` has one record per measure: the value, and the measure with it and with the
        default. `elsewhere` has the same for each other benchmark. With candidates (`prompt`),
        `candidates` has one record for each, `held_out` what choosing among them was worth, and
        `elsewhere` the chosen one and the metric as named.
        """
        from gecjury.scoring.score_files import check_writable
        from gecjury.studies.tune.trial import leak_warning

        benchmark, others = cast("Benchmark", work.benchmark), list(self._tested_on(work))
        if work.folder:
            check_writable(work.folder)
            work = replace(work, runtime=replace(work.runtime, scores=Path(work.folder)))
        # A value should be tested on sources that it was not tuned on.
        leaks = [
            leak_warning(benchmark.corpus, other.corpus, (benchmark.name, other.name))
            for other in others
        ]
        warnings = tuple(filter(None, leaks))
        find = self._chosen if self.prompt else self._swept
        result = find(work, benchmark, others)
        *tables, elsewhere = result.tables
        elsewhere = replace(
            elsewhere, notes=warnings, title="Elsewhere", name="elsewhere", asked=True
        )
        (what,) = work.typed
        facts = {
            "what": masked(what),
            "benchmark": benchmark.name,
            "systems": list(benchmark.corpus.names),
            "human": benchmark.view,
            "fingerprint": benchmark.fingerprint,
            "warnings": warnings,
            **result.facts,
        }
        said = tuple(f"warning: {warning}" for warning in warnings)
        return replace(result, tables=(*tables, elsewhere), facts=facts, notes=warnings, said=said)

    def _swept(self, work: Work, benchmark: Benchmark, others: Sequence[Benchmark]) -> Result:
        """Find the best values of a range by each measure, and try them on other benchmarks."""
        from gecjury.studies.tune import trial

        (what,) = work.typed
        text, paper = trial.completed(what)
        grid = trial.parse_grid(text)
        # Settings that are not given follow the metric's paper, so that its figures are reproduced.
        how = replace(
            self,
            aggregate=self.aggregate or cast(Aggregate, paper.get("aggregate", "corpus")),
            human_scores=self.human_scores or cast("HumanKind | None", paper.get("human-scores")),
        )
        folds = int(paper.get("folds", _FOLDS))
        study = how._judged(benchmark)
        draws = trial.fold_draws(len(benchmark.corpus), folds, self.seed)
        judged = trial.JudgmentScale(study, benchmark.view, draws)
        optima = trial.optima_of(grid, trial.trial_of(grid, judged, work.runtime))
        tried = partial(trial.tried, grid, optima, runtime=work.runtime, metric=masked(what))
        found, elsewhere = tried(study, spread=grid.single), list[list[Figure]]()
        names = {"part": "measure", "metric": "", "task": "", "human": ""}
        rows = records(found, names=names)
        if grid.single:
            rows = [{**r, "optima": one.optima} for r, one in zip(rows, optima, strict=True)]
        for other in others:
            grid.base.check(other.corpus)
            elsewhere.append(tried(how._judged(other)))
        default = grid.record(grid.default)
        columns = [Column("measure"), *(Column(key, digits=2) for key in default)]
        spread = [Column("spread")] if grid.single else []
        compared = [Column(key, place="swept") for key in ("figure", "default")]
        there = [Column("benchmark"), Column("human"), *columns, *compared] if elsewhere else []
        values = "the optimum on all sentences"
        if folds > 1:
            values = (
                f"mean of the optima without each of {folds} folds of sentences, seed {self.seed}"
            )
        tried_from = ", ".join(f"{key}={written}" for key, written in grid.ranges.items())
        usual = ", ".join(f"{value:g}" for value in default.values())
        kind = study.human_kind(benchmark.view)
        notes = [
            f"tried {tried_from}, default {usual}; {values}",
            f"system scores by {how.aggregate}, human {kind}; accuracy over decided pairs, ties "
            "count half",
        ]
        facts = {
            "references": benchmark.references,
            "human_scores": kind,
            "aggregate": how.aggregate,
            "options": list(grid.options),
            "default": default,
            "folds": folds,
        }
        title = f"{masked(what)} on {work.name or benchmark.name}"
        main = Table([*columns, *spread, *compared], rows, title, notes, "found")
        names = {"part": "measure", "metric": "", "task": "benchmark"}
        rows = [row for figures in elsewhere for row in records(figures, names=names)]
        numbers = (*found, *chain(*elsewhere))
        return Result((main, Table(there, rows)), facts, numbers=numbers)

    def _candidates(self, what: str) -> list[Scorer]:
        """Return the metric as named and the candidates, without duplicates.

        Raises:
            OptionError: a candidate is not a metric, or there is none except the metric itself.
        """
        from gecjury.scoring.registry import load
        from gecjury.studies.tune.candidates import candidate_metrics

        scorers = dict.fromkeys(map(load, candidate_metrics(what, self.prompt)))
        if len(scorers) < 2:
            raise OptionError(
                f"`prompt=`: no candidate differs from {masked(what)}; expected at least one, e.g. "
                "criterion=fluency"
            )
        return list(scorers)

    def _tested_on(self, work: Work) -> Iterator[Benchmark]:
        """Yield the other benchmarks.

        Raises:
            OptionError: something else was given.
        """
        from gecjury.benchmarks.benchmark import Benchmark

        for one in self.test:
            other = work.further(one) if isinstance(one, str) else one
            if not isinstance(other, Benchmark):
                raise OptionError(f"test: {one!r:.60}: expected a benchmark or its name")
            yield other

    def _chosen(self, work: Work, benchmark: Benchmark, others: Sequence[Benchmark]) -> Result:
        """Choose among the candidates, and try the best on other benchmarks."""
        from gecjury.metaeval import study as metaeval
        from gecjury.scoring.score_files import score_with_files
        from gecjury.studies.tune.candidates import agreements, choose, tested, verdict

        (what,) = work.typed
        scorers, runtime = self._candidates(what), work.runtime

        def agreed_on(
            data: Benchmark, metrics: Sequence[Scorer]
        ) -> tuple[Agreements, list[ScoreTable]]:
            for scorer in metrics:
                scorer.check(data.corpus)
            tables = [score_with_files(s, data.corpus, runtime.scores, runtime) for s in metrics]
            study = metaeval.MetaEvaluation(data, Settings(seed=self.seed))
            return agreements(study, tables, data.view), tables

        agreed, tables = agreed_on(benchmark, scorers)
        labels = [table.signature.label for table in tables]
        where = {"task": benchmark.name, "human": benchmark.view}
        candidates, choice = choose(agreed, labels, _FOLDS, self.seed, **where)
        pair = [scorers[0], scorers[labels.index(choice.best)]]
        elsewhere, unanswered = list[list[Figure]](), any(table.unanswered for table in tables)
        for other in others:
            agreed_there, of_pair = agreed_on(other, pair)
            unanswered |= any(table.unanswered for table in of_pair)
            elsewhere.append(tested(agreed_there, other, self.seed, choice.best))
        notes = [
            f"accuracy over {agreed.pairs.sum():.0f} decided pairs of {len(agreed.pairs)} sources; "
            "ties and pairs without a score count half",
            f"difference from the metric as named, {labels[0]}; 95% intervals from the same "
            "resampled sources",
            f"chosen: for how many of {_FOLDS} folds (seed {self.seed}) it was best on all others",
        ]
        title = f"Candidates on {work.name or benchmark.name}"
        figures = [*chain(*candidates)]
        rows = records(figures, names={"task": "", "human": ""})
        held_out = choice.figures(**where)
        worth = records(held_out, names={"task": "", "human": "", "metric": "best"})
        names = {"task": "benchmark", "metric": ""}
        there = [row for of_one in elsewhere for row in records(of_one, names=names)]
        return Result(
            (
                Table(_CANDIDATES, rows, title, notes, "candidates"),
                Table(_HELD_OUT, worth, "Choosing among them", name="held_out"),
                Table(_TESTED if elsewhere else (), there),
            ),
            {"folds": _FOLDS, "signatures": [str(table.signature) for table in tables]},
            status=int(unanswered),
            verdict=verdict(choice, labels[0]),
            numbers=(*figures, *held_out, *chain(*elsewhere)),
        )

    def _judged(self, benchmark: Benchmark) -> metaeval.MetaEvaluation:
        """Return a benchmark with the human column and the aggregation that are used on it."""
        from gecjury.metaeval import study as metaeval

        # Another benchmark may lack the column that the value was found on.
        kinds = benchmark.human[benchmark.view]
        kind = self.human_scores if self.human_scores in kinds else None
        aggregate = self.aggregate or "corpus"
        settings = Settings(aggregate=aggregate, human_scores=kind, seed=self.seed)
        return metaeval.MetaEvaluation(benchmark, settings)


_CANDIDATES = (
    Column("metric"),
    Column("accuracy", interval="accuracy_ci95"),
    Column("difference", interval="difference_ci95"),
    *map(Column, ("chosen", "missing")),
)
_HELD_OUT = (
    Column("figure", place="chosen"),
    *map(Column, ("held_out", "inflation")),
    Column("default", place="chosen"),
    Column("gain", interval="gain_ci95"),
)
_TESTED = (
    *map(Column, ("benchmark", "human")),
    Column("figure", place="swept"),
    Column("default", place="chosen"),
    Column("difference", interval="difference_ci95"),
)


tune = function_of(Tune)
