"""`gecjury m2`: apply, show, check and convert edits in the M2 format."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gecjury.cli.check import print_findings
from gecjury.cli.parsers import CommandParser, add_actions, declares
from gecjury.cli.streams import write_data
from gecjury.settings import REQUIRED, option

if TYPE_CHECKING:
    from gecjury.corpus.m2 import M2Sentence


@dataclass(frozen=True, kw_only=True)
class Files:
    """Files of the same sentences."""

    files: tuple[str, ...] = option(REQUIRED, "FILE.m2")


@dataclass(frozen=True, kw_only=True)
class Written(Files):
    """Files, and what is written of them.

    Attributes:
        output: write here, not to stdout.
        overlaps: what becomes of overlapping or unordered edits of one annotator.
    """

    output: str | None = option(None, "-o", "--output", metavar="FILE")
    overlaps: Literal["reject", "keep"] = "reject"


@dataclass(frozen=True, kw_only=True)
class Converted(Written):
    """Files that become one.

    Attributes:
        annotator: which annotators; repeat for more (default: all).
    """

    annotator: tuple[int, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Single:
    """One file, and what is written of it.

    Attributes:
        output: write here, not to stdout.
    """

    file: str = option(REQUIRED, "FILE.m2")
    output: str | None = option(None, "-o", "--output", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class Applied(Single):
    """A file whose edits are applied.

    Attributes:
        annotator: which annotator.
        overlaps: what becomes of overlapping or unordered edits of one annotator.
    """

    annotator: int = 0
    overlaps: Literal["reject", "keep"] = "reject"


@dataclass(frozen=True, kw_only=True)
class Retyped(Single):
    """A file whose edits are typed or extracted anew; overlapping ones are kept.

    Attributes:
        tagger: embedded, cherrant, none, spacy:NAME, or a spaCy model's name.
    """

    tagger: str = "embedded"
    pos: Literal["spacy2", "spacy3"] = "spacy2"


_ACTIONS = {
    "apply": ("the corrected sentences of one annotator", declares(Applied)),
    "text": ("the source sentences", declares(Written)),
    "check": (
        "every problem, with its line; compares sources where several files are given",
        declares(Files),
    ),
    "convert": ("M2 anew: merge files as annotators, or pick annotators", declares(Converted)),
    "retype": (
        "M2 with every edit typed by ERRANT's rules, as `errant_m2 -gold`",
        declares(Retyped, needs=("edits",)),
    ),
    "reextract": (
        "M2 with edits extracted from the corrected sentences, as `errant_m2 -auto`",
        declares(Retyped, needs=("edits",)),
    ),
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, _ACTIONS)


def run(args: argparse.Namespace) -> int:
    """Carry out one action."""
    if args.action == "check":
        return _check(args)
    makers = {"apply": _corrected, "text": _sources, "convert": _converted}
    write_data(makers.get(args.action, _typed_anew)(args), args.output)
    return 0


def _corrected(args: argparse.Namespace) -> str:
    """Return the sentences as one annotator corrected them."""
    from gecjury.corpus.m2 import read_m2
    from gecjury.errors import InputError

    blocks = read_m2(args.file, overlaps=args.overlaps)
    annotators = sorted({a for block in blocks for a in block.annotators})
    if annotators and args.annotator not in annotators:
        raise InputError(
            f"{args.file}: no annotator {args.annotator}; the file has "
            f"{', '.join(map(str, annotators))}"
        )
    return "".join(f"{block.text(args.annotator)}\n" for block in blocks)


def _sources(args: argparse.Namespace) -> str:
    """Return the sentences as they were before correction."""
    from gecjury.corpus.m2 import read_m2

    files = (read_m2(path, overlaps=args.overlaps) for path in args.files)
    return "".join(f"{block.source}\n" for blocks in files for block in blocks)


def _converted(args: argparse.Namespace) -> str:
    """Return all files as one, each with annotators of its own, or some of these."""
    from gecjury.corpus.gold import join_annotators
    from gecjury.corpus.m2 import M2Sentence, format_m2, read_m2
    from gecjury.textfiles import read_text

    files = [read_m2(path, overlaps=args.overlaps) for path in args.files]
    for path, blocks in zip(args.files, files, strict=True):
        _same_sources(args.files[0], files[0], path, blocks)
    joined = join_annotators(files, silent=True)
    # Numbers go on from file to file: those of the second follow the last of the first.
    if args.annotator is not None:
        joined = tuple(
            M2Sentence(b.source, tuple(a for a in b.annotations if a.annotator in args.annotator))
            for b in joined
        )
    text = format_m2(joined)
    if len(files) == 1 and not read_text(args.files[0]).endswith("\n\n"):
        # Some files end without the blank line; converting one must change nothing unasked.
        text = text.removesuffix("\n")
    return text


def _typed_anew(args: argparse.Namespace) -> str:
    """Return a file's edits with ERRANT's types, or extracted anew."""
    from gecjury.cli.inputs import runtime_from
    from gecjury.corpus.m2 import format_m2, read_m2
    from gecjury.extraction.retyping import reextracted_blocks, retyped_blocks
    from gecjury.extraction.taggers import extraction_signature

    # An unknown tagger is refused before any file is read.
    extraction_signature(args.tagger, args.pos)
    blocks = read_m2(args.file, overlaps="keep")
    make = retyped_blocks if args.action == "retype" else reextracted_blocks
    return format_m2(make(blocks, args.tagger, args.pos, runtime_from(args)))


def _same_sources(
    path: str, blocks: tuple[M2Sentence, ...], other: str, others: tuple[M2Sentence, ...]
) -> None:
    """Two files must annotate the same sentences.

    Raises:
        InputError: shows the first block that differs.
    """
    from gecjury.errors import InputError

    for number, (one, two) in enumerate(zip(blocks, others, strict=False), 1):
        if one.source != two.source:
            raise InputError(
                f"{path} and {other} annotate different sources; the first that differs is "
                f"sentence {number}:\n  {one.source}\n  {two.source}"
            )
    if len(blocks) != len(others):
        raise InputError(
            f"{path} has {len(blocks)} sentences, {other} {len(others)}: expected the same ones"
        )


def _check(args: argparse.Namespace) -> int:
    """Report on every file; a malformed one does not hide the others."""
    from gecjury.corpus.doctor import Finding, errors_first
    from gecjury.corpus.m2 import read_m2
    from gecjury.errors import GecjuryError

    files: list[dict[str, object]] = []
    problems: list[Finding] = []
    first: tuple[str, tuple[M2Sentence, ...]] | None = None
    for path in args.files:
        try:
            blocks = read_m2(path, overlaps="keep")
        except GecjuryError as error:
            problems.append(Finding("error", path, str(error)))
            continue
        # Read again as strictly as usual: overlapping edits are worth a warning, not the end.
        try:
            read_m2(path)
        except GecjuryError as error:
            problems.append(Finding("warning", path, str(error)))
        # The first readable file is what the others are compared with, itself included.
        first = first or (path, blocks)
        try:
            _same_sources(*first, path, blocks)
        except GecjuryError as error:
            problems.append(Finding("error", path, str(error)))
        files.append(_summary(path, blocks))
        # Neither is wrong, but scorers read them differently, which shows in no other way.
        silent = sum(not block.annotations for block in blocks)
        annotators = {a for block in blocks for a in block.annotators}
        uneven = sum(0 < len(block.annotators) < len(annotators) for block in blocks)
        if silent:
            message = f"{silent} sentences without any A line (no noop)"
            problems.append(Finding("note", path, message))
        if uneven:
            message = (
                f"{uneven} sentences that some annotators left without a line: scorers differ on "
                "whether that is agreement, no change or absence"
            )
            problems.append(Finding("note", path, message))
    columns = ("file", "sentences", "annotators", "edits", "noop", "tokens")
    return print_findings(files, columns, errors_first(problems), args.format)


def _summary(path: str, blocks: tuple[M2Sentence, ...]) -> dict[str, object]:
    annotations = [a for block in blocks for a in block.annotations]
    return {
        "file": path,
        "sentences": len(blocks),
        "annotators": len({a.annotator for a in annotations}),
        "edits": sum(not a.is_noop for a in annotations),
        "noop": sum(a.is_noop for a in annotations),
        "tokens": sum(len(block.source.split()) for block in blocks),
    }
