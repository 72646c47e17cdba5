"""Analysers by the name of a tagger.

- `embedded`, or the name of an English spaCy model: ERRANT, whose rules need Penn tags.
- `none`: characters alone, any language (`gecjury.extraction.plain`).
- `spacy:NAME`: any spaCy pipeline with parts of speech and lemmas of Universal Dependencies
  (`gecjury.extraction.universal`).
"""

from __future__ import annotations

from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gecjury.errors import MissingExtraError, install_hint
from gecjury.extraction import plain, universal


class Kind(Enum):
    """A kind of tagger, by the analyser that makes its edits."""

    ERRANT = "errant"
    PLAIN = "plain"
    UNIVERSAL = "universal"


def kind_of(tagger: str) -> Kind:
    """Return the kind of a tagger, by its name alone."""
    if tagger == plain.NAME:
        return Kind.PLAIN
    return Kind.UNIVERSAL if tagger.startswith(universal.PREFIX) else Kind.ERRANT


def analyser_of(tagger: str, pos_scheme: str) -> Any:
    """Return an `Extractor`'s argument: an analyser, or a spaCy pipeline for ERRANT's.

    Raises:
        MissingExtraError: spaCy or errant is not installed, where the tagger needs it.
        OptionError: the tagger is not installed, or does not give what edits need.
    """
    kind = kind_of(tagger)
    if kind is Kind.PLAIN:
        from gecjury.extraction.plain.analyser import plain_analyser

        return plain_analyser()
    if kind is Kind.UNIVERSAL:
        from gecjury.extraction.universal.pipelines import universal_analyser

        return universal_analyser(tagger.removeprefix(universal.PREFIX))
    from gecjury.extraction.tagger import load_tagger

    return load_tagger(tagger, pos_scheme)


def own_signature(tagger: str) -> dict[str, str]:
    """Return what decides the edits of a tagger that is not ERRANT's, besides the text.

    Raises:
        MissingExtraError, OptionError: as `analyser_of`, as far as is known without loading.
    """
    # Character distances of both are rapidfuzz's, which comes with errant.
    if find_spec("rapidfuzz") is None:
        raise MissingExtraError(
            f"edits need rapidfuzz, which is not installed: {install_hint('edits')}"
        )
    if kind_of(tagger) is Kind.PLAIN:
        return {"tagger": f"{plain.NAME} {plain.VERSION}"}
    from gecjury.extraction.universal.pipelines import pipeline_signature

    return pipeline_signature(tagger.removeprefix(universal.PREFIX))


def own_parts(tagger: str) -> dict[str, str]:
    """Return further facts that tell caches of such a tagger apart: the files of a folder."""
    if kind_of(tagger) is Kind.PLAIN:
        return {}
    return folder_parts(Path(tagger.removeprefix(universal.PREFIX)))


def folder_parts(folder: Path) -> dict[str, str]:
    """Return facts that tell a folder's model from one retrained under the same version.

    The result is empty without a folder.
    """
    if not folder.is_dir():
        return {}
    newest = max(path.stat().st_mtime_ns for path in folder.rglob("*"))
    return {"files": f"{folder.resolve()} {newest}"}
