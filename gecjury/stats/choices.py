"""Values that options of studies offer. This module imports nothing, so that help is fast."""

from typing import Literal

TieRule = Literal["half", "official", "loss", "drop", "calibrated"]
"""How a pair with equal metric scores counts; see `preference_agreement` in `preferences`."""

SystemStatistic = Literal["pearson", "spearman", "kendall", "pairwise_accuracy", "spa"]
"""The statistics that tests between metrics compare at system level; SPA has its own test."""

Aggregate = Literal["trueskill", "expected-wins", "corpus", "mean"]
"""Ways to compute a system's score; see `aggregate_scores` in `ranking`."""

TypeLevel = Literal[1, 2, 3]
"""Level of detail of error types: 1 operation (M, R, U), 2 category, 3 both."""
