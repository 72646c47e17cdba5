"""How far annotators agree with each other and with themselves, and what chance scores look like.

The agreement of two annotators is the ceiling of what a metric can be asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.arrays import IntArray
from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs, RankedItem
from gecjury.errors import OptionError

__all__ = ["AnnotatorAgreement", "Kappa", "annotator_agreement", "annotator_kappa", "cohen_kappa"]

_Key = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Agreement between two different annotators on the same pairs of systems.

    Attributes:
        accuracy: share of equal preferences among the comparisons that neither annotator tied;
            NaN without any.
        decided: number of those comparisons.
        with_ties: share of equal judgments (first, second, tie) among all; NaN without any.
        pairs: number of all comparisons.
        kappa: Cohen's κ over all of them, the agreement by chance taken from the judgments of both
            together; NaN where it is not defined.
    """

    accuracy: float
    decided: int
    with_ties: float
    pairs: int
    kappa: float


def annotator_agreement(pairs: JudgmentPairs | JudgedEntries) -> AnnotatorAgreement:
    """Agreement between annotators, the ceiling of sentence-level accuracy.

    Every two annotators are compared on every pair of systems that both judged on the same
    sentence. Of an annotator who judged such a pair several times the first judgment counts. Pairs
    of systems with the same text are left out: no one could have decided them. On the expanded
    judgments of SEEDA's Base systems that gives 64.4% of 519 (edit) and 89.6% of 694 (sentence).

    Args:
        pairs: judgments, ties included, in file order; as entries they are looked at some at a
            time.

    Returns:
        Agreement on decided comparisons and on all.
    """
    parts: Iterable[JudgmentPairs] = (
        [pairs] if isinstance(pairs, JudgmentPairs) else pairs.repeated(within=False)
    )
    both = [_twice(part) for part in parts]
    x, y = (np.concatenate([part[side] for part in both]) for side in (0, 1))
    decided = (x != 0) & (y != 0)
    equal = x == y
    return AnnotatorAgreement(
        accuracy=float(equal[decided].mean()) if decided.any() else float("nan"),
        decided=int(np.count_nonzero(decided)),
        with_ties=float(equal.mean()) if len(equal) else float("nan"),
        pairs=len(equal),
        kappa=cohen_kappa(x, y, pooled=True),
    )


def _twice(pairs: JudgmentPairs) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Preferences of two annotators on the same pairs, for every two annotators."""
    judged = pairs.select(~pairs.shared)
    size = len(pairs.systems)
    place = (judged.sentence * size + judged.first) * size + judged.second
    annotators = len(pairs.annotators)
    keys, at = np.unique(place * max(annotators, 1) + judged.annotator, return_index=True)
    places, by = np.divmod(keys, max(annotators, 1))
    preference = judged.preference[at]
    one: list[IntArray] = []
    two: list[IntArray] = []
    # Of many annotators few meet on a sentence.
    held = np.unique(by)
    for a, b in combinations(held.tolist(), 2):
        _, in_a, in_b = np.intersect1d(
            places[by == a], places[by == b], assume_unique=True, return_indices=True
        )
        one.append(preference[by == a][in_a])
        two.append(preference[by == b][in_b])
    if not one:
        return np.zeros(0, np.int8), np.zeros(0, np.int8)
    return np.concatenate(one).astype(np.int8), np.concatenate(two).astype(np.int8)


def cohen_kappa(first: NDArray[Any], second: NDArray[Any], *, pooled: bool = False) -> float:
    """Cohen's κ: (observed - expected) / (1 - expected) agreement of two series of labels.

    Args:
        first: labels by one annotator, shape (n,).
        second: labels by the other, shape (n,).
        pooled: take the expected agreement from the labels of both together, as the shared tasks
            of machine translation and Grundkiewicz et al. (2015) do; by default from each one's.

    Returns:
        At most 1, 0 at chance; NaN without labels or where chance alone gives full agreement.

    Raises:
        OptionError: the shapes differ or are not one-dimensional.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.ndim != 1 or a.shape != b.shape:
        raise OptionError(f"labels of shapes {a.shape} and {b.shape}: expected two equal vectors")
    if len(a) == 0:
        return float("nan")
    labels = np.unique(np.concatenate([a, b]))
    share_a = (a[:, None] == labels).mean(axis=0)
    share_b = (b[:, None] == labels).mean(axis=0)
    if pooled:
        share_a = share_b = (share_a + share_b) / 2
    expected = float(share_a @ share_b)
    if len(labels) == 1:
        return float("nan")
    return (float((a == b).mean()) - expected) / (1 - expected)


