"""CLEME2.0 as in the authors' program: its running choice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.files.reading import read_corpus
from gecjury.refbased.cleme.metric import CLEME2


def plain_score(counts: np.ndarray) -> tuple[float, np.ndarray]:
    """Return CLEME2.0's corpus score of one system (sentences × references × 5), written out.

    As in THUKElab/CLEME, a sentence takes the reference with the highest unrounded score of
    everything so far, then more tp, fewer fp, fewer fn, more tn.
    """

    def score(tp: float, needed: float, needless: float, fn: float) -> float:
        wanted, made = tp + needed + fn, tp + needed + needless
        hit, wrong, under = (x / wanted if wanted else 0.0 for x in (tp, needed, fn))
        over = needless / made if made else 0.0
        return 0.45 * hit + 0.35 * (1 - wrong) + 0.15 * (1 - under) + 0.05 * (1 - over)

    total = np.zeros(5)
    for sentence in counts:
        keys = {}
        for own in sentence[~np.isnan(sentence[:, 0])]:
            tp, needed, needless, fn, tn = own
            rank = (score(*(total + own)[:4]), tp, -needed - needless, -fn, tn)
            keys.setdefault(rank, own)
        total = total + keys[max(keys)]
    return score(*total[:4]), total


@pytest.mark.slow
def test_the_running_score_of_cleme2_is_not_rounded(data_dir: Path) -> None:
    folder = data_dir / "conll14-errant"
    gold = folder / "conll14.errant"
    data = read_corpus(gold, [folder / "conll14-CAMB.errant"], [gold])
    # Whether both levels use the same weights (official) or not, the corpus score is the same.
    for compat in ("official", "gecjury"):
        scorer = CLEME2(assumption="dependent", compat=compat)
        statistics = scorer.statistics(data, Runtime())
        expected, _ = plain_score(statistics.values[0, ..., :5])
        # With F rounded to four digits, as in CLEME's program, this would be .48648.
        assert expected == pytest.approx(0.4867269, abs=1e-7)
        assert scorer.corpus_scores(statistics).score[0] == pytest.approx(expected, abs=1e-12)
