"""The base class of studies, which turn data and metrics into tables.

A subclass is a frozen dataclass. Its fields are the options of its command, its docstring is their
help, and `run` carries the study out. The command line reads all of this from the class; it is
declared nowhere else.

`gecjury COMMAND --help` imports the module of a study, so it imports at its top only what declares
options; what reads, scores or reports is imported where it is used.
"""

from __future__ import annotations

import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, TypeVar, cast

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import Option, check, options_of, recorded, settings_from
from gecjury.studies.inputs import Arguments, InputData, Inputs, Need

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.table import View
    from gecjury.corpus.corpus import Corpus
    from gecjury.report.result import Result
    from gecjury.scoring.registry import Metric
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import Plan, ScoreTable

Data: TypeAlias = "Corpus | Benchmark | str | Sequence[str | Benchmark]"
"""The data of a study: texts, a benchmark, or the names of benchmarks or files."""

StudyData: TypeAlias = "Corpus | Benchmark | tuple[Benchmark, ...]"
"""Data after reading; several benchmarks if the study accepts them."""

Metrics: TypeAlias = "Metric | Sequence[Metric]"
"""One metric or several: a name with options as on the command line, a loaded metric, or your own
function."""


@dataclass(frozen=True)
class Output:
    """Where a study writes: the option `-o`.

    Attributes:
        meaning: its help.
        metavar: name of the value in the help; DIR is a folder.
        required: whether the study cannot run without it.
    """

    meaning: str
    metavar: str = "DIR"
    required: bool = False


SCORES = Output("keep one score file per metric")


