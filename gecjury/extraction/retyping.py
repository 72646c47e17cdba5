"""Gold edits retyped or extracted again by ERRANT's rules, as in errant's `errant_m2`.

`errant_m2 -gold` keeps an annotator's edits, strips unchanged words from both ends of each edit,
and types it by the rules for extracted edits. `errant_m2 -auto` extracts edits from the corrected
sentence. In both, an edit typed `Um` or `UNK` is an error that was detected but not corrected: it
is not applied, keeps its place, and is typed `UNK`.

Hypotheses given as text get ERRANT's types. With gold edits of another scheme (NUCLE's `ArtOrDet`),
a table by type would show hits under one name and false alarms under another, and an edit that
contains unchanged words would match no extracted edit. Such gold edits are therefore retyped before
they are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from gecjury.core.caches import text_key
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import DETECTED_TYPES, Edit, Edits, ExtractedEdits
from gecjury.corpus.files.gold import has_type_of, have_types, named_types, other_types
from gecjury.corpus.m2 import M2Annotation, M2Sentence, m2_annotations
from gecjury.extraction.extract import CorpusEdits, corpus_edits, extract, remembered
from gecjury.extraction.taggers import extractor_of, scheme_of

if TYPE_CHECKING:
    from gecjury.extraction.merging import Span
    from gecjury.extraction.parsing import Parsed
    from gecjury.extraction.pipeline import Extractor

GoldTypes = Literal["auto", "gold", "errant"]
"""How the types of gold edits are treated: `auto` replaces types that are not ERRANT's if
hypotheses have ERRANT's types, `gold` keeps all types, `errant` replaces all."""

_UNKNOWN = "UNK"
# Sentences parsed at once.
_WINDOW = 1024

_Line = tuple[str, Edits]
"""A source and one annotator's edits of it."""


def is_retyped(corpus: Corpus, types: GoldTypes, tagger: str = "embedded") -> bool:
    """Return True if any gold edit of a corpus is retyped; nothing is parsed."""
    if types == "errant":
        return any(any(version.edits or ()) for version in corpus.references)
    if not _has_gold(corpus):
        return False
    scheme = scheme_of(corpus.language.tagger_for(tagger))
    # `UNK` and `noop` are in every scheme, and so never need new types.
    foreign = types == "auto" and other_types(corpus.references, scheme)
    return bool(foreign) and have_types(corpus.hypotheses, scheme)


def _has_gold(corpus: Corpus) -> bool:
    """Return True if a reference has edits, which need not be extracted."""
    return any(version.edits is not None for version in corpus.references)


def typed_corpus_edits(
    corpus: Corpus, types: GoldTypes, tagger: str, runtime: Runtime
) -> CorpusEdits:
    """Return the edits of `corpus_edits`, with the references' gold edits typed by `types`.

    Args:
        types: one of `GoldTypes`. With a tagger that has its own types, they replace ERRANT's. With
            `auto`, an edit that already has one of ERRANT's types is left unchanged; other schemes
            share names (`R:OTHER`, `R:SPELL`) with different meanings, so for them one foreign
            type causes all edits of all references to be retyped.
        tagger: a tagger of `corpus_edits`.
        runtime: workers, cache, progress.

    Raises:
        MissingExtraError, OptionError: as `corpus_edits`.
    """
    tagger = corpus.language.tagger_for(tagger)
    original = corpus_edits(corpus, tagger, runtime)
    if not _has_gold(corpus):
        return original
    scheme = scheme_of(tagger)
    owner = "ERRANT's" if scheme == "errant" else f"those of tagger={tagger}"
    other = other_types(corpus.references, scheme)
    if not is_retyped(corpus, types, tagger):
        if not other or not have_types(corpus.hypotheses, scheme):
            return original
        note = (
            f"{other.total()} gold edits have types of another scheme than {owner} "
            f"({named_types(other)}): counts by type show hits and misses under those, false "
            f"alarms under {owner}; types=errant retypes them"
        )
        return replace(original, notes=(*original.notes, note))

    def is_foreign(edit: Edit) -> bool:
        return types == "errant" or scheme != "errant" or not has_type_of(scheme, edit.type)

    # Each distinct line is typed once, however many references have it.
    ready = [n for n, version in enumerate(corpus.references) if version.edits is not None]
    wanted = [
        (source, edits)
        for n in ready
        for source, edits in zip(corpus.sources, original.references[n], strict=True)
        if any(is_foreign(edit) for edit in edits)
    ]
    made = dict(zip(wanted, retype(wanted, tagger, runtime), strict=True))

    # Edits that have a type of the scheme also keep their spans, so only foreign ones change.
    def line(source: str, edits: Edits) -> Edits:
        if (source, edits) not in made:
            return edits
        pairs = zip(_in_order(edits), made[source, edits], strict=True)
        return tuple(new if is_foreign(old) else old for old, new in pairs)

    references = list(original.references)
    for n in ready:
        rows = zip(corpus.sources, references[n], strict=True)
        references[n] = [line(source, edits) for source, edits in rows]
    notes = original.notes
    if types == "auto":
        rules = "ERRANT's rules" if scheme == "errant" else f"tagger={tagger}, like all others"
        note = (
            f"{other.total()} gold edits had types of another scheme ({named_types(other)}) and "
            f"were retyped by {rules} (types=gold keeps them); they still divide a correction as "
            "the annotator did: to divide it as in hypotheses, use `gecjury m2 reextract` or give "
            "the reference as text"
        )
        notes = (*notes, note)
    return replace(original, references=tuple(references), notes=notes)


