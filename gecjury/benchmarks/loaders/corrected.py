"""Sentences corrected by people, without judgments of systems: GECCC (Czech), UA-GEC (Ukrainian).

They are sources of references, gold edits and training text.

GECCC (Náplava et al. 2022): four domains, each sentence corrected by one or two people. The texts
are given twice, line by line: as written (`sentence.input`, `sentence.gold`) and as tokens with
edits (`sentence.m2`). Both versions of a source differ only in spaces.

UA-GEC (Syvokon and others 2023, package `ua-gec`): every document of the test part was corrected by
two annotators, most of the train part by one. The package marks corrections in the text of whole
documents and contains sentences and their tokens separately; this module turns each annotator's
marks into edits of each sentence's tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from types import ModuleType
from typing import Any, Literal, TypeAlias

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.marked_edits import EditMark, token_edits
from gecjury.core.errors import DataError, MissingExtraError, install_hint
from gecjury.core.textfiles import read_lines
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.m2 import M2Annotation, M2Sentence, m2_annotations, read_m2

UaGecDocument: TypeAlias = Any
"""A `ua_gec.corpus.Document`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class CorrectedSentences:
    """Sentences and their corrections by people; every sequence has an entry for each.

    Attributes:
        sources: texts as written, not tokenised.
        references: one or two corrections of each, as written; two may be the same, and a
            correction that deletes the sentence is empty.
        m2: tokens joined by single spaces, with every annotator's edits, numbered from 0. Types
            are ERRANT's for GECCC, the corpus' own for UA-GEC.
    """

    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    m2: tuple[M2Sentence, ...]


def read_geccc(folder: DataFolder, split: Literal["dev", "test"]) -> CorrectedSentences:
    """Read one split of GECCC: `dev` (8,478 sentences) or `test` (7,907).

    Raises:
        DataError: a file is missing or altered.
    """
    names = {part: f"GECCC/data/{split}/sentence.{part}" for part in ("input", "gold", "m2")}
    paths = folder.paths(names.values(), wanted_by="geccc")
    return CorrectedSentences(
        sources=tuple(read_lines(paths[names["input"]])),
        references=tuple(tuple(line.split("\t")) for line in read_lines(paths[names["gold"]])),
        # They have the same texts as tokens with edits, and are not derived from `input`.
        m2=read_m2(paths[names["m2"]]),
    )


def read_ua_gec(
    part: Literal["test", "train"], layer: Literal["gec-only", "gec-fluency"]
) -> CorrectedSentences:
    """Read one part of UA-GEC, in document order.

    Left out are documents in which an annotator's marks do not give that annotator's correction,
    and sentences that a correction joins or splits.

    Args:
        part: `test` (166 documents by two annotators each) or `train`.
        layer: grammar, spelling and punctuation, or fluency as well.

    Raises:
        MissingExtraError: the package is not installed.
        DataError: it contains no sentence of this part.
    """
    documents: dict[str, list[UaGecDocument]] = {}
    for document in _package().Corpus(part, layer):
        documents.setdefault(document.doc_id, []).append(document)
    sentences: list[tuple[str, tuple[str, ...], M2Sentence]] = []
    for annotated in documents.values():
        annotated.sort(key=lambda document: int(document.meta.annotator_id))
        made = [_edits(document) for document in annotated]
        if None in made:
            continue
        first = annotated[0]
        tokens = [line.split() for line in first.source_sentences_tokenized]
        for row, source in enumerate(first.source_sentences):
            edits = [_of_sentence(whole or (), tokens, row) for whole in made]
            targets = [d.target_sentences_tokenized[row].split() for d in annotated]
            block = _block(tokens[row], edits, targets)
            if block is None:
                continue
            references = tuple(document.target_sentences[row] for document in annotated)
            sentences.append((source, references, block))
    if not sentences:
        raise DataError(f"ua-gec: no sentence of part {part} can be read; reinstall the package")
    sources, references_of, blocks = zip(*sentences, strict=True)
    return CorrectedSentences(sources=sources, references=references_of, m2=blocks)


def _block(
    tokens: Sequence[str], edits: Sequence[Sequence[Edit] | None], targets: Sequence[Sequence[str]]
) -> M2Sentence | None:
    """Return a sentence with every annotator's edits; None if it was joined or split.

    In that case its edits do not turn its tokens into the correction.
    """
    annotations: list[M2Annotation] = []
    for annotator, (edit, target) in enumerate(zip(edits, targets, strict=True)):
        if edit is None or apply_edits(tokens, edit) != target:
            return None
        annotations += m2_annotations(edit, annotator)
    return M2Sentence(" ".join(tokens), tuple(annotations))


def _package() -> ModuleType:
    try:
        import ua_gec
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"ua-gec, the package with the data, is not installed: {install_hint('ukrainian')}"
        ) from None
    module: ModuleType = ua_gec
    return module


def _edits(document: UaGecDocument) -> list[Edit] | None:
    """Return an annotator's edits, in tokens of the document; None if the marks do not fit."""
    text = document.annotated.get_original_text()
    marks, types = [], []
    for annotation in sorted(document.annotated.get_annotations(), key=lambda a: (a.start, a.end)):
        # A mark without a suggestion leaves the text as it is.
        new = annotation.top_suggestion if annotation.suggestions else annotation.source_text
        before = len("".join(text[: annotation.start].split()))
        marks.append(EditMark(before, text[annotation.start : annotation.end], new or ""))
        types.append(str(annotation.meta.get("error_type", "")))
    made = token_edits(
        " ".join(document.source_sentences_tokenized),
        " ".join(document.target_sentences_tokenized),
        marks,
    )
    if made is None:
        return None
    return [replace(edit, type=types[numbers[0]]) for edit, numbers in made]


def _of_sentence(
    edits: Sequence[Edit], tokens: Sequence[Sequence[str]], row: int
) -> list[Edit] | None:
    """Return the edits of one sentence, relative to its start; None if one extends beyond it.

    An insertion between two sentences belongs to the first one.
    """
    # Edits count tokens of the document; a sentence begins after those of all before it.
    starts = list(accumulate(map(len, tokens), initial=0))
    start, end = starts[row], starts[row + 1]
    inner = []
    for edit in edits:
        if edit.start == edit.end:
            inside = start < edit.start <= end or edit.start == end == start
            inside |= edit.start == start == 0
        else:
            inside = edit.start < end and edit.end > start
        if not inside:
            continue
        if edit.start < start or edit.end > end:
            return None
        inner.append(replace(edit, start=edit.start - start, end=edit.end - start))
    return inner
