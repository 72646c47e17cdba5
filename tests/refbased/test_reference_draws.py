"""Running choices in many resampled corpora: exactly equal to a replay of each corpus."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.refbased import references
from gecjury.refbased.cleme.metric import CLEME, CLEME2
from gecjury.refbased.m2.metric import M2
from gecjury.refbased.references import FirstBest, best_f, choose_best, choose_running
from gecjury.refbased.uot_errant.metric import UOTERRANT

BETAS = [0.0, 0.3, 0.5, 1.0, 2.0]
KINDS = ["small", "sparse", "weighted", "real", "tiny", "large"]


def make_counts(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> FloatArray:
    """Return counts like those of metrics, and some that are numerically difficult."""
    small = rng.integers(0, 4, size=shape).astype(float)
    if kind == "sparse":
        return small * (rng.random(shape) < 0.3)
    if kind == "weighted":
        return np.array([0.0, 0.0, 0.75, 0.9, 1.0, 1.25])[rng.integers(6, size=shape)]
    if kind == "real":
        return rng.exponential(size=shape) * (rng.random(shape) < 0.7)
    if kind == "tiny":
        return small * 10.0 ** rng.integers(-14, 1, size=shape)
    if kind == "large":
        return small * 10.0 ** rng.integers(0, 6, size=shape)
    return small


def replayed(counts: FloatArray, rule: FirstBest) -> tuple[FloatArray, IntArray]:
    """Make every choice with the rule itself, sentence by sentence."""
    systems, sentences, _, kinds = counts.shape
    usable = ~np.isnan(counts[..., 0])
    values = np.nan_to_num(counts)
    totals = np.zeros((systems, kinds))
    chosen = np.full((systems, sentences), -1, dtype=np.int64)
    for row in range(sentences):
        own, may = values[:, row], usable[:, row]
        best = choose_best(rule(totals[:, None] + own, own), may)
        for system in np.flatnonzero(may.any(axis=-1)):
            chosen[system, row] = best[system]
            totals[system] += own[system, best[system]]
    return totals, chosen


def check_equal(counts: FloatArray, rule: FirstBest, rng: np.random.Generator) -> None:
    """Check that sums and choices of resampled and rearranged corpora equal the replay."""
    lines = counts.shape[1]
    draws = rng.integers(lines, size=(2, lines))
    draws[0] = np.arange(lines)
    found = choose_running(counts, rule, draws)[0]
    plain = choose_running(counts, lambda sums, own: rule(sums, own), draws)[0]
    assert found.tolist() == plain.tolist()
    for corpus, order in zip(found, draws, strict=True):
        totals, chosen = replayed(counts[:, order], rule)
        assert corpus.tolist() == totals.tolist()
        running = choose_running(counts[:, order], rule)
        assert running[0].tolist() == totals.tolist()
        assert running[1].tolist() == chosen.tolist()
        # The same in two parts, the second of which is processed in batches.
        early, late = counts[:, order[:3]], counts[:, order[3:]]
        before, first = choose_running(early, rule)
        with mock.patch.object(references, "_AT_ONCE", 4):
            sums, others = choose_running(late, rule, before=before)
        assert sums.tolist() == totals.tolist()
        assert np.hstack([first, others]).tolist() == chosen.tolist()


@given(
    st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(BETAS), st.integers(1, 5),
    st.sampled_from([12, 4]),
)  # fmt: skip
def test_errant_rule_equals_the_replay(
    seed: int, kind: str, beta: float, references: int, digits: int
) -> None:
    rng = np.random.default_rng(seed)
    counts = make_counts(rng, kind, (3, 12, references, 3))
    counts[rng.random(counts.shape[:3]) < 0.1] = np.nan
    check_equal(counts, best_f(beta, digits), rng)


@given(st.integers(0, 2**32 - 1), st.sampled_from(BETAS), st.integers(1, 4), st.booleans())
def test_m2_rule_equals_the_replay(seed: int, beta: float, annotators: int, many: bool) -> None:
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 6, size=(3, 14, annotators))
    proposed = rng.integers(0, 4, size=(3, 14, 1)) + (rng.random(gold.shape) < 0.2)
    correct = np.minimum(rng.integers(0, 4, size=gold.shape), np.minimum(gold, proposed))
    counts = np.stack([correct, proposed, gold], axis=-1).astype(float) * (1000 if many else 1)
    counts[rng.random(counts.shape[:3]) < 0.1] = np.nan
    scorer = M2(beta=beta)
    check_equal(counts, scorer.rule, rng)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(BETAS), st.booleans())
def test_cleme_rules_equal_the_replay(seed: int, kind: str, beta: float, official: bool) -> None:
    rng = np.random.default_rng(seed)
    # CLEME2.0 has a sixth column, which does not affect the choice.
    counts = make_counts(rng, kind, (2, 12, 3, 6))
    counts[rng.random(counts.shape[:3]) < 0.1] = np.nan
    compat = "official" if official else "gecjury"
    check_equal(counts[..., :5], CLEME(beta=beta, compat=compat).rule, rng)
    check_equal(counts, CLEME2(beta=beta, compat=compat).rule, rng)


@given(st.integers(0, 2**32 - 1))
def test_negative_counts_are_left_to_the_rule(seed: int) -> None:
    # UOT-ERRANT may transport more mass than one side has.
    rng = np.random.default_rng(seed)
    check_equal(rng.normal(1, 1, size=(2, 8, 3, 3)), best_f(0.5), rng)


def transported(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
    """Return mass moved and left on both sides; it may exceed a side, and a side may be empty."""
    sides = rng.exponential(size=(*shape, 2)) * (rng.random((*shape, 2)) < 0.8)
    moved = rng.uniform(0, 1.3, size=shape) * np.sqrt(sides.prod(axis=-1))
    counts = np.stack([moved, sides[..., 0] - moved, sides[..., 1] - moved], axis=-1)
    counts[rng.random(shape) < 0.05] = np.nan
    return counts


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(BETAS), st.booleans())
def test_uot_rule_equals_the_replay(seed: int, beta: float, clip: bool) -> None:
    rng = np.random.default_rng(seed)
    counts = transported(rng, (2, 24, 3))
    counts[1, :, :, 2] += counts[1, :, :, 0]
    counts[1, :, :, :2] = 0.0  # a system that changes nothing
    scorer = UOTERRANT(encoder="embedded", beta=beta, clip=clip)
    check_equal(counts, scorer.rule, rng)


def test_more_tp_breaks_ties_of_f_whatever_came_before() -> None:
    """All edits right so far: F is 1 with either reference, and the one with more TP is chosen.

    Nothing right so far: F is 0 with either, and fewer FP take precedence over fewer FN.
    """
    right = np.array([[[2.0, 0, 0], [1, 0, 0]]] * 2)
    wrong = np.array([[[0.0, 2, 1], [0, 1, 9]]] * 2)
    draws = np.array([[0, 1], [1, 1]])
    assert choose_running(right[None], best_f(0.5), draws)[0].tolist() == [[[4, 0, 0]]] * 2
    assert choose_running(wrong[None], best_f(0.5), draws)[0].tolist() == [[[0, 2, 18]]] * 2


def test_differences_that_rounding_hides_are_left_to_the_rule() -> None:
    """With 10¹³ TP and FP, one more FP lowers F by less than the 12 digits that are compared.

    So both references tie on F, and the second wins by TP, though its F is lower.
    """
    counts = np.zeros((1, 2, 2, 3))
    counts[0, 0] = [1e13, 1e13, 1e13]
    counts[0, 1] = [[0, 1, 0], [1, 9, 0]]
    draws = np.array([[0, 1]])
    assert choose_running(counts, best_f(0.5))[1].tolist() == [[0, 1]]
    assert choose_running(counts, best_f(0.5), draws)[0].tolist() == [[[1e13 + 1, 1e13 + 9, 1e13]]]


def test_no_sentences_give_zeros_and_no_choices() -> None:
    totals, chosen = choose_running(np.ones((2, 0, 3, 3)), best_f(0.5))
    assert totals.tolist() == np.zeros((2, 3)).tolist()
    assert chosen.shape == (2, 0)
