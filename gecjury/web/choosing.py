"""The choice of an annotator's next item: in order, at random, or the most informative."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError
from gecjury.metaeval.disagreement import sentence_views
from gecjury.studies.study import Work
from gecjury.web import Annotation
from gecjury.web.answers import ItemAnswer
from gecjury.web.tasks import Item

_SHARED = 4
"""Every so many items an annotator is asked one that another has answered, for the agreement."""

_MOST_CELLS = 20_000_000
"""Sets × pairs of systems that are looked at for each choice."""


People = Mapping[str, Sequence[ItemAnswer]]
"""All answers that stand, by annotator."""


Chooser = Callable[[str, Collection[str], People], str]
"""Returns the item that an annotator (the name) is asked next, among items that they have not
judged (their names, at least one)."""


def fixed_order(names: Sequence[str]) -> Chooser:
    """Return the chooser that asks all annotators in one order."""
    return lambda _, open_items, __: next(name for name in names if name in open_items)


class Settling:
    """A chooser of the set that, after the answers so far, does most to settle the ranking.

    How open a pair of systems is: with w wins, l losses and n comparisons so far, by all
    annotators, 2(1 − Φ(|w − l| / √(n + 1))) / √(n + 1): 1 for a pair that nobody has compared,
    less the more often it was and the clearer it came out. A set is worth the sum over its pairs
    of systems with different texts, divided by the number of texts, which have to be read. Every
    fourth item is one that another annotator has answered already, while there is any: without
    such items nobody would know how far annotators agree.
    """

    def __init__(self, items: Sequence[Item], systems: Sequence[str], seed: int) -> None:
        """Look at all sets once.

        Args:
            items: sets of corrections.
            systems: all systems.
            seed: decides between sets of equal worth.
        """
        pairs = len(systems) * (len(systems) - 1) // 2
        shuffled = np.random.default_rng(seed).permutation(len(items))
        # Of very many sets a part is looked at; more become possible as those are answered.
        self._items = [items[int(at)] for at in shuffled]
        self._at_once = max(_MOST_CELLS // max(pairs, 1), 1)
        self._places = {name: place for place, name in enumerate(systems)}
        self._pairs: dict[str, IntArray] = {}
        # What has been counted, so that an answer is looked at once.
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
            # Pairs that a set opens, for each text that has to be read.
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
        """Return how open each pair of systems is, a flat table of systems × systems."""
        from gecjury.stats.special import ndtr

        now = {(name, a.item): a for name, answers in people.items() for a in answers}
        for _, answer in self._counted.items() - now.items():
            self._count(answer, -1)
        for _, answer in now.items() - self._counted.items():
            self._count(answer, 1)
        self._counted = now
        # By the formula above, for all pairs at once.
        root = np.sqrt(self._seen + 1)
        return np.asarray(2 * (1 - ndtr(np.abs(self._lead) / root)) / root).ravel()

    def _count(self, answer: ItemAnswer, times: int) -> None:
        """Add an answer to what is counted, or take it away."""
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
        settings: the order as typed; None is `informative` where that is possible, else `random`.
        items: of the task, in the order of the file.
        corpus: what they are of.
        work: all outputs with the metrics that were named; None where none was.

    Raises:
        OptionError: `informative` has nothing to go by, or metrics that nothing reads.
    """
    order, task, seed = settings.order, settings.task, settings.seed
    # What is informative needs something to go by: metrics, or ranks that settle an order.
    if order is None:
        order = "informative" if work is not None or task == "rank" else "random"
    if work is not None and order != "informative":
        raise OptionError(f"--order {order} looks at no metric: leave out -m, or --order")
    if work is not None and len(work.scorers) < 2:
        raise OptionError(
            "-m: one metric cannot disagree; name two or more, or none to settle the ranking"
        )
    # Drawn before the choice of a kind, so that items of equal worth come in a random order too.
    shuffled = np.random.default_rng(seed).permutation(len(items))
    ordered = [items[int(at)] for at in shuffled] if order != "file" else list(items)
    if order == "informative" and work is None:
        if task != "rank":
            raise OptionError(
                f"--order informative: with --task {task} it needs metrics whose disagreement "
                "tells (-m A -m B); or take --order random"
            )
        return Settling(items, corpus.names, seed)
    if work is not None:
        # Sentences on which metrics disagree most; what they cannot score comes last.
        views = sentence_views(corpus, work.scores(), {})
        worth = {v.row: v.disagreement for v in views if not np.isnan(v.disagreement)}
        ordered.sort(key=lambda item: -round(worth.get(item.row, -1.0), 9))
    return fixed_order([item.id for item in ordered])
