"""The common interface of all backends.

A backend answers requests in any order and hands each reply to `deliver`, which stores it and may
return a follow-up request (a retry of a reply that could not be read). Nothing else about a model
or a server is known outside the backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gecjury.core.runtime import Runtime
from gecjury.judges.exchange import Attempt, Deliver
from gecjury.judges.models import Price


@dataclass(frozen=True)
class Assignment:
    """A task for a backend.

    Attributes:
        attempts: what to ask; items of one source are adjacent.
        deliver: called once per reply, in any order, never from two threads at once.
        claim: called with attempts each time before they are sent, also again after a fault;
            returns how many of them, in this order, the budget has room for: no others are sent.
        release: called with an attempt that was refused, or did not reach the server, so that it is
            not billed.
        price: of the model, for the replies' cost; None where unknown.
        runtime: concurrency, progress.
    """

    attempts: Sequence[Attempt]
    deliver: Deliver
    claim: Callable[[Sequence[Attempt]], int]
    release: Callable[[Attempt], None]
    price: Price | None
    runtime: Runtime


class Backend(Protocol):
    """A connection to a model, which answers requests."""

    def run(self, work: Assignment) -> None:
        """Answer all attempts and the follow-ups that `deliver` returns.

        Raises:
            GecjuryError: nothing more can be asked (no key, unknown model, no server, ...).
        """


def no_template(model: str) -> str:
    """Return the error message for a model that cannot chat."""
    return (
        f"{model} has no chat template, so it cannot be asked; choose an instruction-tuned model, "
        "or start the server with --chat-template FILE"
    )
