"""gecjury: three families of GEC metrics behind one interface, tried against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gecjury.version import __version__

if TYPE_CHECKING:
    from gecjury.benchmarks import load_benchmark
    from gecjury.corpus import Corpus, read_corpus
    from gecjury.metaeval import Comparison, Resampling, Settings, compare
    from gecjury.runtime import Runtime
    from gecjury.scoring import METRICS, ScoreTable, load

__all__ = [
    "METRICS",
    "Comparison",
    "Corpus",
    "Resampling",
    "Runtime",
    "ScoreTable",
    "Settings",
    "__version__",
    "compare",
    "load",
    "load_benchmark",
    "read_corpus",
]

_HOMES = {
    "Comparison": "gecjury.metaeval",
    "Corpus": "gecjury.corpus",
    "METRICS": "gecjury.scoring",
    "Resampling": "gecjury.metaeval",
    "Runtime": "gecjury.runtime",
    "ScoreTable": "gecjury.scoring",
    "Settings": "gecjury.metaeval",
    "compare": "gecjury.metaeval",
    "load": "gecjury.scoring",
    "load_benchmark": "gecjury.benchmarks",
    "read_corpus": "gecjury.corpus",
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, which are not there before their first use, for those who look."""
    return sorted({*globals(), *__all__})
