"""Readers of a user's files: sources, hypotheses, matches, references and gold edits.

Example:
    >>> import pathlib, tempfile
    >>> from gecjury import read_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in ("source", "He go ."), ("mine", "He goes ."):
    ...         _ = pathlib.Path(folder, f"{name}.txt").write_text(text)
    ...     corpus = read_corpus(f"{folder}/source.txt", [f"{folder}/mine.txt"])
    >>> corpus.sources, corpus.names
    (('He go .',), ('mine',))
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gecjury.core.errors import InputError
from gecjury.core.textfiles import (
    FileLines,
    JsonValue,
    file_name,
    parse_json,
    read_lines,
    shown_path,
)
from gecjury.core.wording import listed, number
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.aligned import ESSAY, aligned, row_ids
from gecjury.corpus.files.essays import parse_essays
from gecjury.corpus.files.forms import (
    BINARY_ENDINGS,
    JSON_ENDINGS,
    ending_of,
    form_of,
    listed_texts,
    looks_like_essays,
    looks_like_m2,
    looks_like_matches,
)
from gecjury.corpus.files.gold import join_annotators
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.lines import wrong_count
from gecjury.corpus.m2 import M2Sentence, parse_m2
from gecjury.corpus.references import (
    NO_REFERENCE,
    filled_references,
    gold_versions,
    meant_references,
)
from gecjury.corpus.tokens import edited_sources, in_language, looks_raw

if TYPE_CHECKING:
    from gecjury.corpus.files.rows import TableFile

_LineReader = Callable[[str | Path], Sequence[str]]


def system_name(path: str | Path) -> str:
    """Return a system's name: the file name without folder, `.gz`, `.txt`, `.m2` or `.jsonl`.

    Standard input (`-`) is called `stdin`.
    """
    name = "stdin" if str(path) == "-" else Path(path).name
    for ending in (".gz", ".txt", ".m2", ".jsonl"):
        name = name.removesuffix(ending)
    return name


Role = Literal["source", "hypothesis", "reference"]

# Keys and columns of the texts, in order of precedence. A name that says what the text is comes
# before `text`, which may be what was corrected.
_MOST_CHARACTERS = 10_000_000  # of a line of text
_OUTPUTS = (
    *("hypothesis", "output", "corrected", "correction", "corrected_text", "corrected_sentence"),
    *("prediction", "predicted", "hyp", "generated", "generated_text", "model_output"),
    *("system_output", "response", "completion"),
)
_TEXT_KEYS: Mapping[Role, tuple[str, ...]] = {
    "source": ("source", "text"),
    "hypothesis": (*_OUTPUTS, "text"),
    "reference": ("reference", "references", "target", *_OUTPUTS, "text"),
}


def read_content(path: str | Path, read: _LineReader = read_lines) -> Sequence[str]:
    """Return the lines of a file by which its form is told; of binary tables, one empty line."""
    return [""] if ending_of(path) in BINARY_ENDINGS else read(path)


def read_versions(path: str | Path, *, overlaps: str = "reject") -> tuple[Version, ...]:
    """Read references: a text, M2 or JSON-lines file, a table, or essays.

    Args:
        path: the file. Text gives one version, M2 one for each annotator (an annotator without
            lines on a sentence left it unchanged), JSON lines one from the strings or from the
            objects' `reference` fields, or several from lists of texts under `references`. A table
            (`.csv`, `.tsv`) has columns of these names. Essays give one version with an essay per
            line (`gecjury.corpus.files.essays`).
        overlaps: a choice of `gecjury.corpus.m2.read_m2`.

    Raises:
        InputError: names file and line.
    """
    return _read_reference(path, overlaps=overlaps)[0]


def read_version(path: str | Path) -> Version:
    """Read a hypothesis as `read_versions` does; it must be a single version."""
    return _hypothesis(path, read_content(path))


def _hypothesis(path: str | Path, lines: Sequence[str]) -> Version:
    versions, _ = _versions_of(path, lines, "hypothesis", "reject")
    if len(versions) != 1:
        raise InputError(
            f"{shown_path(path)}: an M2 file of {len(versions)} annotators; "
            "a hypothesis file has the edits of one"
        )
    return versions[0]


def _read_reference(
    path: str | Path, read: _LineReader = read_lines, *, overlaps: str = "reject"
) -> tuple[tuple[Version, ...], tuple[M2Sentence, ...]]:
    """Return the versions of a file (see `read_versions`) and the blocks of an M2 file."""
    return _versions_of(path, read_content(path, read), "reference", overlaps)


def _versions_of(
    path: str | Path, lines: Sequence[str], role: Role, overlaps: str
) -> tuple[tuple[Version, ...], tuple[M2Sentence, ...]]:
    """Return the versions of a file's lines, and the blocks of an M2 file."""
    if looks_like_m2(lines):
        blocks = parse_m2(lines, shown_path(path), overlaps=overlaps)
        versions: tuple[Version, ...] = (Version(tuple(block.source for block in blocks)),)
        if role != "source":
            versions = gold_versions(blocks)
        if ending_of(path) == ".m2":
            return versions, blocks
        return tuple(version.with_note("read as M2") for version in versions), blocks
    if role != "source" and looks_like_matches(lines):
        raise InputError(
            f"{shown_path(path)}: matches of a grammar checker, expected sentences; `gecjury edits "
            "SOURCE MATCHES -o FILE.m2` writes them as M2"
        )
    if looks_like_essays(lines):
        return (parse_essays(lines, shown_path(path)),), ()
    return _texts(path, lines, role), ()


