"""Our alignment and merging against those of the errant package, on random parses.

The parses need not make sense: the more tags, lemmas and heads vary, the more rules fire.
"""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

errant = pytest.importorskip("errant")
spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc  # noqa: E402

from gecjury.corpus.edits import apply_edits  # noqa: E402
from gecjury.extraction import alignment  # noqa: E402
from gecjury.extraction.merging import Span  # noqa: E402
from gecjury.extraction.parsing import Parsed, Parser  # noqa: E402
from gecjury.extraction.pipeline import Classifier, errant_extractor  # noqa: E402

NLP = spacy.blank("en")
ANNOTATOR = errant.load("en", NLP)
PARSER = Parser(NLP)
EXTRACTOR = replace(errant_extractor(NLP), parse=PARSER.parse)

# fmt: off
WORDS = [
    "a", "A", "the", "The", "THE", "cat", "cats", "Cat", "'s", "'", ",", ".", "-", "to", "eat",
    "eating", "ate", "look", "at", "sub", "way", "subway", "sub-way", "is", "was", "big", "bigger",
    "more", "his", "n't", "ab", "ba", "é", "É", "İ", "ß", "日本", "10", "&", "acat", '!"', "wo",
    "will", "other", "another",
]
TAGS = [
    "NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBZ", "POS", "DT", "IN", "PRP", "PRP$", "TO", "RP",
    "JJ", "RB", ",", ".", "MD", "CD",
]
POSES = [
    "NOUN", "VERB", "AUX", "PART", "DET", "PUNCT", "ADJ", "ADV", "ADP", "PRON", "PROPN", "NUM",
]
DEPS = [
    "aux", "auxpass", "det", "prep", "prt", "punct", "nsubj", "dobj", "amod", "acomp", "advmod",
    "poss", "ROOT",
]
# fmt: on


def document(words: list[str], seed: int, variety: int) -> Doc:
    """Return a random parse that draws from `variety` tags and parts of speech."""
    draw = random.Random(seed)
    tags = draw.sample(TAGS, min(variety, len(TAGS)))
    poses = draw.sample(POSES, min(variety, len(POSES)))
    if not words:
        return Doc(NLP.vocab, words=[])
    return Doc(
        NLP.vocab,
        words=words,
        tags=[draw.choice(tags) for _ in words],
        pos=[draw.choice(poses) for _ in words],
        lemmas=[w.lower()[:3] if draw.random() < 0.8 else draw.choice("xy") for w in words],
        deps=[draw.choice(DEPS) for _ in words],
        heads=[max(0, i - draw.randrange(3)) for i in range(len(words))],
    )


def errant_edits(source: Doc, corrected: Doc) -> list[tuple[int, int, str, str]]:
    return [
        (e.o_start, e.o_end, " ".join(token.text for token in e.c_toks), e.type)
        for e in ANNOTATOR.annotate(source, corrected)
    ]


def our_edits(source: Doc, corrected: Doc) -> list[tuple[int, int, str, str]]:
    found = EXTRACTOR.pair(PARSER.reduce(source), PARSER.reduce(corrected))
    assert not found.coarse
    return [(e.start, e.end, e.correction, e.type) for e in found.edits]


@st.composite
def pairs(draw: st.DrawFn, longest: int = 25) -> tuple[Doc, Doc]:
    """A sentence, with one derived from it by random operations or with an unrelated one."""
    words = st.sampled_from(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)))
    source = draw(st.lists(words, max_size=longest))
    corrected = list(source)
    if draw(st.integers(0, 4)) == 0:
        corrected = draw(st.lists(words, max_size=longest))
    for _ in range(draw(st.integers(0, 8))):
        place = draw(st.integers(0, len(corrected)))
        size = draw(st.integers(1, 4))
        window = corrected[place : place + size]
        kind = draw(st.sampled_from(("replace", "insert", "delete", "reorder", "case")))
        corrected[place : place + size] = {
            "replace": [draw(words)],
            "insert": [draw(words), *window],
            "delete": [],
            "reorder": draw(st.permutations(window)),
            "case": [word.swapcase() for word in window],
        }[kind]
    variety = draw(st.sampled_from((1, 2, 3, 6, 20)))
    seed = draw(st.integers(0, 2**16))
    return document(source, seed, variety), document(corrected, seed + 1, variety)


@given(pairs())
def test_edits_equal_those_of_errant(pair: tuple[Doc, Doc]) -> None:
    assert our_edits(*pair) == errant_edits(*pair)


# Low first bounds, which often have to be raised.
LIMITS = [{"_MEASURED": 0, "_TRIED": 0}]


