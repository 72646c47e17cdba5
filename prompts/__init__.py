"""The wording of the LLM judges, as versioned text files, and the one place where it is rendered.

A file `NAME.vN.txt` opens with a head (`name`, `version`, `source`, `placeholders`) and holds the
wording below a line `---`. Changed wording takes a new number; a published version never changes.
Where a wording names the texts' language, version 1 is for English and version 2 for all others,
whose name fills `{{language}}`. Placeholders are `{{word}}`. What the head declares, what the text
holds (tests see to these two) and what a caller fills must be the same set, so that a criterion or
a context cannot get lost on the way.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CRITERIA", "Prompt", "criterion", "read"]

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
    """

    name: str
    version: int
    text: str
    placeholders: frozenset[str]
    head: Mapping[str, str]
    digest: str
    added: Prompt | None = None
    language: str = ""

    @property
    def id(self) -> str:
        """Name, version and digest, the criterion's too: `sentence.v1:0123456789abcdef`."""
        added = f"+{self.added.id}" if self.added else ""
        return f"{self.name}.v{self.version}:{self.digest}{added}"

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
        return "\n".join(lines)


def read(name: str, version: int = 1) -> Prompt:
    """Read a prompt.

    Args:
        name: as in the file name.
        version: number of the wording.
    """
    text = (_FOLDER / f"{name}.v{version}.txt").read_bytes().decode("utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    top, _, body = text.partition("\n---\n")
    head = {}
    for line in top.split("\n"):
        key, _, value = line.partition(":")
        # One blank follows the colon; a score line may be indented further.
        head[key] = value.removeprefix(" ")
    placeholders = frozenset(_PLACEHOLDER.findall(body))
    return Prompt(name, version, body.strip("\n"), placeholders, head, digest)


def criterion(name: str) -> Prompt:
    """Return the sentence that a criterion adds, e.g. `fluency`."""
    return read(f"criterion-{name}")
