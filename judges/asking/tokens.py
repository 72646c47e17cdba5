"""Token counts of requests: by the model's own tokenizer, else estimated.

A tokenizer brings a chat template, which is a program: it may loop without end or fill the memory.
It therefore runs in a process of its own, which has a limited time for each prompt.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gecjury.errors import InputError
from gecjury.judges.asking.exchange import Message, Request
from gecjury.models.checkpoints import at_hand, cached_tokenizer

# English prose in the tokenizers of current models takes 4 to 4.6 characters a token; tokenised
# text, with blanks around punctuation, is at the lower end. The lower bound errs upwards.
_CHARACTERS_A_TOKEN = 4.0
# What a chat format adds to every message (role, begin and end marks).
_MESSAGE_TOKENS = 4


@dataclass(frozen=True)
class Counter:
    """Counts tokens.

    Attributes:
        how: for the user: with what was counted.
        exact: whether the counts are the model's own.
        prompt: tokens of the rendered messages.
        text: tokens of an answer.
    """

    how: str
    exact: bool
    prompt: Callable[[Sequence[Message]], int]
    text: Callable[[str], int]

    def input(self, request: Request) -> int:
        """Return how many tokens the model reads."""
        return self.prompt(request.messages)

    def output(self, request: Request) -> int:
        """Return how many tokens a typical answer has; the end mark is one of them."""
        return self.text(request.expect) + 1


_LOADING_SECONDS = 120.0
_PROMPT_SECONDS = 10.0
_MOST_MEMORY = 4 * 1024**3  # bytes that the process of a tokenizer may take


@functools.lru_cache(maxsize=8)
def counter_for(model: str, thinking: bool | None = None) -> Counter:
    """Return the best counter at hand; never asks a network.

    Args:
        model: a folder or a name; a tokenizer in that folder or in the local Hub cache is used.
        thinking: the chat template's switch, where the model has one.

    Raises:
        InputError: the tokenizer is not loaded within two minutes. Its counter raises it as well,
            where the chat template cannot render a prompt within ten seconds and 4 GB.
    """
    tokenizer = _Tokenizer(model) if at_hand(model) else None
    if tokenizer is None or not tokenizer.has_template:
        return Counter(
            f"estimate, {_CHARACTERS_A_TOKEN:g} characters a token",
            False,
            lambda messages: sum(_MESSAGE_TOKENS + _estimate(m["content"]) for m in messages),
            _estimate,
        )
    options: dict[str, Any] = {} if thinking is None else {"enable_thinking": thinking}
    return Counter(
        "the model's own tokenizer",
        True,
        lambda messages: tokenizer.count([dict(m) for m in messages], options),
        lambda text: tokenizer.count(text, {}),
    )


class _Tokenizer:
    """A model's tokenizer in a process of its own.

    Attributes:
        has_template: whether there is such a tokenizer, with a chat template.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        root = str(Path(__file__).parents[3])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import _serve; _serve()", model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": path},
            encoding="utf-8",
        )
        self._lock = threading.Lock()
        self.has_template = bool(self._answer(_LOADING_SECONDS, "the tokenizer is not loaded"))
        if self.has_template:
            atexit.register(self.close)
        else:
            self.close()

    def count(self, text: str | Sequence[Message], options: dict[str, Any]) -> int:
        """Count the tokens of a text, or of messages in the model's chat template.

        Raises:
            InputError: the template fails, or takes too long or too much memory.
        """
        stdin = self._process.stdin
        assert stdin is not None  # asked for above
        with self._lock:
            # A process that was ended gives no answer below.
            with contextlib.suppress(OSError, ValueError):
                stdin.write(json.dumps([text, options]) + "\n")
                stdin.flush()
            return int(self._answer(_PROMPT_SECONDS, "its chat template does not end"))

    def _answer(self, seconds: float, late: str) -> int:
        """Read one answer; end the process where there is none in time."""
        stdout = self._process.stdout
        assert stdout is not None  # asked for above
        timer = threading.Timer(seconds, self._process.kill)
        timer.start()
        try:
            answer = json.loads(stdout.readline())
        except ValueError:  # no answer, or the end of an earlier one that was late
            self.close()
            raise InputError(
                f"{self._model}: {late} within {seconds:g} seconds and "
                f"{_MOST_MEMORY // 1024**3} GB; copy the model's tokenizer files anew"
            ) from None
        finally:
            timer.cancel()
        if isinstance(answer, str):
            raise InputError(
                f"{self._model}: its chat template cannot be used ({answer}); copy the model's "
                "tokenizer files anew"
            )
        return int(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _serve() -> None:
    """Answer on stdout with numbers of tokens, or with what went wrong; one JSON value a line."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What else is printed here must not come between the answers.
    sys.stdout = sys.stderr

    def tell(answer: int | str) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    tokenizer = cached_tokenizer(sys.argv[1])
    # Windows has no such limit.
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    tell(int(getattr(tokenizer, "chat_template", None) is not None))
    for line in sys.stdin:
        text, options = json.loads(line)
        try:
            if not isinstance(text, str):
                text = tokenizer.apply_chat_template(
                    text, tokenize=False, add_generation_prompt=True, **options
                )
            tell(len(tokenizer.encode(text, add_special_tokens=False)))
        except Exception as error:  # whatever a template of foreign origin raises
            tell(" ".join(f"{type(error).__name__}: {error}".split())[:200])


def _estimate(text: str) -> int:
    return -(-len(text) // int(_CHARACTERS_A_TOKEN))
