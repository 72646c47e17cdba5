"""The M2 format: tokenised sources with the edits of one or many annotators.

A block is an `S` line (the source), any number of `A` lines (one edit each) and a blank line:

    S This are a sentence .
    A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0

`A -1 -1|||noop|||...` says that the annotator found nothing to correct. An annotator who has no
line in a block that others annotated is *absent* there, which readers interpret differently:
see `M2Sentence.annotators`.

ChERRANT writes a line `T0-A1 TOKENS` above the edits of each cheapest alignment of an annotator's
correction. The first alignment (A0) is read, the others are left out. In such files an annotator
without a line did not see the sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.edits import NOOP, Edit, apply_edits, counted_edits, overlapping_edits

TARGET = re.compile(r"T\d+(?:-A(\d{1,9}))? ")
_DIGITS = 18
"""Most digits of an annotator's number: it is a name, but files and tables also use its value."""


@dataclass(frozen=True, slots=True)
class M2Annotation:
    """An `A` line with every field, so that it can be written back unchanged."""

    start: int
    end: int
    type: str
    correction: str
    required: str = "REQUIRED"
    comment: str = "-NONE-"
    annotator: int = 0

    @property
    def is_noop(self) -> bool:
        """True if the line says that nothing was to be corrected."""
        return self.start == self.end == -1 or self.type == NOOP

    @property
    def edit(self) -> Edit:
        """The edit: the first of several alternatives (`a||b`); `-NONE-` is a deletion."""
        first = self.correction.split("||")[0]
        return Edit(self.start, self.end, "" if first == "-NONE-" else first, self.type)

    def line(self) -> str:
        """Return the `A` line."""
        return (
            f"A {self.start} {self.end}|||{self.type}|||{self.correction}|||{self.required}|||"
            f"{self.comment}|||{self.annotator}"
        )


@dataclass(frozen=True)
class M2Sentence:
    """A block of an M2 file.

    Attributes:
        source: the sentence, as tokens.
        annotations: the `A` lines.
        ragged: True in ChERRANT's files, where an annotator without a line did not see the
            sentence.
    """

    source: str
    annotations: tuple[M2Annotation, ...] = ()
    ragged: bool = False

    @cached_property
    def annotators(self) -> tuple[int, ...]:
        """Annotators with at least one line here (a noop counts), ascending."""
        return tuple(sorted({annotation.annotator for annotation in self.annotations}))

    def edits(self, annotator: int) -> tuple[Edit, ...]:
        """Return the annotator's edits in file order; none for a noop or an absent annotator.

        Errors that were seen but not corrected (`UNK`, `Um`) are among them, for detection.
        """
        return tuple(
            annotation.edit
            for annotation in self.annotations
            if annotation.annotator == annotator and not annotation.is_noop
        )

    def text(self, annotator: int, *, detected: bool = False) -> str:
        """Return the source with the annotator's edits applied, tokens joined by single spaces.

        Args:
            annotator: the annotator's number.
            detected: also replace the spans of errors that were seen but not corrected (`UNK`,
                `Um`), mostly by nothing, as in the references behind published tables.
        """
        edits = self.edits(annotator)
        edits = tuple(replace(e, type="") for e in edits) if detected else counted_edits(edits)
        if not edits:
            return self.source
        tokens = self.source.split()
        if not overlapping_edits(edits):
            return " ".join(apply_edits(tokens, edits))
        return " ".join(_apply_in_turn(tokens, edits))


def m2_annotations(
    edits: Iterable[Edit], annotator: int, place: str = ""
) -> tuple[M2Annotation, ...]:
    """Return an annotator's lines for the edits of a sentence; a noop where there is none.

    Args:
        annotator: the annotator's number.
        place: file and line for messages, if the lines are written to a file. Edits that M2 cannot
            express are then refused.

    Raises:
        InputError: a correction has `||`, which separates alternatives, or is `-NONE-`, which means
            a deletion.
    """
    lines = [M2Annotation(e.start, e.end, e.type, e.correction, annotator=annotator) for e in edits]
    for line in lines if place else ():
        if "||" in line.correction or line.correction == "-NONE-":
            raise InputError(
                f"{place}: the correction {line.correction!r:.60} cannot be written as M2, where "
                "`||` separates alternatives and `-NONE-` is a deletion; replace it in the text"
            )
    return tuple(lines) or (M2Annotation(-1, -1, NOOP, "-NONE-", annotator=annotator),)


def read_m2(path: str | Path, *, overlaps: str = "reject") -> tuple[M2Sentence, ...]:
    """Read an M2 file (also gzip).

    Args:
        overlaps: `reject` refuses overlapping or unordered edits of one annotator, naming the
            line; `keep` keeps them in file order (the ten CoNLL-2014 annotators have 37 such
            lines), and `M2Sentence.text` then applies them one after another.

    Returns:
        One `M2Sentence` per block.

    Raises:
        InputError: the file cannot be read or is malformed; names file and line.
    """
    return parse_m2(read_lines(path), str(path), overlaps=overlaps)


