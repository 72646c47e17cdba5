"""What is scored: sources with the hypotheses and references that correct them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from gecjury.edits import Edit
from gecjury.errors import InputError, nearest
from gecjury.m2 import M2Sentence, looks_like_m2, parse_m2
from gecjury.textfiles import read_lines

__all__ = ["Corpus", "Group", "Version", "read_corpus", "read_gold", "read_versions", "system_name"]


@dataclass(frozen=True)
class Version:
    """One corrected version of all sources: a system's output, or one reference.

    Attributes:
        lines: one sentence a source line.
        edits: the edits that made it where the file gave them (M2), one tuple a line; None where
            they have to be extracted from the text.
        sources: the sentences that those edits belong to, where the file gave them.
    """

    lines: tuple[str, ...]
    edits: tuple[tuple[Edit, ...], ...] | None = None
    sources: tuple[str, ...] | None = None

    def take(self, rows: Sequence[int]) -> Version:
        """The version of some sources only."""
        edits = None if self.edits is None else tuple(self.edits[row] for row in rows)
        sources = None if self.sources is None else tuple(self.sources[row] for row in rows)
        return Version(tuple(self.lines[row] for row in rows), edits, sources)


@dataclass(frozen=True)
class Group:
    """Hypotheses of one source that are to be judged side by side.

    Attributes:
        id: names the group among those of the corpus.
        sentence: index of the source.
        systems: whose hypotheses stand in it, in the order shown; systems with the same text
            share one place.
        texts: the text of each place, for groups that also show texts of systems outside the
            corpus (their places name no system); empty where the corpus has every text.
    """

    id: str
    sentence: int
    systems: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """Sources, hypotheses by system name, references, and what else a scorer may read.

    Attributes:
        sources: N sentences, tokens split on white space.
        systems: hypotheses by system, in the order in which systems are compared.
        references: R versions.
        gold: M2 blocks of the sources with every annotator's edits, for matchers that need them.
        contexts: previous and next sentence of each source ("" at the edge of a document).
        groups: which hypotheses were shown together to human judges, where that is known.
        reference_name: how the references are called in a signature ("2 files", "10refs").
        reference_sets: further sets of references by name, each read when it is asked for; what
            `with_references` chooses from.
    """

    sources: tuple[str, ...] = field(repr=False)
    systems: Mapping[str, Version] = field(repr=False)
    references: tuple[Version, ...] = field(default=(), repr=False)
    gold: tuple[M2Sentence, ...] | None = field(default=None, repr=False)
    contexts: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)
    groups: tuple[Group, ...] | None = field(default=None, repr=False)
    reference_name: str = ""
    reference_sets: Mapping[str, Callable[[], Sequence[Version]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _labels: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = len(self.sources)
        label = self._labels.get("source", "the source")
        if not count:
            raise InputError(f"{label} holds no sentence; expected one a line")
        parts = [
            *((self._labels.get(f"system {n}", f"system {n}"), v) for n, v in self.systems.items()),
            *(
                (self._labels.get(f"reference {i}", f"reference {i}"), v)
                for i, v in enumerate(self.references)
            ),
        ]
        for name, version in parts:
            if len(version.lines) != count:
                raise InputError(
                    f"{name} has {len(version.lines)} lines, but {label} has {count}: "
                    "every file must hold one line for each source line (see `gecjury check`)"
                )
            if version.sources is not None:
                self._check_sources(name, version.sources)
        if self.gold is not None and len(self.gold) != count:
            raise InputError(
                f"{self._labels.get('gold', 'the M2 gold')} has {len(self.gold)} blocks, "
                f"but {label} has {count} lines: both must hold the same sentences"
            )
        if self.gold is not None:
            gold = [block.source for block in self.gold]
            self._check_sources(self._labels.get("gold", "the M2 gold"), gold)

    def _check_sources(self, name: str, sources: Sequence[str]) -> None:
        """Edits belong to the sentence they were made for: another one makes any score empty."""
        for row, (own, given) in enumerate(zip(self.sources, sources, strict=True)):
            if own != given and own.split() != given.split():
                raise InputError(
                    f"{name} has edits of other sentences than "
                    f"{self._labels.get('source', 'the source')}; the first that differs is "
                    f"sentence {row + 1}:\n  {own}\n  {given}"
                )

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def names(self) -> tuple[str, ...]:
        """The system names in order."""
        return tuple(self.systems)

    def group_texts(self, group: Group) -> tuple[str, ...]:
        """The text of each place of a group."""
        if group.texts:
            return group.texts
        return tuple(self.systems[place[0]].lines[group.sentence] for place in group.systems)

    def with_systems(self, names: Iterable[str]) -> Corpus:
        """The same corpus with some systems only, in the order given."""
        return replace(self, systems={name: self.systems[name] for name in names})

    def with_references(self, name: str) -> Corpus:
        """The same corpus with the references of a named set.

        Raises:
            InputError: there is no such set.
        """
        if name == self.reference_name:
            return self
        if name not in self.reference_sets:
            known = nearest(name, self.reference_sets)
            raise InputError(
                f"no references are called {name!r}: {known}; name files by -r {name}=FILE"
            )
        versions = tuple(self.reference_sets[name]())
        return replace(self, references=versions, reference_name=name)

    @cached_property
    def source_print(self) -> str:
        """Fingerprint of the sources: 16 hexadecimal digits."""
        return fingerprint(self.sources)

    @cached_property
    def reference_print(self) -> str:
        """Fingerprint of the references, their ready edits included."""
        return fingerprint(version_key(reference) for reference in self.references)

    @cached_property
    def gold_print(self) -> str:
        """Fingerprint of the gold M2 blocks; empty without any."""
        if self.gold is None:
            return ""
        return fingerprint(
            part for block in self.gold for part in (block.source, *map(str, block.annotations))
        )

    @cached_property
    def context_print(self) -> str:
        """Fingerprint of contexts and groups, which only joint scorers read."""
        groups = [
            (g.sentence, g.systems, g.texts) if g.texts else (g.sentence, g.systems)
            for g in self.groups or ()
        ]
        return fingerprint([json.dumps([self.contexts, groups])])

    @cached_property
    def system_prints(self) -> dict[str, str]:
        """Fingerprint of each system's hypotheses, ready edits included."""
        return {name: fingerprint([version_key(v)]) for name, v in self.systems.items()}


