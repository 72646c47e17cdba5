"""How many tokens a request takes: counted with the model's own tokenizer, else estimated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.judges.asking.exchange import Message, Request
from gecjury.models.checkpoints import cached_tokenizer

__all__ = ["Counter", "counter_for"]

# English prose in the tokenizers of current models takes 4 to 4.6 characters a token; tokenised
# text, with blanks around punctuation, is at the lower end. The lower bound errs upwards.
_CHARACTERS_A_TOKEN = 4.0
# What a chat format adds to every message (role, begin and end marks).
_MESSAGE_TOKENS = 4


@dataclass(frozen=True)
class Counter:
    """Counts tokens.

    Attributes:
        how: for the user: with what was counted.
        exact: whether the counts are the model's own.
        prompt: tokens of the rendered messages.
        text: tokens of an answer.
    """

    how: str
    exact: bool
    prompt: Callable[[Sequence[Message]], int]
    text: Callable[[str], int]

    def input(self, request: Request) -> int:
        """Tokens that the model reads."""
        return self.prompt(request.messages)

    def output(self, request: Request) -> int:
        """Tokens of a typical answer; the end mark is one of them."""
        return self.text(request.expect) + 1

    def most(self, request: Request) -> int:
        """The most tokens that the answer may take."""
        return int(request.sampling["max_tokens"])


@functools.lru_cache(maxsize=8)
def counter_for(model: str, thinking: bool | None = None) -> Counter:
    """The best counter at hand; never asks a network.

    Args:
        model: a folder or a name; a tokenizer in that folder or in the local Hub cache is used.
        thinking: the chat template's switch, where the model has one.
    """
    tokenizer = cached_tokenizer(model)
    if getattr(tokenizer, "chat_template", None) is None:
        return Counter(
            f"estimate, {_CHARACTERS_A_TOKEN:g} characters a token",
            False,
            lambda messages: sum(_MESSAGE_TOKENS + _estimate(m["content"]) for m in messages),
            _estimate,
        )
    options: dict[str, Any] = {} if thinking is None else {"enable_thinking": thinking}

    def prompt(messages: Sequence[Message]) -> int:
        text = tokenizer.apply_chat_template(
            [dict(m) for m in messages], tokenize=False, add_generation_prompt=True, **options
        )
        return len(tokenizer.encode(text, add_special_tokens=False))

    return Counter(
        "the model's own tokenizer",
        True,
        prompt,
        lambda text: len(tokenizer.encode(text, add_special_tokens=False)),
    )


def _estimate(text: str) -> int:
    return -(-len(text) // int(_CHARACTERS_A_TOKEN))
