"""I-measure and its three-way alignment: hand-computed cases, invariants, published figures."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.imeasure import alignment as threeway
from gecjury.refbased.imeasure.metric import (
    IMeasure,
    choose_references,
    detection,
    improvement,
    sentence_counts,
    source_counts,
    weighted_accuracy,
)

tokens = st.lists(st.sampled_from("abc"), max_size=6)


def align(s: list[str], h: list[str], r: list[str]) -> list[threeway.Column]:
    return threeway.align_many(s, [h], [r])[0][0]


def counts_of(source: str, hypothesis: str, reference: str) -> list[int]:
    """Return TP, TN, FP, FN, FPN."""
    counts = sentence_counts(source.split(), [hypothesis.split()], [reference.split()])
    return counts[0, 0, :5].tolist()


# --- hand-computed counts: TP, TN, FP, FN, FPN -------------------------------------------------


def test_each_kind_of_column() -> None:
    # a a a: TN · b x x: TP (corrected) · c y c: FP (needlessly changed) · d d z: FN (missed)
    # e v w: wrong, so FP, FN and FPN; cost 0 + 6 + 6 + 6 + 9 = 27, no gap is cheaper.
    assert counts_of("a b c d e", "a x y d v", "a x c z w") == [1, 1, 2, 2, 1]


def test_gaps_count_as_separate_tokens() -> None:
    # a a a TN · - x -: FP (source and reference both empty) · b b b TN
    assert counts_of("a b", "a x b", "a b") == [0, 2, 1, 0, 0]
    # a - -: only in the source, deleted by both: TP
    assert counts_of("a b", "b", "b") == [1, 1, 0, 0, 0]
    # - x y: inserted by both, but differently: wrong
    assert counts_of("a b", "a x b", "a y b") == [0, 2, 1, 1, 1]
    # - - y: inserted only by the reference: FN
    assert counts_of("a b", "a b", "a y b") == [0, 2, 0, 1, 0]


def test_paper_measures_by_hand() -> None:
    counts = np.array([[1, 1, 2, 2, 1, 2, 3]])
    # WAcc = (2·1 + 1) / (2·(1+2) + 1 + 2 - 3·1/2) = 3 / 7.5
    assert weighted_accuracy(counts)[0] == pytest.approx(0.4)
    # Acc = (1 + 1) / (1 + 1 + 2 + 2 - 1) = 2 / 5: one for each of the five columns
    assert weighted_accuracy(counts, 1.0)[0] == pytest.approx(0.4)
    # In the unchanged source a and c are right (TN 2) and b, d, e wrong (FN 3): WAcc = 2 / 5, and
    # because the hypothesis also has 0.4, I = floor(0.4) = 0.
    assert source_counts(counts)[0].tolist() == [0, 2, 0, 3, 0, 2, 3]
    assert improvement(counts)[0] == 0.0
    # Detection: the wrong correction is TP: TP 2, FP 1, FN 1; WAcc = (4+1)/(2·3+1+1) = 5/8,
    # source still 2/5: I = (0.625 - 0.4) / (1 - 0.4) = 0.375
    assert detection(counts)[0].tolist() == [2, 1, 1, 1, 0, 2, 3]
    assert improvement(detection(counts))[0] == pytest.approx(0.375)


def test_the_source_is_aligned_separately() -> None:
    # The alignment with the hypothesis has a gap between a and b, so that the source seems to be
    # wrong in four places: a, b, c and the gap. Source and reference alone: a x, b y, c -.
    counts = sentence_counts(["a", "b", "c"], [["a", "x", "b", "c"]], [["x", "y"]])[0, 0]
    assert source_counts(counts)[[1, 3]].tolist() == [0, 3]
    # This does not depend on the hypothesis or on the other systems.
    for h in (["a"], ["x", "y"], ["a", "b", "c"], []):
        assert (sentence_counts(["a", "b", "c"], [h], [["x", "y"]])[0, 0, 5:] == [0, 3]).all()


def test_improvement_branches() -> None:
    # worse: one of two right tokens spoiled, WAcc = 1/(2+1) = 1/3 against 1: I = 1/3 - 1
    assert improvement(np.array([0, 1, 1, 0, 0, 2, 0])) == pytest.approx(-2 / 3)
    # better: the only error in two tokens corrected: 1 against 1/2
    assert improvement(np.array([1, 1, 0, 0, 0, 1, 1])) == 1.0
    # equal and perfect: floor(1) = 1; equal and not perfect: floor(1/2) = 0
    assert improvement(np.array([0, 2, 0, 0, 0, 2, 0])) == 1.0
    assert improvement(np.array([0, 1, 0, 1, 0, 1, 1])) == 0.0
    # the weight is an argument: with w = 1, WAcc = 1/(1+1) against 1
    assert improvement(np.array([0, 1, 1, 0, 0, 2, 0]), weight=1.0) == pytest.approx(-0.5)
    # nothing to judge, so nothing is wrong
    assert improvement(np.array([0, 0, 0, 0, 0, 0, 0])) == 1.0


def test_reference_is_chosen_by_weighted_accuracy_then_improvement_then_order() -> None:
    counts = np.array(
        [
            # WAcc 1/3 and 1: the second
            [[0, 1, 1, 0, 0, 2, 0], [1, 0, 0, 0, 0, 0, 1]],
            # both WAcc 1: I and all other measures are equal too: the first
            [[1, 1, 0, 0, 0, 1, 1], [0, 2, 0, 0, 0, 2, 0]],
            # WAcc 1/2 = 2/4 for both; source 1/2 against (TN 1, FN 1) 1/2, and (2·1+0)/(2·(1+1)) =
            # 1/2 with source (TN 1, FN 1) 1/2: I 0; Acc 1/2 and 1/2; detection the same: the first
            [[0, 1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 1, 1]],
        ]
    )
    assert choose_references(counts).tolist() == [1, 0, 0]


def test_ties_in_weighted_accuracy_are_broken_by_improvement() -> None:
    # Two wrong corrections: WAcc = 9 / (2·2 + 9 + 2 - 3·2/2) = 9/12, source 9/11, so I < 0.
    # Three missed errors: WAcc = 9/12, source 9/12, so I = 0.
    counts = np.array([[0, 9, 2, 2, 2, 9, 2], [0, 9, 0, 3, 0, 9, 3]])
    assert weighted_accuracy(counts).tolist() == [0.75, 0.75]
    assert choose_references(counts[None]).tolist() == [1]


# --- the alignment against a plain recurrence --------------------------------------------------

MOVES = [(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


def plain_columns(s: Sequence[str], h: Sequence[str], r: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the columns from the full table and its backtrace, for three different sequences."""

    def column_cost(a: str | None, b: str | None, c: str | None) -> int:
        total = 0
        for x, y in ((a, b), (a, c), (b, c)):
            if x != y:
                total += 3 if x is not None and y is not None else 2
        return total

    def column(move: tuple[int, int, int], i: int, j: int, k: int) -> tuple[str | None, ...]:
        a, b, c = move
        return (s[i - 1] if a else None, h[j - 1] if b else None, r[k - 1] if c else None)

    def before(move: tuple[int, int, int], i: int, j: int, k: int) -> int | None:
        a, b, c = move
        if a > i or b > j or c > k:
            return None
        return table[i - a, j - b, k - c] + column_cost(*column(move, i, j, k))

    table = {(0, 0, 0): 0}
    for i in range(len(s) + 1):
        for j in range(len(h) + 1):
            for k in range(len(r) + 1):
                if i or j or k:
                    values = [before(m, i, j, k) for m in MOVES]
                    table[i, j, k] = min(v for v in values if v is not None)
    i, j, k = len(s), len(h), len(r)
    columns = []
    while i or j or k:
        for m in MOVES:
            if before(m, i, j, k) == table[i, j, k]:
                columns.append(column(m, i, j, k))
                i, j, k = i - m[0], j - m[1], k - m[2]
                break
    return columns[::-1]


