"""Read M2 corpora to build chains from, and the references to score them against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.benchmarks.data_folder import open_data
from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines
from gecjury.corpus.aligned import aligned
from gecjury.corpus.corpus import Corpus, Version, filled_references, meant_references
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.essays import looks_like_essays
from gecjury.corpus.language import ENGLISH, Language, language_of
from gecjury.corpus.m2 import M2Sentence, m2_annotations, read_m2
from gecjury.corpus.reading import read_corpus, read_versions
from gecjury.corpus.tokens import folded, in_language
from gecjury.extraction.extract import corpus_edits
from gecjury.studies.maege.chains import Annotated, count_annotators

ALL = -1
"""Number of the reference set that is used for the chains of every annotator."""

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
REFERENCE_SETS = {"8refs": _EIGHT, "10refs": _TEN, "18refs": (*_TEN, *_SAKAGUCHI)}
"""Reference sets of conll14: Bryant and Ng's (2015) eight further annotators, as in Choshen and
Abend (2018); these and the two official ones; and all ten with Sakaguchi et al.'s (2016) eight."""


@dataclass(frozen=True)
class References:
    """A set of references that texts are scored against.

    Attributes:
        name: name of the set in a signature.
        texts: R tuples with one text per sentence.
        gold: for references in M2, one block per sentence with annotators 0 to R - 1; else None.
    """

    name: str
    texts: tuple[tuple[str, ...], ...]
    gold: tuple[M2Sentence, ...] | None = None


def read_annotated(
    names: Sequence[str], runtime: Runtime, language: Language | None = None
) -> Corpus:
    """Read M2 files of the same sentences as one corpus, with annotators numbered consecutively.

    Args:
        names: names from `CORPORA`, or files: M2, or essays followed by their references.
        runtime: folders of data and caches.
        language: language of the texts; by default that of a corpus by name, otherwise English.

    Raises:
        OptionError: neither a file nor a known name.
        InputError: a file is malformed, or contains other sentences than the first.
        DataError: files of a known corpus are missing.
    """
    merged: list[M2Sentence] = []
    base = 0
    # All names are checked before any file is read, so that a misspelt one costs no time.
    for name in names:
        if name not in CORPORA and not Path(name).exists():
            known_name("corpus (and no file)", name, CORPORA)
    essays = bool(names) and names[0] not in CORPORA and looks_like_essays(read_lines(names[0]))
    if essays:
        merged = _essay_blocks(names, runtime, language or ENGLISH)
    for name in () if essays else names:
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
    # The M2 of a corpus known by name has tokens of its language; files are assumed to be English.
    codes = {_LANGUAGES[name] for name in names if name in _LANGUAGES}
    if language is None:
        language = language_of(codes.pop(), tokens="space") if len(codes) == 1 else ENGLISH
    gold = in_fold(merged, language)
    return Corpus(tuple(block.source for block in gold), {}, gold=gold, language=language)


def _essay_blocks(names: Sequence[str], runtime: Runtime, language: Language) -> list[M2Sentence]:
    """Return essays with the edits of their references, one annotator per file.

    Args:
        names: the file of the original essays, then those of references, which may lack some.
        runtime: workers and cache.
        language: language of the texts.

    Raises:
        OptionError: there is no reference.
        InputError: a file is malformed, or contains other essays.
    """
    if len(names) < 2:
        raise OptionError(
            f"{names[0]} contains essays; name the files of their references after it"
        )
    corpus = read_corpus(names[0], [], names[1:], language=language)
    edits = corpus_edits(corpus, "embedded", runtime).references
    return [
        M2Sentence(
            " ".join(source.split()),
            tuple(
                line
                for number, version in enumerate(corpus.references)
                if row not in version.borrowed
                for line in m2_annotations(edits[number][row], number)
            ),
        )
        for row, source in enumerate(corpus.sources)
    ]


def _known(name: str, runtime: Runtime) -> tuple[M2Sentence, ...]:
    """Return the blocks of a corpus known by name; for GECCC, those that two people corrected."""
    if name.startswith("ua-gec"):
        from gecjury.benchmarks.loaders.ua_gec import read_ua_gec

        return read_ua_gec("test", "gec-fluency" if name == "ua-gec-fluency" else "gec-only").m2
    folder = open_data(runtime.data, cache=runtime.cache)
    if name == _WITH_SETS:
        return read_m2(folder.paths((_OFFICIAL,), wanted_by="conll14")[_OFFICIAL], overlaps="keep")
    from gecjury.benchmarks.loaders.geccc import read_geccc

    blocks = read_geccc(folder, "dev" if name == "geccc-dev" else "test").m2
    return tuple(block for block in blocks if len(block.annotators) > 1)


