"""An annotation study: what is judged, by whom, and the answers so far."""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_bytes, read_text
from gecjury.core.wording import as_note
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.files.rows import check_system_name
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.remarks import remarks_on
from gecjury.scoring.registry import load_all
from gecjury.studies.study import Work
from gecjury.web import Annotation, AnnotationTask
from gecjury.web.answers import Journal, StudyHead, file_mark
from gecjury.web.choosing import Chooser, chooser
from gecjury.web.guards import changed, new_token
from gecjury.web.tasks import Item, task_items

_LONGEST_NAME = 60
_TABLE_HEAD = "# Written by gecjury annotate, for gecjury compare."


def annotator_name(text: str) -> str:
    """Return an annotator's name as it is written into files.

    Raises:
        OptionError: it is empty, too long, or a table or spreadsheet would not read it as a name.
    """
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name:
        raise OptionError("the name is empty; give one, such as anna")
    if len(name) > _LONGEST_NAME:
        raise OptionError(f"the name has {len(name)} characters; expected at most {_LONGEST_NAME}")
    if not name.isprintable() or name[0] in "=+-@":
        raise OptionError(
            f"{name!r}: is not a valid name (it has control characters, or starts with a character "
            "that makes it a formula in spreadsheets)"
        )
    return name


class Watched:
    """Files that must not change while they are judged."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Remember the files as they are."""
        self._seen = {path: (file_mark(path), _digest(path)) for path in paths}

    def check(self) -> None:
        """Refuse to continue if the content of a file has changed; a new time does not matter.

        Raises:
            Refused: a file has changed; the message names it.
        """
        for path, (mark, digest) in self._seen.items():
            now = file_mark(path)
            if now == mark:
                continue
            if now is None or _digest(path) != digest:
                raise changed(path, "Restore the file, or start with another -o")
            self._seen[path] = now, digest


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


@dataclass
class AnnotationStudy:
    """An annotation study: its items, annotators and answers so far.

    Attributes:
        settings: what is asked, of whom and how.
        watched: files that must not change.
        command: the command that evaluates the results, shown on the page; empty for none.
    """

    corpus: Corpus
    settings: Annotation
    items: Sequence[Item]
    journal: Journal
    chooser: Chooser
    watched: Watched
    command: str

    def __post_init__(self) -> None:
        self.by_name = {item.id: item for item in self.items}
        self.token = new_token()
        self.sources: Sequence[str] = self.corpus.as_text().sources
        self._shown: dict[str, str] = {}

    def next_item(self, name: str) -> Item | None:
        """Return an annotator's current item; None if all are answered or set aside.

        It stays the same until it is answered or set aside, even if the page is reloaded.
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
        """Make this item the annotator's next one."""
        self._shown[name] = item


def open_study(
    settings: Annotation,
    *,
    language: Language = ENGLISH,
    runtime: Runtime | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> AnnotationStudy:
    """Read the texts to judge and the existing answers.

    Args:
        settings: what is judged, and how.
        runtime: for metrics and edits.
        tell: called with messages for the user.

    Raises:
        OptionError: options cannot be combined.
        InputError: files cannot be used, or differ from those that the study was begun with.
        OutputError: another process writes the answers, or they cannot be written.
    """
    runtime = runtime or Runtime()
    task, output, target = settings.task, settings.output, Path(settings.output)
    if target.suffix != ".csv" or target.is_dir():
        raise OptionError(f"-o {output}: expected a .csv file, which `compare` can read")
    if settings.annotator is not None:
        settings = replace(settings, annotator=annotator_name(settings.annotator))
    scorers = load_all(list(settings.metrics)) if settings.metrics else []
    files = [Path(path) for path in (settings.source, *settings.outputs, *settings.references)]
    for path in files:
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected a file that can be read again later")
        if path.resolve() == target.resolve():
            raise OptionError(f"-o {output}: is one of the files to judge; give another file")
    # Watched before they are read, so that no change in between is missed.
    watched = Watched(files)
    corpus = read_corpus(settings.source, settings.outputs, settings.references, lang=language)
    for remark in remarks_on(corpus, ("references",)):
        tell(as_note(remark))
    language = corpus.language
    for system in corpus.names:
        check_system_name(system)
    items = task_items(corpus, settings, runtime)
    work = Work(corpus, tuple(scorers), runtime) if scorers else None
    choice = chooser(settings, items, corpus, work)
    # Only the settings that change the meaning of earlier answers.
    head = StudyHead(
        task=task,
        seed=settings.seed,
        language="-".join((language.code, language.tokens, language.fold)),
        source=corpus.source_print,
        systems=corpus.system_prints,
    )
    # Opened last, so that other errors leave the answers untouched.
    journal = Journal(target, head, tell)
    try:
        command = _write_table(target, task, files, len(settings.outputs), language, tell)
    except BaseException:
        journal.close()
        raise
    return AnnotationStudy(corpus, settings, items, journal, choice, watched, command)


def _language_values(language: Language) -> dict[str, str]:
    """Return the language of texts as a table of a benchmark has it."""
    # `auto:en` is what `auto` means for these texts.
    tokens, fold = (
        how.partition(":")[0] if how.startswith("auto:") else how
        for how in (language.tokens, language.fold)
    )
    return {"language": language.code, "tokens": tokens, "fold": fold}


def _write_table(
    target: Path,
    task: AnnotationTask,
    files: Sequence[Path],
    outputs: int,
    language: Language,
    tell: Callable[[str], None],
) -> str:
    """Write the table with which `compare` finds texts and judgments, and return the command.

    A table that is there already is left as it is.
    """
    table = target.with_suffix(".toml")
    named = [_named(path, table.parent) for path in files]
    source, systems, references = named[0], named[1 : 1 + outputs], named[1 + outputs :]
    # A built-in benchmark of the same name would take precedence over the table.
    name = f"{target.stem} (own)" if target.stem in BENCHMARKS else target.stem
    values = {
        "name": name,
        "source": source,
        "outputs": systems,
        **({"references": references} if references else {}),
        "verdicts" if task == "edits" else "judgments": target.name,
    }
    if language != ENGLISH:
        values |= _language_values(language)
    # JSON strings and lists of strings are valid TOML, except that TOML requires DEL to be escaped.
    lines = [f"{k} = {json.dumps(v, ensure_ascii=False)}" for k, v in values.items()]
    text = "\n".join((_TABLE_HEAD, *lines, "")).replace("\x7f", "\\u007f")
    if not table.exists():
        write_text(table, text)
    elif read_text(table) != text:
        tell(f"{table} is left as it is: check whether it names {target.name} and the same texts")
        return ""
    return f"gecjury compare {table.name} -m METRIC"


def _named(path: Path, folder: Path) -> str:
    """Return the path of a file relative to the folder of a table, so that both can be moved."""
    whole, root = os.path.abspath(path), os.path.abspath(folder)  # noqa: PTH100  # links are kept
    try:
        if os.path.commonpath([whole, root]) != root:
            # The system resolves symbolic links to folders before it applies `..`.
            whole = str(Path(whole).parent.resolve() / Path(whole).name)
            root = str(Path(root).resolve())
        return Path(os.path.relpath(whole, root)).as_posix()
    except ValueError:  # another drive of Windows
        return whole
