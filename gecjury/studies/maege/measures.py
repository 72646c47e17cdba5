"""Agreement of scores with MAEGE's orders, and the effect of an edit of each type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.corpus.edits import Edit
from gecjury.stats.bootstrap import figure_interval
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.correlation import pearson_of_sums
from gecjury.stats.counts import ratio
from gecjury.stats.figure import Figure, figures_about
from gecjury.studies.maege.chains import Annotated, Chain

register(
    *(
        Statistic(key, heading, words, better="higher", range=(-1, 1), chance=0.0)
        for key, heading, words in (
            ("corpus_pearson", "r corpus", "Pearson r over corpora"),
            ("corpus_spearman", "ρ corpus", "Spearman ρ over corpora"),
            ("maege.pearson", "r sent", "Pearson r"),
            ("maege.kendall", "τ sent", "Kendall τ"),
            ("kendall_ties_agree", "τ, ties agree", "Kendall τ with ties as agreement"),
        )
    ),
    Statistic("maege.tied_share", "tied", better="higher", range=(0, 1)),
    Statistic("by_type.error", "±"),
)

_MEASURES = ("pearson", "kendall", "kendall_ties_agree")

# The columns of `chain_sums`.
_AGREE, _TIED, _DISAGREE, _MISSING, _N, _X, _Y, _XX, _YY, _XY = range(10)


def gold_scores(corpus: Annotated, chains: Sequence[Chain]) -> list[FloatArray]:
    """Return the gold score of each chain's texts, as in the released program.

    The full correction scores 1, the source 1 - (m + 1) / c with m the fewest edits that an
    annotator needed and c the source's length in characters; the texts between are spaced evenly.

    Returns:
        For each chain an array of shape (texts of the chain,), ascending.
    """
    scores = []
    for chain in chains:
        fewest = min(len(edits) for edits in corpus.edits[chain.sentence])
        worst = 1 - (fewest + 1) / len(corpus.sources[chain.sentence])
        scores.append(np.linspace(worst, 1.0, len(chain.texts)))
    return scores


def chain_sums(
    corpus: Annotated, chains: Sequence[Chain], scores: Sequence[FloatArray]
) -> FloatArray:
    """Sum the components of agreement by sentence, so that sentences can be resampled.

    Args:
        scores: of each chain's texts; NaN = not scored.

    Returns:
        Sentences × 10: pairs that agree, are tied, disagree, are missing; texts scored, and the
        sums of x, y, x², y², xy of gold scores and scores, both shifted by their means.
    """
    gold = gold_scores(corpus, chains)
    sums = np.zeros((len(corpus), 10))
    every_x, every_y = np.concatenate(gold), np.concatenate(list(scores))
    scored = ~np.isnan(every_y)
    shift = [float(every[scored].mean()) if scored.any() else 0.0 for every in (every_x, every_y)]
    # Sums are of deviations from the means, so that squares lose no digits by cancellation.
    for chain, values, truth in zip(chains, scores, gold, strict=True):
        first, second = np.triu_indices(len(values), 1)
        gains = values[second] - values[first]
        kept = ~np.isnan(values)
        x, y = truth[kept] - shift[0], values[kept] - shift[1]
        sums[chain.sentence] += (
            (gains > 0).sum(),
            (gains == 0).sum(),
            (gains < 0).sum(),
            np.isnan(gains).sum(),
            len(x),
            x.sum(),
            y.sum(),
            x @ x,
            y @ y,
            x @ y,
        )
    return sums


def _measures(totals: FloatArray) -> FloatArray:
    """Return Pearson, Kendall and Kendall with ties as agreement, from totals ... × 10."""
    t = np.moveaxis(totals, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = t[_AGREE] + t[_TIED] + t[_DISAGREE]
        spread = (t[_XX] - t[_X] ** 2 / t[_N]) * (t[_YY] - t[_Y] ** 2 / t[_N])
        # Rounding can leave the spread of a constant slightly different from zero.
        r = np.where(spread > 1e-24 * t[_XX] * t[_YY], pearson_of_sums(t[_N], *t[_X:]), np.nan)
        strict, lenient = (t[_AGREE] - t[_DISAGREE]) / pairs, 1 - 2 * t[_DISAGREE] / pairs
    return np.stack([r, strict, lenient], axis=-1)


def agreement(sums: Sequence[FloatArray], weights: FloatArray, **about: str) -> list[Figure]:
    """Return the agreement of the scores of chains with their order.

    Correlations are means over seeds, with 95% intervals over sentences; counts are sums. They are
    `pearson`, the correlation of all texts' scores with their gold scores; `kendall`,
    (agree - disagree) / pairs over the pairs of texts of each chain, to which a tie adds nothing;
    `kendall_ties_agree`, 1 - 2 · disagree / pairs, the measure of the released program, which
    counts a tie as agreement; the `pairs` of which both texts have scores, and the number of the
    other `unscored_pairs`; and how many pairs are `tied`.

    Args:
        sums: from `chain_sums`, one per seed.
        weights: resamples × sentences, how often each sentence occurs in a resample.
        **about: the metric.
    """
    totals = np.array([of_seed.sum(axis=0) for of_seed in sums])
    agree, tied, disagree, missing = (int(n) for n in totals.sum(axis=0)[:4])
    pairs = agree + tied + disagree
    drawn = np.mean([_measures(weights @ of_seed) for of_seed in sums], axis=0)
    values = dict(zip(_MEASURES, _measures(totals).mean(axis=0).tolist(), strict=True))
    bounds = [figure_interval(column)[0] for column in drawn.T]
    values |= {"pairs": pairs, "tied": tied, "tied_share": tied / pairs if pairs else np.nan}
    values |= {"unscored_pairs": missing}
    intervals = dict(zip(_MEASURES, bounds, strict=True))
    return figures_about(values, intervals, level="maege", **about)


def type_changes(
    chains: Sequence[Chain], scores: Sequence[FloatArray], weights: FloatArray, **about: str
) -> list[list[Figure]]:
    """Return the effect of one edit by its type, the most frequent first, and over all types.

    Of each type, these are the number of its `edits`; the `mean` of m(with the edit) - m(without
    it); its standard `error`: the bootstrap's standard deviation, over sentences; and how many
    times a text with or without the edit has no score (`missing`).

    Args:
        scores: of each chain's texts; NaN = not scored.
        weights: resamples × sentences, how often each sentence occurs in a resample.
        **about: the metric.
    """
    steps: dict[str, list[tuple[Chain, Edit, float]]] = {}
    for chain, values in zip(chains, scores, strict=True):
        for edit, gain in zip(chain.edits, np.diff(values).tolist(), strict=True):
            steps.setdefault(edit.type, []).append((chain, edit, gain))
    # An edit without a type counts under its empty name, and among all.
    every = [step for of_type in steps.values() for step in of_type]
    ordered = sorted(steps.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        figures_about(_change(of_type, weights), level="by_type", part=kind, **about)
        for kind, of_type in [*ordered, ("all", every)]
    ]


def _change(steps: Sequence[tuple[Chain, Edit, float]], weights: FloatArray) -> dict[str, float]:
    sentence = np.array([chain.sentence for chain, _, _ in steps], dtype=np.int64)
    gains = np.array([gain for _, _, gain in steps])
    scored = ~np.isnan(gains)
    width = weights.shape[1]
    sums = np.bincount(sentence[scored], gains[scored], minlength=width)
    counts = np.bincount(sentence[scored], minlength=width)
    # A resample may contain no sentence with the type.
    drawn = ratio(weights @ sums, weights @ counts, np.nan)
    # The spread of a single sentence is undefined, not zero.
    defined = drawn[~np.isnan(drawn)] if (counts > 0).sum() > 1 else drawn[:0]
    return {
        "edits": len({(chain.sentence, chain.annotator, edit) for chain, edit, _ in steps}),
        "mean": float(gains[scored].mean()) if scored.any() else np.nan,
        "error": float(defined.std(ddof=1)) if len(defined) > 1 else np.nan,
        "missing": int((~scored).sum()),
    }
