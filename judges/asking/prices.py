"""What tokens cost: a dated price table in a file, which a user may override."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gecjury.errors import InputError
from gecjury.textfiles import parse_json, read_text
from gecjury.wording import visible

__all__ = ["FREE", "Price", "PriceTable", "read_prices"]

_TABLE = Path(__file__).with_name("prices.json")
_MOST_BYTES = 4_000_000
# A dated snapshot costs what its model costs: gpt-4o-2024-08-06, gpt-4-0613.
_SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{4})$")


@dataclass(frozen=True)
class Price:
    """Cost of one token in each direction, in the table's currency."""

    input: float
    output: float

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """Cost of some tokens."""
        return self.input * input_tokens + self.output * output_tokens


FREE = Price(0.0, 0.0)
"""The price of a model on one's own machine."""


@dataclass(frozen=True)
class PriceTable:
    """Prices by model.

    Attributes:
        date: when the prices were taken down.
        currency: e.g. `USD`.
        models: by the model's name.
        batch_factor: what a batch costs, as a share of the price.
        path: the file.
    """

    date: str
    currency: str
    models: Mapping[str, Price]
    batch_factor: float
    path: Path

    def price(self, model: str, *, batch: bool = False) -> Price | None:
        """The price of a model, a dated snapshot of one included; None where it is unknown."""
        found = self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model))
        if found is None or not batch:
            return found
        return Price(found.input * self.batch_factor, found.output * self.batch_factor)


def read_prices(path: str | Path | None = None) -> PriceTable:
    """Read a price table.

    Args:
        path: a file such as the package's `prices.json`, which is read by default. Prices in the
            file are for a million tokens.

    Raises:
        InputError: the file is not a price table; says what is wrong.
    """
    chosen = _TABLE if path is None else Path(path)
    expected = '{"date", "currency", "models": {"NAME": {"input": X, "output": Y}}}'
    try:
        text = read_text(chosen, most=_MOST_BYTES)
    except InputError as error:
        raise InputError(f"the price table cannot be read: {error}") from None
    try:
        record = parse_json(text, "JSON", "a price table")
        models = {
            str(name): Price(_positive(row["input"]) / 1e6, _positive(row["output"]) / 1e6)
            for name, row in record["models"].items()
        }
        return PriceTable(
            _word(record["date"]),
            _word(record["currency"]),
            models,
            _positive(record.get("batch_factor", 1.0)),
            chosen,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = str(error) if isinstance(error, InputError) else repr(error)
        raise InputError(
            f"{chosen}: not a price table ({visible(said[:200])}); expected {expected}"
        ) from None


def _word(value: object) -> str:
    """A date or a currency: one short line."""
    text = str(value)
    if not isinstance(value, str | int) or len(text) > 60 or not text.isprintable():
        raise ValueError(f"{text[:60]!r} is no date or currency")
    return text


def _positive(value: object) -> float:
    number = float(str(value))
    # More than any price, so that no sum of costs is infinite.
    if not math.isfinite(number) or not 0 <= number <= 1e15:
        raise ValueError(f"{str(value)[:60]!r} is not a price")
    return number
