"""The texts that a judge sees: sets of corrections, the context of a source, edits in brackets.

The module contains, in this order, the sets that are judged together and the orders in which they
are shown, the neighbours of a source, corrections with their edits marked, and functions that make
texts safe for a prompt.

A published prompt shows every text on its own line between headings, and the only code fence is
that of the output format. So a text must stay one line, must not open or close a code fence and
must not look like a heading. Our own prompts put texts between two equal lines that no text can
contain (`nonce`). Ordinary sentences are not changed.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.edits import ARROW, Edit, Edits, counted_edits, marked_edits
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.judges.replies.reply import MARK

Context = tuple[str, str] | None
"""Previous and next sentence, empty at the edge of a document; None if they are not known."""


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Distinct corrections of one source that are judged together.

    Attributes:
        row: the source's line.
        texts: the corrections, in the order in which a human saw them if that is known.
        shown: each correction as it is shown: plain, or with its edits marked.
    """

    row: int
    source: str
    context: Context
    texts: tuple[str, ...]
    shown: tuple[str, ...]


def collect_sets(
    corpus: Corpus,
    groups: Sequence[Group],
    contexts: Sequence[Context],
    shown: Mapping[tuple[int, str], str],
) -> tuple[list[CandidateSet], list[tuple[int, tuple[int, ...]]]]:
    """Return the distinct candidate sets of all groups, those of one source adjacent.

    Two groups with the same source, context and corrections, in any order, are one set.

    Args:
        groups: the corrections that are judged together.
        contexts: the context of each row.
        shown: how each text of each row is shown.

    Returns:
        The sets, and for each group the number of its set and the index in that set of the text at
        each of its places.
    """
    numbers: dict[tuple[str, Context, frozenset[str]], int] = {}
    sets: list[CandidateSet] = []
    set_of: dict[int, tuple[int, tuple[int, ...]]] = {}
    for at, group in sorted(enumerate(groups), key=lambda item: item[1].sentence):
        row, texts = group.sentence, corpus.group_texts(group)
        source, context = corpus.sources[row], contexts[row]
        number = numbers.setdefault((source, context, frozenset(texts)), len(sets))
        if number == len(sets):
            distinct = tuple(dict.fromkeys(texts))
            plain = corpus.language.joined(source)
            as_shown = tuple(shown[row, text] for text in distinct)
            as_shown = distinct if as_shown == distinct else as_shown
            sets.append(CandidateSet(row, plain, context, distinct, as_shown))
        set_of[at] = number, tuple(sets[number].texts.index(text) for text in texts)
    return sets, [set_of[at] for at in range(len(groups))]


def permutations(candidates: CandidateSet, orders: int, seed: int) -> list[tuple[int, ...]]:
    """Return the orders in which a set is shown: text indices by position.

    Order 0 is the given order, order 1 its reverse; then follow seeded permutations, each with its
    reverse. So with an even number of orders, every correction is in the middle on average, and a
    bias that is linear in the position cancels out. Apart from the seed, the permutations depend
    only on the texts.
    """
    count = len(candidates.texts)
    digest = text_digest("\n".join([candidates.source, *sorted(candidates.texts)]))
    generator = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
    permuted: list[tuple[int, ...]] = []
    while len(permuted) < orders:
        first = tuple(range(count) if not permuted else generator.permutation(count).tolist())
        permuted += [first, first[::-1]]
    return permuted[:orders]


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of a text, which may contain lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def read_contexts(option: str, corpus: Corpus) -> list[Context]:
    """Return the context of every source.

    Args:
        option: `corpus` (the benchmark's contexts, if it has any), `neighbours` (the lines before
            and after), `none`, or a file with one line per source: the previous and the next
            sentence, separated by a tab.
        corpus: the sources; those of a sample have the contexts of the whole text.

    Raises:
        InputError: the file does not fit; names the line.
    """
    if corpus.drawn is not None:
        whole, rows = corpus.drawn
        contexts = read_contexts(option, whole)
        return [contexts[row] for row in rows]
    count = len(corpus)
    if option in ("none", "corpus"):
        frames = corpus.contexts if option == "corpus" else None
        return [None] * count if frames is None else list(frames)
    if option == "neighbours":
        framed = ["", *map(corpus.language.joined, corpus.sources), ""]
        return [(framed[row], framed[row + 2]) for row in range(count)]
    if not Path(option).exists():
        raise InputError(
            f"context={option}: no such file; expected corpus, neighbours, none, or a file with "
            "the previous and the next sentence of each source, separated by a tab"
        )
    lines = read_lines(option)
    if len(lines) != count:
        raise InputError(f"{option} has {len(lines)} lines, but there are {count} sources")
    pairs = [line.split("\t") for line in lines]
    for number, pair in enumerate(pairs, 1):
        if len(pair) != 2:
            raise InputError(f"{option}, line {number}: expected two sentences and one tab")
    return [(before, after) for before, after in pairs]


