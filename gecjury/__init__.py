"""gecjury: three families of GEC metrics behind one interface, tried against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)

What a command prints, a function gives: `score`, `rank`, `diff`, `attack`, `maege`, `tune`,
`explain`. Each takes texts or a benchmark's name (`maege` M2 files), the metrics and its settings;
its result holds tables, whose records `rows()` gives.

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
    from gecjury.experiments.score import score
    from gecjury.metaeval import Comparison
    from gecjury.runtime import Runtime
    from gecjury.scoring import METRICS, ScoreTable, load
    from gecjury.scoring.given_scores import given_scores
    from gecjury.stats.resampling import Resampling
    from gecjury.studies.compare import Compare, compare
    from gecjury.studies.diff import Diff, diff
    from gecjury.studies.maege.study import Maege, maege
    from gecjury.studies.rank import Rank, rank
    from gecjury.studies.tune.study import Tune, tune

__all__ = [
    "METRICS",
    "AttackSettings",
    "Compare",
    "Comparison",
    "Corpus",
    "Diff",
    "Maege",
    "Rank",
    "Resampling",
    "Runtime",
    "ScoreTable",
    "Tune",
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
    "Maege": "gecjury.studies.maege.study",
    "Rank": "gecjury.studies.rank",
    "Resampling": "gecjury.stats.resampling",
    "Runtime": "gecjury.runtime",
    "ScoreTable": "gecjury.scoring",
    "Tune": "gecjury.studies.tune.study",
    "attack": "gecjury.experiments.attack",
    "compare": "gecjury.studies.compare",
    "diff": "gecjury.studies.diff",
    "explain": "gecjury.experiments.explain",
    "in_language": "gecjury.corpus.tokens",
    "language_of": "gecjury.corpus.language",
    "load": "gecjury.scoring",
    "load_benchmark": "gecjury.benchmarks",
    "maege": "gecjury.studies.maege.study",
    "rank": "gecjury.studies.rank",
    "read_corpus": "gecjury.corpus.reading",
    "score": "gecjury.experiments.score",
    "score_dataset": "gecjury.datasets.run",
    "given_scores": "gecjury.scoring.given_scores",
    "tune": "gecjury.studies.tune.study",
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, which are not there before their first use, for those who look."""
    return sorted({*globals(), *__all__})
