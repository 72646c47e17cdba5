"""Paragraphs and essays as sentences: sources are cut, and their corrections are cut to match."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.english import keeps_stop
from gecjury.corpus.lines import layout
from gecjury.corpus.mending import cut_line, joined_lines

# Where a sentence may end: after its full stop and closing marks, before a capital letter, a digit
# or an opening mark; in scripts without blanks after the full stop.
_END = re.compile(
    r"(?:[.!?…]+\s?[\"'”’»)\]]*\s+(?=[^\W\d_a-zß-öø-ÿа-яґєії]|\d|[\"'“‘«(\[])|[。！？][」』”）]*)"
)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; an abbreviation or an initial ends none."""
    parts: list[str] = []
    start = 0
    for match in _END.finditer(text):
        word = text[start : match.end()].rstrip().rpartition(" ")[2]
        if keeps_stop(word):
            continue
        parts.append(text[start : match.end()].strip())
        start = match.end()
    parts.append(text[start:].strip())
    return [part for part in parts if part] or [""]


def split_corpus(corpus: Corpus) -> Corpus:
    """Return a corpus of sentences, each with its neighbours in the paragraph as context.

    Args:
        corpus: texts of one or more sentences, as they were written.

    Raises:
        InputError: texts with edits, whose tokens are counted from the start of a line.
    """
    for role, version in corpus.versions().items():
        if version.edits is not None or version.marks is not None:
            raise InputError(
                f"{corpus.label(role)}: has edits of whole lines; `split=` is for plain text "
                "(`gecjury m2 apply` writes the text of M2)"
            )
    if corpus.gold is not None or corpus.reference_sets:
        raise InputError("`split=` is for a source, outputs and references of plain text")
    parts = [sentences(line) for line in corpus.sources]

    def cut(version: Version) -> Version:
        rows = zip(parts, version.lines, strict=True)
        lines = tuple(line for of_row, text in rows for line in aligned_sentences(of_row, text))
        return replace(version, lines=lines, ids=None, borrowed=())

    contexts = [
        (of_row[n - 1] if n else "", of_row[n + 1] if n + 1 < len(of_row) else "")
        for of_row in parts
        for n in range(len(of_row))
    ]
    return corpus.with_versions(
        cut,
        sources=tuple(sentence for of_row in parts for sentence in of_row),
        contexts=tuple(contexts),
        source_read=None,
    )


def aligned_sentences(sources: Sequence[str], text: str) -> list[str]:
    """Return a correction in as many parts as its source has sentences; nothing is lost.

    Args:
        sources: the sentences of the source.
        text: their correction.
    """
    if len(sources) == 1:
        return [text]
    lines = sentences(text)
    parts = [""] * len(sources)
    for step in layout(sources, lines).steps:
        here = joined_lines([lines[row] for row in step.lines]) if step.lines else ""
        of_step = [sources[row] for row in step.sources]
        cuts = cut_line(here, of_step) if len(of_step) > 1 and here else []
        # A sentence of its own belongs to the one before it.
        before = max((n for n, part in enumerate(parts) if part), default=0)
        at = step.sources.start if step.sources else before
        for n, part in enumerate(cuts or [here]):
            if part:
                parts[at + n] = joined_lines([p for p in (parts[at + n], part) if p])
    return parts
