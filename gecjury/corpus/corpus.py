"""Sources with the hypotheses and references that correct them.

Example:
    >>> corpus = Corpus(("He go .",), {"mine": Version(("He goes .",))})
    >>> corpus.names, len(corpus), corpus.systems["mine"].lines
    (('mine',), 1, ('He goes .',))
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from operator import itemgetter
from typing import NamedTuple, TypeVar

from gecjury.core.errors import InputError, nearest
from gecjury.core.records import PassedOn
from gecjury.core.textfiles import FileLines
from gecjury.core.wording import WARNING, listed
from gecjury.corpus.edits import Edit, differing_spans, marked_edits, overlapping_edits
from gecjury.corpus.fingerprints import fingerprint, texts_print
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.lines import misfit, wrong_count
from gecjury.corpus.m2 import M2Sentence

_T = TypeVar("_T")


class ReferenceMark(NamedTuple):
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
    marks: tuple[tuple[ReferenceMark, ...], ...] | None = None
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

    @property
    def printed(self) -> tuple[Sequence[str], list[object]]:
        """The lines, and the edits and marks, that a fingerprint of the version covers."""
        edits = self.edits and [
            [(e.start, e.end, e.correction, e.type) for e in line] for line in self.edits
        ]
        # Marks affect scores of detection; versions without marks keep the fingerprint they had.
        return self.lines, [edits] if self.marks is None else [edits, self.marks]

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
        reading_notes: remarks on how tokens and signs were read, for all texts together.
        reference_systems: the system that each reference belongs to; empty where all systems are
            compared with all references.
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
    reading_notes: tuple[str, ...] = field(default=(), repr=False, compare=False)
    reference_systems: tuple[str, ...] = field(default=(), repr=False)
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
                    label, version.lines, source, self.sources, files=self.has_file("source")
                )
            if version.sources is not None:
                _check_sources(source, self.sources, self.label(role), version.sources)
        of_system = Counter(self.reference_systems)
        if self.reference_systems and (
            of_system.total() != len(self.references) or len(set(of_system.values())) > 1
        ):
            numbers = ", ".join(f"{name} {number}" for name, number in of_system.items())
            raise InputError(
                f"{len(self.references)} references, of systems: {numbers}; expected a system for "
                "each reference, and as many references for every system"
            )
        if self.gold is not None:
            gold = self.label("gold")
            if len(self.gold) != count:
                raise InputError(
                    f"{gold} has {len(self.gold)} blocks, but {source} has {count} lines: both "
                    "must have the same sentences"
                )
            edited = [block.source for block in self.gold]
            _check_sources(source, self.sources, gold, edited)

    def versions(self, *, references: bool = True) -> dict[str, Version]:
        """Return the versions by the roles that `label` names."""
        versions = {f"system {name}": version for name, version in self.systems.items()}
        if references:
            versions |= {f"reference {n}": version for n, version in enumerate(self.references)}
        return versions

    def with_versions(self, change: Callable[[Version], Version], **others: PassedOn) -> Corpus:
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
        if role in self._labels:
            return self._labels[role]
        kind, _, number = role.rpartition(" ")
        if kind == "reference" and number.isdecimal():
            return f"reference {int(number) + 1}"  # people count from 1
        return _UNNAMED.get(role, role)

    def has_file(self, role: str) -> bool:
        """Return True if the text that `label` names came from a file of the user's."""
        return role in self._labels

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def names(self) -> tuple[str, ...]:
        """The system names in order."""
        return tuple(self.systems)

    @cached_property
    def misfits(self) -> dict[str, str]:
        """Warnings of texts whose lines do not fit the source, by `label`'s roles."""
        if self.drawn is not None:
            return self.drawn[0].misfits
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
                version, lines=held(version.lines), text=version.text and held(version.text)
            ),
            sources=held(self.sources),
            source_text=self.source_text and held(self.source_text),
        )

    def with_systems(self, names: Iterable[str]) -> Corpus:
        """Return the corpus with some systems only, in the order given."""
        return replace(
            self,
            systems={name: self.systems[name] for name in names},
            _hypotheses=self.hypotheses,
        )

    def alone(self, system: str) -> Corpus:
        """Return the corpus with one system and the references that it is compared with.

        Raises:
            InputError: references are of single systems, and none is of this one.
        """
        one = self.with_systems([system])
        if not self.reference_systems:
            return one
        own = [n for n, name in enumerate(self.reference_systems) if name == system]
        if not own:
            raise InputError(
                f"no reference is of {system}, but each is of one system "
                f"({listed(self.reference_systems[:5])}); expected references of all systems "
                "(`references=FILE`)"
            )
        files = {f"reference {n}": self._labels.get(f"reference {k}") for n, k in enumerate(own)}
        return replace(
            one,
            references=tuple(self.references[n] for n in own),
            reference_systems=(),
            _labels={**self._labels, **{role: file for role, file in files.items() if file}},
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
        return replace(
            self,
            references=versions,
            reference_name=name,
            reference_systems=(),
            _labels=labels,
        )

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
        """Fingerprint of the references, including given edits and systems."""
        prints = [version.printed for version in self.references]
        if self.reference_systems:
            named = sorted(zip(self.reference_systems, prints, strict=True), key=itemgetter(0))
            prints = [(lines, [*rest, name]) for name, (lines, rest) in named]
        return texts_print(prints)

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
        return {name: texts_print([version.printed]) for name, version in self.systems.items()}


def _check_sources(
    name: str, sources: Sequence[str], other: str, other_sources: Sequence[str]
) -> None:
    """Refuse edits made for other sentences, which would make any score meaningless."""
    for row, (source, edited) in enumerate(zip(sources, other_sources, strict=True)):
        if source != edited and source.split() != edited.split():
            one, two = "".join(source.split()), "".join(edited.split())
            folded = [unicodedata.normalize("NFKC", text) for text in (one, two)]
            widths = _WIDTHS if one != two and folded[0] == folded[1] else ""
            raise InputError(
                f"{other} has edits of other sentences than {name}; the first "
                f"that differs is sentence {row + 1}{widths}:\n  {source}\n  {edited}"
            )


def _kept(lines: Sequence[str]) -> Sequence[str]:
    """Return lines as a key of a cache."""
    return lines if isinstance(lines, FileLines) else tuple(lines)


# A text is looked at once, whatever metrics read it and whichever other systems are beside it.
_misfit = lru_cache(maxsize=128)(misfit)


def _rows_of(read: Callable[[], Sequence[Version]], rows: Sequence[int]) -> list[Version]:
    return [version.take(rows) for version in read()]


def _taken(lines: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    # A run of lines that stay on disk is read at once.
    if isinstance(rows, range) and rows.step == 1:
        return tuple(lines[rows.start : rows.stop])
    return tuple(lines[row] for row in rows)


def _chosen(values: Sequence[_T] | None, rows: Sequence[int]) -> tuple[_T, ...] | None:
    return None if values is None else tuple(values[row] for row in rows)


def held(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines in memory."""
    return tuple(lines.held()) if isinstance(lines, FileLines) else lines