def align_reference(
    source: Version, where: str, name: str, versions: Sequence[Version]
) -> list[Version]:
    """Return the versions of a reference file by the ids of the source, with their meaning.

    Lines without a reference are among `Version.borrowed`: see
    `gecjury.corpus.references.meant_references` and `filled_references`.

    Args:
        source: the texts that were corrected.
        where: its file, for messages.
        name: the file of the versions, for messages.
        versions: the versions, as `read_versions` returns them.

    Raises:
        InputError: as `gecjury.corpus.files.aligned.aligned`.
    """
    return [
        meant_references(aligned(source, where, name, version, reference=True), source.lines)
        for version in versions
    ]


def read_own_references(
    folder: str | Path,
    systems: Collection[str],
    source: Version,
    where: str,
    read: _LineReader = read_lines,
) -> dict[str, tuple[str, Version]]:
    """Return the file and the reference of each system, from a folder with `SYSTEM.txt` for each.

    Lines without a reference are among `Version.borrowed`.

    Args:
        folder: the folder; files of other systems are left alone, which a note says.
        systems: the systems' names.
        source: the texts that were corrected.
        where: their file, for messages.
        read: reads the lines of a file.

    Raises:
        InputError: a file is missing, or is not one reference of every source; names it.
    """
    references: dict[str, tuple[str, Version]] = {}
    files, others = own_files(folder, systems)
    for name, path in files.items():
        file = shown_path(path)
        versions, _ = _read_reference(path, read, overlaps="keep")
        if len(versions) > 1:
            raise InputError(
                f"{file}: {len(versions)} references of a text; expected one in a file of one "
                "system"
            )
        (version,) = align_reference(source, where, file, versions)
        if len(version.lines) != len(source.lines):
            raise wrong_count(file, version.lines, where, source.lines, files=True)
        if not references and others:
            first = [*others[:5], *([f"{len(others) - 5} more"] if len(others) > 5 else [])]
            version = version.with_note(
                f"beside it, files of no output here are left out: {listed(first)}"
            )
        references[name] = file, version
    return references


def own_files(
    folder: str | Path, systems: Collection[str]
) -> tuple[dict[str, Path], Sequence[str]]:
    """Return each system's file of own references in a folder, and the names of other files.

    Raises:
        InputError: a system has no file, or two.
    """
    files: dict[str, list[Path]] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.is_file() and not path.name.startswith("."):
            files.setdefault(system_name(path), []).append(path)
    own: dict[str, Path] = {}
    for name in systems:
        stem = own_file(name)
        if stem not in files:
            there = f" beside {listed(sorted(files)[:5])}" if files else ", and the folder is empty"
            raise InputError(f"{shown_path(folder)}: no file of {name}; expected {stem}.txt{there}")
        own[name], *more = files[stem]
        if more:
            raise InputError(
                f"{shown_path(folder)}: {own[name].name} and {more[0].name} are both of {name}; "
                "expected one file for each system"
            )
    return own, sorted({*files} - {*map(own_file, systems)})


