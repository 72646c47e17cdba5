"""Known models: prices, traits and shut-down dates, in a dated file that a user may override.

The user's file has the form of `models.json`. It is the one that `$GECJURY_PRICES` names, or else
`prices.json` in the cache folder.
"""

from __future__ import annotations

import datetime
import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gecjury.core.addresses import is_openai
from gecjury.core.errors import InputError
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import parse_json, read_text
from gecjury.core.wording import visible
from gecjury.judges.exchange import Effort, Model

PRICES_VARIABLE = "GECJURY_PRICES"
"""Environment variable with the path of the user's table."""

_TABLE = Path(__file__).with_name("models.json")
_MOST_BYTES = 4_000_000
# A dated snapshot costs what its model costs: gpt-4o-2024-08-06, gpt-4-0613.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")

# What may follow a model's name: its date or version, and the form of weights or service.
_DATE = r"\d{4}-\d\d(?:-\d\d)?|\d\d-\d{4}|\d\d-\d\d|\d{3,8}|v\d+(?:\.\d+)?(?::\d+)?"
_FORM = (
    r"latest|preview|exp|instruct|chat|it|hf|free|nitro|floor|online|extended|gguf|ggml|mlx|awq"
    r"|gptq|bnb|fp8|b?f(?:p?16)|int[48]|[48]bit|i?q\d(?:_[a-z0-9]+)*"
)
# Atomic, since a server chooses the name.
_SUFFIXES = re.compile(rf"(?:[-_.:](?>{_DATE}|{_FORM}))+$")

Reasoning = Literal["never", "optional", "always"]
"""When a model spends hidden tokens before it answers; `optional` can be turned off."""

ROOM: Mapping[Effort, int] = {
    "auto": 4096,
    "none": 0,
    "minimal": 1024,
    "low": 4096,
    "medium": 8192,
    "high": 16384,
}
"""Tokens that an answer may spend on reasoning, by effort."""
THINKING_ROOM = 8192
"""Room for a model that thinks because its chat template says so (`thinking=true`)."""
# Dry runs assume that an effort uses at least a sixteenth of its room; a default may use none.
_LEAST_SHARE = 16


def _check_prices(*prices: float) -> None:
    for price in prices:
        # The limit is above any price, but no sum of costs becomes infinite.
        if not 0 <= price <= 1e15:
            raise ValueError(f"{price} is not a price")


@dataclass(frozen=True)
class Price:
    """Prices of a model in the table's currency.

    Attributes:
        input: of a million tokens read.
        output: of a million tokens written, thoughts included.
        cached: of a million tokens read that the server had read before; None if it is not known,
            and such a token costs as much as any other.
        ends: date on which the model is shut down; None where none is known.
    """

    input: float
    output: float
    cached: float | None = None
    ends: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that are not prices or dates.

        Raises:
            ValueError: names the value.
        """
        if self.ends is not None:
            datetime.date.fromisoformat(self.ends)
        _check_prices(self.input, self.output, self.cached or 0.0)

    def cost(self, input_tokens: float, output_tokens: float, cached_tokens: float = 0) -> float:
        """Return the cost of some tokens; those read include the cached ones."""
        read, written = self.input / 1e6, self.output / 1e6
        cost = read * input_tokens + written * output_tokens
        if self.cached is None or not cached_tokens:
            return cost
        return cost - (read - self.cached / 1e6) * cached_tokens

    def times(self, factor: float) -> Price:
        """Return the prices multiplied by a factor."""
        cached = None if self.cached is None else self.cached * factor
        return Price(self.input * factor, self.output * factor, cached)

    def __str__(self) -> str:
        return f"{self.input:.2f} in, {self.output:.2f} out"


FREE = Price(0.0, 0.0)
"""The price of a model that runs on the user's own machine."""


@dataclass(frozen=True)
class Traits:
    """Properties of a model that decide how it can be asked.

    Attributes:
        reasoning: whether it reasons before it answers.
        schema: whether it obeys a JSON schema.
    """

    reasoning: Reasoning = "optional"
    schema: bool = True


@dataclass(frozen=True)
class ModelTable:
    """Known models by name, as in the file.

    Attributes:
        date: when the prices and shut-down dates were recorded.
        currency: e.g. `USD`.
        families: properties of models by the beginning of their names.
        batch_factor: cost of a batch as a share of the price.
    """

    date: str
    currency: str
    models: Mapping[str, Price]
    families: Mapping[str, Traits] = field(default_factory=dict)
    batch_factor: float = 1.0
    path: str = ""

    def __post_init__(self) -> None:
        """Refuse a date or currency that cannot be shown, and an invalid batch factor.

        Raises:
            ValueError: names the value.
        """
        for word in (self.date, self.currency):
            if len(word) > 60 or not word.isprintable():
                raise ValueError(f"{word[:60]!r} is not a date or currency")
        _check_prices(self.batch_factor)

    def price(self, model: str, *, batch: bool = False) -> Price | None:
        """Return the price of a model or of a dated snapshot; None where it is unknown."""
        price = self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model))
        return price.times(self.batch_factor) if price and batch else price

    def traits_of(self, model: str) -> Traits | None:
        """Return the properties of a model's family; None where the family is unknown."""
        name = f"{_tuned_from(model)}-"
        near = [family for family in self.families if name.startswith(f"{family}-")]
        return self.families[max(near, key=len)] if near else None

    def suggestion(self) -> str:
        """Return the cheapest model without a shut-down date, with its price; for errors."""
        lasting = {name: model for name, model in self.models.items() if not model.ends}
        if not lasting:
            return "model=NAME"
        name = min(lasting, key=lambda name: lasting[name].output)
        price = f"{lasting[name]}, {self.currency} per million tokens"
        return f"model={name} ({price}, prices of {self.date})"


