"""Shared helpers: small corpora drawn by hypothesis, and a naive n-gram counter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from hypothesis import strategies as st

from gecjury.core.runtime import Bar, Progress

# Words that collide often, one with a combining mark, one emoji of two code points.
WORDS = ("a", "b", "c", "d", "é", "e\u0301", "👍🏽", "don't", ".")
# White space that str.split splits on: ASCII, no-break, ideographic, em quad.
BLANKS = (" ", "  ", "\t", "\u00a0", "\u3000", "\u2001")


class Steps(Progress):
    """A progress that records totals, steps and notes by description."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.notes: list[str] = []

    def task(self, description: str, total: float | None = None) -> AbstractContextManager[Bar]:
        """Return a bar that counts its steps; a missing total counts as 0."""
        steps = self
        steps.totals[description] += int(total or 0)

        class Counting(Bar):
            def advance(self, count: float = 1) -> None:
                steps.done[description] += int(count)

            def note(self, text: str) -> None:
                steps.notes.append(text)

        return nullcontext(Counting())


@dataclass(frozen=True)
class Texts:
    """A corpus as plain lists."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: list[list[str]]

    def rows(self, rows: Iterable[int]) -> Texts:
        """Return the corpus of the given sentences, in order and with repetitions."""
        chosen = list(rows)
        return Texts(
            [self.sources[row] for row in chosen],
            {name: [lines[row] for row in chosen] for name, lines in self.systems.items()},
            [[lines[row] for row in chosen] for lines in self.references],
        )


@st.composite
def sentences(draw: st.DrawFn, longest: int = 7) -> str:
    """Draw a sentence of 0 to `longest` words with any white space between and around them."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=longest))
    blanks = draw(
        st.lists(st.sampled_from(BLANKS), min_size=len(words) + 1, max_size=len(words) + 1)
    )
    outer = draw(st.booleans())
    text = "".join(blank + word for blank, word in zip(blanks, words, strict=False))
    return text + blanks[-1] if outer else text.strip()


@st.composite
def corpora(draw: st.DrawFn, references: int = 3) -> Texts:
    """Draw a corpus of 1 to 4 sentences, 1 to 3 systems and 1 to `references` references."""
    count = draw(st.integers(1, 4))
    lines = st.lists(sentences(), min_size=count, max_size=count)
    systems = draw(st.lists(lines, min_size=1, max_size=3))
    return Texts(
        draw(lines),
        {f"system{number}": texts for number, texts in enumerate(systems)},
        draw(st.lists(lines, min_size=1, max_size=references)),
    )


def tokens_of(text: str, unit: str) -> list[str]:
    """Return words split on white space, or characters; only `line` keeps outer white space."""
    if unit == "word":
        return text.split()
    return list(text if unit == "line" else text.strip())


def grams(text: str, n: int, unit: str) -> Counter[tuple[str, ...]]:
    """Return the multiset of n-grams of one order."""
    tokens = tokens_of(text, unit)
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))
