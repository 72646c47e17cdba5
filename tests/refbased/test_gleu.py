"""Both variants of GLEU: cases by hand, literal re-implementations, published figures."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gecjury
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.m2 import read_m2
from gecjury.refbased.gleu import GLEU, OfficialGLEU
from gecjury.scoring.scores import ScoreTable, Statistics
from tests.fakes import Texts, corpora, grams, tokens_of

BOTH = pytest.mark.parametrize("name", ["gleu", "gleu-official"])


def statistics_of(
    source: str, reference: str, hypothesis: str, n: int, unit: str, official: bool
) -> list[int]:
    """Return the lengths c and r, then numerator and denominator of each order."""
    if reference.split() and not hypothesis.split():
        hypothesis = ""  # blanks, which are characters of a line
    result = [len(tokens_of(hypothesis, unit)), len(tokens_of(reference, unit))]
    for k in range(1, n + 1):
        s, r, h = (grams(text, k, unit) for text in (source, reference, hypothesis))
        if official:
            # an n-gram that occurs in the reference is removed from the difference completely
            lacking = Counter({gram: times for gram, times in s.items() if gram not in r})
            numerator = max((h & r).total() - (h & lacking).total(), 0)
        else:
            # TK + TI - UD
            ti = sum(max(min(r[x], h[x]) - s[x], 0) for x in h)
            ud = sum(max(min(s[x], h[x]) - r[x], 0) for x in h)
            numerator = (s & r & h).total() + ti - ud
        result += [numerator, h.total()]
    return result


def gleu_of(values: list[int]) -> float:
    """Return the score of (summed) statistics."""
    if not values[0] and values[1]:
        return 0.0
    c, r = max(values[0], 1), values[1]
    precisions = [
        max(up, 0) / down if down else 1.0
        for up, down in zip(values[2::2], values[3::2], strict=True)
    ]
    return math.exp(min(0, 1 - r / c)) * math.prod(precisions) ** (1 / len(precisions))


def naive(
    texts: Texts, n: int, unit: str, official: bool, draws: int, seed: int
) -> tuple[list[list[float]], list[float]]:
    """Return sentence scores and corpus scores."""
    count, refs = len(texts.sources), len(texts.references)
    chosen = np.random.default_rng(seed).integers(refs, size=(draws, count), dtype=np.int16)
    sentences, totals = [], []
    for hypotheses in texts.systems.values():
        rows = [
            [
                statistics_of(source, reference[i], hypotheses[i], n, unit, official)
                for reference in texts.references
            ]
            for i, source in enumerate(texts.sources)
        ]
        # the script smooths sentences: each statistic of 0 becomes 1
        shown = [
            [[v or 1 for v in one] if official and (one[0] or not one[1]) else one for one in row]
            for row in rows
        ]
        sentences.append([sum(map(gleu_of, row)) / refs for row in shown])
        scores = []
        for choice in chosen:
            picked = [row[index] for row, index in zip(rows, choice, strict=True)]
            sums = [sum(column) for column in zip(*picked, strict=True)]
            scores.append(0.0 if official and 0 in sums else gleu_of(sums))
        totals.append(sum(scores) / draws)
    return sentences, totals


@BOTH
@given(corpora(), st.integers(1, 6), st.sampled_from(["word", "char", "line"]), st.integers(0, 9))
def test_equals_the_literal_definition(
    name: str, texts: Texts, n: int, unit: str, seed: int
) -> None:
    scorer = gecjury.load(name, n=n, unit=unit, draws=5, seed=seed)
    table = scorer.score(
        texts.sources, texts.systems, texts.references, tokens="space", fold="none"
    )
    sentences, totals = naive(texts, n, unit, name == "gleu-official", 5, seed)
    np.testing.assert_allclose(table.sentences, sentences, rtol=0, atol=1e-12)
    np.testing.assert_allclose(table.totals, totals, rtol=0, atol=1e-12)


@BOTH
@given(texts=corpora(references=1), data=st.data())
def test_draws_equal_scoring_the_resampled_corpus(
    name: str, texts: Texts, data: st.DataObject
) -> None:
    row = st.integers(0, len(texts.sources) - 1)
    size = data.draw(st.integers(1, 5))
    draws = data.draw(st.lists(st.lists(row, min_size=size, max_size=size), min_size=1, max_size=3))
    scorer = gecjury.load(name, n=2)
    statistics = scorer.score(
        texts.sources, texts.systems, texts.references, tokens="space", fold="none"
    ).statistics
    scores = scorer.corpus_scores(statistics, np.array(draws)).score
    assert scores.shape == (len(draws), len(texts.systems))
    for index, rows in enumerate(draws):
        again = texts.rows(rows)
        table = scorer.score(
            again.sources, again.systems, again.references, tokens="space", fold="none"
        )
        np.testing.assert_allclose(scores[index], table.totals, rtol=0, atol=1e-12)


def one(scorer: GLEU, source: str, hypothesis: str, *references: str) -> ScoreTable:
    return scorer.score([source], {"x": [hypothesis]}, [[reference] for reference in references])


def test_the_regions_of_the_green_papers_figure() -> None:
    # What TD, Who TI, you TK, ? OD, ! OI, is UD, are UI
    # n=1: (TK + TI - UD) / 4 words = (1 + 1 - 1) / 4; both texts have 4 words, no penalty
    # n=2: 0 + 0 - 1 ("is you") of 3, floored at 0
    figure = ("What is you ?", "Who is you !", "Who are you ?")
    assert one(GLEU(n=1), *figure).totals["x"] == pytest.approx(1 / 4)
    assert one(GLEU(n=2), *figure).totals["x"] == 0.0
    assert one(GLEU(n=2), *figure).statistics.values[0, 0, 0].tolist() == [4, 4, 1, 4, -1, 3]


@BOTH
def test_a_perfect_correction_and_the_brevity_penalty(name: str) -> None:
    scorer = gecjury.load(name, n=2)
    assert isinstance(scorer, GLEU)
    assert one(scorer, "a b c d", "a b c d", "a b c d").totals["x"] == 1.0
    # c = 2, r = 4: exp(1 - 4/2); all n-grams of the hypothesis are right
    assert one(scorer, "a b c d", "a b", "a b c d").totals["x"] == pytest.approx(math.exp(-1))
    # a longer hypothesis is not rewarded: 4 of 5 words, 3 of 4 bigrams
    longer = one(scorer, "a b c d", "a b c d e", "a b c d").totals["x"]
    assert longer == pytest.approx(math.sqrt(4 / 5 * 3 / 4))


def test_an_order_without_ngrams_counts_as_right() -> None:
    # "a b c" has no 4-gram: p_4 = 1
    assert one(GLEU(), "a b c", "a b c", "a b c").totals["x"] == 1.0
    # p_1 = 1 - 0 of 1, orders 2 to 4 are empty
    assert one(GLEU(), "a", "b", "b").totals["x"] == 1.0
    # the script gives a corpus 0 as soon as one statistic is 0, but smooths sentences
    table = one(OfficialGLEU(), "a b c", "a b c", "a b c")
    assert table.totals["x"] == 0.0
    assert table.sentences[0, 0] == 1.0


@BOTH
def test_an_empty_hypothesis_scores_0_unless_the_reference_is_empty_too(name: str) -> None:
    scorer = gecjury.load(name)
    assert isinstance(scorer, GLEU)
    table = one(scorer, "a", "", "b")
    assert (table.totals["x"], table.sentences[0, 0]) == (0.0, 0.0)
    # The mean over two references, of which the second deletes the sentence.
    assert one(scorer, "a", " ", "b", "").sentences[0, 0] == 1 / 2
    assert one(gecjury.load(name, unit="line"), "a", "  ", "b").sentences[0, 0] == 0.0  # type: ignore[arg-type]  # a GLEU


def test_a_source_ngram_is_penalised_for_each_missing_deletion() -> None:
    # a: s=3, r=1, h=2, so TK=1, TI=0, UD=min(3,2)-1=1: numerator 0
    assert one(GLEU(n=1), "a a a", "a a", "a").totals["x"] == 0.0
    # the script drops "a" from the difference because the reference has it: numerator
    # min(2,1)=1, of 2; c=2 > r=1, no penalty
    assert one(OfficialGLEU(n=1), "a a a", "a a", "a").totals["x"] == pytest.approx(1 / 2)


def test_the_script_floors_each_sentence_before_summing() -> None:
    # sentence 1: nothing right, a and b kept: -2 of 2; sentence 2: 2 of 2
    files = (["a b", "x y"], {"x": ["a b", "x y"]}, [["c d", "x y"]])
    assert GLEU(n=1).score(*files).totals["x"] == 0.0  # (-2 + 2) / 4
    assert OfficialGLEU(n=1).score(*files).totals["x"] == pytest.approx(2 / 4)  # (0 + 2) / 4


def test_only_the_script_smooths_sentences() -> None:
    # n=1: a right, b kept: 1 - 1 = 0 of 2, smoothed to 1/2
    # n=2: "a b" kept: -1 of 1, floored to 0, smoothed to 1/1; n=3, n=4: 0/0 smoothed to 1/1
    assert one(GLEU(), "a b", "a b", "a c").sentences[0, 0] == 0.0
    smoothed = one(OfficialGLEU(), "a b", "a b", "a c").sentences[0, 0]
    assert smoothed == pytest.approx((1 / 2) ** (1 / 4))
    assert one(OfficialGLEU(), "a b", "a b", "a c").totals["x"] == 0.0


@BOTH
def test_a_sentence_score_is_the_mean_over_the_references(name: str) -> None:
    scorer = gecjury.load(name, n=1)
    assert isinstance(scorer, GLEU)
    # "a" right, "b" wrong (TI or OI): with "a c" (1 + 0 - 0) / 2, with "a b" 2 / 2
    table = one(scorer, "a d", "a b", "a c", "a b")
    assert table.sentences[0, 0] == pytest.approx((1 / 2 + 1) / 2)


def test_a_corpus_score_is_the_mean_over_choices_of_references() -> None:
    files = (["a d"], {"x": ["a b"]}, [["a c"], ["a b"]])  # 1/2 or 1, as above
    single = [GLEU(n=1, draws=1, seed=seed).score(*files).totals["x"] for seed in range(20)]
    assert set(single) == {0.5, 1.0}
    # 500 fair choices: standard error .5 · .5 / sqrt(500) = .011
    assert GLEU(n=1).score(*files).totals["x"] == pytest.approx(0.75, abs=0.04)
    same = [GLEU(n=1).score(*files).totals["x"] for _ in range(2)]
    assert same[0] == same[1]


@BOTH
def test_a_resample_equal_to_the_corpus_has_its_score(name: str) -> None:
    files = (["a d", "b d e"] * 4, {"x": ["a b", "b c e"] * 4}, [["a c"] * 8, ["a b", "b c e"] * 4])
    scorer = gecjury.load(name, n=1, seed=3)
    table = scorer.score(*files)
    resampled = scorer.corpus_scores(table.statistics, np.tile(np.arange(8), (20, 1))).score
    assert resampled.ravel().tolist() == pytest.approx([table.totals["x"]] * 20, abs=1e-12)


@pytest.mark.parametrize(("lines", "references"), [(40, 2), (700, 3), (9_000, 2)])
def test_every_reference_of_a_sentence_is_chosen_equally_often(lines: int, references: int) -> None:
    # The statistics contain the number of their reference.
    shape = (1, lines, references, 10)
    numbers = np.broadcast_to(np.arange(references)[:, None], shape)
    choices = list(GLEU(seed=5).by_choice(Statistics(numbers)))
    assert {choice.values.shape for choice in choices} == {(1, lines, 1, 10)}
    chosen = np.array([choice.values[0, :, 0, 0] for choice in choices])
    for reference in range(references):
        assert ((chosen == reference).sum(axis=0) == len(chosen) / references).all()
    # A choice picks references at random, not the same one for all sentences.
    assert 0.2 < (chosen[0] == 0).mean() < 0.8


@BOTH
def test_resampled_scores_are_means_over_choices_of_references(name: str) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(3, 9, (2, 60, 3, 10))
    values[..., 2::2] = np.minimum(values[..., 2::2], values[..., 3::2])
    scorer = gecjury.load(name)
    assert isinstance(scorer, GLEU)
    draws = rng.integers(60, size=(30, 60))
    found = scorer.corpus_scores(Statistics(values), draws).score
    # The mean over many choices; each choice is the same for all resamples and systems.
    total = np.zeros((30, 2))
    for _ in range(400):
        chosen = values[:, np.arange(60), rng.integers(3, size=60)][:, :, None]
        total += scorer.corpus_scores(Statistics(chosen), draws).score
    apart = found - total / 400
    # The two estimates of the mean over all choices differ by noise common to all resamples.
    assert np.abs(np.diff(apart, axis=1)).max() < 0.012
    assert np.diff(found, axis=1).std() == pytest.approx(
        np.diff(total / 400, axis=1).std(), rel=0.06
    )


@BOTH
def test_values_out_of_range_are_refused(name: str) -> None:
    for option, value in (("n", 0), ("n", 101), ("draws", 0), ("seed", -1)):
        with pytest.raises(OptionError, match=f"{name}.*{option}={value}.*expected"):
            gecjury.load(name, **{option: value})


# Corpus GLEU in percent on the 1,312 sentences of CoNLL-2014, README of SEEDA (Kobayashi et al.
# 2024), computed with the authors' script, 500 draws and the two official references.
PUBLISHED = {
    "BART": 63.46,
    "BERT-fuse": 68.5,
    "GPT-3.5": 65.93,
    "INPUT": 56.6,
    "REF-F": 60.34,
    "T5": 68.81,
    "TransGEC": 70.2,
}


def official_references(data_dir: Path) -> tuple[list[str], list[list[str]]]:
    """Return sources and both references; if annotator 1 has no line, both annotators agreed."""
    blocks = read_m2(data_dir / "conll14" / "official-2014.combined.m2")
    # Words marked as unclear (`Um`) were deleted.
    first = [block.text(0, detected=True) for block in blocks]
    second = [block.text(1 if 1 in block.annotators else 0, detected=True) for block in blocks]
    return [block.source for block in blocks], [first, second]


@pytest.fixture(scope="module")
def conll(data_dir: Path) -> tuple[list[str], dict[str, list[str]], list[list[str]]]:
    sources, references = official_references(data_dir)
    outputs = data_dir / "SEEDA" / "outputs" / "all"
    return sources, {name: read_lines(outputs / f"{name}.txt") for name in PUBLISHED}, references


def test_official_gleu_of_seeda_is_reproduced(
    conll: tuple[list[str], dict[str, list[str]], list[list[str]]],
) -> None:
    table = OfficialGLEU().score(*conll, tokens="space", fold="none")
    measured = [100 * score for score in table.totals]
    # Both sides are means over 500 choices with a standard error of .014 to .021 points, the same
    # choices for all systems: measured differences are +.005 (BART) to +.035 (INPUT).
    np.testing.assert_allclose(measured, list(PUBLISHED.values()), rtol=0, atol=0.036)


def test_official_gleu_with_the_choices_of_the_script(
    conll: tuple[list[str], dict[str, list[str]], list[list[str]]],
) -> None:
    """The script seeds Python 2's generator with 101 · draw and calls randint(0, 1)."""
    values = OfficialGLEU().score(*conll, tokens="space", fold="none").statistics.values
    count = values.shape[1]
    scores = np.zeros(len(PUBLISHED))
    for draw in range(500):
        generator = random.Random(draw * 101)
        chosen = [int(generator.random() * 2) for _ in range(count)]
        sums = values[:, np.arange(count), chosen].sum(axis=1)
        scores += [gleu_of(row) for row in sums.tolist()]
    # Largest measured difference .0141 (TransGEC).
    np.testing.assert_allclose(scores / 5, list(PUBLISHED.values()), rtol=0, atol=0.015)
