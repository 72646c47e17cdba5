"""ERRANT scores of ready-made edits: by hand, and equal to the official scorer on real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.reading import read_corpus
from gecjury.refbased.errant import ERRANT, SentenceERRANT, edit_keys
from gecjury.refbased.references import choose_running
from gecjury.scoring.registry import load

A = Edit(0, 1, "The", "R:ORTH")
B = Edit(2, 2, "a", "M:DET")
C = Edit(3, 4, "", "U:NOUN")
C_TYPED_OTHERWISE = Edit(3, 4, "", "U:VERB")
D = Edit(3, 4, "dog", "R:NOUN")


def corpus(hypothesis: list[tuple[Edit, ...]], *references: list[tuple[Edit, ...]]) -> Corpus:
    sources = tuple("t0 t1 t2 t3 t4" for _ in hypothesis)
    return Corpus(
        sources,
        {"mine": Version(sources, tuple(hypothesis))},
        tuple(Version(sources, tuple(reference)) for reference in references),
    )


def test_by_hand() -> None:
    # Hypothesis A, C; reference A, B, D: TP 1 (A), FP 1 (C), FN 2 (B, D).
    # P 1/2, R 1/3, F0.5 = 1.25 · 1/6 / (0.25 · 1/2 + 1/3) = .208333 / .458333.
    table = ERRANT().score_corpus(corpus([(A, C)], [(A, B, D)]))
    assert table.totals["mine"] == pytest.approx((1.25 / 6) / (0.125 + 1 / 3))
    assert table.precision is not None
    assert table.recall is not None
    assert table.precision["mine"] == 0.5
    assert table.recall["mine"] == pytest.approx(1 / 3)
    # Spans: A and (3, 4) are right, B missed: TP 2, FP 0, FN 1. Tokens: (0,1), (3,4); B counts
    # for the token on its right, (2,3): the same counts.
    for mode in ("span", "token"):
        other = ERRANT(mode=mode).score_corpus(corpus([(A, C)], [(A, B, D)]))  # type: ignore[arg-type]
        assert other.statistics.values.tolist() == [[[[2, 0, 1]]]]


def test_hits_and_misses_have_types_of_the_reference_and_false_alarms_their_own() -> None:
    found = ERRANT().score_corpus(corpus([(A, C)], [(A, B, C_TYPED_OTHERWISE)]))
    assert found.statistics.details["by_type"]["mine"] == {
        "R:ORTH": [1, 0, 0],
        "U:VERB": [1, 0, 0],
        "M:DET": [0, 0, 1],
    }
    false_alarm = ERRANT().score_corpus(corpus([(C,)], [()]))
    assert false_alarm.statistics.details["by_type"]["mine"] == {"U:NOUN": [0, 1, 0]}


def test_noop_and_unk() -> None:
    noop, unknown = Edit(-1, -1, "-NONE-", "noop"), Edit(1, 2, "x", "UNK")
    assert edit_keys((noop, unknown), "correction") == {}
    assert edit_keys((noop, unknown), "span") == {(1, 2): ["UNK"]}


def test_no_edits_is_perfect_and_repeats_count_only_under_official() -> None:
    assert ERRANT().score_corpus(corpus([()], [()])).totals["mine"] == 1.0
    twice = corpus([(B,)], [(B, B)])
    plain = ERRANT().score_corpus(twice).statistics.values
    official = ERRANT(compat="official").score_corpus(twice).statistics.values
    assert plain.tolist() == [[[[1, 0, 0]]]]
    assert official.tolist() == [[[[2, 0, 0]]]]


def test_sentence_scores_use_the_best_reference_and_sent_errant_their_mean() -> None:
    data = corpus([(A,), (C,)], [(A,), (B,)], [(B,), (B,)])
    table = SentenceERRANT().score_corpus(data)
    assert table.sentences.tolist() == [[1.0, 0.0]]
    assert table.totals["mine"] == 0.5
    draws = np.array([[0, 0], [0, 1]])
    again = SentenceERRANT().corpus_scores(table.statistics, draws)
    assert again.score.tolist() == [[1.0], [0.5]]


# errant_compare 3.0.2 -cat 3 on data/conll14-errant, -hyp conll14-NAME.errant -ref conll14.errant:
# TP, FP, FN and F0.5, with no flag, with -ds and with -dt.
OFFICIAL = {
    "AMU": [(483, 795, 1934, 0.3208), (622, 656, 1903, 0.4072), (721, 564, 2242, 0.4449)],
    "CAMB": [(725, 1329, 1886, 0.3348), (928, 1126, 1808, 0.4237), (1164, 1040, 2200, 0.4778)],
    "NTHU": [(409, 991, 1976, 0.2561), (541, 859, 1921, 0.3355), (662, 826, 2313, 0.3708)],
    "UMC": [(311, 774, 2020, 0.2331), (406, 679, 1983, 0.3017), (568, 636, 2328, 0.3683)],
}


@pytest.mark.parametrize("system", OFFICIAL)
def test_ready_m2_scores_like_errant_compare(data_dir: Path, system: str) -> None:
    folder = data_dir / "conll14-errant"
    gold = folder / "conll14.errant"
    data = read_corpus(gold, [folder / f"conll14-{system}.errant"], [gold])
    for mode, expected in zip(("correction", "span", "token"), OFFICIAL[system], strict=True):
        scorer = load("errant", mode=mode, compat="official")
        assert isinstance(scorer, ERRANT)
        table = scorer.score_corpus(data)
        totals, _ = choose_running(table.statistics.values, scorer.rule)
        assert totals[0].tolist() == list(expected[:3])
        assert round(table.totals[0], 4) == expected[3]
        by_type = next(iter(table.statistics.details["by_type"].values()))
        assert np.sum(list(by_type.values()), axis=0).tolist() == list(expected[:3])


# Three categories of AMU from the same errant_compare run (-cat 3): TP, FP, FN.
def test_categories_of_amu(data_dir: Path) -> None:
    folder = data_dir / "conll14-errant"
    gold = folder / "conll14.errant"
    data = read_corpus(gold, [folder / "conll14-AMU.errant"], [gold])
    table = load("errant", compat="official").score_corpus(data)
    by_type = next(iter(table.statistics.details["by_type"].values()))
    assert by_type["R:NOUN:NUM"] == [117, 124, 89]
    assert by_type["M:DET"] == [31, 24, 92]
    assert by_type["R:SPELL"] == [66, 20, 43]
