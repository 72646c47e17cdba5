"""The form of a file of texts, told by its ending and its first lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from gecjury.core.errors import InputError
from gecjury.core.textfiles import MOST_JSON, shown_path
from gecjury.corpus.m2 import TARGET

JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
BINARY_ENDINGS = (".parquet", ".pq", ".xlsx")
_TABLES = (".csv", ".tsv", ".tab", *BINARY_ENDINGS)
LIKE_A_HEADER = re.compile(r"\s*#+\s*essay_id\b")


def looks_like_m2(lines: Sequence[str]) -> bool:
    """Return True if the content is M2: the first line is an S line, and A lines follow.

    A file whose blocks have no A line is M2 if it has S lines and blank lines only. A broken file
    is still M2, so that its reader can name the line at fault.
    """
    if not lines or not (lines[0] == "S" or lines[0].startswith("S ")):
        return False
    # A text may have a sentence that begins with "S ", but not edits or blank lines after it.
    head = lines[:200]
    if any(line.startswith("A ") and "|||" in line for line in head):
        return True
    blank = [not line.strip() for line in head]
    return any(blank) and all(
        empty or line == "S" or line.startswith("S ") or TARGET.match(line)
        for empty, line in zip(blank, head, strict=True)
    )


def looks_like_essays(lines: Sequence[str]) -> bool:
    """Return whether the first line that is not blank is a header of an essay."""
    first = next((line for line in lines if line.strip()), "")
    return bool(LIKE_A_HEADER.match(first))


def looks_like_matches(lines: Sequence[str]) -> bool:
    """Return True for the matches of a checker: JSON with their key.

    JSON lines of hypotheses, objects with `text` or `hypothesis`, are not matches.
    """
    if lines[0].lstrip()[:1] not in ("{", "["):
        return False
    if not any(re.search(r'"(?:matches|lints)"\s*:\s*\[', line) for line in lines[:1000]):
        return False
    first = json_or_none(lines[0])
    return not isinstance(first, dict) or not {"text", "hypothesis"} & first.keys()


def ending_of(path: str | Path) -> str:
    """Return a file's ending in lower case, without `.gz`."""
    return Path(str(path).removesuffix(".gz")).suffix.lower()


def form_of(path: str | Path, lines: Sequence[str]) -> Literal["", "lines", "list", "table"]:
    """Return the form of a file of texts: JSON lines, a JSON list, a table, or "" for plain text.

    The ending decides. Without one of these endings, a first line that is an object shows that the
    file is JSON lines. Other lines may be JSON by chance: `" Yes . "` and `[1]` are sentences, too.

    Raises:
        InputError: the file is one JSON list of texts, and its ending does not say so.
    """
    ending = ending_of(path)
    if ending in _TABLES:
        return "table"
    whole = None
    if lines[0].lstrip().startswith("[") and sum(map(len, lines)) <= MOST_JSON:
        whole = json_or_none("\n".join(lines))
    if isinstance(whole, list) and ending == ".json":
        return "list"
    if isinstance(whole, list) and whole and all(isinstance(value, str | dict) for value in whole):
        raise InputError(
            f"{shown_path(path)}: one JSON list; expected one value a line, e.g. `jq -c '.[]'`, "
            "or a file whose name ends in .json"
        )
    if ending in JSON_ENDINGS:
        return "lines"
    first = lines[0].lstrip()
    return "lines" if first.startswith("{") and isinstance(json_or_none(first), dict) else ""


# Python's lists and tuples of texts, and numpy's lists, which have only blanks between them.
_ELEMENT = r"""(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|None)"""
_ELEMENTS = re.compile(_ELEMENT, re.DOTALL)
_LIST = re.compile(
    rf"\[{_ELEMENT}(?:(?:\s*,\s*|\s+){_ELEMENT})*+,?\s*\]"
    rf"|\({_ELEMENT}\s*,(?:\s*{_ELEMENT}\s*,)*+(?:\s*{_ELEMENT}\s*)?\)",
    re.DOTALL,
)
_LIKE_LIST = re.compile(r"""\[+(?:np\.str_\()?['"].*['"]\)?\]+""", re.DOTALL)


def listed_texts(text: str) -> list[str | None] | None:
    """Return the texts of a list that was written as text, as CSV needs it; None for other text.

    A sentence of tokens in brackets, `[ " Yes . " ]`, is no list.

    Raises:
        InputError: it looks like such a list, and has another form.
    """
    text = text.strip()
    if text == "[]":
        return []
    if text[:2] not in ("['", '["', "[N", "[n", "[[", "('", '("'):
        return None
    values: object = json_or_none(text)
    if values is None and _LIST.fullmatch(text):
        try:
            values = [ast.literal_eval(found) for found in _ELEMENTS.findall(text)]
        except (SyntaxError, ValueError):  # unknown escapes, and null characters
            values = None
    if isinstance(values, list) and all(isinstance(value, str | None) for value in values):
        return values
    if _LIKE_LIST.fullmatch(text):
        raise InputError(
            f"{text!r:.60} looks like a list written as text; expected JSON or Python's form, "
            "[\"a\", 'b'], or JSON lines with a list"
        )
    return None


def json_or_none(text: str) -> object:
    """Return a JSON value; None for other text, and `{}` for JSON that its reader refuses."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):
        # Too much nesting, or too many digits.
        return {}
