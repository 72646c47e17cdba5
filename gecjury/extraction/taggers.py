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
from typing import TYPE_CHECKING, cast

from gecjury.corpus.files.gold import Scheme
from gecjury.extraction.tagger import EMBEDDED, PIPELINE, load_tagger, tagger_signature
from gecjury.extraction.tagger.importing import installed_version, tested_version

# Edits that are on disk need no extractor, so each is imported where it is used.
if TYPE_CHECKING:
    from gecjury.extraction.pipeline import Extractor
    from gecjury.extraction.tagger import Pipeline
    from gecjury.extraction.tagger.fast import Embedded


def scheme_of(tagger: str) -> Scheme:
    """Return the scheme of the types that a tagger's edits have."""
    if tagger in ("none", "cherrant"):
        return "plain" if tagger == "none" else "cherrant"
    return "universal" if tagger.startswith(PIPELINE) else "errant"


def extractor_of(tagger: str) -> Extractor:
    """Return an extractor; a spaCy pipeline is loaded once for all metrics of a run.

    Raises:
        MissingExtraError: spaCy or errant is not installed, where the tagger needs it.
        OptionError: the tagger is not installed, or does not provide what edits need.
    """
    scheme = scheme_of(tagger)
    if scheme == "plain":
        from gecjury.extraction.plain import plain_extractor

        return plain_extractor()
    if scheme == "cherrant":
        from gecjury.extraction.chinese import chinese_extractor

        return chinese_extractor()
    nlp = _loaded(tagger, json.dumps(cache_parts(tagger), sort_keys=True))
    if scheme == "universal":
        from gecjury.extraction.universal import universal_extractor

        return universal_extractor(cast("Pipeline", nlp), tagger.removeprefix(PIPELINE))
    from gecjury.extraction.pipeline import errant_extractor

    return errant_extractor(nlp)


@lru_cache(maxsize=1)
def _loaded(tagger: str, version: str) -> Embedded | Pipeline:
    """Return a tagger's pipeline; `version` distinguishes a retrained model."""
    del version
    if scheme_of(tagger) == "universal":
        from gecjury.extraction.universal import load_universal

        return load_universal(tagger.removeprefix(PIPELINE))
    if tagger == EMBEDDED:
        from gecjury.extraction.tagger.fast import Embedded

        return Embedded()
    return load_tagger(tagger)


def cache_parts(tagger: str) -> dict[str, str]:
    """Return everything except the text that decides an edit or its type, for caches."""
    parts = {"format": _FORMAT, **extraction_signature(tagger)}
    if scheme_of(tagger) in ("plain", "cherrant"):
        return parts
    parts["spacy"] = installed_version("spaCy")
    folder = Path(tagger.removeprefix(PIPELINE))
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
    from gecjury.extraction import chinese, plain, universal

    if scheme == "universal":
        return universal.pipeline_signature(tagger.removeprefix(PIPELINE))
    return {"tagger": f"{tagger} {plain.VERSION if scheme == 'plain' else chinese.VERSION}"}


# Increased when the form or meaning of the data on disk changes.
_FORMAT = "1"
# The errant release whose edits the tests compare with ours.
_TESTED_ERRANT = "3.0"
