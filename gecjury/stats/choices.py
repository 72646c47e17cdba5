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

AttributionMethod = Literal["remove", "add", "shapley"]
"""Ways to divide a score among edits; see `gecjury.metaeval.edits.attribution`."""

PowerSubject = Literal["scores", "judgments", "accuracy", "pearson"]
"""Kinds of differences to detect: two systems by a metric's scores, or by people's judgments; two
metrics by the accuracy of their sentence scores, or by their correlation over systems."""

FEWEST_LABELS = 10
"""The smallest number of labelled sources for which an interval is computed."""