@pytest.mark.parametrize("limits", LIMITS)
@given(pair=pairs())
def test_every_way_of_aligning_gives_the_same(
    limits: dict[str, int], pair: tuple[Doc, Doc]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(alignment, name, value)
        assert our_edits(*pair) == errant_edits(*pair)


def parsed(words: str) -> Parsed:
    return PARSER.reduce(document(words.split(), 0, 1))


@pytest.mark.parametrize(
    ("source", "corrected", "operations"),
    [
        # Equal tokens match wherever they meet, so the added "a" is the first of the two.
        ("a x", "a a y", [("I", 0, 0, 0, 1), ("S", 1, 2, 2, 3)]),
        ("a b c", "b a c", [("T", 0, 2, 0, 2)]),
        ("x a b c", "x c a b", [("T", 1, 4, 1, 4)]),
        ("The end", "the end", [("S", 0, 1, 0, 1)]),
        # A reordering may differ in case.
        ("The end", "end the", [("T", 0, 2, 0, 2)]),
        # A word that differs only in case costs nothing, and no reordering spans it, though
        # one would cost 2 and these substitutions cost 3.
        (
            "aaa B ccc",
            "ccc b aaa",
            [("S", 0, 1, 0, 1), ("S", 1, 2, 1, 2), ("S", 2, 3, 2, 3)],
        ),
        # Two cheap substitutions cost less than any path off the diagonal, but more than the
        # first bound.
        ("x aab aba y", "z aab2 aba y", [("S", 0, 1, 0, 1), ("S", 1, 2, 1, 2)]),
        ("pp a a", "a a qq", [("D", 0, 1, 0, 0), ("I", 3, 3, 2, 3)]),
        ("aab aba x", "aba aab y", [("T", 0, 2, 0, 2), ("S", 2, 3, 2, 3)]),
        ("", "a b", [("I", 0, 0, 0, 1), ("I", 0, 0, 1, 2)]),
        ("a b", "", [("D", 0, 1, 0, 0), ("D", 1, 2, 0, 0)]),
        ("a b", "a b", []),
    ],
)
@pytest.mark.parametrize("limits", [{}, *LIMITS])
def test_operations(
    source: str,
    corrected: str,
    operations: list[Any],
    limits: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(alignment, name, value)
    assert alignment.Aligner().align(parsed(source), parsed(corrected)) == operations


def verbs(words: str, dependency: str) -> Doc:
    """Return a parse with a verb in the middle, on which the first word depends."""
    count = len(words.split())
    return Doc(
        NLP.vocab,
        words=words.split(),
        tags=["MD", "VBZ" if "eats" in words else "VB", "VB"][:count],
        pos=["AUX", "VERB", "VERB"][:count],
        lemmas=["x", "eat", "go"][:count],
        deps=[dependency, "ROOT", "xcomp"][:count],
        heads=[1, 1, 1][:count],
    )


@pytest.mark.parametrize(
    ("words", "corrected", "span"),
    [
        ("x eat", "x eats", (1, 2, 1, 2)),
        # The end, which differs only in case, is left out; one verb on each side remains.
        ("x eat Go", "x eats go", (1, 3, 1, 3)),
    ],
)
def test_the_type_of_an_edit_depends_on_its_context(words: str, corrected: str, span: Span) -> None:
    classifier = Classifier()
    for dependency, expected in (("aux", "R:VERB:FORM"), ("nsubj", "R:VERB:SVA")):
        source, other = verbs(words, dependency), verbs(corrected, dependency)
        assert ANNOTATOR.classify(errant.edit.Edit(source, other, span)).type == expected
        pair = PARSER.reduce(source), PARSER.reduce(other)
        assert classifier.types([span], *pair) == [expected]


def test_the_rules_are_applied_once_per_edit() -> None:
    classified = []

    def classify(edit: Any) -> Any:
        classified.append(edit.o_str)
        edit.type = edit.o_str
        return edit

    classifier = Classifier(classify)
    source, other = parsed("a b c"), parsed("x y z")
    one, two = [(0, 1, 0, 1), (1, 2, 1, 1)], [(0, 2, 0, 1), (0, 1, 0, 2)]
    assert classifier.types([*one, *two], source, other) == ["a", "b", "a b", "a"]
    assert classifier.types([*one, *two], source, other) == ["a", "b", "a b", "a"]
    assert classified == ["a", "b", "a b", "a"]


def test_a_case_change_merges_at_the_start_of_the_rest_after_a_split() -> None:
    """`foo` and `fooo` are similar and split off; the rest runs from `Big` to `cat`."""

    def made(words: str, poses: str) -> Doc:
        count = len(words.split())
        return Doc(
            NLP.vocab,
            words=words.split(),
            tags=["IN"] * count,
            pos=poses.split(),
            lemmas=words.split(),
            deps=["prep"] * count,
            heads=[0] * count,
        )

    pair = made("foo Big Old cat", "ADP PRON NUM PRON"), made("fooo Cat", "ADP NUM")
    assert [edit[:3] for edit in errant_edits(*pair)] == [(0, 1, "fooo"), (1, 4, "Cat")]
    assert our_edits(*pair) == errant_edits(*pair)


@pytest.mark.slow
def test_long_or_repetitive_sentences_are_aligned_quickly() -> None:
    """The errant package takes hours on some of these, or raises RecursionError."""
    numbered = [f"x{i}" for i in range(2000)]
    cases = [
        ("a " * 10_000, "a " * 9_990, 1),
        ("a " * 2_000, "A " * 2_000, 1),
        (" ".join(numbered * 10), "z", None),
        ("z", " ".join(numbered * 10), None),
        # The first "a" moves to the end.
        ("a b " * 1_000, "b a " * 1_000, 2),
        (" ".join(numbered), " ".join(f"y{i}" for i in range(2000)), None),
        (" ".join(numbered), " ".join(reversed(numbered)), None),
    ]
    for source, corrected, count in cases:
        begin = time.process_time()
        edits = EXTRACTOR.pair(parsed(source), parsed(corrected)).edits
        assert time.process_time() - begin < 10
        assert count is None or len(edits) == count
        assert apply_edits(source.split(), edits) == corrected.split()


def test_pairs_too_large_for_exact_alignment_are_aligned_in_pieces_and_marked() -> None:
    draw = random.Random(0)
    left = [f"a{i}" for i in range(3200)]
    right = [f"b{i}" for i in range(3200)]
    kept = sorted(draw.sample(range(3200), 10))
    for i in kept:
        right[i] = left[i]
    found = EXTRACTOR.pair(parsed(" ".join(left)), parsed(" ".join(right)))
    assert found.coarse
    assert apply_edits(left, found.edits) == right
    assert all(not edit.start <= i < edit.end for i in kept for edit in found.edits)
