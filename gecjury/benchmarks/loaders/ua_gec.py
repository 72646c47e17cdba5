"""UA-GEC (Syvokon and others 2023): Ukrainian documents corrected by people, from package `ua-gec`.

Every document of the test part was corrected by two annotators, most of the train part by one. The
package marks corrections in the text of whole documents and contains sentences and their tokens
separately; this module turns each annotator's marks into edits of each sentence's tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import ModuleType
from typing import Any, Literal, get_args

from gecjury.benchmarks.loaders.geccc import CorrectedSentences
from gecjury.benchmarks.marked_edits import Mark, token_edits
from gecjury.core.errors import DataError, MissingExtraError, install_hint, known_name
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.m2 import M2Sentence, m2_annotations

UaGecPart = Literal["test", "train"]
UaGecLayer = Literal["gec-only", "gec-fluency"]
"""The layers: grammar, spelling and punctuation, or fluency as well."""


@dataclass(frozen=True, kw_only=True, repr=False)
class UaGecSentences(CorrectedSentences):
    """Sentences of one part and layer, in document order; types of edits are the corpus' own.

    Attributes:
        left_out: numbers of sentences and documents that are left out, by reason.
    """

    left_out: Mapping[str, int] = field(default_factory=dict)


def read_ua_gec(
    part: UaGecPart = "test", layer: UaGecLayer = "gec-only", *, package: ModuleType | None = None
) -> UaGecSentences:
    """Read one part of UA-GEC.

    Args:
        part: `test` (166 documents by two annotators each) or `train`.
        layer: the kind of corrections.
        package: the package, or a substitute for it; by default the installed one.

    Raises:
        OptionError: no such part or layer.
        MissingExtraError: the package is not installed.
        DataError: it contains no document of this part.
    """
    known_name("part of UA-GEC", part, get_args(UaGecPart))
    known_name("layer of UA-GEC", layer, get_args(UaGecLayer))
    documents: dict[str, list[Any]] = {}
    for document in (package or _package()).Corpus(part, layer):
        documents.setdefault(document.doc_id, []).append(document)
    if not documents:
        raise DataError(f"ua-gec: no document in part {part}; reinstall the package")
    sentences: list[tuple[str, tuple[str, ...], M2Sentence, str]] = []
    left: dict[str, int] = {}
    for name, annotated in documents.items():
        annotated.sort(key=lambda document: int(document.meta.annotator_id))
        made = [_edits(document) for document in annotated]
        # A document is kept only if every annotator's marks produce that annotator's correction.
        if None in made:
            reason = "documents whose marks do not give the correction"
            left[reason] = left.get(reason, 0) + 1
            continue
        first = annotated[0]
        tokens = [line.split() for line in first.source_sentences_tokenized]
        for row, source in enumerate(first.source_sentences):
            edits = [_of_sentence(whole or (), tokens, row) for whole in made]
            targets = [d.target_sentences_tokenized[row].split() for d in annotated]
            # Edits must turn the tokens into the correction; in joined or split sentences they do
            # not.
            if any(
                edit is None or apply_edits(tokens[row], edit) != target
                for edit, target in zip(edits, targets, strict=True)
            ):
                reason = "sentences that a correction joins or parts"
                left[reason] = left.get(reason, 0) + 1
                continue
            block = M2Sentence(
                " ".join(tokens[row]),
                tuple(a for at, edit in enumerate(edits) for a in m2_annotations(edit or (), at)),
            )
            references = tuple(document.target_sentences[row] for document in annotated)
            sentences.append((source, references, block, name))
    if not sentences:
        raise DataError(f"ua-gec: no sentence of part {part} can be read; reinstall the package")
    sources, references_of, blocks, names = zip(*sentences, strict=True)
    return UaGecSentences(
        sources=sources, references=references_of, m2=blocks, documents=names, left_out=left
    )


def _package() -> ModuleType:
    try:
        import ua_gec
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"ua-gec, the package with the data, is not installed: {install_hint('ukrainian')}"
        ) from None
    module: ModuleType = ua_gec
    return module


def _edits(document: Any) -> list[Edit] | None:
    """Return an annotator's edits, in tokens of the document; None if the marks do not fit."""
    text = document.annotated.get_original_text()
    marks, types = [], []
    for annotation in sorted(document.annotated.get_annotations(), key=lambda a: (a.start, a.end)):
        # A mark without a suggestion leaves the text as it is.
        new = annotation.top_suggestion if annotation.suggestions else annotation.source_text
        before = len("".join(text[: annotation.start].split()))
        marks.append(Mark(before, text[annotation.start : annotation.end], new or ""))
        types.append(str(annotation.meta.get("error_type", "")))
    made = token_edits(
        " ".join(document.source_sentences_tokenized),
        " ".join(document.target_sentences_tokenized),
        marks,
    )
    if made is None:
        return None
    return [replace(edit.edit, type=types[edit.marks[0]]) for edit in made]


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
