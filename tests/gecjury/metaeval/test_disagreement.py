"""Where families disagree: ranks, the measure, human comparisons, consensus on judged pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from gecjury.benchmarks.judgments import RankedItem, expand_pairs
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.disagreement import camps, consensus, scaled_ranks, sentence_views
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature

SOURCES = ("a b", "c d")
OUTPUTS = {"x": ("a B", "c d"), "y": ("A b", "c d"), "z": ("a B", "c d")}
CORPUS = Corpus(SOURCES, {name: Version(lines) for name, lines in OUTPUTS.items()})


def table(metric: str, family: str, scores: Sequence[Sequence[float]]) -> ScoreTable:
    values = np.array(scores, dtype=np.float64)
    return ScoreTable(
        CORPUS.names,
        Signature(metric, family, {}),
        Scores(values),
        Scores(values.mean(axis=1)),
        Statistics(values),
        CORPUS.system_prints,
    )


def test_scaled_ranks_share_places_and_leave_gaps() -> None:
    found = scaled_ranks(np.array([[0.1, 0.5, 0.5, 0.2], [1.0, np.nan, 2.0, 3.0]]))
    # Ranks 4, 1.5, 1.5, 3 of four: (rank - 1) / 3. Ranks of three known scores: 3, 2, 1.
    np.testing.assert_allclose(found[0], [1, 1 / 6, 1 / 6, 2 / 3])
    np.testing.assert_allclose(found[1], [1, np.nan, 0.5, 0])
    assert scaled_ranks(np.array([7.0])).tolist() == [0.5]


def test_opposite_families_disagree_by_one_and_equal_ones_by_nothing() -> None:
    up = [[0.2, 0], [0.1, 0], [0.2, 0]]
    down = [[0.1, 0], [0.9, 0], [0.1, 0]]
    # Ranks of the two corrections: 0, 1 and 1, 0: variance 1/4 each, times 4.
    (found,) = sentence_views(CORPUS, [table("m", "refbased", up), table("j", "judges", down)], {})
    assert found.disagreement == pytest.approx(1.0)
    (equal,) = sentence_views(CORPUS, [table("m", "refbased", up), table("j", "judges", up)], {})
    assert (equal.disagreement, equal.apart) == (0.0, "")
    # The second sentence has one distinct correction: nothing to disagree on.
    assert found.row == 0


def test_the_family_farthest_from_the_mean_is_the_outlier() -> None:
    up = [[0.2, 0], [0.1, 0], [0.2, 0]]
    down = [[0.1, 0], [0.9, 0], [0.1, 0]]
    tables = [table("m", "refbased", up), table("s", "refless", up), table("j", "judges", down)]
    (found,) = sentence_views(CORPUS, tables, {})
    # Ranks 0, 0, 1 of either correction: mean 1/3, variance (1/9 + 1/9 + 4/9) / 3 = 2/9.
    assert found.disagreement == pytest.approx(8 / 9)
    assert found.apart == "judges"


def item(groups: Sequence[tuple[str, ...]], ranks: Sequence[int]) -> RankedItem:
    return RankedItem("1", 0, "ann", tuple(groups), tuple(ranks))


def test_people_are_counted_by_correction_and_compared_with_the_metrics() -> None:
    up = [[0.2, 0], [0.1, 0], [0.2, 0]]
    judged: Mapping[str, Sequence[RankedItem]] = {
        "edit": [item([("x", "z"), ("y",)], [2, 1]), item([("x",), ("y",)], [1, 1])],
        "sentence": [item([("z",), ("y",)], [1, 2])],
    }
    (found,) = sentence_views(CORPUS, [table("m", "refbased", up)], judged)
    counts = {c.systems: dict(c.preferred) for c in found.corrections}
    assert counts[("x", "z")] == {"edit": (0, 1), "sentence": (1, 1)}
    assert counts[("y",)] == {"edit": (1, 1), "sentence": (0, 1)}
    # The metric prefers "a B": wrong in the edit view, right in the other; ties are left out.
    assert found.astray == 0.5


def test_one_family_is_split_into_its_metrics() -> None:
    up = [[0.2, 0], [0.1, 0], [0.2, 0]]
    one = [table("m", "refbased", up), table("n", "refbased", up)]
    assert [camp.name for camp in camps(one)] == ["m", "n"]
    two = [*one, table("j", "judges", up)]
    assert [(c.name, c.tables) for c in camps(two)] == [("refbased", (0, 1)), ("judges", (2,))]


def test_consensus_counts_only_pairs_on_which_all_have_a_preference() -> None:
    first = [[3, 3], [2, 2], [1, 1]]
    second = [[3, 1], [2, 1], [1, 2]]
    tables = [table("m", "refbased", first), table("j", "judges", second)]
    items = [
        RankedItem("1", 0, "ann", (("x",), ("y",)), (1, 2)),  # all prefer x, as people do
        RankedItem("2", 0, "ann", (("x",), ("z",)), (2, 1)),  # all prefer x, people z
        RankedItem("3", 1, "ann", (("y",), ("z",)), (2, 1)),  # m prefers y, j prefers z, people z
        RankedItem("4", 1, "ann", (("x",), ("y",)), (1, 2)),  # j has no preference
    ]
    judged = [expand_pairs(part, CORPUS.names) for part in (items[:1], items[1:])]
    found = consensus(tables, judged, camps(tables))
    assert found is not None
    assert (found.pairs, found.united, found.right) == (3, 2, 0.5)
    assert dict(found.split_right) == {"refbased": 0.0, "judges": 1.0}
    assert consensus(tables[:1], judged, camps(tables[:1])) is None
