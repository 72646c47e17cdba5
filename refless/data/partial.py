"""Partly corrected sentences in order, made from parallel text: nobody has to judge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.corpus.languages.language import Language
from gecjury.refless.data.noise import spoil
from gecjury.refless.data.pairs import CorrectedPair

_REFERENCES = 2
"""Most corrections of one source that are used."""

_MOST_EDITS = 12
"""Most edits of a correction that is used; texts with more are often rewritten as a whole."""

_ERROR_RATE = 0.06
"""Probability of an added error at a token of a correction."""


@dataclass(frozen=True)
class PartialVersions:
    """A source and its versions by one correction, each different from the others.

    Attributes:
        texts: the source and its versions.
        points: by version, the correction's edits that are applied minus the errors that are added:
            more is better.
    """

    source: str
    texts: tuple[str, ...]
    points: tuple[float, ...]


def partly_corrected(
    corrections: Sequence[CorrectedPair], language: Language, seed: int
) -> Iterator[PartialVersions]:
    """Yield the source, its correction and versions between and below them.

    At most two random subsets of the edits are between them. In English, errors are also added to
    the correction by rule.

    Args:
        corrections: parallel text. At most two corrections of a source are drawn, with up to twelve
            edits each.
    """
    rng = np.random.default_rng(seed)
    by_source: dict[str, dict[str, CorrectedPair]] = {}
    for correction in corrections:
        if 0 < len(correction.edits) <= _MOST_EDITS:
            by_source.setdefault(correction.source, {})[correction.text()] = correction
    for source, several in by_source.items():
        drawn = rng.permutation(len(several))[:_REFERENCES]
        for correction in (list(several.values())[place] for place in drawn):
            count = len(correction.edits)
            points = {source: 0.0, correction.text(): float(count)}
            for _ in range(2 if count > 1 else 0):
                applied = rng.random(count) < rng.uniform(0.2, 0.8)
                points.setdefault(correction.text(applied.tolist()), float(applied.sum()))
            if language.code == "en":
                spoilt = spoil(correction.text(), rng, _ERROR_RATE)
                points.setdefault(spoilt.source, float(count - len(spoilt.edits)))
            points.pop("", None)
            if len(points) > 1:
                yield PartialVersions(source, tuple(points), tuple(points.values()))