@given(tokens, tokens, tokens)
def test_alignment_equals_that_of_the_full_table(s: list[str], h: list[str], r: list[str]) -> None:
    if s != h and s != r and h != r:
        assert align(s, h, r) == plain_columns(s, h, r)


@given(tokens, tokens, tokens)
def test_abandoning_the_search_changes_nothing(s: list[str], h: list[str], r: list[str]) -> None:
    if s != h and s != r and h != r:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threeway, "_PATIENCE", -1_000_000)
            assert align(s, h, r) == plain_columns(s, h, r)


@given(tokens, st.lists(tokens, min_size=1, max_size=3), st.lists(tokens, min_size=1, max_size=3))
def test_batched_counts_equal_single_ones(
    s: list[str], hyps: list[list[str]], refs: list[list[str]]
) -> None:
    together = sentence_counts(s, hyps, refs)
    assert together.shape == (len(hyps), len(refs), 7)
    for m, h in enumerate(hyps):
        for n, r in enumerate(refs):
            assert (together[m, n] == sentence_counts(s, [h], [r])[0, 0]).all()
            value = improvement(together[m, n])
            assert -1.0 <= value <= 1.0


def test_long_and_repetitive_sentences_are_fast() -> None:
    rng = np.random.default_rng(0)
    words = [[str(w) for w in rng.integers(0, 500, size=200)] for _ in range(3)]
    repeated = [["a", "b"] * n for n in (200, 190, 170)]
    start = time.perf_counter()
    for s, h, r in (words, repeated):
        columns = align(s, h, r)
        assert [t for t, _, _ in columns if t] == s
    # Under half a second on one core; visiting 8 and 52 million cells singly would take minutes.
    assert time.perf_counter() - start < 5


# --- published figures -------------------------------------------------------------------------


