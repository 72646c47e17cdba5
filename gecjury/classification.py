"""Error types of edits, by the `errant` package's own English rules on light tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gecjury.errors import InputError
from gecjury.merging import Span
from gecjury.parsing import Parsed

__all__ = ["Classifier"]


class Classifier:
    """Types edits as `errant.en.classifier` does."""

    def __init__(self) -> None:
        from errant.en import classifier

        self._classify: Callable[[Any], Any] = classifier.classify

    def types(self, spans: list[Span], source: Parsed, corrected: Parsed) -> list[str]:
        """The error type of each span of one sentence pair, e.g. `R:VERB:TENSE`.

        Raises:
            InputError: the tagger gave a tag that the rules do not know.
        """
        left, right = _Side(source), _Side(corrected)
        try:
            return [self._classify(_Edit(span, left, right)).type for span in spans]
        except KeyError as error:
            raise InputError(
                f"the tagger gave the tag {error} in {' '.join(source.texts)!r} or its "
                "correction, which ERRANT's rules do not know; use a tagger with Penn Treebank "
                "tags, such as the embedded one"
            ) from None


class _Side:
    """One sentence of a pair, as the rules look at it."""

    def __init__(self, sentence: Parsed) -> None:
        self.sentence = sentence
        self._children: list[list[int]] | None = None

    def children(self, index: int) -> list[int]:
        """Indices of a token's dependants, from left to right."""
        if self._children is None:
            self._children = [[] for _ in range(len(self.sentence))]
            for child, head in enumerate(self.sentence.heads):
                if head != child:
                    self._children[head].append(child)
        return self._children[index]


class _Token:
    """A token with the attributes of spaCy's that the rules read."""

    __slots__ = ("dep_", "index", "lemma", "lower", "lower_", "pos", "side", "tag_", "text")

    def __init__(self, side: _Side, index: int) -> None:
        sentence = side.sentence
        self.side, self.index = side, index
        self.text = sentence.texts[index]
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


class _Edit:
    """An edit with the attributes of errant's that the rules read and set."""

    __slots__ = ("c_str", "c_toks", "o_str", "o_toks", "type")

    def __init__(self, span: Span, source: _Side, corrected: _Side) -> None:
        o_start, o_end, c_start, c_end = span
        self.o_toks = [_Token(source, i) for i in range(o_start, o_end)]
        self.c_toks = [_Token(corrected, i) for i in range(c_start, c_end)]
        self.o_str = " ".join(source.sentence.texts[o_start:o_end])
        self.c_str = " ".join(corrected.sentence.texts[c_start:c_end])
        self.type = "NA"
        if self.o_str != self.c_str:
            self._drop_same_end()

    def _drop_same_end(self) -> None:
        """Leave out last tokens that differ in case alone.

        The rules do so themselves, one token a call of a function within itself, which ends in an
        error beyond a thousand.
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
