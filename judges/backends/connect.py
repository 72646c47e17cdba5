"""The backend that a judge's settings name."""

from __future__ import annotations

from gecjury.errors import OptionError
from gecjury.judges.asking.exchange import Member
from gecjury.judges.backends.backend import BACKENDS, Backend

__all__ = ["connect"]


def connect(member: Member, *, batch: bool = False) -> Backend:
    """The backend of a member; opens nothing before the first request.

    Raises:
        OptionError: unknown backend, or a batch asked of one that has none.
    """
    if member.backend == "openai":
        if batch:
            from gecjury.judges.backends.openai_batch import BatchBackend

            return BatchBackend(member)
        from gecjury.judges.backends.openai import OpenAIBackend

        return OpenAIBackend(member)
    if member.backend == "vllm":
        if batch:
            raise OptionError("--batch is for backend=openai; vllm takes all requests at once")
        from gecjury.judges.backends.vllm import VLLMBackend

        return VLLMBackend(member)
    raise OptionError(f"unknown backend {member.backend!r}: expected {' or '.join(BACKENDS)}")
