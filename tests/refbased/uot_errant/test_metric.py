"""UOT-ERRANT: hand-computed transport, edge cases, options, and the paper's worked example."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.refbased.uot_errant.vectors import EditSet, costs, edit_texts, masses
from gecjury.stats.counts import precision_recall_f

SOURCE = "he go to home yesterday ."
E1 = Edit(1, 2, "went", "R:VERB:TENSE")
E2 = Edit(2, 3, "", "U:PREP")
E3 = Edit(4, 5, "", "U:ADV")


def sets(*edits: Edit) -> EditSet:
    return EditSet(SOURCE, edits)


# Two edits per side with unit vectors v = (1, 0), w = (0.96, 0.28): masses 1, costs 0 for equal
# edits and c = √(0.04² + 0.28²) = √0.08 otherwise. By symmetry T = [[x, y], [y, x]] with row and
# column sums r = x + y. The derivative is 0 in both kinds of cells:
#     ε log x + (λ1 + λ2) log r = 0     and     c + ε log y + (λ1 + λ2) log r = 0,
# so y = q x with q = exp(−c/ε), and, at ε = λ1 = λ2 = 0.1, x r² = x³ (1 + q)² = 1.
V, W = np.array([1.0, 0.0]), np.array([0.96, 0.28])
Q = math.exp(-math.sqrt(0.08) / 0.1)
X = (1 + Q) ** (-2 / 3)


def test_two_by_two_by_hand() -> None:
    first, second = sets(E1, E2), EditSet(SOURCE, (E1, E2, E3)[:2])
    found = UOTERRANT(encoder="embedded").transported([(first, second)], {first: np.stack([V, W])})[
        0
    ]
    assert found.plan is not None
    np.testing.assert_allclose(found.plan, [[X, Q * X], [Q * X, X]], rtol=0, atol=1e-9)
    tp = 2 * X * (1 + Q)
    np.testing.assert_allclose(found.counts, [tp, 2 - tp, 2 - tp], rtol=0, atol=1e-9)
    # More mass is transported than exists: FP and FN are negative and P = R = F = TP / 2 > 1.
    precision, recall, score = precision_recall_f(*np.array(found.counts), beta=0.5)
    np.testing.assert_allclose([precision, recall, score], [tp / 2] * 3, atol=1e-9)
    assert score > 1


def test_unequal_masses_by_hand() -> None:
    # One edit of mass 2 against one of mass 1 in the same direction: C = 1, and
    # log T = (0.1 log 2 + 0.1 log 2 + 0.1 log 1 − 1) / 0.3, T = 2^(2/3) exp(−10/3) = 0.0566….
    first, second = sets(E1), sets(E2)
    found = UOTERRANT(encoder="embedded").transported(
        [(first, second)], {first: np.array([[2.0, 0.0]]), second: np.array([[1.0, 0.0]])}
    )[0]
    moved = 2 ** (2 / 3) * math.exp(-10 / 3)
    np.testing.assert_allclose(found.counts, [moved, 2 - moved, 1 - moved], atol=1e-9)


def test_a_published_plan_out_of_proportion_is_not_used() -> None:
    # Masses 6 against 1 and 0, at distances 5 and 6: the kernel is 6 exp(−50) ≈ 1.2e-21, so POT's
    # first scaling is √(6 / (1.2e-21 + 1e-16)) ≈ 2.4e8. This exceeds its threshold of 1e5, so POT
    # multiplies it into the plan, and then stops at the edit without mass. The optimum moves almost
    # nothing: T = (6 · 1)^(2/3) exp(−5 / 0.3) = 1.9e-7.
    first, second = sets(E1), sets(E2, E3)
    vectors = {first: np.array([[6.0, 0.0]]), second: np.array([[1.0, 0.0], [0.0, 0.0]])}
    found = UOTERRANT(encoder="embedded").transported([(first, second)], vectors)[0]
    moved = 6 ** (2 / 3) * math.exp(-5 / 0.3)
    np.testing.assert_allclose(found.counts, [moved, 6 - moved, 1 - moved], atol=1e-9)
    raw = UOTERRANT(encoder="embedded", solver="pot").transported([(first, second)], vectors)[0]
    assert abs(raw.counts[0] - moved) > 1e-9


def test_edits_without_mass_follow_pot_except_for_plans_out_of_proportion() -> None:
    pytest.importorskip("ot")
    zero = [0.0, 0.0]
    near, far = [0.6, 0.0], [-2.0, 2.0]

    def scores(mine: list[list[float]], theirs: list[list[float]]) -> dict[str, float]:
        first, second = sets(*(E1, E2)[: len(mine)]), sets(*(E2, E3)[: len(theirs)])
        vectors = {first: np.array(mine), second: np.array(theirs)}
        found = {}
        for solver in ("published", "optimum", "pot"):
            (alignment,) = UOTERRANT(encoder="embedded", solver=solver).transported(
                [(first, second)], vectors
            )
            counts = np.array(alignment.counts)
            found[solver] = float(precision_recall_f(*counts, beta=0.5)[2])
        return found

    # In the hypothesis: POT finds the optimum, and all three agree.
    found = scores([zero, near], [[0.5, 0.1]])
    assert found["published"] == found["optimum"] == pytest.approx(found["pot"], abs=1e-5)
    # In the reference: POT stops at iteration 0, and its plan is used.
    found = scores([near], [[0.5, 0.1], zero])
    assert found["published"] == pytest.approx(found["pot"], rel=1e-12)
    assert abs(found["published"] - found["optimum"]) > 0.1
    # In the reference, with an edit at distance 3.14 from the only mass of the reference: its
    # kernel is 1.44 exp(−31.4) ≈ 3e-14 and its first scaling √(2.83 / 3e-14) ≈ 1e7 > 1e5, which
    # POT multiplies into its whole plan.
    found = scores([near, far], [[0.5, 0.1], zero])
    assert found["published"] == found["optimum"] < 1
    assert found["pot"] > 1000


def test_texts_for_the_vectors() -> None:
    assert edit_texts(sets(E1, E2), "remove") == [
        "he went home yesterday .",
        "he go home yesterday .",
        "he went to home yesterday .",
    ]
    assert edit_texts(sets(E1, E2), "add") == [
        SOURCE,
        "he went to home yesterday .",
        "he go home yesterday .",
    ]


def test_masses_and_costs() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 0.0], [-3.0, -4.0]])
    np.testing.assert_allclose(masses(vectors, "norm"), [5, 0, 5])
    np.testing.assert_allclose(masses(vectors, "uniform"), [1 / 3] * 3)
    other = np.array([[4.0, 3.0]])
    np.testing.assert_allclose(costs(vectors, other, "euclidean"), [[2**0.5], [5], [98**0.5]])
    # cos = 24/25, undefined (cost 1), −24/25
    np.testing.assert_allclose(costs(vectors, other, "cosine"), [[0.04], [1], [1.96]])


def corpus(hypotheses: list[list[Edit]], references: list[list[list[Edit]]]) -> Corpus:
    """Return one system on len(hypotheses) copies of SOURCE; references[r][sentence] are edits."""

    def version(edits: list[list[Edit]]) -> Version:
        lines = tuple(" ".join(apply_edits(SOURCE.split(), some)) for some in edits)
        return Version(lines, tuple(tuple(some) for some in edits))

    return Corpus(
        (SOURCE,) * len(hypotheses),
        {"mine": version(hypotheses)},
        tuple(version(some) for some in references),
    )


def run(tiny: Path, texts: Corpus, **options: Any) -> tuple[UOTERRANT, Any]:
    scorer = UOTERRANT(encoder=str(tiny), **options)
    return scorer, scorer.statistics(texts, Runtime(device="cpu", use_cache=False))


def test_edge_cases(tiny_bert: Path) -> None:
    texts = corpus([[], [E1], [], [E1, E2]], [[[E1], [], [], [E1, E2]]])
    scorer, statistics = run(tiny_bert, texts)
    scores = scorer.sentence_scores(statistics)
    assert scores.precision is not None
    assert scores.recall is not None
    # No hypothesis edits: P 1, R 0. No reference edits: P 0, R 1. Neither: all 1.
    np.testing.assert_allclose(scores.precision[0, :3], [1, 0, 1])
    np.testing.assert_allclose(scores.recall[0, :3], [0, 1, 1])
    np.testing.assert_allclose(scores.score[0, :3], [0, 0, 1])
    # Identical sets do not score exactly 1, because transport is soft; then P = R = F.
    assert scores.score[0, 3] == pytest.approx(scores.precision[0, 3])
    assert scores.recall[0, 3] == pytest.approx(scores.precision[0, 3])
    assert 0.3 < scores.score[0, 3] < 2


def test_identical_edits_cost_nothing_and_sum_up(tiny_bert: Path) -> None:
    scorer = UOTERRANT(encoder=str(tiny_bert))
    runtime = Runtime(device="cpu", use_cache=False)
    (found,) = scorer.align([(sets(E1, E2), sets(E1, E2))], runtime)
    np.testing.assert_array_equal(np.diag(found.cost), [0, 0])
    tp, fp, fn = found.counts
    assert tp + fp == pytest.approx(found.a.sum())
    assert tp + fn == pytest.approx(found.b.sum())


def test_the_best_reference_counts(tiny_bert: Path) -> None:
    alone = [run(tiny_bert, corpus([[E1]], [[some]])) for some in ([E3], [E1])]
    both = run(tiny_bert, corpus([[E1]], [[[E3]], [[E1]]]))
    single = [scorer.sentence_scores(found).score[0, 0] for scorer, found in alone]
    assert both[0].sentence_scores(both[1]).score[0, 0] == max(single) == single[1]


def test_corpus_score_sums_mass(tiny_bert: Path) -> None:
    scorer, statistics = run(tiny_bert, corpus([[E1], [E2]], [[[E1], [E3]]]))
    tp, fp, fn = statistics.values[0, :, 0].sum(axis=0)
    # F0.5 = 1.25 P R / (0.25 P + R) = 1.25 TP / (1.25 TP + 0.25 FN + FP)
    expected = 1.25 * tp / (1.25 * tp + 0.25 * fn + fp)
    assert scorer.corpus_scores(statistics).score[0] == pytest.approx(expected)


def test_by_type_adds_up(tiny_bert: Path) -> None:
    scorer, statistics = run(tiny_bert, corpus([[E1, E2]], [[[E1, E3]]]))
    types = statistics.details["by_type"]["mine"]
    assert set(types) == {"R:VERB:TENSE", "U:PREP", "U:ADV"}
    np.testing.assert_allclose(
        np.sum(list(types.values()), axis=0), statistics.values[0, 0, 0], atol=1e-12
    )
    assert types["U:ADV"][:2] == [0, 0]
    assert types["U:PREP"][2] == 0
    del scorer


@pytest.mark.parametrize(
    "options",
    [
        {"vectorise": "add"},
        {"mass": "uniform"},
        {"cost": "cosine"},
        {"pooling": "cls"},
        {"layer": 1},
        {"transport": "balanced"},
        {"epsilon": 0.3},
        {"lambda1": 0.5},
        {"lambda2": 0.5},
        {"beta": 2.0},
    ],
)
def test_every_option_changes_scores(tiny_bert: Path, options: dict[str, Any]) -> None:
    if options.get("transport") == "balanced":
        pytest.importorskip("ot")
    texts = corpus([[E1, E2]], [[[E1, E3]]])
    usual, changed = run(tiny_bert, texts), run(tiny_bert, texts, **options)
    first = usual[0].sentence_scores(usual[1]).score[0, 0]
    assert abs(changed[0].sentence_scores(changed[1]).score[0, 0] - first) > 1e-4


def test_balanced_transport_moves_the_smaller_mass(tiny_bert: Path) -> None:
    pytest.importorskip("ot")
    _, statistics = run(tiny_bert, corpus([[E1, E2]], [[[E1, E2, E3]]]), transport="balanced")
    tp, fp, fn = statistics.values[0, 0, 0]
    assert min(abs(fp), abs(fn)) == pytest.approx(0, abs=1e-12)
    assert tp == pytest.approx(min(tp + fp, tp + fn))


def test_pot_plans_on_demand(tiny_bert: Path) -> None:
    pytest.importorskip("ot")
    texts = corpus([[E1, E2]], [[[E1, E3]]])
    ours, theirs = (run(tiny_bert, texts, solver=name)[1] for name in ("optimum", "pot"))
    # POT converges here, stopping at a relative change of 1e-6.
    np.testing.assert_allclose(ours.values, theirs.values, atol=1e-4)
    # A reference edit without mass stops POT before its first step, so the optimum differs.
    case = Edit(0, 1, "He", "R:ORTH")
    texts = corpus([[E1, E2]], [[[case, E1, E3]]])
    ours, theirs = (run(tiny_bert, texts, solver=name)[1] for name in ("optimum", "pot"))
    assert np.abs(ours.values - theirs.values).max() > 1e-3
    # There the default follows the published scores; everywhere else it uses the optimum.
    # It computes POT's unfinished plan without POT, so that only rounding may differ.
    default = run(tiny_bert, texts)[1]
    np.testing.assert_allclose(default.values, theirs.values, rtol=1e-12)
    plain = corpus([[case, E1, E2]], [[[E1, E3]]])
    np.testing.assert_array_equal(
        run(tiny_bert, plain)[1].values, run(tiny_bert, plain, solver="optimum")[1].values
    )


def test_clip_keeps_scores_below_one(tiny_bert: Path) -> None:
    texts = corpus([[E1, E2]], [[[E1, E2]]])
    free, clipped = (run(tiny_bert, texts, clip=value, lambda1=2.0) for value in (False, True))
    np.testing.assert_array_equal(free[1].values, clipped[1].values)
    assert clipped[0].sentence_scores(clipped[1]).score.max() <= 1


def test_edits_without_mass_are_reported(tiny_bert: Path) -> None:
    # The tiny encoder lower-cases, so that He → he changes nothing for it.
    case = Edit(0, 1, "He", "R:ORTH")
    scorer, statistics = run(tiny_bert, corpus([[case], [case, E1]], [[[], [E1]]]))
    (note,) = (n for n in statistics.notes if "2 of 4 distinct edits do not change" in n)
    assert "by POT's plan, as published, unless that plan is out of proportion" in note
    # Alone it has no mass: nothing was proposed that counts, P = R = 1.
    assert scorer.sentence_scores(statistics).score[0, 0] == 1
    whole = run(tiny_bert, corpus([[E1]], [[[E1]]]))[1]
    np.testing.assert_allclose(statistics.values[0, 1, 0], whole.values[0, 0, 0], atol=1e-9)


def test_long_texts_are_counted(tiny_bert: Path) -> None:
    _, statistics = run(tiny_bert, corpus([[E1]], [[[E2]]]), max_length=5)
    assert any("were cut at 5 word pieces" in note for note in statistics.notes)


def test_an_unsolved_problem_is_not_scored(tiny_bert: Path) -> None:
    scorer, statistics = run(
        tiny_bert, corpus([[E1, E2], []], [[[E1, E3], []]]), lambda1=1e9, lambda2=1e9
    )
    assert np.isnan(scorer.sentence_scores(statistics).score[0]).tolist() == [True, False]
    assert statistics.details["solver"] == {"pairs": 1, "unsolved": 1}
    assert any("1 of 1 transport problems" in note for note in statistics.notes)


def test_unk_and_noop_are_not_edits(tiny_bert: Path) -> None:
    unsure = Edit(4, 5, "", "UNK")
    plain = run(tiny_bert, corpus([[E1]], [[[E2]]]))[1]
    other = run(tiny_bert, corpus([[E1, unsure]], [[[E2]]]))[1]
    np.testing.assert_array_equal(plain.values, other.values)


def test_bad_options() -> None:
    for options in ({"epsilon": 0.0}, {"lambda1": -1.0}, {"beta": -1.0}, {"max_length": 2}):
        with pytest.raises(OptionError, match="expected"):
            UOTERRANT(**options)  # type: ignore[arg-type]


def test_signature_pins_encoder_and_tagger(tiny_bert: Path) -> None:
    pytest.importorskip("errant")
    scorer = UOTERRANT(encoder=str(tiny_bert))
    line = str(scorer.signature(corpus([[E1]], [[[E2]]])))
    assert "encoder=tiny-bert@" in line
    assert "tagger=" in line
