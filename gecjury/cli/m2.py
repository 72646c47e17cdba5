"""`gecjury m2`: apply, show, check and convert edits in the M2 format."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gecjury.cli.check import print_findings
from gecjury.cli.parsers import CommandParser, add_actions
from gecjury.cli.streams import print_data

if TYPE_CHECKING:
    from gecjury.corpus.m2 import M2Sentence

_ACTIONS = {
    "apply": "the corrected sentences of one annotator",
    "text": "the source sentences",
    "check": "every problem, with its line; compares sources where several files are given",
    "convert": "M2 anew: merge files as annotators, or pick annotators",
    "retype": "M2 with every edit typed by ERRANT's rules, as `errant_m2 -gold`",
    "reextract": "M2 with edits extracted from the corrected sentences, as `errant_m2 -auto`",
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, "action", "ACTION", _ACTIONS, _declare)


def _declare(parser: CommandParser) -> None:
    """Declare the arguments of an action."""
    action = parser.path.rpartition(" ")[2]
    parser.add_argument("files", metavar="FILE.m2", nargs="+")
    if action == "check":
        return
    if action in ("apply", "convert"):
        parser.add_argument(
            "--annotator",
            type=int,
            action="append",
            help="which annotator (default: 0)"
            if action == "apply"
            else "which annotators; repeat for more (default: all)",
        )
    parser.add_argument("-o", "--output", metavar="FILE", help="write here, not to stdout")
    if action in ("retype", "reextract"):  # both keep overlapping edits
        parser.needs = ("edits",)
        parser.add_argument(
            "--tagger",
            default="embedded",
            help="embedded, none, spacy:NAME, or a spaCy model's name",
        )
        parser.add_argument("--pos", choices=("spacy2", "spacy3"), default="spacy2")
        return
    parser.add_argument(
        "--overlaps",
        choices=("reject", "keep"),
        default="reject",
        help="what becomes of overlapping or unordered edits of one annotator",
    )


def run(args: argparse.Namespace) -> int:
    """Carry out one action."""
    from gecjury.corpus.gold import join_annotators
    from gecjury.corpus.m2 import M2Sentence, format_m2, read_m2
    from gecjury.errors import InputError
    from gecjury.textfiles import read_text

    if args.action == "check":
        return _check(args)
    if args.action in ("retype", "reextract"):
        return _typed_anew(args)
    corpora = [read_m2(path, overlaps=args.overlaps) for path in args.files]
    if args.action == "text":
        return _write(args, "".join(f"{b.source}\n" for blocks in corpora for b in blocks))
    if args.action == "apply":
        if len(corpora) != 1:
            raise InputError(f"m2 apply takes one file, got {len(corpora)}")
        annotator = args.annotator[0] if args.annotator else 0
        annotators = sorted({a for block in corpora[0] for a in block.annotators})
        if annotators and annotator not in annotators:
            raise InputError(
                f"{args.files[0]}: no annotator {annotator}; the file has "
                f"{', '.join(map(str, annotators))}"
            )
        return _write(args, "".join(f"{block.text(annotator)}\n" for block in corpora[0]))
    for path, blocks in zip(args.files[1:], corpora[1:], strict=True):
        _same_sources(args.files[0], corpora[0], path, blocks)
    blocks = join_annotators(corpora, silent=True)
    if args.annotator is not None:
        blocks = tuple(
            M2Sentence(b.source, tuple(a for a in b.annotations if a.annotator in args.annotator))
            for b in blocks
        )
    text = format_m2(blocks)
    if len(args.files) == 1 and not read_text(args.files[0]).endswith("\n\n"):
        # Some files end without the blank line; converting one must change nothing unasked.
        text = text.removesuffix("\n")
    return _write(args, text)


def _typed_anew(args: argparse.Namespace) -> int:
    """Give a file's edits ERRANT's types, or extract them anew."""
    from gecjury.cli.inputs import runtime_from
    from gecjury.corpus.m2 import format_m2, read_m2
    from gecjury.errors import InputError
    from gecjury.extraction.retyping import reextracted_blocks, retyped_blocks
    from gecjury.extraction.taggers import extraction_signature

    if len(args.files) != 1:
        raise InputError(f"m2 {args.action} takes one file, got {len(args.files)}")
    # An unknown tagger is refused before any file is read.
    extraction_signature(args.tagger, args.pos)
    blocks = read_m2(args.files[0], overlaps="keep")
    make = retyped_blocks if args.action == "retype" else reextracted_blocks
    return _write(args, format_m2(make(blocks, args.tagger, args.pos, runtime_from(args))))


def _write(args: argparse.Namespace, text: str) -> int:
    from gecjury.textfiles import write_text

    if args.output:
        write_text(args.output, text)
    else:
        print_data(text)
    return 0


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
