"""The wording of the LLM judges, as versioned text files, and the one place where it is rendered.

A file `NAME.vN.txt` opens with a head (`name`, `version`, `source`, `placeholders`) and holds the
wording below a line `---`. Changed wording takes a new number; a published version never changes.
Where a wording names the texts' language, version 1 is for English and version 2 for all others,
whose name fills `{{language}}`. Placeholders are `{{word}}`. What the head declares, what the text
holds (tests see to these two) and what a caller fills must be the same set, so that a criterion or
a context cannot get lost on the way. A user's own file has the same form and is checked when it is
read (`read_own`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.errors import InputError
from gecjury.textfiles import read_text

__all__ = ["CRITERIA", "Prompt", "criterion", "own_criterion", "prompt_text", "read", "read_own"]

_FOLDER = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")
# Of a file that a user names; the longest of ours has two thousand.
_MOST_BYTES = 1_000_000

CRITERIA: Mapping[str, tuple[str, ...]] = {
    "edit": ("difficulty", "impact"),
    "sentence": ("grammaticality", "fluency", "meaning"),
}
"""The published criteria by the prompt that they were written for."""


@dataclass(frozen=True)
class Prompt:
    """One version of one wording.

    Attributes:
        name: `sentence`, `edit`, ...
        version: number of the wording.
        text: the wording with its placeholders.
        placeholders: their names.
        head: what stands above the wording, such as its `source`.
        digest: SHA-256 of the whole file, 16 hexadecimal digits.
        added: the sentence of a criterion, for a prompt that has a place for it.
        language: the texts' in English, for a prompt that names it.
        reason: the request for a reason, which ends the prompt; None where none is asked for.
        examples: digest of the judged corrections that are shown before it; empty for none.
        parts: the order of its sections, such as `2+1+3`; empty for that of the file.
    """

    name: str
    version: int
    text: str
    placeholders: frozenset[str]
    head: Mapping[str, str]
    digest: str
    added: Prompt | None = None
    language: str = ""
    reason: Prompt | None = None
    examples: str = ""
    parts: str = ""

    @property
    def id(self) -> str:
        """Name, version and digest: `sentence.v1:0123456789abcdef`.

        Those of the criterion, of the request for a reason and of the examples follow, and the
        order of the sections, if any.
        """
        names = [f"{self.name}.v{self.version}:{self.digest}"]
        names += [part.id for part in (self.added, self.reason) if part]
        names += [f"examples:{self.examples}"] if self.examples else []
        names += [f"parts:{self.parts.replace('+', '-')}"] if self.parts else []
        return "+".join(names)

    def reordered(self, parts: str) -> Prompt:
        """Return the prompt with its sections in another order.

        Args:
            parts: their present numbers from 1, joined by `+`. A section begins with a line `# …`;
                what stands before the first one stays there.

        Raises:
            ValueError: it does not name each section once; says what the sections are.
        """
        first, *sections = (part.strip("\n") for part in re.split(r"\n(?=# )", self.text))
        numbers = [str(number) for number in range(1, len(sections) + 1)]
        order = parts.split("+")
        if sorted(order) != sorted(numbers):
            titles = (section.partition("\n")[0].partition("(")[0] for section in sections)
            listed = ", ".join(f"{n} {t.strip('# ')}" for n, t in enumerate(titles, 1))
            raise ValueError(
                f"expected the numbers of its sections in some order, joined by +: {listed}"
            )
        if order == numbers:
            return self
        text = "\n\n".join([first, *(sections[int(number) - 1] for number in order)])
        return replace(self, text=text, parts=parts)

    def render(self, **values: str) -> str:
        """Fill every placeholder; a line that holds an empty placeholder alone is dropped.

        Criterion and language come from the prompt itself. What is filled in is never searched for
        placeholders.

        Raises:
            ValueError: a placeholder is left unfilled, or a value has no placeholder.
        """
        usual = {"criterion": self.added.text if self.added else "", "language": self.language}
        values = {name: usual[name] for name in usual if name in self.placeholders} | values
        if set(values) != self.placeholders:
            raise ValueError(
                f"prompt {self.name}.v{self.version} has the placeholders "
                f"{', '.join(sorted(self.placeholders)) or '(none)'}, "
                f"but was given {', '.join(sorted(values)) or '(none)'}"
            )
        lines: list[str] = []
        for line in self.text.split("\n"):
            alone = _PLACEHOLDER.fullmatch(line)
            if alone is not None and not values[alone[1]]:
                continue
            lines.append(_PLACEHOLDER.sub(lambda match: values[match[1]], line))
        return "\n".join([*lines, *([self.reason.text] if self.reason else [])])


def read(name: str, version: int = 1) -> Prompt:
    """Read a prompt.

    Args:
        name: as in the file name.
        version: number of the wording.
    """
    return _parsed(name, version, prompt_text(name, version))


def prompt_text(name: str, version: int = 1) -> str:
    """Return the whole file of a prompt, head included; see `read`."""
    return (_FOLDER / f"{name}.v{version}.txt").read_bytes().decode("utf-8")


def _parsed(name: str, version: int, text: str) -> Prompt:
    top, _, body = text.partition("\n---\n")
    head = {}
    for line in top.split("\n"):
        key, _, value = line.partition(":")
        # One blank follows the colon; a score line may be indented further.
        head[key] = value.removeprefix(" ")
    placeholders = frozenset(_PLACEHOLDER.findall(body))
    return Prompt(name, version, body.strip("\n"), placeholders, head, _digest(text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_own(path: str, needs: Collection[str], may: Collection[str], judge: str) -> Prompt:
    """Read a prompt of the user's own, in the form of ours.

    Args:
        path: of the file.
        needs: placeholders that its wording must have.
        may: placeholders that its wording may have.
        judge: name of the judge with its protocol, for errors.

    Raises:
        InputError: it cannot be read, has no such head, or its placeholders are others; names the
            line and the remedy.
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
    prompt = _parsed("", 0, text)
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
        if strange := [one for one in _PLACEHOLDER.findall(line) if one not in {*needs, *may}]:
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
    return _parsed(name, int(version), text)


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in sorted(names))


def own_criterion(text: str) -> Prompt:
    """Return a criterion in the user's own words."""
    return Prompt("criterion-own", 1, text, frozenset(), {}, _digest(text))


def criterion(name: str) -> Prompt:
    """Return the sentence that a criterion adds, e.g. `fluency`."""
    return read(f"criterion-{name}")