def own_file(system: str) -> str:
    """Return the name of the file of a system's own references, without `.txt`."""
    # Outputs of the same name in two folders are called by their paths.
    plain = Path(system).name == system
    return system if plain else file_name(system.removesuffix(".txt"), ending="")


def read_gold(path: str | Path) -> tuple[M2Sentence, ...]:
    """Read gold edits, which must be M2.

    Overlapping edits are kept, as the official M2 scorer does.

    Raises:
        InputError: the file is not M2 or is malformed; names file and line.
    """
    lines = read_lines(path)
    if lines[0] != "S" and not lines[0].startswith("S "):
        raise InputError(
            f"{shown_path(path)}: not an M2 file (no `S ` line at the top); gold edits must be M2. "
            "Plain-text references are given with -r"
        )
    return parse_m2(lines, shown_path(path), overlaps="keep")


def read_corpus(
    source: str | Path,
    hypotheses: Sequence[str | Path] | Mapping[str, str | Path],
    references: Sequence[str | Path] = (),
    gold: str | Path | None = None,
    source_text: str | Path | None = None,
    *,
    lang: str | Language = "en",
    tokens: str = "auto",
    fold: str = "auto",
    on_disk: bool = False,
    split: bool = False,
) -> Corpus:
    """Read the files of one evaluation and check that they belong together.

    Edits of one annotator that overlap are kept in references and gold, and reported in the notes
    of scores (`gecjury.corpus.remarks`); in a hypothesis they are refused. Matches of a grammar
    checker (`gecjury.corpus.files.matches`) are a hypothesis, too.

    Args:
        source: the sentences to correct: text, JSON lines (strings, or objects with `source`),
            a table with such a column, M2, whose S lines are used, or essays. Rows with ids and
            essays are matched by id, so their order need not be that of the other files.
        hypotheses: one file per system, which is named after its file unless names are given.
        references: text or M2 files, in order. `NAME=FILE` adds the file to a further set of
            references of that name; see `Corpus.with_references`. Instead of files, a folder with
            `SYSTEM.txt` for every system: a reference of each system's own.
        gold: M2 file with the annotators' edits. If it is not given, M2 files among the
            references are also the gold edits (except those of a named set); if there are no
            references, it gives those.
        source_text: the text that checkers read, if it is not `source`: the same lines and
            characters with other spaces.
        lang: language of all texts: a code, or `auto` for that of the source.
        tokens: how texts are split into tokens; `auto` decides by the texts, all together. M2 files
            keep their tokens, and the source then has those of the M2 files.
        fold: how signs are read; `auto` counts the forms of a sign as equal.
        on_disk: leave large files of plain text on disk, whatever their size (`Corpus.on_disk`).
        split: cut lines of several sentences, and essays, into sentences
            (`gecjury.corpus.sentences`).

    Raises:
        InputError: a file cannot be read, a system is named twice, line counts differ, a
            tokeniser changes the text, or matches do not fit the text that was checked.
    """
    language = language_of(lang, tokens, fold)
    outputs = _named_outputs(hypotheses)
    # A tokeniser creates new texts, which are held in memory; `auto` may turn out to need none.
    plain = language.plain or language.tokens == "auto"
    read = _left_on_disk if on_disk and plain else read_lines
    source_read, where = read_source(source, read), shown_path(source)
    sources = source_read.lines
    # Matches count tokens, which a source that is not raw has already.
    tokenised = language.tokens == "auto" and not looks_raw(sources)
    of_source = replace(language, tokens="space") if tokenised else language
    texts = sources if source_text is None else _checked_text(source_text, sources, where)
    labels = {"source": where, **{f"system {n}": shown_path(path) for n, path in outputs.items()}}
    systems: dict[str, Version] = {}
    checkers: dict[str, Callable[[Sequence[str]], Version]] = {}
    for name, path in outputs.items():
        content = read_content(path, read)
        if looks_like_matches(content):
            from gecjury.corpus.files.matches import corrected_version, read_matches

            matches = read_matches(path, content, texts, shown_path(source_text or source))
            checkers[name] = partial(corrected_version, matches, texts, of_source)
            systems[name] = checkers[name](sources)
        else:
            systems[name] = aligned(
                source_read, where, shown_path(path), _hypothesis(path, content)
            )
    # Unlike `Path.is_dir`, this is False for a name that is too long.
    folders = [one for one in references if os.path.isdir(_name_of(one)[1])]  # noqa: PTH112
    files = [one for one in references if one not in folders]
    sets, gold_files = _read_references(files, source_read, where, read)
    own: dict[str, tuple[str, Version]] = {}
    for folder in folders:
        if len(folders) > 1 or "" in sets or _name_of(folder)[0]:
            raise InputError(
                f"{folder}: a folder has one reference for each system; expected it alone and "
                "without a name, or files"
            )
        own = read_own_references(folder, outputs, source_read, where, read)
        for file, version in own.values():
            filled_references([file], [version], where)  # refuses lines without a reference
    if own:
        sets[""] = [*own.values()]
    for name, of_set in sets.items():
        labels |= {f"{name} reference {n}".lstrip(): file for n, (file, _) in enumerate(of_set)}
    lists = [version for _, version in sets.pop("", ())]
    if gold is not None:
        # A file named as gold replaces those among the references.
        file, blocks = shown_path(gold), read_gold(gold)
        gold_files = [(file, blocks)]
        if not lists and len(blocks) == len(sources):
            lists += gold_versions(blocks)
            labels |= {f"reference {index}": file for index in range(len(lists))}
    elif any(len(blocks) != len(sources) for _, blocks in gold_files):
        gold_files = []  # refused as references below
    joined = None
    if gold_files:
        labels["gold"] = gold_files[0][0]
        joined = join_annotators([blocks for _, blocks in gold_files])
    sources, text = edited_sources(sources, [*systems.values(), *lists], joined, language)
    corpus = Corpus(
        sources,
        systems,
        tuple(lists),
        joined,
        # An essay is a whole document, so the neighbouring lines are not its context.
        (("", ""),) * len(sources) if source_read.key == ESSAY else None,
        source_read=source_read,
        _labels=labels,
        reference_name=f"{len(lists)} given" if lists else "",
        reference_sets={n: partial(list, [v for _, v in of_set]) for n, of_set in sets.items()},
        source_text=text,
        reference_systems=tuple(own),
    )
    if split:
        from gecjury.corpus.sentences import split_corpus

        corpus = split_corpus(corpus.held())
    corpus = in_language(corpus, language)
    return _with_marks(corpus, sources, checkers) if checkers else corpus


