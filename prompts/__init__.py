"""The prompts of the LLM judges, as versioned text files, and the code that renders them.

A file `NAME.vN.txt` begins with a head (`name`, `version`, `source`, `placeholders`), followed by a
line `---` and the wording. Changed wording gets a new number; a published version never changes. If
a wording names the texts' language, version 1 is for English and version 2 for all others, whose
name fills `{{language}}`. Placeholders are written `{{word}}`. The placeholders that the head
declares, those in the text (tests compare these two) and those that a caller fills must be the same
set, so that a criterion or a context cannot get lost on the way. A user's own file has the same
form; the judges check it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
# A placeholder that fills its line, with the line break before it; or any other placeholder.
_SLOT = re.compile(r"\n\{\{([a-z_]+)\}\}(?=\n)|\{\{([a-z_]+)\}\}")
_ID = re.compile(r"([a-z]+(?:-[a-z]+)*)\.v([0-9]{1,6}):([0-9a-f]{16})")

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
        head: the fields above the wording, such as its `source`.
        digest: SHA-256 of the whole file, 16 hexadecimal digits.
        added: the sentence of a criterion, for a prompt that has a place for it.
        language: English name of the texts' language, for a prompt that names it.
        reason: the request for a reason, which ends the prompt; None if none is requested.
        examples: digest of the judged corrections that are shown before it; empty for none.
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

    @property
    def id(self) -> str:
        """Name, version and digest: `sentence.v1:0123456789abcdef`.

        If present, the ids of the criterion and of the request for a reason, and the digest of the
        examples follow.
        """
        names = [f"{self.name}.v{self.version}:{self.digest}"]
        names += [part.id for part in (self.added, self.reason) if part]
        names += [f"examples:{self.examples}"] if self.examples else []
        return "+".join(names)

    def render(self, **values: str) -> str:
        """Fill every placeholder; a line with nothing but an empty placeholder is dropped.

        Criterion and language come from the prompt itself. Filled-in values are never searched for
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
        return self._filled(values)

    def unrender(self, text: str) -> dict[str, str]:
        """Return the values that `render` filled in.

        The words between placeholders are searched from the left, so that the time grows linearly
        with the text. A value that fills a line may contain anything, as long as there is only one
        way to read the text; a value within a line has no line break.

        Args:
            text: a rendered prompt.

        Returns:
            A value for every placeholder, including those of criterion and language; `render`
            turns them into the same text.

        Raises:
            ValueError: the text is not this prompt, or can be read in several ways.
        """
        strange = f"not the prompt {self.name}.v{self.version}"
        # Every line begins with a line break, which is dropped with a line that `render` drops.
        wording, whole = self._lines, f"\n{text}\n"
        slots = list(_SLOT.finditer(wording))
        names = [slot[1] or slot[2] for slot in slots]
        values: dict[str, str] = {}
        at = done = 0  # how far text and wording are read
        words = ""  # words of the wording after the open value
        opened = -1  # its slot; none at the beginning and after a value that is known already
        last: tuple[str, int, int] | None = None  # the words before it, and where they may begin
        for number, slot in enumerate((*slots, None)):
            words += wording[done : slot.start() if slot else len(wording)]
            done = slot.end() if slot else done
            if slot and names[number] in values:
                words += _in_slot(slot, values[names[number]])
                continue
            # A placeholder that fills its line is followed by a line break, as its value is.
            closing = words + ("\n" if slot and slot[1] else "")
            start = whole.find(closing, at) if slot else max(at, len(whole) - len(words))
            if start < 0 or (opened < 0 and start > at):
                raise ValueError(strange)
            if opened >= 0:
                value, fills_line = whole[at:start], slots[opened][1] is not None
                # In another reading of the text, the words before this value would begin later.
                if last and whole.find(last[0], last[1] + 1, min(start + fills_line, last[2])) >= 0:
                    raise ValueError(f"{self.name}.v{self.version} can be read in several ways")
                values[names[opened]] = value[1:] if fills_line else value
                # A value within a line ends with it. One that occurs twice fits no other reading.
                reach = len(whole) if fills_line else whole.find("\n", at) + len(closing)
                last = (closing, start, reach) if names.count(names[opened]) == 1 else None
            at, words, opened = start + len(words), "", number
            if slot and names[number] in values:  # the value just read occurs here again
                words, opened, last = _in_slot(slot, values[names[number]]), -1, None
        if set(values) != self.placeholders or self._filled(values) != text:
            raise ValueError(strange)
        return values

    def _filled(self, values: Mapping[str, str]) -> str:
        return _SLOT.sub(lambda slot: _in_slot(slot, values[slot[1] or slot[2]]), self._lines)[1:-1]

    @property
    def _lines(self) -> str:
        """The wording with the request for a reason; every line begins with a line break."""
        return "\n".join(["", self.text, *([self.reason.text] if self.reason else []), ""])


def _in_slot(slot: re.Match[str], value: str) -> str:
    """Return a value with the line break of its line, which is dropped with an empty value."""
    return f"\n{value}" if slot[1] and value else value


def has(name: str, version: int) -> bool:
    """Return whether a version of a prompt is packaged."""
    return (_FOLDER / f"{name}.v{version}.txt").is_file()


def read(name: str, version: int = 1) -> Prompt:
    """Read a prompt.

    Args:
        version: number of the wording.
    """
    return parse(name, version, prompt_text(name, version))


def prompt_text(name: str, version: int = 1) -> str:
    """Return the whole file of a prompt, head included; see `read`."""
    return (_FOLDER / f"{name}.v{version}.txt").read_bytes().decode("utf-8")


def parse(name: str, version: int, text: str) -> Prompt:
    """Return the prompt in a file's text."""
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


def packaged(prompt_id: str) -> Prompt | None:
    """Return the packaged prompt of an `id`, with its criterion if that is packaged, too.

    Args:
        prompt_id: an id as in `Prompt.id`; other parts after a `+` are skipped.

    Returns:
        None if no prompt of that name, version and digest is packaged.
    """
    name, *more = prompt_id.split("+")
    prompt = _read_id(name)
    return None if prompt is None else with_parts(prompt, more)


def with_parts(prompt: Prompt, parts: Iterable[str]) -> Prompt:
    """Return a prompt with the packaged criterion and request for a reason that its id names.

    Args:
        prompt: the prompt without them.
        parts: the parts of an id after the first; other parts are skipped.
    """
    for part in parts:
        added = _read_id(part)
        if added and added.name.startswith("criterion-"):
            prompt = replace(prompt, added=added)
        elif added and added.name == "reason":
            prompt = replace(prompt, reason=added)
    return prompt


def _read_id(part: str) -> Prompt | None:
    # Stores come from elsewhere: a name is a name, never a path.
    match = _ID.fullmatch(part)
    if match is None or not has(match[1], int(match[2])):
        return None
    prompt = read(match[1], int(match[2]))
    return prompt if prompt.digest == match[3] else None


def criterion(name: str) -> Prompt:
    """Return the sentence that a criterion adds, e.g. `fluency`."""
    return read(f"criterion-{name}")
