"""The wording of the LLM judges, as versioned text files, and the one place where it is rendered.

A file `NAME.vN.txt` opens with a head (`name`, `version`, `source`, `placeholders`) and holds the
wording below a line `---`. Changed wording takes a new number; a published version never changes.
Where a wording names the texts' language, version 1 is for English and version 2 for all others,
whose name fills `{{language}}`. Placeholders are `{{word}}`. What the head declares, what the text
holds (tests see to these two) and what a caller fills must be the same set, so that a criterion or
a context cannot get lost on the way. A user's own file has the same form; the judges check it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = [
    "CRITERIA",
    "Prompt",
    "criterion",
    "own_criterion",
    "parse",
    "placeholders_of",
    "prompt_text",
    "read",
]

_FOLDER = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")

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
        sections: the order of its sections, such as `2+1+3`; empty for that of the file.
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
    sections: str = ""

    @property
    def id(self) -> str:
        """Name, version and digest: `sentence.v1:0123456789abcdef`.

        Those of the criterion, of the request for a reason and of the examples follow, and the
        order of the sections, if any.
        """
        names = [f"{self.name}.v{self.version}:{self.digest}"]
        names += [part.id for part in (self.added, self.reason) if part]
        names += [f"examples:{self.examples}"] if self.examples else []
        names += [f"sections:{self.sections.replace('+', '-')}"] if self.sections else []
        return "+".join(names)

    def reordered(self, sections: str) -> Prompt:
        """Return the prompt with its sections in another order.

        Args:
            sections: their present numbers from 1, joined by `+`. A section begins with a line
                `# …`; what stands before the first one stays there.

        Raises:
            ValueError: it does not name each section once; says what the sections are.
        """
        first, *parts = (part.strip("\n") for part in re.split(r"\n(?=# )", self.text))
        numbers = [str(number) for number in range(1, len(parts) + 1)]
        order = sections.split("+")
        if sorted(order) != sorted(numbers):
            titles = (part.partition("\n")[0].partition("(")[0] for part in parts)
            listed = ", ".join(f"{n} {t.strip('# ')}" for n, t in enumerate(titles, 1))
            raise ValueError(
                f"expected the numbers of its sections in some order, joined by +: {listed}"
            )
        if order == numbers:
            return self
        text = "\n\n".join([first, *(parts[int(number) - 1] for number in order)])
        return replace(self, text=text, sections=sections)

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
    return parse(name, version, prompt_text(name, version))


def prompt_text(name: str, version: int = 1) -> str:
    """Return the whole file of a prompt, head included; see `read`."""
    return (_FOLDER / f"{name}.v{version}.txt").read_bytes().decode("utf-8")


def parse(name: str, version: int, text: str) -> Prompt:
    """Return the prompt that a file's text holds."""
    top, _, body = text.partition("\n---\n")
    head = {}
    for line in top.split("\n"):
        key, _, value = line.partition(":")
        # One blank follows the colon; a score line may be indented further.
        head[key] = value.removeprefix(" ")
    placeholders = frozenset(placeholders_of(body))
    return Prompt(name, version, body.strip("\n"), placeholders, head, _digest(text))


def placeholders_of(text: str) -> list[str]:
    """Return the names of the placeholders in a text, in order."""
    return _PLACEHOLDER.findall(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def own_criterion(text: str) -> Prompt:
    """Return a criterion in the user's own words."""
    return Prompt("criterion-own", 1, text, frozenset(), {}, _digest(text))


def criterion(name: str) -> Prompt:
    """Return the sentence that a criterion adds, e.g. `fluency`."""
    return read(f"criterion-{name}")
