"""`gecjury train detector`: train an encoder to detect wrong tokens, on labelled text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.refless.training.recipe import DetectorRecipe
from gecjury.report.result import Column, Result, Table
from gecjury.studies.inputs import Inputs
from gecjury.studies.making.data import Material
from gecjury.studies.making.training import (
    BASE,
    CommonFields,
    Training,
    TrainingEffort,
    TrainingTexts,
    recipes_text,
)

if TYPE_CHECKING:
    from gecjury.refless.training.detection import DetectorJob

PRESETS: Mapping[str, Mapping[str, object]] = {
    "base": {"encoder": BASE, "epochs": 2, "bf16": True, "freeze_layers": 0}
}
"""See `gecjury.studies.making.some.PRESETS`."""


@dataclass(frozen=True, kw_only=True)
class TrainDetector(DetectorRecipe, Training["DetectorJob"]):
    """An encoder that detects wrong tokens, as a start for SOME and IMPARA.

    Attributes:
        recipe: use the settings of the figures in the documentation; other options override them.
    """

    inputs: ClassVar[Inputs] = TrainingTexts(
        "multiged-en (-cs, -de, -it, -sv), two-column files (TOKEN, tab, c or i) or M2 files"
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = PRESETS
    epilog: ClassVar[str] = f"""\
examples:
  gecjury train detector multiged-en -o my-detector --encoder embedded
  gecjury train some tmu-gfm -o my-some --encoder embedded --detector my-detector --kernel
{recipes_text(PRESETS)}"""
    recipe: Literal["base"] | None = None

    def job(self, material: Material, common: CommonFields) -> DetectorJob:
        """Read labelled text."""
        from gecjury.corpus.languages.language import language_of
        from gecjury.refless.training.detection import DetectorJob
        from gecjury.refless.training.model_card import shown_name

        language = material.labelled_code(material.names)
        text = material.labelled_text(material.names, language)
        # For text in several languages, it is unclear which words an encoder should know.
        if language not in ("en", "mul"):
            read = [sentence.text for sentence in text.train]
            material.told_of_reading(self.encoder, read, language_of(language))
        return DetectorJob(
            text=text,
            recipe=self.recipe_as(DetectorRecipe, language),
            origin={"data": " ".join(map(shown_name, material.names))},
            **common,
        )

    def effort(self, job: DetectorJob) -> TrainingEffort:
        """Return the sentences of both parts."""
        from gecjury.refless.training.detection import with_dev

        settings = job.recipe.settings
        text = with_dev(job.text, settings.seed)
        sizes = (("train", len(text.train)), ("dev", len(text.dev)))
        parts = [{"part": part, "sentences": size} for part, size in sizes]
        learnt, read = settings.epochs * len(text.train), settings.epochs * len(text.dev)
        return TrainingEffort(parts, [sentence.text for sentence in text.train], learnt, read)

    def train(self, job: DetectorJob) -> Result:
        """Train; the table has F0.5 and average precision on the dev part."""
        from gecjury.refless.training.detection import train_detector

        rows = [{"part": "dev", **train_detector(job)}]
        columns = [Column("part")]
        columns += [Column(key, digits=4) for key in ("f0.5", "precision", "recall", "ap")]
        columns.append(Column("tokens", digits=0))
        notes = (f"model: {job.folder}; start from it with `detector={job.folder}`",)
        return Result((Table(columns, rows, notes=notes, name="rows"),), notes=notes)
