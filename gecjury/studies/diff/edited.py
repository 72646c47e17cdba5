"""Changes between two outputs: edits that came and went, and the sentences that moved most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import ARROW, Edit, Edits, counted_edits
from gecjury.extraction.retyping import typed_corpus_edits
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.studies.system_tests import scores_without

Move = Literal["kept", "came", "went"]
"""Edits that both systems make, that only the NEW one makes, that only the OLD one made."""

_CANDIDATES = 200  # sentences whose weight in the difference is looked at


@dataclass(frozen=True)
class EditChange:
    """One edit of one sentence, by the system that makes it.

    Attributes:
        line: of the source, from 1.
        edit: as `[old→new]`.
        type: the error type, empty where it has none.
        move: who makes it.
        right: whether some reference has it; None without references.
    """

    line: int
    edit: str
    type: str
    move: Move
    right: bool | None


@dataclass(frozen=True)
class EditChanges:
    """The edits of two systems.

    Attributes:
        edits: by line, those of one line from left to right.
        notes: remarks for the user.
    """

    edits: tuple[EditChange, ...]
    notes: tuple[str, ...] = ()

    def totals(self) -> list[dict[str, Any]]:
        """Return a record each for `kept`, `came` and `went`: how many, and how many are right."""
        rows = []
        for move in get_args(Move):
            counted = _counted([edit.right for edit in self.edits if edit.move == move])
            right, count = counted["right"], counted["count"]
            share = None if right is None or not count else right / count
            rows.append({"edits": move, **counted, "share": share})
        return rows

    def most_frequent(self, count: int) -> list[dict[str, Any]]:
        """Return the edits that came or went most often, alike in words and type; each move apart.

        Args:
            count: of those that came, and of those that went.
        """
        rows: list[dict[str, Any]] = []
        for move in ("came", "went"):
            alike: dict[tuple[str, str], list[bool | None]] = {}
            for one in self.edits:
                if one.move == move:
                    alike.setdefault((one.edit, one.type), []).append(one.right)
            order = sorted(alike.items(), key=lambda item: (-len(item[1]), item[0]))
            rows += [
                {"edits": move, "edit": edit, "type": kind, **_counted(right)}
                for (edit, kind), right in order[:count]
            ]
        return rows


def _counted(right: Sequence[bool | None]) -> dict[str, Any]:
    """Return how many edits there are, and how many are right and wrong, if that is known."""
    good = None if None in right else sum(map(bool, right))
    bad = None if good is None else len(right) - good
    return {"count": len(right), "right": good, "wrong": bad}


def edit_changes(
    corpus: Corpus, runtime: Runtime, tagger: str = "embedded", pos: str = "spacy2"
) -> EditChanges:
    """Return the edits that two systems share, and those that only one of them makes.

    Edits are the same where span and correction are; an edit is right where any reference has it.

    Args:
        corpus: of the OLD and the NEW system.
        runtime: workers and cache.
        tagger: of edits that have to be extracted; see `gecjury.extraction.extract`.
        pos: part-of-speech scheme of the embedded tagger.

    Raises:
        MissingExtraError, OptionError: as `gecjury.extraction.extract.corpus_edits`.
    """
    typed = typed_corpus_edits(corpus, "auto", tagger, pos, runtime)
    old, new = typed.systems.values()
    changes: list[EditChange] = []
    for row, source in enumerate(corpus.sources):
        before, after = _by_key(old[row]), _by_key(new[row])
        wanted = {key for lines in typed.references for key in _by_key(lines[row])}
        tokens = source.split()
        for key in sorted({*before, *after}):
            # Types may differ where words do not: the NEW one's is shown.
            edit = after.get(key) or before[key]
            move: Move = "went" if key not in after else "came" if key not in before else "kept"
            right = key in wanted if corpus.references else None
            shown = f"[{' '.join(tokens[edit.start : edit.end])}{ARROW}{edit.correction}]"
            changes.append(EditChange(row + 1, shown, edit.type, move, right))
    return EditChanges(tuple(changes), typed.notes)


def _by_key(edits: Edits) -> dict[tuple[int, int, str], Edit]:
    return {(edit.start, edit.end, edit.correction): edit for edit in counted_edits(edits)}


def moved_sentences(
    scorer: Scorer, table: ScoreTable, corpus: Corpus, count: int
) -> list[dict[str, Any]]:
    """Return the sentences that lowered a metric's difference most, then those that raised it.

    A record has the `metric`, the `line` from 1, its `effect` (how much of NEW − OLD is gone
    without the sentence), the `old` and the `new` score, the `source`, and both corrections as
    `old_marked` and `new_marked`, their edits as `[old→new]`.

    Looked at are the five times `count`, 200 at least, with the largest differences of sentence
    scores, of equal ones the longest; sentences that both systems correct alike do not move.

    Args:
        scorer: what made the table.
        table: scores of the OLD and the NEW system.
        corpus: the texts.
        count: of each direction; fewer where fewer moved it.
    """
    one, two = corpus.systems.values()
    language = corpus.language
    # Sentences that both correct alike do not move the difference of any metric.
    apart = [
        row
        for row, (a, b) in enumerate(zip(one.lines, two.lines, strict=True))
        if a.split() != b.split()
    ]
    scores = table.sentences
    change = np.nan_to_num(np.abs(scores[1] - scores[0]))
    sizes = [len(text.split()) for text in corpus.sources]
    # The largest changes are the likeliest to matter; a trial of every line takes long.
    apart.sort(key=lambda row: (-change[row], -sizes[row]))
    tried = apart[: max(_CANDIDATES, 5 * count)]
    whole = table.by_system.score[1] - table.by_system.score[0]
    effects = np.full(len(tried), whole)
    if len(corpus) > 1:
        without = scores_without(scorer, table, tried)
        effects = np.nan_to_num(whole - (without[:, 1] - without[:, 0]))
        effects[np.abs(effects) < 1e-12] = 0.0  # what rounding leaves of nothing
    order = sorted(zip(effects.tolist(), tried, strict=True))
    down = [one for one in order if one[0] < 0][:count]
    up = [one for one in sorted(order, key=lambda e: (-e[0], e[1])) if one[0] > 0][:count]
    return [
        {
            "metric": table.signature.label,
            "line": row + 1,
            "effect": effect,
            "old": float(scores[0, row]),
            "new": float(scores[1, row]),
            "source": language.joined(corpus.sources[row]),
            "old_marked": one.marked(corpus.sources[row], row, language),
            "new_marked": two.marked(corpus.sources[row], row, language),
        }
        for effect, row in (*down, *up)
    ]
