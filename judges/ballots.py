"""The protocols: which questions a candidate set turns into, and what their answers say of it.

- *listwise* (`gecjury.judges.listwise`): all corrections of a set at once, in `orders`
  permutations;
- *pointwise* (`gecjury.judges.pointwise`): each correction by itself;
- *pairwise* (`gecjury.judges.pairwise`): every two corrections of a set against each other.

Every answer is a ballot: scores of some corrections of one set. A correction's score is the mean
over its ballots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.judges.asking import Answer, Question
from gecjury.judges.reply import Failure

__all__ = ["Ballot", "Counted", "count_ballots"]


@dataclass(frozen=True)
class Ballot:
    """One question about some corrections of one candidate set.

    Attributes:
        set: number of the candidate set.
        texts: index in the set of the correction at each position.
        order: number of the permutation.
        repeat: number of the repetition.
        question: what is asked; equal questions of different sets are asked once.
    """

    set: int
    texts: tuple[int, ...]
    order: int
    repeat: int
    question: Question


@dataclass(frozen=True)
class Counted:
    """A ballot with its answer: a score for each position, or what went wrong."""

    ballot: Ballot
    scores: tuple[float, ...] | Failure


def count_ballots(
    ballots: Sequence[Ballot], answers: Mapping[str, Answer], sizes: Sequence[int]
) -> tuple[list[Counted], list[list[float]]]:
    """Put ballots and answers together.

    Args:
        ballots: of one member.
        answers: by the question's key; a value is one score a position.
        sizes: how many corrections each candidate set has.

    Returns:
        The ballots with their scores, and for each set the mean score of each correction; NaN
        where no ballot of it could be read.
    """
    counted = []
    sums = [np.zeros(size) for size in sizes]
    counts = [np.zeros(size) for size in sizes]
    for ballot in ballots:
        value = answers[ballot.question.request.key].value
        scores = value if isinstance(value, Failure) else tuple(float(v) for v in value)
        counted.append(Counted(ballot, scores))
        if not isinstance(scores, Failure):
            np.add.at(sums[ballot.set], list(ballot.texts), scores)
            np.add.at(counts[ballot.set], list(ballot.texts), 1)
    with np.errstate(invalid="ignore"):
        means = [(total / count).tolist() for total, count in zip(sums, counts, strict=True)]
    return counted, means
