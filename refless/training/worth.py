"""Worth of a trained metric on held-out sources, compared with chance, simple counts and raters.

Metrics are used to choose between corrections of one source. A correlation over all rows does not
show how well a metric does that, since most of the variance of ratings is between sources: a
regressor with a Spearman of .5 may order corrections of one source no better than a coin. So
training reports the share of held-out pairs in the right order, with an interval by bootstrap over
sources, compares it with chance (.5) and with counting changed tokens, and states in one sentence
whether the model beats them.

For a regressor of quality, it also reports Pearson, compared with that of simple counts and that of
the raters among each other. These intervals are by bootstrap over sources, too, because corrections
of one source are not independent.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.errors import MissingExtraError
from gecjury.corpus.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.corpus.tokens import tokenised
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.refless.data.pairs import RankedPair
from gecjury.refless.nets.bundle import aspect_weights
from gecjury.refless.training.model_card import markdown_table
from gecjury.stats.bootstrap import interval, sentence_counts
from gecjury.stats.correlation import pearson, pearsons, spearman

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
        test: test part.
        predicted: ratings of the test part's rows by aspect.
        language: code of the sentences' language.
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
        language: code of the sentences' language.
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
    cells = [(row.what, row.accuracy, in_words(row.interval)) for row in worth.rows]
    return f"{verdict}\n\n{markdown_table(headings, cells)}"


@dataclass(frozen=True)
class BesideRow:
    """One row of a table: the predictor, what it predicts, and how well, with a 95% interval."""

    what: str
    of: str
    pearson: float
    interval: tuple[float, ...]
    spearman: float
    rows: int


def figures_beside(
    data: Annotations, predicted: FloatArray, language: str = "en"
) -> list[BesideRow]:
    """Return figures of a model and of baselines.

    Args:
        data: rated corrections of held-out sources.
        predicted: predicted quality of each.
        language: code of the sentences' language. Changes are counted in its tokens, or in
            characters if its tokeniser is not installed.

    Returns:
        The model; the number of changes, the length of the source, the ratio of the lengths, and
        whether nothing was changed; and, if all rows have the same number of ratings, each rater
        against the mean of the others.
    """
    mean = data.ratings[:, data.aspects.index(QUALITY)]
    sources = data.groups()
    draws = sentence_counts(int(sources.max()) + 1, _RESAMPLES, _SEED)[:, sources]
    named = {MODEL: predicted, **_counts(data, language)}
    rows = [_row(name, "mean rating", values, mean, draws) for name, values in named.items()]
    ratings = data.raters.get(QUALITY)
    if ratings is None:
        return rows
    rated = ~np.isnan(ratings)
    sums = np.nansum(ratings, axis=1, keepdims=True) - np.nan_to_num(ratings)
    # A row without other raters becomes 0 / 0 = NaN and is left out.
    with np.errstate(invalid="ignore"):
        others = sums / (rated.sum(axis=1, keepdims=True) - rated)
    for number, (single, rest) in enumerate(zip(ratings.T, others.T, strict=True), 1):
        rows.append(_row(f"rater {number}", "mean of the other raters", single, rest, draws))
    return rows


def _more_changes(pairs: Sequence[RankedPair], language: str) -> FloatArray:
    """Return the changed tokens of each pair's better correction minus those of the worse."""
    sources = [pair.source for pair in pairs]
    sides = ([pair.better for pair in pairs], [pair.worse for pair in pairs])
    better, worse = (_distances(_tokens((sources, side), language)[0]) for side in sides)
    return better - worse


def _distances(sides: Sequence[Sequence[Sequence[str]]]) -> FloatArray:
    from rapidfuzz.distance import Levenshtein

    return np.array(list(map(Levenshtein.distance, *sides)), dtype=np.float64)


def _counts(data: Annotations, language: str) -> dict[str, FloatArray]:
    """Return simple counts for each row, by name; none of them depends on the words."""
    sides, unit = _tokens((data.sources, data.outputs), language)
    before, after = (np.array([len(line) for line in side], dtype=np.float64) for side in sides)
    same = [old == new for old, new in zip(*sides, strict=True)]
    return {
        f"changes, in {unit}": _distances(sides),
        f"length of the source, in {unit}": before,
        "length of output over source": after / np.maximum(before, 1),
        "nothing changed (1) or something (0)": np.array(same, dtype=np.float64),
    }


def _tokens(sides: Sequence[Sequence[str]], language: str) -> tuple[list[list[list[str]]], str]:
    """Return texts as lists of tokens, and the unit: `tokens` or `characters`."""
    tokens = language_of(language).tokens
    try:
        cut = [tokenised(texts, tokens, "the ratings") for texts in sides]
    except MissingExtraError:
        return [[list(text) for text in texts] for texts in sides], "characters"
    return [[line.split() for line in lines] for lines in cut], "tokens"


def _row(what: str, of: str, x: FloatArray, y: FloatArray, draws: FloatArray) -> BesideRow:
    present = ~(np.isnan(x) | np.isnan(y))
    x, y = x[present], y[present]
    value = pearson(x, y)
    bounds, _ = interval(pearsons(x[None], y[None], draws[:, present]), observed=value)
    return BesideRow(what, of, value, bounds, spearman(x, y), len(x))


def beside_table(rows: Sequence[BesideRow]) -> str:
    """Return a Markdown table of `figures_beside`."""
    headings = ("on the test part", "agrees with", "Pearson", "95%", "Spearman", "rows")
    cells = [(r.what, r.of, r.pearson, in_words(r.interval), r.spearman, r.rows) for r in rows]
    return markdown_table(headings, cells) + (
        "\n\nIntervals are by bootstrap over sources. A rater's agreement with the mean of the "
        "others is lower than what a metric can reach with the mean of all, which is less noisy."
    )


def in_words(bounds: Sequence[float]) -> str:
    """Return an interval as tables show it."""
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"