def _named_outputs(
    hypotheses: Sequence[str | Path] | Mapping[str, str | Path],
) -> Mapping[str, str | Path]:
    """Return the file of each system, which is named after it unless names are given."""
    if isinstance(hypotheses, Mapping):
        return hypotheses
    outputs: dict[str, str | Path] = {}
    for path in hypotheses:
        name = system_name(path)
        if name in outputs:
            raise InputError(
                f"system {name} is named twice ({shown_path(outputs[name])} and "
                f"{shown_path(path)}): a system is named after its file, so rename one of the two"
            )
        outputs[name] = path
    return outputs


def _read_references(
    references: Sequence[str | Path], source: Version, where: str, read: _LineReader
) -> tuple[dict[str, list[tuple[str, Version]]], list[tuple[str, tuple[M2Sentence, ...]]]]:
    """Return each set's versions with their files, and the M2 files of the main set ("").

    Named sets are kept separate: a metric uses one only if that set is requested.

    Args:
        references: as in `read_corpus`, without folders.
        source: the texts that were corrected.
        where: their file, for messages.
        read: reads the lines of a file.
    """
    sets: dict[str, list[tuple[str, Version]]] = {}
    gold_files = []
    for name, path in map(_name_of, references):
        file = shown_path(path)
        versions, edited = _read_reference(path, read, overlaps="keep")
        if edited and not name:
            gold_files.append((file, edited))
        for version in align_reference(source, where, file, versions):
            if name and len(version.lines) != len(source.lines):
                raise wrong_count(file, version.lines, where, source.lines, files=True)
            sets.setdefault(name, []).append((file, version))
    for name, of_set in sets.items():
        files, given = zip(*of_set, strict=True)
        filled = filled_references(files, given, where)
        sets[name] = [*zip(files, filled, strict=True)]
    return sets, gold_files


