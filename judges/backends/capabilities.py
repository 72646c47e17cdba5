"""What a model accepts and a server understands, as far as that is known beforehand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gecjury.judges.asking.exchange import Model
from gecjury.judges.asking.models import Traits, read_models

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
        effort: value of `reasoning_effort` that keeps the model from reasoning; empty where
            none has to be sent.
        template_options: the server takes options of the chat template (thinking on or off).
    """

    schema: bool = True
    sampling: bool = True
    logprobs: bool = True
    cap: str = "max_completion_tokens"
    reasons: bool = False
    effort: str = ""
    template_options: bool = False


def is_official(model: Model) -> bool:
    """Return whether OpenAI itself serves a model."""
    return model.backend == "openai" and _OFFICIAL.match(model.base_url) is not None


def capabilities(model: Model) -> Capabilities:
    """Return what is known of a model.

    OpenAI's models are those of the model table; one that the table does not know is taken for a
    newer one, which reasons unless it is told not to. Probabilities of tokens (`model.logprobs`)
    come without reasoning alone, so that it is turned off where they are asked for.

    Of a server that is not OpenAI's own it is assumed that it obeys schemas and reads `max_tokens`,
    the only limit that older servers know. What a server refuses after all, the client leaves out
    and records.
    """
    known = read_models().traits_of(model.name.rpartition("/")[2])
    if not is_official(model):
        # A hosted model reasons behind another address as well, and needs room for it.
        hidden = model.backend == "openai" and known is not None and known.reasoning != "never"
        return Capabilities(cap="max_tokens", reasons=hidden, template_options=True)
    traits = known or Traits()
    if traits.reasoning == "never":
        return Capabilities(schema=traits.schema)
    if traits.reasoning == "optional" and model.logprobs:
        return Capabilities(schema=traits.schema, effort="none")
    return Capabilities(schema=traits.schema, sampling=False, logprobs=False, reasons=True)


def no_template(model: str) -> str:
    """Return what to say of a model that cannot chat."""
    return (
        f"{model} has no chat template, so it cannot be asked; choose an instruction-tuned model, "
        "or start the server with --chat-template FILE"
    )
