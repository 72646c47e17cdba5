"""A study: settings that say what they take, and turn data and metrics into tables.

A subclass is a frozen dataclass. Its fields are the options of its command, its docstring is their
help, and `run` is the study itself. The command line reads all of that; nothing else declares it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, TypeAlias, TypeVar, cast

from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError
from gecjury.report.result import Result
from gecjury.runtime import Runtime
from gecjury.scoring.registry import Metric, load
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan, ScoreTable
from gecjury.settings import check

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.table import View
    from gecjury.corpus.language import Language

Data: TypeAlias = "Corpus | Benchmark | str | Sequence[str | Benchmark] | None"
"""The data of a study: texts, a benchmark, or names: of a benchmark, or as the study says; None
for scores alone."""

Read: TypeAlias = "Corpus | Benchmark | tuple[Benchmark, ...] | None"
"""Data as they were read: several benchmarks where a study takes them."""

Metrics: TypeAlias = Metric | Sequence[Metric]
"""One metric or several: by name with options as on the command line, loaded, or one's own."""

Takes = Literal[
    "files",
    "files or dataset",
    "two outputs",
    "sentence",
    "benchmark",
    "benchmarks",
    "either",
    "sample",
    "m2",
]
"""Positional arguments of a command."""

Need = Literal["language", "texts", "data", "cache", "edits", "models", "judges", "plans"]
"""Things that a command works with; it reads the shared options of its needs."""


