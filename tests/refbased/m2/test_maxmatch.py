"""M2 scorer: hand-computed cases, the official algorithm, published figures, bounds."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.refbased.m2.bounded import bounded_path
from gecjury.refbased.m2.lattice import EditLattice
from gecjury.refbased.m2.maxmatch import extract_system_edits, match
from gecjury.refbased.m2.metric import M2
from gecjury.refbased.m2.paths import GoldEdit
from gecjury.refbased.references import choose_running
from gecjury.scoring.scores import Statistics
from gecjury.stats.counts import f_of_counts

_SPEC = importlib.util.spec_from_file_location(
    "official_maxmatch", Path(__file__).with_name("official_maxmatch.py")
)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
official = _MODULE.official


def read_m2(path):
    """Return [(source tokens, {annotator: gold edits})], for these tests only."""
    result = []
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        first, *rest = block.split("\n")
        annotators = {}
        for line in rest:
            span, kind, text, _, _, number = line[2:].split("|||")
            start, end = map(int, span.split())
            golds = annotators.setdefault(int(number), [])
            if kind != "noop":
                texts = ("" if c == "-NONE-" else c.strip() for c in text.split("||"))
                golds.append(GoldEdit(start, end, tuple(texts)))
        golds = [annotators[number] for number in sorted(annotators)] or [[]]
        result.append((first[2:].split(), golds))
    return result


def systems(data_dir):
    """Return {system: token lists} of the 15 SEEDA outputs."""
    return {
        path.stem: [line.split() for line in path.read_text(encoding="utf-8").split("\n")]
        for path in sorted((data_dir / "SEEDA/outputs/all").glob("*.txt"))
    }


def spaced(text):
    return text.split()


@pytest.fixture(scope="module")
def conll14(data_dir):
    return read_m2(data_dir / "conll14/official-2014.combined.m2")


def gold(start, end, *texts):
    return GoldEdit(start, end, texts)


# The example of the official README (m2scorer, section 3): precision, recall and F0.5 are 0.8.
# Sentence 1: at -> on and the inserted "the" are gold, The -> A is not: (2, 3, 2).
# Sentence 2: nothing proposed; annotator 0 wants one edit, annotator 1 none: (0, 0, 1), (0, 0, 0).
# Sentence 3: is -> are and the deleted "an"; annotator 0 wants these and one more: (2, 2, 3);
# for annotator 1, who wants otters -> otter, the two adjacent edits are one: (0, 1, 1).
# Chosen: (2, 3, 2) + (0, 0, 0) + (2, 2, 3).
README = [
    (
        "The cat sat at mat .",
        "A cat sat on the mat .",
        [[gold(3, 4, "on"), gold(4, 4, "the", "a")]],
        [(2, 3, 2)],
    ),
    ("The dog .", "The dog .", [[gold(1, 2, "dogs")], []], [(0, 0, 1), (0, 0, 0)]),
    (
        "Giant otters is an apex predator .",
        "Giant otters are apex predator .",
        [[gold(2, 3, "are"), gold(3, 4, ""), gold(5, 6, "predators")], [gold(1, 2, "otter")]],
        [(2, 2, 3), (0, 1, 1)],
    ),
]


@pytest.mark.parametrize(("source", "hypothesis", "annotators", "expected"), README)
def test_counts_of_the_official_example(source, hypothesis, annotators, expected):
    assert match(source.split(), hypothesis.split(), annotators) == expected


def test_running_choice_of_the_official_example():
    stats = np.full((1, 3, 2, 3), np.nan)
    for sentence, (_, _, _, counts) in enumerate(README):
        stats[0, sentence, : len(counts)] = counts
    totals, chosen = choose_running(stats, M2().rule)
    assert totals.tolist() == [[4, 5, 5]]
    assert chosen.tolist() == [[0, 1, 0]]
    # F = 1.25 * 4 / (0.25 * 5 + 5) = 0.8; sentences: 1.25*2/(0.5+3) = 5/7, 1, 1.25*2/2.75 = 10/11
    assert f_of_counts(*totals.T, 0.5)[0] == pytest.approx(0.8)
    assert M2().sentence_scores(Statistics(stats)).score[0] == pytest.approx([5 / 7, 1, 10 / 11])


def test_edits_merge_over_two_unchanged_words_and_not_over_three():
    # x -> X and y -> Y with two words between them become one edit (one epsilon instead of two).
    assert match(spaced("x a b y"), spaced("X a b Y"), [[]])[0].proposed == 1
    assert match(spaced("x a b c y"), spaced("X a b c Y"), [[]])[0].proposed == 2


def test_gold_edits_split_what_would_be_merged():
    golds = [gold(0, 1, "X")]
    assert match(spaced("x a b y"), spaced("X a b Y"), [golds]) == [(1, 2, 1)]


def test_case_counts():
    assert match(["the"], ["The"], [[gold(0, 1, "the")]]) == [(0, 1, 1)]


def test_gold_edit_listed_twice_counts_twice():
    golds = [gold(0, 1, "b"), gold(0, 1, "b")]
    assert match(["a"], ["b"], [golds]) == [(2, 1, 2)]


def test_gold_edits_out_of_order_are_skipped():
    # The scorer walks along the list once: after (2, 3) it does not return to (0, 1).
    source, hypothesis = spaced("a q b"), spaced("x q y")
    ordered = [gold(0, 1, "x"), gold(2, 3, "y")]
    assert match(source, hypothesis, [ordered, ordered[::-1]]) == [(2, 2, 2), (1, 2, 2)]


def test_leading_insertions_of_release_3_2():
    # Release 3.2 places the second inserted token after source token 1, so the joined insertion
    # spans (0, 1) and cannot be the gold insertion at (0, 0).
    source, hypothesis = spaced("c d e f"), spaced("a b c d e f")
    golds = [[gold(0, 0, "a b")]]
    assert match(source, hypothesis, golds, release=True)[0].correct == 0
    assert match(source, hypothesis, golds, release=False) == [(1, 1, 1)]
    assert extract_system_edits(source, hypothesis, golds, release=False) == [[(0, 0, "a b", 1)]]


@pytest.mark.parametrize(
    ("source", "hypothesis", "expected"), [("", "", 0), ("", "a b", 1), ("a b", "", 1)]
)
def test_empty_sentences(source, hypothesis, expected):
    assert match(source.split(), hypothesis.split(), [[]]) == [(0, expected, 0)]


@pytest.mark.parametrize("context", [-1, 31])
def test_unchanged_words_out_of_range(context):
    with pytest.raises(OptionError, match="expected 0 to 30"):
        M2(unchanged=context)


def test_choice_ties():
    # Equal F: 1.25*2/(0.25*4+4) = 1.25*1/(0.25*2+2) = 0.5: more correct edits win. Both F 0:
    # 0.25*2 + 1 = 1.5 is smaller than 0.25*4 + 1 = 2: annotator 1.
    stats = np.array([[[[1, 2, 2], [2, 4, 4]]], [[[0, 1, 4], [0, 1, 2]]]], dtype=float)
    totals, chosen = choose_running(stats, M2().rule)
    assert chosen.tolist() == [[1], [1]]
    assert totals.tolist() == [[2, 4, 4], [0, 1, 2]]
    # A complete tie goes to the first: 0.25*8 + 1 = 0.25*4 + 2.
    _, chosen = choose_running(np.array([[[[0, 1, 8], [0, 2, 4]]]], dtype=float), M2().rule)
    assert chosen.tolist() == [[0]]


def test_absent_annotators_are_not_counted():
    absent = [np.nan] * 3
    stats = np.array([[[[1, 1, 1], absent], [absent, absent]]])
    totals, chosen = choose_running(stats, M2().rule)
    assert totals.tolist() == [[1, 1, 1]]
    assert chosen.tolist() == [[0, -1]]
    np.testing.assert_array_equal(M2().sentence_scores(Statistics(stats)).score, [[1, np.nan]])


def test_zero_rules():
    # Nothing proposed and nothing gold: 1; only one of the two: 0.
    zero, one = np.zeros(1), np.ones(1)
    assert f_of_counts(zero, zero, zero, 0.5) == 1
    assert f_of_counts(zero, zero, one, 0.5) == 0
    assert f_of_counts(zero, one, zero, 0.5) == 0


words = st.lists(st.sampled_from("abc"), max_size=8)
gold_lists = st.lists(
    st.tuples(
        st.integers(0, 8),
        st.integers(0, 2),
        st.lists(st.lists(st.sampled_from("abc"), max_size=2).map(" ".join), max_size=2),
    ),
    max_size=4,
)


@given(words, words, st.lists(gold_lists, min_size=1, max_size=2), st.integers(0, 3), st.booleans())
def test_equals_the_official_algorithm(source, hypothesis, annotators, context, release):
    golds = [
        [
            GoldEdit(start, min(len(source), start + size), tuple(texts))
            for start, size, texts in annotator
            if start <= len(source)
        ]
        for annotator in annotators
    ]
    counts, paths = official(source, hypothesis, golds, context, release)
    assert match(source, hypothesis, golds, context, release=release) == counts
    edits = extract_system_edits(source, hypothesis, golds, context, release=release)
    assert [[edit[:3] for edit in cut] for cut in edits] == [
        [(start, end, new) for start, end, _, new in path] for path in paths
    ]


def _parity(conll14, outputs, step):
    compared = 0
    for number in range(0, len(conll14), step):
        source, golds = conll14[number]
        for hypothesis in {tuple(output[number]) for output in outputs.values()}:
            if list(hypothesis) == source:
                continue
            expected, paths = official(source, hypothesis, golds)
            assert match(source, hypothesis, golds) == expected, (number, hypothesis)
            edits = extract_system_edits(source, hypothesis, golds)
            assert [[edit[:3] for edit in cut] for cut in edits] == [
                [(start, end, new) for start, end, _, new in path] for path in paths
            ]
            compared += 1
    return compared


def test_equals_the_official_algorithm_on_a_part_of_seeda(conll14, data_dir):
    assert _parity(conll14, systems(data_dir), 80) > 75


@pytest.mark.slow
def test_equals_the_official_algorithm_on_all_of_seeda(conll14, data_dir):
    assert _parity(conll14, systems(data_dir), 1) == 6857


@pytest.mark.parametrize("step", [64, pytest.param(16, marks=pytest.mark.slow)])
def test_bounded_pass_equals_the_official_algorithm_on_seeda(conll14, data_dir, step):
    for output in list(systems(data_dir).values())[::4]:
        for number in range(0, len(conll14), step):
            source, golds = conll14[number]
            if output[number] == source:
                continue
            lattice = EditLattice.build(source, output[number])
            for annotator, counts in zip(golds, match(source, output[number], golds), strict=True):
                edits = bounded_path(lattice, annotator, 2)
                assert (sum(edit.correct for edit in edits), len(edits)) == counts[:2]


# README of SEEDA, whole CoNLL-2014 set (1,312 sentences), column M2, in percent.
SEEDA_M2 = {
    "BART": 50.3,
    "BERT-fuse": 62.77,
    "GPT-3.5": 53.5,
    "INPUT": 0,
    "REF-F": 47.48,
    "T5": 65.07,
    "TransGEC": 68.08,
}


@pytest.mark.slow
def test_published_scores_of_seeda(conll14, data_dir):
    outputs = systems(data_dir)
    stats = np.full((len(outputs), len(conll14), 2, 3), np.nan)
    for row, output in enumerate(outputs.values()):
        for number, (source, golds) in enumerate(conll14):
            stats[row, number, : len(golds)] = match(source, output[number], golds)
    totals, _ = choose_running(stats, M2().rule)
    percent = dict(zip(outputs, 100 * f_of_counts(*totals.T, 0.5), strict=True))
    for system, published in SEEDA_M2.items():
        assert percent[system] == pytest.approx(published, abs=0.006), system


@pytest.mark.parametrize(
    ("source", "hypothesis"),
    [
        (["a"] * 300, ["a"] * 200),
        (["a"] * 200, ["a"] * 300),
        (["a", "b"] * 150, ["b", "a"] * 125),
        ([f"s{i}" for i in range(300)], [f"h{i}" for i in range(300)]),
        (spaced("the cat sat on the mat .") * 3, spaced("the cat sit on the mat .") * 40),
        ([f"s{i}" for i in range(5000)], [f"h{i}" for i in range(5000)]),
    ],
)
def test_long_and_repetitive_sentences_are_fast(source, hypothesis):
    begin = time.perf_counter()
    counts = match(source, hypothesis, [[], [gold(3, 4, "z")]])
    assert time.perf_counter() - begin < 5
    assert counts[0].proposed >= 1


def test_shared_ends_are_left_out_beyond_every_limit():
    source = ["x"] * 2 + [f"s{i}" for i in range(2500)] + ["y"] * 3
    hypothesis = ["x"] * 2 + ["n"] * 2500 + ["y"] * 3
    edits = extract_system_edits(source, hypothesis, [[gold(2, 2502, " ".join(["n"] * 2500))]])
    assert [(e.start, e.end, e.correct) for e in edits[0]] == [(2, 2502, 1)]


def test_bounded_pass_finds_gold_edits_in_a_rewritten_sentence():
    source, hypothesis = [f"s{i}" for i in range(60)], [f"h{i}" for i in range(60)]
    golds = [gold(i, i + 1, f"h{i}") for i in range(10, 20)]
    # Ten single words are gold; the text before and after them is one edit each.
    assert match(source, hypothesis, [golds]) == [(10, 12, 10)]
