"""Token counts by a model's tokenizer, in a process of its own; its arguments: model, most bytes.

A tokenizer brings a chat template, which is a program of foreign origin.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from gecjury.errors import InputError
from gecjury.models.checkpoints import cached_tokenizer
from gecjury.processes import serve_standard_streams


def start() -> Callable[[Any], Any]:
    """Load the tokenizer that the command line names, and return what counts with it."""
    # A template's program may make its libraries write whatever it likes.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    tokenizer = cached_tokenizer(sys.argv[1])
    # Windows has no such limit.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (int(sys.argv[2]),) * 2)

    def answer(question: tuple[Any, dict[str, Any]]) -> int | bool:
        text, options = question
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


if __name__ == "__main__":
    serve_standard_streams(start)
