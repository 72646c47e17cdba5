"""Worth of a trained metric on held-out sources, compared with chance, simple counts and raters.

Metrics are used to choose between corrections of one source. A correlation over all rows does not
show how well a metric does that, since most of the variance of ratings is between sources: a
regressor with a Spearman of .5 may order corrections of one source no better than a coin. So
training reports the share of held-out pairs in the right order, with an interval by bootstrap over
sources, compares it with chance (.5) and with counting changed tokens, and states in one sentence
whether the model beats them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.errors import MissingExtraError
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.corpus.tokens import tokenised
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.pairs import RankedPair
from gecjury.refless.nets.bundle import aspect_weights
from gecjury.refless.training.model_card import markdown_table
from gecjury.stats.bootstrap import interval, sentence_counts

MODEL = "this model"
_RESAMPLES = 2000
_SEED = 0

# A bootstrap over fewer sources gives intervals that are too narrow.
_LEAST_SOURCES = 20


@dataclass(frozen=True)
class WorthRow:
    """A share of pairs in the right order, or a difference of two shares, with its 95% interval."""

    what: str
    accuracy: float
    interval: tuple[float, ...]


@dataclass(frozen=True)
class Worth:
    """Agreement of a metric with held-out pairs of corrections of one source.

    `rows` are the metric, counting changes, and the difference of the two; it is empty without
    pairs. `above_chance` and `above_changes` are None if there are too few sources to decide.
    """

    judged: str
    pairs: int
    sources: int
    rows: tuple[WorthRow, ...] = ()
    above_chance: bool | None = None
    above_changes: bool | None = None
    verdict: str = ""


def rated_pairs(
    sources: Sequence[str], outputs: Sequence[str], ratings: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return all pairs of different corrections of one source that people rated differently.

    Args:
        sources: one per row; rows without one are left out.
        outputs: one per row.
        ratings: shape (rows,).

    Returns:
        Rows of the better and of the worse corrections, both of shape (pairs,).
    """
    rows_by_source: dict[str, list[int]] = {}
    for row, source in enumerate(sources):
        if source:
            rows_by_source.setdefault(normalise(source), []).append(row)
    # Means over raters that differ only in the last bit are ties.
    rounded = settled(ratings)
    pairs = [
        (first, second) if rounded[first] > rounded[second] else (second, first)
        for rows in rows_by_source.values()
        for first, second in itertools.combinations(rows, 2)
        if rounded[first] != rounded[second] and outputs[first] != outputs[second]
    ]
    better, worse = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return better, worse


def worth_of_ratings(
    train: Annotations,
    test: Annotations,
    predicted: Mapping[str, FloatArray],
    language: str,
    judged: str = "people's ratings",
) -> Worth:
    """Compare a SOME with chance and with counting changes, on the pairs of its test part.

    The better correction of a pair is the one with the larger sum of ratings, weighted like the
    model's predictions.

    Args:
        train: training part, whose pairs determine whether more or fewer changes are better.
        predicted: ratings of the test part's rows by aspect.
        judged: name of the ratings.
    """
    weights = aspect_weights(test.aspects)
    score = settled(np.sum([weights[aspect] * predicted[aspect] for aspect in weights], axis=0))
    better, worse, pairs = _judged_pairs(test, weights)
    *_, learnt = _judged_pairs(train, weights)
    gaps = score[better] - score[worse]
    return worth_of(gaps, pairs, learnt, judged=judged, language=language)


def _judged_pairs(
    part: Annotations, weights: Mapping[str, float]
) -> tuple[IntArray, IntArray, list[RankedPair]]:
    """Return `rated_pairs` of a part, as rows and as texts."""
    ratings = part.ratings @ np.array([weights[aspect] for aspect in part.aspects])
    better, worse = rated_pairs(part.sources, part.outputs, ratings)
    texts = part.outputs
    rows = zip(better.tolist(), worse.tolist(), strict=True)
    return better, worse, [RankedPair(texts[b], texts[w], part.sources[b]) for b, w in rows]


