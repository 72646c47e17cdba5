"""What a protocol makes of candidate sets: ballots, and how their answers are counted.

- *listwise*: all corrections of a set at once, in `orders` permutations;
- *pointwise*: each correction by itself;
- *pairwise*: every two corrections of a set against each other.

Every answer is a ballot: scores of some corrections of one set. A correction's score is the mean
over its ballots.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from gecjury.judges.asking.ask import Answer, Question
from gecjury.judges.asking.exchange import Request
from gecjury.judges.judge import Wording
from gecjury.judges.replies.reply import Failure
from gecjury.judges.showing import CandidateSet


class RequestFor(Protocol):
    """Makes a request of a rendered prompt; see `gecjury.judges.judge.Judge.request`."""

    def __call__(
        self,
        content: str,
        schema: Mapping[str, Any],
        answer: Mapping[str, Any],
        repeat: int,
        cut: Callable[[int], str] | None = None,
    ) -> Request:
        """The request."""


class Options(NamedTuple):
    """What a protocol needs to know of its judge.

    Attributes:
        wording: the prompt.
        subject: what is judged, for prompts of our own.
        request: makes requests.
        orders: permutations of each set.
        repeats: repetitions of each question.
        seed: of permutations.
        expected: probability-weighted scores.
    """

    wording: Wording
    subject: str
    request: RequestFor
    orders: int
    repeats: int
    seed: int
    expected: bool


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


MakeBallots = Callable[[Sequence[CandidateSet], Options], list[Ballot]]
"""The form of every protocol: candidate sets in, ballots out."""


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
        ballots: of one model.
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


def combine(scores: Sequence[float], how: Literal["mean", "median", "majority"]) -> float:
    """One score of several models' scores of one correction.

    Args:
        scores: one a model; NaN where a model has none.
        how: `majority` takes the most frequent score, and the median of several equally
            frequent ones.

    Returns:
        NaN unless more than half of the models have a score: fewer do not speak for a panel.
    """
    known = [score for score in scores if not np.isnan(score)]
    if 2 * len(known) <= len(scores):
        return float("nan")
    if how == "mean":
        return statistics.fmean(known)
    if how == "median":
        return float(statistics.median(known))
    counts = Counter(known)
    most = max(counts.values())
    return float(statistics.median(score for score, count in counts.items() if count == most))
