"""How a protocol turns candidate sets into ballots; all three have the one form `Protocol`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from gecjury.judges.ballots import Ballot
from gecjury.judges.candidates import CandidateSet
from gecjury.judges.exchange import Request
from gecjury.judges.settings import Wording

__all__ = ["MakeBallots", "Options", "RequestFor"]


class RequestFor(Protocol):
    """Makes a request of a rendered prompt; see `gecjury.judges.settings.Asking.request`."""

    def __call__(
        self,
        content: str,
        schema: Mapping[str, Any],
        answer: Mapping[str, Any],
        order: int,
        repeat: int,
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


MakeBallots = Callable[[Sequence[CandidateSet], Options], list[Ballot]]
