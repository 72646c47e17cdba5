"""Worth of a trained metric: held-out pairs of corrections, beside chance and plain counting.

People and commands choose between corrections of one source. A correlation over all rows hides how
well a metric does that, since most of the variance of ratings lies between sources: a regressor
with a Spearman of .5 may order corrections of one source no better than a coin. So training reports
the share of held-out pairs in the right order, with an interval by bootstrap over sources, beside
chance (.5) and the number of changed tokens, and states in one sentence whether it beats them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gecjury.arrays import FloatArray, IntArray, settled
from gecjury.corpus.leakage import normalise
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.nets.bundle import aspect_weights
from gecjury.refless.training.beside import changed_tokens, in_words
from gecjury.refless.training.model_card import markdown_table
from gecjury.stats.bootstrap import interval, sentence_counts

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

    `rows` holds the metric, counting changes, and the difference of the two; it is empty without
    pairs. `above_chance` and `above_changes` are None where there are too few sources to say.
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
    """Return every two different corrections of one source that people rated apart.

    Args:
        sources: one a row; rows without one are left out.
        outputs: one a row.
        ratings: shape (rows,).

    Returns:
        Rows of the better and of the worse corrections, both of shape (pairs,).
    """
    rows_by_source: dict[str, list[int]] = {}
    for row, source in enumerate(sources):
        if source:
            rows_by_source.setdefault(normalise(source), []).append(row)
    rounded = settled(ratings)
    better, worse = [], []
    for rows in rows_by_source.values():
        for place, first in enumerate(rows):
            for second in rows[place + 1 :]:
                if rounded[first] == rounded[second] or outputs[first] == outputs[second]:
                    continue
                first_is_better = rounded[first] > rounded[second]
                better.append(first if first_is_better else second)
                worse.append(second if first_is_better else first)
    return np.array(better, dtype=np.int64), np.array(worse, dtype=np.int64)


def worth_of_ratings(
    train: Annotations, test: Annotations, predicted: Mapping[str, FloatArray], language: str
) -> Worth:
    """Hold a SOME against chance and against counting changes, on the pairs of its test part.

    A correction is better if its ratings, weighted as the model's predictions are, sum to more.

    Args:
        train: training part, whose pairs tell whether more changes are better or fewer.
        test: test part.
        predicted: ratings of the test part's rows by aspect.
        language: code of the sentences' language.
    """
    weights = aspect_weights(test.aspects)
    score = settled(np.sum([weights[aspect] * predicted[aspect] for aspect in weights], axis=0))
    _, _, known_changes = _rated_changes(train, weights, language)
    better, worse, changes = _rated_changes(test, weights, language)
    return worth_of(
        score[better] - score[worse],
        changes,
        [test.sources[row] for row in better],
        known_changes=known_changes,
        judged="people's ratings",
    )


def _rated_changes(
    part: Annotations, weights: Mapping[str, float], language: str
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return `rated_pairs` of a part, and by how much the better one has more changed tokens."""
    ratings = part.ratings @ np.array([weights[aspect] for aspect in part.aspects])
    better, worse = rated_pairs(part.sources, part.outputs, ratings)
    changes = changed_tokens(part.sources, part.outputs, language)
    return better, worse, changes[better] - changes[worse]


def worth_of(
    model: FloatArray,
    changes: FloatArray,
    sources: Sequence[str],
    *,
    known_changes: FloatArray,
    judged: str,
) -> Worth:
    """Hold a metric against chance and against counting changes.

    Args:
        model: score of the better correction minus that of the worse, shape (pairs,); 0 counts as
            half right.
        changes: changed tokens of the better minus those of the worse, shape (pairs,).
        sources: the source of each pair.
        known_changes: as `changes`, of pairs of the training part: they decide whether more
            changes are taken for better, or fewer.
        judged: what says which correction is better, for tables.
    """
    more = float(np.sign(known_changes).sum()) >= 0
    _, numbers = np.unique([normalise(source) for source in sources], return_inverse=True)
    count = int(numbers.max()) + 1 if len(numbers) else 0
    rows: list[WorthRow] = []
    if count:
        right = np.stack([_right(model), _right(changes if more else -changes)])
        right = np.concatenate([right, right[:1] - right[1:]])
        # Sums by source keep what is held small, however many pairs a source has.
        sums = np.stack([np.bincount(numbers, row) for row in right], axis=1)
        times = sentence_counts(count, _RESAMPLES, _SEED)
        drawn = (times @ sums) / (times @ np.bincount(numbers))[:, None]
        counted = f"counting changes, {'more' if more else 'fewer'} is better"
        named = ("this model", counted, "difference")
        for what, value, draws in zip(named, right.mean(axis=1).tolist(), drawn.T, strict=True):
            rows.append(WorthRow(what, value, interval(draws, observed=value)[0]))
    worth = Worth(judged, len(model), count, tuple(rows))
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
            "changes; try it on a benchmark with `gecjury compare` before you use it"
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
    cells = [(row.what, row.accuracy, in_words(row.interval)) for row in worth.rows]
    return f"{verdict}\n\n{markdown_table(headings, cells)}"
