"""The choice of an annotator's next item: in order, at random, or the most informative."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import Corpus
from gecjury.metaeval.disagreement import sentence_views
from gecjury.stats.special import ndtr
from gecjury.studies.study import Work
from gecjury.web import Annotation
from gecjury.web.answers import ItemAnswer
from gecjury.web.tasks import Item

_SHARED = 4
"""One of this many items is one that another annotator has answered, to measure agreement."""

_MOST_CELLS = 20_000_000
"""Most sets × pairs of systems that are considered for each choice."""


People = Mapping[str, Sequence[ItemAnswer]]
"""All answers that were not taken back, by annotator."""


Chooser = Callable[[str, Collection[str], People], str]
"""A function that returns the next item of an annotator.

Its arguments are the annotator's name, the names of the items that they have not judged (at least
one), and all answers."""


def fixed_order(names: Sequence[str]) -> Chooser:
    """Return a chooser that asks all annotators in the same order."""
    return lambda _, open_items, __: next(name for name in names if name in open_items)


class Settling:
    """A chooser of the set that does most to settle the ranking, given the answers so far.

    A pair of systems with w wins, l losses and n comparisons so far, by all annotators, has an
    openness of 2(1 − Φ(|w − l| / √(n + 1))) / √(n + 1). It is 1 for a pair that nobody has
    compared, and falls with the number of comparisons and the clarity of their outcome. The value
    of a set is the sum over its pairs of systems with different texts, divided by the number of
    texts to read. Every fourth item is one that another annotator has already answered, as long as
    there is one: otherwise agreement between annotators could not be measured.
    """

    def __init__(self, items: Sequence[Item], systems: Sequence[str], seed: int) -> None:
        """Prepare the choice.

        Args:
            items: sets of corrections.
            seed: decides between sets of equal value.
        """
        pairs = len(systems) * (len(systems) - 1) // 2
        shuffled = np.random.default_rng(seed).permutation(len(items))
        # If there are very many sets, only some are considered; others follow as these are
        # answered.
        self._items = [items[int(at)] for at in shuffled]
        self._at_once = max(_MOST_CELLS // max(pairs, 1), 1)
        self._places = {name: place for place, name in enumerate(systems)}
        self._pairs: dict[str, IntArray] = {}
        # The answers counted so far, so that each is counted only once.
        self._counted: dict[tuple[str, str], ItemAnswer] = {}
        self._lead, self._seen = (np.zeros((len(systems),) * 2) for _ in range(2))

    def __call__(self, annotator: str, open_items: Collection[str], people: People) -> str:
        """Return the item to ask; see `Chooser`."""
        if len(people.get(annotator, ())) % _SHARED == _SHARED - 1:
            others = (a.item for name, mine in people.items() if name != annotator for a in mine)
            if shared := next((item for item in others if item in open_items), None):
                return shared
        chosen = [item for item in self._items if item.id in open_items][: self._at_once]
        open_pairs = self._open(people)
        best, most = chosen[0], -1.0
        for item in chosen:
            # Total openness of the pairs in the set, per text to read.
            worth = float(open_pairs[self._in(item)].sum()) / len(item.texts)
            if worth > most + 1e-12:
                best, most = item, worth
        return best.id

    def _in(self, item: Item) -> IntArray:
        """Return the pairs of systems with different texts in a set, as places in a flat table."""
        if item.id not in self._pairs:
            size = len(self._places)
            texts = [[self._places[name] for name in names] for names in item.systems]
            duos = [duo for one, two in combinations(texts, 2) for duo in product(one, two)]
            self._pairs[item.id] = np.unique([min(duo) * size + max(duo) for duo in duos])
        return self._pairs[item.id]

    def _open(self, people: People) -> FloatArray:
        """Return the openness of each pair of systems as a flat table of systems × systems."""
        now = {(name, a.item): a for name, answers in people.items() for a in answers}
        for _, answer in self._counted.items() - now.items():
            self._count(answer, -1)
        for _, answer in now.items() - self._counted.items():
            self._count(answer, 1)
        self._counted = now
        # The formula of the class, for all pairs at once.
        root = np.sqrt(self._seen + 1)
        return np.asarray(2 * (1 - ndtr(np.abs(self._lead) / root)) / root).ravel()

    def _count(self, answer: ItemAnswer, times: int) -> None:
        """Add an answer to the counts, or remove it with `times` -1."""
        ranked = list(zip(answer.systems, answer.values, strict=True))
        for (one, rank_one), (two, rank_two) in combinations(ranked, 2):
            won = times * ((rank_two > rank_one) - (rank_one > rank_two))
            for a, b in product(one, two):
                i, j = self._places[a], self._places[b]
                self._lead[i, j] += won
                self._lead[j, i] -= won
                self._seen[i, j] += times
                self._seen[j, i] += times


def chooser(
    settings: Annotation, items: Sequence[Item], corpus: Corpus, work: Work | None
) -> Chooser:
    """Return the chooser of the next item.

    Args:
        settings: an `order` of None means `informative` if that is possible, else `random`.
        items: the items of the task, in the order of the file.
        work: all outputs with the given metrics; None without metrics.

    Raises:
        OptionError: `informative` has no basis for a choice, or metrics are given that the order
            does not use.
    """
    order, task, seed = settings.order, settings.task, settings.seed
    # An informative choice needs a basis: metrics, or ranks that settle an order.
    if order is None:
        order = "informative" if work is not None or task == "rank" else "random"
    if work is not None and order != "informative":
        raise OptionError(f"--order {order} does not use metrics: leave out -m or --order")
    if work is not None and len(work.scorers) < 2:
        raise OptionError(
            "-m: one metric cannot disagree; name two or more, or none to settle the ranking"
        )
    # Shuffled first, so that items of equal value come in a random order, too.
    shuffled = np.random.default_rng(seed).permutation(len(items))
    ordered = [items[int(at)] for at in shuffled] if order != "file" else list(items)
    if order == "informative" and work is None:
        if task != "rank":
            raise OptionError(
                f"--order informative: with --task {task} it needs metrics that may disagree "
                "(-m A -m B); or use --order random"
            )
        return Settling(items, corpus.names, seed)
    if work is not None:
        # Sentences on which metrics disagree most come first; those without scores come last.
        views = sentence_views(corpus, work.scores(), {})
        worth = {v.row: v.disagreement for v in views if not np.isnan(v.disagreement)}
        ordered.sort(key=lambda item: -round(worth.get(item.row, -1.0), 9))
    return fixed_order([item.id for item in ordered])
