"""The user's own prompts, criteria and judged examples: read from files before anything is sent.

A file of examples has one judged correction per row. The columns depend on the answer that is asked
for:

- scores: `source`, `correction` and `score`, a whole number from 1 to 5;
- the better one of two: `source`, `first`, `second` and `better` (`A`, `B` or `tie`);
- validity: `source`, `correction` with one edit, and `valid` (`true` or `false`).

The column `reason` is required where reasons are asked for, and otherwise ignored.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, OptionError, nearest_of
from gecjury.core.textfiles import read_text
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.rows import Row, read_table
from gecjury.corpus.languages.language import Language
from gecjury.corpus.leakage import find_leaks
from gecjury.corpus.tokens import in_language
from gecjury.judges.replies.reply import REASON, REASON_CHARACTERS
from gecjury.prompts import (
    Prompt,
    criterion,
    own_criterion,
    parse,
    placeholders_of,
    prompt_text,
    with_parts,
)

SHORT = "short-grade"
"""Name of a packaged prompt that is half as long as that of `protocol=pointwise`."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
_KEPT = "prompts"  # folder beside the stores
# Limit on a user's file; our longest prompt has two thousand bytes.
_MOST_BYTES = 1_000_000


def read_own(path: str, ours: frozenset[str], judge: str, added: Prompt | None) -> Prompt:
    """Read a user's own prompt, which has the form of the built-in ones.

    Args:
        path: path of the file; or `short-grade`, a packaged prompt.
        ours: placeholders of the built-in prompt.
        judge: name of the judge with its protocol, for errors.

    Raises:
        InputError: the file cannot be read, has no valid head, or has other placeholders; names
            the line and the remedy.
        OptionError: it has no place for the added sentence of a criterion.
    """
    may = {"criterion", "language"} | ({"subject"} & ours)
    needs = ours - may
    text = prompt_text(SHORT) if path == SHORT else read_text(path, most=_MOST_BYTES)
    text = text.replace("\r\n", "\n")
    remedy = f"start from `gecjury judgments prompt {judge}`"
    prompt = _with_head(path, text, remedy)
    expected = f"{judge} needs {_braced(needs)} and may have {_braced(may)}: {remedy}"
    first_line = text.partition("\n---\n")[0].count("\n") + 3
    for number, line in enumerate(text.split("\n")[first_line - 1 :], first_line):
        if strange := [word for word in placeholders_of(line) if word not in {*needs, *may}]:
            raise InputError(
                f"{path}, line {number}: unknown placeholder {_braced(strange[:1])}; {expected}"
            )
    if missing := sorted(needs - prompt.placeholders):
        raise InputError(f"{path}: lacks {_braced(missing)}; {expected}")
    if "scores" in needs and "{{number}}" not in prompt.head.get("score_line", ""):
        raise InputError(
            f"{path}: its head has no score_line with {{{{number}}}}, which fills {{{{scores}}}}: "
            f"{remedy}"
        )
    if added and "criterion" not in prompt.placeholders:
        raise OptionError(
            f"{judge}: {path} has no place for a criterion; put {{{{criterion}}}} on its own line "
            "and criterion in its head, or leave the option out"
        )
    return replace(prompt, added=added)


def _with_head(path: str, text: str, remedy: str) -> Prompt:
    """Return a prompt with the name and version in its head."""
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
    head = parse("", 0, text).head
    name, version = (head.get(key, "").strip() for key in ("name", "version"))
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
    return parse(name, int(version), text)


def keep_own(path: str, folder: Path) -> None:
    """Keep a user's own prompt beside the replies, whose texts are read from it later.

    Args:
        path: see `read_own`; packaged prompts need no copy.
        folder: folder of the stores.

    Raises:
        OutputError: the copy cannot be written.
    """
    if path == SHORT:
        return
    text = read_text(path, most=_MOST_BYTES).replace("\r\n", "\n")
    copy = folder / _KEPT / f"{parse('', 0, text).digest}.txt"
    if not copy.exists():
        write_text(copy, text)


def kept_own(prompt_id: str, folder: Path) -> Prompt | None:
    """Return the prompt of an id that `keep_own` has kept; None if there is none.

    Args:
        prompt_id: an id as in `Prompt.id`.
        folder: folder of the stores.
    """
    own, *parts = prompt_id.split("+")
    name, _, digest = own.rpartition(":")
    name, _, version = name.rpartition(".v")
    file = folder / _KEPT / f"{digest}.txt"
    # Stores come from elsewhere: a digest is never a path.
    if not re.fullmatch("[0-9a-f]{16}", digest) or not version.isdecimal() or not file.is_file():
        return None
    prompt = parse(name, int(version), read_text(file, most=_MOST_BYTES))
    return with_parts(prompt, parts) if prompt.digest == digest else None


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
    # Unlike `Path.is_file`, this is False for a sentence that is too long for a name.
    if os.path.isfile(value):  # noqa: PTH113
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


