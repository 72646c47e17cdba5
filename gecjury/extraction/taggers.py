"""Extractors by the name of a tagger.

- `embedded`, or the name of an English spaCy model: ERRANT, whose rules need Penn tags.
- `none`: characters only, any language (`gecjury.extraction.plain`).
- `cherrant`: Chinese by ChERRANT's rules (`gecjury.extraction.chinese`).
- `spacy:NAME`: any spaCy pipeline with parts of speech and lemmas of Universal Dependencies
  (`gecjury.extraction.universal`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from gecjury.corpus.files.gold import Scheme
from gecjury.extraction import chinese, plain, universal
from gecjury.extraction.pipeline import Extractor, errant_extractor
from gecjury.extraction.tagger import EMBEDDED, Pipeline, load_tagger, tagger_signature
from gecjury.extraction.tagger.fast import Embedded
from gecjury.extraction.tagger.importing import installed_version, tested_version


def scheme_of(tagger: str) -> Scheme:
    """Return the scheme of the types that a tagger's edits have."""
    if tagger in (plain.NAME, chinese.NAME):
        return "plain" if tagger == plain.NAME else "cherrant"
    return "universal" if tagger.startswith(universal.PREFIX) else "errant"


def extractor_of(tagger: str) -> Extractor:
    """Return an extractor; a spaCy pipeline is loaded once for all metrics of a run.

    Raises:
        MissingExtraError: spaCy or errant is not installed, where the tagger needs it.
        OptionError: the tagger is not installed, or does not provide what edits need.
    """
    scheme = scheme_of(tagger)
    if scheme == "plain":
        return plain.plain_extractor()
    if scheme == "cherrant":
        return chinese.chinese_extractor()
    nlp = _loaded(tagger, json.dumps(cache_parts(tagger), sort_keys=True))
    if isinstance(nlp, Embedded) or scheme == "errant":
        return errant_extractor(nlp)
    return universal.universal_extractor(nlp, tagger.removeprefix(universal.PREFIX))


@lru_cache(maxsize=1)
def _loaded(tagger: str, version: str) -> Embedded | Pipeline:
    """Return a tagger's pipeline; `version` distinguishes a retrained model."""
    del version
    if scheme_of(tagger) == "universal":
        return universal.load_universal(tagger.removeprefix(universal.PREFIX))
    if tagger == EMBEDDED:
        return Embedded()
    return load_tagger(tagger)


def cache_parts(tagger: str) -> dict[str, str]:
    """Return everything except the text that decides an edit or its type, for caches."""
    parts = {"format": _FORMAT, **extraction_signature(tagger)}
    if scheme_of(tagger) in ("plain", "cherrant"):
        return parts
    parts["spacy"] = installed_version("spaCy")
    folder = Path(tagger.removeprefix(universal.PREFIX))
    if tagger == "embedded":
        folder = Path(__file__).parent / "tagger" / "model"
    if folder.is_dir():
        # A model may be retrained under the same version.
        newest = max(path.stat().st_mtime_ns for path in folder.rglob("*"))
        parts["files"] = f"{folder.resolve()} {newest}"
    return parts


def extraction_signature(tagger: str = "embedded") -> dict[str, str]:
    """Return what decides edits in addition to the text: the tagger and its rules' package.

    Raises:
        MissingExtraError: a package that the tagger needs is not installed.
        OptionError: the tagger is not installed, or errant is outside the tested range.
    """
    scheme = scheme_of(tagger)
    if scheme == "errant":
        return {
            "tagger": tagger_signature(tagger),
            "errant": tested_version("errant", _TESTED_ERRANT, installed_version("errant")),
        }
    # Character distances need rapidfuzz, which is installed with errant.
    installed_version("rapidfuzz")
    if scheme == "universal":
        return universal.pipeline_signature(tagger.removeprefix(universal.PREFIX))
    return {"tagger": f"{tagger} {plain.VERSION if scheme == 'plain' else chinese.VERSION}"}


# Increased when the form or meaning of the data on disk changes.
_FORMAT = "1"
# The errant release whose edits the tests compare with ours.
_TESTED_ERRANT = "3.0"
