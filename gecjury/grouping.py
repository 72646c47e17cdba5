"""Which hypotheses of a source are judged side by side when nothing prescribes it."""

from __future__ import annotations

import numpy as np

from gecjury.corpus import Corpus, Group

__all__ = ["distinct_groups"]


def distinct_groups(corpus: Corpus, size: int, seed: int) -> tuple[Group, ...]:
    """Put every distinct hypothesis of every source into groups of at most `size`.

    Systems with the same text share a place. More than `size` distinct texts are shuffled (the
    generator is seeded with `seed` and the sentence's index, so a sentence's groups do not depend
    on the others) and cut into groups that overlap by one text, so that their scales can be
    compared; the last group is filled up from the start.

    Args:
        corpus: sources and hypotheses.
        size: most places in a group, at least 2.
        seed: of the shuffling.
    """
    groups: list[Group] = []
    for row in range(len(corpus)):
        places: dict[str, list[str]] = {}
        for name, version in corpus.systems.items():
            places.setdefault(version.lines[row], []).append(name)
        systems = [tuple(names) for names in places.values()]
        if len(systems) > size:
            order = np.random.default_rng([seed, row]).permutation(len(systems))
            systems = [systems[index] for index in order]
        starts = range(0, max(len(systems) - 1, 1), max(size - 1, 1))
        for part, start in enumerate(starts):
            chosen = systems[start : start + size]
            if part:
                chosen += systems[: size - len(chosen)]
            groups.append(Group(f"{row}.{part}", row, tuple(chosen)))
    return tuple(groups)
