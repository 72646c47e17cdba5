"""The canary of constrained answers, without vLLM."""

from __future__ import annotations

import pytest

from gecjury.errors import OptionError
from gecjury.judges.backends.vllm import check_canary


@pytest.mark.parametrize("text", ["Hello!", '{"word": "hello"}', "", '{"word":"zq7-canary"'])
def test_a_dead_canary_stops_the_run(text: str) -> None:
    with pytest.raises(OptionError, match=r"vLLM 0\.12 ignores structured outputs"):
        check_canary(text, "0.12")


def test_a_live_canary_passes() -> None:
    check_canary('{"word":"zq7-canary"}', "0.32.0")
