"""The user's own prompts and criteria: read from files, and checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from gecjury.core.errors import InputError, OptionError, nearest_of
from gecjury.core.textfiles import read_text
from gecjury.prompts import Prompt, criterion, own_criterion, parse, placeholders_of

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
# Limit on a user's file; our longest prompt has two thousand bytes.
_MOST_BYTES = 1_000_000


def read_own(path: str, needs: Collection[str], may: Collection[str], judge: str) -> Prompt:
    """Read a user's own prompt, which has the form of the built-in ones.

    Args:
        path: path of the file.
        needs: placeholders that its wording must have.
        may: placeholders that its wording may have.
        judge: name of the judge with its protocol, for errors.

    Raises:
        InputError: the file cannot be read, has no valid head, or has other placeholders; names
            the line and the remedy.
    """
    text = read_text(path, most=_MOST_BYTES).replace("\r\n", "\n")
    remedy = f"start from `gecjury judgments prompt {judge}`"
    top, line_of_dashes, _ = text.partition("\n---\n")
    if not line_of_dashes:
        raise InputError(
            f"{path}, line 1: no head; expected name, version and placeholders, then a line ---: "
            f"{remedy}"
        )
    for number, line in enumerate(top.split("\n"), 1):
        if not re.match(r"[a-z_]+:", line):
            raise InputError(
                f"{path}, line {number}: {line!r:.60} in the head; expected `key: value`: {remedy}"
            )
    prompt = parse("", 0, text)
    name, version = (prompt.head.get(key, "").strip() for key in ("name", "version"))
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{path}: the name in its head is {name!r:.60}; expected up to 60 letters, digits, "
            "dots and hyphens, e.g. name: mine"
        )
    if not re.fullmatch(r"[1-9][0-9]{0,5}", version):
        raise InputError(
            f"{path}: the version in its head is {version!r:.60}; expected a whole number from 1, "
            "e.g. version: 1"
        )
    expected = f"{judge} needs {_braced(needs)} and may have {_braced(may)}: {remedy}"
    first_line = top.count("\n") + 3
    for number, line in enumerate(text.split("\n")[first_line - 1 :], first_line):
        if strange := [word for word in placeholders_of(line) if word not in {*needs, *may}]:
            raise InputError(
                f"{path}, line {number}: unknown placeholder {_braced(strange[:1])}; {expected}"
            )
    if missing := sorted(set(needs) - prompt.placeholders):
        raise InputError(f"{path}: lacks {_braced(missing)}; {expected}")
    declared = {part.strip() for part in prompt.head.get("placeholders", "").split(",")} - {""}
    if declared != prompt.placeholders:
        raise InputError(
            f"{path}: its head declares the placeholders {', '.join(sorted(declared)) or '(none)'} "
            f"and its wording has {', '.join(sorted(prompt.placeholders))}; make them the same"
        )
    if "scores" in needs and "{{number}}" not in prompt.head.get("score_line", ""):
        raise InputError(
            f"{path}: its head has no score_line with {{{{number}}}}, which fills {{{{scores}}}}: "
            f"{remedy}"
        )
    return parse(name, int(version), text)


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names))


def read_criterion(judge: str, value: str, published: Sequence[str]) -> Prompt:
    """Return a criterion: a published one, the text of a file, or the user's own words.

    Args:
        judge: name of the judge, for errors.
        value: a name, a file, or a sentence.
        published: names of the criteria published for the prompt.

    Raises:
        OptionError: a single word or the name of a text file, but no published criterion or file.
        InputError: the file cannot be read, or is blank.
    """
    if value in published:
        return criterion(value)
    if _is_file(value):
        text = read_text(value, most=_MOST_BYTES).strip()
        if not text:
            raise InputError(f"{value}: the file is blank; expected a criterion in words")
        return own_criterion(text)
    # A misspelt name is reported, not used as the text of a criterion.
    if " " not in value.strip() or re.search(r"\.(txt|md)$", value):
        hint = nearest_of(value, published) if published else "none is published"
        raise OptionError(
            f"unknown criterion of {judge} {value!r:.60}: {hint}; or give a file, or a sentence "
            'such as "Judge how natural it sounds."'
        )
    return own_criterion(value.strip())


def _is_file(name: str) -> bool:
    """Return whether a text is the name of a file; one that is too long for a name is not."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False
