"""README and docs as a program reads them: their fenced blocks, and the command lines in them."""

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
    *("torchrun", "accelerate", "tensorboard", "kubectl", "podman", "docker"),
)


@dataclass(frozen=True)
class Block:
    """One block of a page.

    Attributes:
        page: path below the repository.
        line: number of its first line, from 1; only for a reader, since it moves.
        kind: what it holds; `text` is anything that nobody runs.
        text: its lines without fences; a command, however long, is on one.
        saved_as: the file that the page says to save it as; empty otherwise.
    """

    page: str
    line: int
    kind: Kind
    text: str
    saved_as: str = ""

    @property
    def steps(self) -> list[tuple[str, list[str]]]:
        """Command lines of a shell block without comments, each with the answer shown below it."""
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
        """The command lines of a shell block."""
        return [command for command, _ in self.steps]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def without_comment(line: str) -> str:
    """A command line without what is said about it: behind `#`, or behind a gap."""
    return re.split(r"(?:^|\s)#\s|\s{3,}", line.strip())[0].strip()


def blocks_of(path: Path) -> list[Block]:
    """Every fenced block of a page, and every indented one that holds commands."""
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
    """Whole command lines of gecjury: of blocks between fences or set in, and after a prompt."""
    fenced = False
    for line in re.sub(r" *\\\n\s*", " ", text).splitlines():
        fenced ^= line.startswith("```")
        found = re.match(rf"\s*{_BEFORE}gecjury ([a-z].*)", line)
        if found and (fenced or line.startswith("    ")):
            yield found[1]


def variants(line: str) -> Iterator[list[str]]:
    """A line as words: alternatives (`a|b`) one by one, explanations and placeholders left out.

    What stands behind a redirection (`>`) is the shell's.
    """
    # Brackets mark what is optional, but in quotation marks they are a metric's own.
    line = re.sub(r"('[^']*')|[\[\]]", r"\1", without_comment(line))
    typed = itertools.takewhile(lambda word: word != ">", shlex.split(line))
    words = [word for word in typed if word not in ("...", "…", "=")]
    choices = [word.split("|") if re.fullmatch(r"\w+(\|\w+)+", word) else [word] for word in words]
    for chosen in itertools.product(*choices):
        yield list(chosen)
