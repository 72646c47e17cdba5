"""Rankings from Python: order, shared ranks, tests as `compare_systems` finds them."""

from __future__ import annotations

from typing import Any

import pytest

import gecjury
from gecjury import RankSettings
from gecjury.errors import OptionError
from gecjury.experiments.system_tests import compare_systems
from tests.shell import FIXED, SOURCE


def test_order_and_shared_ranks() -> None:
    systems = {"copy": SOURCE, "fixed": FIXED, "again": FIXED}
    found = gecjury.rank(
        SOURCE, systems, FIXED, metrics="green", settings=RankSettings(resample="none")
    )
    rows = found.rows()
    assert [(row["rank"], row["system"]) for row in rows] == [
        (1, "fixed"), (1, "again"), (3, "copy"),
    ]  # fmt: skip
    assert all(one.tests is None for one in found.metrics)
    assert not {"ci95", "ranks", "cluster"} & set(rows[0])


def test_tests_are_those_of_one_scoring() -> None:
    settings = RankSettings(
        aggregate="mean", resamples=30, permutations=40, confidence=0.8, level=0.2, seed=3
    )
    found = gecjury.rank("sample", metrics=["green", "changes"], settings=settings)
    scorer = gecjury.load("changes")
    own = compare_systems(
        scorer, scorer.score_corpus(gecjury.load_benchmark("sample").corpus), "mean",
        resamples=30, permutations=40, confidence=0.8, level=0.2, seed=3,
    )  # fmt: skip
    one = found.metrics[1]
    assert one.tests is not None
    assert one.tests.intervals == own.intervals
    assert one.tests.ranks == own.ranks
    rows = found.rows()[len(one.table.systems) :]
    clusters = dict(zip(one.table.systems, own.clusters, strict=True))
    assert {row["system"]: row["cluster"] for row in rows} == clusters
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert {row["aggregate"] for row in rows} == {"mean"}


def test_systems_that_all_score_alike_are_told() -> None:
    settings = RankSettings(resamples=5, permutations=5)
    found = gecjury.rank(
        SOURCE, {"a": FIXED, "b": FIXED}, FIXED, metrics="green", settings=settings
    )
    assert found.notes == ("green: all systems score alike: nothing to rank",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"resamples": 0}, "--resamples 0: expected 1 or more"),
        ({"permutations": 0}, "--permutations 0: expected 1 or more"),
        ({"confidence": 1.0}, "--confidence 1.0: expected a number between 0 and 1"),
    ],
)
def test_settings_out_of_range(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        RankSettings(**options)


def test_records_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    settings = RankSettings(resamples=5, permutations=5)
    frame = pandas.DataFrame(gecjury.rank("sample", metrics="green", settings=settings).rows())
    assert frame.iloc[0]["system"] == "careful"
    assert frame["score"].is_monotonic_decreasing
