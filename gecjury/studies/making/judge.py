"""`gecjury train judge`: train a language model to judge corrections as people did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.refless.training.recipe import JudgeRecipe
from gecjury.report.result import Result, Table
from gecjury.stats.figure import values_of
from gecjury.studies.inputs import Inputs
from gecjury.studies.making.data import Material
from gecjury.studies.making.training import (
    PARTS,
    CommonFields,
    RatedTraining,
    TrainingEffort,
    TrainingTexts,
    figure_columns,
    recipes_text,
)

if TYPE_CHECKING:
    from gecjury.corpus.languages.language import Language
    from gecjury.judges.llm import GroupJudge
    from gecjury.judges.teaching import Rated
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.training.judge import JudgeJob

PRESETS: Mapping[str, Mapping[str, object]] = {
    "small": {
        "prompt": "short-grade",
        "learning_rate": 2e-4,
        "epochs": 2,
        "bf16": True,
        "freeze_layers": 12,
    }
}
"""See `gecjury.studies.making.some.PRESETS`."""


@dataclass(frozen=True, kw_only=True)
class TrainJudge(JudgeRecipe, RatedTraining["JudgeJob"]):
    """A language model as judge of corrections, on ratings, rankings or stored replies.

    Attributes:
        recipe: use the settings of the figures in the documentation; other options override them.
    """

    inputs: ClassVar[Inputs] = TrainingTexts(
        "tmu-gfm, autojqe, a benchmark, a CSV, TSV or JSON-lines file, or a store of replies"
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = PRESETS
    epilog: ClassVar[str] = f"""\
