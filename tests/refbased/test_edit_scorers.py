"""I-measure, CLEME and GoToScorer as metrics: score tables, options, and published counts."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.scoring.registry import load

SOURCE = ("a b c d", "e f")
RIGHT, WRONG, NEEDLESS = Edit(1, 2, "B", "R"), Edit(1, 2, "x", "R"), Edit(0, 1, "E", "R")


def corpus(**systems: tuple[tuple[Edit, ...], tuple[Edit, ...]]) -> Corpus:
    return Corpus(
        SOURCE,
        {name: Version(SOURCE, edits) for name, edits in systems.items()},
        (Version(SOURCE, ((RIGHT,), ())),),
    )


def test_i_measure_of_the_source_the_reference_and_a_spoiled_sentence() -> None:
    table = load("i-measure").score(
        ["a b c"], {"source": ["a b c"], "right": ["a B c"], "spoilt": ["a b x"]}, [["a B c"]]
    )
    # The source scores 0, the reference 1. Spoiled: TN 1 (a), FN 1 (b), FP 1 (c): WAcc =
    # (0 + 1) / (2·1 + 1 + 1) = 1/4, the source's 2/3: I = (1/4) / (2/3) − 1.
    assert table.totals["source"] == 0.0
    assert table.totals["right"] == 1.0
    assert table.totals["spoilt"] == pytest.approx(0.25 / (2 / 3) - 1)


def test_cleme_by_hand_and_cleme2() -> None:
    data = corpus(right=((RIGHT,), ()), wrong=((WRONG,), (NEEDLESS,)), idle=((), ()))
    table = load("cleme").score_corpus(data)
    # The reference changes one chunk, so its length is the mean and every weight is 1.
    assert table.totals["right"] == 1.0
    assert table.totals["wrong"] == 0.0
    assert table.totals["idle"] == 0.0
    assert table.sentences.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 1.0]]
    second = load("cleme2").score_corpus(data)
    # right: hit 1, wrong 0, under 0, over 0: .45 + .35 + .15 + .05. idle: under 1, all others 0:
    # .35 + .05. wrong: wrong 1; one of two changes, both of weight 1, was not needed: over 1/2:
    # .15 + .05/2.
    assert second.totals["right"] == pytest.approx(1.0)
    assert second.totals["idle"] == pytest.approx(0.40)
    assert second.totals["wrong"] == pytest.approx(0.175)
    assert second.statistics.details["components"]["wrong"]["over"] == pytest.approx(0.5)


def test_gotoscorer_needs_rivals_and_weighs_by_them() -> None:
    data = corpus(right=((RIGHT,), ()), idle=((), ()))
    table = load("gotoscorer").score_corpus(data)
    # Only the edited chunk distinguishes the two: weight 1/2. right has it, idle misses it.
    assert table.totals["right"] == 1.0
    assert table.totals["idle"] == 0.0
    with pytest.raises(InputError, match="at least two"):
        load("gotoscorer").score_corpus(data.with_systems(["right"]))
    with pytest.raises(InputError, match="reference=1"):
        load("gotoscorer", reference=1).score_corpus(data)


@pytest.mark.parametrize("name", ["errant", "cleme", "cleme2", "i-measure", "gotoscorer"])
def test_resampling_with_every_sentence_once_gives_the_corpus_score(name: str) -> None:
    data = corpus(right=((RIGHT,), ()), wrong=((WRONG,), (NEEDLESS,)), idle=((), ()))
    scorer = load(name)
    table = scorer.score_corpus(data)
    again = scorer.corpus_scores(table.statistics, np.array([[0, 1]]))
    assert again.score[0] == pytest.approx(table.by_system.score)


@pytest.mark.parametrize("name", ["errant", "cleme", "m2", "gotoscorer"])
def test_a_negative_beta_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="beta=-1"):
        load(name, beta=-1.0)
