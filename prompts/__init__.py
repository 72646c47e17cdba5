"""The wording of the LLM judges, as versioned text files, and the one place where it is rendered.

A file `NAME.vN.txt` opens with a head (`name`, `version`, `source`, `placeholders`) and holds the
wording below a line `---`. Changed wording takes a new number; a published version never changes.
Where a wording names the texts' language, version 1 is for English and version 2 for all others,
whose name fills `{{language}}`. Placeholders are `{{word}}`. What the head declares, what the text
holds and what a caller fills must be the same set, so that a criterion or a context cannot get
lost on the way.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CRITERIA", "Prompt", "PromptError", "criterion", "read"]

_FOLDER = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_HEAD = {"name", "version", "source", "placeholders"}

CRITERIA: Mapping[str, tuple[str, ...]] = {
    "edit": ("difficulty", "impact"),
    "sentence": ("grammaticality", "fluency", "meaning"),
}
"""The published criteria by the prompt that they were written for."""


class PromptError(ValueError):
    """A prompt file that cannot be used, or a rendering that does not fit it."""


@dataclass(frozen=True)
class Prompt:
    """One version of one wording.

    Attributes:
        name: `sentence`, `edit`, ...
        version: number of the wording.
        source: where it comes from.
        text: the wording with its placeholders.
        placeholders: their names.
        head: further entries of the head, such as `score_line`.
        digest: SHA-256 of the whole file, 16 hexadecimal digits.
    """

    name: str
    version: int
    source: str
    text: str
    placeholders: frozenset[str]
    head: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""

    @property
    def id(self) -> str:
        """Name, version and digest: `sentence.v1:0123456789abcdef`."""
        return f"{self.name}.v{self.version}:{self.digest}"

    def render(self, **values: str) -> str:
        """Fill every placeholder; a line that holds an empty placeholder alone is dropped.

        What is filled in is never searched for placeholders itself.

        Raises:
            PromptError: a placeholder is left unfilled, or a value has no placeholder.
        """
        if set(values) != self.placeholders:
            raise PromptError(
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


def read(name: str, version: int = 1, folder: str | Path | None = None) -> Prompt:
    """Read a prompt file.

    Args:
        name: as in the file name.
        version: number of the wording.
        folder: where the files lie; this package's own by default.

    Raises:
        PromptError: no such prompt, a head that is incomplete or names another prompt, or
            placeholders that are not those declared; names the file.
    """
    path = (_FOLDER if folder is None else Path(folder)) / f"{name}.v{version}.txt"
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise PromptError(f"{path}: the prompt cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: byte {error.start} is not UTF-8") from None
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    top, separator, body = text.partition("\n---\n")
    if not separator:
        raise PromptError(f"{path}: no line `---` between head and wording")
    head = dict(_head_line(path, number, line) for number, line in enumerate(top.split("\n"), 1))
    if missing := sorted(_HEAD - set(head)):
        raise PromptError(f"{path}: the head lacks {', '.join(missing)}")
    if (head["name"], head["version"]) != (name, str(version)):
        raise PromptError(f"{path}: the head calls it {head['name']}.v{head['version']}")
    declared = {part.strip() for part in head["placeholders"].split(",") if part.strip()}
    used = set(_PLACEHOLDER.findall(body))
    if declared != used:
        odd = sorted(declared - used), sorted(used - declared)
        raise PromptError(
            f"{path}: placeholders missing from the wording: {', '.join(odd[0]) or 'none'}; "
            f"not declared in the head: {', '.join(odd[1]) or 'none'}"
        )
    further = {key: value for key, value in head.items() if key not in _HEAD}
    source = head["source"]
    return Prompt(name, version, source, body.strip("\n"), frozenset(used), further, digest)


def criterion(name: str, folder: str | Path | None = None) -> Prompt:
    """The sentence that a criterion adds, e.g. `fluency`."""
    return read(f"criterion-{name}", folder=folder)


def _head_line(path: Path, number: int, line: str) -> tuple[str, str]:
    key, separator, value = line.partition(":")
    if not separator:
        raise PromptError(f"{path}, line {number}: expected `key: value` in the head")
    # One blank follows the colon; a score line may be indented further.
    return key.strip(), value.removeprefix(" ")
