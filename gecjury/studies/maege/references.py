"""Read M2 corpora to build chains from, and the references to score them against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.languages.language import ENGLISH, Language, language_of
from gecjury.corpus.m2 import M2Sentence, m2_annotations, read_m2
from gecjury.studies.maege.chains import Annotated, count_annotators

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus, Version

_OFFICIAL = "conll14/official-2014.combined.m2"
_WITH_SETS = "conll14"
_LANGUAGES = {
    "conll14": "en",
    **dict.fromkeys(("geccc", "geccc-dev"), "cs"),
    **dict.fromkeys(("ua-gec", "ua-gec-fluency"), "uk"),
}
CORPORA = tuple(_LANGUAGES)
"""Corpora known by name: CoNLL-2014; GECCC's test and dev sentences that two people corrected;
UA-GEC's test sentences, corrected for grammar alone or for fluency as well."""

_TEN = tuple(f"conll14/10gec_annotations/A{number}.m2" for number in range(1, 11))
# A7 and A3 of the ten are the official annotators 0 and 1, whose edits form the chains.
_EIGHT = tuple(path for path in _TEN if Path(path).stem not in ("A3", "A7"))
_SAKAGUCHI = tuple(
    f"reassess-gec/annotations/{folder}/{one}_{kind}/{name}_{kind}{letter}"
    for folder, one, name in (
        ("expert_annotations", "expert", "expert"),
        ("turker_annotations", "turkers", "turker"),
    )
    for kind in ("minimal", "fluency")
    for letter in "AB"
)
ReferenceSet = Literal["others", "all", "8refs", "10refs", "18refs"]
REFERENCE_SETS = {"8refs": _EIGHT, "10refs": _TEN, "18refs": (*_TEN, *_SAKAGUCHI)}
"""Reference sets of conll14: Bryant and Ng's (2015) eight further annotators, as in Choshen and
Abend (2018); these and the two official ones; and all ten with Sakaguchi et al.'s (2016) eight."""


@dataclass(frozen=True)
class ChainReferences:
    """A set of references that texts are scored against."""

    name: str
    versions: tuple[Version, ...]

    def edits(self, sentence: int) -> Sequence[Sequence[Edit]] | None:
        """Return every reference's edits of a sentence; None if some references are not M2."""
        # Only the metric M2 uses gold edits, and it needs them for every reference.
        sets = [version.edits[sentence] for version in self.versions if version.edits is not None]
        return sets if len(sets) == len(self.versions) else None


def read_annotated(
    names: Sequence[str], runtime: Runtime, language: Language | None = None
) -> Corpus:
    """Read M2 files of the same sentences as one corpus, with annotators numbered consecutively.

    Args:
        language: language of the texts; by default that of a corpus by name, otherwise English.

    Raises:
        OptionError: neither a file nor a known name.
        InputError: a file is malformed, or contains other sentences than the first.
        DataError: files of a known corpus are missing.
    """
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.tokens import in_language

    # All names are checked before any file is read, so that a misspelt one costs no time.
    for name in names:
        if name not in CORPORA and not Path(name).exists():
            known_name("corpus (and no file)", name, CORPORA)
    merged = _merged(names, runtime)
    # The M2 of a corpus known by name has tokens of its language; files are assumed to be English.
    codes = {_LANGUAGES[name] for name in names if name in _LANGUAGES}
    if language is None:
        language = language_of(codes.pop(), tokens="space") if len(codes) == 1 else ENGLISH
    sources = tuple(block.source for block in merged)
    texts = Corpus(sources, {}, gold=tuple(merged), language=language)
    return texts if language.fold == "none" else in_language(texts, language)