def marked(source: str, edits: Sequence[Edit], language: Language = ENGLISH) -> str:
    """Return a correction with its edits inline: `[old→new]`, `[→new]`, `[old→]`.

    Tokens are joined as the language is written: without blanks in Japanese. An arrow in the text
    itself is written `->`, so that only real edits look like edits.
    """
    safe = [replace(edit, correction=mark_safe(edit.correction)) for edit in edits]
    return one_line(language.joined(marked_edits(mark_safe(source).split(), safe)))


def edits_of_pairs(
    corpus: Corpus, pairs: Iterable[tuple[int, str]], runtime: Runtime
) -> dict[tuple[int, str], Edits]:
    """Return the edits that turn sources into corrections, each pair once and in order.

    Args:
        corpus: sources, and edits if its files contain them.
        pairs: rows, each with a correction of its source.
        runtime: workers and caches of the extraction.

    Raises:
        MissingExtraError: edits have to be extracted and a package for that is not installed.
    """
    pairs = list(dict.fromkeys(pairs))
    edits: dict[tuple[int, str], Edits] = {}
    for version in corpus.systems.values():
        ready = zip(enumerate(version.lines), map(counted_edits, version.edits or ()), strict=False)
        edits = dict(ready) | edits  # the first of several systems decides
    edits |= {(r, text): () for r, text in pairs if text.split() == corpus.sources[r].split()}
    todo = [pair for pair in pairs if pair not in edits]
    if todo:
        from gecjury.extraction.extract import extract

        sources, texts = [corpus.sources[row] for row, _ in todo], [text for _, text in todo]
        tagger = corpus.language.tagger
        (extracted,) = extract(sources, [texts], tagger=tagger, runtime=runtime).edits
        edits.update(zip(todo, extracted, strict=True))
    return {pair: edits[pair] for pair in pairs}


def extraction_parts(language: Language) -> dict[str, str]:
    """Return what edits depend on besides the texts.

    Raises:
        MissingExtraError: a package that extraction needs is not installed.
    """
    from gecjury.extraction.taggers import extraction_signature

    return extraction_signature(language.tagger)


_BACKTICKS = re.compile(r"`{3,}")

_HEADING = re.compile(r"^(\s*)(#+\s)")

# Marks that begin or end a turn or reasoning in common chat formats: a tokenizer may read them as
# such, and so may the reader of a reply that quotes them.
_TURN = re.compile(
    rf"<\|[^|<>]{{0,40}}\|>|</?(?:start_of_turn|end_of_turn|s)>|\[/?INST\]|(?i:{MARK.pattern})"
)


def one_line(text: str) -> str:
    r"""Return a text as one harmless line.

    Line breaks of any kind (`\n`, U+2028, vertical tab, ...) and other control characters become
    blanks, invisible direction marks are dropped, three or more backticks become apostrophes, a
    leading `#` is escaped, and special tokens of chat templates are split by blanks.
    """
    # No printable character is changed.
    harmless = text if text.isprintable() else "".join(map(_harmless, text))
    cleaned = harmless.strip()
    cleaned = _BACKTICKS.sub(lambda match: "'" * len(match[0]), cleaned)
    cleaned = _HEADING.sub(r"\1\\\2", cleaned)
    cleaned = _TURN.sub(lambda match: " ".join(match[0]), cleaned)
    # Most texts are harmless, and need not be in memory twice.
    return text if cleaned == text else cleaned


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    # Embeddings, overrides and isolates reorder what a person sees; joiners belong to scripts.
    if character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff":
        return ""
    if category == "Cs":
        return "\ufffd"
    return character


def mark_safe(text: str) -> str:
    """Return a text to be shown with edits in brackets: its own arrows must not look like edits."""
    return text.replace(ARROW, "->")


def nonce(texts: Iterable[str]) -> str:
    """Return a fence line that none of the texts contains; equal texts always have the same line.

    It is computed from the texts' own hash, so that no text can know it in advance.
    """
    joined = "\n".join(texts)
    seed = joined.encode("utf-8", "surrogatepass")
    digests = (hashlib.sha256(b"%d:" % attempt + seed) for attempt in itertools.count())
    marks = (f"=== {digest.hexdigest()[:12]} ===" for digest in digests)
    return next(mark for mark in marks if mark not in joined)