VerdictColumn = Literal["score", "better", "valid"]
"""The column with the verdict."""

_SCORES: Mapping[VerdictColumn, tuple[Mapping[str, tuple[float, ...]], str]] = {
    # Spreadsheets and JSON write 4 as 4.0.
    "score": ({f"{n}{rest}": (float(n),) for n in range(1, 6) for rest in ("", ".0")},
              "a whole number from 1 to 5"),
    "better": ({"a": (1.0, 0.0), "b": (0.0, 1.0), "tie": (0.5, 0.5)}, "A, B or tie"),
    "valid": ({"true": (1.0,), "false": (0.0,)}, "true or false"),
}  # fmt: skip
_MOST = 1_000


@dataclass(frozen=True)
class Example:
    """A judged correction, or two that were compared.

    Attributes:
        line: line number in the file.
        scores: one per correction; 1 for an edit that is valid and 0 for one that is not.
        reason: reason for the verdict; empty where none was asked for.
    """

    line: int
    source: str
    texts: tuple[str, ...]
    scores: tuple[float, ...]
    reason: str = ""


@dataclass(frozen=True)
class Examples:
    """The judged corrections of a file.

    Attributes:
        rows: the judged corrections, in the order of the file.
    """

    path: str
    rows: tuple[Example, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is shown, 16 hexadecimal digits."""
        parts = (f"{(row.source, row.texts, row.scores, row.reason)!r}" for row in self.rows)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def corpus(self, language: Language) -> Corpus:
        """Return the sources with their corrections as systems, in tokens of the language."""
        columns = zip(*(row.texts for row in self.rows), strict=True)
        systems = {str(place): Version(texts) for place, texts in enumerate(columns)}
        return in_language(Corpus(tuple(row.source for row in self.rows), systems), language)

    def refuse_leaks(self, tested: Mapping[str, Sequence[str]]) -> None:
        """Refuse examples whose sentences are among those that are judged.

        Args:
            tested: sentences by role; case, blanks and the shape of quotation marks are ignored.

        Raises:
            InputError: names the lines.
        """
        texts = [(row.line, text) for row in self.rows for text in (row.source, *row.texts)]
        leaks = find_leaks([text for _, text in texts], tested)
        if leaks:
            lines = sorted({texts[leak.row][0] for leak in leaks})
            first = leaks[0]
            raise InputError(
                f"{self.path}, {named_lines(lines)}: sentences that are to be judged, e.g. "
                f"{first.where}, line {first.line + 1}; a judge that was shown their verdicts "
                f"cannot be tested on them: remove {'these' if len(lines) > 1 else 'this'}"
            )


def read_examples(path: str, verdict: VerdictColumn, *, reasons: bool = False) -> Examples:
    """Read a CSV, TSV or JSON-lines file of judged corrections; see the module for its columns.

    Args:
        verdict: the verdict column to read.
        reasons: whether each row must have a reason.

    Raises:
        InputError: a column is missing, a cell cannot be used, or there are no rows or more than
            1,000; names the line and what is expected.
    """
    needed = ("source", *_texts_of(verdict), verdict, *([REASON] if reasons else []))
    expected = f"the columns {', '.join(needed)}"
    table = read_table(path, expected, texts=True)
    if lacking := [column for column in needed if column not in table.columns]:
        raise InputError(
            f"{path}, line 1: no column {lacking[0]!r} among {', '.join(table.columns):.300}; "
            f"expected {expected}"
        )
    if not 1 <= len(table.rows) <= _MOST:
        raise InputError(f"{path}: {len(table.rows)} examples; expected 1 to {_MOST:,}")
    return Examples(path, tuple(_example(row, verdict, reasons) for row in table.rows))


def _example(row: Row, verdict: VerdictColumn, reasons: bool) -> Example:
    source = _sentence(row, "source")
    texts = tuple(_sentence(row, column) for column in _texts_of(verdict))
    if len(set(texts)) < len(texts):
        raise InputError(
            f"{row.table}, line {row.line}: first and second are the same text; expected two "
            "corrections that differ"
        )
    reason = row.text(REASON) if reasons else ""
    if reasons and not 0 < len(reason) <= REASON_CHARACTERS:
        # The text itself may be a learner's, which no error shows.
        raise InputError(
            f"{row.place(REASON)}: {len(reason)} characters; expected 1 to {REASON_CHARACTERS}, "
            "as reason=true asks for"
        )
    values, expected = _SCORES[verdict]
    if (word := row.text(verdict).lower()) not in values:
        row.refuse(verdict, expected)
    return Example(row.line, source, texts, values[word], reason)


def _texts_of(verdict: VerdictColumn) -> tuple[str, ...]:
    return ("first", "second") if verdict == "better" else ("correction",)


def _sentence(row: Row, column: str) -> str:
    text = " ".join(row.text(column).split())
    if not text:
        row.refuse(column, "a sentence")
    return text
