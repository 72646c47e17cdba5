"""Training pairs from parallel text alone: two partly corrected sentences, one of them better.

IMPARA (Maeda, Kaneko and Okazaki 2022) sums the impact of the edits applied: how far the meaning
vector of the full correction moves when an edit is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.loaders.corrected import read_geccc, read_ua_gec
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.corpus.files.forms import looks_like_m2
from gecjury.corpus.files.reading import align_reference, read_source, read_versions
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.languages.language import ENGLISH, Language, language_of
from gecjury.corpus.m2 import parse_m2
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import read_named, split_by_source

PARALLEL_SETS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "jfleg": tuple(
        (f"jfleg/{part}/{part}.src", tuple(f"jfleg/{part}/{part}.ref{n}" for n in range(4)))
        for part in ("dev", "test")
    ),
    "gmeg-dev": tuple(
        (
            f"GMEG/data/dev/{domain}/source",
            tuple(f"GMEG/data/dev/{domain}/ref{n}" for n in range(4)),
        )
        for domain in ("fce", "wiki")
    ),
}  # fmt: skip
"""Parallel text of the data folder by name: sources with their references."""

_GECCC, _UA_GEC, _TMU_GFM = "geccc-dev", "ua-gec", "tmu-gfm"

PARALLEL_LANGUAGES = {
    **dict.fromkeys((*PARALLEL_SETS, _TMU_GFM), "en"), _GECCC: "cs", _UA_GEC: "uk"
}  # fmt: skip
"""The language of each named set of parallel text: `PARALLEL_SETS`, the best-rated correction of
each source in TMU-GFM's train part, GECCC's dev part, UA-GEC's train part."""

Encode = Callable[[Sequence[str]], FloatArray]
"""A function that returns the vectors of sentences, N × D."""


_BLOCK = 512
# Draws per correction before it is skipped.
_TRIES = 30
"""Number of corrections whose edits are weighed together."""


@dataclass(frozen=True)
class CorrectedPair:
    """A source and the edits of one of its corrections, in order and without overlaps.

    Attributes:
        source: tokens joined by `blank`.
        edits: edits with positions in the tokens.
        blank: separator of tokens; empty if tokens are characters of a script without spaces.
    """

    source: str
    edits: tuple[Edit, ...]
    blank: str = " "

    @property
    def tokens(self) -> list[str]:
        """The source's tokens."""
        return self.source.split() if self.blank else list(self.source)

    def text(self, kept: Sequence[bool] | None = None) -> str:
        """Return the sentence with all edits, or with those marked in `kept`."""
        edits = self.edits if kept is None else list(itertools.compress(self.edits, kept))
        if self.blank:
            return self.blank.join(apply_edits(self.tokens, edits))
        # Spaces within a correction are ordinary characters.
        parts, done = [], 0
        for edit in edits:
            parts += [self.source[done : edit.start], edit.correction]
            done = edit.end
        return "".join([*parts, self.source[done:]])


@dataclass(frozen=True)
class RankedPair:
    """Two versions of one source."""

    better: str
    worse: str
    source: str = ""


def read_parallel(
    names: Sequence[str], folder: Callable[[], DataFolder], language: Language = ENGLISH
) -> list[CorrectedPair]:
    """Read parallel text: one pair per source and reference, unchanged sentences included.

    The edits of text files are the runs that an alignment of the tokens leaves unmatched, in any
    language; the edits of M2 files are the annotators'. Neither needs a tagger.

    Args:
        names: sets of `PARALLEL_LANGUAGES`, M2 files, or `SOURCE,REF[,REF...]` (text files).
        folder: returns the folder of named sets; called only if one is named.
        language: language of text files, which determines the folding of characters. Tokens are
            separated by spaces; in languages without spaces they are single characters.

    Raises:
        InputError: a file cannot be read, or line counts differ.
        OptionError: a name is neither a set nor files.
        MissingExtraError: `ua-gec` is named, and its package is not installed.
    """
    corrections: list[CorrectedPair] = []
    for name in names:
        if name in PARALLEL_LANGUAGES:
            corrections += _read_set(name, folder)
        else:
            source, *others = name.split(",")
            if not Path(source).exists():
                raise OptionError(
                    f"parallel text {name!r}: neither a set ({', '.join(PARALLEL_LANGUAGES)}) nor "
                    "files; expected an M2 file or SOURCE,REF[,REF...]"
                )
            read = _read_texts(source, others, language) if others else _read_m2(source)
            corrections += read
    if not any(correction.edits for correction in corrections):
        raise InputError(
            f"{', '.join(names)}: no sentence is corrected, so there is nothing to learn; check "
            "that sources and corrections are not the same file"
        )
    return corrections


