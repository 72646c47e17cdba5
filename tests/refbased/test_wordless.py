"""An output without words earns nothing in any metric with references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import differing_spans
from gecjury.corpus.m2 import M2Sentence, m2_annotations
from gecjury.corpus.texts import corpus_of_texts
from gecjury.refbased.errant import ERRANT
from gecjury.scoring.abilities import CountsInParts
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import Scorer

WITH_REFERENCES = [
    name
    for name in METRICS
    if scorer_class(name).needs & {"references", "gold"} and name not in ("jury", "valid")
]
VARIANTS = [
    "errant:mode=span", "errant:mode=token", "errant:compat=official", "gleu:unit=line",
    "green:unit=char", "green:unit=line",
    "cleme:assumption=dependent", "cleme2:assumption=dependent",
]  # fmt: skip
# Some of these make deleting everything look partly right: deletions, one wrong word, a new text.
PAIRS = [
    ("Helo", "Hello"),
    ("I will will will go", "I go"),
    ("Thank you .", "Thank you ."),
    ("He go home now", "She went away"),
    ("", "Hello there"),
    ("a b", "b"),
]


def made(metric: str) -> Scorer:
    """Return the metric with the embedded encoder if it needs one."""
    scorer = load(metric)
    option = "encoder" if hasattr(scorer, "encoder") else "model"
    return load(metric, **{option: "embedded"}) if scorer.loaded_models else scorer


def corpus_of(empty: Sequence[str], pairs: Sequence[tuple[str, str]] = PAIRS) -> Corpus:
    sources, references = zip(*pairs, strict=True)
    gold = [
        M2Sentence(s, m2_annotations(differing_spans(s.split(), r.split()), 0)) for s, r in pairs
    ]
    return corpus_of_texts(sources, {"empty": empty, "copy": sources}, [references], gold)


@pytest.mark.parametrize("metric", [*WITH_REFERENCES, *VARIANTS])
def test_outputs_without_words_score_nothing(metric: str) -> None:
    pytest.importorskip("errant")
    scorer = made(metric)
    # The I-measure ends at −1, below the source's own score of 0.
    lowest = -1.0 if scorer.name == "i-measure" else 0.0
    corpus = corpus_of(["", " "] * (len(PAIRS) // 2))
    table = scorer.score_corpus(corpus, Runtime(use_cache=False))
    assert ((table.sentences[0] >= lowest) & (table.sentences[0] <= 0)).all()
    assert lowest <= table.totals["empty"] <= 0
    draws = np.array([[0, 0, 1, 5, 5, 5]])
    assert lowest <= scorer.corpus_scores(table.statistics, draws).score[0, 0] <= 0
    if isinstance(scorer, CountsInParts) and scorer.by_parts(corpus):
        parts = [scorer.count_part(corpus.take(rows), Runtime()) for rows in ((0, 1), (2, 3, 4, 5))]
        joined = scorer.join_parts(parts, corpus)
        assert scorer.corpus_scores(joined).score[0] == table.totals["empty"]


@pytest.mark.parametrize("metric", [name for name in WITH_REFERENCES if name != "i-measure"])
def test_deleting_what_the_reference_deletes_is_right(metric: str) -> None:
    pytest.importorskip("errant")
    scorer = made(metric)
    table = scorer.score_corpus(corpus_of([""], [("Helo", "")]), Runtime(use_cache=False))
    assert table.sentences[0, 0] > 0.5


def test_types_and_counts_agree() -> None:
    """ERRANT deletes `will will` in both texts: a hit that counts as FP and FN."""
    pytest.importorskip("errant")
    statistics = ERRANT(mode="token").statistics(corpus_of(["", "", "", "", "", ""]), Runtime())
    sums = np.sum(list(statistics.details["by_type"]["empty"].values()), axis=0)
    assert sums.tolist() == statistics.values[0].sum(axis=(0, 1)).tolist()
    assert sums[0] == 0
