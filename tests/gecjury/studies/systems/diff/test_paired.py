"""Differences of two systems, compared with brute force and with the metrics' own figures."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import gecjury
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.stats.bootstrap import sentence_draws
from gecjury.stats.counts import precision_recall_f
from gecjury.stats.resampling import Resampling
from gecjury.studies.systems.diff.paired import (
    mean_difference,
    metric_difference,
    outcomes_of,
    type_counts,
    type_differences,
)
from gecjury.studies.systems.parts import by_type

SOURCES = ["a b .", "c d .", "e f .", "g h .", "i j ."]
REFERENCES = [
    ["a B .", "c d .", "E f .", "g h .", "i j ."],
    ["A b .", "c d .", "e F .", "G h .", "i j ."],
]
OLD = ["a b .", "c D .", "E f .", "g h .", "i j ."]
NEW = ["A b .", "c d .", "e x .", "g h .", "i  J ."]
HOW = Resampling(over="sentences", resamples=300, permutations=100), 1


@pytest.fixture
def corpus() -> Corpus:
    return corpus_of_texts(SOURCES, {"old": OLD, "new": NEW}, REFERENCES)


def test_rates_are_shares_of_the_sentences_that_references_agree_on(corpus: Corpus) -> None:
    # Both references leave lines 2 and 5 unchanged and change lines 1 and 3; they differ on line 4.
    result = {name: mean_difference(*one, *HOW) for name, one in outcomes_of(corpus).items()}
    assert {name: (one.old, one.new, one.sentences) for name, one in result.items()} == {
        "over-correction": (0.5, 0.5, 2),
        "under-correction": (0.5, 0.0, 2),
        "success": (0.5, 0.5, 2),
    }
    assert result["under-correction"].difference == -0.5
    # The systems differ on one of the two sentences, so every swap gives 0.5 or -0.5.
    assert result["under-correction"].p == 1.0
    low, high = result["under-correction"].interval
    assert (low, high) == (-1.0, 0.0)
    assert result["over-correction"].dropped > 0


def test_an_empty_line_is_no_sentence_that_could_be_left_alone() -> None:
    lines = (["Good .", ""], ["Good .", ""], ["Bad .", ""])
    corpus = corpus_of_texts(lines[0], {"old": lines[1], "new": lines[2]}, [lines[0]])
    one = mean_difference(*outcomes_of(corpus)["over-correction"], *HOW)
    assert (one.old, one.new, one.sentences) == (0, 1, 1)


def test_a_rate_over_no_sentences_is_undefined(corpus: Corpus) -> None:
    asked, met = outcomes_of(corpus)["over-correction"]
    one = mean_difference(np.zeros_like(asked), met, *HOW)
    assert one.sentences == 0
    assert all(np.isnan(each) for each in (one.old, one.difference, one.p, *one.interval))
    assert outcomes_of(corpus_of_texts(SOURCES, {"old": OLD, "new": NEW})) == {}


def test_the_interval_is_of_paired_differences(corpus: Corpus) -> None:
    scorer = gecjury.load("changes")
    table = scorer.score_corpus(corpus)
    one = metric_difference(scorer, table, *HOW)
    change = table.sentences[1] - table.sentences[0]
    drawn = change[sentence_draws(len(SOURCES), 300, 1)].mean(axis=1)
    assert one.interval == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
    flips = [np.mean(change * signs) for signs in product((1, -1), repeat=len(change))]
    assert one.p == pytest.approx(np.mean(np.abs(flips) >= abs(change.mean()) - 1e-12))
    assert one.difference == pytest.approx(change.mean())


def test_a_metric_of_sums_is_tested_by_swapping_sentences(corpus: Corpus) -> None:
    scorer = gecjury.load("green")
    one = metric_difference(scorer, scorer.score_corpus(corpus), *HOW)
    observed, extreme = one.difference, 0
    for swaps in product((False, True), repeat=len(SOURCES)):
        first = [b if swap else a for a, b, swap in zip(OLD, NEW, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(OLD, NEW, swaps, strict=True)]
        totals = scorer.score(SOURCES, {"old": first, "new": second}, REFERENCES).totals
        extreme += abs(totals["new"] - totals["old"]) >= abs(observed) - 1e-12
    assert one.p == pytest.approx(extreme / 2 ** len(SOURCES))


def test_gleu_is_tested_under_one_choice_of_references_for_both_systems() -> None:
    rng = np.random.default_rng(2)
    source = [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in range(8)]
    one = [text.replace("a", "x") for text in source]
    two = [text.replace("b", "y z") for text in source]
    old = [*(text.replace("b", "w").replace("c", "v") for text in one[:6]), *one[6:]]
    scorer = gecjury.load("gleu", n=2)
    table = scorer.score(source, {"old": old, "new": two}, [one, two])
    result = metric_difference(scorer, table, Resampling(resamples=10, permutations=2**8), 0)
    # Texts are swapped and scored again; corpora of equal size get the same 500 choices.
    extreme = 0
    for swaps in product((False, True), repeat=len(source)):
        first = [b if swap else a for a, b, swap in zip(old, two, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(old, two, swaps, strict=True)]
        totals = scorer.score(source, {"old": first, "new": second}, [one, two]).totals
        extreme += abs(totals["new"] - totals["old"]) >= abs(result.difference) - 1e-12
    assert extreme / 2**8 < 0.05
    assert result.p == pytest.approx(extreme / 2**8, abs=0.02)


@pytest.fixture
def typed() -> Corpus:
    pytest.importorskip("errant")
    source = ["He go to school .", "I has a cats .", "This are fine .", "We went home"]
    return corpus_of_texts(
        source,
        {
            "old": ["He goes to school .", "I has a cat .", "This are fine .", "We goes home"],
            "new": ["He goes to the school .", "I have a cat .", "This is fine .", "We went home"],
        },
        [["He goes to school .", "I have a cat .", "This is fine .", "We went home ."]],
    )


@pytest.mark.parametrize("level", [1, 2, 3])
def test_counts_by_type_are_the_metric_s_own(typed: Corpus, level: int) -> None:
    table = gecjury.load("errant").score_corpus(typed)
    counted = type_counts(table, level)  # type: ignore[arg-type]  # of 1, 2 and 3
    assert counted is not None
    kinds, counts = counted
    sums = {
        (system, kind): counts[number, :, place].sum(axis=0).tolist()
        for number, system in enumerate(("old", "new"))
        for place, kind in enumerate(kinds)
    }
    records = by_type(table, level)  # type: ignore[arg-type]  # of 1, 2 and 3
    recorded = {(part.system, part.name): list(part.counts) for part in records}
    assert {place: three for place, three in sums.items() if any(three)} == recorded


@pytest.mark.parametrize(("metric", "option"), [("pt-errant", "model"), ("uot-errant", "encoder")])
def test_weights_by_type_are_the_metric_s_own(
    typed: Corpus, tiny_bert: Path, metric: str, option: str
) -> None:
    table = gecjury.load(metric, **{option: str(tiny_bert)}).score_corpus(typed)
    counted = type_counts(table, 3)
    assert counted is not None
    kinds, counts = counted
    records = by_type(table, 3)
    own = {(part.system, part.name): part.counts for part in records}
    for place, kind in enumerate(kinds):
        both = counts[:, :, place].sum(axis=1)
        for system, sums in zip(("old", "new"), both, strict=True):
            assert sums == pytest.approx(own.get((system, kind), (0, 0, 0)))
    assert len(type_differences(counts, *HOW)) == len(kinds) > 2


def test_types_are_tested_by_swapping_sentences(typed: Corpus) -> None:
    counted = type_counts(gecjury.load("errant").score_corpus(typed), 1)
    assert counted is not None
    kinds, counts = counted
    differences = dict(zip(kinds, type_differences(counts, *HOW), strict=True))

    def f(sums: np.ndarray) -> float:
        return float(precision_recall_f(*sums, beta=0.5)[2])

    for place, kind in enumerate(kinds):
        both = counts[:, :, place]
        changes = []
        for swaps in product((0, 1), repeat=len(typed)):
            rows = range(len(typed))
            one = both[list(swaps), rows].sum(axis=0)
            two = both[[1 - swap for swap in swaps], rows].sum(axis=0)
            changes.append(abs(f(two) - f(one)))
        one = differences[kind]
        assert one.difference == pytest.approx(f(both[1].sum(axis=0)) - f(both[0].sum(axis=0)))
        assert one.p == pytest.approx(np.mean(np.array(changes) >= abs(one.difference) - 1e-12))
    assert differences["R"].difference > 0


def test_metrics_without_types_have_none(corpus: Corpus) -> None:
    assert type_counts(gecjury.load("green").score_corpus(corpus), 2) is None
