"""gecjury: three families of GEC metrics behind one interface, tried against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.reading import read_corpus
    from gecjury.runtime import Runtime
    from gecjury.scoring.registry import load
    from gecjury.scoring.scores import ScoreTable

__all__ = [
    "Corpus",
    "Runtime",
    "ScoreTable",
    "__version__",
    "load",
    "load_benchmark",
    "read_corpus",
]

__version__ = "0.1.0"

_HOMES = {
    "Corpus": "gecjury.corpus.corpus",
    "Runtime": "gecjury.runtime",
    "ScoreTable": "gecjury.scoring.scores",
    "load": "gecjury.scoring.registry",
    "load_benchmark": "gecjury.benchmarks.benchmark",
    "read_corpus": "gecjury.corpus.corpus",
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, which are not there before their first use, for those who look."""
    return sorted({*globals(), *__all__})
