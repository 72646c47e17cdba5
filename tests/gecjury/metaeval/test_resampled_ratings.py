"""Correlations with ratings of resampled corpora equal those of corpora written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.arrays import draw_weights
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.ratings import rated_points


def made(ratings: np.ndarray, texts: list[list[str]]) -> Benchmark:
    corpus = Corpus(
        tuple("s" for _ in texts[0]),
        {f"system {i}": Version(tuple(lines)) for i, lines in enumerate(texts)},
    )
    rows = tuple(range(len(corpus)))
    human = {"sentence": {"mean": {}}}
    return Benchmark(
        name="b",
        corpus=corpus,
        rankings={},
        human=human,
        view="sentence",
        systems="all",
        system_sets={},
        references="",
        sentence_ids=rows,
        citation="",
        segment_scores=ratings,
    )


def test_every_draw_is_the_corpus_written_out() -> None:
    rng = np.random.default_rng(3)
    systems, sentences = 4, 12
    ratings = rng.integers(1, 5, (systems, sentences)).astype(float)
    scores = rng.integers(0, 6, (systems, sentences)).astype(float)
    ratings[rng.random(ratings.shape) < 0.15] = np.nan
    scores[rng.random(scores.shape) < 0.15] = np.nan
    texts = [[f"{rng.integers(3)}" for _ in range(sentences)] for _ in range(systems)]
    draws = rng.integers(sentences, size=(25, sentences))
    points = rated_points(made(ratings, texts).corpus, ratings, scores)
    drawn = points.resampled(draw_weights(draws, sentences))
    for number, lines in enumerate(draws):
        whole = made(ratings[:, lines], [[row[i] for i in lines] for row in texts])
        points = rated_points(whole.corpus, ratings[:, lines], scores[:, lines])
        wanted = points.agreement("rating", np.zeros(systems))
        for name in ("pearson", "spearman", "within"):
            assert drawn[name][number] == pytest.approx(
                getattr(wanted, name), abs=1e-12, nan_ok=True
            )


def test_a_draw_without_variation_has_no_value() -> None:
    ratings = np.array([[1.0, 3.0], [1.0, 2.0]])
    corpus = made(ratings, [["a", "a"], ["b", "b"]]).corpus
    scores = np.array([[0.1, 0.4], [0.2, 0.3]])
    points = rated_points(corpus, ratings, scores)
    drawn = points.resampled(np.array([[2.0, 0.0], [0.0, 2.0]]))
    for values in drawn.values():
        assert math.isnan(values[0])
        assert values[1] == pytest.approx(1.0)
