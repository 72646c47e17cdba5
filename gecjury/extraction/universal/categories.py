"""Types of edits by form, Universal part of speech and lemma."""

from __future__ import annotations

from typing import NamedTuple

from gecjury.extraction.merging import Span
from gecjury.extraction.parsing import Parsed
from gecjury.extraction.plain.categories import PlainTyper, is_near

# Parts of speech that together count as one verb.
_VERBAL = frozenset({"AUX", "PART", "VERB"})


class UniversalTyper(PlainTyper):
    """A typer of edits by form first, then by part of speech and lemma.

    `M` is missing, `R` is replaced, `U` is unnecessary. PUNCT, SPACE, ORTH and WO are as in
    `gecjury.extraction.plain.categories.PlainTyper`. Then, if all tokens have one part of speech
    (auxiliaries, particles and verbs together count as VERB if a verb or auxiliary is among
    them):

    - `M:NOUN`, `U:NOUN`: the noun is missing or unnecessary;
    - `R:NOUN:FORM`: another form of the same lemma, for verbs with or without auxiliaries;
    - `R:SPELL`: another lemma, and one word near the other in characters;
    - `R:NOUN`: another lemma.

    Otherwise `R:MORPH` is a single token of the same lemma and another part of speech, `R:SPELL` a
    near word, and OTHER the rest. An edit that changes nothing is `UNK`.
    """

    def __init__(self) -> None:
        super().__init__()
        from spacy.parts_of_speech import NAMES

        self._names: dict[int, str] = NAMES

    def _category(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        start, end, first, last = span
        return _category(self._side(source, start, end), self._side(corrected, first, last))

    def _side(self, sentence: Parsed, start: int, end: int) -> _Side:
        parts = [self._names[pos] for pos in sentence.poses[start:end]]
        return _Side(sentence.texts[start:end], sentence.lemmas[start:end], parts)


class _Side(NamedTuple):
    """A side of an edit, one entry per token."""

    texts: list[str]
    lemmas: list[str]
    parts: list[str]

    @property
    def verbs(self) -> set[str]:
        """Lemmas of its verbs, without auxiliaries unless there are no others."""
        kind = "VERB" if "VERB" in self.parts else "AUX"
        pairs = zip(self.lemmas, self.parts, strict=True)
        return {lemma for lemma, part in pairs if part == kind}


def _category(old: _Side, new: _Side) -> str:
    part = _shared([*old.parts, *new.parts])
    if not old.texts or not new.texts:
        return part or "OTHER"
    # A verb that gained or lost an auxiliary is another form of the same verb.
    same = old.lemmas == new.lemmas or (part in ("AUX", "VERB") and bool(old.verbs & new.verbs))
    if same and part:
        return f"{part}:FORM"
    if same and len(old.texts) == len(new.texts) == 1:
        return "MORPH"
    return "SPELL" if is_near(old.texts, new.texts) else part or "OTHER"


def _shared(poses: list[str]) -> str:
    """Return the part of speech that all tokens have; "" if they differ or have none."""
    distinct = set(poses)
    if len(distinct) == 1:
        return poses[0]
    return "VERB" if distinct <= _VERBAL else ""
