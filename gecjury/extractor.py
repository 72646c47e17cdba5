"""ERRANT edits of distinct sentence pairs in one process: parse, align, merge, type."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gecjury.alignment import Aligner
from gecjury.classification import Classifier
from gecjury.corpus.edits import Edit
from gecjury.merging import LONGEST_RUN, merge_operations
from gecjury.parsing import Parsed, Parser

__all__ = ["Extractor", "Found", "Pair"]

Pair = tuple[str, str]
"""Source and corrected sentence, tokens joined by single spaces."""

# Sentences parsed at once. A parse is dropped after the last pair that needs it.
_WINDOW = 1024


class Found(NamedTuple):
    """The edits of a pair.

    Attributes:
        edits: from left to right.
        coarse: whether the pair was too long to be aligned exactly.
    """

    edits: tuple[Edit, ...]
    coarse: bool = False

    def to_json(self) -> str:
        """One line of JSON; a coarse result begins with true."""
        rows: list[Any] = [[e.start, e.end, e.correction, e.type] for e in self.edits]
        return json.dumps([True, *rows] if self.coarse else rows, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Found:
        """Read what `to_json` wrote."""
        rows = json.loads(text)
        coarse = bool(rows) and rows[0] is True
        return cls(tuple(Edit(*row) for row in rows[coarse:]), coarse)


class Extractor:
    """Extracts edits with one spaCy pipeline."""

    def __init__(self, nlp: Any) -> None:
        """Wrap a pipeline; see `gecjury.parsing.Parser`."""
        self._parser = Parser(nlp)
        self._aligner = Aligner()
        self._classifier = Classifier()

    def extract(self, pairs: Sequence[Pair]) -> Iterator[tuple[Pair, Found]]:
        """The edits of distinct pairs, in order; each distinct sentence is parsed once."""
        uses = Counter(sentence for pair in pairs for sentence in pair)
        parses: dict[str, Parsed] = {}
        begin = 0
        while begin < len(pairs):
            new: dict[str, None] = {}
            end = begin
            while end < len(pairs) and len(new) < _WINDOW:
                new.update((s, None) for s in pairs[end] if s not in parses)
                end += 1
            parses.update(self._parser.parse(new))
            for pair in pairs[begin:end]:
                yield pair, self.pair(parses[pair[0]], parses[pair[1]])
                for sentence in pair:
                    uses[sentence] -= 1
                    if not uses[sentence]:
                        del parses[sentence]
            begin = end

    def reduce(self, doc: Any) -> Parsed:
        """A parse made elsewhere; see `Parser.reduce`."""
        return self._parser.reduce(doc)

    def pair(self, source: Parsed, corrected: Parsed) -> Found:
        """The edits of one parsed pair."""
        before = self._aligner.coarse
        operations = self._aligner.align(source, corrected)
        coarse = self._aligner.coarse > before or len(operations) > LONGEST_RUN
        spans = merge_operations(operations, source, corrected)
        types = self._classifier.types(spans, source, corrected)
        edits = tuple(
            Edit(span[0], span[1], " ".join(corrected.texts[span[2] : span[3]]), kind)
            for span, kind in zip(spans, types, strict=True)
        )
        return Found(edits, coarse)
