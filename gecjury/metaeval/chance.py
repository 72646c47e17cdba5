"""Chance baselines and sentinels, which any real metric has to beat.

A sentinel sees only one side of a correction, and learns from the benchmark's own judgments what
people like there (sentinel metrics of Perrella et al. 2024). If a metric is not above a sentinel,
its agreement with people may come from that side alone.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher

import numpy as np

from gecjury.core.arrays import FloatArray, settled
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature
from gecjury.stats.logistic import folds_of

SENTINEL = "sentinel-"
"""The prefix of the names of sentinels."""

_FOLDS = 5
_BUCKETS = 512  # hash buckets of words and trigrams of letters
_PENALTY = 0.1  # of ridge regression, per correction that it learns from
_LEVELS = 10  # a judge with at most so many different scores gives levels


def chance_scores(corpus: Corpus, seed: int = 0) -> Mapping[str, FloatArray]:
    """Return sentence scores, systems × sentences, of three metrics that do not judge corrections.

    - `constant` gives everything the same score;
    - `random` draws scores uniformly with the seed;
    - `copy-source` rewards similarity to the source: F1 of the tokens shared with it, 0 to 1.
    """
    shape = len(corpus.systems), len(corpus)
    return {
        "constant": np.zeros(shape),
        "random": np.random.default_rng(seed).random(shape),
        "copy-source": _likeness_to_source(corpus),
    }


def sentinel_scores(corpus: Corpus, wanted: FloatArray, seed: int = 0) -> Mapping[str, FloatArray]:
    """Return scores, systems × sentences, of ridge regressions that see one side of a correction.

    - `sentinel-source`: words and letters of the source, the same for all of its corrections;
    - `sentinel-output`: words and letters of the correction;
    - `sentinel-edits`: how many tokens were inserted, deleted and replaced;
    - `sentinel-length`: the length of the correction in tokens and in letters.

    All corrections of a source, and of sources with the same text, are scored by a regression that
    learnt from other sources: each of five folds is scored by the regression of the other four.

    Args:
        corpus: the texts.
        wanted: people's judgments to learn from, systems × sentences, NaN where there is none.
        seed: seed of the folds.

    Raises:
        ValueError: fewer than two different sources were judged.
    """
    texts = {text: number for number, text in enumerate(dict.fromkeys(corpus.sources))}
    of_source = np.array([texts[text] for text in corpus.sources], dtype=np.int64)
    judged = np.unique(of_source[(~np.isnan(wanted)).any(axis=0)])
    if len(judged) < 2:
        raise ValueError("sentinels learn from the judgments of two different sources or more")
    # Judged sources are spread over the folds, so that every regression learns from some.
    folds = np.zeros(len(texts), dtype=np.int64)
    folds[judged] = folds_of(judged, min(_FOLDS, len(judged)), seed)
    fold = folds[of_source]
    scores = {}
    for name, side in _SIDES.items():
        shape = (*wanted.shape, -1)
        features = np.array(
            [
                side(source, line)
                for version in corpus.systems.values()
                for source, line in zip(corpus.sources, version.lines, strict=True)
            ]
        ).reshape(shape)
        predicted = np.empty(wanted.shape)
        for number in range(int(fold.max()) + 1):
            held = fold == number
            learns = ~np.isnan(wanted) & ~held
            predicted[:, held] = _ridge(features[learns], wanted[learns], features[:, held])
        scores[SENTINEL + name] = settled(predicted)
    return scores


def _ridge(features: FloatArray, values: FloatArray, asked: FloatArray) -> FloatArray:
    """Return predictions of a ridge regression on standardised features.

    Args:
        features: corrections × features.
        values: people's judgment of each correction.
        asked: features of the corrections to predict, on the last axis.

    Returns:
        An array of the shape of `asked` without its last axis.
    """
    mean, deviation = features.mean(axis=0), features.std(axis=0)
    scale = np.where(deviation > 0, deviation, np.inf)
    x, middle = (features - mean) / scale, values.mean()
    square = x.T @ x + _PENALTY * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(square, x.T @ (values - middle))
    predicted: FloatArray = middle + (asked - mean) / scale @ weights
    return predicted


def _hashed(text: str) -> FloatArray:
    """Return log counts of words and letter trigrams by their hash, and the length."""
    low = f" {text.lower()} "
    parts = [*low.split(), *(low[at : at + 3] for at in range(len(low) - 2))]
    counts = np.zeros(_BUCKETS)
    np.add.at(counts, [zlib.crc32(part.encode()) % _BUCKETS for part in parts], 1)
    return np.concatenate([np.log1p(counts), _lengths(text)])


def _lengths(text: str) -> FloatArray:
    return np.log1p([len(_tokens(text)), len(text)])


def _edited(source: str, output: str) -> FloatArray:
    """Return log counts of inserted, deleted, replacing and replaced tokens, and of edits."""
    old, new = _tokens(source), _tokens(output)
    counts = Counter[str]()
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        counts[kind] += b - a if kind == "delete" else d - c
        counts["away"] += (b - a) * (kind == "replace")
        counts["edits"] += kind != "equal"
    kinds = ("insert", "delete", "replace", "away", "edits")
    return np.log1p([counts[kind] for kind in kinds])


def _tokens(text: str) -> list[str]:
    """Return words, and single characters for punctuation and for scripts without spaces."""
    return re.findall(r"[\u3040-\u30ff\u4e00-\u9fff]|\w+|[^\w\s]", text)


_SIDES: Mapping[str, Callable[[str, str], FloatArray]] = {
    "source": lambda source, output: _hashed(source),
    "output": lambda source, output: _hashed(output),
    "edits": _edited,
    "length": lambda source, output: _lengths(output),
}
"""Features of the sentinels."""


def in_levels(scores: FloatArray, levels: FloatArray) -> FloatArray:
    """Return scores rounded to levels that are as frequent as those of a judge.

    Scores and levels are sorted; a score gets the level at the same place. Equal scores get the
    level at their middle place.

    Args:
        scores: systems × sentences, NaN stays NaN.
        levels: a judge's scores, of any shape; NaN is ignored.
    """
    scored, sorted_levels = ~np.isnan(scores), np.sort(levels[~np.isnan(levels)])
    values = np.sort(scores[scored])
    first = np.searchsorted(values, scores[scored], "left")
    last = np.searchsorted(values, scores[scored], "right") - 1
    rounded = scores.copy()
    # Integer arithmetic maps each place of the scores to exactly one place of the levels.
    rounded[scored] = sorted_levels[(first + last) * len(sorted_levels) // (2 * len(values))]
    return rounded


def levels_of(table: ScoreTable) -> FloatArray | None:
    """Return the scores that a judge gave if they have few levels; None otherwise."""
    if table.signature.family != "judges":
        return None
    items = table.statistics.items
    scores = table.sentences if items is None else items
    different = np.unique(scores[~np.isnan(scores)])
    return scores if 1 < len(different) <= _LEVELS else None


def sentence_table(
    name: str, systems: Sequence[str], sentences: FloatArray, family: str = "chance"
) -> ScoreTable:
    """Return a score table built from sentence scores; their means are the corpus scores.

    Args:
        name: the name of the metric.
        systems: S names.
        sentences: S × N.
        family: the family of the metric.
    """
    # Corpus scores are means here, so they can be resampled without a scorer.
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