def worth_of(
    gaps: FloatArray,
    pairs: Sequence[RankedPair],
    learnt: Sequence[RankedPair],
    *,
    judged: str,
    language: str = "en",
) -> Worth:
    """Compare a metric with chance and with counting changes.

    Args:
        gaps: score of each pair's better correction minus that of the worse; 0 counts as half
            right.
        pairs: pairs of the test part.
        learnt: pairs of the training part, which determine whether more or fewer changes count as
            better.
        judged: name of the judgments that say which correction is better, for tables.
    """
    changes, known_changes = _more_changes(pairs, language), _more_changes(learnt, language)
    # The direction comes from the training part: chosen on the test part, it would favour
    # counting, which the model has to beat.
    more = float(np.sign(known_changes).sum()) >= 0
    sources = [normalise(pair.source) for pair in pairs]
    _, numbers = np.unique(sources, return_inverse=True)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    rows: list[WorthRow] = []
    if count:
        right = np.stack([_right(gaps), _right(changes if more else -changes)])
        right = np.concatenate([right, right[:1] - right[1:]])
        # Sums by source need little memory, however many pairs a source has.
        sums = np.stack([np.bincount(numbers, row) for row in right], axis=1)
        times = sentence_counts(count, _RESAMPLES, _SEED)
        drawn = (times @ sums) / (times @ np.bincount(numbers))[:, None]
        counted = f"counting changes, {'more' if more else 'fewer'} is better"
        named = (MODEL, counted, "difference")
        for what, value, draws in zip(named, right.mean(axis=1).tolist(), drawn.T, strict=True):
            rows.append(WorthRow(what, value, interval(draws, observed=value)[0]))
    worth = Worth(judged, len(pairs), count, tuple(rows))
    if count >= _LEAST_SOURCES:
        lows = [row.interval[0] for row in rows]
        worth = replace(worth, above_chance=lows[0] > 0.5, above_changes=lows[2] > 0)
    return replace(worth, verdict=_verdict(worth))


def _right(gaps: FloatArray) -> FloatArray:
    """Return 1 for a pair in the right order, 0 for one in the wrong order, .5 for a tie."""
    right: FloatArray = (np.sign(np.nan_to_num(gaps)) + 1) / 2
    return right


def _verdict(worth: Worth) -> str:
    pairs = f"{worth.pairs} held-out pairs of {worth.sources} sources"
    if worth.above_chance is None:
        return (
            f"Verdict: {pairs} are too few to say whether this model beats chance or counting "
            "changes; test it on a benchmark with `gecjury compare` before you use it"
        )
    model, changes, _ = worth.rows
    shown = (
        f"it agrees with {worth.judged} on {_shown(model)} of {pairs} (chance .5; "
        f"{changes.what}: {_shown(changes)})"
    )
    if not worth.above_chance:
        also = "" if worth.above_changes else " and does not beat counting changes"
        return f"Verdict: this model is not above chance{also}: {shown}; do not choose by it"
    if not worth.above_changes:
        return f"Verdict: this model is above chance, but does not beat counting changes: {shown}"
    return f"Verdict: this model beats chance and counting changes: {shown}"


def _shown(row: WorthRow) -> str:
    low, high = row.interval
    return f"{row.accuracy:.3f} [{low:.2f}, {high:.2f}]"


def worth_table(worth: Worth) -> str:
    """Return the verdict and a Markdown table of the figures behind it."""
    verdict = f"**{worth.verdict}.**"
    if not worth.rows:
        return verdict
    headings = (f"held-out pairs, by {worth.judged}", "in the right order", "95%")
    cells = [
        (row.what, row.accuracy, "{:.3f} to {:.3f}".format(*row.interval)) for row in worth.rows
    ]
    return f"{verdict}\n\n{markdown_table(headings, cells)}"


def _more_changes(pairs: Sequence[RankedPair], language: str) -> FloatArray:
    """Return the changed tokens of each pair's better correction minus those of the worse."""
    from rapidfuzz.distance import Levenshtein

    texts = [[getattr(pair, name) for pair in pairs] for name in ("source", "better", "worse")]
    units: list[list[Sequence[str]]]
    try:
        units = [
            [t.split() for t in tokenised(side, language_of(language), "the ratings")]
            for side in texts
        ]
    except MissingExtraError:
        # Without the tokeniser of the language, characters are counted.
        units = [list(side) for side in texts]
    sources, better, worse = units
    changed = [
        np.array(list(map(Levenshtein.distance, sources, side)), dtype=np.float64)
        for side in (better, worse)
    ]
    return changed[0] - changed[1]
