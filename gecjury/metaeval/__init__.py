"""Metrics against people: score tables and a benchmark in, a typed comparison out."""

from gecjury.metaeval.comparison import compare
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings

__all__ = ["Comparison", "Settings", "compare"]
