"""The folder of an input, the valid files written into it, and their corruption."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import fixtures
from tests.fuzz.mutate import Mutator, dumps

FORMATS = ("table", "table", "json", "tsv", "markdown", "latex")
QUICK = (
    "gleu", "gleu", "green", "changes", "gleu-official", "errant", "cleme", "cleme2", "i-measure",
    "gotoscorer", "sent-errant", "green:unit=char",
)  # fmt: skip


@dataclass(frozen=True)
class Seed:
    """A valid file.

    Attributes:
        data: bytes, or the values that JSON forms are written from.
        form: `text`, `table` (cells separated by `separator`), `json`, `jsonl`, `flat` or `keep`.
        separator: the separator of cells in a table.
        paths: whether the strings of a JSON value name files.
    """

    data: Any
    form: str = "text"
    separator: str = ""
    paths: bool = False

    def plain(self) -> bytes:
        if self.form == "json":
            return dumps(self.data)
        if self.form == "jsonl":
            return b"".join(dumps(row) + b"\n" for row in self.data)
        return bytes(self.data)


@dataclass
class Case:
    """A command line with everything needed to judge its outcome.

    Attributes:
        argv: the arguments.
        stdin: the contents of standard input.
        silent: whether it may succeed without printing anything.
        verbatim: whether standard output repeats texts unchanged (M2, sentences).
        unusable: why an exit status of 0 would be wrong; empty if it would not.
        strays: whether the arguments themselves name paths elsewhere.
        unasked: a server that must not get any request.
        out: the state of standard output, `full` or `closed`; usable if empty.
    """

    argv: list[str]
    stdin: bytes = b""
    silent: bool = False
    verbatim: bool = False
    unusable: str = ""
    strays: bool = False
    unasked: Any = None
    out: str = ""


class Shelf:
    """Models, servers and other fixtures that are created once per process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._servers: dict[str, Any] = {}

    def models(self) -> Path:
        """Return a folder with `some`, `impara`, `encoder`, `language` and `detector`."""

        def make(folder: Path) -> None:
            import torch

            torch.set_num_threads(1)
            fixtures.make_models(folder)

        return self._made("models", make)

    def results(self) -> Path:
        """Return the finished results folder of a dataset, next to the dataset."""
        from gecjury.cli import main

        data = self.folder / "rows.jsonl"
        if not data.exists():
            data.write_bytes(b"".join(dumps(row) + b"\n" for row in fixtures.DATASET))

        def make(folder: Path) -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                main([*fixtures.dataset_words(data), "-o", str(folder), "--quiet"])

        return self._made("results", make)

    def answers(self, task: str) -> Mapping[str, bytes]:
        """Return the files of `annotate` after the answers of two annotators, by name."""

        def make(folder: Path) -> None:
            folder.mkdir()
            for name, seed in texts().items():
                (folder / name).write_bytes(seed.plain())
            here = Path.cwd()
            os.chdir(folder)  # paths in the table are relative to it
            try:
                fixtures.make_answers(task)
            finally:
                os.chdir(here)

        folder = self._made(f"answers-{task}", make)
        names = ("j.answers.jsonl", "j.csv", "j.toml")
        return {name: (folder / name).read_bytes() for name in names}

    def _made(self, name: str, make: Callable[[Path], None]) -> Path:
        """Return a folder of the shelf; create it atomically if it does not exist."""
        made = self.folder / name
        if not made.is_dir():
            begun = self.folder / "begun"
            shutil.rmtree(begun, ignore_errors=True)
            make(begun)
            begun.rename(made)
        return made

    def hasten(self) -> None:
        """Divide the waits of a judge between tries by a thousand."""
        from gecjury.judges.backends import openai

        if "backoff" not in self._servers:
            plain = self._servers["backoff"] = openai.backoff

            def backoff(attempt: int, asked: float | None, source: Random) -> float:
                return plain(attempt, asked, source) / 1000

            openai.backoff = backoff

    def server(self, name: str) -> Any:
        """Return a hostile server by name, `judge` or `files`."""
        if name not in self._servers:
            from tests.fuzz import servers

            self._servers[name] = servers.SERVERS[name]()
        return self._servers[name]


