"""Common parts of the trainings of models: data, recipe, result and time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypedDict, TypeVar, cast

from gecjury.benchmarks.table import benchmark_info, looks_like_path
from gecjury.core.errors import OptionError, nearest
from gecjury.core.settings import option, options_of, settings_from
from gecjury.core.wording import duration, listed, number
from gecjury.models.checkpoints import PACKAGED_ENCODERS, check_name
from gecjury.refless.training.recipe import FEATURES, BaseRecipe
from gecjury.report.keys import keyed
from gecjury.report.result import Column, Result, Table
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.figure import Figure, figures_about, records
from gecjury.studies.inputs import Arguments, Inputs, Need, ReadingStudy
from gecjury.studies.making.data import Material
from gecjury.studies.study import Output, Study, Work

if TYPE_CHECKING:
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.languages.language import Language
    from gecjury.models.networks import NetworkKind
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.data.labelled import LabelledText
    from gecjury.refless.training.job import TrainingJob
    from gecjury.refless.training.worth import Worth

register(Statistic("training.accuracy", "in the right order", better="higher", range=(0, 1)))

R = TypeVar("R", bound=BaseRecipe)
JobT = TypeVar("JobT", bound="TrainingJob")

PARTS = ("train", "dev", "test")
"""The parts of the data of a training."""

BASE = "sentence-transformers/all-mpnet-base-v2"
"""The encoder of the recipes `kernel` and `base`."""

_ABOUT = {
    "features": "no encoder and no torch; trains in seconds",
    "small": "no model download",
    "kernel": "a base-size encoder, read but not trained; minutes on two cores",
    "base": "a base-size encoder; two cores are enough",
    "paper": "Yoshimura et al. (2020)",
}


@dataclass(frozen=True)
class TrainingEffort:
    """The amount of text that a training reads, by which its time is estimated.

    Attributes:
        parts: one record per part of the data: its name, and its number of rows or pairs.
        texts: the inputs of the training.
        learnt: number of inputs that models learn from, over all epochs and models.
        read: number of inputs that they only read, in evaluations.
        kind: kind of the network.
    """

    parts: Sequence[Mapping[str, object]]
    texts: Sequence[str]
    learnt: int
    read: int
    kind: NetworkKind = "sentences"


class CommonFields(TypedDict):
    """The fields of every job besides its data, its recipe and their origin."""

    folder: Path
    runtime: Runtime
    recipe_name: str


@dataclass(frozen=True)
class TrainingTexts(Inputs):
    """Named sets of training data, or files."""

    metavar: str = "DATA"

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Material:
        """Return the names, which the training reads."""
        assert isinstance(study, Training)
        shared = given.shared
        return Material(given.names, study.checked, runtime, shared.lang, shared.fold, shared.quiet)


@dataclass(frozen=True, kw_only=True)
class Training(Study, Generic[JobT]):
    """A training of a model.

    Attributes:
        leakage: benchmarks in which training sentences are looked for; none for no check.
        dry_run: read and split the data, and say how long the training takes; write nothing.
    """

    needs: ClassVar[tuple[Need, ...]] = ("models", "language")
    metrics: ClassVar[str | None] = None
    keeps: ClassVar[Output | None] = Output("folder for the trained model", "PATH", required=True)
    logs: ClassVar[bool] = True
    leakage: tuple[str, ...] = option(("seeda",), metavar="NAME", several=True, heading="data")
    dry_run: bool = False

    @property
    def checked(self) -> tuple[str, ...]:
        """The benchmarks in which training sentences are looked for; none of them for `none`.

        Raises:
            OptionError: `none` and a benchmark.
        """
        if "none" in self.leakage and len(self.leakage) > 1:
            raise OptionError(f"`leakage={' '.join(self.leakage)}`: name benchmarks, or none alone")
        return () if "none" in self.leakage else self.leakage

    @abstractmethod
    def job(self, material: Material, common: CommonFields) -> JobT:
        """Read the data."""

    @abstractmethod
    def train(self, job: JobT) -> Result:
        """Train, and return the figures."""

    @abstractmethod
    def effort(self, job: JobT) -> TrainingEffort:
        """Return what the training reads."""

    def check(self, work: Work) -> None:
        """Refuse an output that is a file, and misspelt names."""
        if Path(cast(str, work.folder)).is_file():
            raise OptionError(f"{work.folder} is a file; -o names a folder for the model")
        for name in (getattr(self, "encoder", ""), getattr(self, "detector", "")):
            if name and name != FEATURES:
                check_name(name)
        for benchmark in self.checked:
            if not looks_like_path(benchmark):
                benchmark_info(benchmark)

    def rehearse(self, work: Work) -> Result:
        """Read and split the data, and estimate the time from a few measured batches."""
        from gecjury.refless.training.pace import measured_pace

        with _explained(work.folder):
            job = self._job(work)
            effort = self.effort(job)
            columns = [Column(key, digits=0) for key in effort.parts[0]]
            facts: dict[str, object] = {}
            time = "takes seconds, since it has no encoder,"
            if job.recipe.encoder != FEATURES:
                encoder, settings = job.recipe.encoder, job.recipe.settings
                of = (effort.texts, settings, work.runtime, effort.kind)
                pace = measured_pace(encoder, *of, learns=effort.learnt > 0)
                seconds = effort.learnt * pace.learning + effort.read * pace.reading
                facts = {"seconds": seconds}
                time = (
                    f"takes about {duration(seconds)} (estimated from a few batches on this "
                    "machine), or less if it stops early,"
                )
        table = Table(columns, effort.parts, name="parts")
        text = f"The training {time} on {_rehearsed(effort.parts)}; nothing was written.\n"
        return Result((table,), facts, text=text)

    def run(self, work: Work) -> Result:
        """Train, and write the model into the folder."""
        from gecjury.refless.training.trainer import is_main_process

        with _explained(work.folder):
            result = self.train(self._job(work))
            # All of several processes have the same result.
            return result if is_main_process() else replace(result, text="")

    def recipe_as(self, kind: type[R], language: str) -> R:
        """Return the recipe alone, for texts of a language."""
        values = {field.name: getattr(self, field.name) for field in fields(kind)}
        return kind(**{**values, "language": language})

    def chosen_recipe(self) -> str:
        """Return the named recipe for card and manifest, with the options that override it."""
        name = getattr(self, "recipe", None)
        if not name:
            return ""
        usual = settings_from(type(self), self.presets[name])
        # The card must not claim a recipe whose figures do not apply because of another option.
        changed = [
            declared.flags[-1]
            for declared in options_of(type(self))
            if declared.name in self.presets[name]
            and attrgetter(declared.path)(self) != attrgetter(declared.path)(usual)
        ]
        return f"{name}, but for {', '.join(changed)}" if changed else str(name)

    def result(
        self,
        folder: Path,
        table: Table,
        facts: Mapping[str, object],
        worth: Worth | None,
        model: str,
    ) -> Result:
        """Return the result of a training, with the table of held-out pairs and its verdict.

        Args:
            worth: None in processes that print nothing, since they did not evaluate.
            model: the metric to score with.
        """
        if worth is None:
            return Result((table,), facts)
        notes = []
        embedded = getattr(self, "encoder", "") in PACKAGED_ENCODERS
        if not worth.above_changes and embedded and not self.chosen_recipe():
            notes.append("the best measured settings for the packaged encoder: `recipe=small`")
        # The model's name comes last, where users look for it.
        notes.append(f"model: {folder}; score with -m {model}")
        tables = [replace(table, notes=notes)]
        figures = _worth_figures(worth, model)
        rows = [keyed("worth_row", row) for row in worth.rows]
        if rows:
            title = f"Held-out pairs of corrections of one source, by {worth.judged}"
            columns = [Column("what"), Column("accuracy", interval="interval", place="training")]
            names = {"part": "what", "metric": "", "accuracy_ci95": "interval"}
            tables.append(Table(columns, records(figures, names=names), title))
        return Result(
            tuple(tables),
            {**facts, "worth": {**keyed("worth", worth), "rows": rows}},
            tuple(notes),
            verdict=(f"{worth.verdict}.",),
            numbers=tuple(figures),
        )

    def _job(self, work: Work) -> JobT:
        common: CommonFields = {
            "folder": Path(cast(str, work.folder)),
            "runtime": work.runtime,
            "recipe_name": self.chosen_recipe(),
        }
        job = self.job(work.data, common)
        if not self.checked:
            work.runtime.tell(
                "warning: leakage is not checked (`leakage=none`): the model may learn sentences "
                "that it is later tested on"
            )
        return job


@dataclass(frozen=True, kw_only=True)
class RatedTraining(Training[JobT]):
    """A training on rated sentences.

    Attributes:
        column: for files: column for output, source, grammaticality, fluency, meaning, or only
            quality (several raters: COL1,COL2 or several numbers in a cell), or split (train, dev,
            test); repeat.
        scale: for files: lowest and highest rating.
    """

    column: tuple[str, ...] = option((), metavar="ROLE=COLUMN")
    scale: str = option("1:4", metavar="LOW:HIGH")

    def rated(self, material: Material, name: str, language: Language) -> Annotations:
        """Read rated sentences of a named set or from a file, and tell the notes about them.

        Raises:
            OptionError: options that a named set does not read.
        """
        from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
        from gecjury.refless.data.rated_sets import NAMED_SETS, read_named

        if name in NAMED_SETS:
            # Other inputs of a judge may be files, which read them.
            for given in ("column", "scale") if len(material.names) == 1 else ():
                if getattr(self, given) != getattr(type(self), given):
                    raise OptionError(
                        f"--{given} would do nothing: {name} has known columns and ratings"
                    )
            data = read_named(name, material.folder())
        elif not (name.startswith("hf:") or Path(name).suffix or Path(name).exists()):
            raise OptionError(
                f"ratings {name!r:.200}: neither a set ({nearest(name[:60], NAMED_SETS)}) nor a "
                "file; expected a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]"
            )
        else:
            columns = ColumnMap.parse(self.column) if self.column else None
            data = read_annotations(name, columns, Scale.parse(self.scale), language)
        for note in data.notes:
            material.runtime.tell(f"{name}: {note}")
        return data


def _worth_figures(worth: Worth, model: str) -> list[Figure]:
    """Return the shares of held-out pairs in the right order, and their difference."""
    return [
        figure
        for row in worth.rows
        for figure in figures_about(
            {"accuracy": row.accuracy},
            {"accuracy": (row.interval[0], row.interval[-1])},
            level="training",
            metric=model,
            part=row.what,
        )
    ]


def _rehearsed(parts: Sequence[Mapping[str, object]]) -> str:
    """Return the size of each part of the data in words: `train (24 rows) and dev (8 rows)`."""
    texts = []
    for part in parts:
        counts = [(key, count) for key, count in part.items() if isinstance(count, int)]
        sizes = ", ".join(f"{number(count)} {key.replace('_', ' ')}" for key, count in counts)
        texts.append(f"{part.get('part')} ({sizes})")
    return listed(texts)


def detection_origin(detection: Sequence[str], detector: str) -> dict[str, str]:
    """Return the model card's entries about labelled text and a detector."""
    from gecjury.refless.training.model_card import shown_name

    origin = {}
    if detection:
        origin["error detection"] = " ".join(map(shown_name, detection))
    if detector:
        origin |= {"detector": shown_name(detector)}
    return origin


