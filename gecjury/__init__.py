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
    from gecjury.runtime import Runtime
    from gecjury.scoring import METRICS, ScoreTable, load
    from gecjury.scoring.given_scores import scores

__all__ = [
    "METRICS",
    "Corpus",
    "Runtime",
    "ScoreTable",
    "__version__",
    "load",
    "load_benchmark",
    "read_corpus",
    "scores",
]

_HOMES = {
    "Corpus": "gecjury.corpus",
    "METRICS": "gecjury.scoring",
    "Runtime": "gecjury.runtime",
    "ScoreTable": "gecjury.scoring",
    "load": "gecjury.scoring",
    "load_benchmark": "gecjury.benchmarks",
    "read_corpus": "gecjury.corpus",
    "scores": "gecjury.scoring.given_scores",
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, which are not there before their first use, for those who look."""
    return sorted({*globals(), *__all__})