def version_key(version: Version) -> str:
    """A version as one string, for fingerprints."""
    edits = version.edits and [
        [(e.start, e.end, e.correction, e.type) for e in line] for line in version.edits
    ]
    return json.dumps([version.lines, edits], ensure_ascii=False)


def fingerprint(parts: Iterable[str]) -> str:
    """SHA-256 over length-prefixed strings, shortened to 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()[:16]


def system_name(path: str | Path) -> str:
    """A system's name: its file name without folder, `.gz`, and `.txt`, `.m2` or `.jsonl`."""
    name = Path(path).name
    for ending in (".gz", ".txt", ".m2", ".jsonl"):
        name = name.removesuffix(ending)
    return name


def read_versions(path: str | Path, *, overlaps: str = "reject") -> tuple[Version, ...]:
    """Read a text, M2 or JSON-lines file; the kind is told by its content.

    Args:
        path: the file. Text gives one version, M2 one for each annotator (an annotator without
            lines on a sentence left it as it is), JSON lines one from the strings or from the
            objects' `text` fields.
        overlaps: see `gecjury.m2.read_m2`.

    Raises:
        InputError: names file and line.
    """
    lines = read_lines(path)
    if looks_like_m2(lines):
        return _m2_versions(parse_m2(lines, str(path), overlaps=overlaps))
    if _is_json_lines(path, lines):
        return (
            Version(
                tuple(
                    _json_text(line, f"{path}, line {i + 1}", ("text", "hypothesis"))
                    for i, line in enumerate(lines)
                )
            ),
        )
    return (Version(tuple(lines)),)


def read_gold(path: str | Path, *, overlaps: str = "reject") -> tuple[M2Sentence, ...]:
    """Read gold edits, which must be M2.

    Raises:
        InputError: the file is not M2 or is malformed; names file and line.
    """
    lines = read_lines(path)
    if lines[0] != "S" and not lines[0].startswith("S "):
        raise InputError(
            f"{path}: not an M2 file (no `S ` line at the top); gold edits must be M2. "
            "Plain-text references are given with -r"
        )
    return parse_m2(lines, str(path), overlaps=overlaps)


