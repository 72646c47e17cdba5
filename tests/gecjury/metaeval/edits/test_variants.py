"""Attribution of judged edits in one pass: by hand, and compared with one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.metaeval.edits.attribution import attribute
from gecjury.metaeval.edits.variants import (
    METHODS,
    attribute_edits,
    check_attribution,
    variant_corpus,
)
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.scorer import GroupScorer
from gecjury.scoring.scores import Statistics
from tests.gecjury.metaeval.edits.test_attribution import Toy

SEEN: list[Corpus] = []


@dataclass(frozen=True)
class Many(Toy):
    """Toy for corpora of many lines, with the same scores."""

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        SEEN.append(corpus)
        rows = [
            [float(worth(line.split())) for line in version.lines]
            for version in corpus.systems.values()
        ]
        return Statistics(np.array(rows))


def worth(words: list[str]) -> float:
    both = "X" in words and "Y" in words
    return words.count("X") + 2.0 * both + words.count("W") / (1 + both)


@dataclass(frozen=True)
class Judge(GroupScorer):
    """Many, judged side by side, with a different offset in each group."""

    name: ClassVar[str] = "judge"
    family: ClassVar[str] = "judges"
    group_size: ClassVar[int] = 3

    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics | None]:
        SEEN.append(corpus)
        return [
            [1000.0 * n + worth(text.split()) for text in corpus.group_texts(group)]
            for n, group in enumerate(groups)
        ], None


def cases_of(row: int, source: str, edits: Sequence[Edit]) -> list[EditCase]:
    text = " ".join(apply_edits(source.split(), edits))
    return [EditCase(row, source, ("", ""), e, tuple(edits), 1.0, text) for e in edits]


X, Y, W = Edit(0, 1, "X"), Edit(1, 2, "Y"), Edit(2, 3, "W")
CORPUS = Corpus(("a b c", "d e f"), {})
CASES = [
    *cases_of(0, "a b c", [X, Y]),
    *cases_of(1, "d e f", [Y]),
    *cases_of(0, "a b c", [X, Y, W]),
]


def credits(kind: str, cases: Sequence[EditCase] = tuple(CASES)) -> list[float]:
    values, _ = attribute_edits(Many(), cases, CORPUS, Runtime(), METHODS[kind])
    return [float(value) for value in values]


def test_by_hand() -> None:
    # v(∅)=0, v(X)=1, v(Y)=0, v(XY)=3, v(W)=1, v(XW)=2, v(YW)=1, v(XYW)=3½.
    # Without X: 3 − v(Y), without Y: 3 − v(X); Y alone 0 − 0;
    # of XYW without X 3½ − v(YW), without Y 3½ − v(XW), without W 3½ − v(XY).
    assert credits("leave-one-out") == [3, 2, 0, 2.5, 1.5, 0.5]
    assert credits("add-one") == [1, 0, 0, 1, 0, 1]
    # X of XY: mean of 1 and 3; Y: of 0 and 2. Of XYW: W gains 1, but ½ after both (2 of 6 orders).
    shapley = credits("shapley")
    assert shapley[:3] == [2, 1, 0]
    assert shapley[5] == pytest.approx(5 / 6)
    assert sum(shapley[3:]) == pytest.approx(3.5)


def test_every_variant_is_scored_once_in_one_pass() -> None:
    SEEN.clear()
    credits("leave-one-out")
    (corpus,) = SEEN
    pairs = list(zip(corpus.sources, corpus.systems["variant"].lines, strict=True))
    assert len(pairs) == len(set(pairs))
    # XY, X, Y of the first correction; XYW, YW, XW of the third, XY again; Y and ∅ of the second.
    assert sorted(pairs) == [
        ("a b c", "X Y W"), ("a b c", "X Y c"), ("a b c", "X b W"), ("a b c", "X b c"),
        ("a b c", "a Y W"), ("a b c", "a Y c"), ("d e f", "d Y f"), ("d e f", "d e f"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", METHODS)
def test_one_pass_equals_one_correction_at_a_time(kind: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        starts = sorted(rng.choice(12, size=rng.integers(1, 12), replace=False).tolist())
        words = rng.choice(["X", "Y", "W", ""], size=len(starts))
        edits = [Edit(s, s + 1, str(w)) for s, w in zip(starts, words, strict=True)]
        source = " ".join("abcdefghijkl")
        corpus = Corpus((source,), {})
        cases = cases_of(0, source, edits)
        values, _ = attribute_edits(Many(), cases, corpus, Runtime(), METHODS[kind])
        alone = attribute(Many(), source, edits, method=METHODS[kind])
        np.testing.assert_allclose(values, alone.values, atol=1e-12)


@pytest.mark.parametrize("kind", ["leave-one-out", "add-one"])
def test_side_by_side_only_compares_within_a_group(kind: str) -> None:
    SEEN.clear()
    values, _ = attribute_edits(Judge(), CASES, CORPUS, Runtime(), METHODS[kind])
    assert values.tolist() == credits(kind)
    groups = SEEN[0].groups
    assert groups is not None
    # Two edits: both variants with the anchor; one edit: one; three edits: two, then one more.
    assert len(groups) == 4
    assert {len(group.systems) for group in groups} <= {2, 3}
    with pytest.raises(OptionError, match="side by side"):
        check_attribution(Judge(), "shapley")


def test_references_gold_and_contexts_stay_with_their_source() -> None:
    from gecjury.corpus.corpus import Version
    from gecjury.corpus.m2 import M2Sentence

    gold = tuple(M2Sentence(source, ()) for source in CORPUS.sources)
    corpus = Corpus(
        CORPUS.sources, {}, (Version(("R a", "R d")),), gold, (("", "d"), ("a", "")), None, "mine"
    )
    found = variant_corpus(Many(), CASES, corpus, "remove").corpus
    for row, source in enumerate(found.sources):
        assert found.references[0].lines[row] == f"R {source[0]}"
        assert found.gold is not None
        assert found.gold[row].source == source
        assert found.contexts is not None
        assert found.contexts[row] == (("", "d") if source[0] == "a" else ("a", ""))
    assert found.reference_name == "mine"


def test_unscored_variants_and_unknown_sources_are_missing() -> None:
    @dataclass(frozen=True)
    class Gaps(Many):
        def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
            values = super().statistics(corpus, runtime).values
            lines = corpus.systems["variant"].lines
            values[0, [line == "X b c" for line in lines]] = np.nan
            return Statistics(values)

    cases = [*CASES[:2], *cases_of(-1, "g h", [Edit(0, 1, "X")])]
    values, _ = attribute_edits(Gaps(), cases, CORPUS, Runtime(), "remove")
    np.testing.assert_array_equal(values, [3, np.nan, np.nan])
    with pytest.raises(OptionError, match="none of the judged edits"):
        variant_corpus(Many(), cases[2:], CORPUS, "remove")
