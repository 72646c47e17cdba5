"""Values that judges and backends exchange: models, requests with their keys, and replies."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Literal, Required, TypedDict, overload

from gecjury.core.records import from_record

Effort = Literal["auto", "none", "minimal", "low", "medium", "high"]
"""How much a model should reason before it answers; `auto` is its own default."""

Message = Mapping[str, str]
"""`role` and `content`."""

Sampling = Mapping[str, float | str]
"""Token cap, temperature, seed and other settings of a request that affect the answer, by name."""


class FieldSchema(TypedDict, total=False):
    """The JSON schema of one value of an answer."""

    type: Required[str]
    enum: Sequence[str | int]
    items: Mapping[str, object]
    minItems: int
    maxItems: int
    maxLength: int


class AnswerSchema(TypedDict):
    """The JSON schema of an answer."""

    type: str
    properties: Mapping[str, FieldSchema]
    required: Sequence[str]
    additionalProperties: bool


NOTHING: Sampling = {}
"""No settings that differ from a request: one mapping for the many replies to which it applies."""
TOO_LONG: Literal["too-long"] = "too-long"
"""The finish reason of a reply that replaces a missing one: the prompt does not fit the model."""
THOUGHTS: Literal["reasoning"] = "reasoning"
"""The finish reason of a reply that stops in its reasoning, which the server sends separately."""


def key_of(parts: Mapping[str, object]) -> str:
    """Return the hash of a request's key parts: 32 hexadecimal digits."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Rendered(Sequence[Message]):
    """The messages of a question, whose prompt is rendered when it is accessed.

    A prompt has thousands of characters, most of them shared with other prompts, so a hundred
    thousand rendered prompts would fill the memory. The most recently accessed ones are cached, so
    that sending and storing a question renders it once.
    """

    __slots__ = ("_render", "_turns")

    def __init__(self, render: Callable[[], str], turns: tuple[Message, ...] = ()) -> None:
        """Set the renderer of the last message, and the conversation before it."""
        self._render, self._turns = render, turns

    @functools.lru_cache(maxsize=1024)  # noqa: B019  # no more than these are kept alive
    def _messages(self) -> tuple[Message, ...]:
        return (*self._turns, {"role": "user", "content": self._render()})

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        """Return the message, or a slice of one."""
        return self._messages()[index]

    def __len__(self) -> int:
        return len(self._turns) + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One question to one model.

    Attributes:
        backend: `openai` or `vllm`.
        model: as the backend calls it.
        base_url: of the server; empty for the backend's own.
        messages: what is sent.
        schema: JSON schema of the answer; None if the model is not given one.
        prompt: name, version and digest of the wording.
        expect: text of a typical answer, for estimates; not part of the key.
    """

    backend: str
    model: str
    base_url: str
    messages: Sequence[Message]
    schema: AnswerSchema | None
    sampling: Sampling
    repeat: int = 0
    prompt: str = ""
    expect: str = field(default="", compare=False)
    # There may be a hundred thousand, and a slot needs less memory than a cached property's
    # dictionary.
    _key: str = field(default="", init=False, compare=False, repr=False)

    @property
    def parts(self) -> dict[str, object]:
        """Everything that affects the answer, and nothing else."""
        parts = {part.name: getattr(self, part.name) for part in fields(self) if part.compare}
        return {**parts, "messages": tuple(self.messages)}

    @property
    def key(self) -> str:
        """The name under which replies are stored."""
        if not self._key:
            object.__setattr__(self, "_key", key_of(self.parts))
        return self._key


TokenLogprob = tuple[str, tuple[tuple[str, float], ...]]
"""One token of a reply with the model's alternatives for it, including the token itself: each is a
text and the natural logarithm of its probability."""

_IF_PRESENT = ("reasoning_tokens", "cached_tokens", "model", "prices")
# The settings of a reply that are numbers.
_NUMBERS = ("max_tokens", "seed", "temperature")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer, as every backend gives it.

    Attributes:
        text: what it said.
        finish: `stop`, `length`, `content_filter`, `refusal`, `empty`, or the server's word.
        input_tokens: tokens read, as the backend counts them.
        output_tokens: tokens written, thinking included.
        reasoning_tokens: how many of the output tokens are reasoning; 0 if the backend does not
            count them.
        cached_tokens: tokens read that the server had read before, if it counts them.
        logprobs: the tokens with their alternatives; None if not requested or not returned.
        cost: in the price table's currency; None if the price is unknown. If the tokens are not
            `counted`, this is the most that the reply may cost.
        latency: seconds from sending the request to having the whole answer.
        sent: settings that differed from the request, e.g. a raised token cap on a retry.
        model: the model that answered, if the server names another than it was asked for.
        prices: date of the price table that the cost is computed with, if the server is paid.
    """

    text: str
    finish: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    logprobs: tuple[TokenLogprob, ...] | None = None
    cost: float | None = None
    latency: float = 0.0
    sent: Mapping[str, object] = field(default_factory=lambda: NOTHING)
    reasoning_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""
    prices: str = ""

    @property
    def counted(self) -> bool:
        """True if the backend reported how many tokens it read and wrote."""
        silent = not self.text and self.finish != THOUGHTS
        return self.input_tokens > 0 and (self.output_tokens > 0 or silent)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The settings of the request that were not sent because the server refuses them."""
        names = self.sent.get("left_out")
        return tuple(map(str, names)) if isinstance(names, list | tuple) else ()

    def to_json(self) -> dict[str, object]:
        """Return the reply as it is stored; counts that few servers give are left out if empty."""
        record = asdict(self)
        return {name: v for name, v in record.items() if v or name not in _IF_PRESENT}

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Reply:
        """Return the reply that was stored.

        Raises:
            TypeError, ValueError: the record is not a reply.
        """
        reply = from_record(cls, record)
        check_logprobs(reply.logprobs or ())
        numbers = [reply.input_tokens, reply.output_tokens, reply.cost or 0.0, reply.latency]
        numbers += [reply.reasoning_tokens, reply.cached_tokens]
        numbers += [from_record(float, reply.sent[n], n) for n in _NUMBERS if n in reply.sent]
        # Stores can be imported from elsewhere, and no sum of these numbers may overflow.
        if not all(abs(number) <= 1e18 for number in numbers):
            raise ValueError("a number is too large for a reply")
        return reply


def check_logprobs(tokens: Iterable[TokenLogprob]) -> None:
    """Refuse values that cannot be logarithms of probabilities.

    Raises:
        ValueError: a value is too far above 0 for a rounding error.
    """
    for logarithm in (logarithm for _, top in tokens for _, logarithm in top):
        if not logarithm <= 1:
            raise ValueError(f"{logarithm} is not a logarithm of a probability")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a request.

    Attributes:
        number: 0 for the first time it is asked, counted over all runs.
        overrides: sampling settings changed for a retry, or to fit the model's window.
    """

    request: Request
    number: int = 0
    overrides: Sampling = field(default_factory=lambda: NOTHING)

    @property
    def name(self) -> str:
        """The name by which a server recognizes a repeated request, to avoid billing it twice."""
        return f"{self.request.key}-{self.number}"

    @property
    def sampling(self) -> Sampling:
        """Sampling settings in effect."""
        return {**self.request.sampling, **self.overrides}

    @property
    def max_tokens(self) -> int:
        """The cap on the tokens of the answer."""
        return int(self.sampling["max_tokens"])


Deliver = Callable[[Attempt, Reply], Attempt | None]
"""Stores and reads a reply, and returns the attempt to make next because of it, if any."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """One model of a judge, with everything that a backend needs to reach it.

    Attributes:
        backend: one of `gecjury.judges.backends.registry.BACKENDS`.
        name: as the backend calls it.
        base_url: server; several, joined by `+`, share the work; empty for the default.
        logprobs: whether replies need the alternatives of their tokens.
        effort: how much it should reason.
        structured: `schema`, `text` or `auto`.
        options: passed through to the engine (`tensor_parallel_size`, ...).
    """

    backend: str
    name: str
    base_url: str = field(default="", repr=False)
    logprobs: bool = False
    effort: Effort = "auto"
    structured: str = "auto"
    options: tuple[tuple[str, float | str], ...] = ()
