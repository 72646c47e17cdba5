"""Leakage: sentences that a training set shares with the data a metric is tested on."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gecjury.corpus.corpus import Corpus

_QUOTES = str.maketrans(
    {
        "“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"', "″": '"',
        "‘": "'", "’": "'", "‚": "'", "‛": "'", "´": "'", "`": "'", "′": "'",
        "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Leak:
    """A sentence found on both sides.

    Attributes:
        row: index in the training set.
        text: the sentence as it is there.
        where: its role on the other side: `source`, `reference 0`, a system's name.
        line: its index there.
    """

    row: int
    text: str
    where: str
    line: int


def normalise(text: str) -> str:
    """Return a sentence without differences that come from tokenisation and typing habits.

    Case, all white space, and the shape of quotation marks and dashes are dropped, so that
    "`` Don't " + '"' of a tokenised corpus equals its untokenised form.
    """
    # First the signs, since NFKC turns an acute accent into a space and another sign.
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold()
    # Two single marks are one double mark, as Penn Treebank tokens write it.
    text = re.sub(r"\s+", "", text).replace("''", '"')
    # An accent that was separated by a space joins its letter once the space is gone.
    return unicodedata.normalize("NFKC", text)


def sentence_key(text: str) -> str:
    """Return a hash of the normalised sentence, 12 hexadecimal digits, to store with a model."""
    return hashlib.sha256(normalise(text).encode()).hexdigest()[:12]


def corpus_texts(corpus: Corpus, systems: bool = False) -> dict[str, Sequence[str]]:
    """Return the sentences of a corpus by role: source, references, and outputs if wanted."""
    texts: dict[str, Sequence[str]] = {"source": corpus.sources}
    for number, version in enumerate(corpus.references):
        texts[f"reference {number}"] = version.lines
    if systems:
        texts |= {name: version.lines for name, version in corpus.systems.items()}
    return texts


def find_leaks(training: Iterable[str], tested: Mapping[str, Sequence[str]]) -> list[Leak]:
    """Return the training sentences that occur among the tested ones, after normalising.

    Args:
        training: sentences trained on; empty ones are ignored.
        tested: sentences by role, see `corpus_texts`.

    Returns:
        One entry per leaked training sentence, with the first place where it was found.
    """
    places: dict[str, tuple[str, int]] = {}
    for role, lines in tested.items():
        for line, text in enumerate(lines):
            places.setdefault(normalise(text), (role, line))
    # Empty lines are in every corpus and leak nothing.
    places.pop("", None)
    return [
        Leak(row, text, *places[key])
        for row, text in enumerate(training)
        if (key := normalise(text)) in places
    ]


def warning(leaks: Sequence[Leak], training: str, benchmark: str) -> str:
    """Return one line for people; empty where nothing is shared."""
    if not leaks:
        return ""
    first = leaks[0]
    return (
        f"leakage: {len(leaks)} sentences of {training} are in {benchmark}, e.g. row "
        f"{first.row + 1} = {first.where} line {first.line + 1} ({first.text[:60]!r}); results "
        f"of this model on {benchmark} are not evidence"
    )