def retype(lines: Sequence[_Line], tagger: str, runtime: Runtime) -> list[Edits]:
    """Strip unchanged words from the ends of edits and type them by ERRANT's rules.

    Args:
        lines: sources, and one annotator's edits of each; overlapping edits are applied one after
            another.
        tagger: a tagger of `typed_corpus_edits`.
        runtime: cache and progress; never changes an edit.

    Returns:
        One tuple per line, its edits sorted by their spans; an edit that changes nothing is `UNK`.

    Raises:
        MissingExtraError, OptionError: as `corpus_edits`.
    """

    def key_of(line: _Line) -> str:
        return text_key(line[0], ExtractedEdits(line[1]).to_json())

    def make(missing: list[_Line]) -> Iterator[tuple[_Line, ExtractedEdits]]:
        extractor = extractor_of(tagger)
        rest = iter(missing)
        while batch := list(islice(rest, _WINDOW)):
            yield from zip(batch, map(ExtractedEdits, _typed(batch, extractor)), strict=True)

    distinct = list(dict.fromkeys(lines))
    what = "types of gold edits"
    retyped, _ = remembered(what, distinct, key_of, make, tagger, runtime)
    return [retyped[line].edits for line in lines]


def retyped_blocks(
    blocks: Sequence[M2Sentence],
    tagger: str = "embedded",
    runtime: Runtime | None = None,
) -> tuple[M2Sentence, ...]:
    """Return M2 with every annotator's edits retyped, as `errant_m2 -gold` writes it.

    Args:
        blocks: blocks of an M2 file.
        tagger: a tagger of `typed_corpus_edits`.
        runtime: cache and progress.

    Raises:
        MissingExtraError, OptionError: as `corpus_edits`.
    """
    places = [(block, annotator) for block in blocks for annotator in block.annotators]
    lines = [(place[0].source, _edits(*place)) for place in places]
    made = retype(lines, tagger, runtime or Runtime())
    return _rewritten(blocks, dict(zip(places, made, strict=True)))


def reextracted_blocks(
    blocks: Sequence[M2Sentence],
    tagger: str = "embedded",
    runtime: Runtime | None = None,
) -> tuple[M2Sentence, ...]:
    """Return M2 with edits extracted from every annotator's sentence, as `errant_m2 -auto` does.

    An annotator whose edits change nothing gets no line.

    Args:
        blocks: blocks of an M2 file.
        tagger: a tagger of `typed_corpus_edits`.
        runtime: workers, cache and progress.

    Raises:
        MissingExtraError, OptionError: as `corpus_edits`.
    """
    places = [(block, annotator) for block in blocks for annotator in block.annotators]
    laid = [_laid(place[0].source, _edits(*place)) for place in places]
    sources = [block.source for block, _ in places]
    texts = [" ".join(applied.corrected) for applied in laid]
    (extracted,) = extract(sources, [texts], tagger, runtime).edits
    made = {}
    for place, applied, edits in zip(places, laid, extracted, strict=True):
        # Errors that were detected but not corrected are not in the text: they are carried over.
        seen = (replace(edit, type=_UNKNOWN) for edit in applied.edits if _is_detected(edit))
        made[place] = tuple(_in_order((*seen, *edits)))
    return _rewritten(blocks, made)


