"""Parse README and docs: their fenced blocks, and the command lines in them."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.shell import REPOSITORY

PAGES = [
    REPOSITORY / "README.md",
    REPOSITORY / "CONTRIBUTING.md",
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
Kind = Literal["shell", "python", "toml", "yaml", "text"]

_BEFORE = r"(?:\$ )?(?:\w+=\S+ )*(?:torchrun .*?-m |accelerate .*?-m |\.venv/bin/)?"
_PROGRAMS = (
    *("gecjury", "pip", "make", "bash", "source", "export", "echo", "python", "curl"),
    *("torchrun", "accelerate", "kubectl", "podman", "docker"),
)


@dataclass(frozen=True)
class Block:
    """One block of a page.

    Attributes:
        page: path relative to the repository.
        line: number of its first line, from 1; only for readers, since it changes with edits.
        kind: its content; `text` is anything that is not run.
        text: its lines without fences; every command is joined to one line.
        saved_as: the file name to save it as according to the page; empty otherwise.
    """

    page: str
    line: int
    kind: Kind
    text: str
    saved_as: str = ""

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """Return the command lines of a shell block without comments, each with its output."""
        lines = self.text.splitlines() if self.kind == "shell" else []
        prompted = any(line.startswith("$ ") for line in lines)
        found: list[tuple[str, list[str]]] = []
        for line in lines:
            if prompted and not line.startswith("$ "):
                found[-1][1].append(line)
            elif command := without_comment(line.removeprefix("$ ")):
                found.append((command, []))
        return found

    @property
    def commands(self) -> list[str]:
        """Return the command lines of a shell block."""
        return [command for command, _ in self.steps]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def without_comment(line: str) -> str:
    """Remove the comment of a command line: after `#`, or after a gap."""
    return re.split(r"(?:^|\s)#\s|\s{3,}", line.strip())[0].strip()


def blocks_of(path: Path) -> list[Block]:
    """Return every fenced block of a page and every indented one that contains commands."""
    page = path.relative_to(REPOSITORY).as_posix()
    found: list[Block] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        start = number
        if fence := re.match(r"\s*```(\w*)", lines[number]):
            number += 1
            while not lines[number].lstrip().startswith("```"):
                number += 1
            body = lines[start + 1 : number]
            said = re.search(
                r"[Ss]ave this as `([\w.]+)`", "".join(lines[max(start - 2, 0) : start])
            )
            found.append(_block(page, start + 2, fence[1], body, said[1] if said else ""))
        elif re.match(r"    (\$ )?gecjury ", lines[number]) and not lines[number - 1].strip():
            while number < len(lines) and lines[number].startswith("    "):
                number += 1
            found.append(_block(page, start + 1, "console", lines[start:number]))
        number += 1
    return found


def _block(page: str, line: int, language: str, lines: list[str], saved_as: str = "") -> Block:
    margin = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    lines = [s[margin:] for s in lines]
    text = "\n".join(lines)
    if language in ("python", "toml", "yaml"):
        kind: Kind = "python" if language == "python" else "toml" if language == "toml" else "yaml"
        return Block(page, line, kind, text, saved_as)
    starts = rf"(\$ )?(?:\w+=\S+ )*({'|'.join(_PROGRAMS)})(\s|$)"
    if not (language in ("console", "sh", "bash") or any(re.match(starts, s) for s in lines)):
        return Block(page, line, "text", text)
    return Block(page, line, "shell", re.sub(r" *\\\n\s*", " ", text))


def command_lines(text: str) -> Iterator[str]:
    """Yield whole command lines of gecjury from fenced or indented blocks and after prompts."""
    fenced = False
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        fenced ^= line.startswith("```")
        found = re.match(rf"\s*{_BEFORE}gecjury ([a-z].*)", line)
        if found and (fenced or line.startswith("    ")):
            yield found[1]


def variants(line: str) -> Iterator[list[str]]:
    """Yield a line as words, once per alternative (`a|b`), without explanations and placeholders.

    Words after a redirection (`>`) belong to the shell.
    """
    # Brackets mark optional parts, but within quotation marks they belong to a metric.
    line = re.sub(r"('[^']*')|[\[\]]", r"\1", without_comment(line))
    typed = itertools.takewhile(lambda word: word != ">", shlex.split(line))
    words = [word for word in typed if word not in ("...", "…", "=")]
    choices = [word.split("|") if re.fullmatch(r"\w+(\|\w+)+", word) else [word] for word in words]
    for chosen in itertools.product(*choices):
        yield list(chosen)