def same_model(asked: str, said: str) -> bool:
    """Return whether two names are of one model, whose provider or date only one of them names.

    Args:
        asked: the name in a request.
        said: the name in the reply; empty if the server names none.
    """
    if said in ("", asked):
        return True
    (name, date), (other, of_other) = map(_name_and_date, (asked, said))
    return name == other and (not date or not of_other or date == of_other)


def _name_and_date(model: str) -> tuple[str, str]:
    # A revision follows an @.
    name = model.replace("\\", "/").rstrip("/").rpartition("/")[2].partition("@")[0].lower()
    suffix = _SUFFIXES.search(name)
    if suffix is None:
        return name, ""
    dates = re.findall(rf"(?<=[-_.:])(?:{_DATE})(?![a-z0-9])", suffix[0])
    return name[: suffix.start()], "".join(filter(str.isdigit, "".join(dates)))


def _tuned_from(model: str) -> str:
    """Return the base model of a fine-tuned one (ft:gpt-4o-2024-08-06:me::x)."""
    return model.split(":")[1] if model.startswith("ft:") else model


@functools.cache
def _packaged() -> ModelTable:
    return read_models(_TABLE)


def model_table(runtime: Runtime) -> ModelTable:
    """Return the price table of a run: the package's or the user's.

    Raises:
        InputError: the user's file is not such a table.
    """
    own: str | Path | None = os.environ.get(PRICES_VARIABLE)
    # A link to nowhere is refused like any other file that cannot be read.
    if not own and os.path.lexists(kept := runtime.cache_folder("prices.json")):
        own = kept
    return read_models(own or None)


def read_models(path: str | Path | None = None) -> ModelTable:
    """Read a table of models.

    Args:
        path: a file such as the package's `models.json`, which is read by default. Prices in the
            file are for a million tokens. A model needs only `input` and `output`.

    Raises:
        InputError: the file is not such a table; says what is wrong.
    """
    if path is None:
        return _packaged()
    expected = '{"date", "currency", "models": {"NAME": {"input": X, "output": Y}}}'
    try:
        text = read_text(path, most=_MOST_BYTES)
    except InputError as error:
        raise InputError(f"the price table cannot be read: {error}") from None
    try:
        table = from_record(ModelTable, parse_json(text, "JSON", "a price table"))
    except ValueError as error:
        raise InputError(
            f"{path}: not a price table ({visible(str(error)[:200])}); expected {expected}"
        ) from None
    # Whatever the file says of its own path.
    return replace(table, path=str(path))


@dataclass(frozen=True)
class Capabilities:
    """Request features of a model.

    Attributes:
        schema: obeys a JSON schema.
        sampling: accepts temperature and seed.
        logprobs: returns the alternatives of its tokens.
        cap: name of the token cap in a request.
        reasons: spends hidden tokens before it answers.
        effort: value of `reasoning_effort` to send; empty if none has to be sent.
        template_options: the server accepts options of the chat template (thinking on or off).
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
    return model.backend == "openai" and is_openai(model.base_url)


def capabilities(model: Model) -> Capabilities:
    """Return what is known about a model.

    OpenAI's models are listed in the model table. A model that the table lacks is assumed to be a
    newer one, which reasons unless `model.effort` turns that off. Token probabilities
    (`model.logprobs`) are available only without reasoning, so reasoning is turned off if they are
    requested and no effort is.

    A server other than OpenAI's is assumed to obey schemas and to accept `max_tokens`, the only
    limit that older servers know. If it refuses a setting nevertheless, the client leaves the
    setting out and records that; an effort that the user requested is not left out.
    """
    asked = model.effort != "auto"
    effort = model.effort if asked else ""
    family = read_models().traits_of(model.name.rpartition("/")[2])
    if not is_official(model):
        # A hosted model also reasons when it is behind another address, and needs room for it.
        hidden = model.backend == "openai" and family is not None and family.reasoning != "never"
        reasons = effort != "none" if asked else hidden
        return Capabilities(cap="max_tokens", reasons=reasons, effort=effort, template_options=True)
    traits = family or Traits()
    if traits.reasoning == "never":
        return Capabilities(schema=traits.schema)
    off = effort == "none" or (model.logprobs and not asked)
    if traits.reasoning == "optional" and off:
        return Capabilities(schema=traits.schema, effort="none")
    return Capabilities(
        schema=traits.schema, sampling=False, logprobs=False, reasons=True, effort=effort
    )


def effort_fault(model: Model) -> str:
    """Return why a model cannot be asked with its effort; empty if no reason is known."""
    if model.effort == "auto" or not is_official(model):
        return ""
    traits = read_models().traits_of(model.name)
    if traits is None or traits.reasoning == "optional":
        return ""
    if traits.reasoning == "always" and model.effort == "none":
        return f"{model.name} always reasons; use effort=low, or a model that can answer without"
    if traits.reasoning == "never" and model.effort != "none":
        return f"{model.name} never reasons; leave effort out, or use a model that reasons"
    return ""


def reasoning_range(model: Model, *, thinking: bool) -> tuple[int, int]:
    """Return the fewest and the most tokens that an answer is assumed to spend on reasoning.

    The most is the room for reasoning in the token cap. If an effort or thinking is requested, the
    fewest is a sixteenth of its room; a model's own default may be not to reason.

    Args:
        model: the model, with its effort.
        thinking: whether its chat template turns thinking on.
    """
    if model.effort == "auto":
        hidden = ROOM["auto"] if capabilities(model).reasons else 0
        visible = THINKING_ROOM if thinking else 0
        return visible // _LEAST_SHARE, hidden + visible
    room = ROOM[model.effort] if capabilities(model).reasons else 0
    return room // _LEAST_SHARE, room