class _Laid(NamedTuple):
    """An annotator's edits, sorted, with the sentence that they produce.

    Attributes:
        edits: sorted by their spans.
        spans: span of each edit in the source and in the corrected sentence.
        corrected: the tokens of the corrected sentence.
    """

    edits: list[Edit]
    spans: list[Span]
    corrected: list[str]


def _laid(source: str, edits: Edits) -> _Laid:
    """Apply edits as errant does: sorted, each shifted by what earlier ones added or removed."""
    tokens = source.split()
    corrected = list(tokens)
    ordered = _in_order(edits)
    spans = []
    offset = 0
    for edit in ordered:
        new = tokens[edit.start : edit.end] if _is_detected(edit) else edit.tokens
        start = edit.start + offset
        corrected[start : edit.end + offset] = new
        spans.append((edit.start, edit.end, start, start + len(new)))
        offset += len(new) - (edit.end - edit.start)
    return _Laid(ordered, spans, corrected)


def _in_order(edits: Sequence[Edit]) -> list[Edit]:
    return sorted(edits, key=lambda edit: (edit.start, edit.end))


def _is_detected(edit: Edit) -> bool:
    return edit.type in DETECTED_TYPES


def _typed(lines: Sequence[_Line], extractor: Extractor) -> Iterator[Edits]:
    """Yield the retyped edits of each line; every distinct sentence is parsed once."""
    sources = [" ".join(source.split()) for source, _ in lines]
    laid = [_laid(*line) for line in lines]
    texts = [" ".join(applied.corrected) for applied in laid]
    parsed = extractor.parse(dict.fromkeys((*sources, *texts)))
    for applied, source_text, text in zip(laid, sources, texts, strict=True):
        source, corrected = parsed[source_text], parsed[text]
        spans = [
            _within(span, corrected)
            if _is_detected(edit)
            else _stripped(_within(span, corrected), source, corrected)
            for edit, span in zip(applied.edits, applied.spans, strict=True)
        ]
        types = extractor.typer.types(spans, source, corrected)
        yield tuple(
            replace(edit, type=_UNKNOWN)
            if _is_detected(edit)
            else Edit(start, end, " ".join(corrected.texts[first:last]), kind)
            for edit, (start, end, first, last), kind in zip(
                applied.edits, spans, types, strict=True
            )
        )


def _within(span: Span, corrected: Parsed) -> Span:
    """Return a span clipped to the corrected sentence, which overlapping edits may exceed."""
    start, end, first, last = span
    places = range(len(corrected))[first:last]
    return start, end, places.start, max(places.start, places.stop)


def _stripped(span: Span, source: Parsed, corrected: Parsed) -> Span:
    """Return a span without the words at its ends that are the same on both sides."""
    start, end, first, last = span
    while start < end and first < last and source.texts[start] == corrected.texts[first]:
        start, first = start + 1, first + 1
    while start < end and first < last and source.texts[end - 1] == corrected.texts[last - 1]:
        end, last = end - 1, last - 1
    return start, end, first, last


def _edits(block: M2Sentence, annotator: int) -> Edits:
    """Return an annotator's edits; a remark given instead of a correction is kept."""
    return tuple(
        replace(line.edit, correction=" ".join(line.correction.split()))
        if line.type in DETECTED_TYPES
        else line.edit
        for line in block.annotations
        if line.annotator == annotator and not line.is_noop
    )


def _rewritten(
    blocks: Sequence[M2Sentence], made: Mapping[tuple[M2Sentence, int], Edits]
) -> tuple[M2Sentence, ...]:
    """Return blocks with other edits; an annotator without edits still gets a noop."""
    rewritten = []
    for number, block in enumerate(blocks, 1):
        lines: list[M2Annotation] = []
        # In the order of errant's own files, in which the numbers are sorted as text.
        for annotator in sorted(block.annotators, key=str):
            edits = made[block, annotator]
            # Remarks in place of a correction are not read as one, and may be `-NONE-`.
            for edit in edits:
                place = "" if edit.type in DETECTED_TYPES else f"sentence {number}"
                lines += m2_annotations((edit,), annotator, place)
            if not edits and not block.edits(annotator):
                lines += m2_annotations((), annotator)
        rewritten.append(replace(block, source=block.source.rstrip(), annotations=tuple(lines)))
    return tuple(rewritten)
