"""Token counts by a model's tokenizer, in a process of its own.

Its arguments: the model, the most bytes it may take, and the seconds of processor time for loading.
A tokenizer brings a chat template, which is a program of foreign origin.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from gecjury.errors import InputError
from gecjury.models.checkpoints import cached_tokenizer
from gecjury.processes import serve_standard_streams


def start() -> Callable[[Any], Any]:
    """Load the tokenizer that the command line names, and return what counts with it."""
    # A template's program may make its libraries write whatever it likes.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _allow(float(sys.argv[3]))
    tokenizer = cached_tokenizer(sys.argv[1])
    # Windows has no such limit.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
        # The end of its processor time is no crash to be looked into.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def answer(question: tuple[Any, dict[str, Any], float]) -> int | bool:
        text, options, seconds = question
        _allow(seconds)
        if text is None:
            return getattr(tokenizer, "chat_template", None) is not None
        try:
            if not isinstance(text, str):
                text = tokenizer.apply_chat_template(
                    text, tokenize=False, add_generation_prompt=True, **options
                )
            return len(tokenizer.encode(text, add_special_tokens=False))
        except Exception as error:  # whatever a template of foreign origin raises
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(said) from None

    return answer


def _allow(seconds: float) -> None:
    """Have the system end this process once it has used so many more seconds of processor time.

    On a busy machine a sound tokenizer waits for minutes, but works no longer than elsewhere.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        last = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (last, most))


if __name__ == "__main__":
    serve_standard_streams(start)
