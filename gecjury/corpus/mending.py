"""Repairs files whose lines do not fit the source: cuts, joins and deletes lines."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gecjury.core.durable import whole_file
from gecjury.core.errors import OutputError
from gecjury.corpus.line_forms import key_of
from gecjury.corpus.lines import DENSE, ENDS, PART, LineLayout, overlap, size_of

CHANGES = "changes.jsonl"
"""Name of the report of every change, beside the repaired files."""

_CLOSES = re.compile(r"[.,;:!?)\]…。，！？）]")


@dataclass(frozen=True)
class LineChange:
    """A change to neighbouring lines of a file.

    Attributes:
        kind: a kind of `gecjury.corpus.lines.MisfitLines`, or what was taken off the line.
        lines: numbers of the lines, from 1.
        sources: numbers of the source lines that they correct.
        before: the lines as they were.
        after: the lines as they are now.
    """

    kind: str
    lines: tuple[int, ...]
    sources: tuple[int, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Repair:
    """A repaired file.

    Attributes:
        lines: a line for each source line; empty if the file cannot be repaired.
        changes: all changes; code fences come first.
        filled: number of lines that are the unchanged source.
        refusal: why the file cannot be repaired.
    """

    lines: tuple[str, ...] = ()
    changes: tuple[LineChange, ...] = ()
    filled: int = 0
    refusal: str = ""


def _refusal(view: LineLayout, missing: int) -> str:
    """Return why a file cannot be repaired, if so: a place is unsure, or source lines have none."""
    if view.refusal:
        return view.refusal
    if view.out_of_order:
        return "some lines are out of order: put them in the order of the source"
    if doubt := next((place.message for place in view.places if not place.sure), ""):
        return f"{doubt}; the lines around it fit too little to be sure"
    if missing:
        return f"{missing} source lines have no line here: --fill puts the unchanged source there"
    return ""


def repaired(view: LineLayout, *, fill: bool = False) -> Repair:
    """Return the file with a line for each source line, if every place is sure.

    Args:
        view: how its lines lie against those of the source.
        fill: put the unchanged source where a line is missing.
    """
    missing = sum(len(p.step.sources) for p in view.places if p.kind == "dropped")
    if refusal := _refusal(view, 0 if fill else missing):
        return Repair(refusal=refusal)
    lines: list[str] = []
    changes = [
        LineChange("code fence", (row + 1,), (), (view.as_read[row],), ()) for row in view.fences
    ]
    marks = ", ".join(what for what, _ in view.marks)
    kinds = {row: place.kind for place in view.places for row in place.step.lines}
    for step in view.steps:
        sources = [view.sources[row] for row in step.sources]
        held = [view.lines[row] for row in step.lines if view.lines[row].strip()]
        if len(step.lines) == 1 and not held:
            held = [""]
        if not step.lines:
            after = sources
        elif len(sources) <= 1:
            after = [joined_lines(held)] if sources else []
        else:
            after = cut_line(held[0], sources)
            if not after:
                number = step.lines.start + 1
                return Repair(refusal=f"line {number}: no place to cut it fits its source lines")
        before = [view.as_read[row] for row in step.lines]
        if before != after:
            kind = kinds.get(step.lines.start, marks) if step.lines else "filled"
            numbers, of = (tuple(row + 1 for row in rows) for rows in (step.lines, step.sources))
            changes.append(LineChange(kind, numbers, of, tuple(before), tuple(after)))
        lines += after
    return Repair(tuple(lines), tuple(changes), missing)


def joined_lines(lines: Sequence[str]) -> str:
    """Return lines as one, with blanks between them where their script has blanks."""
    text = lines[0]
    for line in lines[1:]:
        blank = "" if DENSE.match(text[-1:]) or DENSE.match(line[:1]) else " "
        text = f"{text.rstrip()}{blank}{line.lstrip()}"
    return text


def cut_line(line: str, sources: Sequence[str]) -> list[str]:
    """Cut a line where the parts fit the source lines best; return nothing if one does not fit."""
    size, keys = size_of(sources), [key_of(source) for source in sources]
    ends = [match.start() for match in re.finditer(r"(?<=\S)\s+(?=\S)", line)]
    if size == 2:
        ends = list(range(1, len(line)))

    def worth(at: int) -> int:
        left, right = line[:at].rstrip(), line[at:].lstrip()
        fit = overlap(key_of(left), keys[0], size)
        fit += overlap(key_of(right), "".join(keys[1:]), size)
        same = (left[-1:] == sources[0].rstrip()[-1:]) + (right[:1] == sources[1].lstrip()[:1])
        ends = bool(ENDS.search(left)) - bool(_CLOSES.match(right))
        return fit + same + 2 * ends

    if not ends:
        return []
    at = max(ends, key=worth)
    left, right = line[:at].rstrip(), line[at:].lstrip()
    rest = [right] if len(sources) == 2 else cut_line(right, sources[1:])
    if not rest or any(
        overlap(key_of(part), key, size) < PART * max(1, len(key) - size + 1)
        for part, key in zip((left, rest[0]), keys, strict=False)
    ):
        return []
    return [left, *rest]


def write_repairs(folder: str | Path, repairs: Mapping[str, Repair]) -> list[Path]:
    """Write repaired files under the names of the originals, and a report of the changes.

    Args:
        folder: the folder, created if it does not exist.
        repairs: the repaired files, by the paths of the originals.

    Returns:
        The paths of the repaired files, in order.

    Raises:
        OutputError: a file of that name exists, or cannot be written; no existing file is changed.
    """
    folder = Path(folder)
    paths = [folder / ("stdin.txt" if path == "-" else Path(path).name) for path in repairs]
    targets = [*paths, folder / CHANGES]
    for n, target in enumerate(targets):
        if target in targets[:n]:
            raise OutputError(
                f"{target}: two files have this name; repair them one after the other"
            )
        if os.path.lexists(target):
            raise OutputError(
                f"{target}: exists and is not replaced; name another folder for --fix"
            )
    report = "".join(
        json.dumps({"file": path, **asdict(change)}, ensure_ascii=False) + "\n"
        for path, repair in repairs.items()
        for change in repair.changes
    )
    texts = ("".join(f"{line}\n" for line in repair.lines) for repair in repairs.values())
    for target, text in zip(targets, (*texts, report), strict=True):
        data = text.encode("utf-8", "surrogatepass")
        with whole_file(target, synced=False) as file:
            file.write(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
    return paths
