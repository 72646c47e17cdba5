"""Speed of `gecjury rank`'s tests for CLEME2, judged dependently, and UOT-ERRANT.

    python -m speed ranking --data DIR [--scores DIR]

SEEDA's 15 outputs of all 1,312 sentences of CoNLL-2014, with statistics already computed. One side
computes intervals and tests as `rank` does: 1,000 resampled corpora, and 1,000 permutations of 105
pairs of systems with their complements. The other asks the metric's own rule for every choice of a
reference that earlier sentences can change, in every corpus; it is timed on a share of the
permutations and of the pairs and scaled. The sums of both must be equal to the last digit.
"""

from __future__ import annotations

import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.reading import read_corpus
from gecjury.refbased.edit_metric import BestReference
from gecjury.refbased.references import choose_running
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.system_tests import compare_systems
from gecjury.stats.bootstrap import make_resampled
from gecjury.stats.resampling import Resampling
from speed.harness import Claim, Options, checked, faster, needs
from speed.running import permuted

METRICS = ("cleme2:assumption=dependent", "uot-errant:encoder=embedded")
RESAMPLES, TARGET = 1000, 6.0
_TOGETHER = 15  # pairs of systems at once
_EVERY = 7  # one pair in so many is replayed


def compare(metric: str, corpus: Corpus, scores: Path) -> list[Claim]:
    """Time both sides, and compare their sums."""
    scorer = load(metric)
    assert isinstance(scorer, BestReference)
    table = score_with_files(scorer, corpus, str(scores), Runtime())
    start = time.process_time()
    how = Resampling(over="sentences", resamples=RESAMPLES, permutations=1000)
    compare_systems(scorer, table, "corpus", how, 0)
    ours = time.process_time() - start
    rule = scorer.rule
    values = scorer.counts_at(np.asarray(table.statistics.values, dtype=np.float64), "corpus")
    size, lines = values.shape[:2]
    drawn = make_resampled("sentences", RESAMPLES, lines, size, 0).sentences
    assert drawn is not None
    pairs = list(combinations(range(size), 2))[::_EVERY]
    parts = [pairs[at : at + _TOGETHER] for at in range(0, len(pairs), _TOGETHER)]
    tasks: list[tuple[FloatArray, np.ndarray, float]] = [(values, drawn, 1.0)]
    for part in parts:
        joined = np.stack([np.concatenate([values[one], values[two]]) for one, two in part])
        tasks.append((joined, np.concatenate(permuted(lines)), size * (size - 1) / 2 / len(pairs)))
    theirs, equal = 0.0, True
    for counts, draws, scale in tasks:
        start = time.process_time()
        plain, _ = choose_running(counts, lambda sums, own: rule(sums, own), draws)
        theirs += scale * (time.process_time() - start)
        equal &= bool((plain == choose_running(counts, rule, draws)[0]).all())
    return [
        faster(
            f"rank's intervals and tests, {metric}, {size} × {lines}",
            ours,
            theirs,
            TARGET,
            lines=("seconds of processor time; ours whole, the other side's pairs scaled",),
        ),
        checked(f"{metric}, sums equal", str(equal).lower(), "true", equal, agreement=True),
    ]


def measure(options: Options) -> list[Claim]:
    """Compare both metrics."""
    data = options.need_data()
    needs("torch", "transformers")
    gold = str(data / "conll14/official-2014.combined.m2")
    systems = sorted(map(str, (data / "SEEDA/outputs/all").glob("*.txt")))
    metrics = METRICS
    if options.quick:
        systems, metrics = systems[:3], METRICS[:1]
    corpus = read_corpus(gold, systems, [gold], gold, tokens="space", fold="none")
    with tempfile.TemporaryDirectory() as folder:
        scores = options.scores or Path(folder)
        return [claim for metric in metrics for claim in compare(metric, corpus, scores)]
