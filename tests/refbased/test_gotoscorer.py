"""GoToScorer: hand-computed chunks, weights and scores, invariants, real systems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import InputError
from gecjury.corpus.edits import Edit
from gecjury.refbased.gotoscorer import (
    Chunk,
    JudgedChunks,
    chunk_sequence,
    judge_systems,
    verdicts,
)
from gecjury.stats.counts import precision_recall_f

# The spans of the official program's demo (gotutiyan/GTS, demo/), with other words.
SOURCES = [list("abcde"), list("abcdefg")]
REFERENCE = [
    [Edit(1, 1, "H B"), Edit(2, 3, ""), Edit(3, 4, "I")],
    [Edit(1, 3, "G"), Edit(4, 4, "T"), Edit(5, 6, "")],
]
SYSTEMS = [
    [[Edit(1, 1, "H B"), Edit(3, 4, "I")], [Edit(1, 3, "G"), Edit(4, 4, "T")]],
    [
        [Edit(0, 0, "Q"), Edit(1, 1, "A"), Edit(2, 3, ""), Edit(3, 4, "I"), Edit(5, 5, "Q")],
        [Edit(2, 3, "W"), Edit(4, 4, "T")],
    ],
    [
        [Edit(1, 3, "K"), Edit(3, 4, "I")],
        [Edit(2, 2, "O"), Edit(4, 4, "T"), Edit(5, 6, "P")],
    ],
]


# --- chunks and verdicts -----------------------------------------------------------------------


def test_chunk_sequence_by_hand() -> None:
    chunks = chunk_sequence(SOURCES[0], REFERENCE[0])
    assert chunks[:4] == [
        Chunk(0, 0, (), False),
        Chunk(0, 1, ("a",), False),
        Chunk(1, 1, ("H", "B"), True),
        Chunk(1, 2, ("b",), False),
    ]
    assert [(c.start, c.end) for c in chunks] == [
        (0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 5), (5, 5),
    ]  # fmt: skip
    # no insertion place inside an edit of several tokens
    assert [(c.start, c.end) for c in chunk_sequence(list("abc"), [Edit(0, 2, "x")])] == [
        (0, 0), (0, 2), (2, 2), (2, 3), (3, 3),
    ]  # fmt: skip
    assert chunk_sequence([], []) == [Chunk(0, 0, (), False)]
    assert chunk_sequence([], [Edit(0, 0, "x")]) == [Chunk(0, 0, ("x",), True)]


def test_ignored_and_joined_edits() -> None:
    plain = chunk_sequence(["a"], [])
    assert chunk_sequence(["a"], [Edit(-1, -1, "", "noop")]) == plain
    assert chunk_sequence(["a"], [Edit(0, 1, "b", "UNK")]) == plain
    assert chunk_sequence(["a"], [Edit(0, 1, "a", "R:OTHER")]) == plain
    both = chunk_sequence(["a"], [Edit(0, 0, "x"), Edit(0, 0, "y")])
    assert both == chunk_sequence(["a"], [Edit(0, 0, "x y")])


def test_verdicts_by_hand() -> None:
    source = list("abcd")
    gold = chunk_sequence(source, [Edit(1, 3, "G")])  # places 0, 1, 3, 4; a; b c -> G; d
    names = ["tp", "fp", "fn", "wrong", "tn"]

    def named(*edits: Edit) -> dict[tuple[int, int], str]:
        found = verdicts(source, gold, edits)
        return {
            (c.start, c.end): names[v] for c, v in zip(gold, found, strict=True) if names[v] != "tn"
        }

    assert named() == {(1, 3): "fn"}
    assert named(Edit(1, 3, "G")) == {(1, 3): "tp"}
    assert named(Edit(1, 3, "X")) == {(1, 3): "wrong"}
    assert named(Edit(2, 3, "X")) == {(1, 3): "wrong"}
    # an edit that also covers the token before it is a false positive there
    assert named(Edit(0, 2, "X")) == {(0, 1): "fp", (1, 3): "wrong"}
    # an insertion inside the edit has no separate place
    assert named(Edit(2, 2, "X")) == {(1, 3): "wrong"}
    # one right before it is wrong at its place and touches the edit, unless that is made exactly
    assert named(Edit(1, 1, "X")) == {(1, 1): "fp", (1, 3): "wrong"}
    assert named(Edit(1, 1, "X"), Edit(1, 3, "G")) == {(1, 1): "fp", (1, 3): "tp"}
    # one right after it, or before an unchanged token, touches nothing else
    assert named(Edit(3, 3, "X")) == {(3, 3): "fp", (1, 3): "fn"}


def test_edits_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 tokens"):
        chunk_sequence(["a", "b"], [Edit(1, 3, "x")])
    with pytest.raises(InputError, match="overlaps"):
        chunk_sequence(["a", "b", "c"], [Edit(0, 2, "x"), Edit(1, 3, "y")])


# --- weights and scores ------------------------------------------------------------------------


def test_weights_of_the_official_demo() -> None:
    """gotutiyan/GTS, demo/weight.txt: how many of three systems are right on each chunk."""
    weights = judge_systems(SOURCES, REFERENCE, SYSTEMS).weights()
    right = (
        (2, 3, 1, 2, 3, 1, 3, 3, 3, 3, 2),
        (3, 3, 3, 1, 3, 3, 3, 3, 3, 0, 3, 3, 3),
    )
    for weight, count in zip(weights, right, strict=True):
        assert weight == pytest.approx(1 - np.array(count) / 3)


def test_scores_by_hand() -> None:
    judged = judge_systems(SOURCES, REFERENCE, SYSTEMS)
    total = judged.counts(judged.weights()).sum(axis=1)
    # Weights 1 - correct/3: sentence 1, places 0 and 5 and b 1/3 each, H B and c -> nothing 2/3
    # each; sentence 2, b c -> G 2/3, f -> nothing 1; all others 0: 7/3 + 5/3 = 4 in all.
    # System 1: tp H B, G; fn c, f. System 2: tp c; fp places 0 and 5; wrong H B, G; fn f.
    # System 3: fp b; wrong c, G, f; fn H B.
    expected = [
        [4 / 3, 0, 2 / 3 + 1],
        [2 / 3, 2 / 3 + 4 / 3, 4 / 3 + 1],
        [0, 1 / 3 + 4 / 3 + 1, 4 / 3 + 1 + 2 / 3],
    ]
    assert total == pytest.approx(np.array(expected))
    p, r, f = precision_recall_f(*total.T, beta=0.5, empty=0.0)
    assert p == pytest.approx([1, 1 / 4, 0])
    assert r == pytest.approx([4 / 9, 2 / 9, 0])
    # 1.25·(4/9) / (.25 + 4/9) = .8; 1.25·(1/18) / (1/16 + 2/9) = (5/72) / (41/144) = 10/41
    assert f == pytest.approx([0.8, 10 / 41, 0])


# --- invariants --------------------------------------------------------------------------------


@st.composite
def corrections(draw: st.DrawFn) -> tuple[list[str], list[Edit], list[Edit]]:
    source = draw(st.lists(st.sampled_from("abc"), max_size=7))
    sets: list[list[Edit]] = []
    for _ in range(2):
        edits: list[Edit] = []
        start = 0
        while start <= len(source) and draw(st.booleans()):
            start = draw(st.integers(start, len(source)))
            end = draw(st.integers(start, min(len(source), start + 2)))
            text = " ".join(draw(st.lists(st.sampled_from("xy"), max_size=2)))
            edits.append(Edit(start, end, text))
            start = max(end, start + 1)
        sets.append(edits)
    return source, sets[0], sets[1]


def compared(source: list[str], gold: list[Chunk], edits: list[Edit]) -> list[int]:
    """Return verdicts from comparing all chunks of the reference with all of the system."""
    mine = chunk_sequence(source, edits)
    # Edits that leave no word are wrong everywhere, unless the reference has no word either.
    empties = any(m.edited for m in mine) and not any(m.correction for m in mine)
    if empties and any(g.correction for g in gold):
        return [3 if g.edited else 1 for g in gold]
    result = []
    for g in gold:
        same = [m for m in mine if (m.start, m.end) == (g.start, g.end)]
        over = [
            m
            for m in mine
            if g.start < g.end and (g.start <= m.start < g.end or m.start <= g.start < m.end)
        ]
        right = same[0].correction == g.correction if same else g.start == g.end and not g.edited
        near = same if right else same + over
        changed = any(m.edited for m in near)
        if g.edited:
            result.append(0 if right else 3 if changed else 2)
        else:
            result.append(4 if right else 1)
    return result


@given(corrections())
def test_verdicts_equal_chunk_by_chunk_comparison(
    case: tuple[list[str], list[Edit], list[Edit]],
) -> None:
    source, reference, system = case
    gold = chunk_sequence(source, reference)
    assert verdicts(source, gold, system) == compared(source, gold, system)


@given(corrections())
def test_own_reference_and_source(case: tuple[list[str], list[Edit], list[Edit]]) -> None:
    source, reference, system = case
    judged = judge_systems([source], [reference], [[reference], [[]], [system]])
    weights = [np.ones_like(weight) for weight in judged.weights()]
    own, unchanged, some = judged.counts(weights)[:, 0]
    assert own[1:].tolist() == [0, 0]
    assert unchanged[:2].tolist() == [0, 0]
    assert own[0] == unchanged[2] == some[0] + some[2]


# --- real systems ------------------------------------------------------------------------------


def read_m2(path: Path, annotator: int = 0) -> tuple[list[list[str]], list[list[Edit]]]:
    sources: list[list[str]] = []
    edits: list[list[Edit]] = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = block.split("\n")
        sources.append(first[2:].split())
        edits.append([])
        for line in rest:
            span, kind, correction, _, _, number = line[2:].split("|||")
            start, end = (int(n) for n in span.split())
            if kind != "noop" and int(number) == annotator:
                edits[-1].append(Edit(start, end, correction, kind))
    return sources, edits


def test_four_systems_on_conll14(data_dir: Path) -> None:
    folder = data_dir / "conll14-errant"
    sources, reference = read_m2(folder / "conll14.errant")
    systems = [
        read_m2(folder / f"conll14-{name}.errant")[1] for name in ("AMU", "CAMB", "NTHU", "UMC")
    ]
    judged: JudgedChunks = judge_systems(sources, reference, systems)
    for n in range(0, len(sources), 10):
        gold = chunk_sequence(sources[n], reference[n])
        for m, system in enumerate(systems):
            found = judged.verdict[m, judged.sentence == n].tolist()
            assert found == compared(sources[n], gold, system[n])
    weights = judged.weights()
    counts = judged.counts(weights)
    # tp and fn together are the edits of the reference, whatever the system does
    gold_weight = counts[..., 0] + counts[..., 2]
    assert gold_weight == pytest.approx(np.broadcast_to(gold_weight[0], gold_weight.shape))
    # unweighted, tp is the number of edits made exactly as in the reference
    exact = [
        sum(
            len(
                {(e.start, e.end, e.correction) for e in a}
                & {(e.start, e.end, e.correction) for e in b}
            )
            for a, b in zip(system, reference, strict=True)
        )
        for system in systems
    ]
    ones = [np.ones_like(weight) for weight in weights]
    assert judged.counts(ones)[:, :, 0].sum(axis=1).tolist() == exact
