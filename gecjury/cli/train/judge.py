"""`gecjury train judge`: train a language model to judge corrections as people did."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gecjury.cli.train import figure_columns, training_result
from gecjury.cli.train.data import RatedData, read_rated, training_language, warn_of_leaks
from gecjury.refless.training.recipe import JudgeRecipe

if TYPE_CHECKING:
    from gecjury.corpus.languages.language import Language
    from gecjury.judges.llm import GroupJudge
    from gecjury.judges.teaching import Rated
    from gecjury.refless.data.annotations import Annotations
    from gecjury.report.result import Result

OPTIONS = (RatedData, JudgeRecipe)

EPILOG = """\
examples:
  gecjury train judge tmu-gfm --model SmolLM2-135M-Instruct -o my-judge --recipe small
  gecjury train judge ratings.tsv --scale 0:100 --column quality=mean --model DIR -o my-judge
  gecjury train judge replies.jsonl --model DIR -o my-judge
"""


def train(args: argparse.Namespace, recipe: JudgeRecipe, options: Mapping[str, Any]) -> Result:
    """Read human or another judge's verdicts, and train; see `gecjury.cli.train.some.train`."""
    import numpy as np

    from gecjury.corpus.splits import split_sources
    from gecjury.judges.llm import LLMS
    from gecjury.judges.teaching import ANSWERS, HIGHEST, LOWEST, taught_questions
    from gecjury.refless.data.annotations import QUALITY, Annotations, Scale
    from gecjury.refless.data.rated_sets import SET_LANGUAGES
    from gecjury.refless.training.judge import JudgeJob, Lesson, train_judge
    from gecjury.refless.training.model_card import figure_rows, shown_name
    from gecjury.report.result import Table

    language = training_language(args, {name: SET_LANGUAGES.get(name) for name in args.inputs})
    judge = LLMS(
        backend="vllm",
        model=recipe.encoder,
        context="none",
        protocol=recipe.protocol,
        scoring="expected",
        prompt=recipe.prompt or None,
        criterion=recipe.criterion or None,
        orders=2 if recipe.protocol == "pairwise" else 1,
    )
    rated: dict[tuple[str, str], list[float]] = {}
    for name in args.inputs:
        for source, text, value in _read(args, name, judge, language):
            rated.setdefault((source, text), []).append(value)
    sources, outputs = zip(*rated, strict=True)
    points = np.array([float(np.mean(several)) for several in rated.values()])
    data = Annotations(
        (QUALITY,), outputs, sources, points[:, None], Scale(LOWEST, HIGHEST, zero_is_other=False)
    )
    names = " ".join(map(shown_name, args.inputs))
    answers = ANSWERS[recipe.protocol]
    taught = taught_questions(judge, sources, outputs, points.tolist(), language)
    lessons = [Lesson(*question) for question in taught]
    job = JudgeJob(
        recipe=replace(recipe, language=language.code),
        data=data,
        split=split_sources(sources),
        lessons=lessons,
        answers=answers,
        metric=_metric(recipe, Path(args.output).name),
        prompt=judge.wording(language).id,
        origin={"data": names, "sentences looked for in": ", ".join(args.check) or "no benchmark"},
        notes=warn_of_leaks(args, [*sources, *outputs], names),
        **options,
    )
    report = train_judge(job)
    rows = [
        {**row, "what": what}
        for what, figures in (("taught", report.figures), ("untaught", report.untaught))
        for row in figure_rows(figures, {})
    ]
    table = Table(figure_columns("what", "part"), rows, name="rows")
    return training_result(args, table, {}, report.worth, _metric(recipe, args.output))


def _metric(recipe: JudgeRecipe, model: str) -> str:
    """Return the metric for a folder: the judge whose prompts the model was trained on."""
    options = {
        "backend": "vllm",
        "model": model,
        "protocol": recipe.protocol,
        "scoring": "expected",
        "context": "none",
        "orders": "2" if recipe.protocol == "pairwise" else "",
        "prompt": recipe.prompt,
        "criterion": recipe.criterion,
    }
    typed = (f"{name}={value}".replace(",", "\\,") for name, value in options.items() if value)
    return f"llm-s:{','.join(typed)}"


def _read(
    args: argparse.Namespace, name: str, judge: GroupJudge, language: Language
) -> list[Rated]:
    """Return the corrections of one input with their points."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.benchmarks.table import BENCHMARKS
    from gecjury.judges.asking.store import is_store
    from gecjury.judges.teaching import rated_in_benchmark, rated_in_store
    from gecjury.refless.data.rated_sets import NAMED_SETS

    path = Path(name)
    if name not in NAMED_SETS and (name in BENCHMARKS or path.is_dir() or path.suffix == ".toml"):
        benchmark = load_benchmark(name, systems="all", data=args.data, cache=args.cache)
        return list(rated_in_benchmark(benchmark))
    if is_store(path):
        return list(rated_in_store(path, judge))
    return _points(read_rated(args, name, language))


def _points(data: Annotations) -> list[Rated]:
    """Return corrections with ratings on the scale of judges, aspects weighted as in SOME."""
    from gecjury.core.errors import InputError
    from gecjury.judges.teaching import on_scale
    from gecjury.refless.nets.bundle import aspect_weights

    if not all(data.sources):
        raise InputError(
            "a judge learns from corrections with their sources: name the column of the sources "
            "(--column source=...)"
        )
    weights = aspect_weights(data.aspects)
    total = sum(weights.values())
    values = data.ratings @ [weights[aspect] / total for aspect in data.aspects]
    points = [on_scale(value, data.scale.low, data.scale.high) for value in values.tolist()]
    return list(zip(data.sources, data.outputs, points, strict=True))
