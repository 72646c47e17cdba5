"""Gold edits: the scheme of their types, and several M2 files joined as one gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from gecjury.core.wording import visible
from gecjury.corpus.corpus import Version
from gecjury.corpus.edits import NOOP
from gecjury.corpus.m2 import M2Annotation, M2Sentence, m2_annotations

# The categories that ERRANT's English rules can give (Bryant et al. 2017, release 3.0), after the
# operation.
_BY_RULES = {
    "ADJ", "ADJ:FORM", "ADV", "CONJ", "CONTR", "DET", "MORPH", "NOUN", "NOUN:INFL", "NOUN:NUM",
    "NOUN:POSS", "ORTH", "OTHER", "PART", "PREP", "PRON", "PUNCT", "SPELL", "VERB", "VERB:FORM",
    "VERB:INFL", "VERB:SVA", "VERB:TENSE", "WO",
}  # fmt: skip
# Limits for other types in a message: their number, and the characters of each.
_SHOWN, _LONGEST = 3, 40

Scheme = Literal["errant", "plain", "universal", "cherrant"]
"""The rules that give edits their types: ERRANT's for English, by form alone (`tagger=none`), by
form and Universal part of speech (`tagger=spacy:NAME`), or ChERRANT's for Chinese characters."""

_BY_FORM = {"ORTH", "OTHER", "PUNCT", "SPACE", "SPELL", "WO"}
# Universal parts of speech, except PUNCT and SPACE, which are types by form.
_PARTS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON"),
    *("PROPN", "SCONJ", "SYM", "VERB", "X"),
}
_BY_PART = _BY_FORM | _PARTS | {"MORPH"} | set(map("{}:FORM".format, _PARTS))
_CATEGORIES: dict[Scheme, set[str]] = {
    "errant": _BY_RULES,
    "plain": _BY_FORM,
    "universal": _BY_PART,
}


def has_type_of(scheme: Scheme, kind: str) -> bool:
    """Return True for a type of a scheme: `M:`, `R:` or `U:` and a category, or `UNK`.

    ChERRANT's types of characters have no category. ERRANT's types for other languages (`R:DIACR`)
    belong to no scheme.
    """
    if scheme == "cherrant":
        return kind in ("M", "R", "S", "W", "UNK")
    operation, _, category = kind.partition(":")
    return kind == "UNK" or (operation in ("M", "R", "U") and category in _CATEGORIES[scheme])


def have_types(versions: Iterable[Version], scheme: Scheme = "errant") -> bool:
    """Return True if hypotheses have a scheme's types: extracted edits do, given edits may.

    False if every hypothesis with types came with edits of another scheme.

    Args:
        versions: the hypotheses.
        scheme: scheme of the types.
    """
    of_scheme = []
    for version in versions:
        # A missing type, or one that means no edit or no correction, belongs to no scheme.
        types = None if version.types is None else version.types.keys() - {"", NOOP, "UNK"}
        if types is None or types:
            of_scheme.append(types is None or all(has_type_of(scheme, kind) for kind in types))
    return any(of_scheme) or not of_scheme


def other_types(versions: Iterable[Version], scheme: Scheme = "errant") -> Counter[str]:
    """Return the number of given edits by type, for types that are not of a scheme.

    Args:
        versions: versions with edits; missing types ("") are counted, too.
        scheme: scheme of the types that are not counted.
    """
    types: Counter[str] = sum((version.types or Counter() for version in versions), Counter())
    return Counter({k: n for k, n in types.items() if k != NOOP and not has_type_of(scheme, k)})


def named_types(types: Counter[str]) -> str:
    """Return the most frequent types for a message: `Wci, ArtOrDet, Mec and 24 more`."""
    ordered = sorted(types, key=lambda kind: (-types[kind], kind))
    names = [visible(kind[:_LONGEST]) or "no type" for kind in ordered[: _SHOWN + 1]]
    if len(ordered) <= _SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(ordered) - _SHOWN} more"


def join_annotators(
    files: Sequence[Sequence[M2Sentence]], *, silent: bool = False
) -> tuple[M2Sentence, ...]:
    """Join M2 files of the same sentences; annotators of later files get higher numbers.

    In a single file, a sentence without any line was left unchanged by the annotator. In joined
    files the annotator would be absent there, so the sentence gets a noop. Next to a block in
    which some annotators did not see the sentence, each annotator of another file gets one.

    Args:
        files: blocks of each file, the same number in each.
        silent: leave such sentences without a line.
    """
    if len(files) == 1:
        return tuple(files[0])
    joined: list[list[M2Annotation]] = [[] for _ in files[0]]
    ragged = [any(block.ragged for block in blocks) for blocks in zip(*files, strict=True)]
    base = 0
    for blocks in files:
        annotators = {annotator for block in blocks for annotator in block.annotators}
        unsaid = () if silent else m2_annotations((), min(annotators, default=0))
        for row, block in enumerate(blocks):
            lines: Sequence[M2Annotation] = block.annotations or unsaid
            if ragged[row] and not block.ragged:
                unheard = annotators.difference(line.annotator for line in lines)
                noops = (noop for number in unheard for noop in m2_annotations((), number))
                lines = sorted((*lines, *noops), key=lambda line: line.annotator)
            joined[row] += [
                replace(annotation, annotator=annotation.annotator + base) for annotation in lines
            ]
        # Numbers within a file keep their gaps, so that each file's annotators keep their order.
        base += max(annotators, default=-1 if silent else 0) + 1
    return tuple(
        M2Sentence(block.source, tuple(annotations), some)
        for block, annotations, some in zip(files[0], joined, ragged, strict=True)
    )
