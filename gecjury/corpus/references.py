"""References: what their lines stand for, and those that gold edits make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gecjury.core.errors import InputError
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Corpus, Version, held
from gecjury.corpus.edits import overlapping_edits
from gecjury.corpus.m2 import M2Sentence

NO_REFERENCE = "-NONE-"
"""A line of a reference of this text says that there is no reference of the sentence."""

# MuCGEC writes these instead of a reference: "no error" and "cannot be annotated".
# `parallel_to_m2.py` of ChERRANT turns them into `noop` and `NA`, and scores no `NA` sentence.
_NO_ERROR = "没有错误"
_UNANNOTATED = "无法标注"
_MARKS = frozenset({NO_REFERENCE, _NO_ERROR, _UNANNOTATED})
_MOST_MARK = 20  # characters of a line that may be a mark, with blanks between them


def has_mark(lines: Iterable[str]) -> bool:
    """Return True if a line of a reference is one of the marks, with or without blanks."""
    return any("".join(x.split()) in _MARKS for x in [x for x in lines if len(x) <= _MOST_MARK])


def meant_reference(text: str | None, source: str) -> str | None:
    """Return the reference that a line stands for.

    Args:
        text: the line; None where a file has null.
        source: the sentence that it corrects.

    Returns:
        None where there is no reference, the source for a mark of no error, otherwise the line.
    """
    if text is None or not has_mark([text]):
        return text
    mark = "".join(text.split())
    if mark == "".join(source.split()):
        return text
    return source if mark == _NO_ERROR else None


def meant_references(version: Version, sources: Sequence[str]) -> Version:
    """Return a reference with the meaning of its lines; see `meant_reference`.

    Args:
        version: the reference, in the order of the sources.
        sources: the sentences that it corrects.

    Returns:
        The reference; lines without a reference are unchanged and among its `borrowed` ones.
    """
    # An M2 file has its own ways to say this.
    if version.edits is not None or len(version.lines) != len(sources):
        return version
    if not has_mark(version.lines):
        return version
    changed = {
        row: meant
        for row, line in enumerate(version.lines)
        if (meant := meant_reference(line, sources[row])) != line
    }
    lines = [*held(version.lines)]
    same = []
    for row, text in changed.items():
        if text is not None:
            lines[row] = text
            same.append(row + 1)
    absent = {row for row, text in changed.items() if text is None}
    borrowed = tuple(sorted(absent.union(version.borrowed)))
    version = replace(version, lines=tuple(lines), borrowed=borrowed)
    if not same:
        return version
    return version.with_note(
        f"{len(same)} of {len(lines)} lines {'is' if len(same) == 1 else 'are'} {_NO_ERROR} (no "
        f"error), read as the source ({named_lines(same)})"
    )


def filled_references(
    names: Sequence[str], versions: Sequence[Version], where: str = "the source"
) -> list[Version]:
    """Return references in which each text that one lacks comes from the first that has it.

    Args:
        names: the file of each reference, for messages.
        versions: references of the same sentences.
        where: the file of the sources, for messages.

    Raises:
        InputError: no reference has a text; names file and line.
    """
    if not any(version.borrowed for version in versions):
        return list(versions)
    # Texts come before M2, whose lines are tokens.
    lenders = [
        (version.lines, frozenset(version.borrowed))
        for version in sorted(versions, key=lambda version: version.edits is not None)
    ]
    filled = []
    for name, version in zip(names, versions, strict=True):
        lines = dict(enumerate(version.lines)) if version.borrowed else {}
        for row in version.borrowed:
            lender = next((of for of, lacks in lenders if row not in lacks and row < len(of)), None)
            if lender is None:
                place = f"{name}, line {row + 1}"
                if version.ids is not None:
                    one, line = list(version.ids.items())[row]
                    place = f"{name}: {version.key} = {one:.60} is missing, which {where} has in "
                    place += f"line {line}"
                raise InputError(
                    f"{place}: no file has a reference of this text; expected at least one (a text "
                    "without errors is repeated), or leave the text out of every file"
                )
            lines[row] = lender[row]
        filled.append(replace(version, lines=tuple(lines.values())) if lines else version)
    return filled


def empty_note(version: Version, sources: Sequence[str]) -> str:
    """Return a remark on the empty lines of a reference; empty where it has none."""
    # In M2, a deleted sentence is an edit that somebody made.
    if version.edits is not None:
        return ""
    lines = enumerate(version.lines)
    blank = (row for row, line in lines if not line or line.isspace())
    empty = [row + 1 for row in blank if sources[row].strip()]
    if not empty:
        return ""
    return (
        f"{len(empty)} of {len(sources)} lines {'is' if len(empty) == 1 else 'are'} empty "
        f"({named_lines(empty)}), which says that the sentence was deleted; {NO_REFERENCE} says "
        "that there is no reference"
    )


def gold_versions(blocks: Sequence[M2Sentence]) -> tuple[Version, ...]:
    """Return gold edits as references, one for each annotator.

    A sentence without lines of an annotator is unchanged in that annotator's reference. In a
    ragged block the reference is that of the first annotator instead, who saw the sentence.

    Args:
        blocks: one block per sentence; without blocks there are no references.
    """
    if not blocks:
        return ()
    annotators = sorted({a for block in blocks for a in block.annotators}) or [0]

    def present(block: M2Sentence, annotator: int) -> int:
        instead = block.ragged and annotator not in block.annotators
        return block.annotators[0] if instead and block.annotators else annotator

    return tuple(
        Version(
            tuple(block.text(present(block, annotator)) for block in blocks),
            tuple(block.edits(present(block, annotator)) for block in blocks),
            tuple(block.source for block in blocks),
        )
        for annotator in annotators
    )


def refuse_overlaps(corpus: Corpus, metric: str) -> None:
    """Refuse references whose edits overlap, for metrics that split sentences at edits.

    Args:
        corpus: the texts.
        metric: name of the metric that refuses.

    Raises:
        InputError: names the reference, the sentence and the edit.
    """
    for index, version in enumerate(corpus.references):
        for row, line in enumerate(version.edits or ()):
            if over := overlapping_edits(line):
                name = corpus.label(f"reference {index}")
                raise InputError(
                    f"{name}, sentence {row + 1}: the edit {over[0].start} {over[0].end} "
                    f"{over[0].correction!r} overlaps another of the same annotator, and "
                    f"{metric} splits sentences at the edits: remove one of the two, or "
                    "give the reference as text, from which edits are extracted"
                )
