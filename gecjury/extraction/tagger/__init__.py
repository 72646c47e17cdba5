"""The English tagger and parser behind edits: the embedded one, or any spaCy model by name.

The embedded pipeline (`model/`, described in `README.md`) needs no download. It reads tokenised
sentences: pass it `spacy.tokens.Doc` objects, in bulk through ``nlp.pipe``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

from gecjury.core.errors import MissingExtraError, OptionError, install_hint
from gecjury.core.records import read_record
from gecjury.core.runtime import version_of
from gecjury.extraction.tagger.importing import (
    import_spacy,
    no_entry_points,
    tested_version,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

EMBEDDED = "embedded"
PIPELINE = "spacy:"
"""Begins the name of a tagger that is any spaCy pipeline."""
_MODEL = Path(__file__).parent / "model"
# Type checkers see spaCy's own classes, which are imported where they are used.
Pipeline: TypeAlias = "Language"
"""A spaCy pipeline."""
PipelineDoc: TypeAlias = "Doc"
"""A sentence in the form of a spaCy pipeline."""

_LONGEST = 1000  # characters of a name or path
# The spaCy release with which the embedded weights were trained and tested.
_TESTED_SPACY = "3.8"


def load_tagger(name: str = EMBEDDED) -> Pipeline:
    """Load a spaCy pipeline that tags, lemmatises and parses English.

    Args:
        name: ``"embedded"``, or a spaCy model installed as a package or stored in a folder
            (``"en_core_web_sm"``). The embedded one has the coarse parts of speech and pronoun
            lemmas of spaCy 2, with which the official ERRANT files were made.

    Raises:
        MissingExtraError: spaCy is not installed.
        OptionError: the model is not installed, or the spaCy release is outside the tested range.
    """
    load: Callable[..., Pipeline] = checked_spacy(torch=name != EMBEDDED).load
    if name == EMBEDDED:
        with no_entry_points():
            return load(_MODEL)
    try:
        return load(name, disable=["ner"])
    except OSError:
        raise OptionError(_not_installed(name)) from None


def tagger_signature(name: str = EMBEDDED) -> str:
    """Return a tagger's name and version for signatures, without loading the pipeline.

    Returns:
        ``"embedded-1.0.0/spacy2"``, or ``"en_core_web_sm-3.8.0"`` for an installed model.

    Raises:
        OptionError: this is not a name, or the model is not installed.
        InputError: the folder does not contain a spaCy model.
    """
    if name == EMBEDDED:
        return f"{EMBEDDED}-{spacy_meta(_MODEL).version}/spacy2"
    if not name or "\0" in name or len(name) > _LONGEST:
        raise OptionError(
            f"tagger {name!r:.60} is not a name; expected {EMBEDDED!r}, the name of an installed "
            "spaCy model, or its folder"
        )
    if (Path(name) / "meta.json").is_file():
        return spacy_meta(Path(name)).title
    if version := version_of(name):
        return f"{name}-{version}"
    raise OptionError(_not_installed(name))


@dataclass(frozen=True)
class SpacyMeta:
    """The contents of a spaCy pipeline's meta.json."""

    lang: str
    name: str
    version: str
    pipeline: Sequence[str] = ()

    @property
    def title(self) -> str:
        """Name and version, as in the names of spaCy's model packages."""
        return f"{self.lang}_{self.name}-{self.version}"


def spacy_meta(folder: Path) -> SpacyMeta:
    """Read the metadata in the folder of a spaCy pipeline.

    Raises:
        InputError: its meta.json cannot be read.
    """
    what = "the meta.json of a spaCy pipeline"
    return read_record(SpacyMeta, folder / "meta.json", what, "name the folder of a pipeline")


def checked_spacy(torch: bool) -> ModuleType:
    """Return the spaCy package.

    Args:
        torch: True if a pipeline will need torch.

    Raises:
        MissingExtraError: spaCy is not installed.
        OptionError: its release is outside the tested range.
    """
    try:
        spacy = import_spacy(torch)
    except ImportError:
        raise MissingExtraError(
            f"edits need spaCy, which is not installed: {install_hint('edits')}"
        ) from None
    tested_version("spaCy", _TESTED_SPACY, spacy.__version__)
    return spacy


def _not_installed(name: str) -> str:
    return (
        f"the spaCy model {name!r} is not installed: run `python -m spacy download {name}`, "
        f"or use the tagger {EMBEDDED!r}, which needs no download"
    )
