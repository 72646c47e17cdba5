"""Corpora with human judgments, loaded by name; this package contains no metrics.

Example:
    >>> from gecjury import load_benchmark
    >>> sample = load_benchmark("sample")
    >>> sample.corpus.names
    ('careful', 'cautious', 'fluent', 'hasty', 'noisy', 'spelling')
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.edit_verdicts import HumanVerdict
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.benchmarks.table import BENCHMARKS, View

_HOMES = {
    "BENCHMARKS": "table",
    "Benchmark": "benchmark",
    "HumanVerdict": "edit_verdicts",
    "View": "table",
    "load_benchmark": "load",
}
__all__ = ["BENCHMARKS", "Benchmark", "HumanVerdict", "View", "load_benchmark"]


def __getattr__(name: str) -> object:
    """Import public names on first use: metrics over edits need only one module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury.benchmarks' has no attribute {name!r}")
    return getattr(import_module(f"gecjury.benchmarks.{_HOMES[name]}"), name)
