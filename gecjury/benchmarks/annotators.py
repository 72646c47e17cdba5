"""Agreement of annotators with each other and with themselves.

The agreement A of two annotators is not an upper bound for a metric, which may make fewer errors
than either of them: if both err independently and equally often, a metric that is always right
agrees with each of them on .5 + .5·√(2A − 1) of the pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np

from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs, RankedItem
from gecjury.core.arrays import FloatArray, IntArray, NumberArray

_JudgmentKey = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Agreement between two different annotators on the same pairs of systems.

    Attributes:
        accuracy: share of equal preferences among the comparisons that neither annotator tied;
            NaN without any.
        decided: number of those comparisons.
        with_ties: share of equal judgments (first, second, tie) among all; NaN without any.
        pairs: number of all comparisons.
        kappa: κ by Scott's π over all of them, each in both directions; NaN where it is not
            defined.
    """

    accuracy: float
    decided: int
    with_ties: float
    pairs: int
    kappa: float

    @property
    def perfect(self) -> float:
        """Return the accuracy of a perfect metric if annotators err independently, equally often.

        If each annotator is right on a share q of the pairs, two of them agree on
        q² + (1 − q)² = A of the pairs, and a metric that is always right agrees with each on
        q = .5 + .5·√(2A − 1). If they make the same errors, it is less, down to A. NaN where A is
        below one half.
        """
        if not self.accuracy >= 0.5:
            return float("nan")
        return 0.5 + 0.5 * math.sqrt(2 * self.accuracy - 1)


def annotator_agreement(judged: JudgedEntries) -> AnnotatorAgreement:
    """Return the agreement between two annotators at sentence level.

    Every two annotators are compared on every pair of systems that both judged on the same
    sentence. If an annotator judged such a pair several times, the first judgment counts. Pairs of
    systems with the same text are left out, because nobody can decide between them. On the expanded
    judgments of SEEDA's Base systems the result is 64.4% of 519 (edit) and 89.6% of 694 (sentence).

    Args:
        judged: judgments, ties included, in file order; processed in parts.

    Returns:
        Agreement on decided comparisons and on all.
    """
    preferences = [np.zeros((2, 0), dtype=np.int64)]
    # Only the pairs that somebody judged again are built.
    parts = judged.repeated(within=False)
    preferences += [part.preference[np.stack(_twice(part))] for part in parts]
    x, y = np.concatenate(preferences, axis=1)
    decided = (x != 0) & (y != 0)
    equal = x == y
    return AnnotatorAgreement(
        accuracy=float(equal[decided].mean()) if decided.any() else float("nan"),
        decided=int(np.count_nonzero(decided)),
        with_ties=float(equal.mean()) if len(equal) else float("nan"),
        pairs=len(equal),
        # In one direction only, the chance agreement would depend on which system is named first.
        kappa=scott_pi(np.concatenate([x, -x]), np.concatenate([y, -y])),
    )


def doubly_judged(pairs: JudgmentPairs, *, ties: bool) -> IntArray:
    """Return the judgments that `annotator_agreement` compares, to compare metrics on them, too.

    Args:
        pairs: judgments for `annotator_agreement`.
        ties: include comparisons that an annotator tied.

    Returns:
        Rows of `pairs`, those of the first annotator of every comparison and then those of the
        second; a judgment that is compared with several others is repeated for each of them.
    """
    first, second = _twice(pairs)
    if not ties:
        kept = (pairs.preference[first] != 0) & (pairs.preference[second] != 0)
        first, second = first[kept], second[kept]
    return np.concatenate([first, second])


def _twice(pairs: JudgmentPairs) -> tuple[IntArray, IntArray]:
    """Return the rows of both judgments of every comparison of `annotator_agreement`."""
    # One number encodes sentence and pair of systems, so that annotators are compared as sets.
    rows = np.flatnonzero(~pairs.shared)
    size = len(pairs.systems)
    place = (pairs.sentence * size + pairs.first) * size + pairs.second
    annotators = len(pairs.annotators)
    # `np.unique` returns the first row of each key, so the first of repeated judgments counts.
    keys, at = np.unique(
        place[rows] * max(annotators, 1) + pairs.annotator[rows], return_index=True
    )
    places, by = np.divmod(keys, max(annotators, 1))
    row = rows[at]
    none = np.zeros(0, dtype=np.int64)
    first, second = [none], [none]
    for a, b in combinations(np.unique(by).tolist(), 2):
        _, in_a, in_b = np.intersect1d(
            places[by == a], places[by == b], assume_unique=True, return_indices=True
        )
        first.append(row[by == a][in_a])
        second.append(row[by == b][in_b])
    return np.concatenate(first), np.concatenate(second)