def parse_m2(
    lines: Iterable[str], name: str = "M2", *, overlaps: str = "reject"
) -> tuple[M2Sentence, ...]:
    """Parse the lines of an M2 file; see `read_m2`."""
    blocks: list[M2Sentence] = []
    source: str | None = None
    length, alignment, ragged = 0, 0, False
    annotations: list[M2Annotation] = []

    def close() -> None:
        nonlocal source
        if source is not None:
            blocks.append(M2Sentence(source, tuple(annotations), ragged))
        source = None
        annotations.clear()

    for number, line in enumerate(lines, 1):
        # A new S line ends a block as well: not every file has the blank line between.
        if line == "S" or line.startswith("S "):
            close()
            source = line[2:]
            length, alignment, ragged = len(source.split()), 0, False
        elif line.startswith("A "):
            where = f"{name}, line {number}"
            if source is None:
                raise InputError(
                    f"{where}: an A line without an S line above it; "
                    "every block must begin with `S ` and the source"
                )
            annotation = _parse_annotation(line, where, length)
            if alignment:
                continue
            if overlaps == "reject":
                _check_order(annotations, annotation, where)
            annotations.append(annotation)
        elif source is not None and (target := TARGET.match(line)):
            alignment, ragged = int(target[1] or 0), True
        elif line.strip():
            raise InputError(
                f"{name}, line {number}: {line[:60]!r} is neither an S line, an A line nor blank; "
                "expected M2 (`S tokens`, then `A start end|||type|||correction|||...`)"
            )
        else:
            close()
    close()
    if not blocks:
        raise InputError(f"{name}: no S line found; expected at least one M2 block")
    return tuple(blocks)


# ChERRANT's line above the edits of an annotator, with the number of the alignment.


def format_m2(sentences: Iterable[M2Sentence]) -> str:
    """Write blocks as M2 text, each followed by a blank line.

    Raises:
        InputError: a text contains a line break or a separator, which M2 cannot escape.
    """
    return "".join(f"{_block(sentence, n)}\n\n" for n, sentence in enumerate(sentences, 1))


def _block(sentence: M2Sentence, number: int) -> str:
    lines = [f"S {sentence.source}"]
    if "\n" in sentence.source or sentence.source.endswith("\r"):
        raise InputError(
            f"sentence {number}: {sentence.source!r:.60} has a line break, which M2 cannot "
            "express; replace it by a space"
        )
    above: int | None = None
    for annotation in sentence.annotations:
        if sentence.ragged and annotation.annotator != above:
            above = annotation.annotator
            lines.append(f"T{above}-A0 {sentence.text(above)}")
        lines.append(annotation.line())
        fields = (annotation.type, annotation.correction, annotation.required, annotation.comment)
        if "\n" in lines[-1] or tuple(lines[-1].split("|||")[1:-1]) != fields:
            raise InputError(
                f"sentence {number}: {'|||'.join(fields)!r:.90} cannot be written as M2, whose "
                "fields may not contain `|||` or a line break or end in `|`; replace it in the text"
            )
    if sentence.ragged and above is None:
        lines.append(f"T0-A0 {sentence.source}")
    return "\n".join(lines)


def _parse_annotation(line: str, where: str, length: int) -> M2Annotation:
    fields = line[2:].split("|||")
    if len(fields) != 6:
        raise InputError(
            f"{where}: {len(fields)} fields separated by `|||`, expected 6 "
            "(`A start end|||type|||correction|||REQUIRED|||-NONE-|||annotator`)"
        )
    span, kind, correction, required, comment, annotator = fields
    try:
        start, end = (int(number) for number in span.split())
    except ValueError:
        raise InputError(
            f"{where}: span {span!r:.60} is not two whole numbers, expected `start end`"
        ) from None
    # All white space would include control characters, which `int` does not accept.
    if not annotator.strip(" \t").isdecimal() or len(annotator.strip()) > _DIGITS:
        raise InputError(
            f"{where}: annotator {annotator!r:.60} is not a whole number from 0, of at most "
            f"{_DIGITS} digits; the last field names the annotator"
        )
    annotation = M2Annotation(start, end, kind, correction, required, comment, int(annotator))
    if not annotation.is_noop and not 0 <= start <= end <= length:
        problem = "ends before it starts" if end < start else "lies outside the sentence"
        raise InputError(
            f"{where}: the edit {start} {end} {problem}; "
            f"expected 0 <= start <= end <= {length}, the number of source tokens"
        )
    return annotation


def _check_order(before: Sequence[M2Annotation], new: M2Annotation, where: str) -> None:
    if new.is_noop:
        return
    # Only the annotator's last edit matters: earlier ones were checked against it.
    for old in reversed(before):
        if old.annotator == new.annotator and not old.is_noop:
            if new.start < old.end or new.start < old.start:
                fault = "overlaps" if new.end > old.start else "is listed after"
                raise InputError(
                    f"{where}: the edit {new.start} {new.end} of annotator {new.annotator} "
                    f"{fault} the edit {old.start} {old.end} above it; edits must be in order "
                    "and must not overlap: sort them, or remove one of the two"
                )
            return


def _apply_in_turn(tokens: list[str], edits: Sequence[Edit]) -> list[str]:
    """Apply edits in file order, each to the result of the earlier edits.

    This is the rule of common converters from M2 to text: spans are shifted by the length changes
    so far, so of two edits of one span the second replaces the result of the first.
    """
    result = list(tokens)
    offset = 0
    for edit in edits:
        # Later spans count the source's tokens, so added and removed tokens shift them.
        result[edit.start + offset : edit.end + offset] = edit.tokens
        offset += len(edit.tokens) - (edit.end - edit.start)
    return result