@dataclass(frozen=True)
class Work:
    """The data, metrics and runtime of a study.

    Attributes:
        data: a corpus, a benchmark or several; None where scores made elsewhere are all there is.
        scorers: the metrics, each once.
        runtime: device, workers, caches and the like.
        folder: where score files are read and kept; None for nowhere.
        inputs: what the user called the data: files, or a benchmark.
        typed: metrics by name, as the user typed them.
        further: reads another benchmark as the first was read.
    """

    data: Read
    scorers: tuple[Scorer, ...]
    runtime: Runtime
    folder: str | Path | None = None
    inputs: tuple[str, ...] = ()
    typed: Mapping[str, Scorer] = field(default_factory=dict)
    further: Callable[[str], Corpus | Benchmark | None] = lambda name: loaded(name)

    @classmethod
    def of(
        cls,
        study: Study,
        data: Data | Callable[[], Read],
        metrics: Metrics,
        runtime: Runtime,
        folder: str | Path | None = None,
        inputs: Sequence[str] = (),
    ) -> Work:
        """Load what a user names, metrics first: a name that is wrong then costs nothing.

        Args:
            study: which metrics and data it takes.
            data: texts, a benchmark, names, or what reads one of these.
            metrics: names, with options as on the command line, or scorers.
            runtime: device, workers and the like.
            folder: where score files are read and kept; None for nowhere.
            inputs: what the user called the data; by default the names in `data`.

        Raises:
            OptionError: an unknown metric, option or benchmark.
            DataError: the benchmark's files are missing.
        """
        # A bare function is a metric, too: what can be called is one metric, not several.
        alone = isinstance(metrics, str | Scorer) or callable(metrics)
        listed = [cast(Metric, metrics)] if alone else list(cast("Sequence[Metric]", metrics))
        # By the metric as named: the same name twice is loaded once.
        loaded_metrics = {one: study.load(one) for one in listed}
        typed = {one: scorer for one, scorer in loaded_metrics.items() if isinstance(one, str)}
        scorers = dict.fromkeys(loaded_metrics.values())
        if not inputs and isinstance(data, str | Sequence):
            names = (data,) if isinstance(data, str) else data
            inputs = [name if isinstance(name, str) else name.name for name in names]
        # Read last: a benchmark may take seconds, and a wrong metric should not wait for it.
        texts = data() if callable(data) else study.read(data, runtime)
        return cls(texts, tuple(scorers), runtime, folder, tuple(inputs), typed)

    @property
    def name(self) -> str:
        """The data, as the user named it."""
        return " ".join(self.inputs)

    @property
    def scorer(self) -> Scorer:
        """The metric, of a study that takes one.

        Raises:
            OptionError: there are several.
        """
        if len(self.scorers) > 1:
            raise OptionError(f"{len(self.scorers)} metrics (-m); expected one")
        return self.scorers[0]

    @property
    def named(self) -> str:
        """The end of a title: a blank and the name in brackets, where there is one."""
        return f" ({self.name})" if self.inputs else ""

    @property
    def corpus(self) -> Corpus:
        """The texts.

        Raises:
            OptionError: there are none.
        """
        if self.data is None:
            raise OptionError("no texts: give a corpus, a benchmark, or a benchmark's name")
        if isinstance(self.data, Corpus):
            return self.data
        return self.data[0].corpus if isinstance(self.data, tuple) else self.data.corpus

    @property
    def benchmark(self) -> Benchmark | None:
        """The only benchmark; None for plain texts, and for several."""
        return None if isinstance(self.data, Corpus | tuple) else self.data

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """The benchmarks; none for plain texts."""
        if isinstance(self.data, tuple):
            return self.data
        return () if self.benchmark is None else (self.benchmark,)

    def scores(self) -> tuple[ScoreTable, ...]:
        """Score the texts with every metric, reading and writing the folder's score files.

        Raises:
            OutputError: the folder cannot be written, said before anything is scored.
        """
        if self.folder:
            check_writable(self.folder)
        return tuple(
            score_with_files(scorer, self.corpus, self.folder or None, self.runtime)
            for scorer in self.scorers
        )


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """Settings of a study.

    Class attributes:
        takes: what its command asks for.
        needs: what its command works with.
        epilog: ends the help of its command.
        metrics: help of `-m` where the study can do without a metric; empty where it cannot, None
            where it takes none.
        what: help of the only metric, which is named in front of the data instead of by `-m`.
        keeps: whether it reads and writes score files (`-o DIR`).
        draws: the option that names the file of its figure; empty where it draws none.
        page: whether its result can be written as a page (`--html FILE`).
        usual_page: the file of the page where the user names none; empty for no page.
        data: help of what it takes, where that is a benchmark, either or M2.
        use_of_references: ends the help of `-r`, where the study can do without references.
        scores_alone: whether files of scores may stand in the place of texts.
        new_texts: what is done with texts that the user has not given, so that scores made
            elsewhere are refused; empty where there are none.

    Raises:
        OptionError: a value out of its bounds.
    """

    takes: ClassVar[Takes] = "files"
    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges", "plans")
    epilog: ClassVar[str] = ""
    metrics: ClassVar[str | None] = ""
    what: ClassVar[str] = ""
    keeps: ClassVar[bool] = False
    draws: ClassVar[str] = ""
    page: ClassVar[bool] = False
    usual_page: ClassVar[str] = ""
    data: ClassVar[str] = ""
    data_name: ClassVar[str] = "BENCHMARK|SOURCE HYP"
    use_of_references: ClassVar[str] = ""
    scores_alone: ClassVar[bool] = False
    new_texts: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check(self)

    @property
    def view(self) -> View | None:
        """The view of human judgments that a benchmark is loaded with; None for its usual one."""
        return None

    @abstractmethod
    def run(self, work: Work) -> Result:
        """Carry the study out."""

    def load(self, metric: Metric) -> Scorer:
        """Return a metric that is ready to score.

        Raises:
            OptionError: an unknown metric or option, or scores of texts that the study replaces.
        """
        scorer = load(metric)
        if self.new_texts:
            scorer.check_new_texts(self.new_texts)
        return scorer

    def read(self, data: Data, runtime: Runtime, language: Language | None = None) -> Read:
        """Return the data itself, or what is named.

        Args:
            data: as the user gave it.
            runtime: folders of data and caches.
            language: of the texts, where it is not what their name tells.
        """
        return loaded(data)

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metrics that are taken where none is named, and what is said of others."""
        return (), ""

    def html(self, result: Result) -> str:
        """Return a result of the study as one page that needs no network."""
        from gecjury.report.page.listed import tables_html

        return tables_html(result)

    def plans(self, work: Work) -> list[Plan]:
        """Return what the metrics would ask of services that may cost money."""
        plans = (scorer.plan(corpus, work.runtime) for scorer, corpus in self.to_score(work))
        return [plan for plan in plans if plan is not None]

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with the texts that it scores."""
        for scorer in work.scorers:
            yield scorer, scorer.read(work.corpus)

    def warning(self, work: Work) -> str:
        """Return how long the study will take, where that is minutes; empty otherwise."""
        return ""

    def check(self, work: Work) -> None:
        """Refuse data that a metric cannot score, before anything is scored.

        Raises:
            InputError: names the metric and what it lacks.
        """
        for scorer in work.scorers:
            scorer.check(work.corpus)

    def __call__(
        self,
        data: Data,
        metrics: Metrics = (),
        *,
        folder: str | Path | None = None,
        runtime: Runtime | None = None,
    ) -> Result:
        """Carry the study out on data and metrics as a user names them.

        Args:
            data: texts, a benchmark, or a benchmark's name.
            metrics: names, with options as on the command line, or scorers.
            folder: where score files are read and kept; by default nowhere.
            runtime: device, workers and the like.

        Raises:
            OptionError: an unknown metric, option or benchmark.
            InputError: texts that lack what a metric needs.
            OutputError: the folder cannot be written.
        """
        # A study without a metric takes its usual ones, as its command does.
        metrics = metrics or self.usual_metrics()[0]
        work = Work.of(self, data, metrics, runtime or Runtime(), folder)
        if not work.scorers and self.metrics == "":
            raise OptionError('no metric is named: give at least one, e.g. "green"')
        self.check(work)
        return self.run(work)


