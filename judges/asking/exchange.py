"""What is sent to a model and what comes back: requests with their open key, and replies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

Message = Mapping[str, str]
"""`role` and `content`."""

CONTEXT_WORDS = (32, 16, 8, 0)
"""To how many words on each side the context is cut, one after the other, until a prompt fits."""
CUT, WINDOW = "context_words", "window"
"""Under which names a reply keeps to how many words its context was cut, and for which window."""
TOO_LONG: Literal["too-long"] = "too-long"
"""How a reply ended that is none: the prompt does not fit the model, even without context."""


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the hash of a request's key parts: 32 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One question to one model.

    Attributes:
        backend: `openai` or `vllm`.
        model: as the backend calls it.
        base_url: of the server; empty for the backend's own.
        messages: what is sent, fully rendered.
        schema: JSON schema of the answer; None where none is asked of the model.
        sampling: temperature, seed, token cap and whatever else decides the answer.
        repeat: number of the repetition.
        prompt: name, version and digest of the wording.
        expect: text of a typical answer, for estimates; no part of the key.
        cut: gives the prompt with at most so many words of context on each side, for a model
            whose window is too short for it; no part of the key.
    """

    backend: str
    model: str
    base_url: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    repeat: int = 0
    prompt: str = ""
    expect: str = field(default="", compare=False)
    cut: Callable[[int], str] | None = field(default=None, compare=False, repr=False)

    @property
    def parts(self) -> dict[str, Any]:
        """Everything that decides the answer, and nothing else."""
        return {
            "backend": self.backend,
            "model": self.model,
            "base_url": self.base_url,
            "messages": [dict(message) for message in self.messages],
            "schema": None if self.schema is None else dict(self.schema),
            "sampling": dict(self.sampling),
            "repeat": self.repeat,
            "prompt": self.prompt,
        }

    @property
    def key(self) -> str:
        """Under which replies are kept."""
        return key_of(self.parts)


@dataclass(frozen=True)
class TokenLogprob:
    """One token of a reply with the alternatives the model saw for it.

    Attributes:
        token: its text.
        top: (text, natural log of the probability) of the most likely tokens, itself included.
    """

    token: str
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Reply:
    """A model's answer, as every backend gives it.

    Attributes:
        text: what it said.
        finish: `stop`, `length`, `content_filter`, `refusal`, `empty`, or the server's word.
        input_tokens: tokens read, as the backend counts them.
        output_tokens: tokens written, thinking included.
        logprobs: the tokens with their alternatives; None where not asked for or not given.
        cost: in the price table's currency; None where the price is unknown.
        latency: seconds from sending to having the whole answer.
        sent: what departed from the request, e.g. a raised token cap on a retry, or context
            that was cut (`CUT`) to fit the model (`WINDOW`).
    """

    text: str
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    logprobs: tuple[TokenLogprob, ...] | None = None
    cost: float | None = None
    latency: float = 0.0
    sent: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The reply as plain JSON values."""
        record = asdict(self)
        if self.logprobs is not None:
            record["logprobs"] = [[token.token, list(token.top)] for token in self.logprobs]
        record["sent"] = dict(self.sent)
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Reply:
        """The inverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: the record is not a reply.
        """
        values = dict(record)
        if values["logprobs"] is not None:
            values["logprobs"] = tuple(
                TokenLogprob(_text(token), tuple((_text(text), logprob(p)) for text, p in top))
                for token, top in values["logprobs"]
            )
        reply = cls(**values)
        for part in (reply.text, reply.finish):
            _text(part)
        numbers = [reply.input_tokens, reply.output_tokens, reply.latency]
        numbers += [] if reply.cost is None else [reply.cost]
        sent = _mapping(reply.sent)
        kept = ("max_tokens", "seed", "temperature", CUT, WINDOW)
        numbers += [sent[name] for name in kept if name in sent]
        for number in numbers:
            _number(number)
        return reply


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} for a text")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{type(value).__name__} for an object")
    return value


def _number(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{type(value).__name__} for a number")
    if not abs(value) <= 1e18:
        raise ValueError("a number that is none of a reply's")


def logprob(value: Any) -> float:
    """A logarithm of a probability.

    Raises:
        TypeError, ValueError: it is none.
    """
    found = float(value)
    # A little above 0 is a rounding error.
    if not found <= 1:
        raise ValueError(f"{found} for a logarithm of a probability")
    return found


@dataclass(frozen=True)
class Attempt:
    """One try at a request.

    Attributes:
        request: the question.
        number: 0 for the first time it is asked, counted over all runs.
        overrides: sampling settings changed for a retry, and to what the context was cut.
    """

    request: Request
    number: int = 0
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling settings in effect."""
        return {**self.request.sampling, **self.overrides}

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent: the request's messages, their context cut where that is needed."""
        words = self.overrides.get(CUT)
        if words is None or self.request.cut is None:
            return self.request.messages
        return ({"role": "user", "content": self.request.cut(int(words))},)

    def shorter(self) -> Attempt | None:
        """The same with less context; None where nothing is left to cut."""
        if self.request.cut is None:
            return None
        now = self.overrides.get(CUT)
        for words in CONTEXT_WORDS:
            if now is None or words < now:
                less = replace(self, overrides={**self.overrides, CUT: words})
                if less.messages != self.messages:
                    return less
        return None


class Deliver(Protocol):
    """Takes a reply in; gives back what to ask next because of it, if anything."""

    def __call__(self, attempt: Attempt, reply: Reply) -> Attempt | None:
        """Keep the reply and read it."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model of a judge, with everything that a backend needs to reach it.

    Attributes:
        backend: one of `BACKENDS`.
        name: as the backend calls it.
        base_url: server; several, joined by `+`, share the work; empty for the default.
        thinking: whether a model that can think before it answers does.
        logprobs: whether replies need the alternatives of their tokens.
        structured: `schema`, `text` or `auto`.
        options: passed through to the engine (`tensor_parallel_size`, ...).
    """

    backend: str
    name: str
    base_url: str = field(default="", repr=False)
    thinking: bool = False
    logprobs: bool = False
    structured: str = "auto"
    options: tuple[tuple[str, Any], ...] = ()
