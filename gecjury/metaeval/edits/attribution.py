"""Edit attribution: the contribution of each edit to a sentence score.

It works with any metric that scores each sentence separately. v(A) is the score of the source with
the edits A applied, and E is the set of all edits:

    remove    v(E) − v(E without e)
    add       v({e}) − v(∅)
    shapley   mean of v(A with e) − v(A) over the orders in which edits may be applied

Shapley values add up to v(E) − v(∅); for the other two the gap is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import factorial
from operator import or_

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.scoring.scorer import Scorer
from gecjury.stats.choices import AttributionMethod

EXACT_LIMIT = 10  # most edits for exact Shapley values, which need up to 2¹⁰ = 1,024 scores


@dataclass(frozen=True)
class Attribution:
    """The contributions of a hypothesis' edits to its sentence score.

    Attributes:
        method: `remove`, `add` or `shapley`.
        edits: all edits of the hypothesis, from left to right.
        values: one number per edit; NaN where a score was missing.
        errors: standard errors of sampled values; 0 where they are exact.
        empty: score of the uncorrected source.
        full: score of the hypothesis.
        scored: number of different subsets of edits that were scored.
        exact: False if Shapley values were sampled.
    """

    method: AttributionMethod
    edits: tuple[Edit, ...]
    values: FloatArray
    errors: FloatArray
    empty: float
    full: float
    scored: int
    exact: bool

    @property
    def difference(self) -> float:
        """Score of the hypothesis minus score of the source: the difference to be explained."""
        return self.full - self.empty

    @property
    def gap(self) -> float:
        """Distance of the attributions' sum from the difference; 0 for a faithful method."""
        return self.difference - float(self.values.sum())

    @property
    def faithful(self) -> bool:
        """True if the attributions sum to the difference within 1e-9."""
        return abs(self.gap) <= 1e-9


def attribute(
    scorer: Scorer,
    source: str,
    edits: Sequence[Edit],
    references: Sequence[Version] = (),
    *,
    method: AttributionMethod = "shapley",
    samples: int = 200,
    seed: int = 0,
    runtime: Runtime | None = None,
    language: Language = ENGLISH,
) -> Attribution:
    """Attribute a sentence score to the edits of its hypothesis.

    Args:
        scorer: any metric whose scores do not depend on other systems.
        source: tokens split on white space.
        edits: the hypothesis' edits; they must not overlap.
        references: one-line versions.
        method: an `AttributionMethod`; the module's docstring describes them.
        samples: orders drawn if there are more than `EXACT_LIMIT` edits (rounded up to an even
            number, since each order is also used backwards).
        seed: the seed of the orders.
        runtime: device, caches, progress.

    Raises:
        OptionError: the metric compares systems with each other.
    """
    if scorer.joint or "rivals" in scorer.needs:
        raise OptionError(
            f"{scorer.name} scores hypotheses side by side, so no score belongs to one set of "
            "edits; use a metric that scores each hypothesis separately"
        )
    ordered = tuple(sorted(edits, key=lambda edit: (edit.start, edit.end)))
    count = len(ordered)
    subsets = Subsets.plan(count, method, samples, seed)
    full = (1 << count) - 1
    # Source and hypothesis are always scored: credits are compared with their difference.
    masks = sorted({0, full, *subsets.masks})
    corpus = Corpus(
        (source,),
        {str(mask): _version(source, ordered, mask) for mask in masks},
        tuple(references),
        language=language,
    )
    scores = scorer.score_corpus(corpus, runtime).sentences[:, 0]
    value = dict(zip(masks, scores.tolist(), strict=True))
    values, errors = subsets.credit(value)
    return Attribution(
        method, ordered, values, errors, value[0], value[full], len(masks), subsets.orders is None
    )


