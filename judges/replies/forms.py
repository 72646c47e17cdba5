"""Forms of answers: what a judge asks for, and how its replies are read, as written or expected.

An expected score is the probability-weighted mean over the tokens that could be the score. Where
a reply gives its score, the model assigned a probability to every score token. The mean, with the
probabilities scaled to sum to 1 over the score tokens, is more informative than the most likely
score alone (as in G-Eval, Liu et al. 2023). After that scaling it makes no difference whether a
server reports probabilities before or after its grammar mask.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeVar

from gecjury.core.errors import OptionError
from gecjury.judges.exchange import AnswerSchema, FieldSchema, Reply
from gecjury.judges.replies.reply import (
    GRADES,
    IMPORTANCE,
    REASON,
    REASON_CHARACTERS,
    Failure,
    PartlyWritten,
    Verdict,
    answer_text,
    read_choice,
    read_grades,
    read_score,
    read_scores,
    read_text,
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
# The reason in an answer, as a tolerant reader accepts it: its key, a colon and a string.
_REASON_TEXT = re.compile(
    rf"""(["']?){REASON}\1\s*+:\s*+("(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')""",
    re.IGNORECASE | re.DOTALL,
)
# Points of the first and of the second correction: a win is worth 1, a tie one half.
_FIRST = {"a": 1.0, "b": 0.0, "tie": 0.5}
_SECOND = {word: 1 - points for word, points in _FIRST.items()}


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _ReadObject(Protocol[T_co]):
    def __call__(self, text: str, *, reasoned: bool = False) -> T_co | Failure:
        """Return the answer in a reply's text."""


@dataclass(frozen=True)
class AnswerForm(Generic[T]):
    """The form of an answer of type `T`.

    Attributes:
        fields: JSON schema of the value under each key.
        typical: a typical answer, from which the length of other answers is estimated.
        read: returns the answer in a reply's text.
        room: characters by which an answer may be longer than the typical one.
        reasoned: whether a reason precedes the answer; see `with_reason`.
    """

    fields: Mapping[str, FieldSchema]
    typical: Mapping[str, object]
    read: _ReadObject[T]
    room: int = field(default=0, kw_only=True)
    reasoned: bool = field(default=False, kw_only=True)

    @functools.cached_property
    def schema(self) -> AnswerSchema:
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
        return self.room + (REASON_CHARACTERS - len(_TYPICAL_REASON) if self.reasoned else 0)

    def with_reason(self) -> Self:
        """Return the form of the same answer with the reason for it as its first key."""
        text: FieldSchema = {"type": "string", "maxLength": REASON_CHARACTERS}
        fields = {REASON: text, **self.fields}
        typical = {REASON: _TYPICAL_REASON, **self.typical}
        return replace(self, fields=fields, typical=typical, reasoned=True)

    def read_plain(self, reply: Reply) -> T | Failure:
        """Return the answer as written in a reply."""
        return self.read(reply.text, reasoned=self.reasoned)

    def reader(self, *, weighted: bool) -> Callable[[Reply], T | Failure]:
        """Return the reader of replies, which expects probabilities of tokens if `weighted`."""
        return self.read_plain


@dataclass(frozen=True)
class ScoreForm(AnswerForm[list[float]]):
    """The form of an answer that is a score for each correction shown.

    Attributes:
        places: for each score, a regular expression for its key, and the numbers that the words
            after it mean, the words in lower case.
        words: the value of the only key, by the scores; empty where scores are numbers.
    """

    places: Sequence[tuple[str, Mapping[str, float]]]
    words: Mapping[tuple[float, ...], str | bool] = field(default_factory=dict)

    def answer(self, scores: Sequence[float], reason: str = "") -> dict[str, object]:
        """Return the answer that is read as these scores."""
        values = [self.words[tuple(scores)]] if self.words else map(int, scores)
        keys = (key for key in self.fields if key != REASON)
        said = {REASON: reason} if self.reasoned else {}
        return {**said, **dict(zip(keys, values, strict=True))}

    def reader(self, *, weighted: bool) -> Callable[[Reply], Verdict]:
        """Return the reader of replies."""
        return self.read_expected if weighted else self.read_plain

    def read_expected(self, reply: Reply) -> Verdict:
        """Return the expected scores of a reply; a score without a token is returned as written.

        Raises:
            OptionError: the backend returned no probabilities.
        """
        plain = self.read_plain(reply)
        # A finished text shows that probabilities were ignored, even if it cannot be read.
        finished = reply.text.strip() and reply.finish in ("stop", "length")
        returned = any(top for _, top in reply.logprobs or ())
        if not returned and (finished or not isinstance(plain, Failure)):
            raise OptionError(
                "scoring=expected needs token probabilities, and the backend returned none; use "
                "another model or server (vLLM and llama.cpp return them), or scoring=argmax"
            )
        if isinstance(plain, Failure):
            return plain
        means = [_at(reply, key, values, self.reasoned) for key, values in self.places]
        scores = [score if mean is None else mean for score, mean in zip(plain, means, strict=True)]
        written = means.count(None)
        return PartlyWritten(scores, written) if written else scores


_POINTS: FieldSchema = {"type": "integer", "enum": [1, 2, 3, 4, 5]}
SCORE = ScoreForm({"score": _POINTS}, {"score": 3}, read_score, (("score", _DIGITS),))
"""One score from 1 to 5."""
CHOICE = ScoreForm(
    {"better": {"type": "string", "enum": ["A", "B", "tie"]}},
    {"better": "A"},
    read_choice,
    (("better", _FIRST), ("better", _SECOND)),
    {(1.0, 0.0): "A", (0.0, 1.0): "B", (0.5, 0.5): "tie"},
)
"""The better of two corrections, or a tie; expected points are P(win) + ½ P(tie)."""
VALIDITY = ScoreForm(
    {"valid": {"type": "boolean"}},
    {"valid": True},
    read_validity,
    (("valid", _WORDS),),
    {(1.0,): True, (0.0,): False},
)
"""The validity of an edit."""
TEXT = AnswerForm[str]({"text": {"type": "string"}}, {"text": ""}, read_text)
"""A text."""
_TEN: FieldSchema = {"type": "integer", "enum": [*range(1, 11)]}
_ROW: FieldSchema = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
GRADED = AnswerForm[list[float]](dict.fromkeys(GRADES, _TEN), dict.fromkeys(GRADES, 8), read_grades)
"""Three grades from 1 to 10."""
GRADED_WEIGHED = AnswerForm[list[float]](
    {**GRADED.fields, IMPORTANCE: {**_ROW, "items": _ROW}},
    {**GRADED.typical, IMPORTANCE: [[1, 2, 3], [0.5, 1, 2], [0.333, 0.5, 1]]},
    functools.partial(read_grades, matrix=True),
)
"""Three grades, and a matrix of their importance."""


@functools.cache
def scores_form(count: int) -> ScoreForm:
    """Return the form for scores of `count` targets shown together, 1 to 5 each."""
    numbers = range(1, count + 1)
    keys = [target_key(number) for number in numbers]
    return ScoreForm(
        dict.fromkeys(keys, _POINTS),
        dict.fromkeys(keys, 3),
        functools.partial(read_scores, count=count),
        [(rf"target[\s_-]*{number}(?!\d)", _DIGITS) for number in numbers],
    )


def _at(reply: Reply, key: str, values: Mapping[str, float], reasoned: bool) -> float | None:
    """Return the expected value at the last place where a value follows a key; None without one.

    Args:
        reply: a reply with the probabilities of its tokens.
        key: a regular expression.
        values: the numbers that the tokens mean.
        reasoned: the answer has a reason; values inside it and after the answer are ignored.
    """
    text = "".join(token for token, _ in reply.logprobs or ())
    # Blanks replace reasoning and reason, so that all other positions stay the same.
    answer = answer_text(text, reasoned=reasoned)
    text = text if isinstance(answer, Failure) else answer
    if reasoned:
        text = _REASON_TEXT.sub(lambda match: " " * len(match[0]), text[: text.rfind("}") + 1])
    place = _last_value(text, key, "|".join(values))
    if place is None:
        return None
    # Find the token that contains the first character of the value; it may begin before that.
    start = 0
    for token, top in reply.logprobs or ():
        # Only alternatives with the same text before the value are compared.
        if place < start + len(token):
            return _mean(top, token[: place - start], values)
        start += len(token)
    return None


def _last_value(text: str, key: str, value: str) -> int | None:
    """Return the start of the last value that follows a key and, on the same line, a colon."""
    # The tail is optional and the quantifiers are possessive (`*+`): a search for the whole
    # pattern would scan the rest of the line again from every key.
    behind = re.compile(rf"(?:{key})[^:\n]*+(:\s*+\"?(?={value}))?", re.IGNORECASE)
    places = [match.end() for match in behind.finditer(text) if match[1]]
    return places[-1] if places else None


def _mean(
    top: Sequence[tuple[str, float]], before: str, values: Mapping[str, float]
) -> float | None:
    """Return the weighted mean of the values of a token's alternatives that begin with `before`."""
    weights: dict[str, float] = {}
    before = _packed(before)
    for token, logprob in top:
        # Blanks do not matter in JSON: " 4" and "4" are the same score.
        text = _packed(token)
        if not text.startswith(before):
            continue
        rest = text[len(before) :]
        # A token may contain only the first letters of a word, or more than the value.
        name = next((v for v in values if rest and (rest.startswith(v) or v.startswith(rest))), "")
        # A longer word or number is a different one: "10" is not 1, and "Answer" is not A.
        after = rest[len(name) : len(name) + 1] if rest.startswith(name) else ""
        if name and not (after.isdigit() or (name.isalpha() and after.isalpha())):
            weights[name] = weights.get(name, 0.0) + math.exp(logprob)
    total = sum(weights.values())
    if not total:
        return None
    return sum(values[name] * weight for name, weight in weights.items()) / total


def _packed(text: str) -> str:
    return "".join(text.lower().split())