def scott_pi(first: NumberArray, second: NumberArray) -> float:
    """Return Scott's π (1955), which is κ with chance from the pooled labels of both annotators.

    Shared tasks of machine translation, Grundkiewicz et al. (2015) and the SEEDA paper print it as
    Cohen's κ.

    Args:
        first: labels by one annotator, shape (n,).
        second: labels by the other, shape (n,).

    Returns:
        At most 1, 0 at chance; NaN without labels or where all labels are equal.
    """
    if not len(first):
        return math.nan
    labels = np.unique(np.concatenate([first, second]))
    shares = np.stack([(side[:, None] == labels).mean(axis=0) for side in (first, second)])
    chance = float(np.square(shares.mean(axis=0)).sum())
    return _above_chance(float((first == second).mean()), chance)


def _above_chance(observed: float, expected: float) -> float:
    """Return the agreement above chance; NaN if chance alone gives full agreement."""
    return (observed - expected) / (1 - expected) if expected < 1 else math.nan


def krippendorff_alpha(values: FloatArray, *, level: Literal["ordinal", "interval"]) -> float:
    """Return Krippendorff's α: 1 − observed / expected disagreement (Krippendorff 2011).

    The distance between two values is the square of their difference (`interval`), or of the
    difference of their mid-ranks among all values that are compared (`ordinal`). The latter equals
    Krippendorff's own definition: the number of values from c to k, less half of those equal to c
    and half of those equal to k.

    Args:
        values: annotators × units; NaN where an annotator gave none.
        level: level of measurement.

    Returns:
        At most 1, 0 at chance; NaN where no unit has two values, or all values are equal.
    """
    present = ~np.isnan(values)
    sizes = present.sum(axis=0)
    # A unit with one value allows no comparison and does not count in the value frequencies.
    present &= sizes > 1
    pooled = values[present]
    if level == "ordinal":
        pooled = _mid_ranks(pooled)
    if not len(pooled) or (pooled == pooled[0]).all():
        return float("nan")
    # Centred first, so that the differences of large sums below lose no digits.
    pooled = pooled - pooled.mean()
    units = np.nonzero(present)[1]
    sums, squares = (np.bincount(units, part, minlength=len(sizes)) for part in (pooled, pooled**2))
    # Over the ordered pairs of m values, Σ (a − b)² = 2 m Σ a² − 2 (Σ a)².
    kept = sizes > 1
    within = (2 * (sizes * squares - sums**2))[kept] / (sizes[kept] - 1)
    count = len(pooled)
    expected = 2 * (count * squares.sum() - sums.sum() ** 2) / (count - 1)
    return float(1 - within.sum() / expected)


