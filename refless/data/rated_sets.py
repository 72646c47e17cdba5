"""Named sets of rated sentences, and splits by source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.loaders.rated import AUTOJQE_FILES
from gecjury.core.errors import InputError
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.splits import Split, split_sources
from gecjury.refless.data.annotations import Annotations, joined, read_annotations

NAMED_SETS: Mapping[str, tuple[str, ...]] = {
    "tmu-gfm": ("TMU-GFM-Dataset/tmu-gfm-dataset.csv",),
    "gug": ("gug-data/gug_annotations.tsv",),
    "autojqe": AUTOJQE_FILES,
}
"""Named sets of rated sentences, and their files in the data folder."""

SET_LANGUAGES = {"tmu-gfm": "en", "gug": "en", "autojqe": "ja"}
"""The language of each of `NAMED_SETS`."""

_LEAST = 2  # fewest rows of a part


def read_named(name: str, folder: DataFolder) -> Annotations:
    """Read a set of `NAMED_SETS`; see `read_annotations` for the arguments and errors."""
    paths = folder.paths(list(NAMED_SETS[name]), wanted_by=name)
    language = language_of(SET_LANGUAGES[name])
    parts = [read_annotations(path, language=language) for path in paths.values()]
    if len(parts) == 1:
        return parts[0]
    notes = tuple(
        f"{path.name}: {note}"
        for path, part in zip(paths.values(), parts, strict=True)
        for note in part.notes
    )
    return replace(joined(parts), notes=notes)


def split_by_source(data: Annotations) -> Split:
    """Draw a split in which each source with all its corrections is in one part.

    Rows without a source are grouped by their own text; see `gecjury.corpus.splits.split_sources`.

    Raises:
        InputError: a part would have fewer than two rows.
    """
    keys = [source or output for source, output in zip(data.sources, data.outputs, strict=True)]
    sources = len(set(data.groups()))
    return _checked(split_sources(keys), f"{len(data)} rows of {sources} sources")


def split_as_named(data: Annotations) -> Split:
    """Return the split that comes with the data (`Annotations.names`).

    Raises:
        InputError: a part has fewer than two rows.
    """
    names = np.array(data.names, dtype=np.str_)
    parts = {part: np.flatnonzero(names == part) for part in ("train", "dev", "test")}
    return _checked(Split(**parts), "the split column")


def _checked(split: Split, what: str) -> Split:
    for part in ("train", "dev", "test"):
        rows = getattr(split, part)
        if len(rows) < _LEAST:
            raise InputError(
                f"too few rows for a split: {what} leave {len(rows)} for {part}, "
                f"expected at least {_LEAST}; give more data, or a column with the parts (split)"
            )
    return split
