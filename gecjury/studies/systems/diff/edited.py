"""Changes between two outputs: edits that came and went, and the sentences that moved most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from gecjury.core.errors import MissingExtraError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import ARROW, Edit, Edits, counted_edits
from gecjury.extraction.retyping import typed_corpus_edits
from gecjury.scoring.abilities import ReadsEdits
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.scoring.system_tests import scores_without
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.figure import values_of

Move = Literal["kept", "came", "went"]
"""Edits that both systems make, that only the NEW one makes, or that only the OLD one made."""

register(Statistic("share", "right of all", better="higher", range=(0, 1)))

_CANDIDATES = 200  # sentences whose effect on the difference is computed


@dataclass(frozen=True)
class EditChange:
    """An edit of one of two systems, or of both.

    Attributes:
        line: line of the source, from 1.
        edit: the edit as `[old→new]`.
        right: whether some reference has it; None without references.
    """

    line: int
    edit: str
    type: str
    move: Move
    right: bool | None

    def row(self) -> dict[str, object]:
        """Return its record for JSON."""
        return values_of(self, "line", "edit", "type", "move", "right")


def totals(changes: Sequence[EditChange]) -> list[dict[str, object]]:
    """Return one record per move: the number of edits, and how many of them are right.

    Args:
        changes: from `edit_changes`.
    """
    rows = []
    for move in get_args(Move):
        right = [one.right for one in changes if one.move == move]
        share = None if None in right or not right else sum(map(bool, right)) / len(right)
        rows.append({"edits": move, **_counted(right), "share": share})
    return rows


def most_frequent(changes: Sequence[EditChange], count: int) -> list[dict[str, object]]:
    """Return the edits that came most often, then those that went most often.

    Edits with the same words and type are counted together.

    Args:
        changes: from `edit_changes`.
        count: number of edits for each of the two.
    """
    rows: list[dict[str, object]] = []
    for move in ("came", "went"):
        alike: dict[tuple[str, str], list[bool | None]] = {}
        for one in changes:
            if one.move == move:
                alike.setdefault((one.edit, one.type), []).append(one.right)
        order = sorted(alike.items(), key=lambda item: (-len(item[1]), item[0]))
        rows += [
            {"edits": move, "edit": edit, "type": kind, **_counted(right)}
            for (edit, kind), right in order[:count]
        ]
    return rows


def _counted(right: Sequence[bool | None]) -> dict[str, object]:
    """Return how many edits there are, and how many are right and wrong, if that is known."""
    good = None if None in right else sum(map(bool, right))
    bad = None if good is None else len(right) - good
    return {"count": len(right), "right": good, "wrong": bad}


def changes_by_metric(
    corpus: Corpus, scorers: Sequence[Scorer], runtime: Runtime
) -> tuple[list[EditChange] | None, Sequence[str]]:
    """Return edits as extracted by the first metric over edits, else by the default tagger."""
    # Edits are extracted in the same way as by the metric that is printed above.
    readers = (one.extraction for one in scorers if isinstance(one, ReadsEdits))
    _, tagger = next(readers, ("auto", "embedded"))
    try:
        return edit_changes(corpus, runtime, tagger)
    except MissingExtraError as error:
        return None, [f"edits that came and went are left out: {error}"]


def edit_changes(
    corpus: Corpus, runtime: Runtime, tagger: str = "embedded"
) -> tuple[list[EditChange], tuple[str, ...]]:
    """Return the edits that two systems share, those that only one of them makes, and notes.

    They are sorted by line and from left to right. Edits are the same if span and correction are;
    an edit is right if any reference has it.

    Args:
        tagger: tagger for edits that have to be extracted; see `gecjury.extraction.extract`.

    Raises:
        MissingExtraError, OptionError: as `gecjury.extraction.extract.corpus_edits`.
    """
    typed = typed_corpus_edits(corpus, "auto", tagger, runtime)
    old, new = typed.systems.values()
    changes: list[EditChange] = []
    for row, source in enumerate(corpus.sources):
        before, after = _by_key(old[row]), _by_key(new[row])
        wanted = {key for lines in typed.references for key in _by_key(lines[row])}
        tokens = source.split()
        for key in sorted({*before, *after}):
            # Equal edits may have different types: the type of the NEW system is shown.
            edit = after.get(key) or before[key]
            move: Move = "went" if key not in after else "came" if key not in before else "kept"
            shown = f"[{' '.join(tokens[edit.start : edit.end])}{ARROW}{edit.correction}]"
            right = key in wanted if corpus.references else None
            changes.append(EditChange(row + 1, shown, edit.type, move, right))
    return changes, typed.notes


def _by_key(edits: Edits) -> dict[tuple[int, int, str], Edit]:
    return {(edit.start, edit.end, edit.correction): edit for edit in counted_edits(edits)}


@dataclass(frozen=True, kw_only=True)
class MovedSentence:
    """A sentence that moved the difference of two systems by a metric.

    Attributes:
        line: its number, from 1.
        effect: how much of NEW − OLD disappears without the sentence.
        old: its score in OLD.
        new: its score in NEW.
        old_marked: the correction of OLD, with its edits as `[old→new]`.
        new_marked: the correction of NEW.
    """

    metric: str
    line: int
    effect: float
    old: float
    new: float
    source: str
    old_marked: str
    new_marked: str

    def row(self) -> dict[str, object]:
        """Return its record for JSON."""
        sides = ("old", "new", "source", "old_marked", "new_marked")
        return values_of(self, "metric", "line", "effect", *sides)


def _most_changed(table: ScoreTable, corpus: Corpus) -> list[int]:
    """Return the sentences that two systems correct differently, the most changed scores first."""
    old, new = corpus.systems.values()
    # Sentences that both correct in the same way do not affect the difference of any metric.
    apart = [
        row
        for row, (a, b) in enumerate(zip(old.lines, new.lines, strict=True))
        if a.split() != b.split()
    ]
    change = np.nan_to_num(np.abs(table.sentences[1] - table.sentences[0]))
    sizes = [len(text.split()) for text in corpus.sources]
    # Large changes are most likely to matter, and trying every line would take long.
    return sorted(apart, key=lambda row: (-change[row], -sizes[row]))


def moved_sentences(
    scorer: Scorer, table: ScoreTable, corpus: Corpus, count: int
) -> list[MovedSentence]:
    """Return the sentences that lowered a metric's difference most, then those that raised it.

    Only the sentences with the largest differences of sentence scores are tried: five times
    `count`, but at least 200. Among equal differences, the longest sentences are tried first;
    sentences that both systems correct in the same way are never tried.

    Args:
        count: number of sentences in each direction; fewer if fewer have an effect.
    """
    old, new = corpus.systems.values()
    language, scores = corpus.language, table.sentences
    tried = _most_changed(table, corpus)[: max(_CANDIDATES, 5 * count)]
    whole = table.by_system.score[1] - table.by_system.score[0]
    effects = np.full(len(tried), whole)
    if len(corpus) > 1:
        without = scores_without(scorer, table, tried)
        effects = np.nan_to_num(whole - (without[:, 1] - without[:, 0]))
        effects[np.abs(effects) < 1e-12] = 0.0  # zero except for rounding
    order = sorted(zip(effects.tolist(), tried, strict=True))
    down = [pair for pair in order if pair[0] < 0][:count]
    up = [pair for pair in sorted(order, key=lambda e: (-e[0], e[1])) if pair[0] > 0][:count]
    return [
        MovedSentence(
            metric=table.signature.label,
            line=row + 1,
            effect=effect,
            old=float(scores[0, row]),
            new=float(scores[1, row]),
            source=language.shown(corpus.sources[row]),
            old_marked=old.marked(corpus.sources[row], row, language),
            new_marked=new.marked(corpus.sources[row], row, language),
        )
        for effect, row in (*down, *up)
    ]