def _with_marks(
    corpus: Corpus, sources: Sequence[str], checkers: Mapping[str, Callable[..., Version]]
) -> Corpus:
    """Return the corpus with marks that count the tokens of its sources.

    Args:
        corpus: the texts, tokenised since they were read.
        sources: the sources as they were read, whose tokens the marks count.
        checkers: makes a system's version for some sources.
    """
    if all(len(a.split()) == len(b.split()) for a, b in zip(corpus.sources, sources, strict=True)):
        return corpus
    marks = {name: make(corpus.sources).marks for name, make in checkers.items()}
    made = {n: replace(version, marks=marks.get(n)) for n, version in corpus.systems.items()}
    return replace(corpus, systems=made)


def _checked_text(path: str | Path, sources: Sequence[str], source_name: str) -> Sequence[str]:
    """Read the text that checkers read: the lines of the source with other spaces."""
    (version,) = _texts(path, read_content(path), "source")
    texts = version.lines
    if len(texts) != len(sources):
        raise InputError(
            f"{shown_path(path)} has {len(texts)} lines, but {source_name} has {len(sources)}: "
            "expected the same sentences"
        )
    for row, (text, source) in enumerate(zip(texts, sources, strict=True), 1):
        if "".join(text.split()) != "".join(source.split()):
            raise InputError(
                f"{shown_path(path)}, line {row}: has other characters than {source_name}; "
                "expected the same line, different only in spaces"
            )
    return texts


def _left_on_disk(path: str | Path) -> Sequence[str]:
    """Return the lines of a file; if they are many and plain text, they stay on disk."""
    lines = FileLines.of(path)
    if isinstance(lines, FileLines) and (
        looks_like_m2(lines)
        or looks_like_matches(lines)
        or looks_like_essays(lines)
        or form_of(path, lines)
    ):
        return lines.held()
    return lines


def _name_of(reference: str | Path) -> tuple[str, str | Path]:
    """Return the set that a reference belongs to ("" for the main one), and its file."""
    name, separator, path = str(reference).partition("=")
    if separator and re.fullmatch(r"[\w-]+", name) and not Path(reference).exists():
        return name, path
    return "", reference


def read_source(path: str | Path, read: _LineReader = read_lines) -> Version:
    """Read sources with their ids: text, the S lines of an M2 file, JSON lines, a table, essays."""
    (version,), _ = _versions_of(path, read_content(path, read), "source", "keep")
    return version


def _texts(path: str | Path, lines: Sequence[str], role: Role) -> tuple[Version, ...]:
    """Return the lines of a text file, or the texts of JSON lines or of a table."""
    where, form, keys = shown_path(path), form_of(path, lines), _TEXT_KEYS[role]
    if not form:
        _refuse_lists(lines, where, "JSON lines, whose names end in .jsonl")
        for row, size in enumerate(map(len, () if isinstance(lines, FileLines) else lines), 1):
            if size > _MOST_CHARACTERS:
                about = f"has {number(size)} characters; expected a sentence a line"
                raise InputError(f"{where}, line {row}: {about}")
        return (Version(lines if isinstance(lines, FileLines) else tuple(lines)),)
    notes: Sequence[str] = ()
    unit = "row" if form == "list" else "line"
    if form == "table":
        table = _table(path, role)
        # An empty cell of CSV or Excel is a reference that is absent, or a text without words.
        empty = None if role == "reference" else ""
        kept = ending_of(path) in (".parquet", ".pq")
        values: list[tuple[int, object]] = [
            (
                row.line,
                {k: v if kept or v not in (None, "") else empty for k, v in row.cells.items()},
            )
            for row in table.rows
        ]
        unit, notes = next((row.unit for row in table.rows), unit), table.notes
    else:
        values = _json_values(lines, where, form)
        if ending_of(path) not in JSON_ENDINGS:
            notes = ("read as JSON lines",)
    values = [(line, _lower_keys(value)) for line, value in values]
    rows = [(line, value) for line, value in values if isinstance(value, dict)]
    ids = Version(()) if len(rows) < len(values) else row_ids(rows, where)
    keys = tuple(key for key in keys if any(key in row for _, row in rows)) or keys
    if role != "source":
        # Where a row has another, `text` may be what was corrected.
        keys = tuple(key for key in keys if key != "text") or keys
    if role == "hypothesis" and keys == ("text",) and (others := _unknown_texts(rows)):
        notes = (
            *notes,
            f"the column `text` is read, not {listed(others[:5])}: if the outputs are in another, "
            "call it `output`",
        )
    texts = [_row_texts(value, f"{where}, {unit} {line}", role, keys) for line, value in values]
    if not texts:
        raise InputError(f"{where}: has no text; expected one a row")
    if role != "reference":
        _refuse_lists((text for (text,) in texts), where, "one text a row")
    # Where a row has fewer references than another, the others are absent.
    most = max(map(len, texts)) or 1
    columns = zip(*(row + [NO_REFERENCE] * (most - len(row)) for row in texts), strict=True)
    return tuple(replace(ids, lines=column, note="; ".join(notes)) for column in columns)


