"""The quality of systems by people's labels of few outputs and a metric's scores of all."""

from gecjury.studies.estimate.study import Estimate, estimate

__all__ = ["Estimate", "estimate"]
