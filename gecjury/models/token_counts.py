"""Token counts by a model's tokenizer, in a separate process.

The arguments of the process are the model, the most bytes it may allocate, and the seconds of
processor time for loading. The process is separate because a tokenizer comes with a chat template,
which is untrusted code.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from gecjury.core.errors import InputError
from gecjury.core.processes import serve_standard_streams
from gecjury.models.checkpoints import cached_tokenizer

TokenQuestion = tuple[str | Sequence[Mapping[str, str]] | None, Mapping[str, bool], float]
"""A text or messages, options of the chat template, and the seconds that the answer may take."""


def start() -> Callable[[TokenQuestion], int | bool]:
    """Load the tokenizer named on the command line and return a function that counts with it."""
    # A template can make libraries write arbitrary text to stderr.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    _allow(float(sys.argv[3]))
    tokenizer = cached_tokenizer(sys.argv[1])
    # Windows has no such limit.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)
        # Running out of processor time is not a crash, so no core file is wanted.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def answer(question: TokenQuestion) -> int | bool:
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
        except Exception as error:  # an untrusted template can raise anything
            said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise InputError(said) from None

    return answer


def _allow(seconds: float) -> None:
    """Have the system end this process once it has used this many more seconds of processor time.

    On a busy machine a valid tokenizer may wait for minutes, but it needs no more processor time.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        last = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (last, most))


if __name__ == "__main__":
    serve_standard_streams(start)
