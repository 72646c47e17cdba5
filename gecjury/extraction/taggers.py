"""Analysers by the name of a tagger.

- `embedded`, or the name of an English spaCy model: ERRANT, whose rules need Penn tags.
- `none`: characters alone, any language (`gecjury.extraction.plain`).
- `spacy:NAME`: any spaCy pipeline with parts of speech and lemmas of Universal Dependencies
  (`gecjury.extraction.universal`).
"""

from __future__ import annotations

from typing import Any

from gecjury.corpus.gold import scheme_of
from gecjury.extraction import plain, universal
from gecjury.extraction.tagger.importing import installed_version, tested_version


def analyser_of(tagger: str, pos_scheme: str) -> Any:
    """Return an `Extractor`'s argument: an analyser, or a spaCy pipeline for ERRANT's.

    Raises:
        MissingExtraError: spaCy or errant is not installed, where the tagger needs it.
        OptionError: the tagger is not installed, or does not give what edits need.
    """
    scheme = scheme_of(tagger)
    if scheme == "plain":
        from gecjury.extraction.plain.analyser import plain_analyser

        return plain_analyser()
    if scheme == "universal":
        from gecjury.extraction.universal.pipelines import universal_analyser

        return universal_analyser(tagger.removeprefix(universal.PREFIX))
    from gecjury.extraction.tagger import load_tagger

    return load_tagger(tagger, pos_scheme)


def extraction_signature(tagger: str = "embedded", pos_scheme: str = "spacy2") -> dict[str, str]:
    """Return what decides edits besides the text: the tagger and the package of its rules.

    Raises:
        MissingExtraError: what the tagger needs is not installed.
        OptionError: the tagger is not installed, or errant is outside the tested range.
    """
    scheme = scheme_of(tagger)
    if scheme == "errant":
        from gecjury.extraction.tagger import tagger_signature

        return {
            "tagger": tagger_signature(tagger, pos_scheme),
            "errant": tested_version("errant", _TESTED_ERRANT, installed_version("errant")),
        }
    # Character distances are rapidfuzz's, which comes with errant.
    installed_version("rapidfuzz")
    if scheme == "plain":
        return {"tagger": f"{plain.NAME} {plain.VERSION}"}
    from gecjury.extraction.universal.pipelines import pipeline_signature

    return pipeline_signature(tagger.removeprefix(universal.PREFIX))


# The errant release whose edits the tests compare with ours.
_TESTED_ERRANT = "3.0"
