"""Prompts and a model's window: what is done when a prompt and its answer do not fit.

The token cap is lowered to what an answer of the requested form can need. Texts are never cut: a
prompt that does not fit is not sent, and the verdict on its question is missing only in this run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gecjury.judges.backends.completion import count_in
from gecjury.judges.exchange import TOO_LONG, Attempt, Reply

# With fewer tokens a model that thinks would be cut off in the middle of its thoughts.
_LEAST_THINKING = 1024
# What servers say about a prompt that is longer than their window: OpenAI and servers that follow
# its wording, vLLM, llama.cpp, LM Studio, text-generation-inference.
_TOO_LONG = re.compile(
    r"context[\s_-]*(length|size|window)|maximum model length|max_model_len|prompt is too long"
    r"|longer than the (model's )?context|initial prompt is greater|max_new_tokens` must be"
    # llama-cpp-python, if its window is not a multiple of 256.
    r"|could not broadcast input array from shape \(\d+,\) into shape \(\d+,\)"
)
_CODES = ("context_length_exceeded", "exceed_context_size_error")
_SAID_WINDOW = re.compile(
    r"(?:context (?:length|window|size)|model length)(?: is only| is| of only| of)? \(?(\d{2,9})"
)


def least_tokens(attempt: Attempt) -> int:
    """Return the token cap below which an answer might be incomplete."""
    # A token has at least one character.
    least = len(attempt.request.expect) + 8
    sampling = attempt.request.sampling
    if sampling.get("thinking") or sampling.get("reasoning_effort", "none") != "none":
        least += _LEAST_THINKING
    return min(least, attempt.max_tokens)


def fitted(attempt: Attempt, tokens: int, window: int) -> Attempt | None:
    """Return an attempt whose prompt has `tokens` tokens, with its cap lowered if necessary.

    Returns:
        None if the prompt does not fit into the window.
    """
    room = window - tokens
    if room >= attempt.max_tokens:
        return attempt
    if room < least_tokens(attempt):
        return None
    return replace(attempt, overrides={**attempt.overrides, "max_tokens": room})


def capped(attempt: Attempt) -> Attempt | None:
    """Return what to send instead of a refused attempt; None if its cap is at its minimum.

    The number of its tokens is not known here, so the cap is lowered to its minimum at once.
    """
    least = least_tokens(attempt)
    if attempt.max_tokens <= least:
        return None
    return replace(attempt, overrides={**attempt.overrides, "max_tokens": least})


def too_long(window: int | None) -> Reply:
    """Return the reply that is used for a prompt that cannot be sent."""
    shown = "the model's window" if window is None else f"the window of {window} tokens"
    return Reply(f"the prompt does not fit {shown}", TOO_LONG)


def says_too_long(status: int, error: Mapping[str, object], text: str) -> bool:
    """Return whether a refusal says that prompt and cap do not fit the server's window.

    Args:
        status: HTTP status.
        error: the error as the server sent it; empty if it was not an object.
        text: message of the error.
    """
    if status not in (400, 413, 422, 500):
        return False
    if any(error.get(name) in _CODES for name in ("code", "type")):
        return True
    return bool(_TOO_LONG.search(text.lower()))


def said_window(error: Mapping[str, object], text: str) -> int | None:
    """Return the window that a refusal names; None if it names none."""
    said = _SAID_WINDOW.search(text.lower())
    tokens = count_in(error.get("n_ctx")) or count_in(said and said[1])
    return tokens if tokens > 1 else None
