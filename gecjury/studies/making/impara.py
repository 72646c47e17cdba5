"""`gecjury train impara`: a ranker trained on parallel text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.core.settings import option
from gecjury.models.checkpoints import EMBEDDED_SOME
from gecjury.refless.training.recipe import RankerRecipe
from gecjury.report.result import Column, Result, Table
from gecjury.studies.inputs import Inputs
from gecjury.studies.making.data import Material
from gecjury.studies.making.training import (
    BASE,
    CommonFields,
    Training,
    TrainingEffort,
    TrainingTexts,
    detection_effort,
    detection_origin,
    recipes_text,
)

if TYPE_CHECKING:
    from gecjury.refless.training.impara import RankerJob

PRESETS: Mapping[str, Mapping[str, object]] = {
    "small": {"encoder": EMBEDDED_SOME, "linear": True},
    "base": {"encoder": BASE, "linear": True},
}
"""See `gecjury.studies.making.some.PRESETS`."""


@dataclass(frozen=True, kw_only=True)
class TrainImpara(RankerRecipe, Training["RankerJob"]):
    """A ranker on parallel text.

    Attributes:
        detection: learn error detection first, from labelled tokens: multiged-en (-cs, -de, -it,
            -sv), two-column files (TOKEN, tab, c or i) or M2 files.
        recipe: use the settings of the figures in the documentation; other options override them.
    """

    inputs: ClassVar[Inputs] = TrainingTexts(
        "jfleg, gmeg-dev, tmu-gfm (its best-rated corrections), geccc-dev, ua-gec, an M2 file or "
        "SOURCE,REF[,REF...]"
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = PRESETS
    epilog: ClassVar[str] = f"""\
examples:
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara-ged --encoder embedded \\
      --detection multiged-en --pooling mean
{recipes_text(PRESETS)}"""
    detection: tuple[str, ...] = option((), metavar="FILE", several=True)
    recipe: Literal["small", "base"] | None = None

    def job(self, material: Material, common: CommonFields) -> RankerJob:
        """Read parallel text, and the text for error detection."""
        from gecjury.refless.data.pairs import PARALLEL_LANGUAGES, read_parallel
        from gecjury.refless.training.impara import RankerJob
        from gecjury.refless.training.model_card import shown_name

        language = material.language({n: PARALLEL_LANGUAGES.get(n) for n in material.names})
        corrections = read_parallel(material.names, material.folder, language)
        texts = [text for c in corrections for text in (c.source, c.text())]
        name = " ".join(map(shown_name, material.names))
        notes = material.warn_of_leaks(texts, name)
        notes += material.told_of_reading(self.encoder, texts, language)
        notes += self._known_to_detector(material, {c.source for c in corrections})
        files = self.detection
        return RankerJob(
            recipe=self.recipe_as(RankerRecipe, language.code),
            corrections=corrections,
            detection=material.labelled_text(files, language.code) if files else None,
            origin={"data": name, **detection_origin(self.detection, self.detector)},
            notes=notes,
            **common,
        )

    def effort(self, job: RankerJob) -> TrainingEffort:
        """Return what the ranker reads: two sentences of each pair."""
        from gecjury.refless.training.impara import split_corrections

        eighth = self.pairs // 8
        wanted = {"train": self.pairs, "dev": eighth, "test": eighth}
        split = split_corrections(job.corrections, job.recipe.settings.seed)
        parts = [
            {"part": part, "corrections": len(split[part]), "pairs": pairs}
            for part, pairs in wanted.items()
        ]
        learnt, read = detection_effort(job.detection)
        if self.linear:
            read += 2 * sum(wanted.values())
        else:
            epochs = job.recipe.settings.epochs
            learnt += 2 * epochs * self.pairs
            # Pairs are chosen by the vectors of their sentences.
            read += 2 * ((epochs + 1) * eighth + sum(wanted.values()))
        return TrainingEffort(parts, [c.source for c in job.corrections], learnt, read)

    def train(self, job: RankerJob) -> Result:
        """Train; the table has the share of pairs in the right order, by part."""
        from gecjury.refless.training.impara import ranker_metric, train_impara

        report = train_impara(job)
        columns = [Column(key) for key in ("part", "accuracy", "pairs")]
        table = Table(columns, report.figures, name="rows")
        metric = ranker_metric(str(job.folder))
        return self.result(job.folder, table, {}, report.worth, metric)

    def _known_to_detector(self, material: Material, sources: set[str]) -> list[str]:
        """Return and tell a warning if the detector has learnt from the ranker's test data."""
        from gecjury.corpus.leakage import sentence_key
        from gecjury.refless.data.labelled import detection_keys

        keys = detection_keys(None, self.detector)
        count = sum(sentence_key(source) in keys for source in sources)
        if not count:
            return []
        line = (
            f"the detector has learnt from {count} of the {len(sources)} sources of the parallel "
            "text, so dev and test accuracy are too optimistic"
        )
        material.runtime.tell(f"warning: {line}")
        return [line]