def detection_effort(text: LabelledText | None) -> tuple[int, int]:
    """Return how many sentences a preceding error detection learns from, and how many it reads."""
    return (0, 0) if text is None else (2 * len(text.train), 2 * len(text.dev))


def recipes_text(presets: Mapping[str, Mapping[str, object]], **about: str) -> str:
    """Return the end of a command's help: what each recipe sets, and how to resume.

    Args:
        about: what a recipe needs or is, if that differs from the other commands.
    """
    import textwrap

    lines = ["recipes (see docs/guides/train.md):"]
    for name, values in presets.items():
        typed = []
        for key, value in values.items():
            typed += [f"--{key.replace('_', '-')}", *([] if value is True else [str(value)])]
        lines += [f"  {name}: {about.get(name, _ABOUT[name])}", *textwrap.wrap(
            " ".join(typed), 76, initial_indent="    ", subsequent_indent="    ",
            break_on_hyphens=False,
        )]  # fmt: skip
    lines.append(
        "A run that was killed resumes where it stopped when the same command is run again."
    )
    return "\n".join(lines) + "\n"


def figure_columns(*first: str) -> list[Column]:
    """Return the columns of a table of correlations with ratings, after some others."""
    names = (*first, "pearson", "spearman", "rmse")
    return [*(Column(name) for name in names), Column("rows", digits=0)]


@contextmanager
def _explained(folder: str | Path | None) -> Iterator[None]:
    """Say what an interrupted training keeps, and which package is missing."""
    try:
        yield
    except KeyboardInterrupt as stop:
        # A training reports itself what it keeps; interruptions outside a training are reported
        # here.
        if stop.args or not (Path(folder or "") / "checkpoints").is_dir():
            raise
        raise KeyboardInterrupt(
            f"{folder} keeps the finished models and steps. The same command resumes with the "
            "others"
        ) from None
    except ModuleNotFoundError as error:
        from gecjury.scoring.registry import missing_extra

        raise missing_extra("training", "refless", error) from None
