"""`gecjury m2`: apply, check and convert edits in the M2 format."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gecjury.cli.check import print_findings
from gecjury.cli.parsers import VERBOSE, CommandParser, add_actions
from gecjury.cli.streams import write_data
from gecjury.core.errors import GecjuryError, InputError
from gecjury.core.textfiles import lines_text, read_text
from gecjury.corpus.edits import DETECTED_TYPES
from gecjury.corpus.m2 import M2Sentence, format_m2, read_m2

_ACTIONS = {
    "apply": "the corrected sentences of one annotator",
    "text": "the source sentences",
    "check": "every problem with its line; compares the sources of several files",
    "convert": "merge M2 files as annotators, or select annotators",
    "retype": "M2 with every edit typed by ERRANT's rules, as `errant_m2 -gold`",
    "reextract": "M2 with edits extracted from the corrected sentences, as `errant_m2 -auto`",
}


def add_arguments(parser: CommandParser) -> None:
    """Declare the actions."""
    add_actions(parser, {name: (line, _declare) for name, line in _ACTIONS.items()})


def _declare(parser: CommandParser) -> None:
    """Declare the arguments of an action."""
    action = parser.path.removeprefix("m2 ")
    if action in ("text", "check", "convert"):
        parser.add_argument("files", nargs="+", metavar="FILE.m2")
    else:
        parser.add_argument("file", metavar="FILE.m2")
    if action == "check":
        parser.add_argument("--verbose", action="store_true", help=VERBOSE)
    else:
        kept = "write here instead of stdout"
        parser.add_argument("-o", "--output", metavar="FILE", help=kept)
    if action == "apply":
        meaning = "the annotator whose edits are applied (default: 0)"
        parser.add_argument("--annotator", type=int, default=0, help=meaning)
    if action == "convert":
        meaning = "annotators to keep; repeat for more (default: all)"
        parser.add_argument("--annotator", type=int, action="append", help=meaning)
    if action in ("retype", "reextract"):
        parser.needs = ("edits",)
        meaning = "embedded (default), cherrant, none, spacy:NAME, or a spaCy model's name"
        parser.add_argument("--tagger", default="embedded", metavar="NAME", help=meaning)


def run(args: argparse.Namespace) -> int:
    """Run one action."""
    if args.action == "check":
        return _check(args)
    makers = {"apply": _corrected, "text": _sources, "convert": _converted}
    write_data(makers.get(args.action, _typed_anew)(args), args.output)
    return 0


def _corrected(args: argparse.Namespace) -> str:
    """Return the sentences as one annotator corrected them."""
    blocks = read_m2(args.file)
    annotators = sorted({a for block in blocks for a in block.annotators})
    if annotators and args.annotator not in annotators:
        raise InputError(
            f"{args.file}: no annotator {args.annotator}; the file has "
            f"{', '.join(map(str, annotators))}"
        )
    return lines_text([block.text(args.annotator) for block in blocks])


def _sources(args: argparse.Namespace) -> str:
    """Return the sentences as they were before correction."""
    files = (read_m2(path, overlaps="keep") for path in args.files)
    return lines_text([block.source for blocks in files for block in blocks])


def _converted(args: argparse.Namespace) -> str:
    """Return all files merged into one, each with its own annotators, or some of them."""
    from gecjury.corpus.files.gold import join_annotators

    files = [read_m2(path, overlaps="keep") for path in args.files]
    for path, blocks in zip(args.files, files, strict=True):
        _same_sources(args.files[0], files[0], path, blocks)
    joined = join_annotators(files, silent=True)
    # Numbers continue from file to file: those of the second follow the last of the first.
    if args.annotator is not None:
        joined = tuple(
            replace(b, annotations=tuple(a for a in b.annotations if a.annotator in args.annotator))
            for b in joined
        )
    text = format_m2(joined)
    if len(files) == 1 and not read_text(args.files[0]).endswith("\n\n"):
        # Some files end without the blank line; converting must not change that.
        text = text.removesuffix("\n")
    return text


def _typed_anew(args: argparse.Namespace) -> str:
    """Return a file's edits with ERRANT's types, or extracted again."""
    from gecjury.cli.options import runtime_from
    from gecjury.extraction.retyping import reextracted_blocks, retyped_blocks
    from gecjury.extraction.taggers import extraction_signature

    # An unknown tagger is refused before any file is read.
    extraction_signature(args.tagger)
    blocks = read_m2(args.file, overlaps="keep")
    make = retyped_blocks if args.action == "retype" else reextracted_blocks
    return format_m2(make(blocks, args.tagger, runtime=runtime_from(args)))


def _same_sources(
    path: str, blocks: tuple[M2Sentence, ...], other: str, others: tuple[M2Sentence, ...]
) -> None:
    """Refuse two files that annotate different sentences.

    Raises:
        InputError: shows the first block that differs.
    """
    for number, (one, two) in enumerate(zip(blocks, others, strict=False), 1):
        if one.source != two.source:
            raise InputError(
                f"{path} and {other} annotate different sources; the first difference is in "
                f"sentence {number}:\n  {one.source}\n  {two.source}"
            )
    if len(blocks) != len(others):
        raise InputError(
            f"{path} has {len(blocks)} sentences, {other} {len(others)}: expected the same ones"
        )


def _check(args: argparse.Namespace) -> int:
    """Report on every file; a malformed one does not hide the others."""
    from gecjury.corpus.doctor import Finding, errors_first

    files: list[dict[str, object]] = []
    problems: list[Finding] = []
    first: tuple[str, tuple[M2Sentence, ...]] | None = None
    for path in args.files:
        try:
            blocks = read_m2(path, overlaps="keep")
        except GecjuryError as error:
            problems.append(Finding("error", path, str(error)))
            continue
        # Read again in the usual strict mode: overlapping edits give a warning, not an error.
        try:
            read_m2(path)
        except GecjuryError as error:
            problems.append(Finding("warning", path, str(error)))
        # All files, including itself, are compared with the first readable one.
        first = first or (path, blocks)
        try:
            _same_sources(*first, path, blocks)
        except GecjuryError as error:
            problems.append(Finding("error", path, str(error)))
        files.append(_summary(path, blocks))
        problems += [Finding("note", path, what) for what in _read_differently(blocks)]
    columns = ("file", "sentences", "annotators", "edits", "noop", "tokens")
    return print_findings(files, columns, errors_first(problems), args)


def _read_differently(blocks: Sequence[M2Sentence]) -> Iterator[str]:
    """Yield what is not wrong, but read differently by scorers, which nothing else reveals."""
    if silent := sum(not block.annotations for block in blocks):
        yield f"{silent} sentences without any A line (no noop)"
    if found := sum(a.type in DETECTED_TYPES for block in blocks for a in block.annotations):
        yield (
            f"{found} edits are typed UNK or Um: errors that were seen but not corrected; they are "
            "never applied, and count for detection and for the M2 scorer only"
        )
    annotators = {a for block in blocks for a in block.annotators}
    if uneven := sum(0 < len(block.annotators) < len(annotators) for block in blocks):
        yield (
            f"{uneven} sentences in which some annotators have no line: scorers differ on whether "
            "that means agreement, no change or absence"
        )


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
