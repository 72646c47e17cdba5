"""Permutation tests, the correction for multiple tests, and significance clusters.

The docstring of `gecjury.stats` says which rule for p and for clusters applies where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import BLOCK, FloatArray, IntArray, NumberArray, blocks, settled
from gecjury.stats.correlation import MEASURES
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.resampling import PERMUTATIONS

_CHUNK = 1000  # permutations of cells whose random bits are drawn together
_TAIL = 10
"""p comes from a normal curve if fewer permutations than this exceed the observed difference."""

_FITTED = 100  # least permutations that the curve is fitted to
_MOST_R = 1 - 1e-8  # Fisher's z of a perfect correlation would be infinite
_LEAST_SLOPE = 1e-6  # of a metric on human scores, both with standard deviation 1
_MOST_T = 1e6  # the standard error is 0 if leaving out any system does not change the difference


def permutation_signs(
    width: int, permutations: int = PERMUTATIONS, seed: int | np.random.Generator = 0
) -> tuple[FloatArray, bool]:
    """Return signs: −1 for each of `width` pairs that a permutation swaps, 1 for the others.

    Args:
        width: number of pairs.
        permutations: K; if 2^width is not more, all permutations are listed instead.

    Returns:
        Signs, K × width, and whether they are all possible permutations.
    """
    if width < 60 and 2**width <= permutations:
        numbers = np.arange(2**width)[:, None]
        return _signs((numbers >> np.arange(width)) & 1), True
    packed = packed_signs(permutations, width, np.random.default_rng(seed))
    return unpacked_signs(packed, width), False


def _signs(swapped: NumberArray) -> FloatArray:
    """Return −1 for 1, and 1 for 0; computed in single bytes, to move an eighth of the memory."""
    return (1 - 2 * swapped.astype(np.int8)).astype(np.float64)


def share_at_least(null: FloatArray, observed: FloatArray, exact: bool) -> FloatArray:
    """Return two-sided p: how often permuted statistics are at least as extreme as the observed.

    Args:
        null: K × tests; NaN is left out.
        observed: shape (tests,).
        exact: True if `null` contains every permutation. If not, the observed one is counted too,
            (count + 1)/(K + 1), so that p is never 0 (Phipson and Smyth 2010).

    Returns:
        Shape (tests,); NaN where the observed or every permuted statistic is.
    """
    null, observed = np.abs(null), np.abs(observed)
    defined = (~np.isnan(null)).sum(axis=0)
    # Values that differ only by rounding are equal: permutations that change nothing must count.
    slack = 1e-9 * np.fmax(observed, np.fmax.reduce(null, axis=0, initial=0.0))
    count = (null >= observed - slack).sum(axis=0)
    p = ratio(count, defined, np.nan) if exact else (count + 1) / (defined + 1)
    return np.where((defined == 0) | np.isnan(observed), np.nan, p)


def tail_p(
    null: FloatArray, observed: FloatArray, exact: bool, swapped: IntArray | int = 1_000
) -> FloatArray:
    """Return two-sided p; small values come from a normal curve fitted to the permuted differences.

    With K permutations no counted p is below 1/(K + 1), and Holm's correction multiplies the least
    p of 105 tests (15 systems) by 105. Differences of corpus scores under random swaps are sums of
    many small parts, so their tail beyond the last permutations is assumed to be normal. It ends at
    the least p that all permutations can give, and is not fitted to fewer than a hundred.

    Args:
        null: K × tests; NaN is left out.
        observed: shape (tests,); NaN if not tested.
        exact: True if `null` contains every permutation.
        swapped: n, the pairs whose swap changes a test's difference: its least p is 2/2^n.

    Returns:
        Shape (tests,); NaN where `share_at_least` is.
    """
    from gecjury.stats.special import ndtr

    counted = share_at_least(null, observed, exact)
    spread = np.sqrt(defined_mean(null**2, 0))
    smooth = 2 * ndtr(-np.abs(observed) / np.where(spread > 0, spread, np.inf))
    fitted = not exact and len(null) >= _FITTED
    rare = (counted * (len(null) + 1) <= _TAIL) & (spread > 0) & fitted
    least = np.minimum(2.0 ** (1 - np.asarray(swapped)), 1.0)
    return np.maximum(np.where(rare, np.minimum(counted, smooth), counted), least)


def swapped_means(differences: FloatArray, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean differences of two systems when they swap their outputs of some sentences.

    Args:
        differences: the differences of sentence scores, sentences × tests; NaN is left out.
        signs: K × sentences; −1 swaps a sentence.

    Returns:
        Permuted differences, K × tests, and observed ones, shape (tests,); NaN without sentences.
    """
    scored = ~np.isnan(differences)
    total = np.where(scored.any(axis=0), scored.sum(axis=0), np.nan)
    held = np.where(scored, differences, 0.0)
    return signs @ held / total, held.sum(axis=0) / total


