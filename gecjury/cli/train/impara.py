"""`gecjury train impara`: a ranker trained on parallel text."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell
from gecjury.cli.train import training_result
from gecjury.cli.train.data import (
    TextData,
    data_folder,
    detection_origin,
    labelled_text,
    told_of_reading,
    training_language,
    warn_of_leaks,
)
from gecjury.core.settings import option
from gecjury.refless.training.recipe import RankerRecipe

if TYPE_CHECKING:
    from gecjury.report.result import Result


@dataclass(frozen=True, kw_only=True)
class RankerData(TextData):
    """The data of an IMPARA besides its parallel text.

    Attributes:
        detection: learn error detection first, from labelled tokens: multiged-en (-cs, -de, -it,
            -sv), two-column files (TOKEN, tab, c or i) or M2 files.
    """

    detection: tuple[str, ...] = option((), metavar="FILE", several=True)


OPTIONS = (RankerData, RankerRecipe)

EPILOG = """\
examples:
  gecjury train impara jfleg gmeg-dev -o my-impara --recipe small
  gecjury train impara jfleg gmeg-dev -o my-impara-ged --encoder embedded \\
      --detection multiged-en --pooling mean
"""


def train(args: argparse.Namespace, recipe: RankerRecipe, options: Mapping[str, Any]) -> Result:
    """Read parallel text and train; see `gecjury.cli.train.some.train`."""
    from gecjury.refless.data.labelled import DetectionData
    from gecjury.refless.data.pairs import PARALLEL_LANGUAGES, read_parallel
    from gecjury.refless.training.impara import RankerJob, ranker_metric, train_impara
    from gecjury.refless.training.model_card import shown_name
    from gecjury.report.result import Column, Table

    language = training_language(args, {n: PARALLEL_LANGUAGES.get(n) for n in args.inputs})
    corrections = read_parallel(args.inputs, lambda: data_folder(args), language)
    texts = [text for c in corrections for text in (c.source, c.text())]
    name = " ".join(map(shown_name, args.inputs))
    notes = warn_of_leaks(args, texts, name)
    notes += told_of_reading(args.encoder, texts, language)
    notes += _known_to_detector(args, [c.source for c in corrections])
    detection = None
    if args.detection:
        detection = DetectionData(labelled=labelled_text(args, args.detection, language.code))
    job = RankerJob(
        recipe=replace(recipe, language=language.code),
        corrections=corrections,
        detection=detection,
        origin={"data": name, **detection_origin(args)},
        notes=notes,
        **options,
    )
    report = train_impara(job)
    columns = [Column(key) for key in ("part", "accuracy", "pairs")]
    table = Table(columns, report.figures, name="rows")
    return training_result(
        args, table, {}, report.worth, ranker_metric(args.output, recipe.pooling)
    )


def _known_to_detector(args: argparse.Namespace, sources: list[str]) -> list[str]:
    """Warn, also on stderr, if the detector has learnt from the ranker's test data."""
    from gecjury.corpus.leakage import sentence_key
    from gecjury.refless.data.labelled import detection_keys

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
