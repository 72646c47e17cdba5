"""`gecjury train some`: regressors trained on rated sentences."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gecjury.cli.streams import tell
from gecjury.cli.train import figure_columns, training_result
from gecjury.cli.train.data import (
    RatedData,
    data_folder,
    detection_origin,
    labelled_text,
    read_rated,
    told_of_reading,
    training_language,
    warn_of_leaks,
)
from gecjury.core.settings import option
from gecjury.refless.training.recipe import Recipe

if TYPE_CHECKING:
    from gecjury.corpus.languages.language import Language
    from gecjury.corpus.splits import Split
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.data.labelled import DetectionData
    from gecjury.report.result import Result

_ARTIFICIAL = "artificial"
_PARALLEL = ("jfleg", "gmeg-dev")
_CLEAN = "ud/en_ewt/en_ewt-ud-train.conllu"


@dataclass(frozen=True, kw_only=True)
class SomeData(RatedData):
    """The data of a SOME metric.

    Attributes:
        detection: learn error detection first, from labelled tokens: multiged-en (-cs, -de, -it,
            -sv), two-column files (TOKEN, tab, c or i) or M2 files; or from artificial errors in
            jfleg, gmeg-dev and en-ewt (`artificial`).
    """

    detection: tuple[str, ...] = option(
        (), metavar="FILE", several=True, needs={"encoder features": ()}
    )


OPTIONS = (SomeData, Recipe)

EPILOG = """\
examples:
  gecjury train some tmu-gfm -o my-some --recipe small
  gecjury train some ratings.tsv -o my-some --column output=hyp --column source=src \\
      --column grammaticality=g1,g2,g3
  torchrun --nproc_per_node 4 -m gecjury train some tmu-gfm -o my-some
"""


def train(args: argparse.Namespace, recipe: Recipe, options: Mapping[str, Any]) -> Result:
    """Read ratings and train.

    Args:
        recipe: recipe of the training.
        options: the options of every job besides its data, its recipe and their origin.
    """
    from gecjury.core.errors import OptionError
    from gecjury.refless.data.rated_sets import SET_LANGUAGES
    from gecjury.refless.nets.bundle import metric_for
    from gecjury.refless.training.job import Job
    from gecjury.refless.training.model_card import figure_rows, shown_name
    from gecjury.refless.training.some import train_some
    from gecjury.report.result import Table

    if len(args.inputs) > 1:
        raise OptionError("train some accepts one set of ratings; join the files first")
    (name,) = args.inputs
    # The data determines the language.
    language = training_language(args, {name: SET_LANGUAGES.get(name)})
    data = read_rated(args, name, language)
    # Training sentences are looked up in the benchmarks on which the model will be compared.
    notes = warn_of_leaks(args, [*data.sources, *data.outputs], shown_name(name))
    notes += told_of_reading(args.encoder, data.outputs, language)
    recipe_typed = f" --recipe {args.recipe}" if args.recipe else ""
    job = Job(
        data=data,
        split=_split(name, data),
        recipe=replace(recipe, language=language.code),
        detection=_detection(args, language) if args.detection else None,
        origin={
            "data": shown_name(name),
            # Options besides the recipe are in the card's settings.
            "command": f"`gecjury train some {shown_name(name)}{recipe_typed}`, with the settings "
            "below",
            "sentences looked for in": ", ".join(args.check) or "no benchmark",
            **detection_origin(args),
        },
        notes=notes,
        **options,
    )
    report = train_some(job)
    whole = figure_columns(*(["what"] if report.alone else []), "part", "aspect")
    facts: dict[str, object] = {
        "model": args.output,
        "figures": report.figures,
        "trained": report.trained,
        "detection": report.detection,
    }
    if report.alone:
        facts |= {"alone": report.alone, "shares": report.shares}
    table = Table(whole, figure_rows(report.figures, report.alone))
    return training_result(args, table, facts, report.worth, metric_for(args.output, data.aspects))


def _split(name: str, data: Annotations) -> Split:
    """Return the split of the rated sentences: by column, or drawn."""
    from gecjury.core.errors import InputError
    from gecjury.refless.data.rated_sets import split_as_named, split_by_source

    try:
        split = split_as_named(data) if data.names else split_by_source(data)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    if not data.names:
        tell(f"split by source: {split}")
    return split


def _detection(args: argparse.Namespace, language: Language) -> DetectionData:
    """Read the text that error detection is learnt from.

    Raises:
        OptionError: artificial errors together with labelled text, or in another language.
        DataError: data is missing; names the remedy.
    """
    from gecjury.core.errors import DataError, OptionError
    from gecjury.refless.data.labelled import DetectionData
    from gecjury.refless.data.pairs import read_parallel
    from gecjury.refless.data.rated_sets import read_treebank_text

    if _ARTIFICIAL not in args.detection:
        return DetectionData(labelled=labelled_text(args, args.detection, language.code))
    if len(args.detection) > 1:
        raise OptionError(f"--detection {_ARTIFICIAL}: leave out the other texts, or this one")
    chosen = f"--recipe {args.recipe} sets " if args.recipe else ""
    if language.code != "en":
        raise OptionError(
            f"{chosen}--detection {_ARTIFICIAL}, which makes errors in English, but the ratings "
            f"are in {language.name}: name labelled text instead"
        )
    try:
        corrections = read_parallel(_PARALLEL, lambda: data_folder(args), language)
        clean = read_treebank_text(data_folder(args).path(_CLEAN))
    except DataError as error:
        raise DataError(
            f"{chosen}--detection {_ARTIFICIAL} reads jfleg, gmeg-dev and en-ewt: {error}; or name "
            "labelled text, --detection FILE"
        ) from None
    # This text can leak like that of the training itself.
    texts = [text for c in corrections for text in (c.source, c.text())]
    warn_of_leaks(args, texts, "the parallel text")
    return DetectionData(corrections, clean)
