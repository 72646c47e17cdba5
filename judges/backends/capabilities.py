"""What a model accepts and a server understands, as far as that is known beforehand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gecjury.judges.asking.exchange import Model

__all__ = ["Capabilities", "capabilities"]

_OFFICIAL = re.compile(r"^$|^https://([a-z]+\.)?api\.openai\.com(/|$)")


@dataclass(frozen=True)
class Capabilities:
    """Request features of a model.

    Attributes:
        schema: obeys a JSON schema.
        sampling: takes temperature and seed.
        logprobs: returns the alternatives of its tokens.
        cap: name of the token cap in a request.
        reasons: spends hidden tokens before it answers.
        template_options: the server takes options of the chat template (thinking on or off).
    """

    schema: bool = True
    sampling: bool = True
    logprobs: bool = True
    cap: str = "max_completion_tokens"
    reasons: bool = False
    template_options: bool = False


# First match counts; OpenAI's own models only.
_MODELS: tuple[tuple[str, Capabilities], ...] = (
    (r"gpt-3\.5|gpt-4(-|$)", Capabilities(schema=False)),
    (r"gpt-4o-2024-05-13", Capabilities(schema=False)),
    (r"gpt-5-chat", Capabilities(schema=False)),
    (r"o\d|gpt-5", Capabilities(sampling=False, logprobs=False, reasons=True)),
)


def capabilities(model: Model) -> Capabilities:
    """What is known of a model.

    Of a server that is not OpenAI's own it is assumed that it obeys schemas and reads `max_tokens`,
    the only limit that older servers know. What a server refuses after all, the client leaves out
    and records.
    """
    if model.backend != "openai":
        return Capabilities(cap="max_tokens", template_options=True)
    if not _OFFICIAL.match(model.base_url):
        return Capabilities(cap="max_tokens", template_options=True)
    for pattern, found in _MODELS:
        if re.match(pattern, model.name):
            return found
    return Capabilities()


def no_template(model: str) -> str:
    """What to say of a model that cannot chat."""
    return (
        f"{model} has no chat template, so it cannot be asked; choose an instruction-tuned model, "
        "or start the server with --chat-template FILE"
    )
