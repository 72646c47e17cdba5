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
from collections.abc import Sequence

from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Version
from gecjury.corpus.files.aligned import ESSAY
from gecjury.corpus.files.forms import LIKE_A_HEADER

_HEADER = re.compile(r"### essay_id = (\S.*?)\s*")
_SHAPE = "`### essay_id = ID` on a line above each essay"


def parse_essays(lines: Sequence[str], where: str) -> Version:
    """Read essays; they are returned in the order of their ids, not of the file.

    Args:
        where: the file, for messages.

    Raises:
        InputError: a header is malformed, an id occurs twice, or an essay is empty; names the line.
    """
    starts: dict[str, int] = {}
    texts: dict[str, list[str]] = {}
    essay = ""
    for number, line in enumerate(lines, 1):
        header = _HEADER.fullmatch(line)
        if header is None and LIKE_A_HEADER.match(line):
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
        ids={essay: starts[essay] for essay in order},
        key=ESSAY,
    )
