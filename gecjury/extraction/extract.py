"""Edits of many sentences: each sentence is parsed once, and each pair is aligned once.

`extract` returns what the `errant` package returns for every pair of a source and a corrected
sentence, unless another tagger is named (`gecjury.extraction.taggers`). It parses distinct
sentences in batches, aligns (`gecjury.extraction.alignment`), merges
(`gecjury.extraction.merging`) and types (`gecjury.extraction.pipeline`) each distinct pair once
across systems and references, skips unchanged pairs, and remembers edits on disk.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TypeVar

from gecjury.core.caches import DiskCache, text_key
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.wording import named_lines
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, ExtractedEdits, TextPair
from gecjury.extraction.taggers import cache_parts, extractor_of

_T = TypeVar("_T", bound=Hashable)

OutputTexts = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]

# Up to this many pairs are extracted faster than another process can start.
_FEW = 200
# Pairs whose edits are written to disk at once.
_AT_ONCE = 2000


@dataclass(frozen=True)
class Extraction:
    """Edits, and counts of the work behind them.

    Attributes:
        edits: one list per version, with the edits of each sentence from left to right.
        pairs: number of distinct changed pairs of a source and a corrected sentence.
        cached: number of those pairs read from disk.
        coarse: number of pairs too long to be aligned exactly (see
            `gecjury.extraction.coarse`), whose edits may differ from ERRANT's.
        lines: the lines with such pairs, counted from 1.
    """

    edits: list[list[Edits]]
    pairs: int = 0
    cached: int = 0
    coarse: int = 0
    lines: tuple[int, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        if not self.coarse:
            return ()
        return (
            f"{self.coarse} of {self.pairs} sentence pairs were too long for ERRANT's exact "
            f"alignment and were aligned in pieces ({named_lines(self.lines)}): split such lines "
            "into sentences",
        )


def extract(
    sources: Sequence[str],
    versions: OutputTexts,
    tagger: str = "embedded",
    runtime: Runtime | None = None,
) -> Extraction:
    """Extract the ERRANT edits that turn each source into each corrected version of it.

    Args:
        sources: N sentences, tokens split on white space.
        versions: corrected versions of N sentences each; the values of a mapping, in order.
        tagger: `embedded`, the name of an installed spaCy model of English, `none`, or
            `spacy:NAME`; see `gecjury.extraction.taggers`.
        runtime: workers, disk cache and progress; never changes an edit.

    Returns:
        One list per version with N tuples of edits, typed (`R:VERB:TENSE`), from left to right; and
        counts of the work done.

    Raises:
        InputError: a version does not have as many lines as the sources.
        MissingExtraError: errant or spaCy is not installed.
        OptionError: the tagger is not installed, or the errant or spaCy release is outside the
            tested range.
    """
    runtime = runtime or Runtime()
    if isinstance(versions, Mapping):
        named = list(versions.items())
    else:
        named = [(f"version {number}", lines) for number, lines in enumerate(versions)]
    for name, lines in named:
        if len(lines) != len(sources):
            raise InputError(
                f"{name} has {len(lines)} lines, but there are {len(sources)} sources: "
                "edits need one line for each source"
            )
    # Versions repeat most lines; one copy of equal lines is kept, since it compares fastest.
    distinct = {*sources, *chain.from_iterable(lines for _, lines in named)}
    plain = {line: " ".join(line.split()) for line in distinct}
    columns = [
        [(plain[source], plain[line]) for source, line in zip(sources, lines, strict=True)]
        for _, lines in named
    ]
    # In the order of the sources, so that the parse of a source can soon be dropped.
    wanted = dict.fromkeys(
        pair for row in zip(*columns, strict=True) for pair in row if pair[0] != pair[1]
    )
    edits_of, cached = remembered(
        "edits",
        list(wanted),
        lambda pair: text_key(*pair),
        lambda pairs: _made(pairs, tagger, runtime),
        tagger,
        runtime,
    )
    unchanged = ExtractedEdits(())
    coarse = {pair for pair, extracted in edits_of.items() if extracted.coarse}
    return Extraction(
        [[edits_of.get(pair, unchanged).edits for pair in column] for column in columns],
        len(wanted),
        cached,
        len(coarse),
        tuple(
            number
            for number, row in enumerate(zip(*columns, strict=True), 1)
            if coarse and not coarse.isdisjoint(row)
        ),
    )


def remembered(
    what: str,
    items: Sequence[_T],
    key_of: Callable[[_T], str],
    make: Callable[[list[_T]], Iterable[tuple[_T, ExtractedEdits]]],
    tagger: str,
    runtime: Runtime,
) -> tuple[dict[_T, ExtractedEdits], int]:
    """Return the edits of distinct items, and how many of them were on disk.

    Args:
        what: name of the results, for the cache and for progress.
        key_of: returns the key of an item in the cache.
        make: yields the edits of the items that were not on disk.
        tagger: a tagger of `extract`.
        runtime: cache and progress.
    """
    if not items:
        return {}, 0
    parts = {"what": what, **cache_parts(tagger)}
    edits_of: dict[_T, ExtractedEdits] = {}
    cache = None
    if runtime.use_cache:
        cache = DiskCache(runtime.cache_folder("edits") / "edits.sqlite", parts)
        keys = {key_of(item): item for item in items}
        for key, text in cache.get(list(keys)).items():
            # Entries that cannot be read are computed again, as if they were not in the cache.
            with contextlib.suppress(ValueError):
                edits_of[keys[key]] = ExtractedEdits.from_json(text)
    cached = len(edits_of)
    missing = [item for item in items if item not in edits_of]
    if missing:
        # Written as they are computed, so that an interrupted run keeps its results.
        made = runtime.track(make(missing), what, len(missing))
        while batch := list(islice(made, _AT_ONCE)):
            edits_of.update(batch)
            if cache is not None:
                cache.put({key_of(item): edits.to_json() for item, edits in batch})
    return edits_of, cached


def _made(
    pairs: list[TextPair], tagger: str, runtime: Runtime
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    # Another process takes longer to load than a few pairs take here.
    if runtime.workers > 1 and len(pairs) > _FEW:
        from gecjury.extraction.workers import extract_in_workers

        return extract_in_workers(pairs, tagger, runtime.workers)
    return extractor_of(tagger).extract(pairs)


Lines = Sequence[tuple[Edit, ...]]


@dataclass(frozen=True)
class CorpusEdits:
    """Edits of every hypothesis and reference, one tuple per sentence.

    Attributes:
        systems: by system, in the corpus' order.
        references: by reference, in order.
        notes: notes for the user.
    """

    systems: Mapping[str, Lines]
    references: tuple[Lines, ...]
    notes: tuple[str, ...] = ()


def corpus_edits(corpus: Corpus, tagger: str, runtime: Runtime) -> CorpusEdits:
    """Return the edits of all hypotheses and references of a corpus.

    Versions given with edits (M2) keep them. For the others, each distinct sentence is parsed
    once and each distinct pair is aligned once, across systems and references.

    Args:
        tagger: a tagger of `extract`; `embedded` is the tagger of the corpus' language.
        runtime: workers, cache, progress.

    Raises:
        MissingExtraError: spaCy or errant is not installed.
        OptionError: the tagger, or the version of spaCy or errant, cannot be used.
    """
    versions = [*corpus.systems.values(), *corpus.references]
    missing = [version.lines for version in versions if version.edits is None]
    notes: tuple[str, ...] = ()
    extracted: list[list[tuple[Edit, ...]]] = []
    if missing:
        tagger = corpus.language.tagger_for(tagger)
        extraction = extract(corpus.sources, missing, tagger=tagger, runtime=runtime)
        extracted, notes = extraction.edits, extraction.notes
    made = iter(extracted)
    edits = [next(made) if version.edits is None else version.edits for version in versions]
    count = len(corpus.systems)
    return CorpusEdits(
        dict(zip(corpus.systems, edits[:count], strict=True)), tuple(edits[count:]), notes
    )
