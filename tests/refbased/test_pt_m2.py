"""PT-M2: weights are changes of BERTScore, matches are M2's, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.m2 import parse_m2
from gecjury.refbased.bertscore import BERTScore
from gecjury.refbased.pt_m2 import PTM2

pytest.importorskip("torch")

CPU = Runtime(device="cpu", use_cache=False)
SOURCE = "he go to home quite often before yesterday ."
GOLD = f"""S {SOURCE}
A 1 2|||Vt|||went|||REQUIRED|||-NONE-|||0
A 2 3|||Prep||||||REQUIRED|||-NONE-|||0

"""


def corpus(*hypotheses: str) -> Corpus:
    gold = parse_m2(GOLD.split("\n")[:-1])
    systems = {str(n): Version((text,)) for n, text in enumerate(hypotheses)}
    return Corpus((SOURCE,), systems, gold=gold)


def test_by_hand(tiny_bert: Path) -> None:
    # Hypothesis: go→went (gold), yesterday deleted (not gold); "to" is left (missed).
    # correct = w1, proposed = w1 + w3, gold = w1 + w2.
    reference = "he went home quite often before yesterday ."
    texts = [
        "he went to home quite often before yesterday .",
        "he go home quite often before yesterday .",
        "he go to home quite often before .",
    ]
    scores, _ = BERTScore(str(tiny_bert)).score(
        [(text, reference) for text in (SOURCE, *texts)], CPU
    )
    w1, w2, w3 = abs(scores[1:] - scores[0])
    mine = "he went to home quite often before ."
    table = PTM2(model=str(tiny_bert)).score_corpus(corpus(mine, reference, SOURCE), CPU)
    np.testing.assert_allclose(table.statistics.values[0, 0, 0], [w1, w1 + w3, w1 + w2], atol=1e-6)
    expected = 1.25 * w1 / (0.25 * (w1 + w2) + w1 + w3)
    assert table.totals[0] == pytest.approx(expected, abs=1e-5)
    # The reference itself proposes both, as one joined edit or as two: all are correct.
    assert table.precision is not None
    assert table.precision[1] == 1.0
    # The source proposes nothing: precision 1, recall and F 0.
    assert table.totals[2] == 0.0


def test_sentence_without_gold_edits_is_its_own_reference(tiny_bert: Path) -> None:
    # No A line: go→went is wrong and weighs |score(S with it, S) - score(S, S)|; gold is empty.
    mine = "he went to home quite often before yesterday ."
    scores, _ = BERTScore(str(tiny_bert)).score([(SOURCE, SOURCE), (mine, SOURCE)], CPU)
    wrong = abs(scores[1] - scores[0])
    assert wrong > 0
    bare = Corpus((SOURCE,), {"mine": Version((mine,))}, gold=parse_m2([f"S {SOURCE}", ""]))
    table = PTM2(model=str(tiny_bert)).score_corpus(bare, CPU)
    np.testing.assert_allclose(table.statistics.values[0, 0, 0], [0.0, wrong, 0.0], atol=1e-6)
    assert table.totals[0] == 0.0