_TEXTS = "texts in lists as gecjury.corpus_of_texts(sources, hypotheses, references)"


def loaded(data: Data) -> Corpus | Benchmark | None:
    """Return the data itself, or the benchmark of a name with its usual systems and references.

    Raises:
        OptionError: the name is unknown.
        DataError: the benchmark's files are missing.
    """
    if isinstance(data, Sequence) and not isinstance(data, str):
        raise OptionError(f"{len(data)} names of data; expected one benchmark, or {_TEXTS}")
    if not isinstance(data, str):
        return data
    # Benchmarks bring the network and XML along, which scoring files does without.
    from gecjury.benchmarks.load import load_benchmark

    return load_benchmark(data)


S = TypeVar("S", bound=Study)
S_contra = TypeVar("S_contra", bound=Study, contravariant=True)


class StudyFunction(Protocol[S_contra]):
    """A study as a function."""

    def __call__(
        self,
        data: Data,
        metrics: Metrics = (),
        settings: S_contra | None = None,
        *,
        folder: str | Path | None = None,
        runtime: Runtime | None = None,
    ) -> Result:
        """Carry the study out; see `Study.__call__` for the arguments."""


def function_of(study: type[S]) -> StudyFunction[S]:
    """Return a study as a function of data, metrics and settings.

    Args:
        study: the class of its settings, whose docstring the function takes over.
    """

    def run(
        data: Data,
        metrics: Metrics = (),
        settings: S | None = None,
        *,
        folder: str | Path | None = None,
        runtime: Runtime | None = None,
    ) -> Result:
        if settings is not None and not isinstance(settings, study):
            raise OptionError(
                f"settings is a {type(settings).__name__}; expected {study.__name__}(...). The "
                f"first argument holds all data: a benchmark, or {_TEXTS}"
            )
        return (settings or study())(data, metrics, folder=folder, runtime=runtime)

    run.__module__ = study.__module__
    run.__name__ = run.__qualname__ = study.__name__.lower()
    run.__doc__ = study.__doc__
    return run
