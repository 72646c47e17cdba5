"""Essays under headers, the layout of MultiGEC-2025: one essay is one text of a corpus.

    ### essay_id = 1
    The text of the first essay,
    in as many lines as it was written.

The layout and the evaluation followed here are described in `data_format.md` and `scripts/` of
https://github.com/spraakbanken/multigec-2025: whole essays are scored, line breaks are white space,
and an essay that a further reference lacks is taken from the first reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gecjury.corpus.corpus import Version
from gecjury.errors import InputError

_HEADER = re.compile(r"### essay_id = (\S.*?)\s*")
_LIKE_A_HEADER = re.compile(r"\s*#+\s*essay_id\b")
_SHAPE = "`### essay_id = ID` on a line above each essay"


def looks_like_essays(lines: Sequence[str]) -> bool:
    """Return whether the first line that is not blank is a header of an essay."""
    first = next((line for line in lines if line.strip()), "")
    return bool(_LIKE_A_HEADER.match(first))


def parse_essays(lines: Sequence[str], where: str) -> Version:
    """Read essays; they are returned in the order of their ids, not of the file.

    Args:
        lines: lines of the file.
        where: the file, for messages.

    Raises:
        InputError: a header is malformed, an id occurs twice, or an essay is empty; names the line.
    """
    starts: dict[str, int] = {}
    texts: dict[str, list[str]] = {}
    essay = ""
    for number, line in enumerate(lines, 1):
        header = _HEADER.fullmatch(line)
        if header is None and _LIKE_A_HEADER.match(line):
            raise InputError(f"{where}, line {number}: {line!r:.60}; expected {_SHAPE}")
        if header is None:
            if line.strip():
                texts[essay].append(line.strip())
            continue
        essay = header[1]
        if essay in starts:
            raise InputError(
                f"{where}, line {number}: essay_id = {essay:.60} is in line {starts[essay]}, "
                "too; expected each id once"
            )
        starts[essay], texts[essay] = number, []
    for essay, text in texts.items():
        if not text:
            raise InputError(
                f"{where}, line {starts[essay]}: essay_id = {essay:.60} is empty; expected its "
                "text (an essay without changes is repeated)"
            )
    order = sorted(starts, key=lambda key: (len(key), key) if key.isdecimal() else (0, key))
    return Version(
        tuple(" ".join(texts[essay]) for essay in order),
        essays={essay: starts[essay] for essay in order},
    )


def aligned_essays(
    source: Version,
    where: str,
    names: Sequence[str],
    versions: Sequence[Version],
    *,
    shared: bool = False,
) -> list[Version]:
    """Return versions with a text for each essay of the source.

    Args:
        source: the essays that were corrected, or plain lines.
        where: its file, for messages.
        names: the file of each version, for messages.
        versions: corrections; those of M2 files contain their own sentences.
        shared: True if an essay that a version lacks is taken from the first one that has it.

    Raises:
        InputError: only one side has essays, or their ids differ; names file, line and id.
    """
    texts = [dict(zip(one.essays or {}, one.lines, strict=False)) for one in versions]
    return [
        version
        if version.essays is None and (source.essays is None or version.sources is not None)
        else _aligned(source, where, name, version, [own, *(texts if shared else ())])
        for name, version, own in zip(names, versions, texts, strict=True)
    ]


def _aligned(
    source: Version, where: str, name: str, version: Version, texts: Sequence[Mapping[str, str]]
) -> Version:
    """Return a version with the source's essays, each taken from the first texts that have it."""
    if source.essays is None or version.essays is None:
        essays, lines = (name, where) if source.essays is None else (where, name)
        raise InputError(
            f"{essays} has essays by id, and {lines} does not; expected both in one layout, "
            f"{_SHAPE}"
        )
    for essay, line in version.essays.items():
        if essay not in source.essays:
            raise InputError(
                f"{name}, line {line}: essay_id = {essay:.60} is not in {where}; expected its ids"
            )
    lines_of = []
    for essay, line in source.essays.items():
        text = next((of_one[essay] for of_one in texts if essay in of_one), None)
        if text is None:
            raise InputError(
                f"{name}: essay_id = {essay:.60} is missing, which {where} has in line {line}; "
                "expected every essay (one without changes is repeated)"
            )
        lines_of.append(text)
    borrowed = tuple(n for n, essay in enumerate(source.essays) if essay not in version.essays)
    return replace(version, lines=tuple(lines_of), essays=source.essays, borrowed=borrowed)
