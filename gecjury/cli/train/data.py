"""Data that several targets of `train` read: language, leakage checks, and labelled tokens."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.cli.streams import tell
from gecjury.core.settings import option

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.languages.language import Language
    from gecjury.refless.data.annotations import Annotations
    from gecjury.refless.data.labelled import LabelledSentence, LabelledText


@dataclass(frozen=True, kw_only=True)
class TextData:
    """Data that any training reads in addition to its own, and the figure of its curves.

    Attributes:
        check: warn if training sentences are in these benchmarks (default: seeda; none: --check).
        figure: draw losses and dev scores, updated after each epoch: .png, .pdf or .svg.
    """

    check: tuple[str, ...] = option(
        ("seeda",), metavar="BENCHMARK", several=True, empty=True, heading="data"
    )
    figure: str | None = option(
        None,
        metavar="FILE",
        needs={"kernel": ("fine_tune", "detection"), "encoder features": ()},
    )


@dataclass(frozen=True, kw_only=True)
class RatedData(TextData):
    """Data of a training on rated sentences.

    Attributes:
        column: for files: column for output, source, grammaticality, fluency, meaning, or only
            quality (several raters: COL1,COL2 or several numbers in a cell), or split (train, dev,
            test); repeat.
        scale: for files: lowest and highest rating.
    """

    column: tuple[str, ...] = option((), metavar="ROLE=COLUMN")
    scale: str = option("1:4", metavar="LOW:HIGH")


def data_folder(args: argparse.Namespace) -> DataFolder:
    """Return the folder that data is read from."""
    from gecjury.benchmarks.data_folder import open_data

    return open_data(args.data, cache=args.cache, quiet=args.quiet)


def training_language(args: argparse.Namespace, languages: Mapping[str, str | None]) -> Language:
    """Return the language of the training data.

    It is that of --lang, that of the named sets, or English.

    Args:
        args: parsed options, with --lang and --fold.
        languages: language code by name of the input; None for files.

    Raises:
        OptionError: inputs have several languages, or another one than --lang.
    """
    from gecjury.core.errors import OptionError
    from gecjury.corpus.languages.language import language_of

    named = {name: code for name, code in languages.items() if code is not None}
    chosen = language_of(args.lang, fold=args.fold).code if args.lang else None
    for name, code in named.items():
        if chosen is not None and code != chosen:
            raise OptionError(
                f"--lang {args.lang}: {name} is {language_of(code).name} ({code}); omit --lang"
            )
    if len(set(named.values())) > 1:
        inputs = ", ".join(f"{name} is {language_of(code).name}" for name, code in named.items())
        raise OptionError(f"{inputs}: a model is trained on one language")
    code = chosen or next(iter(named.values()), "en")
    return language_of(code, fold=args.fold)


def read_rated(args: argparse.Namespace, name: str, language: Language) -> Annotations:
    """Read rated sentences of a named set or from a file; notes are told on stderr.

    Raises:
        OptionError: options that a named set does not read.
    """
    from gecjury.core.errors import OptionError
    from gecjury.refless.data.annotations import ColumnMap, Scale, read_annotations
    from gecjury.refless.data.rated_sets import NAMED_SETS, read_named

    if name in NAMED_SETS:
        # Other inputs of a judge may be files, which read them.
        for given in ("column", "scale") if len(args.inputs) == 1 else ():
            if getattr(args, given) != args.parser.get_default(given):
                raise OptionError(
                    f"--{given} would do nothing: {name} has known columns and ratings"
                )
        data = read_named(name, data_folder(args))
    else:
        columns = ColumnMap.parse(args.column) if args.column else None
        data = read_annotations(name, columns, Scale.parse(args.scale), language)
    for note in data.notes:
        tell(f"{name}: {note}")
    return data


def told_of_reading(encoder: str, texts: Sequence[str], language: Language) -> list[str]:
    """Return warnings, also on stderr, if an encoder cannot read texts of another language.

    English texts are not checked.
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
    """Yield benchmarks by name with their texts; report those without local data on stderr."""
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.core.errors import DataError

    for name in names:
        try:
            corpus = load_benchmark(name, systems="all", data=args.data, cache=args.cache).corpus
        except DataError as error:
            tell(f"leakage into {name} was not checked: {error}")
            continue
        yield name, corpus


def warn_of_leaks(args: argparse.Namespace, texts: list[str], what: str) -> list[str]:
    """Return warnings, also on stderr, about sentences shared with locally available benchmarks."""
    from gecjury.corpus.leakage import corpus_texts, find_leaks, warning

    warnings = []
    absent = dict.fromkeys(args.check)
    for name, corpus in tested_corpora(args, args.check):
        del absent[name]
        line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
        if line:
            warnings.append(line)
            tell(f"warning: {line}")
    unchecked = [
        f"Leakage into {name} was not checked, since its data is missing" for name in absent
    ]
    return warnings + unchecked


def labelled_code(args: argparse.Namespace, names: Sequence[str]) -> str:
    """Return the language code of labelled text; `mul` if sets of several languages are joined.

    Raises:
        OptionError: a set has another language than --lang.
    """
    from gecjury.refless.data.labelled import labelled_language

    languages = {name: labelled_language(name) for name in names}
    if not args.lang and len({code for code in languages.values() if code is not None}) > 1:
        return "mul"
    return training_language(args, languages).code


def labelled_text(args: argparse.Namespace, names: Sequence[str], code: str) -> LabelledText:
    """Return labelled sentences without those of the benchmarks of --check.

    Stderr shows how many are excluded, and where the dev part comes from.

    Args:
        names: see `gecjury.refless.data.labelled.read_labelled`.
        code: language code of the training, assumed for files; sets in other languages are
            reported.
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
            tell(f"warning: {name} is in another language ({language}) than the training ({code})")
    train = read_labelled(names, lambda: data_folder(args), language=code)
    # A detector learns nothing from tokens that are all correct or all wrong.
    refuse_one_class(train, ", ".join(names))
    # A dev part may be next to the training part, as in MultiGED.
    places = [place for place in map(dev_beside, names) if place is not None]
    dev = read_labelled(places, lambda: data_folder(args), part="dev", language=code)
    shown = ", ".join(places) or "a held-out tenth"
    # A model must not learn from sentences that it is later tested on.
    train, dev = _without_tested(args, train, dev)
    count = f"{len(dev)} sentences" if dev else "drawn by sentence"
    tell(f"detection learns from {len(train)} sentences; dev part: {shown} ({count})")
    return LabelledText(train, dev)


def detection_origin(args: argparse.Namespace) -> dict[str, str]:
    """Return the model card's entries about labelled text and a detector."""
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
    """Return the parts without sentences of the benchmarks that models are tested on."""
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
        tell(f"excluded from the labelled text: {left_out} sentences that are in {shown}")
    return kept
