"""The one small interface of all backends, and choosing one by name.

A backend answers requests in any order and hands each reply to `deliver`, which keeps it and may
return a follow-up request (a retry of a reply that could not be read). Nothing else about a model
or a server is known outside the backends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gecjury.errors import OptionError
from gecjury.judges.exchange import Reply, Request
from gecjury.judges.prices import Price
from gecjury.runtime import Runtime

__all__ = ["BACKENDS", "DEFAULT_MODELS", "Backend", "Deliver", "Member", "Parcel", "connect"]

BACKENDS = ("openai", "vllm")
DEFAULT_MODELS: Mapping[str, str] = {
    # Kobayashi et al. (2024); Goto et al. (2026) for the local one.
    "openai": "gpt-4-1106-preview",
    "vllm": "Qwen/Qwen3-8B",
}


@dataclass(frozen=True)
class Parcel:
    """A request on its way.

    Attributes:
        request: the question.
        attempt: 0 for the first time it is asked, counted over all runs.
        overrides: sampling settings changed for a retry.
    """

    request: Request
    attempt: int = 0
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling settings in effect."""
        return {**self.request.sampling, **self.overrides}


class Deliver(Protocol):
    """Takes a reply in; gives back what to ask next because of it, if anything."""

    def __call__(self, parcel: Parcel, reply: Reply) -> Parcel | None:
        """Keep the reply and read it."""


@dataclass(frozen=True)
class Member:
    """One model of a judge, with everything that a backend needs to reach it.

    Attributes:
        backend: one of `BACKENDS`.
        model: as the backend calls it.
        base_url: server; several, joined by `+`, share the work; empty for the default.
        thinking: whether a model that can think before it answers does.
        logprobs: whether replies need the alternatives of their tokens.
        structured: `schema`, `text` or `auto`.
        options: passed through to the engine (`tensor_parallel_size`, ...).
    """

    backend: str
    model: str
    base_url: str = ""
    thinking: bool = False
    logprobs: bool = False
    structured: str = "auto"
    options: tuple[tuple[str, Any], ...] = ()


class Backend(Protocol):
    """Answers requests."""

    def run(
        self,
        parcels: Sequence[Parcel],
        deliver: Deliver,
        runtime: Runtime,
        price: Price | None,
        may_send: Callable[[Parcel], bool],
    ) -> None:
        """Answer all parcels and the follow-ups that `deliver` returns.

        Args:
            parcels: what to ask; items of one source are adjacent.
            deliver: called once a reply, in any order, never from two threads at once.
            runtime: concurrency, progress.
            price: of the model, for the replies' cost; None where unknown.
            may_send: asked before each parcel; False leaves it and all further ones unsent.

        Raises:
            GecjuryError: nothing more can be asked (no key, unknown model, no server, ...).
        """


def connect(member: Member, *, batch: bool = False) -> Backend:
    """The backend of a member; opens nothing before the first request.

    Raises:
        OptionError: unknown backend, or a batch asked of one that has none.
    """
    if member.backend == "openai":
        if batch:
            from gecjury.judges.batch import BatchBackend

            return BatchBackend(member)
        from gecjury.judges.openai_client import OpenAIBackend

        return OpenAIBackend(member)
    if member.backend == "vllm":
        if batch:
            raise OptionError("--batch is for backend=openai; vllm takes all requests at once")
        from gecjury.judges.vllm_engine import VLLMBackend

        return VLLMBackend(member)
    raise OptionError(f"unknown backend {member.backend!r}: expected {' or '.join(BACKENDS)}")
