"""The interface of metrics, and the results that they leave behind.

Example:
    >>> from gecjury import load
    >>> table = load("green", beta=2.0).score(["He go ."], {"mine": ["He goes ."]}, [["He goes ."]])
    >>> table.totals["mine"]
    1.0
"""

from gecjury.scoring.abilities import EditCase, EditCounts, EditJudge, Explanation, HeatMap
from gecjury.scoring.registry import METRICS, load
from gecjury.scoring.scorer import GroupScorer, MeanScorer, Scorer, setting
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
    "setting",
]
