"""`gecjury train some`: regressors trained on rated sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import option
from gecjury.models.checkpoints import EMBEDDED, EMBEDDED_SOME
from gecjury.refless.training.recipe import Recipe
from gecjury.report.result import Result, Table
from gecjury.stats.figure import values_of
from gecjury.studies.inputs import Inputs
from gecjury.studies.making.data import Material
from gecjury.studies.making.training import (
    BASE,
    PARTS,
    CommonFields,
    RatedTraining,
    TrainingEffort,
    TrainingTexts,
    detection_effort,
    detection_origin,
    figure_columns,
    recipes_text,
)
from gecjury.studies.study import Work

if TYPE_CHECKING:
    from gecjury.corpus.splits import Split
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.training.job import JobSettings

_BACKWARDS = (
    "`read_source=` without `within=` rates a correction by how bad its source was: on SEEDA such "
    "a model orders corrections worse than chance (.46); add `within=2`"
)

_CHOICES = ("encoder", "detector", "kernel", "fine_tune", "shared", "features")
"""Options that choose a model; without them, the recipe `small` is used."""

PRESETS: Mapping[str, Mapping[str, object]] = {
    "features": {"encoder": "features", "read_source": True, "within": 2.0},
    "small": {
        "encoder": "embedded",
        "kernel": True,
        "read_source": True,
        "within": 2.0,
        "detector": EMBEDDED_SOME,
    },
    "kernel": {"encoder": BASE, "kernel": True, "read_source": True, "within": 2.0},
    "base": {
        "encoder": BASE,
        "kernel": True,
        "read_source": True,
        "within": 2.0,
        "fine_tune": True,
        "shared": True,
        "features": True,
        "epochs": 2,
        "bf16": True,
        "freeze_layers": 6,
    },
    "paper": {"encoder": "bert-base-cased", "epochs": 10},
}
"""The options behind the figures of docs/measured/some.md, by name of the recipe: values by
name of the option. Options on the command line override them."""


@dataclass(frozen=True, kw_only=True)
class TrainSome(Recipe, RatedTraining["JobSettings"]):
    """Regressors of grammaticality, fluency and meaning, or of quality, on rated sentences.

    Attributes:
        detection: learn error detection first, from labelled tokens: multiged-en (-cs, -de, -it,
            -sv), two-column files (TOKEN, tab, c or i) or M2 files.
        recipe: use the settings of the figures in the documentation; other options override them.
    """

    inputs: ClassVar[Inputs] = TrainingTexts(
        "tmu-gfm, gug, autojqe, a CSV, TSV or JSON-lines file, or hf:NAME[:SPLIT]"
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = PRESETS
    usual: ClassVar[tuple[str, ...]] = ("small", *_CHOICES)
    epilog: ClassVar[str] = f"""\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
{recipes_text(PRESETS)}"""
    detection: tuple[str, ...] = option(
        (), metavar="FILE", several=True, needs={"encoder features": ()}
    )
    recipe: Literal["features", "small", "kernel", "base", "paper"] | None = None

    def check(self, work: Work) -> None:
        """Refuse several sets, and the recipe `base` without a detector."""
        super().check(work)
        if self.recipe == "base" and not (self.detector or self.detection):
            raise OptionError(
                "`recipe=base` starts from an error detector: train one with `gecjury train "
                "detector multiged-en -o my-detector --recipe base`, then add "
                "`detector=my-detector`"
            )
        if self.detector == EMBEDDED_SOME and self.encoder != EMBEDDED:
            raise OptionError(
                f"`encoder={self.encoder:.60}`: the packaged detector belongs to "
                "`encoder=embedded`; name a detector of yours, `detector=DIR`, or leave out "
                "`encoder=`"
            )
        if len(work.data.names) > 1:
            raise OptionError("train some accepts one set of ratings; join the files first")

    def job(self, material: Material, common: CommonFields) -> JobSettings:
        """Read ratings, and the text for error detection."""
        from gecjury.refless.data.rated_sets import SET_LANGUAGES
        from gecjury.refless.training.job import JobSettings
        from gecjury.refless.training.model_card import shown_name

        (name,) = material.names
        # The data determines the language.
        language = material.language({name: SET_LANGUAGES.get(name)})
        data = self.rated(material, name, language)
        # Training sentences are looked up in the benchmarks on which the model will be compared.
        notes = material.warn_of_leaks([*data.sources, *data.outputs], shown_name(name))
        notes += material.told_of_reading(self.encoder, data.outputs, language)
        if self.read_source and not self.within:
            notes.append(_BACKWARDS)
            material.runtime.tell(f"warning: {_BACKWARDS}")
        typed = f" --recipe {self.recipe}" if self.recipe else ""
        named = self.detection
        detection = material.labelled_text(named, language.code) if named else None
        return JobSettings(
            data=data,
            split=_split(material, name, data),
            recipe=self.recipe_as(Recipe, language.code),
            detection=detection,
            origin={
                "data": shown_name(name),
                # Options besides the recipe are in the card's settings.
                "command": f"`gecjury train some {shown_name(name)}{typed}`, with the settings "
                "below",
                "sentences looked for in": ", ".join(self.checked) or "no benchmark",
                **detection_origin(self.detection, self.detector),
            },
            notes=notes,
            **common,
        )

    def effort(self, job: JobSettings) -> TrainingEffort:
        """Return what the models read: the texts, and for meaning or quality their sources."""
        from gecjury.refless.data.annotations import PAIRED

        split = job.split
        learnt, read = detection_effort(job.detection)
        if job.recipe.tuned:
            sides = [aspect in PAIRED for aspect in job.data.aspects]
            inputs = len(set(sides)) if job.recipe.shared else len(sides)
            epochs = job.recipe.settings.epochs
            learnt += inputs * epochs * len(split.train)
            read += inputs * (epochs * len(split.dev) + len(split.test))
        if job.recipe.kernel:
            # Every text is read once by the encoder, and by the one that a detector has changed.
            encoders = 1 + bool(job.recipe.detector or job.detection)
            read += encoders * len({*job.data.sources, *job.data.outputs})
        groups, parts = job.data.groups(), []
        for part, rows in values_of(split, *PARTS).items():
            counts = Counter(groups[rows].tolist()).values()
            pairs = sum(count * (count - 1) // 2 for count in counts)
            parts.append({"part": part, "rows": len(rows), "pairs": pairs})
        return TrainingEffort(parts, job.data.outputs, learnt, read)

    def train(self, job: JobSettings) -> Result:
        """Train; the tables have the correlations of every part and aspect."""
        from gecjury.refless.nets.bundle import metric_for
        from gecjury.refless.training.model_card import figure_rows
        from gecjury.refless.training.some import train_some

        report = train_some(job)
        whole = figure_columns(*(["what"] if report.alone else []), "part", "aspect")
        facts: dict[str, object] = {
            "model": str(job.folder),
            "figures": report.figures,
            "trained": report.trained,
            "detection": report.detection,
        }
        if report.alone:
            facts |= {"alone": report.alone, "shares": report.shares}
        table = Table(whole, figure_rows(report.figures, report.alone))
        metric = metric_for(str(job.folder), job.data.aspects)
        return self.result(job.folder, table, facts, report.worth, metric)


def _split(material: Material, name: str, data: Annotations) -> Split:
    """Return the split of the rated sentences: by column, or drawn."""
    from gecjury.refless.data.rated_sets import split_as_named, split_by_source

    try:
        split = split_as_named(data) if data.names else split_by_source(data)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if not data.names:
        material.runtime.tell(f"split by source: {split}")
    return split