@dataclass(frozen=True)
class Work:
    """The data, metrics and runtime of a study.

    Attributes:
        data: what the study's inputs read: a corpus, one or more benchmarks, or files to train on.
        scorers: the metrics, without duplicates.
        runtime: device, workers, caches and the like.
        folder: where score files are read and written; None for nowhere.
        inputs: the names of the data as the user gave them: files, or a benchmark.
        typed: metrics by name, as given on the command line.
        further: loads another benchmark in the same way as the first.
    """

    data: InputData
    scorers: tuple[Scorer, ...]
    runtime: Runtime
    folder: str | Path | None = None
    inputs: tuple[str, ...] = ()
    typed: Mapping[str, Scorer] = field(default_factory=dict)
    further: Callable[[str], Corpus | Benchmark] = lambda name: loaded(name)

    @classmethod
    def of(
        cls,
        study: Study,
        data: Data | Callable[[], StudyData],
        metrics: Metrics,
        runtime: Runtime,
        folder: str | Path | None = None,
        inputs: Sequence[str] = (),
    ) -> Work:
        """Load metrics and data as a user names them.

        Metrics are loaded first, so that a misspelt name is reported before any data are read.

        Args:
            study: decides which metrics and data are accepted.
            data: texts, a benchmark, names, or a function that reads one of these.
            metrics: names, with options as on the command line, or scorers.
            folder: where score files are read and written; None for nowhere.
            inputs: the names of the data as the user gave them; by default the names in `data`.

        Raises:
            OptionError: an unknown metric, option or benchmark.
            DataError: the benchmark's files are missing.
        """
        from gecjury.scoring.scorer import Scorer

        # A plain function is a metric as well, so a callable is one metric and not several.
        alone = isinstance(metrics, str | Scorer) or callable(metrics)
        listed = [cast("Metric", metrics)] if alone else list(cast("Sequence[Metric]", metrics))
        # Keyed by the metric as given, so that a name given twice is loaded once.
        loaded_metrics = {metric: study.load(metric) for metric in listed}
        typed = {name: scorer for name, scorer in loaded_metrics.items() if isinstance(name, str)}
        scorers = dict.fromkeys(loaded_metrics.values())
        if not inputs and isinstance(data, str | Sequence):
            names = (data,) if isinstance(data, str) else data
            inputs = [name if isinstance(name, str) else name.name for name in names]
        # Data are read last: a benchmark may take seconds, and a wrong metric should fail at once.
        texts = data() if callable(data) else study.read(data, runtime)
        return cls(texts, tuple(scorers), runtime, folder or None, tuple(inputs), typed)

    @property
    def name(self) -> str:
        """The data, as the user named it."""
        return " ".join(self.inputs)

    @property
    def scorer(self) -> Scorer:
        """The only metric.

        Raises:
            OptionError: there are several metrics.
        """
        if len(self.scorers) > 1:
            raise OptionError(f"{len(self.scorers)} metrics (-m); expected one")
        return self.scorers[0]

    @property
    def named(self) -> str:
        """The end of a title: a space and the name in parentheses; empty without a name."""
        return f" ({self.name})" if self.inputs else ""

    @property
    def corpus(self) -> Corpus:
        """The texts."""
        from gecjury.corpus.corpus import Corpus

        if isinstance(self.data, Corpus):
            return self.data
        first: Benchmark = self.data[0] if isinstance(self.data, tuple) else self.data
        return first.corpus

    @property
    def benchmark(self) -> Benchmark | None:
        """The only benchmark; None for plain texts, and for several."""
        from gecjury.corpus.corpus import Corpus

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
            OutputError: the folder cannot be written; raised before anything is scored.
        """
        if not self.folder:
            return tuple(s.score_corpus(self.corpus, self.runtime) for s in self.scorers)
        from gecjury.scoring.score_files import check_writable, score_with_files

        check_writable(self.folder)
        return tuple(
            score_with_files(scorer, self.corpus, self.folder, self.runtime)
            for scorer in self.scorers
        )


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """Settings of a study.

    Class attributes:
        inputs: what it works on.
        needs: what its command works with.
        epilog: text at the end of its command's help.
        metrics: help of `-m` if no metric has to be named; empty if one is required, None if the
            study uses no metric.
        keeps: where it keeps score files, or writes its model or page; None for nowhere.
        page: whether its result can be written as a page (`--html FILE`), or the file of the page
            that is written even if the user names none.
        presets: named recipes, which set several options.
        usual: the recipe that is used if none is named and the options listed after it have their
            defaults.
        logs: whether progress is logged, a line per minute, where stderr is not a terminal.
        new_texts: the command's name, if it scores texts that the user has not given, so that
            scores computed elsewhere are refused; otherwise empty.

    Raises:
        OptionError: a value is out of its bounds.
    """

    inputs: ClassVar[Inputs]
    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges", "plans")
    epilog: ClassVar[str] = ""
    metrics: ClassVar[str | None] = ""
    keeps: ClassVar[Output | None] = None
    page: ClassVar[bool | str] = False
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {}
    usual: ClassVar[tuple[str, ...]] = ()
    logs: ClassVar[bool] = False
    new_texts: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check(self)

    @property
    def view(self) -> View | None:
        """The view of human judgments that a benchmark is loaded with; None for its default."""
        return None

    def asked(self, given: Arguments) -> tuple[Study, Arguments]:
        """Return the study that a user asks for, and its arguments, if these say more."""
        return self, given

    @abstractmethod
    def run(self, work: Work) -> Result:
        """Run the study."""

    def load(self, metric: Metric) -> Scorer:
        """Return a metric that is ready to score.

        Raises:
            OptionError: an unknown metric, option or model, or given scores, while the study needs
                scores of new texts.
        """
        from gecjury.scoring.registry import load
        from gecjury.scoring.scorer import check_new_texts

        scorer = load(metric)
        # A misspelt folder is reported before data are read or a missing package is named.
        if models := scorer.loaded_models:
            from gecjury.models.checkpoints import check_name

            for model in models:
                check_name(model, packaged=scorer.family == "refbased")
        if self.new_texts:
            check_new_texts(scorer, self.new_texts)
        return scorer

    def read(self, data: Data, runtime: Runtime) -> StudyData:
        """Return the data itself, or load it if it is given by name."""
        return loaded(data)

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metrics that are used if none is named, and a message about others."""
        return (), ""

    def html(self, result: Result) -> str:
        """Return a result of the study as one page that needs no network.

        Raises:
            NotImplementedError: the study has no page.
        """
        raise NotImplementedError

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests that the metrics would send to services that may cost money."""
        from gecjury.scoring.abilities import plan_of

        plans = (plan_of(scorer, corpus, work.runtime) for scorer, corpus in self.to_score(work))
        return [plan for plan in plans if plan is not None]

    def rehearse(self, work: Work) -> Result | None:
        """Return what a dry run shows; None for the requests of `plans`."""
        return None

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with the texts that it scores."""
        for scorer in work.scorers:
            yield scorer, scorer.read(work.corpus)

    def warning(self, work: Work) -> str:
        """Return a message on how long the study takes, if that is minutes; otherwise empty."""
        return ""

    def kept(self, work: Work) -> str:
        """Return what an interrupted run keeps, and how to continue it."""
        from gecjury.scoring.abilities import asks

        parts = []
        if work.runtime.use_cache and any(map(asks, work.scorers)):
            parts.append("the judges' replies so far are stored")
        if work.folder and self.keeps is not None and self.keeps.metavar == "DIR":
            parts.append(f"{work.folder} keeps the scores of the metrics that were finished")
        if not parts:
            return "nothing is kept: the same command starts again"
        return f"{' and '.join(parts)}: the same command continues from there"

    def check(self, work: Work) -> None:
        """Refuse data that a metric cannot score, before anything is scored.

        Raises:
            InputError: the data lack something; names the metric and what is missing.
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
        """Run the study on data and metrics as a user names them.

        Args:
            data: texts, a benchmark, or a benchmark's name.
            metrics: names, with options as on the command line, or scorers.
            folder: where score files are read and written; by default nowhere.

        Raises:
            OptionError: an unknown metric, option or benchmark.
            InputError: texts that lack what a metric needs.
            OutputError: the folder cannot be written.
        """
        # If no metric is named, the study uses its default ones, as its command does.
        metrics = metrics or self.usual_metrics()[0]
        work = Work.of(self, data, metrics, runtime or Runtime(), folder)
        if not work.scorers and self.metrics == "":
            raise OptionError('no metric is named: give at least one, e.g. "green"')
        self.check(work)
        return self.with_settings(self.run(work))

    def with_settings(self, result: Result) -> Result:
        """Return a result that names the settings of this study, for JSON."""
        return replace(result, settings=recorded(self))


_TEXTS = "texts in lists as gecjury.corpus_of_texts(sources, hypotheses, references)"


def loaded(data: Data) -> Corpus | Benchmark:
    """Return the data itself, or load a benchmark by name with its default systems and references.

    Raises:
        OptionError: the name is unknown.
        DataError: the benchmark's files are missing.
    """
    if isinstance(data, Sequence) and not isinstance(data, str):
        raise OptionError(f"{len(data)} names of data; expected one benchmark, or {_TEXTS}")
    if not isinstance(data, str):
        return data
    # Imported here: benchmarks import network and XML modules, which scoring files does not need.
    from gecjury.benchmarks.load import load_benchmark

    return load_benchmark(data)


S = TypeVar("S", bound=Study)
S_contra = TypeVar("S_contra", bound=Study, contravariant=True)


class StudyFunction(Protocol[S_contra]):
    """A study as a function; `help` shows its settings."""

    def __call__(
        self,
        data: Data,
        metrics: Metrics = (),
        settings: S_contra | None = None,
        *,
        folder: str | Path | None = None,
        runtime: Runtime | None = None,
        **options: object,
    ) -> Result:
        """Run the study; see `Study.__call__` for the arguments."""


def function_of(study: type[S]) -> StudyFunction[S]:
    """Return a study as a function of data, metrics and settings by keyword.

    Its signature and docstring list the settings by their names on the command line.
    """
    options = {one.keyword: one for one in options_of(study, hidden=True)}

    def run(
        data: Data,
        metrics: Metrics = (),
        settings: S | None = None,
        *,
        folder: str | Path | None = None,
        runtime: Runtime | None = None,
        **values: object,
    ) -> Result:
        if settings is not None and not isinstance(settings, study):
            raise OptionError(
                f"settings is a {type(settings).__name__}; expected {study.__name__}(...). The "
                f"first argument contains all data: a benchmark, or {_TEXTS}"
            )
        configured = settings_from(study, values, settings)
        return configured(data, metrics, folder=folder, runtime=runtime)

    by_hand = inspect.signature(run)
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default)
        for name, one in options.items()
    ]
    parameters = [
        one.replace(annotation=f"{study.__name__} | None") if name == "settings" else one
        for name, one in by_hand.parameters.items()
        if name != "values"
    ]
    run.__signature__ = by_hand.replace(parameters=[*parameters, *keywords])  # type: ignore[attr-defined]
    run.__module__ = study.__module__
    run.__name__ = run.__qualname__ = study.__name__.lower()
    run.__doc__ = _documentation(study, options)
    return run


def _documentation(study: type[Study], options: Mapping[str, Option]) -> str:
    """Return the docstring of a study as a function, which lists its settings."""
    about = inspect.cleandoc(study.__doc__ or "").partition("\nAttributes:\n")[0].rstrip()
    entries = [
        f"    {name}: {one.meaning} Expected: {one.expected}; default: {one.default!r}."
        for name, one in options.items()
    ]
    wrapped = [textwrap.fill(entry, 100, subsequent_indent=" " * 8) for entry in entries]
    return "\n".join([about, "", _ARGUMENTS, *wrapped])


_ARGUMENTS = """\
Args:
    data: texts, a benchmark, or a benchmark's name.
    metrics: names, with options as on the command line, or scorers.
    settings: settings as one object, which the following arguments change.
    folder: where score files are read and written; by default nowhere.
    runtime: device, workers, caches and the like."""
