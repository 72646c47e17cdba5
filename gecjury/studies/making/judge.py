"""`gecjury train judge`: train a language model to judge corrections as people did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.core.settings import option
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
    from gecjury.refless.data.pairs import RankedPair
    from gecjury.refless.training.judge import JudgeJob, Lesson

PRESETS: Mapping[str, Mapping[str, object]] = {
    "small": {
        "prompt": "short-grade",
        "partial": ["jfleg", "gmeg-dev"],
        "epochs": 2,
        "accumulation": 3,
        "bf16": True,
        "freeze_layers": 12,
    }
}
"""See `gecjury.studies.making.some.PRESETS`."""

_PAIRS = 1024
"""Pairs to make of parallel text; sixteen times as many teach a linear ranker nothing more."""


@dataclass(frozen=True, kw_only=True)
class TrainJudge(JudgeRecipe, RatedTraining["JudgeJob"]):
    """A language model as judge of corrections, on ratings, rankings or stored replies.

    Attributes:
        partial: learn first to order pairs of partly corrected sentences, made from parallel text:
            jfleg, gmeg-dev, geccc-dev, ua-gec, an M2 file or SOURCE,REF[,REF...] (none: --partial).
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
    partial: tuple[str, ...] = option((), metavar="FILE", several=True, empty=True)
    recipe: Literal["small"] | None = None

    def job(self, material: Material, common: CommonFields) -> JudgeJob:
        """Read human or another judge's verdicts, and put the questions about them."""
        import numpy as np

        from gecjury.corpus.splits import split_sources
        from gecjury.judges.llm import LLMS
        from gecjury.judges.teaching import ANSWERS, HIGHEST, LOWEST, taught_questions
        from gecjury.refless.data.annotations import QUALITY, Annotations, Scale
        from gecjury.refless.data.pairs import PARALLEL_LANGUAGES
        from gecjury.refless.data.rated_sets import SET_LANGUAGES
        from gecjury.refless.training.judge import JudgeJob, Lesson
        from gecjury.refless.training.model_card import shown_name

        languages = {name: SET_LANGUAGES.get(name) for name in material.names}
        languages |= {name: PARALLEL_LANGUAGES.get(name) for name in self.partial}
        language = material.language(languages)
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
        for name in material.names:
            for source, text, value in self._read(material, name, judge, language):
                rated.setdefault((source, text), []).append(value)
        sources, outputs = zip(*rated, strict=True)
        points = np.array([float(np.mean(several)) for several in rated.values()])
        data = Annotations(
            (QUALITY,),
            outputs,
            sources,
            points[:, None],
            Scale(LOWEST, HIGHEST, zero_is_other=False),
        )
        names, more = (" ".join(map(shown_name, part)) for part in (material.names, self.partial))
        split, groups = split_sources(sources), data.groups().tolist()
        taught = taught_questions(judge, sources, outputs, points.tolist(), language)
        lessons = [
            Lesson(messages, rows, shares, groups[rows[0]], float(points[rows[0]]))
            for messages, rows, shares in taught
        ]
        held = data.take([*split.dev, *split.test])
        pairs = self._pairs(material, held, language) if self.partial else []
        texts = [text for pair in pairs for text in (pair.source, pair.better, pair.worse)]
        return JudgeJob(
            recipe=self.recipe_as(JudgeRecipe, language.code),
            data=data,
            split=split,
            lessons=lessons,
            ranking=list(_ordered(judge, pairs, language)),
            texts=texts,
            answers=ANSWERS[self.protocol],
            metric=self._metric(common["folder"].name),
            prompt=judge.wording(language).id,
            origin={
                "data": names,
                **({"partly corrected sentences": more} if more else {}),
                "sentences looked for in": ", ".join(self.checked) or "no benchmark",
            },
            notes=material.warn_of_leaks([*sources, *outputs, *texts], f"{names} {more}".rstrip()),
            **common,
        )

    def effort(self, job: JudgeJob) -> TrainingEffort:
        """Return the questions of each part; the dev and test parts are also read untaught.

        After a first step about partly corrected sentences, the dev part is read once more.
        """
        rows_of = values_of(job.split, *PARTS)
        part_of = {row: part for part, rows in rows_of.items() for row in rows.tolist()}
        counts = Counter(part_of[lesson.rows[0]] for lesson in job.lessons)
        train, dev, test = (counts[part] for part in PARTS)
        epochs = job.recipe.settings.epochs
        ranking = len(job.ranking)
        read = (epochs + 1 + bool(ranking)) * dev + 2 * test
        asked = (*job.ranking, *job.lessons)
        texts = [" ".join(m["content"] for m in lesson.messages) for lesson in asked]
        steps = [("ranking", ranking)] * bool(ranking)
        steps += zip(PARTS, (train, dev, test), strict=True)
        parts = [{"part": part, "questions": size} for part, size in steps]
        return TrainingEffort(parts, texts, ranking + epochs * train, read, "next-word")

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
        typed = (f"{name}={value}".replace(",", "\\,") for name, value in options.items() if value)
        return f"llm-s:{','.join(typed)}"

    def _pairs(self, material: Material, held: Annotations, language: Language) -> list[RankedPair]:
        """Return pairs from the sources of parallel text that are not in the held-out parts."""
        from gecjury.corpus.leakage import normalise
        from gecjury.refless.data.pairs import read_parallel
        from gecjury.refless.data.partial import swapped_pairs

        unseen = {normalise(text) for text in (*held.sources, *held.outputs)}
        corrections = [
            correction
            for correction in read_parallel(self.partial, material.folder, language)
            if normalise(correction.source) not in unseen
        ]
        return swapped_pairs(corrections, language, _PAIRS, self.settings.seed)

    def _read(
        self, material: Material, name: str, judge: GroupJudge, language: Language
    ) -> list[Rated]:
        """Return the corrections of one input with their points."""
        from gecjury.benchmarks.table import BENCHMARKS
        from gecjury.judges.asking.store import is_store
        from gecjury.judges.teaching import rated_in_benchmark, rated_in_store
        from gecjury.refless.data.rated_sets import NAMED_SETS

        path = Path(name)
        if name not in NAMED_SETS and (
            name in BENCHMARKS or path.is_dir() or path.suffix == ".toml"
        ):
            return list(rated_in_benchmark(material.benchmark(name)))
        if is_store(path):
            return list(rated_in_store(path, judge))
        return _points(self.rated(material, name, language))


def _ordered(
    judge: GroupJudge, pairs: Sequence[RankedPair], language: Language
) -> Iterator[Lesson]:
    """Yield questions about pairs, which have an order but no rating.

    Which of two sentences is better has an answer; how good one of them is has none.
    """
    from gecjury.judges.teaching import taught_questions
    from gecjury.refless.training.judge import Lesson

    points = (1.0, 0.0)
    for group, pair in enumerate(pairs):
        texts = (pair.better, pair.worse)
        asked = taught_questions(judge, [pair.source] * 2, texts, points, language)
        for messages, rows, shares in asked:
            targets = shares if len(rows) == 2 else (0.0,) * len(shares)
            yield Lesson(messages, rows, targets, group, points[rows[0]])


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
