"""The forms of answers: what a judge asks for, and how replies are read, as written or expected.

An expected score is the probability-weighted mean over the tokens that could stand for the score.
At the place where a reply's score stands, the model gave every score token a probability; their
mean, with the probabilities scaled to sum to 1 over the score tokens, tells more than the most
likely one alone (as in G-Eval, Liu et al. 2023). Whether a server reports probabilities before or
after its grammar mask makes no difference after that scaling.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gecjury.errors import OptionError
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.replies.reply import (
    REASON,
    REASON_CHARACTERS,
    Failure,
    Verdict,
    read_choice,
    read_score,
    read_scores,
    read_validity,
    target_key,
)

TOP_TOKENS = 20
"""Alternatives asked for at every token: the most that the OpenAI API gives."""

_DIGITS = {str(number): float(number) for number in range(1, 6)}
_WORDS = {"true": 1.0, "false": 0.0}
_TYPICAL_REASON = (
    "The first error is corrected, but the second one is left, and a word that the source does "
    "not have changes the meaning of the sentence."
)
# The reason of an answer, as a tolerant reader takes it: its key, and a string behind a colon.
_REASON_TEXT = re.compile(
    rf"""(["']?){REASON}\1\s*+:\s*+("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')""",
    re.IGNORECASE | re.DOTALL,
)
# Points of the first and of the second correction: a win is worth 1, a tie one half.
_FIRST = {"a": 1.0, "b": 0.0, "tie": 0.5}
_SECOND = {word: 1 - points for word, points in _FIRST.items()}


class _Read(Protocol):
    def __call__(self, text: str, *, reasoned: bool = False) -> Verdict:
        """Return the verdict of a reply's text."""


@dataclass(frozen=True)
class Form:
    """The form of an answer.

    Attributes:
        fields: JSON schema of the value under each key.
        typical: such an answer, from which the length of others is estimated.
        read: gives the verdict of a reply's text.
        places: for each score of the verdict a regular expression of its key, and what the words
            there stand for, in small letters.
        words: by the scores of a verdict the value of the one key; empty where scores are numbers.
        reasoned: whether a reason stands in front of the verdict; see `with_reason`.
    """

    fields: Mapping[str, Mapping[str, Any]]
    typical: Mapping[str, Any]
    read: _Read
    places: Sequence[tuple[str, Mapping[str, float]]]
    words: Mapping[tuple[float, ...], Any] = field(default_factory=dict)
    reasoned: bool = False

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer."""
        return {
            "type": "object",
            "properties": dict(self.fields),
            "required": list(self.fields),
            "additionalProperties": False,
        }

    @property
    def longer(self) -> int:
        """Characters by which an answer may be longer than the typical one."""
        return REASON_CHARACTERS - len(_TYPICAL_REASON) if self.reasoned else 0

    def with_reason(self) -> Form:
        """Return the form of the same answer with the reason for it as its first key."""
        text = {"type": "string", "maxLength": REASON_CHARACTERS}
        fields = {REASON: text, **self.fields}
        typical = {REASON: _TYPICAL_REASON, **self.typical}
        return replace(self, fields=fields, typical=typical, reasoned=True)

    def answer(self, scores: Sequence[float], reason: str = "") -> dict[str, Any]:
        """Return the answer that is read as these scores."""
        values = [self.words[tuple(scores)]] if self.words else [int(score) for score in scores]
        verdict = dict(zip((key for key in self.fields if key != REASON), values, strict=True))
        return {REASON: reason, **verdict} if self.reasoned else verdict

    def read_plain(self, reply: Reply) -> Verdict:
        """Return the verdict as a reply has it written."""
        return self.read(reply.text, reasoned=self.reasoned)

    def read_expected(self, reply: Reply) -> Verdict:
        """Return the expected scores of a reply; as written where a score has no token.

        Raises:
            OptionError: the backend gave no probabilities.
        """
        plain = self.read_plain(reply)
        if isinstance(plain, Failure):
            return plain
        means = [_at(reply, key, values, self.reasoned) for key, values in self.places]
        return [score if mean is None else mean for score, mean in zip(plain, means, strict=True)]


_POINTS = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
SCORE = Form({"score": _POINTS}, {"score": 3}, read_score, (("score", _DIGITS),))
"""One score of 1 to 5."""
CHOICE = Form(
    {"better": {"type": "string", "enum": ["A", "B", "tie"]}},
    {"better": "A"},
    read_choice,
    (("better", _FIRST), ("better", _SECOND)),
    {(1.0, 0.0): "A", (0.0, 1.0): "B", (0.5, 0.5): "tie"},
)
"""The better one of two corrections, or a tie; expected points are P(win) + ½ P(tie)."""
VALIDITY = Form(
    {"valid": {"type": "boolean"}},
    {"valid": True},
    read_validity,
    (("valid", _WORDS),),
    {(1.0,): True, (0.0,): False},
)
"""The validity of an edit."""


@functools.cache
def scores_form(count: int) -> Form:
    """Return the form of the scores of `count` targets shown together, 1 to 5 each."""
    numbers = range(1, count + 1)
    keys = [target_key(number) for number in numbers]
    return Form(
        dict.fromkeys(keys, _POINTS),
        dict.fromkeys(keys, 3),
        functools.partial(read_scores, count=count),
        [(rf"target[\s_-]*{number}(?!\d)", _DIGITS) for number in numbers],
    )


def _at(reply: Reply, key: str, values: Mapping[str, float], reasoned: bool) -> float | None:
    """Return the expected value at the last place where one follows a key; None if none does.

    Args:
        reply: with the probabilities of its tokens.
        key: a regular expression.
        values: what the tokens stand for.
        reasoned: the answer has a reason, in which and behind which no value is looked for.
    """
    if not reply.logprobs or not any(top for _, top in reply.logprobs):
        raise OptionError(
            "scoring=expected needs the probabilities of tokens, and the backend gave none; "
            "take another model or server, or scoring=argmax"
        )
    text = "".join(token for token, _ in reply.logprobs)
    if reasoned:
        # Blanks take its place, so that all else stays where it is.
        text = _REASON_TEXT.sub(lambda match: " " * len(match[0]), text[: text.rfind("}") + 1])
    place = _last_value(text, key, "|".join(values))
    if place is None:
        return None
    # The token that holds the first character of the value; it may begin before that.
    start = 0
    for token, top in reply.logprobs:
        # What is left of the value in that token decides among its alternatives.
        if place < start + len(token):
            return _mean(top, token[: place - start], values)
        start += len(token)
    return None


def _last_value(text: str, key: str, value: str) -> int | None:
    """Return where the last value begins that stands behind a key, its line's rest and a colon."""
    # The tail may be missing, and nothing is given back (`*+`): a search for all of it would go
    # over the rest of the line anew from every key.
    behind = re.compile(rf"(?:{key})[^:\n]*+(:\s*+\"?(?={value}))?", re.IGNORECASE)
    places = [match.end() for match in behind.finditer(text) if match[1]]
    return places[-1] if places else None


def _mean(
    top: Sequence[tuple[str, float]], before: str, values: Mapping[str, float]
) -> float | None:
    """Return the mean of the values of a token's alternatives; `before` stands in front of them."""
    weights: dict[str, float] = {}
    for text, logprob in top:
        if not text.startswith(before):
            continue
        rest = text[len(before) :].lower()
        # A token may hold the first letters of a word only, and more than the value.
        name = next((v for v in values if rest and (rest.startswith(v) or v.startswith(rest))), "")
        # What goes on is another word or number: "10" is no 1, and "Answer" is no A.
        after = rest[len(name) : len(name) + 1] if rest.startswith(name) else ""
        if name and not (after.isdigit() or (name.isalpha() and after.isalpha())):
            weights[name] = weights.get(name, 0.0) + math.exp(logprob)
    total = sum(weights.values())
    if not total:
        return None
    return sum(values[name] * weight for name, weight in weights.items()) / total
