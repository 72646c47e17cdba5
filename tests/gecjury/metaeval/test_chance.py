"""Sentinels, and metrics rounded to the levels of a judge."""

from __future__ import annotations

import numpy as np

from gecjury.metaeval.chance import in_levels, levels_of, sentence_table
from gecjury.metaeval.comparison import _rounded
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from tests.gecjury.metaeval.test_study import SYSTEMS, benchmark

NAN = float("nan")


def test_scores_take_each_level_as_often_as_the_judge() -> None:
    levels = np.array([[5.0, 1.0], [5.0, 1.0]])
    scores = np.array([[0.4, 0.1], [0.2, 0.3]])
    assert in_levels(scores, levels).tolist() == [[5.0, 1.0], [1.0, 5.0]]
    # Equal scores stay equal, and missing scores stay missing.
    tied = np.array([[0.1, 0.1, 0.9, 0.1, NAN]])
    assert in_levels(tied, np.array([1.0, 2.0, 3.0, 4.0])).tolist()[0][:4] == [2, 2, 4, 2]


def test_the_best_metric_is_rounded_to_the_levels_of_a_judge() -> None:
    names = tuple(SYSTEMS)
    judge = sentence_table("judge", names, np.array([[5.0] * 3, [5.0] * 3, [1.0] * 3]), "judges")
    good = sentence_table("mine", names, np.array([[0.9] * 3, [0.8] * 3, [0.1] * 3]), "refless")
    poor = sentence_table("poor", names, -good.sentences, "refless")
    study = MetaEvaluation(benchmark(), Settings(aggregate="mean"))
    results = [study.evaluate(table)[1] for table in (judge, poor, good)]
    (rounded,) = _rounded((judge, poor, good), results)
    assert rounded.signature.label == "mine (judge levels)"
    assert rounded.sentences.tolist() == [[5.0] * 3, [5.0] * 3, [1.0] * 3]
    assert levels_of(good) is None
    assert _rounded((judge,), results[:1]) == ()
    assert _rounded((poor, good), results[1:]) == ()
