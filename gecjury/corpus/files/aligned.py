"""Alignment of files with their source: by ids where rows have them, otherwise by line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise

from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Version

ESSAY = "essay_id"
"""The key of ids of essays."""

ID_KEYS = ("id", "custom_id", "line", "sentence")
"""Keys and columns that name a row, in order of precedence; the last two are line numbers."""

NUMBERS = ID_KEYS[2:]
"""Keys and columns of line numbers. `sentence` may also contain a text, which names no row."""


def row_ids(rows: Iterable[tuple[int, Mapping[str, object]]], where: str) -> Version:
    """Return a version without lines that has the ids of rows, or none if the rows name none.

    Args:
        rows: line number and cells of each row, with lower-case names.
        where: the file, for messages.

    Raises:
        InputError: some rows have no id, an id occurs twice, or is no text or whole number.
    """
    held = [(line, cells) for line, cells in rows]
    for key in ID_KEYS:
        values = [cells.get(key) for _, cells in held]
        names = [_id(value, key) for value in values]
        if not any(names if key in NUMBERS else (value not in (None, "") for value in values)):
            continue
        ids: dict[str, int] = {}
        for (line, _), value, name in zip(held, values, names, strict=True):
            if not name:
                other = next(filter(None, names), None)
                but = f", but another row has {other!r:.60}" if other else ""
                raise InputError(
                    f"{where}, line {line}: {key} is {value!r:.60}{but}; expected a "
                    "text or a whole number in every row, or no ids"
                )
            if name in ids:
                raise InputError(
                    f"{where}, line {line}: {key} = {name:.60} is in line {ids[name]}, too; "
                    "expected each id once"
                )
            ids[name] = line
        return Version((), ids=ids, key=key)
    return Version(())


def _id(value: object, key: str) -> str:
    """Return an id as text; empty if the value is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip() if isinstance(value, str | int) else ""
    if isinstance(value, bool) or (key in NUMBERS and not (text.isascii() and text.isdecimal())):
        return ""
    return text


def aligned(
    source: Version, where: str, name: str, version: Version, *, reference: bool = False
) -> Version:
    """Return a version whose texts are in the order of the source's.

    Args:
        source: the texts that were corrected.
        where: its file, for messages.
        name: the file of the version, for messages.
        version: corrections; without ids, their lines are in the order of the source.
        reference: True for a reference, which may lack essays: see `Version.borrowed`.

    Raises:
        InputError: ids differ, or only one side has ids and they are no line numbers; names file,
            line and ids.
    """
    if version.ids is None:
        # M2 files contain their own sentences, which are compared with the source.
        if source.ids is None or version.sources is not None:
            return version
        if source.key == ESSAY:
            raise _two_layouts(where, name)
        numbers = [int(one) for one in source.ids if one.isascii() and one.isdecimal()]
        ordered = all(a < b for a, b in pairwise(numbers))
        if ordered or len(numbers) < len(source.ids):
            return version
        note = f"has no ids; line n is taken for the n-th line of {where}, not for its id n"
        return version.with_note(note)
    if source.ids is None and version.key == ESSAY:
        raise _two_layouts(name, where)
    may_lack = reference and version.key == ESSAY
    rows = order_by_id(source, where, name, version, may_lack=may_lack)
    return replace(
        version,
        lines=tuple("" if row is None else version.lines[row] for row in rows),
        ids=source.ids,
        key=source.key,
        borrowed=tuple(place for place, row in enumerate(rows) if row is None),
    )


def _two_layouts(essays: str, lines: str) -> InputError:
    return InputError(
        f"{essays} has essays by id, and {lines} does not; expected both in one layout, "
        f"`### {ESSAY} = ID` on a line above each essay"
    )


def order_by_id(
    source: Version, where: str, name: str, rows: Version, *, may_lack: bool = False
) -> list[int | None]:
    """Return for each text of the source the place of the row with its id.

    If the source has no ids, or the rows have line numbers and the source other ids, the rows' ids
    must be its line numbers, counted from 1 or from 0.

    Args:
        source: the texts that were corrected.
        where: its file, for messages.
        name: the file of the rows, for messages.
        rows: the ids of the rows; lines are not read.
        may_lack: True if rows may be missing, which gives None.

    Raises:
        InputError: the ids are not the source's; names file, line and ids.
    """
    assert rows.ids is not None
    place = {one: number for number, one in enumerate(rows.ids)}
    count = len(source.lines)
    numbered = rows.key in NUMBERS and source.key not in NUMBERS
    if source.ids is None or numbered:
        first = 0 if "0" in place else 1
        wanted: Mapping[str, int] = {str(first + n): n + 1 for n in range(count)}
        whose = f"a line number of {where} ({first} to {count - 1 + first})"
        remedy = (
            f"give both files the same ids, or leave `{rows.key}` out if the order is that of "
            f"{where}"
        )
    else:
        wanted = source.ids
        whose, remedy = f"in {where}", "expected its ids"
    missing = next((one for one in wanted if one not in place), None)
    if (strange := next((one for one in place if one not in wanted), None)) is not None:
        lacks = ""
        if missing is not None and wanted is source.ids:
            lacks = f", whose line {wanted[missing]} is {missing!r:.60}"
        raise InputError(
            f"{name}, line {rows.ids[strange]}: {rows.key} = {strange:.60} is not {whose}"
            f"{lacks}; {remedy}"
        )
    if missing is not None and not may_lack:
        raise InputError(
            f"{name}: {rows.key} = {missing:.60} is missing, which {where} has in line "
            f"{wanted[missing]}; expected a row for every id (one without changes is repeated)"
        )
    return [place.get(one) for one in wanted]