def approximate_randomisation(
    mixed: Callable[[IntArray], FloatArray], signs: FloatArray
) -> FloatArray:
    """Return differences of corpus scores when two systems swap their outputs of some sentences.

    Args:
        mixed: returns the corpus scores of B mixed outputs, B × pairs of systems. Its argument,
            B × sentences, is the system (0 or 1) from which each sentence is taken.
        signs: K × sentences; −1 swaps a sentence.

    Returns:
        K × pairs.
    """
    swapped = signs < 0
    scores = mixed(np.concatenate([swapped, ~swapped]).astype(np.int64))
    return scores[: len(signs)] - scores[len(signs) :]


def symmetric(size: int, pairs: Sequence[tuple[int, int]], values: FloatArray) -> FloatArray:
    """Return a size × size matrix with each pair's value in both its cells, and NaN elsewhere."""
    matrix = np.full((size, size), np.nan)
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    matrix[first, second] = matrix[second, first] = values
    return matrix


def defined_pairs(values: FloatArray) -> list[tuple[int, int]]:
    """Return all pairs of places whose values are both defined."""
    return list(combinations(np.flatnonzero(~np.isnan(values)).tolist(), 2))


def perm_both(
    human: FloatArray,
    cells: Sequence[FloatArray],
    *,
    statistic: str = "pearson",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """Test whether metrics correlate differently with humans (PERM-BOTH, Deutsch et al. 2021).

    Both metrics' cells (a system on a sentence) are standardised, every cell is swapped between
    the two metrics with probability one half, and the difference of the correlations is computed
    again. The test treats the set of systems as fixed; `perm_systems` lets systems vary.

    Before cells are swapped, the effect of a sentence on all systems is subtracted
    (`within_sentences`): it does not change any correlation, but swapping it adds noise that hides
    differences.

    Args:
        human: human scores of the systems, shape (S,).
        cells: for each of M metrics a table S × N; a system's score is the mean of its row. NaN
            leaves the cell out, for both metrics of a comparison.
        statistic: `pearson`, `spearman`, `kendall` or `pairwise_accuracy`.
        permutations: number of permutations; all 2^(S·N) are used if there are not more.
        seed: the seed of the permutations.

    Returns:
        The statistic of each metric, shape (M,), and two-sided p, M × M, NaN on the diagonal and
        where a correlation is not defined; see `p_of_order`.
    """
    measure = MEASURES[statistic]
    row, size = human[None], len(cells)
    if human.size < 3:
        return np.full(size, np.nan), np.full((size, size), np.nan)
    means = (defined_mean(standardise(table), 1) for table in cells)
    values = np.array([measure(row, mean[None])[0] for mean in means])
    duels = defined_pairs(values)
    if not duels:
        return values, np.full((size, size), np.nan)
    systems, width = cells[0].shape
    middle, halves = _halves([standardise(within_sentences(table)) for table in cells], duels)
    observed = _difference(measure, row, middle, halves.sum(axis=1))

    def difference(signs: FloatArray) -> FloatArray:
        swing = np.stack([signs[:, system] @ halves[system] for system in range(systems)])
        # A permutation that leaves a metric constant shows no difference.
        return np.nan_to_num(_difference(measure, row, middle, swing))

    null, exact = swapped_cells(difference, systems, width, permutations, seed, chunk=_CHUNK)
    first, second = np.array(duels).T
    p = share_at_least(null, observed, exact)
    return values, symmetric(size, duels, p_of_order(p, values[first] - values[second], observed))


def perm_systems(
    human: FloatArray,
    scores: FloatArray,
    *,
    statistic: str = "pearson",
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    at_once: int = BLOCK,
) -> tuple[FloatArray, FloatArray]:
    """Test whether metrics correlate differently with humans, for other systems as well (PERM-SYS).

    Under the null hypothesis the two metrics' errors on a system are exchangeable, so the test
    swaps whole systems between them. Metrics have no common location and scale, so both must be
    estimated. If one misjudged system moves the estimate (as with mean and standard deviation),
    the test rejects too often where errors are skewed or have heavy tails: no swap of that system
    repeats the estimate. So the scores are measured from the metric's Theil-Sen line on human
    scores, in standard deviations.

    Pearson's r is compared by the difference of Fisher's z divided by its jackknife standard error,
    so that each permutation is measured by its own spread (Janssen 1997; DiCiccio and Romano 2017).
    Its test is repeated in units of the line's slope, and the larger p is used. The rank statistics
    are bounded, and are compared as they are.

    Args:
        human: human scores of the systems, shape (S,).
        scores: scores of M metrics, M × S.
        statistic: `pearson`, `spearman`, `kendall` or `pairwise_accuracy`.
        permutations: number of permutations; all 2^(S − 1) different ones if there are not more.
        seed: the seed of the permutations.
        at_once: elements of an array in memory at once; there are a dozen such arrays.

    Returns:
        The statistic of each metric, shape (M,), and two-sided p, M × M, NaN on the diagonal and
        where a correlation is not defined.
    """
    measure = MEASURES[statistic]
    size, systems = scores.shape
    if systems < 3:
        return np.full(size, np.nan), np.full((size, size), np.nan)
    values = measure(human[None], scores)
    duels = defined_pairs(values)
    # Swapping a set of systems and swapping all the others give the same two metrics, so the first
    # system is never swapped.
    signs, exact = permutation_signs(systems - 1, permutations, seed)
    signs = np.hstack([np.ones((len(signs), 1)), signs])
    aligned = {row: _aligned(human, scores[row]) for row in {row for duel in duels for row in duel}}
    compare: Callable[[FloatArray, FloatArray, FloatArray], FloatArray] = _studentised_gap
    if statistic != "pearson":
        # With one unit the rank statistics already keep their level; two would cost power.
        compare = _plain_gap(measure)
        aligned = {row: units[1:] for row, units in aligned.items()}
    p = np.empty(len(duels))
    for number, (i, j) in enumerate(duels):
        observed = compare(human, scores[i][None], scores[j][None])
        shares = []
        for first, second in zip(aligned[i], aligned[j], strict=True):
            middle, half = (first + second) / 2, (first - second) / 2
            # All permutations of 200 systems fit in one block; thousands would need gigabytes.
            null = np.concatenate(
                [
                    compare(human, middle + signs[rows] * half, middle - signs[rows] * half)
                    for rows in blocks(len(signs), systems, at_once)
                ]
            )
            shares.append(share_at_least(null[:, None], observed, exact)[0])
        p[number] = max(shares)
    return values, symmetric(size, duels, p)


def theil_sen(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of the Theil-Sen line: the median of the slopes between two points.

    The result is bit for bit that of `scipy.stats.theilslopes`, without importing `scipy.stats`.

    Args:
        x: shape (S,), not all the same.
        y: shape (S,).
    """
    across = x[:, None] - x
    rising = across > 0
    return float(np.median((y[:, None] - y)[rising] / across[rising]))


def _aligned(human: FloatArray, scores: FloatArray) -> tuple[FloatArray, ...]:
    """Return a metric's scores in units of its slope on human scores, and in standard deviations.

    Both are 0 where the metric's Theil-Sen line meets the mean human score. The direction is kept:
    a metric that falls as human scores rise still does so.
    """
    x = human - human.mean()
    slope = theil_sen(x, scores)
    centred = scores - np.median(scores - slope * x)
    flattest = _LEAST_SLOPE * scores.std() / human.std()
    return centred / max(abs(slope), flattest), centred / scores.std()


def _plain_gap(
    measure: Callable[[FloatArray, FloatArray], FloatArray],
) -> Callable[[FloatArray, FloatArray, FloatArray], FloatArray]:
    """Return a function that computes the difference of two metrics' statistics, row by row."""

    def gap(human: FloatArray, one: FloatArray, two: FloatArray) -> FloatArray:
        rows = np.broadcast_to(human, one.shape)
        # A permutation that leaves a metric constant shows no difference.
        return np.nan_to_num(measure(rows, one) - measure(rows, two))

    return gap


def _studentised_gap(human: FloatArray, one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the difference of two metrics' Fisher's z divided by its jackknife standard error.

    Args:
        human: shape (S,).
        one: scores of a metric in K permutations, K × S.
        two: scores of the other metric, K × S.

    Returns:
        Shape (K,); 0 where a metric is constant.
    """
    systems = len(human)
    (whole_one, parts_one), (whole_two, parts_two) = (_fisher_z(human, side) for side in (one, two))
    gap, parts = whole_one - whole_two, parts_one - parts_two
    away = parts - parts.mean(axis=1, keepdims=True)
    error = np.sqrt((systems - 1) / systems * (away**2).sum(axis=1))
    bounded = np.maximum(error, np.abs(gap) / _MOST_T)
    studentised: FloatArray = np.divide(gap, bounded, out=np.zeros(len(gap)), where=bounded > 0)
    return studentised


def _fisher_z(human: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return Fisher's z of r with human scores, K, and of r without each of the systems, K × S."""
    x = human - human.mean()
    y = scores - scores.mean(axis=1, keepdims=True)
    sums = (x @ x, (y**2).sum(axis=1), y @ x)
    # Without a system s the deviations are d_i + d_s / (S - 1). Their sums of products are smaller
    # by S / (S - 1) times the product of s.
    lost = len(human) / (len(human) - 1)
    rest = (sums[0] - lost * x**2, sums[1][:, None] - lost * y**2, sums[2][:, None] - lost * x * y)
    return _z_of(*sums), _z_of(*rest)


def _z_of(xx: FloatArray, yy: FloatArray, xy: FloatArray) -> FloatArray:
    """Return Fisher's z of r from sums of squares and products; 0 where r is not defined."""
    scale = np.sqrt(np.maximum(xx * yy, 0.0))
    # Where the sums cancel, only rounding errors are left.
    r = np.divide(xy, scale, out=np.zeros(np.shape(xy)), where=scale > 1e-12 * np.max(scale))
    z: FloatArray = np.arctanh(np.clip(r, -_MOST_R, _MOST_R))
    return z


def standardise(table: FloatArray) -> FloatArray:
    """Return scores minus their mean, in standard deviations; 0 if constant, NaN stays NaN.

    Returns:
        An array of the table's shape.
    """
    defined = table[~np.isnan(table)]
    spread = float(defined.std()) if len(defined) else 0.0
    # The deviation of equal numbers may be a rounding error of their mean.
    if not spread > 1e-12 * np.abs(defined).max(initial=0.0):
        return table * 0.0
    scaled: FloatArray = (table - defined.mean()) / spread
    return scaled


def within_sentences(table: FloatArray) -> FloatArray:
    """Return cells minus their sentence's mean, rescaled to keep their variance.

    A sentence's mean over S systems contains part of every cell's own noise. The remaining variance
    is only (S − 1)/S as large, and a test that swaps these values would reject too often,
    especially with few systems. Scaling by √(S/(S − 1)) restores the level
    (`python -m speed calibration` shows both); differences of system means are kept.

    Args:
        table: systems × sentences, NaN where there is no cell.

    Returns:
        An array of the same shape.
    """
    defined = ~np.isnan(table)
    count = defined.sum(axis=0)
    sums = np.where(defined, table, 0.0).sum(axis=0)
    centred = table - ratio(sums, count, 0.0)
    means = defined_mean(centred, 1)[:, None]
    drawn = np.sqrt(np.divide(count, count - 1, out=np.zeros(len(count)), where=count > 1))
    rest = (centred - means) * drawn
    rescaled: FloatArray = means + rest - np.nan_to_num(defined_mean(rest, 1))[:, None]
    return rescaled


def _halves(
    scaled: Sequence[FloatArray], duels: Sequence[tuple[int, int]]
) -> tuple[FloatArray, FloatArray]:
    """Return each duel's mean of both metrics by system, and half the differences of cells.

    Returns:
        Arrays of shapes (S, duels) and (S, N, duels); the latter is divided by the number of the
        row's cells.
    """
    systems, width = scaled[0].shape
    middle = np.empty((systems, len(duels)))
    halves = np.empty((systems, width, len(duels)))
    for number, (i, j) in enumerate(duels):
        x, y = scaled[i], scaled[j]
        scored = ~(np.isnan(x) | np.isnan(y))
        counts = np.where(scored.any(axis=1), scored.sum(axis=1), np.nan)[:, None]
        middle[:, number] = (np.where(scored, x + y, 0.0) / 2 / counts).sum(axis=1)
        halves[:, :, number] = np.where(scored, x - y, 0.0) / 2 / counts
    return middle, halves


def _difference(
    measure: Callable[[FloatArray, FloatArray], FloatArray],
    human: FloatArray,
    middle: FloatArray,
    swing: FloatArray,
) -> FloatArray:
    """Return the difference of both correlations by duel (last axis); `swing`: S × ... × duels."""
    shape = swing.shape[1:]
    centre = middle if swing.ndim == 2 else middle[:, None, :]
    left = (centre + swing).reshape(len(middle), -1).T
    right = (centre - swing).reshape(len(middle), -1).T
    rows = np.broadcast_to(human, left.shape)
    return (measure(rows, left) - measure(rows, right)).reshape(shape)


def swapped_cells(
    difference: Callable[[FloatArray], FloatArray],
    systems: int,
    width: int,
    permutations: int,
    seed: int,
    *,
    chunk: int,
    at_once: int = 8 * BLOCK,
) -> tuple[FloatArray, bool]:
    """Return differences of metrics after swaps of cells, K × duels, and whether these are all.

    Args:
        difference: from signs, permutations × systems × sentences, to permutations × duels.
        systems: number of systems, the rows of the table of cells.
        width: number of sentences.
        permutations: K; if there are not more in all, each is used once.
        seed: the seed of the signs.
        chunk: permutations whose random bits are drawn together; the signs depend on it.
        at_once: array elements in memory at once; no result depends on it.
    """
    if systems * width < 60 and 2 ** (systems * width) <= permutations:
        signs, _ = permutation_signs(systems * width, permutations)
        return difference(signs.reshape(-1, systems, width)), True
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, permutations, chunk):
        size = min(chunk, permutations - start)
        # All bits of a chunk are drawn together, whatever `at_once` is; they need little memory.
        packed = [packed_signs(size, width, rng) for _ in range(systems)]
        for rows in blocks(size, systems * width, at_once):
            drawn = [unpacked_signs(bits[rows], width) for bits in packed]
            parts.append(difference(np.stack(drawn, axis=1)))
    return np.concatenate(parts), False


def packed_signs(size: int, width: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return random signs as bits, eight in a byte, for `unpacked_signs`."""
    return rng.integers(256, size=(size, -(-width // 8)), dtype=np.uint8)


def unpacked_signs(packed: NDArray[np.uint8], width: int) -> FloatArray:
    """Return signs, rows × width, from their bits."""
    return _signs(np.unpackbits(packed, axis=1, count=width))


def holm(p: FloatArray) -> FloatArray:
    """Adjust p values for multiple tests by Holm's step-down procedure.

    Args:
        p: shape (tests,); NaN if not tested, which is not counted.

    Returns:
        Adjusted p: rejecting those that are at most α keeps the probability of any false rejection
        below α.
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def holm_matrix(p: FloatArray) -> FloatArray:
    """Return Holm's adjustment of the tests in a symmetric matrix, each of them counted once.

    Returns:
        Metrics × metrics like `p`; NaN on the diagonal.
    """
    pairs = np.triu_indices(len(p), 1)
    return symmetric(len(p), list(zip(*pairs, strict=True)), holm(p[pairs]))


def p_of_order(p: FloatArray, shown: FloatArray, tested: FloatArray | None = None) -> FloatArray:
    """Return p of differences with the sign that is shown: 1 where the one tested has the other.

    A test compares two metrics or systems where both have scores, so if scores are missing, the
    tested difference may contradict the one shown.

    Args:
        p: two-sided p, of any shape.
        shown: the differences that are shown.
        tested: the differences tested; the same by default.
    """
    return p if tested is None else np.where(shown * tested < 0, 1.0, p)


def cluster_ranks(values: FloatArray, p: FloatArray, level: float = 0.05) -> list[int | None]:
    """Return significance clusters as in the metrics tasks of WMT: 1 for the best.

    From the best value down, a new cluster begins with the first metric that is significantly worse
    than any member of the current one. Metrics of equal value are in the same cluster, whatever
    their order: a new one begins with all of them if any of them is significantly worse.

    Args:
        values: the values compared, higher is better; NaN belongs to no cluster.
        p: symmetric matrix of (adjusted) p values.
        level: the level of significance.

    Returns:
        The cluster of each metric, None without one.
    """
    clusters: list[int | None] = [None] * len(values)
    members: list[int] = []
    rank = 0
    compared = settled(values)
    for value in sorted(set(compared[~np.isnan(compared)].tolist()), reverse=True):
        # Metrics of equal value enter together, whatever their order in the table.
        alike = np.flatnonzero(compared == value).tolist()
        if not members or (p[np.ix_(alike, members)] <= level).any():
            members = []
            rank += 1
        members += alike
        for index in alike:
            clusters[index] = rank
    return clusters


def rank_ranges(
    scores: FloatArray, p: FloatArray, level: float = 0.05
) -> tuple[tuple[int, int] | None, ...]:
    """Return the range of ranks that the tests leave open, as in the translation tasks of WMT.

    The best rank is one more than the number of systems that are significantly better. The worst is
    the number of systems minus those that are significantly worse.

    Args:
        scores: the scores of each system, higher is better; NaN has no rank.
        p: symmetric matrix of (adjusted) p values.
        level: the level of significance.
    """
    scored = ~np.isnan(scores)
    significant = np.nan_to_num(p, nan=1.0) <= level
    ranges: list[tuple[int, int] | None] = []
    for row, score in enumerate(scores):
        if not scored[row]:
            ranges.append(None)
            continue
        better = int(np.count_nonzero(significant[row] & scored & (scores > score)))
        worse = int(np.count_nonzero(significant[row] & scored & (scores < score)))
        ranges.append((better + 1, int(scored.sum()) - worse))
    return tuple(ranges)


def wmt_clusters(
    scores: FloatArray, ranks: Sequence[tuple[int, int] | None]
) -> tuple[int | None, ...]:
    """Return clusters, with a border where every rank range above ends before all below begin.

    So every system of a cluster is significantly better than every system of the clusters below.

    Args:
        scores: the scores of each system.
        ranks: the ranges of `rank_ranges`.
    """
    order = [
        row for row in np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable").tolist()
        if ranks[row] is not None
    ]  # fmt: skip
    clusters: list[int | None] = [None] * len(scores)
    cluster, reach = 0, 0
    for place, row in enumerate(order):
        low = min(span[0] for span in (ranks[other] for other in order[place:]) if span)
        if place == 0 or low > reach:
            cluster += 1
        span = ranks[row]
        reach = max(reach, span[1] if span else 0)
        clusters[row] = cluster
    return tuple(clusters)
