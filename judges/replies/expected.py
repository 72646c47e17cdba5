"""Expected scores: the probability-weighted mean over the tokens that could stand for a score.

At the place where a reply's score stands, the model gave every score token a probability; their
mean, with the probabilities scaled to sum to 1 over the score tokens, tells more than the most
likely one alone (as in G-Eval, Liu et al. 2023). Whether a server reports probabilities before or
after its grammar mask makes no difference after that scaling.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence

from gecjury.errors import OptionError
from gecjury.judges.asking.exchange import Reply, TokenLogprob
from gecjury.judges.replies.reply import Failure, read_score, read_scores, read_validity

TOP_TOKENS = 20
"""Alternatives asked for at every token: the most that the OpenAI API gives."""

_DIGITS = {str(number): float(number) for number in range(1, 6)}
_WORDS = {"true": 1.0, "false": 0.0}


def expected_scores(reply: Reply, count: int) -> list[float] | Failure:
    """Expected scores of `count` targets, each from 1 to 5.

    Raises:
        OptionError: the backend gave no probabilities.
    """
    plain = read_scores(reply.text, count)
    if isinstance(plain, Failure):
        return plain
    found = []
    for number in range(1, count + 1):
        score = _at(reply, rf"target[\s_-]*{number}(?!\d)", "[1-5]", _DIGITS)
        found.append(plain[number - 1] if score is None else score)
    return found


def expected_score(reply: Reply) -> float | Failure:
    """The expected score of a reply such as `{"score": 4}`."""
    plain = read_score(reply.text)
    if isinstance(plain, Failure):
        return plain
    score = _at(reply, "score", "[1-5]", _DIGITS)
    return plain if score is None else score


def expected_validity(reply: Reply) -> float | Failure:
    """The probability that an edit is valid."""
    plain = read_validity(reply.text)
    if isinstance(plain, Failure):
        return plain
    share = _at(reply, "valid", "true|false", _WORDS)
    return float(plain) if share is None else share


def _at(reply: Reply, key: str, value: str, values: dict[str, float]) -> float | None:
    """The expected value at the last place where a value follows a key; None if none does.

    Args:
        reply: with the probabilities.
        key: regular expression of a key.
        value: regular expression of how a value begins.
        values: what tokens stand for.
    """
    if not reply.logprobs or not any(token.top for token in reply.logprobs):
        raise OptionError(
            "scoring=expected needs the probabilities of tokens, and the backend gave none; "
            "take another model or server, or scoring=argmax"
        )
    text = "".join(token.token for token in reply.logprobs)
    place = _last_value(text, key, value)
    if place is None:
        return None
    token, start = _covering(reply.logprobs, place)
    return _mean(token, token.token[: place - start], values)


def _last_value(text: str, key: str, value: str) -> int | None:
    """Where the last value begins that stands behind a key, the rest of its line and a colon.

    One search for all of that would go over the rest of the line anew from every key.
    """
    ends = [match.start() for match in re.finditer("[:\n]", text)]
    begins = re.compile(rf":\s*\"?(?={value})", re.IGNORECASE)
    tried = -1
    for found in reversed(list(re.finditer(key, text, re.IGNORECASE))):
        number = bisect_left(ends, found.end())
        if number == len(ends) or number == tried or text[ends[number]] != ":":
            continue
        tried = number
        if behind := begins.match(text, ends[number]):
            return behind.end()
    return None


def _covering(tokens: Sequence[TokenLogprob], place: int) -> tuple[TokenLogprob, int]:
    """The token that holds a character, and where it starts."""
    start = 0
    for token in tokens:
        if place < start + len(token.token):
            return token, start
        start += len(token.token)
    raise IndexError(place)


def _mean(token: TokenLogprob, before: str, values: dict[str, float]) -> float | None:
    """Mean of the values that the token's alternatives stand for; `before` stands in front."""
    weights: dict[str, float] = {}
    for text, logprob in token.top:
        if not text.startswith(before):
            continue
        rest = text[len(before) :].lower()
        # A token may hold the first letters of a word only, and more than the value.
        name = next((v for v in values if rest and (rest.startswith(v) or v.startswith(rest))), "")
        if name and not (rest.startswith(name) and rest[len(name) : len(name) + 1].isdigit()):
            weights[name] = weights.get(name, 0.0) + math.exp(logprob)
    total = sum(weights.values())
    if not total:
        return None
    return sum(values[name] * weight for name, weight in weights.items()) / total
