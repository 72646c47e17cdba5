"""Hostile replies: readers take time proportional to the length, and raise nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from gecjury.judges.replies.reply import (
    Failure,
    read_choice,
    read_score,
    read_scores,
    read_validity,
)

READERS: dict[str, Callable[[str], Any]] = {
    "scores": lambda text: read_scores(text, 3),
    "score": read_score,
    "choice": read_choice,
    "validity": read_validity,
}
PATTERNS = (
    "{", "{/*", '"', "\\", "```", '{"a":', "9", "{a:[", "{'", "{//", "<think></think>", "score:",
    '{"score": 3}', "{a:1,", " ", '{"target',
)  # fmt: skip
WRAPPED = (
    "{}",
    '{{a:"{}',
    '{{"score": "{}"}}',
    '{{"score": {}',
    '{{"{}": 3}}',
    "{}*/",
    "{{a:[1,{}",
)


@pytest.mark.security
@pytest.mark.parametrize("pattern", PATTERNS)
def test_readers_take_time_proportional_to_the_length(pattern: str) -> None:
    # A reader with quadratic work took 1.5 seconds for 10,000 characters.
    for form in WRAPPED:
        text = form.format((pattern * 5_000)[:10_000])
        start = time.process_time()
        read_scores(text, 3)
        assert time.process_time() - start < 1.0, form


@pytest.mark.security
@pytest.mark.parametrize("digits", [300, 5_000, 100_000])
def test_numbers_of_many_digits(digits: int) -> None:
    number = "9" * digits
    for text in (
        f'{{"score": {number}}}',
        f'{{"score": "{number}"}}',
        f'{{"score": -{number}.5}}',
        f'{{"score": 1e{number}}}',
        f'{{"target{number}_score": 3, "score": 1}}',
        f'{{"target1_score": {number}, "target{number}": 2}}',
    ):
        for read in READERS.values():
            assert isinstance(read(text), Failure) or "target" in text
