"""Options of error detection from labelled tokens, which several targets of `train` read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gecjury.cli.numbers import up_to
from gecjury.cli.streams import tell
from gecjury.cli.train_options import data_folder, tested_corpora, training_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gecjury.refless.data.labelled import LabelledSentence, LabelledText


def add_detection(group: argparse._ActionsContainer, *, named: bool = True) -> None:
    """Declare what detection learns from.

    Args:
        group: what it is added to.
        named: whether the training files are named by --detection; False where they are DATA.
    """
    if named:
        group.add_argument(
            "--detection",
            nargs="+",
            default=[],
            metavar="FILE",
            help="learn error detection beforehand from labelled tokens: multiged-en (-cs, -de, "
            "-it, -sv), two-column files (TOKEN, tab, c or i) or M2 files",
        )
    group.add_argument(
        "--detection-dev",
        metavar="FILE",
        help="dev part of these (default: X_dev beside X_train, else a tenth held out)",
    )
    group.add_argument(
        "--detection-weight",
        type=float,
        metavar="X",
        help="weight of errors in the loss (default: 1.5)",
    )


def add_detector(group: argparse._ActionsContainer) -> None:
    """Declare --detector."""
    group.add_argument(
        "--detector",
        metavar="DIR",
        help="start from what `gecjury train detector` made of --encoder",
    )


def add_step_options(group: argparse._ActionsContainer) -> None:
    """Declare how long and how fast steps beforehand learn."""
    from gecjury.refless.training.recipe import Recipe

    group.add_argument(
        "--intermediate-epochs",
        type=up_to(1_000_000, least=0),
        metavar="N",
        help=f"of each step (default: {Recipe.intermediate_epochs})",
    )
    group.add_argument(
        "--intermediate-rate",
        type=float,
        metavar="X",
        help=f"learning rate of each step (default: {Recipe.intermediate_rate:g})",
    )


def step_choices(args: argparse.Namespace) -> tuple[int, float]:
    """Epochs and learning rate of steps, given or usual."""
    from gecjury.refless.training.recipe import Recipe

    epochs, rate = args.intermediate_epochs, args.intermediate_rate
    return (
        Recipe.intermediate_epochs if epochs is None else epochs,
        Recipe.intermediate_rate if rate is None else rate,
    )


def unread_of_detection(args: argparse.Namespace) -> dict[str, str]:
    """Options of steps that this command line would not read, with why."""
    found: dict[str, str] = {}
    if not args.detection:
        why = "there is no labelled text, which --detection names"
        found |= {"detection_dev": why, "detection_weight": why}
    if not (args.intermediate or args.detection):
        why = "there is no step beforehand (--intermediate, --detection)"
        found |= {"intermediate_epochs": why, "intermediate_rate": why}
    if args.detection or "detection" in args.intermediate:
        found["detector"] = (
            "detection is learnt here; `train detector --encoder DIR` goes on with one"
        )
    return found


def labelled_code(args: argparse.Namespace, names: Sequence[str]) -> str:
    """The language of labelled text by its code; `mul` where sets of several are joined.

    Raises:
        OptionError: a set is of another language than --lang says.
    """
    from gecjury.refless.data.labelled import labelled_language

    told = {name: labelled_language(name) for name in names}
    if not args.lang and len({code for code in told.values() if code is not None}) > 1:
        return "mul"
    return training_language(args, told).code


def labelled_text(args: argparse.Namespace, names: Sequence[str], code: str) -> LabelledText:
    """Labelled sentences without those of the benchmarks of --check; what is left out is told.

    Args:
        args: of the target.
        names: see `gecjury.refless.data.labelled.read_labelled`.
        code: of the language of what is trained, which files are taken to be in; sets of other
            languages are told.
    """
    from gecjury.refless.data.labelled import (
        LabelledText,
        dev_beside,
        labelled_language,
        read_labelled,
        refuse_one_class,
    )

    for name in names:
        own = labelled_language(name)
        if code != "mul" and own not in (None, code):
            tell(f"warning: {name} is of another language ({own}) than what is trained ({code})")
    train = read_labelled(names, lambda: data_folder(args), language=code)
    refuse_one_class(train, ", ".join(names))
    if args.detection_dev:
        place = [args.detection_dev]
        dev = read_labelled(place, lambda: data_folder(args), part="dev", language=code)
        refuse_one_class(dev, args.detection_dev)
        shown = args.detection_dev
    else:
        beside = [place for place in map(dev_beside, names) if place is not None]
        dev = read_labelled(beside, lambda: data_folder(args), part="dev", language=code)
        shown = ", ".join(beside) if beside else "a tenth held out"
    train, dev = _without_tested(args, train, dev)
    count = f"{len(dev)} sentences" if dev else "drawn by sentence"
    tell(f"detection learns from {len(train)} sentences; dev part: {shown} ({count})")
    return LabelledText(train, dev)


def error_weight(args: argparse.Namespace) -> float:
    """How much errors weigh, given or usual."""
    from gecjury.refless.training.recipe import Recipe

    given: float | None = args.detection_weight
    return Recipe.detection_weight if given is None else given


def detection_origin(args: argparse.Namespace) -> dict[str, str]:
    """What the model card says of labelled text and of a detector."""
    from gecjury.refless.training.model_card import shown_name

    origin = {}
    if args.detection:
        origin["error detection"] = " ".join(map(shown_name, args.detection))
    if args.detector:
        origin["detector"] = shown_name(args.detector)
    return origin


def _without_tested(
    args: argparse.Namespace, *parts: tuple[LabelledSentence, ...]
) -> list[tuple[LabelledSentence, ...]]:
    """The parts without sentences of the benchmarks that models are tried on."""
    from gecjury.corpus.leakage import corpus_texts, normalise

    # SEEDA has a third of CoNLL-14's sentences; GJG15 has them all.
    names = [*args.check, *(["gjg15"] if "seeda" in args.check else [])]
    tested: set[str] = set()
    for _, corpus in tested_corpora(args, dict.fromkeys(names)):
        tested |= {normalise(text) for lines in corpus_texts(corpus).values() for text in lines}
    kept = [tuple(s for s in part if normalise(s.text) not in tested) for part in parts]
    left_out = sum(map(len, parts)) - sum(map(len, kept))
    if names:
        shown = " or ".join(dict.fromkeys(names))
        tell(f"left out of the labelled text: {left_out} sentences that stand in {shown}")
    return kept
