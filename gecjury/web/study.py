"""A study: what is judged, by whom, and what became of it so far."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.language import ENGLISH, Language
from gecjury.corpus.reading import read_corpus
from gecjury.errors import InputError, OptionError, OutputError
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load_all
from gecjury.studies.study import Work
from gecjury.textfiles import read_bytes, read_text, write_text
from gecjury.web import Annotation, Task
from gecjury.web.answers import Journal, StudyHead, file_mark
from gecjury.web.choosing import Chooser, chooser
from gecjury.web.guards import Refused, changed, new_token
from gecjury.web.tasks import Item, task_items

_LONGEST_NAME = 60

HELD_SECONDS = 15.0
"""How long a window keeps an annotator's name without a sign of life; its script gives one every
five seconds."""


def annotator_name(text: str) -> str:
    """Return an annotator's name as it is written into files.

    Raises:
        OptionError: empty, too long, or what a table or a spreadsheet would not take for a name.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise OptionError("the name is empty; give one, such as anna")
    if len(name) > _LONGEST_NAME:
        raise OptionError(f"the name has {len(name)} characters; expected at most {_LONGEST_NAME}")
    if not name.isprintable() or name[0] in "=+-@":
        raise OptionError(
            f"{name!r}: is no name (control characters, or a sign at its start that spreadsheets "
            "take for a formula)"
        )
    return name


class Watched:
    """Files that must not change while they are judged."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Remember the files as they are."""
        self._seen = {path: (file_mark(path), _digest(path)) for path in paths}

    def check(self) -> None:
        """Refuse to go on where a file is another one now; one that was only touched is the same.

        Raises:
            Refused: names the file.
        """
        for path, (mark, digest) in self._seen.items():
            now = file_mark(path)
            if now == mark:
                continue
            if now is None or _digest(path) != digest:
                raise changed(path, "Put back what it was, or begin with another -o")
            self._seen[path] = now, digest


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


@dataclass
class AnnotationStudy:
    """An annotation study: its items, annotators and answers so far.

    Attributes:
        corpus: the texts.
        settings: what is asked, of whom and how.
        items: all of them.
        journal: where answers are kept.
        chooser: which item comes next.
        watched: files that must not change.
        command: how the results are looked at, for the page; empty for none.
        clock: seconds, for what a window holds.
    """

    corpus: Corpus
    settings: Annotation
    items: Sequence[Item]
    journal: Journal
    chooser: Chooser
    watched: Watched
    command: str
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.by_name = {item.id: item for item in self.items}
        self.token = new_token()
        self.sources: Sequence[str] = self.corpus.as_text().sources
        # By annotator, the window that has the name, and when it last was heard of.
        self._holders: dict[str, tuple[str, float]] = {}
        self._shown: dict[str, str] = {}

    def hold(self, name: str, window: str, *, take: bool = False) -> None:
        """Let a window have a name, unless another one has it.

        Raises:
            Refused: another window is at work under that name, or took it over.
        """
        now = self.clock()
        # A window that was closed gives no sign of life, and lets the name go after a while.
        holder, seen = self._holders.get(name, (window, now))
        if holder != window and now - seen < HELD_SECONDS and not take:
            raise Refused(f"{name} is at work in another window", 409, "held")
        self._holders[name] = window, now

    def next_item(self, name: str) -> Item | None:
        """The item that an annotator is asked now; None where all are answered or set aside.

        The same one until it is answered or set aside: loading a page again changes nothing.
        """
        person = self.journal.person(name)
        done = person.answers.keys() | person.skipped.keys()
        shown = self._shown.get(name)
        if shown is not None and shown not in done:
            return self.by_name[shown]
        left = self.by_name.keys() - done
        if not left:
            return None
        people = {n: tuple(p.answers.values()) for n, p in self.journal.people.items()}
        self._shown[name] = self.chooser(name, left, people)
        return self.by_name[self._shown[name]]

    def show(self, name: str, item: str) -> None:
        """Ask an annotator this item next."""
        self._shown[name] = item


_OURS = ("references", "language", "tokens", "fold")
_TABLE_HEAD = "# Written by gecjury annotate, for gecjury compare.\n"


