"""gecjury: three families of GEC metrics behind one interface, tried against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)

What a command prints, a function gives: `score`, `rank`, `diff`, `pick`, `power`, `attack`,
`maege`, `tune`, `explain`, `compare`. Each takes data (a corpus, a benchmark or a benchmark's name;
`maege` and `tune` what they are about), metrics and settings, and gives a `Result` of tables:
`rows()` has the records of the main one.

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
    from gecjury.corpus.corpus import Corpus, corpus_of_texts
    from gecjury.corpus.language import language_of
    from gecjury.corpus.reading import read_corpus
    from gecjury.corpus.tokens import in_language
    from gecjury.datasets.run import score_dataset
    from gecjury.metaeval import Comparison
    from gecjury.rewards.reward import reward
    from gecjury.runtime import Runtime
    from gecjury.scoring import METRICS, ScoreTable, load
    from gecjury.scoring.given_scores import given_scores
    from gecjury.stats.resampling import Resampling
    from gecjury.studies.attack import Attack, attack
    from gecjury.studies.compare import Compare, compare
    from gecjury.studies.diff import Diff, diff
    from gecjury.studies.explain import Explain, explain
    from gecjury.studies.maege.study import Maege, maege
    from gecjury.studies.pick import Pick, pick
    from gecjury.studies.power import Power, power
    from gecjury.studies.rank import Rank, rank
    from gecjury.studies.score import Score, score
    from gecjury.studies.tune.study import Tune, tune

__all__ = [
    "METRICS",
    "Attack",
    "Compare",
    "Comparison",
    "Corpus",
    "Diff",
    "Explain",
    "Maege",
    "Pick",
    "Power",
    "Rank",
    "Resampling",
    "Runtime",
    "Score",
    "ScoreTable",
    "Tune",
    "__version__",
    "attack",
    "compare",
    "corpus_of_texts",
    "diff",
    "explain",
    "given_scores",
    "in_language",
    "language_of",
    "load",
    "load_benchmark",
    "maege",
    "pick",
    "power",
    "rank",
    "read_corpus",
    "reward",
    "score",
    "score_dataset",
    "tune",
]

_HOMES = {
    "Attack": "gecjury.studies.attack",
    "Compare": "gecjury.studies.compare",
    "Comparison": "gecjury.metaeval",
    "Diff": "gecjury.studies.diff",
    "Corpus": "gecjury.corpus.corpus",
    "Explain": "gecjury.studies.explain",
    "METRICS": "gecjury.scoring",
    "Maege": "gecjury.studies.maege.study",
    "Pick": "gecjury.studies.pick",
    "Power": "gecjury.studies.power",
    "Rank": "gecjury.studies.rank",
    "Resampling": "gecjury.stats.resampling",
    "Runtime": "gecjury.runtime",
    "Score": "gecjury.studies.score",
    "ScoreTable": "gecjury.scoring",
    "Tune": "gecjury.studies.tune.study",
    "attack": "gecjury.studies.attack",
    "compare": "gecjury.studies.compare",
    "corpus_of_texts": "gecjury.corpus.corpus",
    "diff": "gecjury.studies.diff",
    "in_language": "gecjury.corpus.tokens",
    "language_of": "gecjury.corpus.language",
    "explain": "gecjury.studies.explain",
    "load": "gecjury.scoring",
    "load_benchmark": "gecjury.benchmarks",
    "maege": "gecjury.studies.maege.study",
    "pick": "gecjury.studies.pick",
    "power": "gecjury.studies.power",
    "rank": "gecjury.studies.rank",
    "read_corpus": "gecjury.corpus.reading",
    "score": "gecjury.studies.score",
    "reward": "gecjury.rewards.reward",
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
    """Return the public names, which are defined only on first use, for completion."""
    return sorted({*globals(), *__all__})
