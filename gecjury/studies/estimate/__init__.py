"""Estimate system quality from people's labels of a few outputs and a metric's scores of all."""

from gecjury.studies.estimate.study import Estimate, estimate

__all__ = ["Estimate", "estimate"]
