"""Sources with the hypotheses and references that correct them.

Example:
    >>> corpus = Corpus(("He go .",), {"mine": Version(("He goes .",))})
    >>> corpus.names, len(corpus), corpus.systems["mine"].lines
    (('mine',), 1, ('He goes .',))
"""

from __future__ import annotations

import hashlib
import json
import shlex
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gecjury.core.errors import InputError, nearest
from gecjury.core.textfiles import FileLines, shown_path
from gecjury.core.wording import READING, WARNING, named_lines
from gecjury.corpus.edits import Edit, differing_spans, marked_edits, overlapping_edits
from gecjury.corpus.languages.detection import language_note
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.lines import layout, misfit
from gecjury.corpus.m2 import M2Sentence

_T = TypeVar("_T")
_ESCAPED = bytes(range(32)) + b"\\"  # what JSON escapes besides the quotation mark
_HASHED = 1000  # lines whose JSON text is hashed at once


class Mark(NamedTuple):
    """A span of source tokens that a grammar checker marked.

    Attributes:
        start: index of its first token, from 0.
        end: index after its last token; `start` where it covers none.
        rule: the rule that matched, `category:rule`.
        corrected: True if a suggestion replaced the span.
    """

    start: int
    end: int
    rule: str
    corrected: bool


@dataclass(frozen=True)
class Version:
    """A corrected version of all sources: a system's output, or one reference.

    Attributes:
        lines: one sentence for each source line; `FileLines` if they stay on disk.
        edits: its edits if the file has them (M2), one tuple per line; None if they have to be
            extracted from the text.
        sources: the sentences that those edits belong to, if the file has them.
        text: the lines as they were written, if `lines` were tokenised since; otherwise None.
        marks: marks of a grammar checker's matches, one tuple per line.
        note: remark on how the file was read.
        ids: if each line has an id, the line of the file for each id.
        key: the key or column of those ids.
        borrowed: numbers of the lines that the file lacks and that come from another reference.
    """

    lines: Sequence[str]
    edits: tuple[tuple[Edit, ...], ...] | None = None
    sources: tuple[str, ...] | None = None
    text: Sequence[str] | None = None
    marks: tuple[tuple[Mark, ...], ...] | None = None
    note: str = ""
    ids: Mapping[str, int] | None = None
    key: str = ""
    borrowed: tuple[int, ...] = ()

    @cached_property
    def types(self) -> Counter[str] | None:
        """Number of edits by type; None where edits have to be extracted."""
        if self.edits is None:
            return None
        return Counter(edit.type for line in self.edits for edit in line)

    def take(self, rows: Sequence[int]) -> Version:
        """Return the version of some sources only."""
        return Version(
            _taken(self.lines, rows),
            _chosen(self.edits, rows),
            _chosen(self.sources, rows),
            None if self.text is None else _taken(self.text, rows),
            _chosen(self.marks, rows),
            self.note,
            borrowed=tuple(n for n, row in enumerate(rows) if row in self.borrowed),
        )

    @property
    def overlaps(self) -> int:
        """Number of given edits that overlap another of the same sentence."""
        return sum(len(overlapping_edits(line)) for line in self.edits or ())

    def with_note(self, note: str) -> Version:
        """Return the version with a further remark on how its file was read."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))

    def as_text(self, language: Language) -> Version:
        """Return the lines as they were written, with plain signs; joined tokens if unknown."""
        if isinstance(self.text, FileLines):
            return Version(self.text.changed_by(language.text))
        # Nobody knows which blanks the authors of edits wrote.
        of_tokens = language.joined if self.edits is None else language.shown
        lines = map(of_tokens, self.lines) if self.text is None else self.text
        return Version(tuple(map(language.text, lines)))

    def marked(self, source: str, line: int, language: Language = ENGLISH) -> str:
        """Return a corrected line with its edits as `[old→new]`.

        The edits are those of the file; if it has none, the differences between the tokens.

        Args:
            source: the sentence that was corrected, as tokens.
            line: number of the line, from 0.
            language: language, which may be written without spaces between words.
        """
        tokens = source.split()
        edits = self.edits[line] if self.edits is not None else ()
        shown = edits or differing_spans(tokens, self.lines[line].split())
        return language.shown(marked_edits(tokens, shown))


@dataclass(frozen=True)
class Group:
    """Hypotheses of one source that are to be judged side by side.

    Attributes:
        id: names the group among those of the corpus.
        sentence: index of the source.
        systems: systems of its hypotheses, in the order shown; systems with the same text
            share one place.
        texts: the text of each place, for groups that also show texts of systems outside the
            corpus (their places name no system); empty where the corpus has every text.
    """

    id: str
    sentence: int
    systems: tuple[tuple[str, ...], ...]
    texts: tuple[str, ...] = ()


_WIDTHS = " (only in full-width or half-width forms: write them alike in both files)"
_UNNAMED = {"source": "the source", "gold": "the M2 gold"}


@dataclass(frozen=True)
class Corpus:
    """Sources, hypotheses by system name, references, and other data that a scorer may read.

    Attributes:
        sources: N sentences, tokens split on white space; `FileLines` if they stay on disk.
        systems: hypotheses by system, in the order in which systems are compared.
        references: R versions.
        gold: M2 blocks of the sources with every annotator's edits, for matchers that need them.
        contexts: previous and next sentence of each source ("" at the edge of a document).
        groups: hypotheses that were shown together to human judges, if known.
        reference_name: name of the references in a signature ("2 files", "10refs").
        reference_sets: further sets of references by name, each read on demand;
            `with_references` chooses from them.
        language: language of the texts, with their tokenisation.
        source_text: the sources as they were written, if they were tokenised since.
        drawn: the corpus that these sentences were drawn from, and their rows there, for metrics
            that read the sentences around each; None for complete texts.
        source_read: the file of the sources as it was read, with its ids, if they came from one.
        reading: remark on how tokens and signs were read, for all texts together.
    """

    sources: Sequence[str] = field(repr=False)
    systems: Mapping[str, Version] = field(repr=False)
    references: tuple[Version, ...] = field(default=(), repr=False)
    gold: tuple[M2Sentence, ...] | None = field(default=None, repr=False)
    contexts: tuple[tuple[str, str], ...] | None = field(default=None, repr=False)
    groups: tuple[Group, ...] | None = field(default=None, repr=False)
    reference_name: str = ""
    reference_sets: Mapping[str, Callable[[], Sequence[Version]]] = field(
        default_factory=dict, repr=False, compare=False
    )
    language: Language = field(default=ENGLISH, repr=False)
    source_text: Sequence[str] | None = field(default=None, repr=False)
    drawn: tuple[Corpus, tuple[int, ...]] | None = field(default=None, repr=False)
    source_read: Version | None = field(default=None, repr=False, compare=False)
    reading: str = field(default="", repr=False, compare=False)
    _labels: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    _hypotheses: tuple[Version, ...] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        count, source = len(self.sources), self.label("source")
        if not count:
            # A file without lines has been refused when it was read.
            raise InputError(
                f"{source}: no sentence is given, or options leave none; expected at least one"
            )
        # Callers from Python get here too, so lengths are checked here and not by the readers.
        for role, version in self.versions().items():
            if len(version.lines) != count:
                label = self.label(role)
                raise wrong_count(
                    label, version.lines, source, self.sources, files="source" in self._labels
                )
            if version.sources is not None:
                self._check_sources(self.label(role), version.sources)
        if self.gold is not None:
            gold = self.label("gold")
            if len(self.gold) != count:
                raise InputError(
                    f"{gold} has {len(self.gold)} blocks, but {source} has {count} lines: both "
                    "must have the same sentences"
                )
            self._check_sources(gold, [block.source for block in self.gold])

    def versions(self, *, references: bool = True) -> dict[str, Version]:
        """Return the versions by the roles that `label` names."""
        versions = {f"system {name}": version for name, version in self.systems.items()}
        if references:
            versions |= {f"reference {n}": version for n, version in enumerate(self.references)}
        return versions

    def with_versions(self, change: Callable[[Version], Version], **others: Any) -> Corpus:
        """Return the corpus with changed systems and references.

        Args:
            change: the change of each version.
            others: further fields that change.
        """
        systems = {name: change(version) for name, version in self.systems.items()}
        references = tuple(map(change, self.references))
        return replace(self, **{"systems": systems, "references": references, **others})

    def label(self, role: str) -> str:
        """Return the name of a text for messages: its file, if it came from one.

        Args:
            role: `source`, `gold`, `system NAME` or `reference NUMBER`.
        """
        return self._labels.get(role, _UNNAMED.get(role, role))

    def _check_sources(self, name: str, sources: Sequence[str]) -> None:
        """Refuse edits made for other sentences, which would make any score meaningless."""
        for row, (source, edited) in enumerate(zip(self.sources, sources, strict=True)):
            if source != edited and source.split() != edited.split():
                one, other = "".join(source.split()), "".join(edited.split())
                folded = [unicodedata.normalize("NFKC", text) for text in (one, other)]
                widths = _WIDTHS if one != other and folded[0] == folded[1] else ""
                raise InputError(
                    f"{name} has edits of other sentences than {self.label('source')}; the first "
                    f"that differs is sentence {row + 1}{widths}:\n  {source}\n  {edited}"
                )

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def names(self) -> tuple[str, ...]:
        """The system names in order."""
        return tuple(self.systems)

    def remarks(self, needs: Iterable[str]) -> tuple[str, ...]:
        """Return remarks on these texts that a user needs to interpret their scores.

        The remarks cover how files were read, lines of references that are empty or come from
        another reference, edits of one annotator that overlap, sources in another language, and
        lines that are shifted against the source.

        Args:
            needs: the parts among `references` and `gold` that the metric reads.
        """
        versions = self.versions(references="references" in needs)
        files: dict[str, dict[str, None]] = {}
        for role, version in {"source": self.source_read, **versions}.items():
            if version is not None and version.note:
                files.setdefault(version.note, {})[self.label(role)] = None
        remarks = [f"{', '.join(names)}: {note}" for note, names in files.items()]
        if "gold" in needs and self.gold is not None:
            count = sum(
                len(overlapping_edits(block.edits(annotator)))
                for block in self.gold
                for annotator in block.annotators
            )
            if count:
                remarks.append(
                    f"{self.label('gold')}: edits that overlap another of the same annotator: "
                    f"{count}; all count as they are, as in the official M2 scorer"
                )
        if "references" in needs:
            for index, version in enumerate(self.references):
                name = self.label(f"reference {index}")
                if version.borrowed:
                    remarks.append(
                        f"{name}: texts that it lacks are taken from another reference: "
                        f"{len(version.borrowed)} of {len(self)}"
                    )
                # Empty lines in the sets of a benchmark are those of their annotators.
                given = f"reference {index}" in self._labels or not self.reference_name
                if given and (empty := self._empty_references[index]):
                    remarks.append(f"{name}: {empty}")
                if count := version.overlaps:
                    remarks.append(
                        f"{name}: edits that overlap another of the same annotator: {count}; where "
                        "edits are compared all count as they are, and in the text they are "
                        "applied one after another in the order of the file"
                    )
        if self._language_note:
            remarks.append(f"{self.label('source')}: {self._language_note}")
        remarks += [self._misfits[role] for role in versions if role in self._misfits]
        return (*remarks, *self.reading_notes)

    @property
    def reading_notes(self) -> tuple[str, ...]:
        """The note on tokens and signs, if they had to be read in a way of their own."""
        return (f"{READING}{self.reading}",) if self.reading else ()

    @cached_property
    def _empty_references(self) -> tuple[str, ...]:
        """Remarks on empty lines of each reference, as `empty_note` gives them."""
        return tuple(empty_note(version, self.sources) for version in self.references)

    @cached_property
    def _misfits(self) -> dict[str, str]:
        """Warnings of texts whose lines do not fit the source, by `label`'s roles."""
        if self.drawn is not None:
            return self.drawn[0]._misfits
        # The texts of a benchmark that comes with gecjury, which names no files, are known.
        if self.reference_name and self.source_read is None and not self._labels:
            return {}
        # Signs that tokenisation would cut are seen in the lines as they were written.
        sources = _kept(self.source_text or self.sources)
        return {
            role: f"{WARNING}{self.label(role)}: {text}"
            for role, version in self.versions().items()
            if (text := _misfit(sources, _kept(version.text or version.lines)))
        }

    @cached_property
    def _language_note(self) -> str:
        """A remark on sources in another language, or whose lines are one token each."""
        return language_note(self.sources, self.language)

    def refuse_overlaps(self, metric: str) -> None:
        """Refuse references whose edits overlap, for metrics that split sentences at edits.

        Args:
            metric: name of the metric that refuses.

        Raises:
            InputError: names the reference, the sentence and the edit.
        """
        for index, version in enumerate(self.references):
            for row, line in enumerate(version.edits or ()):
                if over := overlapping_edits(line):
                    name = self.label(f"reference {index}")
                    raise InputError(
                        f"{name}, sentence {row + 1}: the edit {over[0].start} {over[0].end} "
                        f"{over[0].correction!r} overlaps another of the same annotator, and "
                        f"{metric} splits sentences at the edits: remove one of the two, or "
                        "give the reference as text, from which edits are extracted"
                    )

    def group_texts(self, group: Group) -> tuple[str, ...]:
        """Return the text of each place of a group."""
        if group.texts:
            return group.texts
        return tuple(self.systems[place[0]].lines[group.sentence] for place in group.systems)

    def as_text(self) -> Corpus:
        """Return the corpus with its lines as they were written, for readers of untokenised text.

        Signs are plain, so texts that differ only in their forms are one. Edits from files are left
        out, since they count tokens. Lines that were created from tokens (a damaged output, a
        partly applied edit) are joined as the language is written.
        """
        language = self.language
        if language.tokens == "space" and not language.folds_signs:
            return self
        sources = Version(self.sources, text=self.source_text).as_text(language).lines
        made = self.with_versions(lambda version: version.as_text(language))
        pairs: list[tuple[Sequence[str], Sequence[str]]] = [(self.sources, sources)]
        pairs += [(v.lines, made.systems[name].lines) for name, v in self.systems.items()]
        # Groups contain tokens; their original text is known if a system has the same tokens.
        written = {cut: text for old, texts in pairs for cut, text in zip(old, texts, strict=True)}

        def shown(group: Group) -> Group:
            return replace(
                group, texts=tuple(written.get(t, language.joined(t)) for t in group.texts)
            )

        return replace(
            made,
            sources=sources,
            gold=None,
            groups=None if self.groups is None else tuple(map(shown, self.groups)),
            source_text=None,
            drawn=self.drawn and (self.drawn[0].as_text(), self.drawn[1]),
            # From here on the texts are read as they are.
            language=replace(language, tokens="space", fold="none"),
        )

    def take(self, rows: Sequence[int], systems: Mapping[str, Version] | None = None) -> Corpus:
        """Return some of the sentences, in the given order and with repeats, without groups.

        Args:
            rows: rows of the sentences, from 0.
            systems: hypotheses for these sentences, instead of the corpus' own.
        """
        return self.with_versions(
            lambda version: version.take(rows),
            **({} if systems is None else {"systems": systems}),
            sources=_taken(self.sources, rows),
            gold=_chosen(self.gold, rows),
            contexts=_chosen(self.contexts, rows),
            groups=None,
            reference_sets={
                name: partial(_rows_of, read, rows) for name, read in self.reference_sets.items()
            },
            source_text=self.source_text and _taken(self.source_text, rows),
            source_read=None,
            drawn=None,
            _hypotheses=None,
        )

    def line(self, row: int) -> int:
        """Return the line of a sentence in its file, from 1."""
        return (row if self.drawn is None else self.drawn[1][row]) + 1

    def row(self, line: int) -> int:
        """Return the row of the sentence that is in a line of its file."""
        return line - 1 if self.drawn is None else self.drawn[1].index(line - 1)

    @property
    def on_disk(self) -> bool:
        """True if some of the texts are read on demand; these are plain text."""
        texts = (self.sources, *(version.lines for version in self.versions().values()))
        return any(isinstance(lines, FileLines) for lines in texts)

    def held(self) -> Corpus:
        """Return the corpus with all texts in memory.

        Raises:
            InputError: a file is too large for memory, or has changed.
        """
        if not self.on_disk:
            return self
        return self.with_versions(
            lambda version: replace(
                version, lines=_held(version.lines), text=version.text and _held(version.text)
            ),
            sources=_held(self.sources),
            source_text=self.source_text and _held(self.source_text),
        )

    def distinct(self, row: int) -> dict[str, list[str]]:
        """Return the distinct corrections of a source, each with the systems that made it."""
        systems: dict[str, list[str]] = {}
        for name, version in self.systems.items():
            systems.setdefault(version.lines[row], []).append(name)
        return systems

    def with_systems(self, names: Iterable[str]) -> Corpus:
        """Return the corpus with some systems only, in the order given."""
        return replace(
            self,
            systems={name: self.systems[name] for name in names},
            _hypotheses=self.hypotheses,
        )

    def with_references(self, name: str) -> Corpus:
        """Return the corpus with the references of a named set.

        Raises:
            InputError: there is no such set.
        """
        if name == self.reference_name:
            return self
        if name not in self.reference_sets:
            hint = nearest(name, self.reference_sets)
            raise InputError(
                f"no references are called {name!r}: {hint}; name files with -r {name}=FILE"
            )
        versions = tuple(self.reference_sets[name]())
        roles = {f"{name} reference {number}": number for number in range(len(versions))}
        labels = {r: file for r, file in self._labels.items() if not r.startswith("reference ")}
        labels |= {f"reference {n}": labels[r] for r, n in roles.items() if r in labels}
        return replace(self, references=versions, reference_name=name, _labels=labels)

    @property
    def hypotheses(self) -> tuple[Version, ...]:
        """Versions of all hypotheses, including those that `with_systems` left out.

        They decide how gold edits are read, which must not depend on the systems being scored.
        """
        return tuple(self.systems.values()) if self._hypotheses is None else self._hypotheses

    @cached_property
    def source_print(self) -> str:
        """Fingerprint of the sources: 16 hexadecimal digits."""
        return fingerprint(self.sources)

    @cached_property
    def reference_print(self) -> str:
        """Fingerprint of the references, including given edits."""
        return _versions_print(self.references)

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
        parts = [json.dumps([self.contexts, groups])]
        if self.drawn is not None:
            parts.append(json.dumps([self.drawn[0].source_print, self.drawn[1]]))
        return fingerprint(parts)

    @cached_property
    def system_prints(self) -> dict[str, str]:
        """Fingerprint of each system's hypotheses, including given edits."""
        return {name: _versions_print([version]) for name, version in self.systems.items()}