def _merged(names: Sequence[str], runtime: Runtime) -> list[M2Sentence]:
    """Return the sentences with the annotations of all files, whose annotators are renumbered.

    Raises:
        InputError: a file contains other sentences than the first.
    """
    merged: list[M2Sentence] = []
    base = 0
    for name in names:
        blocks = _known(name, runtime) if name in CORPORA else read_m2(name, overlaps="keep")
        if merged and [b.source.split() for b in blocks] != [b.source.split() for b in merged]:
            raise InputError(
                f"{name} contains other sentences than {names[0]}: the M2 files of one corpus must "
                "have the same S lines"
            )
        # Annotators of later files are numbered after those of the first.
        merged = merged or [M2Sentence(block.source) for block in blocks]
        for row, block in enumerate(blocks):
            more = (replace(a, annotator=a.annotator + base) for a in block.annotations)
            merged[row] = M2Sentence(merged[row].source, (*merged[row].annotations, *more))
        base += count_annotators(blocks)
    return merged


def _known(name: str, runtime: Runtime) -> tuple[M2Sentence, ...]:
    """Return the blocks of a corpus known by name; for GECCC, those that two people corrected."""
    if name.startswith("ua-gec"):
        from gecjury.benchmarks.loaders.corrected import read_ua_gec

        return read_ua_gec("test", "gec-fluency" if name == "ua-gec-fluency" else "gec-only").m2
    from gecjury.benchmarks.data_folder import open_data

    folder = open_data(runtime.data, cache=runtime.cache)
    if name == _WITH_SETS:
        return read_m2(folder.paths((_OFFICIAL,), wanted_by="conll14")[_OFFICIAL], overlaps="keep")
    from gecjury.benchmarks.loaders.corrected import read_geccc

    blocks = read_geccc(folder, "dev" if name == "geccc-dev" else "test").m2
    return tuple(block for block in blocks if len(block.annotators) > 1)


def named_references(
    name: str, corpus: Annotated, *, named: bool, runtime: Runtime
) -> tuple[ChainReferences, ...]:
    """Return the requested references: one set for all chains, or one for each annotator's.

    Args:
        name: `all` (the corpus' annotators), `others` (for each annotator's chains, the other
            annotators), or one of `REFERENCE_SETS`; empty for the default: `8refs` for conll14,
            otherwise `others`.
        named: whether the corpus is conll14, the only one with reference sets.

    Raises:
        OptionError: a set of conll14 for another corpus, or `others` with one annotator.
        DataError: files of a reference set are missing.
    """
    from gecjury.benchmarks.data_folder import open_data
    from gecjury.corpus.files.reading import read_versions

    everyone = range(corpus.annotators)
    # Choshen and Abend measured against the eight further references.
    chosen = name or ("8refs" if named else "others")
    if chosen == "all":
        return (of_annotators(corpus, everyone),)
    if chosen == "others":
        if corpus.annotators < 2:
            raise OptionError(
                "the references are the other annotators, but the corpus has one annotator: use "
                "`references=all` to measure against the annotator's own correction"
            )
        return tuple(of_annotators(corpus, [one for one in everyone if one != me])
                     for me in everyone)  # fmt: skip
    if not named:
        raise OptionError(f"`references={chosen}`: references of conll14; expected others or all")
    folder = open_data(runtime.data, cache=runtime.cache)
    paths = folder.paths(REFERENCE_SETS[chosen], wanted_by="seeda").values()
    versions = (version for path in paths for version in read_versions(path, overlaps="keep"))
    return (ChainReferences(chosen, tuple(version.take(corpus.rows) for version in versions)),)


def of_annotators(corpus: Annotated, chosen: Sequence[int]) -> ChainReferences:
    """Return the full corrections of some annotators."""
    from gecjury.corpus.corpus import Version

    versions = []
    for who in chosen:
        edits = tuple(of_sentence[who] for of_sentence in corpus.edits)
        lines = (
            " ".join(apply_edits(source.split(), own))
            for source, own in zip(corpus.sources, edits, strict=True)
        )
        versions.append(Version(tuple(lines), edits))
    return ChainReferences("annotators", tuple(versions))


def gold_block(source: str, sets: Sequence[Sequence[Edit]]) -> M2Sentence:
    """Return an M2 block of several annotators; an annotator without edits gets a noop."""
    lines = (line for number, edits in enumerate(sets) for line in m2_annotations(edits, number))
    return M2Sentence(source, tuple(lines))
