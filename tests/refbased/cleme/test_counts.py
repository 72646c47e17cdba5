"""CLEME and CLEME2.0: hand-computed chunks and counts, invariants, published figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury import load
from gecjury.core.errors import InputError
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.cleme.counts import (
    CORPUS_WEIGHTS,
    SENTENCE_WEIGHTS,
    LengthWeight,
    Weighting,
    combined,
    components,
    confusion,
    judge_chunks,
    partition,
)
from gecjury.refbased.cleme.metric import CLEME
from gecjury.refbased.references import choose_running
from gecjury.stats.counts import precision_recall_f

UNWEIGHTED = Weighting(*[LengthWeight(1.0, 1.0, 1.0)] * 3)
SOURCE = [f"w{n}" for n in range(21)]
HYP = [Edit(3, 4, "D"), Edit(8, 9, "Ds"), Edit(15, 17, "x y"), Edit(18, 19, "z")]
REF0 = [Edit(3, 5, "D"), Edit(8, 9, "Ds")]
REF1 = [Edit(3, 5, "D"), Edit(6, 6, "a"), Edit(12, 13, "S")]


def prf(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return precision_recall_f(*confusion(counts), beta=0.5)


def running(counts: np.ndarray, usable: np.ndarray, *, official: bool = False) -> np.ndarray:
    """Return the references chosen for the corpus score of CLEME-dependent."""
    scorer = CLEME(assumption="dependent", compat="official" if official else "gecjury")
    return choose_running(np.where(usable[..., None], counts, np.nan)[None], scorer.rule)[1][0]


# --- chunks ------------------------------------------------------------------------------------


def test_boundaries_are_shared() -> None:
    # (3,4) and (3,5) overlap and form one chunk; no other spans touch. There are thirteen chunks,
    # as in the table of the official README, whose second sentence has these spans.
    parts = partition(SOURCE, [HYP, REF0, REF1])
    assert parts.spans == (
        (0, 3), (3, 5), (5, 6), (6, 6), (6, 8), (8, 9), (9, 12), (12, 13), (13, 15), (15, 17),
        (17, 18), (18, 19), (19, 21),
    )  # fmt: skip
    hyp, ref0, ref1 = parts.texts
    assert [row[1] for row in parts.texts] == [("D", "w4"), ("D",), ("D",)]
    assert [row[3] for row in parts.texts] == [None, None, ("a",)]
    assert (hyp[5], ref0[5], ref1[5]) == (("Ds",), ("Ds",), None)


def test_touching_edits_merge_even_through_insertions() -> None:
    # (1,2), (2,2) and (2,4) touch: one chunk 1-4
    parts = partition(list("abcde"), [[Edit(1, 2, "B"), Edit(2, 2, "x")], [Edit(2, 4, "")]])
    assert parts.spans == ((0, 1), (1, 4), (4, 5))
    assert parts.texts == ((None, ("B", "x", "c", "d"), None), (None, ("b",), None))


def test_edges_and_degenerate_sentences() -> None:
    assert partition(["a"], [[Edit(0, 0, "x")], [Edit(1, 1, "y")]]).spans == (
        (0, 0),
        (0, 1),
        (1, 1),
    )
    assert partition(["a", "b"], [[], []]).spans == ((0, 2),)
    assert partition([], [[], []]).spans == ()
    # an edit that changes nothing leaves the chunk unchanged
    assert partition(["a"], [[Edit(0, 1, "a")]]).texts == ((None,),)


def test_edits_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 tokens"):
        partition(["a", "b"], [[Edit(1, 3, "x")]])
    with pytest.raises(InputError, match="overlaps"):
        partition(["a", "b", "c"], [[Edit(0, 2, "x"), Edit(1, 3, "y")]])


@st.composite
def edit_sets(draw: st.DrawFn) -> tuple[list[str], list[list[Edit]]]:
    source = draw(st.lists(st.sampled_from("abc"), max_size=7))
    sets = []
    for _ in range(draw(st.integers(1, 3))):
        edits: list[Edit] = []
        start = 0
        while start <= len(source) and draw(st.booleans()):
            start = draw(st.integers(start, len(source)))
            end = draw(st.integers(start, min(len(source), start + 2)))
            edits.append(
                Edit(start, end, " ".join(draw(st.lists(st.sampled_from("abx"), max_size=2))))
            )
            start = max(end, start + 1)
        sets.append(edits)
    return source, sets


@given(edit_sets())
def test_chunks_tile_the_source_and_spell_every_version(
    case: tuple[list[str], list[list[Edit]]],
) -> None:
    source, sets = case
    parts = partition(source, sets)
    assert [i for start, end in parts.spans for i in range(start, end)] == list(range(len(source)))
    for edits, texts in zip(sets, parts.texts, strict=True):
        spelled: list[str] = []
        for (start, end), text in zip(parts.spans, texts, strict=True):
            spelled += source[start:end] if text is None else text
        assert spelled == apply_edits(source, edits)


# --- counts ------------------------------------------------------------------------------------


def test_readme_demo_by_hand() -> None:
    """THUKElab/CLEME README, demo of two sentences: F .2711, P .2293, R 1, TP .8, FP 2.7, TN 10."""
    # Mean length of the chunks that the references change: (2 + 1) + (2 + 1 + 1) = 7 over 5.
    verdicts = judge_chunks([["a"], SOURCE], [[], HYP], [[[], REF0], [[], REF1]])
    assert verdicts.mean_length == pytest.approx(1.4)
    counts = verdicts.counts(CORPUS_WEIGHTS)
    chosen = running(counts, verdicts.usable, official=True)
    assert chosen.tolist() == [0, 0]
    total = counts[[0, 1], chosen].sum(axis=0)
    # tp  chunk 8-9, length 1: 2/(1+exp(.4)) = .8026
    # fp  3-5 (needed) and 15-17, length 2: 2/(1+exp(.6)) = .7087, clipped to .75 each;
    #     18-19, length 1: 2/(1+exp(-.4)) = 1.1974
    # tn  seven chunks that nobody edits, 6-6 and 12-13, and the first sentence: 10
    assert total == pytest.approx([0.80262, 0.75, 0.75 + 1.19738, 0.0, 10.0], abs=1e-5)
    p, r, f = prf(total)
    assert (round(float(p), 4), round(float(r), 4), round(float(f), 4)) == (0.2293, 1.0, 0.2711)


def test_reference_1_and_independent_by_hand() -> None:
    ref1 = judge_chunks([SOURCE], [HYP], [[REF0], [REF1]]).counts(UNWEIGHTED)[0, 1]
    # 3-5 needed; 8-9, 15-17, 18-19 needless; 6-6 and 12-13 missed; both leave 7 chunks
    assert ref1.tolist() == [0, 1, 3, 2, 7]
    both = judge_chunks([SOURCE], [HYP], [[REF0], [REF1]], independent=True).counts(UNWEIGHTED)
    # 8-9 as in reference 0: tp; 3-5 needed; 15-17, 18-19 needless; 6-6 and 12-13 are changed by
    # one reference alone: tn
    assert both[0, 0].tolist() == [1, 1, 2, 0, 9]
    missed = judge_chunks([SOURCE], [[]], [[REF0], [REF1]], independent=True).counts(UNWEIGHTED)
    # only 3-5 is changed by both; chunks: 0-3, 3-5, 5-6, 6-6, 6-8, 8-9, 9-12, 12-13, 13-21
    assert missed[0, 0].tolist() == [0, 0, 0, 1, 8]


def test_sentence_weights_by_hand() -> None:
    verdicts = judge_chunks([SOURCE], [HYP], [[REF0], [REF1]])
    # α = 10, mean 1.4. tp, length 1: 10/(1+9·exp(.4)) = .6932, clipped to 1 (dependent), 2.5
    # (independent). fp, length 2: 10/(1+9·exp(.6)) = .5747; length 1: 10/(1+9·exp(-.4)) = 1.4219,
    # clipped to 1. fn is 1 whatever the length.
    dependent = verdicts.counts(SENTENCE_WEIGHTS["gecjury"][0])[0]
    assert dependent[0] == pytest.approx([1.0, 0.57474, 1.57474, 0.0, 9.0], abs=1e-5)
    assert dependent[1] == pytest.approx([0.0, 0.57474, 1 + 1.57474, 2.0, 7.0], abs=1e-5)
    independent = judge_chunks([SOURCE], [HYP], [[REF0], [REF1]], independent=True)
    tp = independent.counts(SENTENCE_WEIGHTS["gecjury"][1])[0, 0, 0]
    assert tp == 2.5


def test_references_that_delete_everything_are_dropped() -> None:
    gone = [Edit(0, 2, "")]
    verdicts = judge_chunks([["a", "b"]], [[]], [[gone], [[Edit(0, 1, "x")]]])
    assert verdicts.usable.tolist() == [[False, True]]
    assert verdicts.mean_length == 1.0  # the dropped one, of length 2, does not count
    dropped, kept = verdicts.counts(UNWEIGHTED)[0]
    assert np.isnan(dropped).all()
    assert kept.tolist() == [0, 0, 0, 1, 1]
    assert running(verdicts.counts(CORPUS_WEIGHTS), verdicts.usable).tolist() == [1]
    alone = judge_chunks([["a", "b"]], [[]], [[gone]])
    assert alone.usable.tolist() == [[True]]


def test_zero_rules() -> None:
    # nothing to do and nothing done: precision and recall 1; only needless changes: precision 0
    assert [float(v) for v in prf(np.array([0.0, 0, 0, 0, 1]))] == [1, 1, 1]
    assert [float(v) for v in prf(np.array([0.0, 0, 2, 0, 1]))] == [0, 1, 0]
    assert [float(v) for v in prf(np.array([0.0, 1, 0, 1, 1]))] == [0, 0, 0]
    assert [float(v) for v in components(np.array([0.0, 0, 0, 0, 1]))] == [0, 0, 0, 0]


def test_components_by_hand() -> None:
    counts = np.array([4.0, 2, 2, 2, 9])
    # needed 4+2+2 = 8: hit 4/8, wrong 2/8, under 2/8; made 4+2+2 = 8: over 2/8
    assert [float(v) for v in components(counts)] == [0.5, 0.25, 0.25, 0.25]
    # .45·.5 + .35·.75 + .15·.75 + .05·.75 = .225 + .55·.75
    assert combined(counts) == pytest.approx(0.6375)
    assert combined(counts, (0.35, 0.25, 0.20, 0.20)) == pytest.approx(0.35 * 0.5 + 0.65 * 0.75)


def test_running_choice_and_its_ties() -> None:
    usable = np.ones((1, 2), dtype=bool)
    # equal F (0 for both): more tp, then fewer fp, fewer fn, more tn
    for rows in (
        [[0.0, 0, 2, 3, 1], [0.0, 0, 1, 3, 1]],
        [[0.0, 1, 1, 3, 1], [0.0, 1, 1, 2, 1]],
        [[0.0, 1, 1, 3, 1], [0.0, 1, 1, 3, 2]],
    ):
        assert running(np.array([rows]), usable).tolist() == [1]
        assert running(np.array([rows[::-1]]), usable).tolist() == [0]
    # a gain below the fourth digit decides, unless F is rounded: then more tp wins
    big = [[1000.0, 500, 0, 1500, 0], [0.0, 0, 0, 0, 0]]
    # F(1001, 501, 1500) = .588201, F(1002, 500, 1508) = .588166: both .5882
    counts = np.array([big, [[1.0, 1, 0, 0, 0], [2.0, 0, 0, 8, 0]]])
    mask = np.array([[True, False], [True, True]])
    totals = counts[0, 0] + counts[1]
    assert [round(float(f), 4) for f in prf(totals)[2]] == [0.5882, 0.5882]
    assert running(counts, mask).tolist() == [0, 0]
    assert running(counts, mask, official=True).tolist() == [0, 1]


def test_sentences_choose_by_f_then_precision_then_recall() -> None:
    # F is 0 with all three references. Precision is 0 with the first two, which have FP, and 1 with
    # the third, which is absent from the first sentence. Recall is 0 with the first, which requires
    # a change.
    counts = np.array([[[0.0, 1, 0, 1, 0], [0.0, 0, 1, 0, 1], [0.0, 0, 0, 1, 1]]] * 2)
    counts[0, 2] = np.nan
    assert CLEME(assumption="dependent").best_references(counts).tolist() == [1, 2]


@given(edit_sets())
def test_own_reference_is_perfect_and_order_of_references_does_not_matter(
    case: tuple[list[str], list[list[Edit]]],
) -> None:
    source, sets = case
    hyp = sets[0]
    if len(apply_edits(source, hyp)):
        counts = judge_chunks([source], [hyp], [[edits] for edits in sets]).counts(UNWEIGHTED)
        assert counts[0, 0, 1:4].tolist() == [0, 0, 0]
    if not all(apply_edits(source, edits) for edits in sets):
        return  # a reference is dropped, or the first of several that delete everything is kept
    for independent in (False, True):
        there = judge_chunks([source], [hyp], [[e] for e in sets], independent=independent)
        back = judge_chunks([source], [hyp], [[e] for e in sets[::-1]], independent=independent)
        assert there.counts(CORPUS_WEIGHTS) == pytest.approx(back.counts(CORPUS_WEIGHTS)[:, ::-1])
        # every chunk has exactly one verdict
        chunks = len(partition(source, [hyp, *sets]).spans)
        assert (there.counts(UNWEIGHTED).sum(axis=2) == chunks).all()


# --- published figures -------------------------------------------------------------------------


def read_m2(path: Path) -> tuple[list[list[str]], dict[int, list[list[Edit]]]]:
    """Return sources and edits by annotator; here every annotator has a line in every sentence."""
    sources: list[list[str]] = []
    edits: dict[int, list[list[Edit]]] = {}
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = block.split("\n")
        sources.append(first[2:].split())
        for line in rest:
            span, kind, correction, _, _, annotator = line[2:].split("|||")
            mine = edits.setdefault(int(annotator), [])
            while len(mine) < len(sources):
                mine.append([])
            if kind != "noop":
                start, end = (int(n) for n in span.split())
                mine[-1].append(Edit(start, end, correction, kind))
    return sources, edits


def test_readme_amu_dependent(data_dir: Path) -> None:
    """THUKElab/CLEME README, AMU, corpus level, dependent.

    F .2514, P .2645, R .2097, TP 313.51, FP 871.8, FN 1181.71, TN 6312; mean length 1.79052.
    """
    folder = data_dir / "conll14-errant"
    sources, references = read_m2(folder / "conll14.errant")
    same, hypothesis = read_m2(folder / "conll14-AMU.errant")
    assert same == sources
    verdicts = judge_chunks(sources, hypothesis[0], [references[0], references[1]])
    assert verdicts.mean_length == pytest.approx(1.7905201847760595)
    counts = verdicts.counts(CORPUS_WEIGHTS)
    for official in (False, True):
        chosen = running(counts, verdicts.usable, official=official)
        tp, needed, needless, fn, tn = counts[np.arange(len(sources)), chosen].sum(axis=0).tolist()
        assert round(tp, 2) == 313.51
        assert round(needed + needless, 2) == 871.80
        assert round(fn, 2) == 1181.71
        assert tn == 6312
        p, r, f = prf(np.array([tp, needed, needless, fn, tn]))
        rounded = (round(float(p), 4), round(float(r), 4), round(float(f), 4))
        assert rounded == (0.2645, 0.2097, 0.2514)


@pytest.mark.parametrize("name", ["cleme", "cleme2"])
def test_an_empty_text_scores_like_any_unchanged_one(name: str) -> None:
    empty, unchanged = (load(name).score([text], [text], [text]) for text in ("", "a b"))
    assert empty.sentences.tolist() == unchanged.sentences.tolist()
    assert list(empty.totals) == list(unchanged.totals)