def _kept(lines: Sequence[str]) -> Sequence[str]:
    """Return lines as a key of a cache."""
    return lines if isinstance(lines, FileLines) else tuple(lines)


# A text is looked at once, whatever metrics read it and whichever other systems are beside it.
_misfit = lru_cache(maxsize=128)(misfit)


def _taken(lines: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    # A run of lines that stay on disk is read at once.
    if isinstance(rows, range) and rows.step == 1:
        return tuple(lines[rows.start : rows.stop])
    return tuple(lines[row] for row in rows)


def _chosen(values: Sequence[_T] | None, rows: Sequence[int]) -> tuple[_T, ...] | None:
    return None if values is None else tuple(values[row] for row in rows)


def _held(lines: Sequence[str]) -> Sequence[str]:
    return tuple(lines.held()) if isinstance(lines, FileLines) else lines


def _rows_of(read: Callable[[], Sequence[Version]], rows: Sequence[int]) -> list[Version]:
    return [version.take(rows) for version in read()]


NO_REFERENCE = "-NONE-"
"""A line of a reference of this text says that there is no reference of the sentence."""

# MuCGEC writes these instead of a reference: "no error" and "cannot be annotated".
# `parallel_to_m2.py` of ChERRANT turns them into `noop` and `NA`, and scores no `NA` sentence.
_NO_ERROR = "没有错误"
_UNANNOTATED = "无法标注"
_MARKS = frozenset({NO_REFERENCE, _NO_ERROR, _UNANNOTATED})
_MOST_MARK = 20  # characters of a line that may be a mark, with blanks between them


def has_mark(lines: Iterable[str]) -> bool:
    """Return True if a line of a reference is one of the marks, with or without blanks."""
    return any("".join(x.split()) in _MARKS for x in [x for x in lines if len(x) <= _MOST_MARK])


def meant_reference(text: str | None, source: str) -> str | None:
    """Return the reference that a line stands for.

    Args:
        text: the line; None where a file has null.
        source: the sentence that it corrects.

    Returns:
        None where there is no reference, the source for a mark of no error, otherwise the line.
    """
    if text is None or not has_mark([text]):
        return text
    mark = "".join(text.split())
    if mark == "".join(source.split()):
        return text
    return source if mark == _NO_ERROR else None


def meant_references(version: Version, sources: Sequence[str]) -> Version:
    """Return a reference with the meaning of its lines; see `meant_reference`.

    Args:
        version: the reference, in the order of the sources.
        sources: the sentences that it corrects.

    Returns:
        The reference; lines without a reference are unchanged and among its `borrowed` ones.
    """
    # An M2 file has its own ways to say this.
    if version.edits is not None or len(version.lines) != len(sources):
        return version
    if not has_mark(version.lines):
        return version
    changed = {
        row: meant
        for row, line in enumerate(version.lines)
        if (meant := meant_reference(line, sources[row])) != line
    }
    lines = [*_held(version.lines)]
    same = []
    for row, text in changed.items():
        if text is not None:
            lines[row] = text
            same.append(row + 1)
    absent = {row for row, text in changed.items() if text is None}
    borrowed = tuple(sorted(absent.union(version.borrowed)))
    version = replace(version, lines=tuple(lines), borrowed=borrowed)
    if not same:
        return version
    return version.with_note(
        f"{len(same)} of {len(lines)} lines {'is' if len(same) == 1 else 'are'} {_NO_ERROR} (no "
        f"error), read as the source ({named_lines(same)})"
    )


def filled_references(
    names: Sequence[str], versions: Sequence[Version], where: str = "the source"
) -> list[Version]:
    """Return references in which each text that one lacks comes from the first that has it.

    Args:
        names: the file of each reference, for messages.
        versions: references of the same sentences.
        where: the file of the sources, for messages.

    Raises:
        InputError: no reference has a text; names file and line.
    """
    if not any(version.borrowed for version in versions):
        return list(versions)
    # Texts come before M2, whose lines are tokens.
    lenders = [
        (version.lines, frozenset(version.borrowed))
        for version in sorted(versions, key=lambda version: version.edits is not None)
    ]
    filled = []
    for name, version in zip(names, versions, strict=True):
        lines = dict(enumerate(version.lines)) if version.borrowed else {}
        for row in version.borrowed:
            lender = next((of for of, lacks in lenders if row not in lacks and row < len(of)), None)
            if lender is None:
                place = f"{name}, line {row + 1}"
                if version.ids is not None:
                    one, line = list(version.ids.items())[row]
                    place = f"{name}: {version.key} = {one:.60} is missing, which {where} has in "
                    place += f"line {line}"
                raise InputError(
                    f"{place}: no file has a reference of this text; expected at least one (a text "
                    "without errors is repeated), or leave the text out of every file"
                )
            lines[row] = lender[row]
        filled.append(replace(version, lines=tuple(lines.values())) if lines else version)
    return filled


def empty_note(version: Version, sources: Sequence[str]) -> str:
    """Return a remark on the empty lines of a reference; empty where it has none."""
    # In M2, a deleted sentence is an edit that somebody made.
    if version.edits is not None:
        return ""
    lines = enumerate(version.lines)
    blank = (row for row, line in lines if not line or line.isspace())
    empty = [row + 1 for row in blank if sources[row].strip()]
    if not empty:
        return ""
    return (
        f"{len(empty)} of {len(sources)} lines {'is' if len(empty) == 1 else 'are'} empty "
        f"({named_lines(empty)}), which counts as a deleted sentence; {NO_REFERENCE} says that "
        "there is no reference"
    )


def gold_versions(blocks: Sequence[M2Sentence]) -> tuple[Version, ...]:
    """Return gold edits as references, one for each annotator.

    A sentence without lines of an annotator is unchanged in that annotator's reference. In a
    ragged block the reference is that of the first annotator instead, who saw the sentence.

    Args:
        blocks: one block per sentence; without blocks there are no references.
    """
    if not blocks:
        return ()
    annotators = sorted({a for block in blocks for a in block.annotators}) or [0]

    def present(block: M2Sentence, annotator: int) -> int:
        instead = block.ragged and annotator not in block.annotators
        return block.annotators[0] if instead and block.annotators else annotator

    return tuple(
        Version(
            tuple(block.text(present(block, annotator)) for block in blocks),
            tuple(block.edits(present(block, annotator)) for block in blocks),
            tuple(block.source for block in blocks),
        )
        for annotator in annotators
    )


def wrong_count(
    name: str, lines: Sequence[str], source: str, sources: Sequence[str], *, files: bool
) -> InputError:
    """Return the error for a text that has more or fewer lines than its source.

    Args:
        lines: its lines; files that stay on disk are not searched for the place.
        sources: lines of the source.
        files: whether the names are those of files.
    """
    message = f"{name} has {len(lines)} lines, but {source} has {len(sources)}"
    if isinstance(sources, FileLines) or isinstance(lines, FileLines):
        return InputError(f"{message}: expected a line for each source line")
    view = layout(sources, lines)
    message = f"{message}; {view.refusal or next(view.messages)}"
    if view.refusal or not files:
        return InputError(message)
    fill = ["--fill"] * any(place.kind == "dropped" for place in view.places)
    paths = ["-" if text == shown_path("-") else text for text in (source, name)]
    command = shlex.join(["gecjury", "check", *paths, "--fix", "FOLDER", *fill])
    return InputError(f"{message}. `{command}` shows each place and writes a repaired copy")


def _versions_print(versions: Iterable[Version]) -> str:
    """Return the `fingerprint` of versions, each as one JSON text: lines, edits, and marks."""
    digest = hashlib.sha256()
    for version in versions:
        # The length comes first, so texts on disk are read twice and never held in memory.
        on_disk = isinstance(version.lines, FileLines)
        pieces = [] if on_disk else list(_json_pieces(version))
        digest.update(b"%d:" % sum(map(len, pieces or _json_pieces(version))))
        for piece in pieces or _json_pieces(version):
            digest.update(piece)
    return digest.hexdigest()[:16]


def _json_pieces(version: Version) -> Iterator[bytes]:
    before = b"[["
    for start in range(0, len(version.lines), _HASHED):
        part = version.lines[start : start + _HASHED]
        data = "\n".join(part).encode("utf-8", "surrogatepass")
        # Where only quotation marks need escaping, joining the lines is four times as fast.
        if len(data.translate(None, _ESCAPED)) == len(data) - len(part) + 1:
            lines = b'"%b"' % data.replace(b'"', b'\\"').replace(b"\n", b'", "')
        else:
            text = json.dumps(part, ensure_ascii=False)[1:-1]
            lines = text.encode("utf-8", "surrogatepass")
        yield before + lines
        before = b", "
    edits = version.edits and [
        [(e.start, e.end, e.correction, e.type) for e in line] for line in version.edits
    ]
    # Marks affect scores of detection; versions without marks keep the fingerprint they had.
    marks = [] if version.marks is None else [version.marks]
    rest = json.dumps([edits, *marks], ensure_ascii=False)[1:]
    yield f"{'' if version.lines else '[['}], {rest}".encode("utf-8", "surrogatepass")


def fingerprint(parts: Iterable[str]) -> str:
    """Return the SHA-256 over length-prefixed strings, shortened to 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # With the length in front, no two lists of strings give the same bytes.
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()[:16]


def distinct_groups(
    corpus: Corpus, size: int, seed: int, *, drawn: bool = False
) -> tuple[Group, ...]:
    """Put every distinct hypothesis of every source into groups of at most `size`.

    Systems with the same text share a place. More than `size` distinct texts are shuffled (the
    generator is seeded with `seed` and the sentence's index, so a sentence's groups do not depend
    on the others) and cut into groups that overlap by one text, so that their scales can be
    compared; the last group is filled up from the start.

    Args:
        corpus: sources and hypotheses.
        size: maximum number of places in a group, at least 2.
        seed: seed of the shuffling.
        drawn: shuffle the texts of every sentence using only `seed`, the source and the texts, so
            that neither the order of the systems nor the place in the corpus matters.
    """
    groups: list[Group] = []
    for row in range(len(corpus)):
        places = corpus.distinct(row)
        texts = list(places)
        if drawn:
            texts.sort(key=partial(_drawn_rank, seed, corpus.sources[row]))
        elif len(texts) > size:
            order = np.random.default_rng([seed, row]).permutation(len(texts))
            texts = [texts[index] for index in order]
        systems = [tuple(places[text]) for text in texts]
        # Neighbouring groups share one text, so that their scales can be compared.
        starts = range(0, max(len(systems) - 1, 1), max(size - 1, 1))
        for part, start in enumerate(starts):
            chosen = systems[start : start + size]
            if part:
                chosen += systems[: size - len(chosen)]
            groups.append(Group(f"{row}.{part}", row, tuple(chosen)))
    return tuple(groups)


def _drawn_rank(seed: int, source: str, text: str) -> str:
    return fingerprint([str(seed), source, text])
