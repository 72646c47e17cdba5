"""Speed of `gecjury rank`'s tests for metrics that choose references by a running count.

    python -m speed running --data DIR [--scores DIR]

SEEDA's 15 outputs of all 1,312 sentences of CoNLL-2014: 1,001 permutations (the observed one among
them) of 105 pairs of systems, and their complements. One side is `choose_running`; the other
replays the corpora sentence by sentence by the same rule, all of them side by side, which is timed
on a share of the permutations and scaled. The sums of both must be equal to the last digit.
"""

from __future__ import annotations

import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.reading import read_corpus
from gecjury.refbased.cleme.metric import CLEME
from gecjury.refbased.errant import ERRANT
from gecjury.refbased.m2.metric import M2
from gecjury.refbased.references import FirstBest, choose_best, choose_running
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.stats.permutation import permutation_signs
from speed.harness import Claim, Options, checked, faster

METRICS = ("errant", "m2", "cleme:assumption=dependent")
PERMUTATIONS = 1000
TARGET = 10.0
SHARE = 0.1  # of the permutations, replayed
_ROWS = 20_000  # (corpus, system) pairs side by side
_TOGETHER = 15  # pairs of systems at once


def replay(values: FloatArray, rule: FirstBest, draws: IntArray) -> FloatArray:
    """Return sums of counts, B × S × K, with every reference chosen by the rule itself."""
    size = max(1, _ROWS // len(values))
    parts = [_replay(values, rule, draws[i : i + size]) for i in range(0, len(draws), size)]
    return np.concatenate(parts)


def _replay(values: FloatArray, rule: FirstBest, order: IntArray) -> FloatArray:
    cells = values.swapaxes(0, 1)
    usable = np.asarray(~np.isnan(cells[..., 0]))
    cells = np.nan_to_num(cells)
    totals = np.zeros((len(order), values.shape[0], values.shape[3]))
    for at in order.T:
        own, may = cells[at], usable[at]
        best = choose_best(rule(totals[:, :, None] + own, own), may)
        taken = np.take_along_axis(own, best[..., None, None], axis=2)[:, :, 0]
        totals += np.where(np.asarray(may.any(axis=-1))[..., None], taken, 0.0)
    return totals


def permuted(lines: int) -> tuple[IntArray, IntArray]:
    """Return draws from two concatenated systems: permutations and their complements."""
    signs, _ = permutation_signs(lines, PERMUTATIONS, 0)
    kept = np.concatenate([np.zeros((1, lines), np.int64), np.where(signs < 0, lines, 0)])
    return np.arange(lines) + kept, np.arange(lines) + lines - kept


def counts_of(metric: str, corpus: Corpus, scores: Path) -> tuple[FloatArray, FirstBest]:
    """Return the counts of the metric and its rule of choice."""
    scorer = load(metric)
    table = score_with_files(scorer, corpus, str(scores), Runtime())
    assert isinstance(scorer, ERRANT | M2 | CLEME)
    values = np.asarray(table.statistics.values, dtype=np.float64)
    return values[..., :5] if isinstance(scorer, CLEME) else values, scorer.rule


def compare(metric: str, corpus: Corpus, scores: Path, share: float) -> list[Claim]:
    """Time both sides, and compare their sums."""
    values, rule = counts_of(metric, corpus, scores)
    kept, swapped = permuted(values.shape[1])
    draws = np.concatenate([kept, swapped])
    some = max(1, round(share * len(kept)))
    sample = np.r_[:some, len(kept) : len(kept) + some]
    pairs = list(combinations(range(len(values)), 2))
    ours = theirs = 0.0
    equal = True
    for start in range(0, len(pairs), _TOGETHER):
        part = pairs[start : start + _TOGETHER]
        joined = np.stack([np.concatenate([values[one], values[two]]) for one, two in part])
        begin = time.process_time()
        found, _ = choose_running(joined, rule, draws)
        between = time.process_time()
        plain = replay(joined, rule, draws[sample])
        theirs += time.process_time() - between
        ours += between - begin
        equal &= bool((found[sample] == plain).all())
    theirs *= len(draws) / len(sample)
    what = f"{metric}, references chosen by running counts, {len(pairs)} pairs of systems"
    return [
        faster(what, ours, theirs, TARGET, lines=("seconds of processor time, replay scaled",)),
        checked(f"{metric}, sums equal", str(equal).lower(), "true", equal, agreement=True),
    ]


def measure(options: Options) -> list[Claim]:
    """Compare every metric that chooses by running counts."""
    data = options.need_data()
    gold = str(data / "conll14/official-2014.combined.m2")
    systems = sorted(map(str, (data / "SEEDA/outputs/all").glob("*.txt")))
    metrics, share = METRICS, SHARE
    if options.quick:
        systems, metrics, share = systems[:2], ("m2",), 0.002
    corpus = read_corpus(gold, systems, [gold], gold, tokens="space", fold="none")
    with tempfile.TemporaryDirectory() as folder:
        scores = options.scores or Path(folder)
        return [claim for metric in metrics for claim in compare(metric, corpus, scores, share)]
