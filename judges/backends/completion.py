"""A server's completion as a reply, whatever its parts look like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gecjury.addresses import masked
from gecjury.judges.asking.exchange import Reply, TokenLogprob, logprob
from gecjury.judges.asking.models import Price

MALFORMED = "malformed"
"""How a reply ended whose parts have another shape; its text says which."""

# No context is longer, and no bill is.
_MOST_TOKENS = 1_000_000_000


class _Malformed(Exception):
    """A part of a completion has another shape; says which."""


def read_completion(
    record: Mapping[str, Any], price: Price | None, latency: float, *, logprobs: bool = False
) -> Reply:
    """A server's completion as a reply; whatever is missing in it is empty, never an error.

    Args:
        record: the completion.
        price: of the model's tokens.
        latency: seconds that it took.
        logprobs: whether the probabilities of tokens were asked for.

    Returns:
        The reply. One whose choices, message or probabilities have another shape ends as
        `MALFORMED` and cannot be read; counts of tokens that are no counts are 0.
    """
    usage = record.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    tokens = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cost = None if price is None else price.cost(*tokens)
    try:
        text, finish, top = _said(record, logprobs)
    except _Malformed as error:
        text, finish, top = str(error), MALFORMED, None
    return Reply(_whole(text), _whole(finish), *tokens, top, cost, latency)


def _said(
    record: Mapping[str, Any], logprobs: bool
) -> tuple[str, str, tuple[TokenLogprob, ...] | None]:
    """Text, finish reason and probabilities."""
    choices = record.get("choices")
    if not choices:
        return "", "empty", None
    if not isinstance(choices, list):
        raise _Malformed("choices is no list")
    choice = _mapping(choices[0], "choices[0]")
    message = _mapping(choice.get("message") or {}, "message")
    if message.get("refusal"):
        return str(message["refusal"]), "refusal", None
    text = _content(message.get("content"))
    if not text.strip():
        # Some servers put the whole answer where the thinking belongs.
        hidden = _content(message.get("reasoning_content") or message.get("reasoning"))
        text = hidden if "{" in hidden else text
    finish = str(choice.get("finish_reason") or "stop")
    return text, finish, _logprobs(choice) if logprobs else None


def _mapping(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _Malformed(f"{name} is no object")
    return value


def _count(value: Any) -> int:
    """A number of tokens; 0 where what stands there is none."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST_TOKENS else 0


def _whole(text: str) -> str:
    """A text with halves of surrogate pairs replaced, as no file can hold them."""
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
        return tuple(
            TokenLogprob(
                _whole(str(token["token"])),
                tuple(
                    (_whole(str(top["token"])), logprob(top["logprob"]))
                    for top in token.get("top_logprobs") or ()
                ),
            )
            for token in content
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise _Malformed("logprobs are no probabilities of tokens") from None


def mask_reply(reply: Reply, secrets: Sequence[str]) -> Reply:
    """A reply as it may be kept: a server that repeats what it was sent may repeat the key."""
    text, finish = (masked(said, secrets, addresses=False) for said in (reply.text, reply.finish))
    if (text, finish) == (reply.text, reply.finish):
        return reply
    # The tokens would spell the key.
    return replace(reply, text=text, finish=finish, logprobs=None)
