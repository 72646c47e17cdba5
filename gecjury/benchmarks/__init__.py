"""Corpora with what people said of them, loaded by name; no metric."""

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.edit_verdicts import HumanVerdict
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.table import BENCHMARKS, View

__all__ = ["BENCHMARKS", "Benchmark", "HumanVerdict", "View", "load_benchmark"]
