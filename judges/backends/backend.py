"""The one small interface of all backends, and choosing one by name.

A backend answers requests in any order and hands each reply to `deliver`, which keeps it and may
return a follow-up request (a retry of a reply that could not be read). Nothing else about a model
or a server is known outside the backends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from gecjury.judges.asking.exchange import Deliver, Parcel
from gecjury.judges.asking.prices import Price
from gecjury.runtime import Runtime

__all__ = ["BACKENDS", "DEFAULT_MODELS", "Backend"]

BACKENDS = ("openai", "vllm")
DEFAULT_MODELS: Mapping[str, str] = {
    # Kobayashi et al. (2024); Goto et al. (2026) for the local one.
    "openai": "gpt-4-1106-preview",
    "vllm": "Qwen/Qwen3-8B",
}


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
