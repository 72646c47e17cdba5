"""What to hold a regressor of quality against: plain counts, and the raters against each other.

Pearson on the test part, whose sources no part that was learnt or chosen from holds, with intervals
by bootstrap over sources: corrections of one source are no independent draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.corpus.tokens import tokenised
from gecjury.errors import MissingExtraError
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.stats.bootstrap import interval
from gecjury.stats.correlation import pearson, pearsons, spearman

__all__ = ["MODEL", "BesideRow", "beside_table", "figures_beside"]

MODEL = "this model"
_RESAMPLES = 2000


class BesideRow(TypedDict):
    """One line: what predicts, what is predicted, and how well (interval of 95%)."""

    what: str
    of: str
    pearson: float
    interval: tuple[float, float]
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


def _counts(data: Annotations, language: str) -> dict[str, FloatArray]:
    from rapidfuzz.distance import Levenshtein

    changes, old_lengths, ratios, same = [], [], [], []
    sides, unit = _tokens(data, language)
    for old, new in zip(*sides, strict=True):
        changes.append(Levenshtein.distance(old, new))
        old_lengths.append(len(old))
        ratios.append(len(new) / max(len(old), 1))
        same.append(old == new)
    named = {
        f"changes, in {unit}": changes,
        f"length of the source, in {unit}": old_lengths,
        "length of output over source": ratios,
        "nothing changed (1) or something (0)": same,
    }
    return {name: np.array(values, dtype=np.float64) for name, values in named.items()}


def _tokens(data: Annotations, language: str) -> tuple[list[list[list[str]]], str]:
    """Sources and outputs as tokens, and what these are called."""
    sides = (data.sources, data.outputs)
    tokens = language_of(language).tokens
    try:
        cut = [tokenised(texts, tokens, "the test part") for texts in sides]
    except MissingExtraError:
        return [[list(text) for text in texts] for texts in sides], "characters"
    return [[line.split() for line in lines] for lines in cut], "tokens"


def _draws(data: Annotations) -> FloatArray:
    """How often each row stands in each resample of the sources, draws × rows."""
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(normalise(s), len(numbers)) for s in data.sources])
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(numbers), size=(_RESAMPLES, len(numbers)))
    times = np.stack([np.bincount(one, minlength=len(numbers)) for one in drawn])
    return times[:, group].astype(np.float64)


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
    """Markdown table of `figures_beside`."""
    lines = ["| on the test part | agrees with | Pearson | 95% | Spearman | rows |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        lines.append(
            f"| {row['what']} | {row['of']} | {row['pearson']:.3f} "
            f"| {row['interval'][0]:.3f} to {row['interval'][1]:.3f} | {row['spearman']:.3f} "
            f"| {row['rows']} |"
        )
    return "\n".join(lines) + (
        "\n\nIntervals by bootstrap over sources. A rater agrees with the mean of two or more "
        "others less than a metric can with the mean of all, which is less noisy."
    )