def open_study(
    settings: Annotation,
    *,
    language: Language = ENGLISH,
    runtime: Runtime | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> AnnotationStudy:
    """Read what is to be judged, and the answers that there are.

    Args:
        settings: what is judged, and how.
        language: of the texts.
        runtime: for metrics and edits.
        tell: is told what the user must know.

    Raises:
        OptionError: options that do not go together.
        InputError: files that cannot be used, or that are not those it was begun with.
        OutputError: another process writes the answers, or they cannot be written.
    """
    runtime = runtime or Runtime()
    task, output, target = settings.task, settings.output, Path(settings.output)
    if target.suffix != ".csv" or _is_folder(target, output):
        raise OptionError(f"-o {output}: expected a file that ends in .csv, which `compare` reads")
    if settings.annotator is not None:
        settings = replace(settings, annotator=annotator_name(settings.annotator))
    scorers = load_all(list(settings.metrics)) if settings.metrics else []
    files = [Path(path) for path in (settings.source, *settings.outputs, *settings.references)]
    for path in files:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a file, which is read again later")
        if path.resolve() == target.resolve():
            raise OptionError(f"-o {output}: is one of the files that are judged; give another")
    # Before they are read, so that no change in between is missed.
    watched = Watched(files)
    corpus = read_corpus(settings.source, settings.outputs, settings.references, language=language)
    for system in corpus.names:
        if not system.isprintable() or system != system.strip():
            raise InputError(f"system {system!r}: cannot stand in a table; rename its file")
    items = task_items(corpus, settings, runtime)
    work = Work(corpus, tuple(scorers), runtime) if scorers else None
    choice = chooser(settings, items, corpus, work)
    # What would make earlier answers mean something else, and nothing more.
    head = StudyHead(
        task=task,
        sets_of=settings.sets_of if task == "rank" else 1,
        edits="hidden" if settings.hide_edits else "marked",
        seed=settings.seed,
        language="-".join((language.code, language.tokens, language.fold)),
        source=corpus.source_print,
        systems=corpus.system_prints,
    )
    # Opened last: whatever else is wrong leaves the answers untouched.
    journal = Journal(target, head, tell)
    try:
        command = _write_table(target, task, files, len(settings.outputs), language, tell)
    except BaseException:
        journal.close()
        raise
    return AnnotationStudy(corpus, settings, items, journal, choice, watched, command)


def _is_folder(path: Path, output: str) -> bool:
    """Return whether a folder stands where judgments are to be written.

    Raises:
        OutputError: no file can be written there, since links lead in a circle.
    """
    try:
        return S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OutputError(
                f"-o {output}: cannot be written ({error.strerror}); remove the link, or give "
                "another file"
            ) from None
        return False


def _write_table(
    target: Path,
    task: Task,
    files: Sequence[Path],
    outputs: int,
    language: Language,
    tell: Callable[[str], None],
) -> str:
    """Write the table with which `compare` finds texts and judgments; gives the command.

    A table that somebody else wrote is left as it is.
    """
    table = target.with_suffix(".toml")
    named = [_named(path, table.parent) for path in files]
    source, systems, references = named[0], named[1 : 1 + outputs], named[1 + outputs :]
    # A benchmark of ours would hide a table of the same name.
    name = f"{target.stem} (own)" if target.stem in BENCHMARKS else target.stem
    values = {
        "name": name,
        "source": source,
        "outputs": systems,
        **({"references": references} if references else {}),
        "verdicts" if task == "edits" else "judgments": target.name,
    }
    if language != ENGLISH:
        values |= {"language": language.code, "tokens": language.tokens, "fold": language.fold}
    # JSON's strings and lists of strings are TOML's as well; DEL alone has to be escaped there.
    lines = [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in values.items()]
    lines = [line.replace("\x7f", "\\u007f") for line in lines]
    before = read_text(table) if table.exists() else _TABLE_HEAD
    if not before.startswith(_TABLE_HEAD):
        tell(f"{table} is not ours and is left as it is: see whether it names {target.name}")
        return ""
    # What was added by hand (verdicts, a citation) stays.
    more = [
        line
        for line in before.removeprefix(_TABLE_HEAD).splitlines()
        if line.partition("=")[0].strip() not in (*values, *_OURS)
    ]
    write_text(table, _TABLE_HEAD + "".join(f"{line}\n" for line in (*lines, *more)))
    return f"gecjury compare {table.name} -m METRIC"


def _named(path: Path, folder: Path) -> str:
    """Return a file as a table in a folder names it: from there, so that both can be moved."""
    whole, root = os.path.abspath(path), os.path.abspath(folder)  # noqa: PTH100  # links are kept
    try:
        if os.path.commonpath([whole, root]) != root:
            # The system resolves links of folders before it goes up by `..`.
            whole = str(Path(whole).parent.resolve() / Path(whole).name)
            root = str(Path(root).resolve())
        return Path(os.path.relpath(whole, root)).as_posix()
    except ValueError:  # another drive of Windows
        return whole