def named_references(
    names: Sequence[str],
    corpus: Annotated,
    lines: int,
    *,
    named: bool,
    runtime: Runtime,
    language: Language = ENGLISH,
) -> dict[int, References]:
    """Return the requested references.

    Args:
        names: `all` (the corpus' annotators), `others` (for each annotator's chains, the other
            annotators), a set of `REFERENCE_SETS`, or files; empty for the default: `8refs` for
            conll14, otherwise `others`.
        corpus: the annotated corpus.
        lines: number of sentences in its files.
        named: whether the corpus is conll14, the only one with reference sets.
        runtime: folders of data and caches.
        language: determines how texts are folded.

    Raises:
        OptionError: an unknown set, a mixture of kinds, or `others` with one annotator.
        InputError: a file has another number of lines than the corpus.
    """
    # Choshen and Abend measured against the eight further references.
    chosen = list(names) or ["8refs" if named else "others"]
    if chosen == ["others"]:
        return other_annotators(corpus)
    if chosen == ["all"]:
        return {ALL: of_annotators(corpus, range(corpus.annotators))}
    sets = ("all", "others", *(REFERENCE_SETS if named else ()))
    if len(chosen) == 1 and named and chosen[0] in REFERENCE_SETS:
        folder = open_data(runtime.data, cache=runtime.cache)
        paths = folder.paths(REFERENCE_SETS[chosen[0]], wanted_by="seeda")
        return {ALL: _from_files(chosen[0], list(paths.values()), corpus, lines)}
    for name in chosen:
        if not Path(name).exists():
            known_name("reference set (and no file)", name, sets)
        if name in sets:
            raise OptionError(f"--references {name}: cannot be combined with other references")
    files = list(map(Path, chosen))
    return {ALL: _from_files(f"{len(chosen)} files", files, corpus, lines, language)}


def _from_files(
    name: str,
    paths: Sequence[Path],
    corpus: Annotated,
    lines: int,
    language: Language = ENGLISH,
) -> References:
    """Return text or M2 files as references, with gold edits only if all of them are M2."""
    versions: list[Version] = []
    every = Version(("",) * lines)
    for path in paths:
        read = read_versions(path, overlaps="keep")
        for version in aligned(every, "the corpus", [str(path)] * len(read), read, references=True):
            if len(version.lines) != lines:
                raise InputError(
                    f"{path} has {len(version.lines)} lines, but the corpus has {lines} "
                    "sentences: a reference must have a line for each"
                )
            versions.append(meant_references(version.take(corpus.rows), corpus.sources))
    versions = filled_references([name] * len(versions), versions, "the corpus")
    texts = tuple(
        tuple(folded(line, language.fold) for line in version.lines) for version in versions
    )
    # Only the metric M2 uses gold edits, and it needs them for every reference.
    sets = [version.edits for version in versions if version.edits is not None]
    if len(sets) < len(versions):
        return References(name, texts)
    gold = tuple(
        gold_block(source, [edits[row] for edits in sets])
        for row, source in enumerate(corpus.sources)
    )
    return References(name, texts, in_fold(gold, language))


def in_fold(blocks: Sequence[M2Sentence], language: Language) -> tuple[M2Sentence, ...]:
    """Fold M2 blocks as their language requires; the number of tokens stays the same.

    Raises:
        InputError: folding changes the number of tokens.
    """
    if language.fold == "none":
        return tuple(blocks)
    sources = tuple(block.source for block in blocks)
    return in_language(Corpus(sources, {}, gold=tuple(blocks)), language).gold or ()


def of_annotators(corpus: Annotated, chosen: Sequence[int]) -> References:
    """Return the full corrections of some annotators."""
    sentences = list(zip(corpus.sources, corpus.edits, strict=True))
    texts = tuple(
        tuple(" ".join(apply_edits(source.split(), edits[who])) for source, edits in sentences)
        for who in chosen
    )
    gold = tuple(gold_block(source, [edits[who] for who in chosen]) for source, edits in sentences)
    return References("annotators", texts, gold)


def other_annotators(corpus: Annotated) -> dict[int, References]:
    """Return, for each annotator's chains, the corrections of the other annotators.

    Raises:
        OptionError: there is no other annotator.
    """
    everyone = range(corpus.annotators)
    if corpus.annotators < 2:
        raise OptionError(
            "the references are the other annotators, but the corpus has one annotator: name "
            "reference files, or `all` to measure against the annotator's own correction"
        )
    return {me: of_annotators(corpus, [one for one in everyone if one != me]) for me in everyone}


def gold_block(source: str, sets: Sequence[Sequence[Edit]]) -> M2Sentence:
    """Return an M2 block of several annotators; an annotator without edits gets a noop."""
    lines = (line for number, edits in enumerate(sets) for line in m2_annotations(edits, number))
    return M2Sentence(source, tuple(lines))
