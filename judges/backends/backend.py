"""The one small interface of all backends, and choosing one by name.

A backend answers requests in any order and hands each reply to `deliver`, which keeps it and may
return a follow-up request (a retry of a reply that could not be read). Nothing else about a model
or a server is known outside the backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gecjury.judges.asking.exchange import Attempt, Deliver
from gecjury.judges.asking.models import Price
from gecjury.runtime import Runtime

BACKENDS = ("openai", "vllm")


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What a backend is to do.

    Attributes:
        attempts: what to ask; items of one source are adjacent.
        deliver: called once a reply, in any order, never from two threads at once.
        may_send: asked before each attempt; False leaves it and all further ones unsent.
        price: of the model, for the replies' cost; None where unknown.
        runtime: concurrency, progress.
    """

    attempts: Sequence[Attempt]
    deliver: Deliver
    may_send: Callable[[Attempt], bool]
    price: Price | None
    runtime: Runtime


class Backend(Protocol):
    """Answers requests."""

    def run(self, work: Assignment) -> None:
        """Answer all attempts and the follow-ups that `deliver` returns.

        Raises:
            GecjuryError: nothing more can be asked (no key, unknown model, no server, ...).
        """
