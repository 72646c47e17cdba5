"""GREEN: cases by hand, and a literal re-implementation on random corpora."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gecjury
from gecjury.core.errors import OptionError
from gecjury.refbased.green import GREEN
from tests.fakes import Texts, corpora, grams, tokens_of

Counts = tuple[int, int, int]


def sentence_counts(source: str, reference: str, hypothesis: str, n: int, unit: str) -> Counts:
    """Return TP, FP, FN of one order, by region (Koyama et al. 2024, section 2)."""
    s, r, h = (grams(text, n, unit) for text in (source, reference, hypothesis))
    regions: Counter[str] = Counter()
    for x in s | r | h:
        regions["TD"] += max(s[x] - max(r[x], h[x]), 0)
        regions["TI"] += max(min(r[x], h[x]) - s[x], 0)
        regions["TK"] += min(s[x], r[x], h[x])
        regions["OD"] += max(min(s[x], r[x]) - h[x], 0)
        regions["OI"] += max(h[x] - max(s[x], r[x]), 0)
        regions["UD"] += max(min(s[x], h[x]) - r[x], 0)
        regions["UI"] += max(r[x] - max(s[x], h[x]), 0)
    return (
        regions["TD"] + regions["TI"] + regions["TK"],
        regions["OD"] + regions["OI"],
        regions["UD"] + regions["UI"],
    )


def f_of(counts: list[Counts], beta: float) -> tuple[float, float, float]:
    """Return F, precision and recall from TP, FP, FN by order; orders without n-grams left out."""
    counts = [own for own in counts if any(own)]
    order = max(len(counts), 1)
    p = math.prod(tp / (tp + fp) if tp + fp else 1.0 for tp, fp, _ in counts) ** (1 / order)
    r = math.prod(tp / (tp + fn) if tp + fn else 0.0 for tp, _, fn in counts) ** (1 / order)
    low = beta * beta * p + r
    return ((1 + beta * beta) * p * r / low if low else 0.0), p, r


def naive(texts: Texts, n: int, unit: str, beta: float) -> tuple[list[list[float]], list[float]]:
    """Return sentence scores and corpus scores."""
    sentences, totals = [], []
    for hypotheses in texts.systems.values():
        sums = [(0, 0, 0)] * n
        scores = []
        length = words = 0
        for i, source in enumerate(texts.sources):
            best: tuple[list[float], list[Counts], int, int] | None = None
            for reference in texts.references:
                counts = [
                    sentence_counts(source, reference[i], hypotheses[i], k + 1, unit)
                    for k in range(n)
                ]
                # [F_n, F_(n-1), ..., F_1]; rounded, because equal fractions multiplied in another
                # order differ in the last bit
                ranked = [round(f_of(counts[:k], beta)[0], 12) for k in range(n, 0, -1)]
                said, wanted = (len(tokens_of(t, unit)) for t in (hypotheses[i], reference[i]))
                if reference[i].split() and not hypotheses[i].split():
                    said = 0  # blanks, which are characters of a line
                if wanted and not said:
                    ranked = [0.0] * n
                if best is None or ranked > best[0]:
                    best = ranked, counts, said, wanted
            assert best is not None
            _, counts, said, wanted = best
            scores.append(f_of(counts, beta)[0] if said or not wanted else 0.0)
            length, words = length + said, words + wanted
            sums = [
                (a + d, b + e, c + f) for (a, b, c), (d, e, f) in zip(sums, best[1], strict=True)
            ]
        sentences.append(scores)
        totals.append(f_of(sums, beta)[0] if length or not words else 0.0)
    return sentences, totals


@given(
    corpora(),
    st.integers(1, 6),
    st.sampled_from(["word", "char", "line"]),
    st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0]),
)
def test_equals_the_literal_definition(texts: Texts, n: int, unit: str, beta: float) -> None:
    scorer = gecjury.load("green", n=n, unit=unit, beta=beta)
    table = scorer.score(
        texts.sources, texts.systems, texts.references, tokens="space", fold="none"
    )
    sentences, totals = naive(texts, n, unit, beta)
    np.testing.assert_allclose(table.sentences, sentences, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table.totals, totals, rtol=0, atol=1e-12)


@given(corpora(), st.data())
def test_draws_equal_scoring_the_resampled_corpus(texts: Texts, data: st.DataObject) -> None:
    row = st.integers(0, len(texts.sources) - 1)
    size = data.draw(st.integers(1, 5))
    draws = data.draw(st.lists(st.lists(row, min_size=size, max_size=size), min_size=1, max_size=3))
    scorer = GREEN(n=2)
    statistics = scorer.score(
        texts.sources, texts.systems, texts.references, tokens="space", fold="none"
    ).statistics
    scores = scorer.corpus_scores(statistics, np.array(draws))
    assert scores.score.shape == (len(draws), len(texts.systems))
    assert scores.precision is not None
    assert scores.recall is not None
    for index, rows in enumerate(draws):
        again = texts.rows(rows)
        table = scorer.score(
            again.sources, again.systems, again.references, tokens="space", fold="none"
        )
        np.testing.assert_allclose(scores.score[index], table.totals, rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores.precision[index], table.precision, rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores.recall[index], table.recall, rtol=0, atol=1e-12)


# The seven regions of table 1 of the paper, one word each: What TD, Who TI, you TK, ? OD, ! OI,
# is UD, are UI.
FIGURE = ("What is you ?", "Who is you !", "Who are you ?")


def one(scorer: GREEN, source: str, hypothesis: str, *references: str) -> gecjury.ScoreTable:
    return scorer.score([source], {"x": [hypothesis]}, [[reference] for reference in references])


def test_the_regions_of_the_papers_figure() -> None:
    # n=1: TP = TD + TI + TK = 3, FP = OD + OI = 2, FN = UD + UI = 2
    table = one(GREEN(n=1), *FIGURE)
    # The length of the hypothesis, then TP, FP and FN.
    assert table.statistics.values[0, 0, 0].tolist() == [4, 3, 2, 2]
    assert table.totals["x"] == pytest.approx(3 / 5)
    # n=2: "What is" TD; "you ?" OD; "Who is", "you !" OI; "is you" UD; "Who are", "are you" UI
    table = one(GREEN(n=2), *FIGURE)
    assert table.statistics.values[0, 0, 0].tolist() == [4, 3, 2, 2, 1, 3, 3]
    # precision = recall = sqrt(3/5 · 1/4), hence F as well
    assert table.totals["x"] == pytest.approx(math.sqrt(0.15))
    assert table.sentences[0, 0] == pytest.approx(math.sqrt(0.15))


def test_a_tie_at_order_n_is_decided_at_order_n_minus_1() -> None:
    # Sentence 1, n=2: neither reference shares a bigram, so F_2 = 0 with both.
    #   n=1 with "c d": a UD, e OI, c and d UI -> TP 0.
    #   n=1 with "a d": a TK, e OI, d UI       -> TP 1, FP 1, FN 1: F_1 = 1/2, chosen.
    # Sentence 2: TP 2 and 1.
    # Corpus: precision and recall are 3/(3+1) for n=1 and 1/(1+1) for n=2: F = sqrt(3/4 · 1/2)
    expected = math.sqrt(3 / 8)
    for first, second in (("c d", "a d"), ("a d", "c d")):
        table = GREEN(n=2).score(
            ["a", "x y"], {"x": ["a e", "x y"]}, [[first, "x y"], [second, "x y"]]
        )
        assert table.totals["x"] == pytest.approx(expected)
        assert table.sentences.tolist() == [[0.0, 1.0]]


def test_a_difference_in_the_last_bit_is_a_tie() -> None:
    # n=1, β=1. With "c c b b": d and a TD, one c TI; b OD; the other c and b UI:
    #   TP 3, FP 1, FN 2, precision 3/4, recall 3/5, F = .9 / 1.35 = 2/3.
    # With "a b c": d TD, c TI; a and b OD: TP 2, FP 2, FN 0, precision 1/2, recall 1, F = 2/3.
    # In floating point the first is slightly lower; there is no lower order to compare, so the
    # first reference is kept.
    table = one(GREEN(n=1, beta=1.0), "d b a", "c", "c c b b", "a b c")
    assert table.precision is not None
    assert table.precision["x"] == pytest.approx(3 / 4)
    assert table.totals["x"] == pytest.approx(2 / 3)


def test_the_best_reference_is_chosen_for_each_sentence() -> None:
    table = GREEN(n=1).score(["a", "b"], {"x": ["c", "d"]}, [["c", "b"], ["a", "d"]])
    assert table.sentences.tolist() == [[1.0, 1.0]]
    assert table.totals["x"] == 1.0


def test_an_empty_hypothesis() -> None:
    # n=1: a OD, b TD, c UI, so TP, FP and FN are 1: the right deletion earns nothing by itself.
    table = one(GREEN(n=1), "a b", "", "a c")
    assert (table.totals["x"], table.sentences[0, 0]) == (0.0, 0.0)
    # Beside another sentence it counts: TP 1 + 2, FP 1, FN 1; precision = recall = 3/4.
    table = GREEN(n=1).score(["a b", "d e"], {"x": ["", "d e"]}, [["a c", "d e"]])
    assert table.totals["x"] == pytest.approx(3 / 4)


def test_nothing_to_correct_and_nothing_corrected() -> None:
    assert one(GREEN(), "a b c d", "a b c d", "a b c d").totals["x"] == 1.0
    # Three words have no 4-gram: the order is left out.
    table = one(GREEN(), "a b c", "a b c", "a b c")
    assert (table.totals["x"], table.sentences[0, 0]) == (1.0, 1.0)
    assert table.recall is not None
    assert table.recall["x"] == 1.0
    assert one(GREEN(), "", "", "").sentences[0, 0] == 1.0


def test_an_order_that_only_some_texts_have_counts() -> None:
    # n=3: "a b c" of the source is deleted as in the reference (TD): 1 of 1.
    # n=2: "a b" TD, "b c" TK: 2 of 2; n=1: a TD, b and c TK. Perfect.
    assert one(GREEN(n=3), "a b c", "b c", "b c").totals["x"] == 1.0
    # Only the hypothesis has a trigram: OI, precision 0 of 1.
    assert one(GREEN(n=3), "b c", "a b c", "b c").totals["x"] == 0.0


def test_a_corpus_is_summed_before_dividing() -> None:
    # sentence 1: b OI, a OD, TP 0, FP 2; sentence 2: TP 3. precision 3/5, recall 3/3
    table = GREEN(n=1, beta=0.0).score(["a", "x y z"], {"x": ["b", "x y z"]}, [["a", "x y z"]])
    assert table.totals["x"] == pytest.approx(3 / 5)
    assert table.sentences.tolist() == [[0.0, 1.0]]


def test_defaults_follow_the_paper() -> None:
    assert (GREEN().n, GREEN().beta) == (4, 2.0)
    assert GREEN(unit="char").n == 6
    assert GREEN(n=3, unit="char").n == 3


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 101}, {"beta": -1.0}, {"beta": math.inf}])
def test_values_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(OptionError, match="expected"):
        gecjury.load("green", **options)


def test_blanks_at_the_ends_only_count_with_unit_line() -> None:
    # The authors' program uses every character of the line; n=1: the leading blank is over-inserted
    # (FP 1 with TK 3), and two blanks removed at the end are over-deleted if the source has them.
    files = (["abc"], {"x": [" abc"]}, [["abc"]])
    assert GREEN(n=1, unit="char").score(*files).totals["x"] == 1.0
    line = GREEN(n=1, unit="line").score(*files)
    assert line.precision is not None
    assert line.precision["x"] == pytest.approx(3 / 4)
    both = GREEN(n=1, unit="line").score(["abc  "], {"x": ["abc"]}, [["abc  "]])
    assert both.statistics.values[0, 0, 0].tolist() == [3, 3, 2, 0]
