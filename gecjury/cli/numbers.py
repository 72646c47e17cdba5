"""Numbers as types of options, with errors that say what is expected."""

from __future__ import annotations

import argparse
import math
from typing import TypeVar

from gecjury.errors import OptionError

N = TypeVar("N", int, float)
_LARGEST = 2**63 - 1


def whole(text: str) -> int:
    """A whole number that fits 64 bits, as an option's type."""
    number = _read(text, int)
    if abs(number) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text:.30}... is too large; expected at most {_LARGEST}")
    return number


def decimal(text: str) -> float:
    """A finite number, as an option's type."""
    number = _read(text, float)
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text:.30} is no finite number; expected one")
    return number


def two_prices(text: str) -> tuple[float, float]:
    """Return the two prices of --price, of tokens read and written.

    Raises:
        OptionError: the text is something else.
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
    """Return a number; the error has a hint on quotation marks that a word processor put there."""
    try:
        return kind(text)
    except ValueError:
        hint = "; leave out the quotation marks" if set(text) & set("“”„‟‘’‚‛«»\"'") else ""
        raise argparse.ArgumentTypeError(
            f"invalid {kind.__name__} value: {text!r:.60}{hint}"
        ) from None