def read_lines(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def joined(lines: list[list[str]]) -> tuple[str, ...]:
    return tuple(" ".join(line) for line in lines)


def split_punctuation(correction: str) -> str:
    """Tokenise a correction like NLTK's word tokeniser, which the official converter uses.

    Only three corrections of the 391 sentences are not tokenised: two end in a full stop, one
    contains a comma between words.
    """
    return re.sub(r"(?<=\w)([.,])(?=$|\w)", r" \1 ", correction)


def official_references(path: Path) -> tuple[list[list[str]], list[list[list[str]]]]:
    """Return sources and two references; see `judged_sentences` for the rules."""
    sources: list[list[str]] = []
    references: list[list[list[str]]] = [[], []]
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = block.split("\n")
        source = first[2:].split()
        edits: dict[int, list[Edit]] = {}
        for line in rest:
            span, kind, correction, _, _, annotator = line[2:].split("|||")
            start, end = (int(n) for n in span.split())
            mine = edits.setdefault(int(annotator), [])
            if kind != "noop":
                mine.append(Edit(start, end, split_punctuation(correction.split("||")[0])))
        agreed = edits.get(0, edits.get(1, []))
        sources.append(source)
        for n in (0, 1):
            references[n].append(apply_edits(source, edits.get(n, agreed)) or source)
    return sources, references


# The official program's output with `-nomix` for SEEDA's 391 sentences: I in percent, correction
# and detection. It aligns the source with the reference separately; if the baseline were read from
# the alignment with the hypothesis, REF-F would have -19.75 and T5 7.06. For REF-F the program
# prints -19.11: it credits the deletions of REF-F's empty output.
OFFICIAL_I = {"REF-F": (-19.12, None), "T5": (None, 8.58)}


@pytest.fixture(scope="module")
def judged_sentences(data_dir: Path) -> Corpus:
    """SEEDA's 391 sentences with the references as the official program reads them.

    It tokenises corrections with NLTK, and uses the source instead of a reference that edits
    would empty (sentence 538, annotator 1).
    """
    folder = data_dir / "SEEDA" / "outputs" / "subset"
    judged = read_lines(folder / "INPUT.txt")
    sources, references = official_references(data_dir / "conll14" / "official-2014.combined.m2")
    kept = {tuple(s) for s in judged}
    rows = [n for n, s in enumerate(sources) if tuple(s) in kept]
    assert [sources[n] for n in rows] == judged
    return Corpus(
        joined(judged),
        {
            name: Version(joined(read_lines(folder / f"{name}.txt")))
            for name in ("BART", *OFFICIAL_I)
        },
        tuple(Version(joined([reference[n] for n in rows])) for reference in references),
    )


def test_official_counts_on_seeda(judged_sentences: Corpus) -> None:
    """mfelice/imeasure, `-nomix`, BART on SEEDA's 391 sentences."""
    only = judged_sentences.with_systems(["BART"])
    total = IMeasure().statistics(only, Runtime()).values[0].sum(axis=0)
    tp, tn, *_ = total.tolist()
    assert (tp, tn) == (332, 7456)
    detected = dict(zip(("tp", "tn", "fp", "fn"), detection(total).tolist(), strict=False))
    assert detected == {"tp": 392, "tn": 7456, "fp": 241, "fn": 596}


@pytest.mark.parametrize("system", OFFICIAL_I)
def test_official_improvement_on_seeda(judged_sentences: Corpus, system: str) -> None:
    """mfelice/imeasure, `-nomix`, corpus level, as printed with two decimals."""
    only = judged_sentences.with_systems([system])
    total = IMeasure().statistics(only, Runtime()).values[0].sum(axis=0)
    for counts, printed in zip((total, detection(total)), OFFICIAL_I[system], strict=True):
        if printed is not None:
            assert 100 * improvement(counts) == pytest.approx(printed, abs=0.005)


def test_a_line_too_long_for_its_tables_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources = ("a b c d e f g h i", "This are it .")
    texts = ("a b x d e f g h i", "This is it .")
    corpus = Corpus(sources, {"s": Version(texts)}, (Version(texts),))
    short = Corpus(sources[1:], {"s": Version(texts[1:])}, (Version(texts[1:]),))
    scorer = IMeasure()
    whole = scorer.score_corpus(corpus)
    assert not whole.statistics.notes
    monkeypatch.setattr("gecjury.refbased.imeasure.metric._MOST_CELLS", 80)
    table = scorer.score_corpus(corpus)
    assert np.isnan(table.sentences[0]).tolist() == [True, False]
    assert table.totals["s"] == scorer.score_corpus(short).totals["s"]
    assert table.unanswered == 1
    assert "left out: line 1; split such lines" in table.statistics.notes[0]
    draws = np.array([[0, 1], [1, 1]])
    assert scorer.corpus_scores(table.statistics, draws).score.tolist() == [[1.0], [1.0]]


def test_an_empty_reference_counts_as_unchanged_and_is_noted() -> None:
    corpus = Corpus(
        ("x y",), {"same": Version(("x y",)), "none": Version(("",))}, (Version(("",)),)
    )
    table = IMeasure().score_corpus(corpus)
    assert table.sentences.tolist() == [[1.0], [-1.0]]
    assert "i-measure: an empty reference counts as unchanged" in table.statistics.notes
