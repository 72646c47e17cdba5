"""Compare metrics of any family with a benchmark's human judgments: `gecjury compare`.

Example:
    >>> from gecjury import compare
    >>> result = compare("sample", ["green", "changes"], human="edit", resample="none")
    >>> [row["metric"] for row in result.rows()][:2]
    ['green', 'changes']
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from gecjury.benchmarks.table import View
from gecjury.core.errors import OptionError, install_hint
from gecjury.core.processes import own_command
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.metaeval.settings import Human, Level, Settings
from gecjury.report.result import Result
from gecjury.stats.resampling import Resampling
from gecjury.studies.inputs import Benchmarks, Inputs, Need, Sample
from gecjury.studies.study import SCORES, Data, Output, Study, StudyData, Work, function_of, loaded

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.metaeval import study as metaeval
    from gecjury.metaeval.result import Comparison
    from gecjury.metaeval.tasks.comparison import TaskComparison, TaskStudy
    from gecjury.report.words import ComparisonWords
    from gecjury.scoring.scores import Plan
    from gecjury.stats.figure import Figure

_REFERENCE_BASED = ("green", "gleu")
_EDIT_METRICS = ("errant", "cleme")
_TRAINED = ("some:model=embedded",)
_SAMPLE = Path(__file__).parents[1] / "benchmarks" / "sample"
"""Folder of the sample. It has replies of `_JUDGES`, as `gecjury judgments export` writes them, and
scores of `_TRAINED`."""
_NEXT = """\
next:
{gecjury} data sample texts
{gecjury} score texts/source.txt texts/careful.txt texts/hasty.txt -r texts/ref0.txt -m {metric} \
--html score.html
{gecjury} compare sample -m {metric} -m gleu --html compare.html"""
_JUDGES = (
    "llm-s:backend=vllm,model=smollm2-taught,protocol=pointwise,scoring=expected,context=none,"
    "prompt=short-grade",
)


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """Metrics compared with people, as tables, as a JSON document and as a page.

    Attributes:
        answer: what the comparison says.
    """

    answer: ComparisonWords = field(kw_only=True)

    @property
    def comparison(self) -> Comparison:
        """The comparison as typed objects."""
        return self.answer.comparison

    def worded(self, change: Callable[[str], str]) -> Self:
        """Return the result with its sentences and cautions changed."""
        return replace(super().worded(change), answer=replace(self.answer, change=change))

    def figures(self) -> list[Figure]:
        """Return every number of the comparison: `pandas.DataFrame(result.figures())`."""
        return self.comparison.figures()

    def rows(self) -> list[dict[str, Any]]:
        """Return the main table: one record per metric and view, then chance, then people.

        Figures of levels that were not compared have no key. A figure that is not defined is NaN.
        With intervals, there is `pearson_ci95` in addition to `pearson`, and the same for the other
        figures.
        """
        return self.comparison.rows()

    @cached_property
    def _document(self) -> dict[str, object]:
        """The entries of JSON, which docs/reference/statistics.md explains."""
        from gecjury.report.comparison import document

        return document(self.answer)

    def __repr__(self) -> str:
        """Return a description of the comparison."""
        return repr(self.comparison)


@dataclass(frozen=True, repr=False)
class ComparedTasks(Result):
    """Metrics compared with people on several benchmarks.

    Attributes:
        comparison: the figures as typed objects.
    """

    comparison: TaskComparison = field(kw_only=True)

    @property
    def _document(self) -> dict[str, object]:
        """The entries of JSON, which docs/reference/statistics.md explains."""
        from gecjury.report.tasks import task_document

        return task_document(self.comparison)

    def figures(self) -> list[Figure]:
        """Return the averages, and the figure of every metric in every task."""
        return self.comparison.figures()


@dataclass(frozen=True, kw_only=True)
class Compare(Settings, Study):
    """Metrics of any family compared with the human judgments of one benchmark or several.

    Attributes:
        weights: with several benchmarks: the weight of a task, or of all tasks of a benchmark, in
            the average; weights must sum to 1 (default: equal).
        columns: columns of the table, separated by commas, such as r,rho,acc (default: the most
            important; --verbose shows all).
    """

    weights: Mapping[str, float] | None = option(None, hidden=True)
    columns: tuple[str, ...] = option((), metavar="NAMES")
    # The language belongs to the benchmark.
    needs: ClassVar[tuple[Need, ...]] = ("judges", "plans")
    inputs: ClassVar[Inputs] = Benchmarks(
        "seeda, gjg15, gmeg-{dev,test}-{fce,wiki,yahoo}, jfleg, tmu-gfm[-test], swedish-oestling, "
        "sottana, dsgram, autojqe[-test], cgec-zh, aqua-{en,uk}, pevdata, sample, or a folder or "
        ".toml file of your own"
    )
    keeps: ClassVar[Output | None] = SCORES
    page: ClassVar[bool | str] = True
    metrics: ClassVar[str | None] = (
        "`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`); optional for "
        "benchmarks with recorded judges"
    )

    @property
    def view(self) -> View | None:
        """The judgments that the benchmark is loaded with."""
        return None if self.human == "both" else self.human

    def read(self, data: Data, runtime: Runtime) -> StudyData:
        """Return the data itself, or load the named benchmarks."""
        if data is None or isinstance(data, str) or not isinstance(data, Sequence):
            return super().read(data, runtime)
        read = tuple(item if not isinstance(item, str) else loaded(item) for item in data)
        benchmarks = cast("tuple[Benchmark, ...]", read)
        return benchmarks if len(benchmarks) != 1 else benchmarks[0]

    def check(self, work: Work) -> None:
        """Refuse data and settings that a benchmark or a metric does not support."""
        if tasks := self._tasks(work):
            from gecjury.report.tasks import check_task_columns

            check_task_columns(self.columns, tasks.tasks)
        else:
            from gecjury.report.comparison import check_columns

            check_columns(self.columns, self._tried(work))

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests that the metrics would send for all levels that are compared."""
        from gecjury.metaeval.comparison import plans

        tasks = self._tasks(work)
        return tasks.plans() if tasks else plans(self._tried(work))

    def warning(self, work: Work) -> str:
        """Return a message on how long the comparison takes, if that is minutes."""
        from gecjury.metaeval.cautions import warning

        texts = [warning(benchmark, len(work.scorers), self) for benchmark in work.benchmarks]
        return "\n".join(f"gecjury: {text}" for text in texts if text)

    def run(self, work: Work) -> Result:
        """Score the benchmarks' systems and compare the scores with people's judgments."""
        from gecjury.metaeval.comparison import compared
        from gecjury.report.comparison import tables
        from gecjury.report.paper import for_paper
        from gecjury.report.words import ComparisonWords

        if study := self._tasks(work):
            from gecjury.report.tasks import task_tables, tasks_verdict

            tasks = study.compare(work.folder)
            shown = tuple(task_tables(tasks, self.columns))
            status, sentences = int(tasks.incomplete), tuple(tasks_verdict(tasks))
            signatures = [
                str(scored.signature) for one in tasks.comparisons.values() for scored in one.tables
            ]
            paper = for_paper(shown[0], signatures)
            return ComparedTasks(
                shown, {}, (), status, verdict=sentences, paper=paper, comparison=tasks
            )
        comparison = compared(self._tried(work), work.folder)
        notes = tuple(caution.text for caution in comparison.cautions)
        answer, status = ComparisonWords(comparison), int(comparison.incomplete)
        shown, verdict = tuple(tables(comparison, self.columns)), tuple(answer.verdict)
        return Compared(
            shown, {}, notes, status, verdict=verdict, short=tuple(answer.opening),
            paper=for_paper(shown[0]), answer=answer,
        )  # fmt: skip

    def html(self, result: Result) -> str:
        """Return a comparison as one page to read and share."""
        from gecjury.report.page.page import comparison_page

        if isinstance(result, ComparedTasks):
            from gecjury.report.page.tasks import tasks_page

            return tasks_page(result.comparison)
        compared = cast(Compared, result)
        return comparison_page(compared.answer, compared.document())

    def _tasks(self, work: Work) -> TaskStudy | None:
        """Return the comparison on several benchmarks, checked like `_tried`; None for one."""
        if len(work.benchmarks) < 2:
            return None
        from gecjury.metaeval.tasks.comparison import TaskStudy

        return TaskStudy.of(work.benchmarks, work.scorers, self, work.runtime, self.weights)

    def _tried(self, work: Work) -> metaeval.MetaEvaluation:
        """Return the comparison on one benchmark after every check that needs no scores."""
        from gecjury.metaeval.comparison import checked

        if work.benchmark is None:
            raise OptionError("a comparison needs human judgments: name at least one benchmark")
        return checked(work.benchmark, work.scorers, self, work.runtime)


