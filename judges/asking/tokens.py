"""Token counts of requests, by the model's own tokenizer or else estimated.

A tokenizer comes with a chat template, which is a program: it may loop forever or fill the memory.
It therefore runs in a separate process with limited processor time for each prompt.
"""

from __future__ import annotations

import atexit
import functools
import math
import threading
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gecjury.core.errors import InputError
from gecjury.core.processes import SpawnedProcess, WorkerDied
from gecjury.judges.exchange import Message
from gecjury.models.checkpoints import at_hand

# English prose has 4 to 4.6 characters per token in the tokenizers of current models; tokenised
# text, with blanks around punctuation, is at the lower end. The lower bound overestimates tokens.
_CHARACTERS_A_TOKEN = 4
# Tokens per character of other letters, by the first word of their Unicode name: at least as many
# as Qwen's and Mistral's tokenizers need for prose.
_TOKENS_A_CHARACTER = {
    **dict.fromkeys(("LATIN", "GREEK", "HEBREW", "CJK", "HIRAGANA", "KATAKANA", "HANGUL"), 1.0),
    "CYRILLIC": 0.6,
    "ARABIC": 0.8,
    **dict.fromkeys(("DEVANAGARI", "BENGALI", "TAMIL", "THAI"), 1.5),
}
# Tokens that a chat format adds to every message (role, begin and end marks).
_MESSAGE_TOKENS = 4


@dataclass(frozen=True)
class TokenCounter:
    """Counts tokens.

    Attributes:
        how: how tokens were counted, for the user.
        prompt: tokens of the rendered messages.
        text: tokens of an answer.
    """

    how: str
    prompt: Callable[[Sequence[Message]], int]
    text: Callable[[str], int]


_LOADING_SECONDS = 120.0  # of processor time
_PROMPT_SECONDS = 10.0
# Wall-clock seconds allowed for each second of processor time, since a machine may be busy. They
# also end a process that sleeps and, on Windows, which cannot limit processor time, one that loops.
_CLOCK = 10.0
_MOST_MEMORY = 4 * 1024**3  # bytes that the process of a tokenizer may use


@functools.lru_cache(maxsize=8)
def counter_for(model: str, thinking: bool | None = None) -> TokenCounter:
    """Return the best counter available on this machine; never use the network.

    Args:
        model: a folder or a name; a tokenizer in that folder or in the local Hub cache is used.
        thinking: the chat template's switch, where the model has one.

    Raises:
        InputError: the tokenizer does not load within two minutes of processor time. The counter
            raises it too, if the chat template cannot render a prompt within ten seconds of
            processor time and 4 GB.
    """
    tokenizer = _TextTokenizer(model) if at_hand(model) else None
    if tokenizer is None or not tokenizer.has_template:
        return TokenCounter(
            f"estimate by script, {_CHARACTERS_A_TOKEN} English characters a token",
            lambda messages: sum(_MESSAGE_TOKENS + _estimate(m["content"]) for m in messages),
            _estimate,
        )
    options: dict[str, bool] = {} if thinking is None else {"enable_thinking": thinking}
    return TokenCounter(
        "the model's own tokenizer",
        lambda messages: tokenizer.count([dict(m) for m in messages], options),
        lambda text: tokenizer.count(text, {}),
    )


class _TextTokenizer:
    """A model's tokenizer in a separate process.

    Attributes:
        has_template: whether the model has a tokenizer with a chat template.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        limits = str(_MOST_MEMORY), str(_LOADING_SECONDS)
        self._process = SpawnedProcess(
            "gecjury.models.token_counts", model, *limits, environment={}
        )
        self._lock = threading.Lock()
        atexit.register(self.close)
        late = "the tokenizer did not load"
        self.has_template = bool(self._answer([None, {}], _LOADING_SECONDS, late))
        if not self.has_template:
            self.close()

    def count(self, text: str | Sequence[Message], options: Mapping[str, bool]) -> int:
        """Count the tokens of a text, or of messages in the model's chat template.

        Raises:
            InputError: the template fails, or takes too long or too much memory.
        """
        late = "its chat template did not finish"
        return self._answer([text, options], _PROMPT_SECONDS, late)

    def _answer(self, question: Sequence[object], seconds: float, late: str) -> int:
        """Return the process's answer; end the process if there is none in time.

        Args:
            question: a text or messages, and the template's options.
            seconds: limit on processor time.
            late: beginning of the error message if the process was ended.
        """
        with self._lock:
            timer = threading.Timer(_CLOCK * seconds, self._process.kill)
            timer.start()
            try:
                return int(self._process.ask([*question, seconds]))
            except (WorkerDied, InputError) as error:
                why = f"its chat template cannot be used ({error})"
                if isinstance(error, WorkerDied):
                    why = (
                        f"{late} within {seconds:g} seconds of processor time and "
                        f"{_MOST_MEMORY // 1024**3} GB"
                    )
                raise InputError(
                    f"{self._model}: {why}; copy the model's tokenizer files again"
                ) from None
            finally:
                timer.cancel()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.close()


def _estimate(text: str) -> int:
    other = [character for character in text if not character.isascii()]
    return math.ceil((len(text) - len(other)) / _CHARACTERS_A_TOKEN + sum(map(_tokens, other)))


@functools.lru_cache(maxsize=65_536)
def _tokens(character: str) -> float:
    """Return how many tokens a character outside ASCII is assumed to need."""
    if unicodedata.category(character)[0] in "PZ":
        return 1.0
    script = unicodedata.name(character, "").partition(" ")[0]
    # Tokenizers encode a character that they do not know as its bytes.
    return _TOKENS_A_CHARACTER.get(script) or len(character.encode("utf-8", "surrogatepass"))