examples:
  gecjury train judge tmu-gfm --model SmolLM2-135M-Instruct -o my-judge --recipe small
  gecjury train judge ratings.tsv --scale 0:100 --column quality=mean --model DIR -o my-judge
  gecjury train judge replies.jsonl --model DIR -o my-judge
{recipes_text(PRESETS, small="for models like SmolLM2, on two cores")}"""
    recipe: Literal["small"] | None = None

    def job(self, material: Material, common: CommonFields) -> JudgeJob:
        """Read human or another judge's verdicts, and put the questions about them."""
        import numpy as np

        from gecjury.judges.llm import LLMS
        from gecjury.judges.teaching import ANSWERS, HIGHEST, LOWEST, taught_questions
        from gecjury.refless.data.annotations import QUALITY, Annotations, Scale
        from gecjury.refless.data.rated_sets import SET_LANGUAGES, split_as_named, split_by_source
        from gecjury.refless.training.judge import JudgeJob, Lesson
        from gecjury.refless.training.model_card import shown_name

        language = material.language({n: SET_LANGUAGES.get(n) for n in material.names})
        judge = LLMS(
            backend="vllm",
            model=self.encoder,
            context="none",
            protocol=self.protocol,
            scoring="expected",
            prompt=self.prompt or None,
            criterion=self.criterion or None,
            orders=2 if self.protocol == "pairwise" else 1,
        )
        rated: dict[tuple[str, str], list[float]] = {}
        parts: dict[tuple[str, str], str] = {}
        for name in material.names:
            for (source, text, value), part in self._read(material, name, judge, language):
                rated.setdefault((source, text), []).append(value)
                parts[source, text] = part
        sources, outputs = zip(*rated, strict=True)
        points = np.array([float(np.mean(several)) for several in rated.values()])
        data = Annotations(
            (QUALITY,),
            outputs,
            sources,
            points[:, None],
            Scale(LOWEST, HIGHEST, zero_is_other=False),
            # If an input has its own split, those without one are training data.
            names=tuple(part or "train" for part in parts.values()) if any(parts.values()) else (),
        )
        names = " ".join(map(shown_name, material.names))
        taught = taught_questions(judge, sources, outputs, points.tolist(), language)
        return JudgeJob(
            recipe=self.recipe_as(JudgeRecipe, language.code),
            data=data,
            split=split_as_named(data) if data.names else split_by_source(data),
            lessons=[Lesson(*question) for question in taught],
            answers=ANSWERS[self.protocol],
            metric=self._metric(common["folder"].name),
            prompt=judge.wording(language).id,
            origin={
                "data": names,
                "sentences looked for in": ", ".join(self.checked) or "no benchmark",
            },
            notes=material.warn_of_leaks([*sources, *outputs], names),
            **common,
        )

    def effort(self, job: JudgeJob) -> TrainingEffort:
        """Return the questions of each part; the dev and test parts are also read untaught."""
        rows_of = values_of(job.split, *PARTS)
        part_of = {row: part for part, rows in rows_of.items() for row in rows.tolist()}
        counts = Counter(part_of[lesson.rows[0]] for lesson in job.lessons)
        train, dev, test = (counts[part] for part in PARTS)
        epochs = job.recipe.settings.epochs
        read = (epochs + 1) * dev + 2 * test
        texts = [" ".join(m["content"] for m in lesson.messages) for lesson in job.lessons]
        parts = [{"part": part, "questions": counts[part]} for part in PARTS]
        return TrainingEffort(parts, texts, epochs * train, read, "next-word")

    def train(self, job: JudgeJob) -> Result:
        """Train; the table has the correlations before and after the training."""
        from gecjury.refless.training.judge import train_judge
        from gecjury.refless.training.model_card import figure_rows

        report = train_judge(job)
        rows = [
            {**row, "what": what}
            for what, figures in (("taught", report.figures), ("untaught", report.untaught))
            for row in figure_rows(figures, {})
        ]
        table = Table(figure_columns("what", "part"), rows, name="rows")
        return self.result(job.folder, table, {}, report.worth, self._metric(str(job.folder)))

    def _metric(self, model: str) -> str:
        """Return the metric for a folder: the judge whose prompts the model was trained on."""
        from gecjury.scoring.options import typed_metric

        options = {
            "backend": "vllm",
            "model": model,
            "protocol": self.protocol,
            "scoring": "expected",
            "context": "none",
            "orders": "2" if self.protocol == "pairwise" else "",
            "prompt": self.prompt,
            "criterion": self.criterion,
        }
        return typed_metric("llm-s", {name: value for name, value in options.items() if value})

    def _read(
        self, material: Material, name: str, judge: GroupJudge, language: Language
    ) -> Iterable[tuple[Rated, str]]:
        """Return the corrections of one input with their points, and their part if it is named."""
        from gecjury.benchmarks.table import BENCHMARKS
        from gecjury.judges.asking.store import is_store
        from gecjury.judges.teaching import rated_in_benchmark, rated_in_store
        from gecjury.refless.data.rated_sets import NAMED_SETS

        path = Path(name)
        if name not in NAMED_SETS and (
            name in BENCHMARKS or path.is_dir() or path.suffix == ".toml"
        ):
            return zip(rated_in_benchmark(material.benchmark(name)), repeat(""))
        if is_store(path):
            return zip(rated_in_store(path, judge), repeat(""))
        data = self.rated(material, name, language)
        return zip(_points(data), data.names or repeat(""), strict=False)


def _points(data: Annotations) -> list[Rated]:
    """Return corrections with ratings on the scale of judges, aspects weighted as in SOME."""
    from gecjury.core.errors import InputError
    from gecjury.judges.teaching import on_scale
    from gecjury.refless.nets.bundle import aspect_weights

    if not all(data.sources):
        raise InputError(
            "a judge learns from corrections with their sources: name the column of the sources "
            "(`column=source=...`)"
        )
    weights = aspect_weights(data.aspects)
    total = sum(weights.values())
    values = data.ratings @ [weights[aspect] / total for aspect in data.aspects]
    points = [on_scale(value, data.scale.low, data.scale.high) for value in values.tolist()]
    return list(zip(data.sources, data.outputs, points, strict=True))
