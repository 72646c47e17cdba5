"""Metrics against people: score tables and a benchmark in, a typed comparison out."""

from gecjury.metaeval.comparison import compare
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.stats.resampling import Resampling

__all__ = ["Comparison", "Resampling", "Settings", "compare"]