def _mid_ranks(values: NumberArray) -> FloatArray:
    """Return the place of each value among all in ascending order, from ½; equal ones share it."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - counts / 2)[place], dtype=np.float64)


def ranks_alpha(items: Sequence[RankedItem]) -> float:
    """Return Krippendorff's ordinal α of the ranks that annotators gave the same corrections.

    A unit is a correction together with those that it was ranked with, since a rank in another set
    has a different meaning. Ranks are mid-ranks, so that α does not depend on how ties are numbered
    (1 1 2 or 1 1 3). If an annotator ranked the same corrections again, the first ranking counts.

    Returns:
        As `krippendorff_alpha`.
    """
    sets: dict[tuple[int, frozenset[str]], int] = {}
    units: dict[tuple[int, str], dict[str, float]] = {}
    for item in items:
        names = [" ".join(sorted(group)) for group in item.groups]
        shown = sets.setdefault((item.sentence, frozenset(names)), len(sets))
        for name, rank in zip(names, _mid_ranks(np.array(item.ranks)).tolist(), strict=True):
            units.setdefault((shown, name), {}).setdefault(item.annotator, rank)
    # α does not depend on who gave a value, so the table needs no row for each annotator.
    values = np.full((max(map(len, units.values()), default=0), len(units)), np.nan)
    for column, ranks in enumerate(units.values()):
        values[: len(ranks), column] = list(ranks.values())
    return krippendorff_alpha(values, level="ordinal")


@dataclass(frozen=True, slots=True)
class Kappa:
    """κ of annotators, pair by pair, with chance from the pooled labels of both (Scott's π).

    Attributes:
        mean: unweighted mean over the pairs of annotators that have comparisons (over the
            annotators, for κ within them); NaN without any.
        weighted: mean weighted by the number of comparisons.
        values: κ of each pair of annotators, (a, a) for κ within one annotator.
        counts: comparisons of each pair of annotators.
    """

    mean: float
    weighted: float
    values: dict[tuple[str, str], float]
    counts: dict[tuple[str, str], int]


def _labels(
    items: Sequence[RankedItem], within: bool, directed: bool
) -> dict[str, dict[_JudgmentKey, list[int]]]:
    """Return each annotator's judgments (-1, 0, 1) of each pair of corrections of each sentence.

    Items that cannot be compared with any other are left out, since a ranking of 2,000 systems has
    2 million pairs.

    A correction is named by its systems, in alphabetical order or, where `directed`, as the file
    lists them. The two names of a pair are in alphabetical order, which decides whether a judgment
    is -1 or 1.
    """
    labels: dict[str, dict[_JudgmentKey, list[int]]] = {item.annotator: {} for item in items}
    judged = Counter((item.sentence, item.annotator) for item in items)
    people = Counter(sentence for sentence, _ in judged)
    for item in items:
        others = judged[item.sentence, item.annotator] if within else people[item.sentence]
        if others < 2:
            continue
        of_annotator = labels[item.annotator]
        # Annotators' items may list the systems of the same correction in different orders.
        names = (" ".join(group if directed else sorted(group)) for group in item.groups)
        for (a, rank_a), (b, rank_b) in combinations(
            sorted(zip(names, item.ranks, strict=True)), 2
        ):
            label = (rank_b > rank_a) - (rank_a > rank_b)
            of_annotator.setdefault((item.sentence, a, b), []).append(label)
    return labels


def annotator_kappa(
    items: Sequence[RankedItem], *, within: bool = False, directed: bool = False
) -> Kappa:
    """Return κ between annotators, or within them, over pairs of corrections (unexpanded).

    The labels are better, worse and tie. Between two annotators each judgment of one is compared
    with each judgment of the other on the same pair of corrections of a sentence; within one, every
    two judgments of the same pair are compared. The agreement expected by chance is computed from
    the pooled labels of both, which is Scott's π; the papers call it Cohen's κ, which would be
    .30 and .43 between SEEDA's annotators. Each pair counts in both directions, so that better and
    worse are equally frequent and κ does not depend on the systems' names.

    Args:
        within: compare annotators with themselves, on items that they judged more than once.
        directed: count each pair in one direction only, the correction whose systems, as the file
            lists them, come first in the alphabet against the other. This reproduces published
            figures: those of the SEEDA paper as means over annotators (table 3: between .28 and
            .41, within .61 and .71), those of Grundkiewicz et al. (2015, table 2a: .29 and .46) as
            weighted means. In both directions they are .28, .41, .61, .72 and .30, .46.

    Returns:
        κ by pair of annotators and its means.
    """
    labels = _labels(items, within, directed)
    values: dict[tuple[str, str], float] = {}
    counts: dict[tuple[str, str], int] = {}
    duos = [(a, a) for a in labels] if within else list(combinations(labels, 2))
    for a, b in duos:
        couples, pool = _compared(labels[a], labels[b])
        if not couples:
            continue
        # The agreement expected by chance counts each judgment once.
        chances = Counter(pool if directed else [*pool, *(-label for label in pool)])
        expected = sum((chances[label] / chances.total()) ** 2 for label in (-1, 0, 1))
        observed = sum(x == y for x, y in couples) / len(couples)
        values[a, b] = _above_chance(observed, expected)
        counts[a, b] = len(couples)
    # If all labels are equal, chance explains everything and κ is not defined.
    defined = [duo for duo, value in values.items() if not np.isnan(value)]
    if not defined:
        return Kappa(float("nan"), float("nan"), values, counts)
    kappas = np.array([values[duo] for duo in defined])
    weights = np.array([counts[duo] for duo in defined])
    return Kappa(float(kappas.mean()), float(np.average(kappas, weights=weights)), values, counts)


def _compared(
    one: dict[_JudgmentKey, list[int]], two: dict[_JudgmentKey, list[int]]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Return pairs of judgments of the same corrections, and all judgments involved.

    Each judgment of one annotator is paired with each of the other; if both are the same annotator,
    every two of their judgments are paired.
    """
    couples: list[tuple[int, int]] = []
    pool: list[int] = []
    for key in one.keys() & two.keys():
        if one is not two:
            couples += product(one[key], two[key])
            pool += one[key] + two[key]
        elif len(one[key]) > 1:
            couples += combinations(one[key], 2)
            pool += one[key]
    return couples, pool
