"""Tasks of annotators: to rank corrections, to rate one, or to judge its edits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, counted_edits
from gecjury.corpus.groups import distinct, distinct_groups
from gecjury.extraction.extract import corpus_edits
from gecjury.report.page.browser import WordRun, mark_edits, parts_of
from gecjury.web import Annotation, AnnotationTask

_MOST_ITEMS = 500_000
_TOGETHER = 5  # corrections in a set to rank, as in SEEDA

_RatingScale = tuple[tuple[int, str], ...]


def _scale(best: str, second: str, third: str, worst: str) -> _RatingScale:
    return (4, best), (3, second), (2, third), (1, worst)


ASPECTS: dict[str, tuple[str, _RatingScale]] = {
    "grammaticality": (
        "Is it grammatical, regardless of the source?",
        _scale("perfect", "comprehensible", "somewhat comprehensible", "not comprehensible"),
    ),
    "fluency": (
        "Does it sound natural?",
        _scale(
            "extremely natural", "somewhat natural", "somewhat unnatural", "extremely unnatural"
        ),
    ),
    "meaning": (
        "Does it mean the same as the source?",
        _scale("identical", "minor differences", "moderate differences", "different meaning"),
    ),
}
"""The three aspects of Asano et al. (2017), on the four-point scale of TMU-GFM's raters."""

_VERDICTS: _RatingScale = ((1, "right"), (0, "wrong"))


@dataclass(frozen=True)
class Item:
    """An item: the corrections that are judged together.

    Attributes:
        id: unique name within the task: the sentence and a number, such as `12.1`.
        row: row of the source in the corpus.
        texts: the corrections shown; only rankings have more than one.
        systems: for each correction, the systems that made it.
        edits: the edits of the correction, if they are judged.
    """

    id: str
    row: int
    texts: tuple[str, ...]
    systems: tuple[tuple[str, ...], ...]
    edits: tuple[Edit, ...] = ()

    @property
    def values(self) -> int:
        """The number of values in an answer to it."""
        return len(self.edits) or (len(self.texts) if len(self.texts) > 1 else len(ASPECTS))


def task_items(corpus: Corpus, settings: Annotation, runtime: Runtime) -> tuple[Item, ...]:
    """Return everything that can be judged, in the order of the sources.

    Args:
        corpus: sources and outputs.
        settings: the task and, for rankings, how corrections are grouped.
        runtime: for the edits, which come from the outputs (M2) or from ERRANT.

    Raises:
        InputError: there is nothing to judge, or too much.
        MissingExtraError: edits are judged and ERRANT is not installed.
    """
    task = settings.task
    if task == "rank":
        items = tuple(_sets(corpus, settings.seed))
    else:
        items = tuple(_single(corpus) if task == "rate" else _edited(corpus, runtime))
    if not items:
        nothing = {
            "rank": "no source has two different corrections",
            "rate": "there is no correction",
            "edits": "no correction differs from its source",
        }
        raise InputError(f"{nothing[task]}: there is nothing to judge")
    if len(items) > _MOST_ITEMS:
        raise InputError(
            f"{len(items):,} items to judge; expected at most {_MOST_ITEMS:,}: judge fewer lines"
        )
    return items


def _sets(corpus: Corpus, seed: int) -> Iterator[Item]:
    number = 0
    row = -1
    for group in distinct_groups(corpus, _TOGETHER, seed):
        # Numbered within a sentence, including groups of one correction, so that names are stable.
        number = 1 if group.sentence != row else number + 1
        row = group.sentence
        if len(group.systems) > 1:
            yield Item(f"{row + 1}.{number}", row, corpus.group_texts(group), group.systems)


def _single(corpus: Corpus) -> Iterator[Item]:
    for row in range(len(corpus)):
        for number, (text, names) in enumerate(distinct(corpus, row).items(), 1):
            yield Item(f"{row + 1}.{number}", row, (text,), (tuple(names),))


def _edited(corpus: Corpus, runtime: Runtime) -> Iterator[Item]:
    edits_of = corpus_edits(corpus, "embedded", runtime).systems
    for item in _single(corpus):
        if edits := counted_edits(edits_of[item.systems[0][0]][item.row]):
            yield replace(item, edits=edits)


def shown_order(item: Item, annotator: str, seed: int) -> list[int]:
    """Return the shuffled order in which an annotator sees the corrections of a set.

    It is the same whenever the set is shown, and different for each annotator.
    """
    text = f"{seed}\0{item.id}\0{annotator}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    drawn = np.random.default_rng(int.from_bytes(digest[:8]))
    return [int(place) for place in drawn.permutation(len(item.texts))]


def checked_values(
    item: Item, task: AnnotationTask, chosen: Sequence[str]
) -> tuple[int, ...] | None:
    """Return answers as numbers in the order of the questions; None if one is not valid.

    Args:
        item: the judged item.
        task: the annotators' task.
        chosen: the answers as the page sends them.
    """
    ranks = range(1, len(item.texts) + 1)
    allowed = {"rank": ranks, "rate": range(1, 5), "edits": range(2)}[task]
    values = {str(value): value for value in allowed}
    if len(chosen) != item.values or any(text not in values for text in chosen):
        return None
    return tuple(values[text] for text in chosen)


@dataclass(frozen=True)
class FormQuestion:
    """One thing to choose on a page.

    Attributes:
        place: index among the item's values.
        name: heading above the choices.
        parts: a correction or an edit with marked words; empty for none.
        choices: values with their labels.
    """

    place: int
    name: str
    parts: Sequence[WordRun]
    choices: _RatingScale


def questions(
    item: Item, corpus: Corpus, annotator: str, settings: Annotation
) -> list[FormQuestion]:
    """Return the questions on an item, in the order in which they are shown."""
    if settings.task == "rate":
        return [
            FormQuestion(place, f"{name.capitalize()}: {asked}", (), scale)
            for place, (name, (asked, scale)) in enumerate(ASPECTS.items())
        ]
    if settings.task == "edits":
        return [
            FormQuestion(place, f"Edit {place + 1}", _edit_parts(corpus, item.row, edit), _VERDICTS)
            for place, edit in enumerate(item.edits)
        ]
    ranks = tuple((rank, "best" if rank == 1 else "") for rank in range(1, len(item.texts) + 1))
    return [
        FormQuestion(place, chr(ord("A") + at), marked(corpus, item, place), ranks)
        for at, place in enumerate(shown_order(item, annotator, settings.seed))
    ]


def marked(corpus: Corpus, item: Item, place: int) -> Sequence[WordRun]:
    """Return the correction at a place of an item in parts, with deletions and insertions."""
    return mark_edits(corpus.sources[item.row], item.texts[place], corpus.language)


_AROUND = 4  # words on either side of an edit


def _edit_parts(corpus: Corpus, row: int, edit: Edit) -> list[WordRun]:
    """Return an edit with the source words around it; other edits are not applied."""
    words = corpus.sources[row].split()
    before, after = words[max(edit.start - _AROUND, 0) : edit.start], words[edit.end :][:_AROUND]
    pieces: list[tuple[Literal["equal", "delete", "insert"], Sequence[str]]] = [
        ("equal", [*(["…"] if edit.start > _AROUND else []), *before]),
        ("delete", words[edit.start : edit.end]),
        ("insert", edit.tokens),
        ("equal", [*after, *(["…"] if edit.end + _AROUND < len(words) else [])]),
    ]
    return parts_of(pieces, corpus.language)
