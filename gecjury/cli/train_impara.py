"""`gecjury train impara`: a ranker trained on parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell
from gecjury.cli.train_data import (
    StepData,
    data_folder,
    detection_origin,
    labelled_text,
    told_of_reading,
    training_language,
    warn_of_leaks,
)
from gecjury.cli.train_watching import training_result
from gecjury.refless.training.recipe import RankerRecipe

if TYPE_CHECKING:
    from gecjury.report.result import Result

OPTIONS = (StepData, RankerRecipe)

EPILOG = """\
examples:
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara-ged --encoder embedded \\
      --detection multiged-en --pooling mean
"""


def train(args: argparse.Namespace, recipe: RankerRecipe, options: Mapping[str, Any]) -> Result:
    """Read parallel text and train; see `gecjury.cli.train_some.train`."""
    from gecjury.refless.data.pairs import PARALLEL_LANGUAGES, read_parallel
    from gecjury.refless.training.impara import RankerJob, ranker_metric, train_impara
    from gecjury.refless.training.model_card import shown_name
    from gecjury.refless.training.steps.intermediate import IntermediateData
    from gecjury.report.result import Column, Table

    language = training_language(args, {n: PARALLEL_LANGUAGES.get(n) for n in args.inputs})
    corrections = read_parallel(args.inputs, lambda: data_folder(args), language)
    texts = [text for c in corrections for text in (c.source, c.text())]
    name = " ".join(map(shown_name, args.inputs))
    notes = warn_of_leaks(args, texts, name)
    notes += told_of_reading(args.encoder, texts, language)
    notes += _known_to_detector(args, [c.source for c in corrections])
    # The detector learns from labelled text if there is any, else from the parallel text.
    steps = None
    if args.detection:
        steps = IntermediateData(labelled=labelled_text(args, args.detection, language.code))
    elif recipe.intermediate:
        steps = IntermediateData(corrections, language=language.code)
    job = RankerJob(
        recipe=replace(recipe, language=language.code),
        corrections=corrections,
        steps=steps,
        origin={"data": name, **detection_origin(args)},
        notes=notes,
        **options,
    )
    report = train_impara(job)
    columns = [Column(key) for key in ("part", "accuracy", "pairs")]
    tables = [Table(columns, report.figures, name="rows")]
    model = f"model: {args.output}; score with -m {ranker_metric(args.output, recipe.pooling)}"
    return training_result(args, tables, {}, report.worth, model)


def _known_to_detector(args: argparse.Namespace, sources: list[str]) -> list[str]:
    """Warn, also on stderr, if the detector has learnt from the ranker's test data."""
    from gecjury.corpus.leakage import sentence_key
    from gecjury.refless.training.steps.detection import detection_keys

    keys = detection_keys(None, args.detector)
    # A source that several annotators corrected counts once.
    distinct = set(sources)
    count = sum(sentence_key(source) in keys for source in distinct)
    if not count:
        return []
    line = (
        f"the detector has learnt from {count} of the {len(distinct)} sources of the parallel "
        "text, so dev and test accuracy are too optimistic"
    )
    tell(f"warning: {line}")
    return [line]
