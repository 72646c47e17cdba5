"""Groups of hypotheses to be judged side by side, where the data defines none."""

from __future__ import annotations

from functools import partial

import numpy as np

from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.fingerprints import fingerprint


def distinct(corpus: Corpus, row: int) -> dict[str, list[str]]:
    """Return the distinct corrections of a source, each with the systems that made it."""
    systems: dict[str, list[str]] = {}
    for name, version in corpus.systems.items():
        systems.setdefault(version.lines[row], []).append(name)
    return systems


def distinct_groups(
    corpus: Corpus, size: int, seed: int, *, drawn: bool = False
) -> tuple[Group, ...]:
    """Put every distinct hypothesis of every source into groups of at most `size`.

    Systems with the same text share a place. More than `size` distinct texts are shuffled (the
    generator is seeded with `seed` and the sentence's index, so a sentence's groups do not depend
    on the others) and cut into groups that overlap by one text, so that their scales can be
    compared; the last group is filled up from the start.

    Args:
        corpus: sources and hypotheses.
        size: maximum number of places in a group, at least 2.
        seed: seed of the shuffling.
        drawn: shuffle the texts of every sentence using only `seed`, the source and the texts, so
            that neither the order of the systems nor the place in the corpus matters.
    """
    groups: list[Group] = []
    for row in range(len(corpus)):
        places = distinct(corpus, row)
        texts = list(places)
        if drawn:
            texts.sort(key=partial(_drawn_rank, seed, corpus.sources[row]))
        elif len(texts) > size:
            order = np.random.default_rng([seed, row]).permutation(len(texts))
            texts = [texts[index] for index in order]
        systems = [tuple(places[text]) for text in texts]
        # Neighbouring groups share one text, so that their scales can be compared.
        starts = range(0, max(len(systems) - 1, 1), max(size - 1, 1))
        for part, start in enumerate(starts):
            chosen = systems[start : start + size]
            if part:
                chosen += systems[: size - len(chosen)]
            groups.append(Group(f"{row}.{part}", row, tuple(chosen)))
    return tuple(groups)


def _drawn_rank(seed: int, source: str, text: str) -> str:
    return fingerprint([str(seed), source, text])
