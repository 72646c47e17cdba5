"""PT-ERRANT: weights are changes of BERTScore, counts are ERRANT's, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.bertscore import BERTScore
from gecjury.refbased.pt_errant import PTERRANT
from gecjury.scoring.registry import load

pytest.importorskip("torch")

CPU = Runtime(device="cpu", use_cache=False)
SOURCE = "he go to home yesterday ."
E1 = Edit(1, 2, "went", "R:VERB:TENSE")
E2 = Edit(2, 3, "", "U:PREP")
E3 = Edit(4, 5, "", "U:ADV")


def version(*edits: Edit) -> Version:
    return Version((" ".join(apply_edits(SOURCE.split(), edits)),), (edits,))


def test_by_hand(tiny_bert: Path) -> None:
    # Hypothesis {E1, E3}, reference {E1, E2}: TP = w1, FP = w3, FN = w2, with
    # w = |BERTScore(S with the edit alone, R) − BERTScore(S, R)| and R = S with E1 and E2.
    reference = "he went home yesterday ."
    texts = ["he went to home yesterday .", "he go home yesterday .", "he go to home ."]
    scores, _ = BERTScore(str(tiny_bert)).score(
        [(text, reference) for text in (SOURCE, *texts)], CPU
    )
    w1, w2, w3 = abs(scores[1:] - scores[0])
    corpus = Corpus((SOURCE,), {"mine": version(E1, E3)}, (version(E1, E2),))
    scorer = PTERRANT(model=str(tiny_bert))
    statistics = scorer.statistics(corpus, CPU)
    np.testing.assert_allclose(statistics.values[0, 0, 0], [w1, w3, w2], atol=1e-9)
    p, r = w1 / (w1 + w3), w1 / (w1 + w2)
    expected = 1.25 * p * r / (0.25 * p + r)
    assert scorer.sentence_scores(statistics).score[0, 0] == pytest.approx(expected)
    assert scorer.corpus_scores(statistics).score[0] == pytest.approx(expected)
    types = statistics.details["by_type"]["mine"]
    assert types["R:VERB:TENSE"] == pytest.approx([w1, 0, 0])
    assert types["U:ADV"] == pytest.approx([0, w3, 0])
    assert types["U:PREP"] == pytest.approx([0, 0, w2])


def test_edge_cases(tiny_bert: Path) -> None:
    scorer = PTERRANT(model=str(tiny_bert))

    def score(mine: Version, *references: Version) -> float:
        statistics = scorer.statistics(Corpus((SOURCE,), {"mine": mine}, references), CPU)
        return float(scorer.sentence_scores(statistics).score[0, 0])

    assert score(version(), version()) == 1
    assert score(version(), version(E1)) == 0
    assert score(version(E1), version()) == 0
    assert score(version(E1, E2), version(E1, E2)) == 1
    # The score is that of the best reference.
    assert score(version(E1), version(E3), version(E1)) == 1


def test_weights_belong_to_their_reference(tiny_bert: Path) -> None:
    corpus = Corpus((SOURCE,), {"mine": version(E1)}, (version(E1, E2), version(E1, E3)))
    values = PTERRANT(model=str(tiny_bert)).statistics(corpus, CPU).values[0, 0]
    assert values[0, 0] != pytest.approx(values[1, 0], rel=1e-6)


def test_models_of_the_weights() -> None:
    assert load("pt-errant").weight_model == BERTScore("google-bert/bert-base-uncased")


def test_truncated_texts_are_noted(tiny_bert: Path) -> None:
    long = " ".join(["home"] * 600)
    corpus = Corpus((long,), {"mine": Version((long,), ((E1,),))}, (Version((long,), ((E2,),)),))
    scorer = PTERRANT(model=str(tiny_bert))
    notes = scorer.statistics(corpus, CPU).notes
    assert any(note.startswith("BERTScore: 3 texts are longer") for note in notes)
