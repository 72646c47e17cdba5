"""Tokens a second of vLLM in process: all questions at once, one by one, and no shared prefixes.

    python -m speed judges-prefixes --smollm2 DIR

Needs vLLM. 48 pointwise questions of the sample go to SmolLM2-135M-Instruct in three ways, each
beginning with an empty prefix cache: in one batch; one after the other; and one after the other
with the cache emptied before each. Tokens are input and output tokens. Another question warms the
engine up. Each way is timed twice, in turns, and the better time counts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from speed.harness import Claim, Lacking, Options, checked, faster, needs, timed

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")

_QUESTIONS = 48


def answered(model: Any, parts: Sequence[Any], llm: Any, *, empty: bool) -> list[Any]:
    """Return the replies to parts of the questions, each a batch from an empty prefix cache.

    Args:
        model: the model to ask.
        parts: parts of the questions.
        llm: vLLM's engine.
        empty: whether the cache is also emptied before each part.
    """
    from gecjury.core.runtime import Runtime
    from gecjury.judges.asking.ask import ask

    runtime, replies = Runtime(use_cache=False), []
    for number, part in enumerate(parts):
        if empty or number == 0:
            assert llm.reset_prefix_cache() is not False
        asked = ask(part, model, runtime, 0, "judges-prefixes")
        replies += [reply for answer in asked.answers.values() for reply in answer.replies]
    return replies


def measure(options: Options) -> list[Claim]:
    """Measure the three ways with one engine."""
    needs("vllm")
    if options.smollm2 is None:
        raise Lacking("no model: name its folder with --smollm2")
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.judges.asking.ask import ask
    from gecjury.judges.backends.vllm import _engine
    from gecjury.scoring.registry import load

    runtime = Runtime(use_cache=False)
    folder = str(options.smollm2.resolve())
    judge: Any = load("llm-s", backend="vllm", model=folder, protocol="pointwise")
    settings = (("enforce_eager", True), ("gpu_memory_utilization", 0.3))
    model = replace(judge.models()[0], options=settings)
    questions = judge.questions(load_benchmark("sample").corpus, model, runtime)
    distinct = list({question.request.key: question for question in questions}.values())
    warm, *rest = distinct[: 9 if options.quick else _QUESTIONS + 1]
    ask([warm], model, runtime, 0, "warming up")
    llm = _engine(model).llm
    single = [[question] for question in rest]
    ways: dict[str, tuple[Sequence[Any], bool]] = {
        "in one batch": ([rest], False),
        "one by one": (single, False),
        "one by one, without shared prefixes": (single, True),
    }
    seconds: dict[str, float] = {}
    lines: dict[str, str] = {}
    for _ in range(1 if options.quick else 2):
        for name, (parts, empty) in ways.items():
            replies, took, _ = timed(
                lambda parts=parts, empty=empty: answered(model, parts, llm, empty=empty)
            )
            assert len(replies) == len(rest)
            seconds[name] = min(took, seconds.get(name, took))
            read = sum(reply.input_tokens for reply in replies)
            written = sum(reply.output_tokens for reply in replies)
            cached = sum(reply.cached_tokens for reply in replies)
            lines[name] = (
                f"{name}: {(read + written) / seconds[name]:.0f} tokens a second ({read} read, "
                f"{cached} of them from the prefix cache, and {written} written)"
            )
    config = llm.llm_engine.vllm_config.cache_config
    batch, *others = ways
    return [
        *(
            faster(
                f"vLLM, {len(rest)} questions {batch}, and {other}",
                seconds[batch],
                seconds[other],
                lines=(lines[batch], lines[other]),
            )
            for other in others
        ),
        checked(
            "vLLM's prefix cache",
            "on" if config.enable_prefix_caching else "off",
            "on",
            bool(config.enable_prefix_caching),
        ),
    ]
