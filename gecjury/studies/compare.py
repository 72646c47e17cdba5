"""Metrics of any family tried against a benchmark's human judgments: `gecjury compare`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, cast

from gecjury.benchmarks.table import View
from gecjury.errors import OptionError, install_hint
from gecjury.metaeval import comparison as metaeval
from gecjury.metaeval.effort import effort, told
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.tasks.comparison import TaskComparison, TaskTrial
from gecjury.report.comparison import document, tables
from gecjury.report.figure import figures_of
from gecjury.report.result import Result, Table
from gecjury.report.tables import plain
from gecjury.report.tasks import task_document, task_tables, tasks_verdict
from gecjury.report.words import family_contrast
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Plan
from gecjury.settings import option
from gecjury.studies.study import Data, Need, Read, Study, Takes, Work, function_of, loaded
from gecjury.wording import number, shortly

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.corpus.language import Language

_MOST_PAIRED = 200  # systems whose pairs make a table that somebody can use
_REFERENCE_BASED = ("green", "gleu")
_EDIT_METRICS = ("errant", "cleme")
_TRAINED = ("some:model=features",)
_JUDGES = ("llm-s:backend=vllm,model=smollm2-135m-instruct",)
_REPLIES = Path(__file__).parents[1] / "benchmarks" / "sample" / "judgments"
"""Stored replies of `_JUDGES` on the sample, as `gecjury judgments export` gives them."""


@dataclass(frozen=True, repr=False)
class Compared(Result):
    """Metrics against people, as tables, as the document of JSON and as a page.

    Attributes:
        comparison: the figures, typed.
    """

    comparison: Comparison = field(kw_only=True)

    def rows(self) -> list[dict[str, Any]]:
        """Return the main table: a record a metric and view, then chance, then people.

        Figures of levels that were not compared have no key. What is not defined is NaN, a cluster
        without test None. Where there are intervals, `pearson_low` and `pearson_high` stand beside
        `pearson`, and so for the others.
        """
        return self.comparison.rows()

    def document(self) -> dict[str, Any]:
        """Return what JSON shows; docs/reference/statistics.md explains its keys."""
        return document(self.comparison)

    def __repr__(self) -> str:
        """Return what was compared."""
        return repr(self.comparison)


@dataclass(frozen=True, repr=False)
class ComparedTasks(Result):
    """Metrics against people over several benchmarks.

    Attributes:
        comparison: the figures, typed.
    """

    comparison: TaskComparison = field(kw_only=True)

    def document(self) -> dict[str, Any]:
        """Return what JSON shows; docs/reference/statistics.md explains its keys."""
        return task_document(self.comparison)


@dataclass(frozen=True, kw_only=True)
class Compare(Settings, Study):
    """Metrics of any family tried against the human judgments of one benchmark or several.

    Attributes:
        weights: with several benchmarks: the weight of a task, or of all tasks of a benchmark, in
            the average; they sum to 1 (default: equal).
    """

    weights: Mapping[str, str] | None = option(None, metavar="TASK=W", several=True)
    takes: ClassVar[Takes] = "benchmarks"
    data: ClassVar[str] = (
        "seeda, gjg15, gmeg-{dev,test}-{fce,wiki,yahoo}, jfleg, tmu-gfm[-test], swedish-oestling, "
        "autojqe[-test], cgec-zh, aqua-{en,uk}, pevdata, sample, or a folder or .toml file of your "
        "own"
    )
    keeps: ClassVar[bool] = True
    page: ClassVar[bool] = True

    @property
    def view(self) -> View | None:
        """The judgments that the benchmark is loaded with."""
        return None if self.human == "both" else self.human

    def read(self, data: Data, runtime: Runtime, language: Language | None = None) -> Read:
        """Return the data itself, or the benchmarks that are named."""
        if data is None or isinstance(data, str) or not isinstance(data, Sequence):
            return super().read(data, runtime, language)
        read = tuple(one if not isinstance(one, str) else loaded(one) for one in data)
        benchmarks = cast("tuple[Benchmark, ...]", read)
        return benchmarks if len(benchmarks) != 1 else benchmarks[0]

    def check(self, work: Work) -> None:
        """Refuse what a benchmark or a metric does not allow."""
        if len(work.benchmarks) > 1:
            self._tasks(work)
            return
        if self.weights:
            raise OptionError("--weights: one benchmark is named; name several, or leave it out")
        systems = len(work.corpus.names)
        if self.pairwise and systems > _MOST_PAIRED:
            raise OptionError(
                f"--pairwise: {number(systems)} systems would make tables of {number(systems)} × "
                f"{number(systems)} for every metric; expected at most {_MOST_PAIRED}: compare "
                "fewer by --systems, or leave it out"
            )
        metaeval.check(self._benchmark(work), work.scorers, self)

    def plans(self, work: Work) -> list[Plan]:
        """Return what the metrics would ask for every level that is compared."""
        if len(work.benchmarks) > 1:
            return self._tasks(work).plans()
        return metaeval.plans(self._benchmark(work), work.scorers, self, runtime=work.runtime)

    def warning(self, work: Work) -> str:
        """Return how long the comparison will take, where that is minutes."""
        texts = [told(effort(one, len(work.scorers), self)) for one in work.benchmarks]
        lines = [
            f"gecjury: {one.name}: {text}" if len(texts) > 1 else f"gecjury: {text}"
            for one, text in zip(work.benchmarks, texts, strict=True)
            if text
        ]
        return "\n".join(lines)

    def run(self, work: Work) -> Result:
        """Score the benchmarks' systems and hold the scores against people's judgments."""
        if len(work.benchmarks) > 1:
            tasks = self._tasks(work).compare(work.folder)
            shown = tuple(task_tables(tasks))
            status, sentences = int(tasks.incomplete), tuple(tasks_verdict(tasks))
            return ComparedTasks(shown, {}, (), status, verdict=sentences, comparison=tasks)
        comparison = metaeval.compare(
            self._benchmark(work),
            work.scorers,
            self,
            runtime=work.runtime,
            score_files=work.folder,
        )
        notes = tuple(caution.text for caution in comparison.cautions)
        record = document(comparison)
        figures = [vars(figure) for figure in figures_of(record)]
        shown = (*tables(comparison), Table((), figures, name="figures"))
        status, verdict = int(comparison.incomplete), tuple(record["verdict"])
        return Compared(shown, {}, notes, status, verdict=verdict, comparison=comparison)

    def html(self, result: Result) -> str:
        """Return a comparison as one page to read and share."""
        from gecjury.report.page.page import comparison_page

        if isinstance(result, ComparedTasks):
            from gecjury.report.page.tasks import tasks_page

            return tasks_page(result.comparison)
        return comparison_page(cast(Compared, result).comparison)

    def _tasks(self, work: Work) -> TaskTrial:
        return TaskTrial.of(work.benchmarks, work.scorers, self, work.runtime, self.weights)

    def _benchmark(self, work: Work) -> Benchmark:
        if work.benchmark is None:
            raise OptionError("a comparison needs human judgments: name a benchmark or more")
        return work.benchmark


@dataclass(frozen=True, kw_only=True)
class Demo(Compare):
    """The three families on the embedded sample, which shows the program and proves nothing.

    The trained metric comes with the package. The LLM judge is not asked: its replies are stored
    with the sample, and are read and audited as those of any other run.
    """

    takes: ClassVar[Takes] = "sample"
    needs: ClassVar[tuple[Need, ...]] = ("judges", "plans")
    metrics: ClassVar[str] = (
        f"metrics to try (default: {', '.join(_REFERENCE_BASED + _EDIT_METRICS + _TRAINED)} and an "
        "LLM judge from stored replies)"
    )
    usual_page: ClassVar[str] = "gecjury-demo.html"

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return metrics that run with what is installed, and what is said of the others.

        Metrics over edits need spaCy and errant.
        """
        if all(find_spec(package) for package in ("errant", "spacy")):
            return _REFERENCE_BASED + _EDIT_METRICS + _TRAINED + _JUDGES, ""
        left_out = f"gecjury: {', '.join(_EDIT_METRICS)} left out: {install_hint('edits')}"
        return _REFERENCE_BASED + _TRAINED + _JUDGES, left_out

    def plans(self, work: Work) -> list[Plan]:
        """Return what the metrics would ask, beyond what is stored with the sample."""
        with _replayed(work) as replayed:
            return super().plans(replayed)

    def run(self, work: Work) -> Compared:
        """Compare on the sample, with the replies that are stored with it.

        What the families reach is said last.
        """
        with _replayed(work) as replayed:
            result = cast(Compared, super().run(replayed))
        names = result.short_names()
        contrast = family_contrast(plain(result.document()))
        families = tuple(shortly(sentence, names) for sentence in contrast)
        others = tuple(sentence for sentence in result.verdict if sentence not in families)
        return replace(result, verdict=others, said=families)


@contextmanager
def _replayed(work: Work) -> Iterator[Work]:
    """Give work a cache that holds nothing but the sample's replies, and drop it at the end."""
    with TemporaryDirectory(prefix="gecjury-demo-") as cache:
        shutil.copytree(_REPLIES, Path(cache, "judgments"), ignore=shutil.ignore_patterns("*.md"))
        yield replace(work, runtime=replace(work.runtime, cache=Path(cache), use_cache=True))


compare = function_of(Compare)
