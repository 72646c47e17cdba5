"""CLEME2.0 as in the authors' program: its running choice, and BERTScore weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.reading import read_corpus
from gecjury.refbased.cleme.metric import CLEME, CLEME2
from gecjury.refbased.weighing.bertscore import BERTScore
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.registry import load

CPU = Runtime(device="cpu", use_cache=False)
SOURCE = "he go to home yesterday ."
E1 = Edit(1, 2, "went", "R:VERB:TENSE")
E2 = Edit(2, 3, "", "U:PREP")
E3 = Edit(4, 5, "", "U:ADV")


def version(*edits: Edit) -> Version:
    return Version((" ".join(apply_edits(SOURCE.split(), edits)),), (edits,))


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


def test_chunk_weights_are_changes_of_bertscore(tiny_bert: Path) -> None:
    # Hypothesis {E1, E3}; references {E1, E2} (one chunk, because they touch) and {E3}.
    corpus = Corpus((SOURCE,), {"mine": version(E1, E3)}, (version(E1, E2), version(E3)))
    first, second = "he went home yesterday .", "he go to home ."
    texts = (
        SOURCE,
        "he went to home yesterday .",  # the hypothesis' change of the chunk "go to"
        "he go to home .",  # its change of the chunk "yesterday"
    )
    model = BERTScore(str(tiny_bert), rescale=False)

    def moved(reference: str) -> list[float]:
        scores, _ = model.score([(text, reference) for text in texts], CPU)
        return abs(scores[1:] - scores[0]).tolist()

    (go1, yes1), (go2, yes2) = moved(first), moved(second)
    scorer = CLEME2(assumption="dependent", weights="bertscore", model=str(tiny_bert))
    values = scorer.statistics(corpus, CPU).values[0, 0]
    # chunks: he | go to | home | yesterday | . : three that nobody edits
    np.testing.assert_allclose(values[0, :5], [0, go1, yes1, 0, 3], atol=1e-9)
    np.testing.assert_allclose(values[1, :5], [yes2, 0, go2, 0, 3], atol=1e-9)
    np.testing.assert_array_equal(values[:, :5], values[:, 5:10])
    # Independent: one verdict for both references, "go to" wrong (the first edits it), "yesterday"
    # right (the second has it), but separate weights for each reference.
    scorer = CLEME2(weights="bertscore", model=str(tiny_bert))
    statistics = scorer.statistics(corpus, CPU)
    np.testing.assert_allclose(statistics.values[0, 0, 0, :5], [yes1, go1, 0, 0, 3], atol=1e-9)
    np.testing.assert_allclose(statistics.values[0, 0, 1, :5], [yes2, go2, 0, 0, 3], atol=1e-9)
    by_hand = [
        0.35 * y / (y + g) + 0.25 * (1 - g / (y + g)) + 0.2 + 0.2
        for g, y in ((go1, yes1), (go2, yes2))
    ]
    assert scorer.sentence_scores(statistics).score[0, 0] == pytest.approx(max(by_hand))


def test_the_weight_of_a_missed_chunk_comes_from_the_reference(tiny_bert: Path) -> None:
    corpus = Corpus((SOURCE,), {"idle": version()}, (version(E1), version(Edit(1, 2, "goes"))))
    model = BERTScore(str(tiny_bert), rescale=False)
    for assumption in ("dependent", "independent"):
        scorer = CLEME2(assumption=assumption, weights="bertscore", model=str(tiny_bert))
        values = scorer.statistics(corpus, CPU).values[0, 0]
        for row, text in enumerate(("he went to home yesterday .", "he goes to home yesterday .")):
            # The source with its one edit is the reference: BERTScore 1.
            scores, _ = model.score([(SOURCE, text)], CPU)
            assert values[row, 3] == pytest.approx(1 - scores[0], abs=1e-6)


def test_a_change_that_deletes_all_text_has_no_weight(tiny_bert: Path) -> None:
    gone = Version(("",), ((Edit(0, 6, ""),),))
    corpus = Corpus((SOURCE,), {"mine": gone}, (version(E1),))
    scorer = CLEME2(weights="bertscore", model=str(tiny_bert))
    assert scorer.statistics(corpus, CPU).values[0, 0, 0, :5].tolist() == [0, 0, 0, 0, 0]


def test_credit_chooses_the_reference_by_these_weights(tiny_bert: Path) -> None:
    corpus = Corpus((SOURCE,), {"mine": version(E1, E3)}, (version(E2), version(E3)))
    cases = [EditCase(0, SOURCE, ("", ""), edit, (E1, E3), 1.0) for edit in (E1, E3)]
    scorer = CLEME2(assumption="dependent", weights="bertscore", model=str(tiny_bert))
    assert scorer.credit(cases, corpus, CPU).own.tolist() == [0, 1]


def test_conflicting_options_are_refused() -> None:
    with pytest.raises(OptionError, match="model=x does nothing with weights=length"):
        load("cleme2:model=x")
    with pytest.raises(OptionError, match="layer=3 does nothing with weights=length"):
        load("cleme2:layer=3")
    with pytest.raises(OptionError, match="compat=official does nothing with weights=bertscore"):
        load("cleme2:weights=bertscore,compat=official")
    assert load("cleme2:weights=bertscore").bertscore == BERTScore(
        "google-bert/bert-base-uncased", rescale=False
    )


def test_the_signature_names_the_model_if_it_is_used(tiny_bert: Path) -> None:
    weighed = CLEME2(weights="bertscore", model=str(tiny_bert)).extra_signature(CPU)
    assert weighed["model"].startswith(f"{tiny_bert.name}@")
    assert {"torch", "transformers"} <= set(weighed)
    assert set(CLEME2().extra_signature(CPU)) == set(CLEME().extra_signature(CPU))
