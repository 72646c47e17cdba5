"""gecjury: three families of GEC metrics behind one interface, tried against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)

What a command prints, a function gives: `score`, `rank`, `diff`, `attack`, `maege`, `tune`,
`explain`. Each takes sources with hypotheses and references, a corpus, or a benchmark's name
(`maege` and `tune` what they are about), and its result holds everything typed; `rows()` gives
plain records.

ranked = gecjury.rank("sample", ["green", "gleu"])
print(ranked)
pandas.DataFrame(ranked.rows())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gecjury.runtime import __version__

if TYPE_CHECKING:
    from gecjury.benchmarks import load_benchmark
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.language import language_of
    from gecjury.corpus.reading import read_corpus
    from gecjury.corpus.tokens import in_language
    from gecjury.datasets.run import score_dataset
    from gecjury.experiments.attack import AttackSettings, attack
    from gecjury.experiments.explain import explain
    from gecjury.experiments.maege.experiment import MaegeSettings, maege
    from gecjury.experiments.score import score
    from gecjury.experiments.tune import TuneSettings, tune
    from gecjury.metaeval import Comparison
    from gecjury.runtime import Runtime
    from gecjury.scoring import METRICS, ScoreTable, load
    from gecjury.scoring.given_scores import given_scores
    from gecjury.stats.resampling import Resampling
    from gecjury.studies.compare import Compare, compare
    from gecjury.studies.diff import Diff, diff
    from gecjury.studies.rank import Rank, rank

__all__ = [
    "METRICS",
    "AttackSettings",
    "Compare",
    "Comparison",
    "Corpus",
    "Diff",
    "MaegeSettings",
    "Rank",
    "Resampling",
    "Runtime",
    "ScoreTable",
    "TuneSettings",
    "__version__",
    "attack",
    "compare",
    "diff",
    "explain",
    "given_scores",
    "in_language",
    "language_of",
    "load",
    "load_benchmark",
    "maege",
    "rank",
    "read_corpus",
    "score",
    "score_dataset",
    "tune",
]

_HOMES = {
    "AttackSettings": "gecjury.experiments.attack",
    "Compare": "gecjury.studies.compare",
    "Comparison": "gecjury.metaeval",
    "Diff": "gecjury.studies.diff",
    "Corpus": "gecjury.corpus.corpus",
    "METRICS": "gecjury.scoring",
    "MaegeSettings": "gecjury.experiments.maege.experiment",
    "Rank": "gecjury.studies.rank",
    "Resampling": "gecjury.stats.resampling",
    "Runtime": "gecjury.runtime",
    "ScoreTable": "gecjury.scoring",
    "TuneSettings": "gecjury.experiments.tune",
    "attack": "gecjury.experiments.attack",
    "compare": "gecjury.studies.compare",
    "diff": "gecjury.studies.diff",
    "explain": "gecjury.experiments.explain",
    "in_language": "gecjury.corpus.tokens",
    "language_of": "gecjury.corpus.language",
    "load": "gecjury.scoring",
    "load_benchmark": "gecjury.benchmarks",
    "maege": "gecjury.experiments.maege.experiment",
    "rank": "gecjury.studies.rank",
    "read_corpus": "gecjury.corpus.reading",
    "score": "gecjury.experiments.score",
    "score_dataset": "gecjury.datasets.run",
    "given_scores": "gecjury.scoring.given_scores",
    "tune": "gecjury.experiments.tune",
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, which are defined only on first use, for completion."""
    return sorted({*globals(), *__all__})
