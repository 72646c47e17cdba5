"""The common interface of all backends, and the choice of a backend by name.

A backend answers requests in any order and hands each reply to `deliver`, which stores it and may
return a follow-up request (a retry of a reply that could not be read). Nothing else about a model
or a server is known outside the backends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.judges.asking.exchange import Attempt, Deliver, Model
from gecjury.judges.asking.models import Price

BACKENDS = ("openai", "vllm")


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


def connect(model: Model, *, batch: bool = False) -> Backend:
    """Return the backend of a model; nothing is opened before the first request.

    Raises:
        OptionError: batches were requested from a backend that has none.
    """
    if model.backend == "openai" and batch:
        from gecjury.judges.backends.openai_batch import BatchBackend

        return BatchBackend(model)
    if model.backend == "openai":
        from gecjury.judges.backends.openai import OpenAIBackend

        return OpenAIBackend(model)
    if batch:
        raise OptionError("--batch is for backend=openai; vllm takes all requests at once")
    from gecjury.judges.backends.vllm import VLLMBackend

    return VLLMBackend(model)


def no_template(model: str) -> str:
    """Return the error message for a model that cannot chat."""
    return (
        f"{model} has no chat template, so it cannot be asked; choose an instruction-tuned model, "
        "or start the server with --chat-template FILE"
    )
