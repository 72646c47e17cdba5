"""Remarks on the texts of a corpus that a user needs to interpret their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import overlapping_edits
from gecjury.corpus.languages.detection import language_note
from gecjury.corpus.references import empty_note


def remarks_on(corpus: Corpus, needs: Iterable[str]) -> tuple[str, ...]:
    """Return remarks on the texts that a metric reads.

    The remarks cover how files were read, lines of references that are empty or come from
    another reference, edits of one annotator that overlap, sources in another language, and
    lines that are shifted against the source.

    Args:
        corpus: the texts.
        needs: the parts among `references` and `gold` that the metric reads.
    """
    versions = corpus.versions(references="references" in needs)
    files: dict[str, dict[str, None]] = {}
    for role, version in {"source": corpus.source_read, **versions}.items():
        if version is not None and version.note:
            files.setdefault(version.note, {})[corpus.label(role)] = None
    remarks = [f"{', '.join(names)}: {note}" for note, names in files.items()]
    if "gold" in needs:
        remarks += _on_gold(corpus)
    if "references" in needs:
        remarks += _on_references(corpus)
    if note := language_remark(corpus):
        remarks.append(f"{corpus.label('source')}: {note}")
    remarks += [corpus.misfits[role] for role in versions if role in corpus.misfits]
    return (*remarks, *corpus.reading_notes)


def language_remark(corpus: Corpus) -> str:
    """Return `language_note` of the sources; characters as tokens do not show the language."""
    by_character = corpus.language.tokens == "char"
    written = corpus.source_text if by_character else None
    return language_note(written or corpus.sources, corpus.language)


def _on_gold(corpus: Corpus) -> Iterator[str]:
    count = sum(
        len(overlapping_edits(block.edits(annotator)))
        for block in corpus.gold or ()
        for annotator in block.annotators
    )
    if count:
        yield (
            f"{corpus.label('gold')}: edits that overlap another of the same annotator: "
            f"{count}; all count as they are, as in the official M2 scorer"
        )


def _on_references(corpus: Corpus) -> Iterator[str]:
    for index, version in enumerate(corpus.references):
        role = f"reference {index}"
        name = corpus.label(role)
        if version.borrowed:
            yield (
                f"{name}: texts that it lacks are taken from another reference: "
                f"{len(version.borrowed)} of {len(corpus)}"
            )
        # Empty lines in the sets of a benchmark are those of their annotators.
        given = corpus.has_file(role) or not corpus.reference_name
        if given and (empty := empty_note(version, corpus.sources)):
            yield f"{name}: {empty}"
        if count := version.overlaps:
            yield (
                f"{name}: edits that overlap another of the same annotator: {count}; where "
                "edits are compared all count as they are, and in the text they are "
                "applied one after another in the order of the file"
            )
