"""Metrics that know nothing: the baselines that any real metric has to beat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature


def chance_scores(corpus: Corpus, seed: int = 0) -> Mapping[str, FloatArray]:
    """Return sentence scores, systems × sentences, of three metrics that look at no correction.

    - `constant` scores everything alike;
    - `random` draws scores uniformly, seeded;
    - `copy-source` rewards likeness to the source: F1 of the tokens shared with it, 0 to 1.
    """
    shape = len(corpus.systems), len(corpus)
    return {
        "constant": np.zeros(shape),
        "random": np.random.default_rng(seed).random(shape),
        "copy-source": _likeness_to_source(corpus),
    }


def sentence_table(
    name: str, systems: Sequence[str], sentences: FloatArray, family: str = "chance"
) -> ScoreTable:
    """Return a score table of sentence scores alone, whose means are the corpus scores.

    Args:
        name: the name of the metric.
        systems: S names.
        sentences: S × N.
        family: the family of the metric.
    """
    # Corpus scores are means here, so that no scorer is needed to resample them.
    totals, statistics = Scores(sentences.mean(axis=1)), Statistics(sentences)
    signature = Signature(name, family, {})
    return ScoreTable(tuple(systems), signature, Scores(sentences), totals, statistics, {})


def _likeness_to_source(corpus: Corpus) -> FloatArray:
    sources = [Counter(source.split()) for source in corpus.sources]
    scores = np.empty((len(corpus.systems), len(corpus)))
    versions = [version.lines for version in corpus.systems.values()]
    for column, source in enumerate(sources):
        likeness: dict[str, float] = {}  # systems often agree
        for row, lines in enumerate(versions):
            line = lines[column]
            if line not in likeness:
                tokens = Counter(line.split())
                total = tokens.total() + source.total()
                likeness[line] = 2 * (tokens & source).total() / total if total else 1.0
            scores[row, column] = likeness[line]
    return scores
