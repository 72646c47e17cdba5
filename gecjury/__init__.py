"""gecjury: three families of GEC metrics behind one interface, tested against human judgments.

import gecjury
scorer = gecjury.load("green", beta=2.0)
table = scorer.score(sources, {"mine": hypotheses}, references)
table.sentences, table.totals["mine"], str(table.signature)

These commands are also functions of the same names: `score`, `rank`, `diff`, `alarms`, `pick`,
`power`, `attack`, `maege`, `tune`, `explain`, `compare`, `estimate`. Each accepts data (a corpus, a
benchmark or a benchmark's name; `maege` and `tune` accept their own kind of data), metrics, and the
options of its command as keywords, and returns a `Result` of tables: `rows()` has the records of
the main one. `help(gecjury.rank)` lists the keywords with their values and defaults.

ranked = gecjury.rank("sample", ["green", "gleu"], aggregate="mean")
print(ranked)
pandas.DataFrame(ranked.rows())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gecjury.core.runtime import __version__

if TYPE_CHECKING:
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.files.reading import read_corpus
    from gecjury.corpus.texts import corpus_of_texts
    from gecjury.datasets.run import score_dataset
    from gecjury.integrations.reward import reward
    from gecjury.metaeval import Comparison
    from gecjury.scoring import METRICS, ScoreTable, load
    from gecjury.scoring.given_scores import given_scores
    from gecjury.stats.resampling import Resampling
    from gecjury.studies.attack.study import Attack, attack
    from gecjury.studies.compare import Compare, compare
    from gecjury.studies.estimate.study import Estimate, estimate
    from gecjury.studies.explain import Explain, explain
    from gecjury.studies.maege.study import Maege, maege
    from gecjury.studies.pick.study import Pick, pick
    from gecjury.studies.power.study import Power, power
    from gecjury.studies.systems.alarms import Alarms, alarms
    from gecjury.studies.systems.diff.study import Diff, diff
    from gecjury.studies.systems.rank import Rank, rank
    from gecjury.studies.systems.score import Score, score
    from gecjury.studies.tune.study import Tune, tune

__all__ = [
    "METRICS",
    "Alarms",
    "Attack",
    "Compare",
    "Comparison",
    "Corpus",
    "Diff",
    "Estimate",
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
    "alarms",
    "attack",
    "compare",
    "corpus_of_texts",
    "diff",
    "estimate",
    "explain",
    "given_scores",
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
    name: module
    for module, names in {
        "gecjury.benchmarks.load": ("load_benchmark",),
        "gecjury.corpus.corpus": ("Corpus",),
        "gecjury.corpus.texts": ("corpus_of_texts",),
        "gecjury.corpus.files.reading": ("read_corpus",),
        "gecjury.datasets.run": ("score_dataset",),
        "gecjury.metaeval": ("Comparison",),
        "gecjury.integrations.reward": ("reward",),
        "gecjury.core.runtime": ("Runtime",),
        "gecjury.scoring": ("METRICS", "ScoreTable", "load"),
        "gecjury.scoring.given_scores": ("given_scores",),
        "gecjury.stats.resampling": ("Resampling",),
        "gecjury.studies.systems.alarms": ("Alarms", "alarms"),
        "gecjury.studies.attack.study": ("Attack", "attack"),
        "gecjury.studies.compare": ("Compare", "compare"),
        "gecjury.studies.systems.diff.study": ("Diff", "diff"),
        "gecjury.studies.estimate.study": ("Estimate", "estimate"),
        "gecjury.studies.explain": ("Explain", "explain"),
        "gecjury.studies.maege.study": ("Maege", "maege"),
        "gecjury.studies.pick.study": ("Pick", "pick"),
        "gecjury.studies.power.study": ("Power", "power"),
        "gecjury.studies.systems.rank": ("Rank", "rank"),
        "gecjury.studies.systems.score": ("Score", "score"),
        "gecjury.studies.tune.study": ("Tune", "tune"),
    }.items()
    for name in names
}


def __getattr__(name: str) -> object:
    """Import public names on first use, so that `gecjury --help` does not wait for numpy."""
    if name not in _HOMES:
        raise AttributeError(f"module 'gecjury' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """Return the public names, which are defined only on first use, for completion."""
    return sorted({*globals(), *__all__})