def read_corpus(
    source: str | Path,
    hypotheses: Sequence[str | Path],
    references: Sequence[str | Path] = (),
    gold: str | Path | None = None,
) -> Corpus:
    """Read the files of one evaluation and check that they belong together.

    Args:
        source: the sentences to correct: text, JSON lines (strings, or objects with `source`),
            or M2, whose S lines are taken.
        hypotheses: one file a system.
        references: text or M2 files, in order. `NAME=FILE` adds the file to a further set of
            references of that name; see `Corpus.with_references`.
        gold: M2 file with the annotators' edits.

    Raises:
        InputError: a file cannot be read, a system is named twice, or line counts differ.
    """
    systems: dict[str, Version] = {}
    labels = {"source": str(source)}
    for path in hypotheses:
        name = system_name(path)
        label = f"system {name}"
        if name in systems:
            raise InputError(
                f"system {name} is named twice ({labels[label]} and {path}): "
                "a system is called by its file name, so rename one of the two"
            )
        versions = read_versions(path)
        if len(versions) != 1:
            raise InputError(
                f"{path}: an M2 file of {len(versions)} annotators; "
                "a hypothesis file holds the edits of one"
            )
        systems[name] = versions[0]
        labels[label] = str(path)
    sources = read_sources(source)
    lists: list[Version] = []
    named: dict[str, list[Version]] = {}
    for given in references:
        name, path = _name_of(given)
        for version in read_versions(path):
            if name:
                if (lines := len(version.lines)) != len(sources):
                    raise InputError(f"{path} has {lines} lines, but {source} has {len(sources)}")
                named.setdefault(name, []).append(version)
                continue
            labels[f"reference {len(lists)}"] = str(path)
            lists.append(version)
    blocks = None if gold is None else read_gold(gold)
    if gold is not None:
        labels["gold"] = str(gold)
    return Corpus(
        sources,
        systems,
        tuple(lists),
        blocks,
        _labels=labels,
        reference_name=f"{len(lists)} given" if lists else "",
        reference_sets={name: partial(tuple, versions) for name, versions in named.items()},
    )


def _name_of(reference: str | Path) -> tuple[str, str | Path]:
    """The set that a reference belongs to ("" for the main one), and its file."""
    name, separator, path = str(reference).partition("=")
    if separator and re.fullmatch(r"[\w-]+", name) and not Path(reference).exists():
        return name, path
    return "", reference


def read_sources(path: str | Path) -> tuple[str, ...]:
    """Read sources: text lines, the S lines of an M2 file, or JSON lines."""
    lines = read_lines(path)
    if looks_like_m2(lines):
        return tuple(block.source for block in parse_m2(lines, str(path), overlaps="keep"))
    if _is_json_lines(path, lines):
        return tuple(
            _json_text(line, f"{path}, line {i + 1}", ("source", "text"))
            for i, line in enumerate(lines)
        )
    return tuple(lines)


def _m2_versions(blocks: Sequence[M2Sentence]) -> tuple[Version, ...]:
    annotators = sorted({a for block in blocks for a in block.annotators}) or [0]
    return tuple(
        Version(
            tuple(block.text(annotator) for block in blocks),
            tuple(block.edits(annotator) for block in blocks),
            tuple(block.source for block in blocks),
        )
        for annotator in annotators
    )


def _is_json_lines(path: str | Path, lines: Sequence[str]) -> bool:
    """Whether a file is JSON lines: its first line is an object, or every line is a string.

    One line in quotation marks proves nothing, since `" Yes . "` is a sentence as well. A file that
    is one JSON list is refused.
    """
    whole = _json_or_none("\n".join(lines)) if lines[0].startswith("[") else None
    if isinstance(whole, list) and whole and all(isinstance(value, str | dict) for value in whole):
        raise InputError(f"{path}: one JSON list; expected one value a line, e.g. `jq -c '.[]'`")
    if lines[0].lstrip().startswith("{"):
        return isinstance(_json_or_none(lines[0]), dict)
    if len(lines) < 2 or not lines[0].startswith('"'):
        return False
    return all(isinstance(_json_or_none(line), str) for line in lines)


def _json_or_none(line: str) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _json_text(line: str, where: str, keys: Sequence[str]) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        # Besides bad syntax: numbers of thousands of digits, and values nested without end.
        raise InputError(f"{where}: not JSON ({error}); expected one value a line") from None
    if isinstance(value, dict):
        value = next((value[key] for key in keys if key in value), None)
    if not isinstance(value, str):
        raise InputError(
            f"{where}: expected a string or an object with the string field `{keys[0]}`"
        )
    if "\n" in value:
        raise InputError(f"{where}: the text holds a line break; a sentence is one line")
    return value
