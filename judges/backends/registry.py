"""The choice of a backend by name; backends do not know each other's names."""

from __future__ import annotations

from typing import Protocol

from gecjury.core.errors import OptionError
from gecjury.judges.backends.backend import Backend
from gecjury.judges.exchange import Model

BACKENDS = ("openai", "vllm")


class Connect(Protocol):
    """A function that returns a model's backend, such as `connect`."""

    def __call__(self, model: Model, *, batch: bool = False) -> Backend:
        """Return the backend."""


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
        raise OptionError("`batch=` is for backend=openai; vllm takes all requests at once")
    from gecjury.judges.backends.vllm import VLLMBackend

    return VLLMBackend(model)
