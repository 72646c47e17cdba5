"""Data that several targets of `train` read: its language, leakage, and labelled tokens."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.cli.streams import tell
from gecjury.settings import option

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.language import Language
    from gecjury.refless.data.labelled import LabelledSentence, LabelledText


@dataclass(frozen=True, kw_only=True)
class TextData:
    """Data that any training reads besides its own.

    Attributes:
        check: warn if training sentences stand in these (default: seeda; none: --check).
        detection_dev: dev part of the labelled text (default: X_dev beside X_train, else a tenth
            held out).
    """

    check: tuple[str, ...] = option(
        ("seeda",), metavar="BENCHMARK", several=True, empty=True, heading="data"
    )
    detection_dev: str | None = option(None, metavar="FILE", needs={"": ("detection",)})


@dataclass(frozen=True, kw_only=True)
class StepData(TextData):
    """Data of the steps before a training.

    Attributes:
        detection: learn error detection beforehand from labelled tokens: multiged-en (-cs, -de,
            -it, -sv), two-column files (TOKEN, tab, c or i) or M2 files.
    """

    detection: tuple[str, ...] = option((), metavar="FILE", several=True)


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Return the folder that data is read from."""
    from gecjury.benchmarks.data_folder import open_data

    return open_data(args.data, cache=args.cache, quiet=args.quiet)


def training_language(args: argparse.Namespace, languages: Mapping[str, str | None]) -> Language:
    """Return the language of what is trained on.

    It is that of --lang, that of the sets that are known by name, or English.

    Args:
        args: with --lang and --fold.
        languages: by name of an input the code of its language; None for files.

    Raises:
        OptionError: inputs are of several languages, or of another one than --lang says.
    """
    from gecjury.corpus.language import language_of
    from gecjury.errors import OptionError

    named = {name: code for name, code in languages.items() if code is not None}
    chosen = language_of(args.lang, fold=args.fold).code if args.lang else None
    for name, code in named.items():
        if chosen is not None and code != chosen:
            raise OptionError(
                f"--lang {args.lang}: {name} is {language_of(code).name} ({code}); leave out --lang"
            )
    if len(set(named.values())) > 1:
        inputs = ", ".join(f"{name} is {language_of(code).name}" for name, code in named.items())
        raise OptionError(f"{inputs}: one model is trained on one language")
    code = chosen or next(iter(named.values()), "en")
    return language_of(code, fold=args.fold)


def told_of_reading(encoder: str, texts: Sequence[str], language: Language) -> list[str]:
    """Return warnings, also on stderr, where an encoder cannot read texts of another language.

    English texts are not looked at.
    """
    from gecjury.refless.nets.coverage import reading_notes
    from gecjury.refless.nets.regressor import load_tokenizer

    if language.code == "en":
        return []
    notes = reading_notes(load_tokenizer(encoder), texts, encoder)
    for note in notes:
        tell(f"warning: {note}")
    return notes


def tested_corpora(args: argparse.Namespace, names: Iterable[str]) -> Iterator[tuple[str, Corpus]]:
    """Yield benchmarks by name with their texts; stderr tells of those whose data is not here."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.errors import DataError

    for name in names:
        try:
            corpus = load_benchmark(name, systems="all", data=args.data, cache=args.cache).corpus
        except DataError as error:
            tell(f"leakage into {name} was not checked: {error}")
            continue
        yield name, corpus


def warn_of_leaks(args: argparse.Namespace, texts: list[str], what: str) -> list[str]:
    """Return warnings, also on stderr, of sentences that benchmarks share whose data is here."""
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning

    warnings = []
    absent = dict.fromkeys(args.check)
    for name, corpus in tested_corpora(args, args.check):
        del absent[name]
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            warnings.append(line)
            tell(f"warning: {line}")
    unchecked = [f"Leakage into {name} was not checked, for lack of its data" for name in absent]
    return warnings + unchecked


def labelled_code(args: argparse.Namespace, names: Sequence[str]) -> str:
    """Return the code of the language of labelled text; `mul` where sets of several are joined.

    Raises:
        OptionError: a set is of another language than --lang says.
    """
    from gecjury.refless.data.labelled import labelled_language

    languages = {name: labelled_language(name) for name in names}
    if not args.lang and len({code for code in languages.values() if code is not None}) > 1:
        return "mul"
    return training_language(args, languages).code


def labelled_text(args: argparse.Namespace, names: Sequence[str], code: str) -> LabelledText:
    """Return labelled sentences without those of the benchmarks of --check.

    Stderr tells how many are left out, and where the dev part comes from.

    Args:
        args: of the target.
        names: see `gecjury.refless.data.labelled.read_labelled`.
        code: of the language of what is trained, which files are taken to be in; stderr tells of
            sets in other languages.
    """
    from gecjury.refless.data.labelled import (
        LabelledText,
        dev_beside,
        labelled_language,
        read_labelled,
        refuse_one_class,
    )

    for name in names:
        language = labelled_language(name)
        if code != "mul" and language not in (None, code):
            tell(
                f"warning: {name} is of another language ({language}) than what is trained ({code})"
            )
    train = read_labelled(names, lambda: data_folder(args), language=code)
    # Tokens that are all right, or all wrong, teach a detector nothing.
    refuse_one_class(train, ", ".join(names))
    # A dev part that nobody names may stand beside the training part, as MultiGED's do.
    places = [place for place in map(dev_beside, names) if place is not None]
    if args.detection_dev:
        places = [args.detection_dev]
    dev = read_labelled(places, lambda: data_folder(args), part="dev", language=code)
    if args.detection_dev:
        refuse_one_class(dev, args.detection_dev)
    shown = ", ".join(places) or "a tenth held out"
    # What a model is later tried on must not be learnt from.
    train, dev = _without_tested(args, train, dev)
    count = f"{len(dev)} sentences" if dev else "drawn by sentence"
    tell(f"detection learns from {len(train)} sentences; dev part: {shown} ({count})")
    return LabelledText(train, dev)


def detection_origin(args: argparse.Namespace) -> dict[str, str]:
    """Return what the model card says of labelled text and of a detector."""
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
    """Return the parts without sentences of the benchmarks that models are tried on."""
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