def _refuse_lists(texts: Iterable[str], where: str, expected: str) -> None:
    """Refuse texts that are all lists written as text.

    Raises:
        InputError: names the first.
    """
    first = ""
    for text in filter(str.strip, texts):
        first = first or text
        if listed_texts(text) is None:
            return
    if first:
        raise InputError(
            f"{where}: {first!r:.60} is a list written as text, as is every other text; expected "
            f"{expected}"
        )


def _lower_keys(value: object) -> object:
    """Return a row with its columns' names as those of keys; another value as it is."""
    if not isinstance(value, Mapping):
        return value
    return {_as_key(name): cell for name, cell in value.items()}


def _as_key(column: str) -> str:
    return re.sub("[ -]", "_", column.strip().lower())


def _unknown_texts(rows: Sequence[tuple[int, Mapping[str, object]]]) -> list[str]:
    """Return the columns that have sentences in most rows, and a name that says nothing."""
    known = {key for keys in _TEXT_KEYS.values() for key in keys}
    counts = Counter(
        f"`{name:.60}`"
        for _, row in rows
        for name, cell in row.items()
        if name not in known and isinstance(cell, str) and " " in cell.strip()
    )
    return [name for name, count in counts.items() if 2 * count > len(rows)]


def _json_values(lines: Sequence[str], where: str, form: str) -> list[tuple[int, object]]:
    """Return the values of JSON lines, or of a list, each with its number."""
    if form == "list":
        return [*enumerate(parse_json("\n".join(lines), where, "one list of texts"), 1)]
    return [
        (number, parse_json(line, f"{where}, line {number}", "one value a line"))
        for number, line in enumerate(lines, 1)
    ]


def _table(path: str | Path, role: Role) -> TableFile:
    """Return a table with a column of texts."""
    from gecjury.corpus.files.rows import read_table

    keys = _TEXT_KEYS[role]
    table = read_table(path, f"a header with a column {keys[0]}", texts=True)
    if not {*keys} & {*map(_as_key, table.columns)}:
        raise InputError(
            f"{table.path}, line 1: no column of texts among {', '.join(table.columns):.300}; "
            f"expected {' or '.join(keys[:3])}, or plain text in a file that does not end in "
            f"{ending_of(path)}"
        )
    return table


def _row_texts(value: JsonValue, where: str, role: Role, keys: Sequence[str]) -> list[str]:
    """Return the texts of a row: one, or those of a list of references."""
    key = keys[0]
    if isinstance(value, dict):
        key = next((name for name in keys if name in value), key)
        value = value.get(key, 0)
    texts = [value]
    if role == "reference":
        if isinstance(value, str):
            try:
                value = listed_texts(value)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
        # `null` says that there is no reference, as the mark does in text files.
        texts = value if isinstance(value, list) else texts
        texts = [NO_REFERENCE if text is None else text for text in texts]
    for text in texts:
        if not isinstance(text, str):
            raise InputError(
                f"{where}: expected a string or an object with the string field `{key}`"
            )
        if "\n" in text:
            raise InputError(f"{where}: the text contains a line break; a sentence is one line")
    return texts
