"""Edits that were added or dropped, and the effect of single sentences on a difference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import gecjury
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.texts import corpus_of_texts
from gecjury.studies.systems.diff.edited import (
    EditChange,
    edit_changes,
    most_frequent,
    moved_sentences,
    totals,
)

SOURCES = ["a b c .", "d e f .", "a b g ."]


def version(*edits: list[Edit]) -> Version:
    """Return lines with these edits; the texts of the lines are not used."""
    return Version(tuple(SOURCES), tuple(map(tuple, edits)))


@pytest.fixture
def corpus() -> Corpus:
    b, c = Edit(1, 2, "B", "R:X"), Edit(2, 2, "C", "M:Y")
    return Corpus(
        tuple(SOURCES),
        {"old": version([b], [], [b]), "new": version([c, b], [Edit(0, 1, "", "U:Z")], [])},
        (version([b], [], []), version([], [], [Edit(1, 2, "B", "R:OTHER")])),
    )


def test_edits_are_distinguished_by_line_and_position(corpus: Corpus) -> None:
    pytest.importorskip("errant")
    changes, _ = edit_changes(corpus, Runtime(use_cache=False))
    assert changes == [
        EditChange(1, "[b→B]", "R:X", "kept", True),
        EditChange(1, "[→C]", "M:Y", "came", False),
        EditChange(2, "[d→]", "U:Z", "came", False),
        EditChange(3, "[b→B]", "R:X", "went", True),  # whichever type the reference gives it
    ]
    assert totals(changes) == [
        {"edits": "kept", "count": 1, "right": 1, "wrong": 0, "share": 1.0},
        {"edits": "came", "count": 2, "right": 0, "wrong": 2, "share": 0.0},
        {"edits": "went", "count": 1, "right": 1, "wrong": 0, "share": 1.0},
    ]
    assert [row["edit"] for row in most_frequent(changes, 1)] == ["[d→]", "[b→B]"]
    # Without references nothing is right or wrong.
    changes, _ = edit_changes(Corpus(corpus.sources, corpus.systems), Runtime(use_cache=False))
    assert {change.right for change in changes} == {None}
    for rows in (totals(changes), most_frequent(changes, 3)):
        assert {row["right"] for row in rows} == {None}


OLD = ["a b c d .", "e f g h .", "i j k l .", "m n o p ."]
NEW = ["a B c d .", "e F g h .", "i j  k l .", "m x o y ."]
REFERENCES = [["a B c d .", "e f g h .", "i J k l .", "m N o p ."]] * 2


def test_the_effect_is_the_change_when_the_sentence_is_removed() -> None:
    corpus = corpus_of_texts(OLD, {"old": OLD, "new": NEW}, REFERENCES)
    scorer = gecjury.load("green")
    table = scorer.score_corpus(corpus)
    moved = moved_sentences(scorer, table, corpus, 9)
    # The third sentence differs in a space only.
    assert {each.line for each in moved} == {1, 2, 4}
    signs = [each.effect > 0 for each in moved]
    assert signs == sorted(signs)
    whole = table.totals["new"] - table.totals["old"]
    for each in moved:
        kept = [row for row in range(4) if row != each.line - 1]
        totals = scorer.score(
            [OLD[row] for row in kept],
            {"old": [OLD[row] for row in kept], "new": [NEW[row] for row in kept]},
            [[lines[row] for row in kept] for lines in REFERENCES],
        ).totals
        assert each.effect == pytest.approx(whole - (totals["new"] - totals["old"]))
        assert each.old == table.sentences[0, each.line - 1]
    assert next(each for each in moved if each.line == 1).new_marked == "a [b→B] c d ."
    down = [each.effect for each in moved_sentences(scorer, table, corpus, 1)]
    assert len(down) == 2
    assert down[0] < 0 < down[1]


def test_effects_do_not_depend_on_randomly_drawn_references() -> None:
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(list("abcdefghij"), 9)) for _ in range(30)]
    one = [text.replace("a", "x").replace("c", "y") for text in words]
    two = [text.replace("b", "z").replace("d", "v") for text in words]
    new = [*one[:15], *words[15:]]
    scorer = gecjury.load("gleu", draws=2000)
    corpus = corpus_of_texts(words, {"old": words, "new": new}, [one, two])
    table = scorer.score_corpus(corpus)
    whole = table.totals["new"] - table.totals["old"]
    moved = moved_sentences(scorer, table, corpus, 15)
    assert len(moved) > 9
    for each in moved:
        kept = [row for row in range(30) if row != each.line - 1]
        part = [[lines[row] for row in kept] for lines in (words, new, one, two)]
        totals = scorer.score(part[0], {"old": part[0], "new": part[1]}, part[2:]).totals
        expected = whole - (totals["new"] - totals["old"])
        assert each.effect == pytest.approx(expected, abs=0.5 * max(abs(e.effect) for e in moved))


def test_sentences_with_the_largest_effects_come_first() -> None:
    corpus = gecjury.load_benchmark("sample").corpus
    corpus = corpus.with_systems(corpus.names[:2])
    how = gecjury.Resampling(over="sentences", resamples=5, permutations=5)
    difference = gecjury.diff(corpus, "green", gecjury.Diff(resampling=how, by_type=0, show=4))
    effects = [row["effect"] for row in difference.table("moved").rows]
    assert len(effects) > 3
    up = [effect for effect in effects if effect > 0]
    down = [effect for effect in effects if effect < 0]
    assert effects == [*down, *up]
    assert all(a >= b for a, b in pairwise(up))
    assert all(a <= b for a, b in pairwise(down))
