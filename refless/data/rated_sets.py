"""Further training data: named sets, parts in separate files, splits by source, clean text."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.rated import AUTOJQE_FILES
from gecjury.core.errors import InputError, OptionError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.corpus.splits import Split, split_sources
from gecjury.refless.data.annotations import Annotations, Scale, joined, read_annotations

NAMED_SETS: Mapping[str, tuple[str, ...]] = {
    "tmu-gfm": ("TMU-GFM-Dataset/tmu-gfm-dataset.csv",),
    "gug": ("gug-data/gug_annotations.tsv",),
    "autojqe": AUTOJQE_FILES,
}
"""Named sets of rated sentences, and their files in the data folder."""

SET_LANGUAGES = {"tmu-gfm": "en", "gug": "en", "autojqe": "ja"}
"""The language of each of `NAMED_SETS`."""

_RATED_BENCHMARKS = ("gmeg-dev-fce", "gmeg-dev-wiki")
_LENGTHS = range(5, 46)
_LEAST = 2  # fewest rows of a part


def read_named(name: str, folder: DataFolder, aspects: Sequence[str] | None = None) -> Annotations:
    """Read a set of `NAMED_SETS`; see `read_annotations` for the arguments and errors."""
    paths = folder.paths(list(NAMED_SETS[name]), wanted_by=name)
    language = language_of(SET_LANGUAGES[name])
    parts = [read_annotations(path, aspects=aspects, language=language) for path in paths.values()]
    if len(parts) == 1:
        return parts[0]
    notes = tuple(
        f"{path.name}: {note}"
        for path, part in zip(paths.values(), parts, strict=True)
        for note in part.notes
    )
    return replace(joined(parts), notes=notes)


def refuse_absent(data: Annotations, aspects: Sequence[str]) -> None:
    """Raise an error if data lacks an aspect that was requested.

    Raises:
        OptionError: the data does not rate one of the aspects.
    """
    if absent := [aspect for aspect in aspects if aspect not in data.aspects]:
        raise OptionError(f"--aspects {absent[0]}: the data rates {', '.join(data.aspects)} only")


def join_parts(
    train: Annotations, dev: Annotations, test: Annotations
) -> tuple[Annotations, Split]:
    """Join the data of three files into one set with a split.

    Raises:
        InputError: the files rate different aspects, have fewer than two rows, or share a source.
    """
    parts = {"train": train, "dev": dev, "test": test}
    keys = {}
    for name, part in parts.items():
        if part.aspects != train.aspects:
            raise InputError(
                f"the {name} file rates {', '.join(part.aspects)}, the train file "
                f"{', '.join(train.aspects)}: all parts must rate the same"
            )
        keys[name] = {normalise(s or o) for s, o in zip(part.sources, part.outputs, strict=True)}
    for first, second in (("train", "dev"), ("train", "test"), ("dev", "test")):
        shared = keys[first] & keys[second]
        if shared:
            raise InputError(
                f"{len(shared)} sources are in both the {first} and the {second} file, e.g. "
                f"{min(shared)[:60]!r} (normalised): a source must be in one part only"
            )
    sizes = np.cumsum([0, len(train), len(dev), len(test)])
    rows = [np.arange(a, b) for a, b in itertools.pairwise(sizes)]
    # Drop the names of parts from split columns: the files determine the split.
    whole = replace(joined([train, dev, test]), names=(), notes=train.notes)
    return whole, _checked(Split(*rows), "the files")


def read_rated_sets(
    data: str | Path | None = None, cache: str | Path | None = None
) -> list[Annotations]:
    """Read the sets in the data folder that have ratings of other kinds.

    Returns:
        GMEG dev (FCE and Wiki): outputs of six systems and sources with mean ratings from 0 to
        100, as aspect `rating`; and GUG, as aspect `grammaticality`.
    """
    from gecjury.benchmarks.data_folder import open_data

    outputs: list[str] = []
    ratings: list[float] = []
    for name in _RATED_BENCHMARKS:
        benchmark = load_benchmark(name, data=data, cache=cache)
        assert benchmark.segment_scores is not None  # GMEG always has them
        for row, version in enumerate(benchmark.corpus.systems.values()):
            for text, value in zip(version.lines, benchmark.segment_scores[row], strict=True):
                if text.strip() and not np.isnan(value):
                    outputs.append(text)
                    ratings.append(float(value))
    gmeg = Annotations(
        ("rating",),
        tuple(outputs),
        ("",) * len(outputs),
        np.array(ratings)[:, None],
        Scale(0.0, 100.0, zero_is_other=False),
    )
    return [gmeg, read_named("gug", open_data(data, cache=cache))]


def read_treebank_text(path: str | Path) -> list[str]:
    """Return the sentences of 5 to 45 tokens in a CoNLL-U file, tokens joined by spaces."""
    sentences: list[str] = []
    tokens: list[str] = []
    for line in [*read_lines(path), ""]:
        if not line:
            if len(tokens) in _LENGTHS:
                sentences.append(" ".join(tokens))
            tokens = []
            continue
        fields = line.split("\t")
        if fields[0].isdecimal():
            tokens.append(fields[1])
    return sentences


def split_by_source(data: Annotations, seed: int = 0) -> Split:
    """Draw a split in which each source with all its corrections is in one part.

    Rows without a source are grouped by their own text; see `gecjury.corpus.splits.split_sources`.

    Args:
        data: data to split.
        seed: seed for the draw.

    Raises:
        InputError: a part would have fewer than two rows.
    """
    keys = [source or output for source, output in zip(data.sources, data.outputs, strict=True)]
    sources = len(set(data.groups()))
    return _checked(split_sources(keys, seed), f"{len(data)} rows of {sources} sources")


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
                f"expected at least {_LEAST}; give more data, or the parts as files (--dev, --test)"
            )
    return split