@dataclass(frozen=True, slots=True)
class Kappa:
    """κ of annotators, pair by pair.

    Attributes:
        mean: unweighted mean over the pairs of annotators that have comparisons (over the
            annotators, for κ within them); NaN without any.
        weighted: mean weighted by the number of comparisons.
        values: κ of each pair of annotators, (a, a) for κ within one.
        counts: comparisons of each pair of annotators.
    """

    mean: float
    weighted: float
    values: dict[tuple[str, str], float]
    counts: dict[tuple[str, str], int]


def _labels(items: Sequence[RankedItem], within: bool) -> dict[str, dict[_Key, list[int]]]:
    """Judgments (-1, 0, 1) of each annotator on each pair of corrections of each sentence.

    Items that nothing can be compared with are left out: a rating of 2,000 systems has 2 million
    pairs.

    A correction is named by its systems as the file lists them, and a pair takes the two names in
    alphabetical order, which decides what counts as -1 and as 1.
    """
    found: dict[str, dict[_Key, list[int]]] = {item.annotator: {} for item in items}
    judged = Counter((item.sentence, item.annotator) for item in items)
    people = Counter(sentence for sentence, _ in judged)
    for item in items:
        others = judged[item.sentence, item.annotator] if within else people[item.sentence]
        if others < 2:
            continue
        mine = found[item.annotator]
        named = sorted(zip((" ".join(g) for g in item.groups), item.ranks, strict=True))
        for (a, rank_a), (b, rank_b) in combinations(named, 2):
            label = (rank_b > rank_a) - (rank_a > rank_b)
            mine.setdefault((item.sentence, a, b), []).append(label)
    return found


def annotator_kappa(items: Sequence[RankedItem], *, within: bool = False) -> Kappa:
    """κ between annotators, or within them, over pairs of corrections (unexpanded).

    The labels are better, worse and tie. Between two annotators each judgment of one is compared
    with each judgment of the other on the same pair of corrections of a sentence; within one, each
    two judgments of the same pair. The expected agreement comes from the labels of both together.
    The means over annotators give the figures of the SEEDA paper (table 3: between .28 and .41,
    within .61 and .71), the weighted means those of Grundkiewicz et al. (2015).

    Args:
        items: ranking items.
        within: compare annotators with themselves, on items that they judged more than once.

    Returns:
        κ by pair of annotators and its means.
    """
    labels = _labels(items, within)
    values: dict[tuple[str, str], float] = {}
    counts: dict[tuple[str, str], int] = {}
    duos = [(a, a) for a in labels] if within else list(combinations(labels, 2))
    for a, b in duos:
        if within:
            couples, pool = _repeated(labels[a])
        else:
            couples, pool = _crossed(labels[a], labels[b])
        if couples:
            values[a, b] = _pooled_kappa(couples, pool)
            counts[a, b] = len(couples)
    defined = [duo for duo, value in values.items() if not np.isnan(value)]
    if not defined:
        return Kappa(float("nan"), float("nan"), values, counts)
    kappas = np.array([values[duo] for duo in defined])
    weights = np.array([counts[duo] for duo in defined])
    return Kappa(float(kappas.mean()), float(np.average(kappas, weights=weights)), values, counts)


def _crossed(
    one: dict[_Key, list[int]], two: dict[_Key, list[int]]
) -> tuple[list[tuple[int, int]], list[int]]:
    """Every judgment of one with every judgment of the other, and all judgments involved."""
    couples: list[tuple[int, int]] = []
    pool: list[int] = []
    for key in one.keys() & two.keys():
        couples += [(a, b) for a in one[key] for b in two[key]]
        pool += one[key] + two[key]
    return couples, pool


def _repeated(one: dict[_Key, list[int]]) -> tuple[list[tuple[int, int]], list[int]]:
    """Every two judgments of the same pair, and all judgments involved."""
    couples: list[tuple[int, int]] = []
    pool: list[int] = []
    for labels in one.values():
        if len(labels) > 1:
            couples += combinations(labels, 2)
            pool += labels
    return couples, pool


def _pooled_kappa(couples: list[tuple[int, int]], pool: list[int]) -> float:
    """κ whose expected agreement comes from a pool of labels, each judgment counted once."""
    observed = sum(a == b for a, b in couples) / len(couples)
    expected = sum((pool.count(label) / len(pool)) ** 2 for label in (-1, 0, 1))
    return (observed - expected) / (1 - expected) if expected < 1 else float("nan")
