"""Server completions read as replies, whatever their parts look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gecjury.addresses import masked
from gecjury.judges.asking.exchange import (
    NOTHING,
    Attempt,
    Reply,
    TokenLogprob,
    check_logprobs,
)
from gecjury.judges.asking.models import Price

MALFORMED = "malformed"
"""How a reply ended whose parts have another shape; its text says which."""

# No context is longer, and no bill is.
_MOST_TOKENS = 1_000_000_000


class _Malformed(Exception):
    """A part of a completion has another shape; says which."""


def read_completion(
    record: Mapping[str, Any],
    attempt: Attempt,
    price: Price | None,
    secrets: Sequence[str],
    latency: float = 0.0,
    **sent: Any,
) -> Reply:
    """Return a server's completion as a reply that may be kept.

    Whatever is missing in a completion is empty, never an error. A server that repeats what it was
    sent may repeat the key, which is masked.

    Args:
        record: the completion.
        attempt: what was asked.
        price: of the model's tokens.
        secrets: what must not be kept.
        latency: seconds that it took.
        sent: what departed from the request beside the attempt's own settings.

    Returns:
        The reply. One whose choices, message or probabilities have another shape ends as
        `MALFORMED` and cannot be read; counts of tokens that are no counts are 0.
    """
    usage = record.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    read, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    thoughts = _count(_details(usage, "completion_tokens_details").get("reasoning_tokens"))
    cached = _count(_details(usage, "prompt_tokens_details").get("cached_tokens"))
    cached = min(read, cached or _count(usage.get("prompt_cache_hit_tokens")))
    # Some servers (Gemini, xAI) count thoughts, which they bill, in the total alone.
    total = _count(usage.get("total_tokens"))
    if thoughts and total == read + written + thoughts:
        written += thoughts
    cost = None if price is None else price.cost(read, written, cached)
    try:
        text, finish, top, hidden = _said(record, bool(attempt.sampling.get("logprobs")))
    except _Malformed as error:
        text, finish, top, hidden = str(error), MALFORMED, None, False
    if hidden and not text.strip():
        thoughts = written  # where no answer followed, all tokens are thoughts
    text, finish = _whole(text), _whole(finish)
    kept, ended = (masked(said, secrets, addresses=False) for said in (text, finish))
    if (kept, ended) != (text, finish):
        top = None  # the tokens would spell the key
    settings = {**attempt.overrides, **sent} or NOTHING
    thoughts = min(thoughts, written)
    return Reply(kept, ended, read, written, top, cost, latency, settings, thoughts, cached)


def _details(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    details = usage.get(name)
    return details if isinstance(details, Mapping) else {}


def _said(
    record: Mapping[str, Any], logprobs: bool
) -> tuple[str, str, tuple[TokenLogprob, ...] | None, bool]:
    """Return text, finish reason, probabilities, and whether thoughts stand beside the text."""
    choices = record.get("choices")
    if not choices:
        return "", "empty", None, False
    if not isinstance(choices, list):
        raise _Malformed("choices is no list")
    choice = _mapping(choices[0], "choices[0]")
    message = _mapping(choice.get("message") or {}, "message")
    if message.get("refusal"):
        return str(message["refusal"]), "refusal", None, False
    text = _content(message.get("content"))
    finish = str(choice.get("finish_reason") or "stop")
    hidden = _content(message.get("reasoning_content") or message.get("reasoning"))
    # Some servers put the whole answer where the thinking belongs. What broke off there holds
    # thoughts, in which scores may be weighed.
    if not text.strip() and "{" in hidden and finish != "length":
        text = hidden
    return text, finish, _logprobs(choice) if logprobs else None, bool(hidden.strip())


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _Malformed(f"{name} is no object")
    return value


def _count(value: Any) -> int:
    """Return a number of tokens; 0 where what stands there is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST_TOKENS else 0


def _whole(text: str) -> str:
    """Return a text with halves of surrogate pairs replaced, as no file can hold them."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def _logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...] | None:
    content = _mapping(choice.get("logprobs") or {}, "logprobs").get("content")
    if not content:
        return None
    try:
        tokens = tuple(
            (
                _whole(str(token["token"])),
                tuple(
                    (_whole(str(top["token"])), float(top["logprob"]))
                    for top in token.get("top_logprobs") or ()
                ),
            )
            for token in content
        )
        check_logprobs(tokens)
        return tokens
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise _Malformed("logprobs are no probabilities of tokens") from None