@dataclass
class Box:
    """The folder of an input, with the random generator that decides its contents."""

    folder: Path
    rng: Random
    shelf: Shelf
    spoiled: list[str] = field(default_factory=list)
    broken: str = ""

    @property
    def mutate(self) -> Mutator:
        return Mutator(self.rng)

    def put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def lay(self, seeds: Mapping[str, Seed], likely: tuple[str, ...] = (), most: int = 2) -> None:
        """Write files and corrupt some of them; one of 20 inputs stays valid."""
        names = list(seeds)
        roll = self.rng.random()
        count = 0 if roll < 0.05 else 1 if roll < 0.85 else min(most, len(names))
        chosen = set(self.rng.sample(names, count))
        if count and likely and self.rng.random() < 0.8:
            chosen = {self.rng.choice(likely)}
        for name, seed in seeds.items():
            data = seed.plain()
            if name not in chosen:
                self.put(name, data)
                continue
            self.spoiled.append(name)
            if self.rng.random() < 0.02:
                self._special(name, data)
                continue
            data = self.spoil(seed)
            self.put(name, data)
            self._note(name, seed, data)

    def spoil(self, seed: Seed) -> bytes:
        change, roll = self.mutate, self.rng.random()
        if seed.form == "json":
            return change.document(seed.data, seed.paths)
        if seed.form == "jsonl":
            if roll < 0.6:
                rows = list(seed.data)
                at = self.rng.randrange(len(rows))
                lines = [dumps(row) for row in rows]
                lines[at] = change.document(rows[at], seed.paths)
                return b"\n".join(lines) + b"\n"
            return change.lines(seed.plain()) if roll < 0.8 else change.flat(seed.plain())
        if seed.form == "flat":
            return change.flat(seed.data)
        return change.lines(seed.data, seed.separator) if roll < 0.65 else change.flat(seed.data)

    def _note(self, name: str, seed: Seed, data: bytes) -> None:
        """Record why a file is unusable, if that is clear without the tested program."""
        if data[:2] == b"\x1f\x8b":
            return
        try:
            body = data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            if seed.form not in ("flat", "keep"):
                self.broken = f"{name} is not UTF-8"
            return
        if seed.form == "json":
            try:
                json.loads(body)
            except (ValueError, RecursionError):
                self.broken = f"{name} is not JSON"
        elif name.endswith(".toml"):
            try:
                tomllib.loads(body.replace("\r\n", "\n"))
            except (ValueError, RecursionError):
                self.broken = f"{name} is not TOML"
        elif not body:
            self.broken = f"{name} is empty"

    def unless(self, *unused: str) -> str:
        """Return why the files are unusable, except those that the command does not read."""
        return "" if self.broken.startswith(unused) else self.broken

    def _special(self, name: str, data: bytes) -> None:
        """Put something that is not a regular file at the path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        kind = self.rng.randrange(7)
        self.broken = f"{name} is not a file"
        if kind == 0:
            path.mkdir()
        elif kind == 1:
            os.mkfifo(path)
        elif kind == 2:
            path.symlink_to(path.name)
        elif kind == 3:
            path.symlink_to("/proc/self/mem")
        elif kind == 4 and self.rng.random() < 0.2:
            path.symlink_to("/dev/zero")
        elif kind == 5:
            path.symlink_to("nowhere")
        else:
            self.broken = f"{name} is absent"

    def gecjury(self, argv: list[str]) -> None:
        """Run a valid command line first, for the files that it writes."""
        from gecjury.cli import main

        here = Path.cwd()
        os.chdir(self.folder)
        plain = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        try:
            main(argv)
        finally:
            sys.stdout, sys.stderr = plain
            os.chdir(here)

    def tail(self, *more: str) -> list[str]:
        """Return options that commands share."""
        return [*more, "--format", self.rng.choice(FORMATS), "--cache", "cache", "--quiet"]

    def metric(self, count: int = 1) -> list[str]:
        return [word for name in self.rng.sample(QUICK, count) for word in ("-m", name)]


def texts() -> dict[str, Seed]:
    """Return a source, two corrections and a reference."""
    return {
        "source.txt": Seed(fixtures.text(fixtures.SOURCE)),
        "a.txt": Seed(fixtures.text(fixtures.A)),
        "b.txt": Seed(fixtures.text(fixtures.B)),
        "ref.txt": Seed(fixtures.text(fixtures.REF)),
    }


def own_benchmark(**more: Seed) -> dict[str, Seed]:
    """Return the files of a user-defined benchmark."""
    return {
        "own/source.txt": Seed(fixtures.text(fixtures.SOURCE)),
        "own/outputs/a.txt": Seed(fixtures.text(fixtures.A)),
        "own/outputs/b.txt": Seed(fixtures.text(fixtures.B)),
        "own/outputs/c.txt": Seed(fixtures.text(fixtures.C)),
        "own/references/ref.txt": Seed(fixtures.text(fixtures.REF)),
        **more,
    }


def as_argument(word: str) -> str:
    """Return a word as a process receives it: no NUL, and invalid UTF-8 as surrogate escapes."""
    word = word.replace("\0", "")
    return word.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
