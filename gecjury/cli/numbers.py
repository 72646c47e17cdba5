"""Number types for options, with errors that name the expected value."""

from __future__ import annotations

import argparse
import math
from typing import TypeVar

from gecjury.core.errors import OptionError

N = TypeVar("N", int, float)
_LARGEST = 2**63 - 1


def whole(text: str) -> int:
    """Return a whole number that fits in 64 bits; a type for options."""
    number = _read(text, int)
    if abs(number) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text:.30}... is too large; expected at most {_LARGEST}")
    return number


def decimal(text: str) -> float:
    """Return a finite number; a type for options."""
    number = _read(text, float)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text:.30} is not finite; expected a finite number")
    return number


def two_prices(text: str) -> tuple[float, float]:
    """Return the two prices of --price, for input and output tokens.

    Raises:
        OptionError: the text is not two prices.
    """
    parts = text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    if len(numbers) != 2 or not all(0 <= number <= 1e9 for number in numbers):
        raise OptionError(
            f"--price {text!r:.60}: expected two prices per million tokens, of input and output, "
            "e.g. 0.10,0.50"
        )
    return numbers[0], numbers[1]


def _read(text: str, kind: type[N]) -> N:
    """Return a number; the error has a hint about quotation marks from word processors."""
    try:
        return kind(text)
    except ValueError:
        hint = "; leave out the quotation marks" if set(text) & set("“”„‟‘’‚‛«»\"'") else ""
        raise argparse.ArgumentTypeError(
            f"invalid {kind.__name__} value: {text!r:.60}{hint}"
        ) from None
