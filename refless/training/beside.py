"""Baselines of a regressor of quality: plain counts, and the raters against each other.

Pearson on the test part, whose sources no part that was learnt or chosen from holds, with intervals
by bootstrap over sources: corrections of one source are no independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.corpus.tokens import tokenised
from gecjury.errors import MissingExtraError
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.refless.training.model_card import markdown_table
from gecjury.stats.bootstrap import interval, sentence_counts
from gecjury.stats.correlation import pearson, pearsons, spearman

MODEL = "this model"
_RESAMPLES = 2000


@dataclass(frozen=True)
class BesideRow:
    """One line: what predicts, what is predicted, and how well (interval of 95%)."""

    what: str
    of: str
    pearson: float
    interval: tuple[float, ...]
    spearman: float
    rows: int


def figures_beside(
    data: Annotations, predicted: FloatArray, language: str = "en"
) -> list[BesideRow]:
    """Figures of a model and of what it has to beat.

    Args:
        data: rated corrections of held-out sources.
        predicted: quality of each.
        language: code of the sentences' language. What was changed is counted in its tokens, in
            characters where its tokeniser is not installed.

    Returns:
        The model; how much was changed, the length of the source, the ratio of the lengths, and
        whether nothing was changed; and, where every row has as many ratings, each rater against
        the mean of the others.
    """
    mean = data.ratings[:, data.aspects.index(QUALITY)]
    counts = _counts(data, language)
    of = "mean rating"
    draws = _draws(data)
    rows = [_row(MODEL, of, predicted, mean, draws)]
    rows += [_row(name, of, values, mean, draws) for name, values in counts.items()]
    ratings = data.raters.get(QUALITY)
    if ratings is None:
        return rows
    sums, known = np.nansum(ratings, axis=1), (~np.isnan(ratings)).sum(axis=1)
    single = []
    for rater in range(ratings.shape[1]):
        own = ratings[:, rater]
        left = known - ~np.isnan(own)
        with np.errstate(invalid="ignore"):
            others = np.where(left > 0, (sums - np.nan_to_num(own)) / left, np.nan)
        single.append(_row(f"rater {rater + 1}", "mean of the other raters", own, others, draws))
    return rows + single


def changed_tokens(
    sources: Sequence[str], outputs: Sequence[str], language: str = "en"
) -> FloatArray:
    """Return how many tokens of each output differ from its source, shape (rows,).

    Args:
        sources: one a row.
        outputs: one a row.
        language: code of the sentences' language; characters are counted where its tokeniser is
            not installed.
    """
    sides, _ = _tokens((sources, outputs), language)
    return _distances(sides)


def _distances(sides: Sequence[Sequence[Sequence[str]]]) -> FloatArray:
    from rapidfuzz.distance import Levenshtein

    return np.array(
        [Levenshtein.distance(old, new) for old, new in zip(*sides, strict=True)], dtype=np.float64
    )


def _counts(data: Annotations, language: str) -> dict[str, FloatArray]:
    sides, unit = _tokens((data.sources, data.outputs), language)
    named = {
        f"length of the source, in {unit}": [len(old) for old in sides[0]],
        "length of output over source": [
            len(new) / max(len(old), 1) for old, new in zip(*sides, strict=True)
        ],
        "nothing changed (1) or something (0)": [
            old == new for old, new in zip(*sides, strict=True)
        ],
    }
    counts = {name: np.array(values, dtype=np.float64) for name, values in named.items()}
    return {f"changes, in {unit}": _distances(sides), **counts}


def _tokens(sides: Sequence[Sequence[str]], language: str) -> tuple[list[list[list[str]]], str]:
    """Return texts as lists of tokens, and the unit: `tokens` or `characters`."""
    tokens = language_of(language).tokens
    try:
        cut = [tokenised(texts, tokens, "the ratings") for texts in sides]
    except MissingExtraError:
        return [[list(text) for text in texts] for texts in sides], "characters"
    return [[line.split() for line in lines] for lines in cut], "tokens"


def _draws(data: Annotations) -> FloatArray:
    """Return how often each row stands in each resample of the sources, draws × rows."""
    keys = [normalise(source) for source in data.sources]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    group = np.array([numbers[key] for key in keys])
    return sentence_counts(len(numbers), _RESAMPLES, 0)[:, group]


def _row(what: str, of: str, x: FloatArray, y: FloatArray, draws: FloatArray) -> BesideRow:
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, weights = x[known], y[known], draws[:, known]
    value = pearson(x, y)
    bounds, _ = interval(pearsons(x[None], y[None], weights), observed=value)
    return BesideRow(
        what=what,
        of=of,
        pearson=value,
        interval=bounds,
        spearman=spearman(x, y),
        rows=int(known.sum()),
    )


def beside_table(rows: Sequence[BesideRow]) -> str:
    """Return a Markdown table of `figures_beside`."""
    headings = ("on the test part", "agrees with", "Pearson", "95%", "Spearman", "rows")
    cells = [(r.what, r.of, r.pearson, in_words(r.interval), r.spearman, r.rows) for r in rows]
    return markdown_table(headings, cells) + (
        "\n\nIntervals by bootstrap over sources. A rater agrees with the mean of two or more "
        "others less than a metric can with the mean of all, which is less noisy."
    )


def in_words(bounds: Sequence[float]) -> str:
    """Return an interval as tables show it."""
    return f"{bounds[0]:.3f} to {bounds[1]:.3f}"