@dataclass(frozen=True)
class Subsets:
    """The subsets of a hypothesis' edits to be scored, and the credit computed from them.

    A subset is a bit mask: bit i represents the i-th edit.

    Attributes:
        method: `remove`, `add` or `shapley`.
        count: number of edits.
        orders: orders drawn for sampled Shapley values; None if nothing is sampled.
    """

    method: AttributionMethod
    count: int
    orders: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def plan(
        cls, count: int, method: AttributionMethod, samples: int = 200, seed: int = 0
    ) -> Subsets:
        """Choose the subsets to score; the arguments are those of `attribute`."""
        if method != "shapley" or count <= EXACT_LIMIT:
            return cls(method, count)
        drawn = _orders(count, samples, np.random.default_rng(seed))
        return cls(method, count, tuple(map(tuple, drawn)))

    @property
    def masks(self) -> tuple[int, ...]:
        """Return the subsets that `credit` reads, in ascending order."""
        if self.orders is not None:
            return tuple(sorted({0, *(m for order in self.orders for m in _prefixes(order))}))
        if self.method == "shapley":
            return tuple(range(1 << self.count))
        return tuple(sorted({self._base, *(self._base ^ 1 << i for i in range(self.count))}))

    @property
    def _base(self) -> int:
        """The subset that all others are compared with: no edit, or every edit."""
        return 0 if self.method == "add" else (1 << self.count) - 1

    def credit(self, value: Mapping[int, float]) -> tuple[FloatArray, FloatArray]:
        """Return the credit of each edit and its standard error (0 if nothing is sampled).

        Args:
            value: score by subset; subsets that are not in `masks` are ignored.

        Returns:
            Two arrays of shape (edits,).
        """
        count, errors = self.count, np.zeros(self.count)
        if self.method != "shapley":
            base = value[self._base]
            others = np.array([value[self._base ^ 1 << i] for i in range(count)])
            return (others - base if self.method == "add" else base - others), errors
        if self.orders is not None:
            return _sampled(value, self.orders)
        return _exact(np.array([value[mask] for mask in self.masks]), count), errors


def _version(source: str, edits: Sequence[Edit], mask: int) -> Version:
    chosen = tuple(edit for place, edit in enumerate(edits) if mask >> place & 1)
    return Version((" ".join(apply_edits(source.split(), chosen)),), (chosen,))


def _exact(scores: FloatArray, count: int) -> FloatArray:
    """Return exact Shapley values from the scores of all subsets, by bit mask."""
    masks = np.arange(1 << count)
    sizes = np.array([int(mask).bit_count() for mask in masks])
    weights = np.array(
        [factorial(s) * factorial(count - s - 1) / factorial(count) for s in range(count)]
    )
    values = np.zeros(count)
    for place in range(count):
        # Compare every subset without the edit with the same subset plus the edit.
        without = masks[masks >> place & 1 == 0]
        gains = scores[without | 1 << place] - scores[without]
        values[place] = (weights[sizes[without]] * gains).sum()
    return values


def _orders(count: int, samples: int, rng: np.random.Generator) -> list[list[int]]:
    """Return random orders, each followed by its reverse (antithetic pairs, which vary less)."""
    orders = []
    for _ in range((samples + 1) // 2):
        order = rng.permutation(count).tolist()
        orders += [order, order[::-1]]
    return orders


def _prefixes(order: Sequence[int]) -> list[int]:
    return list(accumulate((1 << place for place in order), or_))


def _sampled(
    value: Mapping[int, float], orders: Sequence[Sequence[int]]
) -> tuple[FloatArray, FloatArray]:
    """Return mean gains over the orders, and standard errors over pairs of orders."""
    gains = np.zeros((len(orders), len(orders[0])))
    for row, order in enumerate(orders):
        before = 0
        for place, mask in zip(order, _prefixes(order), strict=True):
            gains[row, place] = value[mask] - value[before]
            before = mask
    # An order and its reverse are not independent, so their mean is one observation.
    pairs = gains.reshape(-1, 2, gains.shape[1]).mean(axis=1)
    spread = pairs.std(axis=0, ddof=1) if len(pairs) > 1 else np.full(gains.shape[1], np.nan)
    errors: FloatArray = spread / np.sqrt(len(pairs))
    return gains.mean(axis=0), errors
