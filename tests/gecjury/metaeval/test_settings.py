"""Settings refuse impossible values, with the option names of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from gecjury.core.errors import OptionError
from gecjury.metaeval.settings import Settings
from gecjury.stats.resampling import Resampling


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"human": "edits"}, "`human='edits'`: expected one of edit, .*did you mean edit"),
        (
            {"aggregate": "trueskil"},
            "`aggregate='trueskil'`: expected one of .*did you mean trueskill",
        ),
        ({"level": "word"}, "`level='word'`"),
        ({"ties": "win"}, "`ties='win'`"),
        ({"human_scores": "median"}, "`human_scores='median'`"),
        ({"statistic": "pairwise-accuracy"}, "did you mean pairwise_accuracy"),
        ({"seed": -1}, "`seed=-1`: expected 0 or more"),
        ({"statistic": "spa", "resampling": Resampling(over="none")}, "nothing is tested"),
        ({"statistic": "spa", "level": "sentence"}, "nothing is tested at system level"),
        ({"statistic": "pairwise_accuracy", "level": "edit"}, "`statistic=pairwise_accuracy`"),
    ],
)
def test_settings_refuse_impossible_values(given: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Settings(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"over": "words"}, "`resample='words'`"),
        ({"resamples": 0}, "`resamples=0`: expected 1 to 1000000$"),
        ({"confidence": 95}, "`confidence=95`: expected more than 0 and less than 1"),
        ({"permutations": 0}, "`permutations=0`: expected 1 to 1000000"),
        ({"level": 1.0}, "`level=1.0`: expected more than 0 and less than 1"),
    ],
)
def test_resampling_refuses_impossible_values(given: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Resampling(**given)


def test_the_views_follow_the_benchmark_by_default() -> None:
    known = ("edit", "sentence")
    assert Settings().views("sentence", known) == ("sentence",)
    assert Settings(human="edit").views("sentence", known) == ("edit",)
    assert Settings(human="both").views("sentence", known) == known
