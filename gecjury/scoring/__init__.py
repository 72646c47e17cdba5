"""The interface of metrics, and the results that they leave behind."""

from gecjury.scoring.by_edit import EditCase, EditCounts, EditJudge, Explanation, HeatMap
from gecjury.scoring.registry import METRICS, load
from gecjury.scoring.scorer import GroupScorer, MeanScorer, Scorer
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature

__all__ = [
    "METRICS",
    "EditCase",
    "EditCounts",
    "EditJudge",
    "Explanation",
    "GroupScorer",
    "HeatMap",
    "MeanScorer",
    "ScoreTable",
    "Scorer",
    "Scores",
    "Signature",
    "Statistics",
    "load",
]
