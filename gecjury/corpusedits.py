"""The edits of a whole corpus: given ones as they are, the others extracted, each pair once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.runtime import Runtime

__all__ = ["CorpusEdits", "corpus_edits"]

Lines = Sequence[tuple[Edit, ...]]


@dataclass(frozen=True)
class CorpusEdits:
    """Edits of every hypothesis and reference, one tuple a sentence.

    Attributes:
        systems: by system, in the corpus' order.
        references: by reference, in order.
        notes: remarks for the user.
    """

    systems: Mapping[str, Lines]
    references: tuple[Lines, ...]
    notes: tuple[str, ...] = ()


def corpus_edits(corpus: Corpus, tagger: str, pos: str, runtime: Runtime) -> CorpusEdits:
    """The edits of all hypotheses and references of a corpus.

    Versions that came with edits (M2) keep them; of the others each distinct sentence is parsed
    once and each distinct pair aligned once, over systems and references together.

    Args:
        corpus: the texts.
        tagger: `embedded` or the name of a spaCy model.
        pos: part-of-speech scheme of the embedded tagger.
        runtime: workers, cache, progress.

    Raises:
        MissingExtraError: spaCy or errant is not installed.
        OptionError: a tagger, or a version of spaCy or errant, that cannot be used.
    """
    from gecjury.extraction import extract

    versions = [*corpus.systems.values(), *corpus.references]
    missing = [version.lines for version in versions if version.edits is None]
    notes: tuple[str, ...] = ()
    extracted: list[list[tuple[Edit, ...]]] = []
    if missing:
        extraction = extract(
            corpus.sources, missing, tagger=tagger, pos_scheme=pos, runtime=runtime
        )
        extracted, notes = extraction.edits, extraction.notes
    made = iter(extracted)
    found = [next(made) if version.edits is None else version.edits for version in versions]
    count = len(corpus.systems)
    return CorpusEdits(
        dict(zip(corpus.systems, found[:count], strict=True)), tuple(found[count:]), notes
    )
