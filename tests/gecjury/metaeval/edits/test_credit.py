"""Credit of judged edits: leaving one out in one pass, a metric's own counts, and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.metaeval.edits.credit import credit_edits, credit_kind, leave_one_out, variant_corpus
from gecjury.scoring.abilities import EditCase, EditCounts
from gecjury.scoring.registry import load
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


def credits(cases: Sequence[EditCase] = tuple(CASES)) -> list[float]:
    return [float(value) for value in leave_one_out(Many(), cases, CORPUS, Runtime())[0]]


def test_by_hand() -> None:
    # v(∅)=0, v(X)=1, v(Y)=0, v(XY)=3, v(W)=1, v(XW)=2, v(YW)=1, v(XYW)=3½.
    # Without X: 3 − v(Y), without Y: 3 − v(X); Y alone 0 − 0;
    # of XYW without X 3½ − v(YW), without Y 3½ − v(XW), without W 3½ − v(XY).
    assert credits() == [3, 2, 0, 2.5, 1.5, 0.5]


def test_every_variant_is_scored_once_in_one_pass() -> None:
    SEEN.clear()
    credits()
    (corpus,) = SEEN
    pairs = list(zip(corpus.sources, corpus.systems["variant"].lines, strict=True))
    assert len(pairs) == len(set(pairs))
    # XY, X, Y of the first correction; XYW, YW, XW of the third, XY again; Y and ∅ of the second.
    assert sorted(pairs) == [
        ("a b c", "X Y W"), ("a b c", "X Y c"), ("a b c", "X b W"), ("a b c", "X b c"),
        ("a b c", "a Y W"), ("a b c", "a Y c"), ("d e f", "d Y f"), ("d e f", "d e f"),
    ]  # fmt: skip


def test_side_by_side_only_compares_within_a_group() -> None:
    SEEN.clear()
    values, _ = leave_one_out(Judge(), CASES, CORPUS, Runtime())
    assert values.tolist() == credits()
    groups = SEEN[0].groups
    assert groups is not None
    # Two edits: both variants with the whole; one edit: one; three edits: two, then one more.
    assert len(groups) == 4
    assert {len(group.systems) for group in groups} <= {2, 3}


def test_unscored_variants_and_unknown_sources_are_missing() -> None:
    @dataclass(frozen=True)
    class Gaps(Many):
        def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
            values = super().statistics(corpus, runtime).values
            lines = corpus.systems["variant"].lines
            values[0, [line == "X b c" for line in lines]] = np.nan
            return Statistics(values)

    cases = [*CASES[:2], *cases_of(-1, "g h", [Edit(0, 1, "X")])]
    values, _ = leave_one_out(Gaps(), cases, CORPUS, Runtime())
    np.testing.assert_array_equal(values, [3, np.nan, np.nan])
    with pytest.raises(OptionError, match="none of the judged edits"):
        variant_corpus(Many(), cases[2:], CORPUS)


@dataclass(frozen=True)
class Verdict(Many):
    """A metric that judges edits itself."""

    name: ClassVar[str] = "verdict"

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> None:
        return None

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        scores = np.array([float(case.edit.correction == "X") for case in cases])
        return scores, Statistics(np.empty(0), None, {}, ("asked",))


def counted(*own: float) -> Many:
    """Return a metric that counts edits and gives these credits."""

    @dataclass(frozen=True)
    class Counted(Many):
        def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
            return EditCounts(np.array(own), ("counted",))

    return Counted()


def test_a_metric_credits_by_verdicts_by_counts_or_by_leaving_out() -> None:
    assert credit_kind(Verdict()) == "verdicts"
    assert credit_kind(counted()) == credit_kind(load("gotoscorer")) == "counts"
    assert credit_kind(Many()) == "leave-one-out"
    found = credit_edits(counted(0, 1, np.nan), CASES[:3], CORPUS, Runtime())
    np.testing.assert_array_equal(found.values, [0, 1, np.nan])
    assert found.notes == ("counted",)
    with pytest.raises(OptionError, match="toy credits 3 edits in the shape"):
        credit_edits(counted(1.0), CASES[:3], CORPUS, Runtime())


def test_scores_of_variants_are_read_from_their_file(tmp_path: Path) -> None:
    SEEN.clear()
    first, second = (
        credit_edits(Many(), CASES, CORPUS, Runtime(), tmp_path).values for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert len(SEEN) == len(list(tmp_path.iterdir())) == 1
