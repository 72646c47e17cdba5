"""Human pairs of a benchmark with the scores that a jury's members give to both sides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.leakage import sentence_key
from gecjury.jury.metric import member_scores
from gecjury.jury.model import Member


@dataclass(frozen=True)
class TrainingPairs:
    """Decided human pairs of one benchmark with the members' scores of both sides.

    Attributes:
        name: the benchmark.
        preferred: scores of the preferred corrections, pairs × members; NaN = no score.
        other: scores of the others.
        sources: for each pair the hash of its source, see `gecjury.corpus.leakage.sentence_key`.
        record: counts, as JSON values.
    """

    name: str
    preferred: FloatArray
    other: FloatArray
    sources: tuple[str, ...]
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gaps(self) -> FloatArray:
        """Preferred minus other, pairs × members."""
        return self.preferred - self.other


def collect_pairs(
    benchmark: Benchmark,
    members: Sequence[Member],
    view: View,
    excluded: Collection[str],
    runtime: Runtime,
) -> TrainingPairs:
    """Score a benchmark with every member, and collect people's decisions on its systems.

    Every two distinct corrections that an annotator ranked are one pair; ties are left out. A
    member that needs what the benchmark lacks (references, or a set of that name) has no scores
    there.

    Args:
        benchmark: corpus and judgments.
        members: the metrics.
        view: which judgments.
        excluded: hashes of sources that must not be trained on.
        runtime: device, workers, folder of score files.

    Raises:
        InputError: no decided pair is left.
    """
    corpus = benchmark.corpus
    pairs = expand_pairs(benchmark.rankings.get(view, ()), corpus.names, "unexpanded")
    keys = np.array([sentence_key(source) for source in corpus.sources])
    trainable = ~np.isin(keys, list(excluded))
    # A tie does not say which scores are better, and the loss uses nothing else.
    decided = pairs.preference != 0
    used = pairs.select(decided & trainable[pairs.sentence])
    if not len(used):
        raise InputError(
            f"{benchmark.name}: no decided pair of corrections is left to train on "
            f"({len(pairs)} pairs, {int((~decided).sum())} ties, "
            f"{int((decided & ~trainable[pairs.sentence]).sum())} on excluded sources)"
        )
    # The corpus is scored as a whole, not pair by pair: it has more pairs than sentences.
    scores, absent = scores_of(corpus, members, runtime)
    first, second = (scores[:, side, used.sentence].T for side in (used.first, used.second))
    # Every pair is stored with the better one first, so that training needs no labels.
    wins = (used.preference > 0)[:, None]
    judged = np.unique(pairs.sentence)
    record: dict[str, Any] = {
        "benchmark": benchmark.name,
        "human": view,
        "fingerprint": benchmark.fingerprint,
        "pairs": len(used),
        "sources": len(np.unique(used.sentence)),
        "ties": int((~decided & trainable[pairs.sentence]).sum()),
        "excluded_sources": int((~trainable[judged]).sum()),
        "excluded_pairs": int((decided & ~trainable[pairs.sentence]).sum()),
        "absent": absent,
    }
    if corpus.language.code != "en":
        record["language"] = corpus.language.code
    return TrainingPairs(
        benchmark.name,
        np.where(wins, first, second),
        np.where(wins, second, first),
        tuple(keys[used.sentence].tolist()),
        record,
    )


def scores_of(
    corpus: Corpus, members: Sequence[Member], runtime: Runtime
) -> tuple[FloatArray, dict[str, str]]:
    """Return the members' sentence scores, members × systems × sentences, and why one has none.

    Args:
        corpus: texts; no judgments are needed.
        members: the metrics; the row of one that cannot score the corpus is NaN.
        runtime: device, workers, folder of score files.
    """
    scores = np.full((len(members), len(corpus.systems), len(corpus)), np.nan)
    absent: dict[str, str] = {}
    for row, member in enumerate(members):
        scorer = member.scorer()
        try:
            scorer.check(member.corpus(corpus))
        except InputError as error:
            absent[member.label] = str(error)
            continue
        scores[row] = member_scores(member, scorer, corpus, runtime).sentences
    return scores, absent
