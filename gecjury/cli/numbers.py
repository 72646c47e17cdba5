"""Numbers as types of options, with errors that say what is expected."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

MOST_DRAWS = 1_000_000
"""Resamples, permutations and the like; their own error is long below what is shown."""

MOST_SEED = 2**32 - 1
"""Seeds of scikit-learn and transformers have 32 bits."""

_LARGEST = 2**63 - 1


def whole(text: str) -> int:
    """A whole number that fits 64 bits, as an option's type."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid int value: {text!r:.60}{_quoted(text)}"
        ) from None
    if abs(number) > _LARGEST:
        raise argparse.ArgumentTypeError(f"{text:.30}... is too large; expected at most {_LARGEST}")
    return number


def decimal(text: str) -> float:
    """A finite number, as an option's type."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid float value: {text!r:.60}{_quoted(text)}"
        ) from None
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text:.30} is no finite number; expected one")
    return number


def two_prices(text: str) -> tuple[float, float]:
    """Two prices, of tokens read and written, as an option's type."""
    numbers = [decimal(part) for part in text.split(",")]
    if len(numbers) != 2 or not all(0 <= number <= 1e9 for number in numbers):
        raise argparse.ArgumentTypeError(
            f"{text!r:.60}: expected two prices per million tokens, of input and output, e.g. "
            "0.10,0.50"
        )
    return numbers[0], numbers[1]


def up_to(most: int, least: int = 1) -> Callable[[str], int]:
    """A whole number within bounds, as an option's type.

    Args:
        most: what is more would take the machine's memory or days, not give a better result.
        least: 1 says so itself; below any other the command's settings do.
    """

    def read(text: str) -> int:
        try:
            number = int(text) if least == 1 else whole(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"{text!r:.60} is not a whole number; expected 1 or more{_quoted(text)}"
            ) from None
        if number < least == 1:
            raise argparse.ArgumentTypeError(f"{text:.60} is too small; expected 1 or more")
        if number > most:
            raise argparse.ArgumentTypeError(f"{text:.30} is too large; expected at most {most}")
        return number

    return read


def _quoted(text: str) -> str:
    """Return a hint on quotation marks that a word processor put around a number."""
    return "; leave out the quotation marks" if set(text) & set("“”„‟‘’‚‛«»\"'") else ""
