"""Sums over parts of a corpus give the scores of the whole, for every metric in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.abilities import HasParts, Sums, adds_up, part_names
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Scores, Statistics

ROWS, SYSTEMS = 37, 2


def counts(*shape: int, most: int = 4) -> Any:
    return np.random.default_rng(1).integers(0, most, (SYSTEMS, ROWS, *shape))


def shares(*shape: int) -> Any:
    values = np.random.default_rng(2).random((SYSTEMS, ROWS, *shape))
    values[0, 3] = values[1, 7] = np.nan
    return values


# Statistics as each metric lays them out, with one reference and with three.
LAYOUTS: dict[str, tuple[str, Any, Any]] = {
    "asano": ("asano", shares(3), None),
    "changes": ("changes", shares(), None),
    "cleme": ("cleme:assumption=dependent", counts(1, 10), counts(3, 10)),
    "cleme2": ("cleme2:assumption=dependent", counts(1, 11), counts(3, 11)),
    "edit-verdict": ("edit-verdict", shares(2), None),
    "errant": ("errant", counts(1, 3), counts(3, 3)),
    "fluency": ("fluency", shares(), None),
    "gleu": ("gleu", counts(1, 10), counts(3, 10)),
    "gleu-official": ("gleu-official", counts(1, 10), counts(3, 10)),
    "green": ("green", counts(1, 13), counts(3, 13)),
    "i-measure": ("i-measure", counts(8) - (counts(8) == 3), None),
    "impara": ("impara", shares(), None),
    "llm-e": ("llm-e", shares(), None),
    "llm-s": ("llm-s", shares(), None),
    "m2": ("m2", counts(1, 3), counts(3, 3)),
    "pt-errant": ("pt-errant", shares(1, 3), shares(3, 3)),
    "pt-m2": ("pt-m2", shares(1, 3), shares(3, 3)),
    "scribendi": ("scribendi", counts(most=3) - 1.0, None),
    "sent-errant": ("sent-errant", counts(1, 3), counts(3, 3)),
    "sentm2": ("sentm2", counts(1, 3), counts(3, 3)),
    "some": ("some", shares(3), None),
    "uot-errant": ("uot-errant", shares(1, 3), shares(3, 3)),
}
REFUSED = {"gotoscorer": "gotoscorer", "scores": "scores", "jury": "jury:equal=gotoscorer+changes"}
# These choose a reference in each sentence, so that sums also work with several references.
SEVERAL = {"green", "sent-errant", "sentm2"}


def summed(scorer: Sums, values: Any) -> FloatArray:
    """Totals of three parts of unequal size."""
    parts = ((0, 1), (1, 20), (20, ROWS))
    totals = [scorer.totals(Statistics(values[:, begin:end])) for begin, end in parts]
    return totals[0] + totals[1] + totals[2]


def assert_equal(mine: Scores, whole: Scores) -> None:
    for own, other in (
        (mine.score, whole.score),
        (mine.precision, whole.precision),
        (mine.recall, whole.recall),
    ):
        assert (own is None) == (other is None)
        if own is not None and other is not None:
            assert not np.isnan(own).any()
            np.testing.assert_allclose(own, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", LAYOUTS)
def test_parts_add_up_to_the_corpus(name: str) -> None:
    text, one, several = LAYOUTS[name]
    scorer = load(text)
    assert isinstance(scorer, Sums)
    for values, references in ((one, 1), (several, 3)):
        if values is None:
            continue
        if values is several and name not in SEVERAL:
            # The choice of references depends on the whole corpus.
            assert not adds_up(scorer, references)
            continue
        assert adds_up(scorer, references)
        total = scorer.total_scores(summed(scorer, values))
        assert_equal(total, scorer.corpus_scores(Statistics(values)))


@pytest.mark.parametrize("name", LAYOUTS)
def test_parts_have_the_declared_names(name: str) -> None:
    text, one, _ = LAYOUTS[name]
    scorer = load(text)
    scores = scorer.sentence_scores(Statistics(one))
    parts = scorer.parts(Statistics(one), scores) if isinstance(scorer, HasParts) else {}
    assert tuple(parts) == part_names(scorer)
    assert all(part.shape == (SYSTEMS, ROWS) for part in parts.values())


def test_metrics_that_need_the_whole_corpus_say_so() -> None:
    for text in REFUSED.values():
        assert load(text).needs_all()
    assert "gold" in load("m2").needs_all()
    assert not load("llm-s").needs_all()  # groups depend only on the texts
    assert "neighbours" in load("llm-s:context=neighbours").needs_all()
    for name in set(LAYOUTS) - {"m2", "pt-m2", "sentm2"}:
        assert load(name).needs_all() == ""


def test_an_outside_metric_without_totals_cannot_be_summed() -> None:
    @dataclass(frozen=True)
    class Plain(Scorer):
        name: ClassVar[str] = "plain"
        family: ClassVar[str] = "refless"

        def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
            raise AssertionError

        def sentence_scores(self, statistics: Statistics) -> Scores:
            return Scores(statistics.values)

        def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
            return Scores(statistics.values.max(axis=1))

    assert not adds_up(Plain(), 1)