@dataclass(frozen=True, kw_only=True)
class Demo(Study):
    """The three families on the embedded sample: a demonstration, not evidence.

    No model is run and no LLM is called: the scores of the trained metric and the replies of the
    judge are stored with the sample, and are read and audited like those of any other run.

    Attributes:
        human: which human judgments (default: edit).
        level: what is compared; edit: single edits against annotators' verdicts.
        resampling: settings of intervals and tests.
        seed: seed of the random metric, the resampling and the tests.
    """

    human: Human | None = None
    level: Level = "all"
    resampling: Resampling = option(Resampling(), offers=("over", "resamples"))
    seed: int = option(0, least=0)
    inputs: ClassVar[Inputs] = Sample()
    needs: ClassVar[tuple[Need, ...]] = ("judges", "plans")
    page: ClassVar[bool | str] = "gecjury-demo.html"
    metrics: ClassVar[str] = (
        f"metrics to try (default: {', '.join(_REFERENCE_BASED + _EDIT_METRICS + _TRAINED)} and an "
        "LLM judge from stored replies)"
    )

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metrics that run with the installed packages, and a message about the others.

        Metrics over edits need spaCy and errant.
        """
        if find_spec("errant") and find_spec("spacy"):
            return _REFERENCE_BASED + _EDIT_METRICS + _TRAINED + _JUDGES, ""
        left_out = f"{', '.join(_EDIT_METRICS)} left out: {install_hint('edits')}"
        return _REFERENCE_BASED + _TRAINED + _JUDGES, f"gecjury: {left_out}"

    @property
    def comparison(self) -> Compare:
        """The comparison that is run on the sample."""
        return Compare(
            human=self.human, level=self.level, resampling=self.resampling, seed=self.seed
        )

    @property
    def view(self) -> View | None:
        """The judgments that the sample is loaded with."""
        return self.comparison.view

    def check(self, work: Work) -> None:
        """Refuse settings that a metric does not support."""
        self.comparison.check(work)

    def html(self, result: Result) -> str:
        """Return the comparison as one page to read and share."""
        return self.comparison.html(result)

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests of the metrics whose replies are not stored with the sample."""
        with _replayed(work) as replayed:
            return self.comparison.plans(replayed)

    def run(self, work: Work) -> Compared:
        """Compare on the sample, with the replies that are stored with it.

        Only the caution that it is a sample is shown. The commands to try next come last.
        """
        with _replayed(work) as replayed:
            result = cast(Compared, self.comparison.run(replayed))
        main, *others = result.tables
        brief = main.instead.get("brief", main)
        instead = {**main.instead, "brief": replace(brief, notes=brief.notes[:1])}
        metric = "errant" if find_spec("errant") and find_spec("spacy") else "green"
        following = _NEXT.format(gecjury=own_command(), metric=metric)
        return replace(result, tables=(replace(main, instead=instead), *others), said=(following,))


@contextmanager
def _replayed(work: Work) -> Iterator[Work]:
    """Yield work with a temporary cache that contains only the sample's replies and scores."""
    from gecjury.core.durable import write_text
    from gecjury.core.textfiles import file_name
    from gecjury.scoring.registry import load

    with TemporaryDirectory(prefix="gecjury-demo-") as cache:
        shutil.copytree(
            _SAMPLE / "judgments", Path(cache, "judgments"), ignore=shutil.ignore_patterns("*.md")
        )
        # The key depends on the versions of torch and transformers, and whether they are installed.
        key = load(*_TRAINED).signature(work.corpus, work.runtime).key
        stored = json.loads((_SAMPLE / "scores.json").read_text(encoding="utf-8"))
        scores = Path(cache, "scores")
        path = scores / file_name("some", key, ending=".json")
        write_text(path, json.dumps(stored | {"key": key}))
        runtime = replace(work.runtime, cache=Path(cache), use_cache=True)
        yield replace(work, runtime=runtime, folder=scores)


compare = function_of(Compare)
