"""The canary of constrained answers and errors of loading, without vLLM."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gecjury.corpus.corpus import corpus_of_texts
from gecjury.errors import InputError, OptionError
from gecjury.judges.backends.vllm import check_canary
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load


@pytest.mark.parametrize("text", ["Hello!", '{"word": "hello"}', "", '{"word":"zq7-canary"'])
def test_a_dead_canary_stops_the_run(text: str) -> None:
    with pytest.raises(OptionError, match=r"vLLM 0\.12 ignores structured outputs"):
        check_canary(text, "0.12")


def test_a_live_canary_passes() -> None:
    check_canary('{"word":"zq7-canary"}', "0.32.0")


FAILED = "Engine core initialization failed. See root cause above. Failed core proc(s): {}"


@pytest.mark.parametrize(
    ("error", "options", "remedy"),
    [
        (FAILED, {}, "gpu_memory=0.3 (also on a CPU), or a shorter context: max_model_len=4096"),
        ("No available memory for the cache blocks", {"gpu_memory": 0.2}, "gpu_memory=0.1 (also"),
        ("no such model", {}, ""),
    ],
)
def test_an_engine_without_memory_is_told_with_the_remedy(
    error: str,
    options: dict[str, float],
    remedy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**arguments: Any) -> None:
        raise RuntimeError(error)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=fail))
    judge = load("llm-s", backend="vllm", model="tiny", **options)
    pattern = "vLLM cannot load tiny: " + re.escape(error)
    pattern += f"; .*{re.escape(remedy)}" if remedy else "$"
    with pytest.raises(InputError, match=pattern):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path))
