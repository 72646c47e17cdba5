"""Extractors that read, align, merge and type; ERRANT's types come from the package `errant`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TextIO

from gecjury.core.errors import InputError
from gecjury.core.runtime import import_alone
from gecjury.corpus.edits import Edit, ExtractedEdits, TextPair
from gecjury.extraction.alignment import Aligner
from gecjury.extraction.merging import (
    LONGEST_RUN,
    SPELLED,
    Rules,
    Span,
    errant_rules,
    merge_operations,
)
from gecjury.extraction.parsing import LONGEST_WHOLE, Operation, Parsed, Parser
from gecjury.extraction.tagger import Pipeline
from gecjury.extraction.tagger.fast import Embedded

# Types remembered at once, about 600 bytes each.
_REMEMBERED = 100_000


class Typer(ABC):
    """A typer of edits that applies its rules once to each distinct edit.

    All sentences must come from one reader, since the reader's keys of tokens are compared.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], str] = {}

    def types(self, spans: list[Span], source: Parsed, corrected: Parsed) -> list[str]:
        """Return the error type of each span of one sentence pair, e.g. `R:VERB:TENSE`."""
        kinds: list[str] = []
        for span in spans:
            key = self._key(span, source, corrected)
            kind = self._known.get(key) if key else None
            if kind is None:
                kind = self._type(span, source, corrected)
                if key:
                    if len(self._known) >= _REMEMBERED:
                        self._known.clear()
                    self._known[key] = kind
            kinds.append(kind)
        return kinds

    def _key(self, span: Span, source: Parsed, corrected: Parsed) -> tuple[object, ...] | None:
        """Return a key that decides an edit's type; None if more than its tokens decides it."""
        start, end, first, last = span
        return tuple(source.keys[start:end]), tuple(corrected.keys[first:last])

    @abstractmethod
    def _type(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        """Return the type of an edit by the rules."""


class Classifier(Typer):
    """A typer of edits by the rules of `errant.en.classifier`.

    The rules look only at an edit's tokens with their tags and dependency labels, unless it
    replaces one verb by another of the same lemma. Then they look for auxiliaries around both, so
    the types of such edits are not remembered.
    """

    def __init__(self, classify: Callable[[_TypedEdit], _TypedEdit] | None = None) -> None:
        """Prepare the rules.

        Args:
            classify: function that sets an edit's type; errant's own if None.
        """
        super().__init__()
        # The package itself would import spaCy.
        _, classifier = import_alone("spacy.symbols", "errant.en.classifier", open=_opened)
        if not classifier.spell:
            words = _WordList(classifier.base_dir / "resources" / _WORD_LIST)
            vars(classifier)["spell"] = words
        self._classify: Callable[[_TypedEdit], _TypedEdit] = classify or classifier.classify
        self._verbal: frozenset[str] = frozenset(
            tag for tag, pos in classifier.pos_map.items() if pos == "VERB"
        )

    def _key(self, span: Span, source: Parsed, corrected: Parsed) -> tuple[object, ...] | None:
        start, end, first, last = span
        if end - start == 1 == last - first:
            if (
                source.lemmas[start] == corrected.lemmas[first]
                and source.tags[start] in self._verbal
                and corrected.tags[first] in self._verbal
            ):
                return None
        elif end > start and last > first and source.lowers[end - 1] == corrected.lowers[last - 1]:
            return None  # the rules drop that token, which may leave one verb on each side
        return (
            end - start,
            *source.keys[start:end],
            *source.tags[start:end],
            *source.deps[start:end],
            *corrected.keys[first:last],
            *corrected.tags[first:last],
            *corrected.deps[first:last],
        )

    def _type(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        try:
            return self._classify(
                _TypedEdit(span, _ParsedSide(source), _ParsedSide(corrected))
            ).type
        except KeyError as error:
            raise InputError(
                f"the tagger gave the tag {error} in {' '.join(source.texts)!r} or its "
                "correction, which ERRANT's rules do not know; use a tagger with Penn Treebank "
                "tags, such as the embedded one"
            ) from None


_WORD_LIST = "en_GB-large.txt"
# Words looked for in the file, each in half a millisecond, before it is read into a set.
_SEARCHED = 100


def _opened(path: Path) -> TextIO:
    """Open a file of errant; its list of words, which takes longest to read, seems empty."""
    return StringIO() if path.name == _WORD_LIST else path.open(encoding="utf-8")


class _WordList:
    """ERRANT's list of words, which is only read into a set if many words are looked up."""

    def __init__(self, path: Path) -> None:
        self._lines = f"\n{path.read_text(encoding='utf-8').strip()}\n"
        self._lookups = 0

    def __contains__(self, word: str) -> bool:
        self._lookups += 1
        if self._lookups > _SEARCHED:
            return word in self._words
        return f"\n{word}\n" in self._lines

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self._lines.strip().split("\n"))


class _ParsedSide:
    """A sentence of a pair, in the form that the rules read."""

    def __init__(self, sentence: Parsed) -> None:
        self.sentence = sentence
        self._children: list[list[int]] | None = None

    def children(self, index: int) -> list[int]:
        """Return the indices of a token's dependants, from left to right."""
        if self._children is None:
            self._children = [[] for _ in range(len(self.sentence))]
            for child, head in enumerate(self.sentence.heads):
                if head != child:
                    self._children[head].append(child)
        return self._children[index]


class _Token:
    """A token with those of spaCy's attributes that the rules read."""

    __slots__ = ("dep_", "index", "lemma", "lower", "lower_", "pos", "side", "tag_", "text")

    def __init__(self, side: _ParsedSide, index: int) -> None:
        sentence = side.sentence
        self.side, self.index = side, index
        self.text = sentence.texts[index][:SPELLED]
        self.lower = self.lower_ = sentence.lowers[index]
        self.lemma = sentence.lemmas[index]
        self.pos = sentence.poses[index]
        self.tag_ = sentence.tags[index]
        self.dep_ = sentence.deps[index]

    @property
    def head(self) -> _Token:
        return _Token(self.side, self.side.sentence.heads[self.index])

    @property
    def children(self) -> list[_Token]:
        return [_Token(self.side, child) for child in self.side.children(self.index)]


class _TypedEdit:
    """An edit with those of errant's attributes that the rules read and set."""

    __slots__ = ("c_str", "c_toks", "o_str", "o_toks", "type")

    def __init__(self, span: Span, source: _ParsedSide, corrected: _ParsedSide) -> None:
        o_start, o_end, c_start, c_end = span
        self.o_toks = [_Token(source, i) for i in range(o_start, o_end)]
        self.c_toks = [_Token(corrected, i) for i in range(c_start, c_end)]
        self.o_str = " ".join(source.sentence.texts[o_start:o_end])
        self.c_str = " ".join(corrected.sentence.texts[c_start:c_end])
        self.type = "NA"
        if self.o_str != self.c_str:
            self._drop_same_end()

    def _drop_same_end(self) -> None:
        """Drop last tokens that differ only in case.

        The rules do so themselves, but with a recursive call for each token, which fails beyond a
        thousand tokens.
        """
        o_toks, c_toks = self.o_toks, self.c_toks
        while (
            o_toks
            and c_toks
            and o_toks[-1].lower == c_toks[-1].lower
            and (len(o_toks) > 1 or len(c_toks) > 1)
        ):
            o_toks.pop()
            c_toks.pop()


# Sentences parsed at once. A parse is dropped after the last pair that needs it.
_WINDOW = 1024


@dataclass(frozen=True)
class Extractor:
    """An extractor of edits, built from parts that belong to one kind of tagger.

    Attributes:
        parse: reads distinct sentences, tokens split on white space.
        aligner: aligns their tokens.
        rules: rules that merge aligned operations.
        typer: assigns types to merged spans.
    """

    parse: Callable[[Iterable[str]], dict[str, Parsed]]
    aligner: Aligner
    rules: Rules
    typer: Typer

    def extract(self, pairs: Sequence[TextPair]) -> Iterator[tuple[TextPair, ExtractedEdits]]:
        """Yield the edits of distinct pairs, in order; each distinct sentence is parsed once."""
        uses = Counter(sentence for pair in pairs for sentence in pair)
        parses: dict[str, Parsed] = {}
        begin = 0
        while begin < len(pairs):
            new: dict[str, None] = {}
            end = begin
            # Parsing is fastest in bulk, but parses are large, so it is done window by window.
            while end < len(pairs) and len(new) < _WINDOW:
                new.update((s, None) for s in pairs[end] if s not in parses)
                end += 1
            parses.update(self.parse(new))
            for pair in pairs[begin:end]:
                yield pair, self.pair(parses[pair[0]], parses[pair[1]])
                for sentence in pair:
                    uses[sentence] -= 1
                    if not uses[sentence]:
                        del parses[sentence]
            begin = end

    def pair(self, source: Parsed, corrected: Parsed) -> ExtractedEdits:
        """Return the edits of one parsed pair."""
        before = self.aligner.coarse
        operations = self.aligner.align(source, corrected)
        coarse = self.aligner.coarse > before or len(operations) > LONGEST_RUN
        coarse = coarse or max(len(source), len(corrected)) > LONGEST_WHOLE
        edits = tuple(
            Edit(span[0], span[1], " ".join(corrected.texts[span[2] : span[3]]), kind)
            for span, kind in self.divided(operations, source, corrected)
        )
        return ExtractedEdits(edits, coarse)

    def divided(
        self, operations: Sequence[Operation], source: Parsed, corrected: Parsed
    ) -> list[tuple[Span, str]]:
        """Return the spans of edits from left to right, with their types."""
        spans = merge_operations(operations, source, corrected, self.rules)
        return list(zip(spans, self.typer.types(spans, source, corrected), strict=True))


def errant_extractor(nlp: Embedded | Pipeline) -> Extractor:
    """Return the extractor of ERRANT's edits with a tagger."""
    return Extractor(Parser(nlp).parse, Aligner(), errant_rules(), Classifier())
