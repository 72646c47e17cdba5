"""The backend that a judge's settings name."""

from __future__ import annotations

from gecjury.errors import OptionError
from gecjury.judges.asking.exchange import Model
from gecjury.judges.backends.backend import BACKENDS, Backend


def connect(model: Model, *, batch: bool = False) -> Backend:
    """The backend of a model; opens nothing before the first request.

    Raises:
        OptionError: unknown backend, or a batch asked of one that has none.
    """
    if model.backend == "openai":
        if batch:
            from gecjury.judges.backends.openai_batch import BatchBackend

            return BatchBackend(model)
        from gecjury.judges.backends.openai import OpenAIBackend

        return OpenAIBackend(model)
    if model.backend == "vllm":
        if batch:
            raise OptionError("--batch is for backend=openai; vllm takes all requests at once")
        from gecjury.judges.backends.vllm import VLLMBackend

        return VLLMBackend(model)
    raise OptionError(f"unknown backend {model.backend!r}: expected {' or '.join(BACKENDS)}")