def _read_set(name: str, folder: Callable[[], DataFolder]) -> list[CorrectedPair]:
    """Read a set of `PARALLEL_LANGUAGES`."""
    if name in PARALLEL_SETS:
        parts = PARALLEL_SETS[name]
        paths = folder().paths([p for source, refs in parts for p in (source, *refs)])
        read = (_read_texts(paths[source], [paths[r] for r in refs]) for source, refs in parts)
        return list(itertools.chain.from_iterable(read))
    if name == _TMU_GFM:
        return _best_rated(read_named(name, folder()))
    # UA-GEC's fluency edits are included: more fluent counts as better here.
    text = read_geccc(folder(), "dev") if name == _GECCC else read_ua_gec("train", "gec-fluency")
    return [
        _corrected(source, target, language_of(PARALLEL_LANGUAGES[name]))
        for source, references in zip(text.sources, text.references, strict=True)
        for target in references
    ]


def _best_rated(data: Annotations) -> list[CorrectedPair]:
    """Return the best correction of each source in the train part, by the mean of its ratings."""
    means = data.ratings.mean(axis=1)
    best: dict[str, int] = {}
    for row in split_by_source(data).train.tolist():
        kept = best.setdefault(data.sources[row], row)
        if means[row] > means[kept]:
            best[data.sources[row]] = row
    return [_corrected(source, data.outputs[row]) for source, row in best.items()]


def _corrected(source: str, target: str, language: Language = ENGLISH) -> CorrectedPair:
    """Return a correction from two texts; see `read_parallel`."""
    source, target = (language.text(text) for text in (source, target))
    if language.blanks:
        return CorrectedPair(" ".join(source.split()), token_edits(source.split(), target.split()))
    old, new = source.strip(), target.strip()
    return CorrectedPair(old, token_edits(old, new, ""), "")


def _read_texts(
    source: str | Path, references: Sequence[str | Path], language: Language = ENGLISH
) -> list[CorrectedPair]:
    read = read_source(source)
    sources = read.lines
    corrections = []
    for path in references:
        versions = read_versions(path, overlaps="keep")
        for version in align_reference(read, str(source), str(path), versions):
            if len(version.lines) != len(sources):
                raise InputError(
                    f"{path} has {len(version.lines)} lines, but {source} has {len(sources)}: "
                    "line n of one must correct line n of the other"
                )
            pairs = enumerate(zip(sources, version.lines, strict=True))
            corrections += [
                _corrected(s, t, language) for row, (s, t) in pairs if row not in version.borrowed
            ]
    return corrections


def _read_m2(path: str) -> list[CorrectedPair]:
    lines = read_lines(path)
    if not looks_like_m2(lines):
        raise InputError(
            f"{path}: not an M2 file; parallel text is an M2 file or SOURCE,REF[,REF...]"
        )
    corrections = []
    for block in parse_m2(lines, path, overlaps="keep"):
        for annotator in block.annotators or (0,):
            # Overlapping edits cannot be applied separately, so the corrected text is realigned.
            edits = counted_edits(block.edits(annotator))
            apart = all(a.end <= b.start for a, b in itertools.pairwise(edits))
            if not apart:
                edits = token_edits(block.source.split(), block.text(annotator).split())
            corrections.append(CorrectedPair(" ".join(block.source.split()), edits))
    return corrections


