"""Conversion of server completions to replies, whatever the shape of their parts."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

from gecjury.core.addresses import masked
from gecjury.judges.exchange import NOTHING, THOUGHTS, Attempt, Reply, TokenLogprob, check_logprobs
from gecjury.judges.models import Price, same_model
from gecjury.judges.replies.reply import is_answer

MALFORMED = "malformed"
"""The finish reason of a reply whose parts have an unexpected shape; its text says which part."""

# Words for errors that have no number, and the status that other servers send with them.
_ERROR_WORDS = tuple(
    (re.compile(words, re.IGNORECASE), status)
    for words, status in (
        ("rate.?limit|too.?many|exhausted|insufficient_quota", 429),
        ("overloaded|unavailable", 503),
        ("server.?error|internal|upstream|gateway|timeout|deadline", 500),
        ("authentication|invalid_api_key|unauthorized", 401),
        ("permission|forbidden", 403),
    )
)
_MOST_NAME = 200  # characters of a model's name
# More tokens than any context or bill has.
_MOST_TOKENS = 1_000_000_000


class _Malformed(Exception):
    """A part of a completion has an unexpected shape; the message says which."""


def read_completion(
    record: Mapping[str, object],
    attempt: Attempt,
    price: Price | None,
    secrets: Sequence[str],
    latency: float = 0.0,
    **sent: object,
) -> Reply:
    """Return a server's completion as a reply that may be stored.

    Missing parts of a completion are empty, never an error. A server that echoes the request may
    repeat the key, which is masked.

    Args:
        secrets: texts that must not be stored.
        sent: settings that differed from the request, in addition to the attempt's own.

    Returns:
        The reply. If its choices, message or probabilities have an unexpected shape, its finish
        reason is `MALFORMED` and it cannot be read; invalid counts of tokens are 0.
    """
    read, written, thoughts, cached = _counts(details(record, "usage"))
    cost = None if price is None else price.cost(read, written, cached)
    try:
        text, finish, top, hidden = _said(record, attempt)
    except _Malformed as error:
        text, finish, top, hidden = str(error), MALFORMED, None, False
    if hidden and not text:
        thoughts = written  # if no answer followed, all tokens are thoughts
    text, finish = _whole(text), _whole(finish)
    kept, ended = (masked(part, secrets, addresses=False) for part in (text, finish))
    if (kept, ended) != (text, finish):
        top = None  # the tokens would spell the key
    settings = {**attempt.overrides, **sent} or NOTHING
    thoughts = min(thoughts, written)
    said = record.get("model")
    other = masked(_whole(said[:_MOST_NAME]), secrets) if isinstance(said, str) else ""
    other = "" if same_model(attempt.request.model, other) else sys.intern(other)
    return Reply(kept, ended, read, written, top, cost, latency, settings, thoughts, cached, other)


def error_in(record: Mapping[str, object]) -> Mapping[str, object]:
    """Return the error that a server sent in place of a completion; empty if there is none.

    Gateways send the errors of the servers behind them with status 200.
    """
    choices = record.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = first if isinstance(first, Mapping) else {}
    if error := record.get("error") or choice.get("error"):
        return error if isinstance(error, Mapping) else {"message": str(error)}
    if record.get("object") == "error":
        return record
    if choice.get("finish_reason") == "error":
        return {"message": "finish_reason is error", "code": 502}
    return {}


def error_status(error: Mapping[str, object]) -> int:
    """Return the HTTP status that fits an error by its code, number or word; 400 if none does."""
    for name in ("code", "status", "status_code"):
        if 400 <= count_in(error.get(name)) < 600:
            return count_in(error.get(name))
    words = " ".join(str(error.get(name, "")) for name in ("code", "status", "type"))
    fitting = (status for pattern, status in _ERROR_WORDS if pattern.search(words))
    return next(fitting, 400)


def error_message(error: Mapping[str, object]) -> str:
    """Return the message of an error, with that of the server behind a gateway."""
    behind = details(error, "metadata").get("raw")
    said = str(error.get("message") or error.get("code") or "")
    return f"{said}: {behind}" if isinstance(behind, str) and behind else said


def _counts(usage: Mapping[str, object]) -> tuple[int, int, int, int]:
    """Return how many tokens were read, written, spent on thoughts, and read from a cache."""
    read, written = count_in(usage.get("prompt_tokens")), count_in(usage.get("completion_tokens"))
    thoughts = count_in(details(usage, "completion_tokens_details").get("reasoning_tokens"))
    cached = count_in(details(usage, "prompt_tokens_details").get("cached_tokens"))
    cached = min(read, cached or count_in(usage.get("prompt_cache_hit_tokens")))
    # Some servers (Gemini, xAI) count thoughts, which they bill, only in the total.
    total = count_in(usage.get("total_tokens"))
    if thoughts and total == read + written + thoughts:
        written += thoughts
    return read, written, thoughts, cached


def details(record: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the object at a key; an empty one if there is none."""
    value = record.get(name)
    return value if isinstance(value, Mapping) else {}


def _said(
    record: Mapping[str, object], attempt: Attempt
) -> tuple[str, str, tuple[TokenLogprob, ...] | None, bool]:
    """Return text, finish reason, probabilities, and whether there are separate thoughts."""
    choices = record.get("choices")
    if not choices:
        return "", "empty", None, False
    if not isinstance(choices, list):
        raise _Malformed("choices is not a list")
    choice = _mapping(choices[0], "choices[0]")
    message = _mapping(choice.get("message") or {}, "message")
    if message.get("refusal"):
        return str(message["refusal"]), "refusal", None, False
    content = message.get("content")
    text = _content(content)
    finish = str(choice.get("finish_reason") or "stop")
    hidden = _content(message.get("reasoning_content") or message.get("reasoning"))
    thought = bool(hidden.strip()) or (isinstance(content, list) and bool(content))
    if thought and not text.strip():
        # Some servers put the whole answer in the field for reasoning. Anything else there is
        # reasoning, in which scores may be discussed and rejected.
        text = hidden if finish != "length" and is_answer(hidden, attempt.request.expect) else ""
        finish = finish if text or finish == "length" else THOUGHTS
    top = _logprobs(choice) if attempt.sampling.get("logprobs") else None
    return text, finish, top, thought


def _mapping(value: object, name: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _Malformed(f"{name} is not an object")
    return value


def count_in(value: object) -> int:
    """Return a number of tokens; 0 if the value is not such a number."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= _MOST_TOKENS else 0


def _whole(text: str) -> str:
    """Return a text with lone surrogates replaced, because files cannot contain them."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _content(content: object) -> str:
    if isinstance(content, list):
        # Parts may also be reasoning, in a form that depends on the server.
        parts = [part for part in content if isinstance(part, Mapping) and not part.get("thought")]
        return "".join(
            str(part.get("text", ""))
            for part in parts
            if part.get("type", "text") in ("text", "output_text")
        )
    return "" if content is None else str(content)


def _logprobs(choice: Mapping[str, object]) -> tuple[TokenLogprob, ...] | None:
    content = _mapping(choice.get("logprobs") or {}, "logprobs").get("content")
    if not content:
        return None
    try:
        if not isinstance(content, list):
            raise TypeError
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
        raise _Malformed("logprobs are not probabilities of tokens") from None