def token_edits(source: Sequence[str], target: Sequence[str], blank: str = " ") -> tuple[Edit, ...]:
    """Return the edits between two sentences: runs that a longest-match alignment leaves unmatched.

    Args:
        source: tokens, or characters.
        target: tokens, or characters.
        blank: separator of tokens.
    """
    matcher = SequenceMatcher(None, source, target, autojunk=False)
    return tuple(
        Edit(start, end, blank.join(target[low:high]))
        for kind, start, end, low, high in matcher.get_opcodes()
        if kind != "equal"
    )


def edit_impacts(corrections: Sequence[CorrectedPair], encode: Encode) -> list[FloatArray]:
    """Return the impact of each edit: 1 − cos(Enc(corrected), Enc(corrected without the edit)).

    Args:
        encode: returns meaning vectors; each distinct sentence is encoded once.

    Returns:
        For each correction, one number per edit, 0 or more except for rounding.
    """
    texts: dict[str, int] = {}
    wanted = []
    for correction in corrections:
        count = len(correction.edits)
        versions = [correction.text()]
        versions += [
            correction.text([n != dropped for n in range(count)]) for dropped in range(count)
        ]
        wanted.append([texts.setdefault(text, len(texts)) for text in versions])
    vectors = encode(list(texts))
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(norms > 0, norms, 1.0)
    return [1.0 - vectors[rows[1:]] @ vectors[rows[0]] for rows in wanted]


def ranked_pairs(
    corrections: Sequence[CorrectedPair],
    rng: np.random.Generator,
    count: int,
    encode: Encode,
) -> list[RankedPair]:
    """Return IMPARA's pairs of random subsets of a correction's edits, the larger impact better.

    Args:
        count: number of pairs wanted; fewer if the text does not have enough.
        encode: see `edit_impacts`.
    """
    edited = [correction for correction in corrections if correction.edits]
    impacts: dict[int, FloatArray] = {}
    pairs: list[RankedPair] = []
    seen: set[tuple[str, str]] = set()
    while len(pairs) < count:
        before = len(pairs)
        order = rng.permutation(len(edited)).tolist()
        for place, row in enumerate(order):
            # Impacts are only computed where needed: parallel text usually has more than enough.
            if place % _BLOCK == 0:
                unknown = [r for r in order[place : place + _BLOCK] if r not in impacts]
                weighed = edit_impacts([edited[r] for r in unknown], encode) if unknown else []
                impacts.update(zip(unknown, weighed, strict=True))
            pair = _try(edited[row], impacts[row], rng, seen)
            if pair is not None:
                pairs.append(pair)
                seen.add((pair.better, pair.worse))
            if len(pairs) == count:
                break
        # A whole round without a new pair: the text has no more.
        if len(pairs) == before:
            break
    return pairs


def _try(
    correction: CorrectedPair,
    impacts: FloatArray,
    rng: np.random.Generator,
    seen: set[tuple[str, str]],
) -> RankedPair | None:
    """Try to draw a new pair; return None if all tries fail."""
    size = len(correction.edits)
    for _ in range(_TRIES):
        first, second = rng.integers(0, 2, (2, size)).astype(np.float64)
        gap = float(impacts @ (first - second))
        if gap == 0:
            continue
        if gap < 0:
            first, second = second, first
        better, worse = (correction.text([bool(k) for k in kept]) for kept in (first, second))
        if better != worse and better and worse and (better, worse) not in seen:
            return RankedPair(better, worse, correction.source)
    return None


def detection_labels(correction: CorrectedPair) -> list[int]:
    """Return 1 for each source token that an edit replaces, deletes or inserts before, else 0."""
    tokens = correction.tokens
    labels = [0] * len(tokens)
    for edit in correction.edits:
        # An insertion marks the token after it, or the last one at the end of the sentence.
        stop = edit.end if edit.end > edit.start else edit.start + 1
        for index in range(min(edit.start, len(tokens) - 1), min(stop, len(tokens))):
            labels[index] = 1
    return labels


def pairs_print(pairs: Sequence[RankedPair]) -> str:
    """Return the fingerprint of pairs: 16 hexadecimal digits."""
    return fingerprint(part for pair in pairs for part in (pair.better, pair.worse))
