"""Pure functions that turn the text of a model's reply into scores or a named failure.

A reply may be bare or fenced JSON, with prose around it, comments, trailing commas, single quotes,
scores as strings or floats, keys in any order, or reasoning before it. A reply is read if
it can be read in only one way; everything else is a `Failure` that says what is wrong. Nothing is
ever guessed, clipped into range or filled in.

Where a reason precedes the scores (`reasoned`), the reply may quote texts that try to look like an
answer. A score is then read only from the outermost object's own keys, and a reply in which any
brace is not part of such an object is a failure.

A server that does not separate reasoning from the answer sends both as one text, with marks that
depend on the model. What stands between the marks is never an answer, whatever it looks like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Literal, TypeVar

from gecjury.core.errors import InputError
from gecjury.core.textfiles import parse_json
from gecjury.judges.exchange import AnswerSchema, Reply, Request
from gecjury.judges.replies.json_reader import TooTangled, Value, read_objects

_WORDS = (
    "think", "thinking", "thought", "thoughts", "reason", "reasoning", "analysis", "reflection",
    "scratchpad", "seed:think", "longcat_think",
)  # fmt: skip
_FINAL = "<|channel|>final"

ENDS: dict[str, str] = {
    # Qwen, DeepSeek, EXAONE, Reka, Seed and most other models; Kimi.
    **{f"<{word}>": f"</{word}>" for word in _WORDS},
    **{f"◁{word}▷": f"◁/{word}▷" for word in _WORDS[:2]},
    # Magistral.
    **{f"[{word}]": f"[/{word}]" for word in _WORDS[:2]},
    # Cohere; models distilled from Sky-T1; Apertus.
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    **{f"<|{word}|>": f"<|/{word}|>" for word in _WORDS[:4]},
    # Gemma 4.
    "<|channel>": "<channel|>",
    # gpt-oss: only one of its channels is the answer. Servers may drop the special tokens, so that
    # `analysisWe need … assistantfinal{…` remains.
    "<|channel|>": _FINAL,
    "analysis": "assistantfinal",
    "commentary": "assistantfinal",
}
"""The marks that open reasoning, each with the mark that closes it, in lower case."""

_CLOSING = frozenset(ENDS.values())
# At the beginning of a text, the name of a channel whose special tokens were dropped.
_BARE = "(?-i:\\A(?:analysis|commentary)(?=[A-Z{]))"
_MARKED = sorted(({*ENDS} | _CLOSING) - {"analysis", "commentary"}, key=len, reverse=True)
# The first characters are tested first, since Python tries all alternatives at every position.
MARK = re.compile(rf"(?=[<[◁a])(?:{'|'.join(map(re.escape, _MARKED))})|{_BARE}", re.IGNORECASE)
"""Matches every mark."""

# Other special tokens of chat formats, which begin or end a message: `<|message|>`, `<|return|>`.
_SPECIAL = r"<\|(?:constrain\|>\w{0,20}|\w{1,40}\|>)"
_EITHER = re.compile(f"({MARK.pattern})|{_SPECIAL}", re.IGNORECASE)
OBJECT_FIRST = re.compile(r"\s*(?:```(?:json)?\s*)?\{")
"""Matches the beginning of a text that begins with an object."""


def without_reasoning(text: str, *, quoting: bool = False) -> str | None:
    """Return a text of the same length with blanks in place of reasoning and of special tokens.

    Some chat templates open the reasoning in the prompt, so that only its end is in the text.

    Args:
        quoting: the answer may quote other texts, so that marks in and after it are ignored.

    Returns:
        None if the reasoning does not end.
    """
    parts: list[str] = []  # the result for the text between `begun` and `at`
    begun = at = 0
    awaited = ""  # the mark that closes the reasoning
    # Whether the text since the last reasoning begins with an object; None while it is blank.
    answers: bool | None = None
    for match in _EITHER.finditer(text):
        start, end = match.span()
        mark = (match[1] or "").lower()
        if awaited:
            if mark == awaited:
                parts.append(" " * (end - at))
                at, awaited, answers = end, "", None
            continue
        if answers is None and (between := text[at:start]).strip():
            answers = OBJECT_FIRST.match(between) is not None
        if answers and quoting:
            break
        if mark in ENDS:
            parts.append(text[at:start])
            at, awaited = start, ENDS[mark]
        elif mark in _CLOSING and not answers:
            parts.clear()
            begun, at, answers = end, end, None
        else:
            # Reasoning rarely begins with an object: this one may be the answer.
            parts += [text[at:start], " " * (end - start)]
            at = end
    return None if awaited else "".join((" " * begun, *parts, text[at:]))


FailureKind = Literal[
    "empty", "refused", "truncated", "no-json", "missing-target", "extra-target", "not-a-number",
    "out-of-range", "conflict", "not-a-choice", "malformed", "too-long", "other-text",
]  # fmt: skip

_T = TypeVar("_T")

_TARGET = re.compile(
    r"(?:target[\s_-]*(\d+)(?:[\s_-]*score)?|target[\s_-]*score[\s_-]*(\d+)|score[\s_-]*(\d+))",
    re.IGNORECASE,
)
REASON = "reason"
"""The key of the reason for a verdict."""
REASON_CHARACTERS = 300
"""The maximum length of a reason, both requested and shown."""

_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(?:/\s*(?P<most>5|10)(?:\.0)?\s*)?(?:points?\s*)?")


@dataclass(frozen=True)
class Failure:
    """A reply that gives no verdict.

    Attributes:
        kind: what went wrong, for counting.
        detail: what went wrong, for people to read.
    """

    kind: FailureKind
    detail: str = ""


ONLY_REASONING = Failure("empty", "only reasoning, no answer")
"""A reply without text outside its reasoning."""
UNENDED = Failure("truncated", "the reasoning never ends")
"""A reply without the mark that closes its reasoning."""


class PartlyWritten(list[float]):
    """Expected scores of a reply, some of which lack a token and are as written.

    Attributes:
        written: how many of them are.
    """

    def __init__(self, scores: Iterable[float], written: int) -> None:
        super().__init__(scores)
        self.written = written


Verdict = list[float] | Failure
"""A score for each correction in a question, or what is wrong with its reply."""


def target_key(number: int) -> str:
    """Return the key of a target's score in the published output format; targets count from 1."""
    return f"target{number}_score"


def answer_text(text: str, *, reasoned: bool = False) -> str | Failure:
    """Return a reply with blanks in place of its reasoning.

    Args:
        text: the reply.
        reasoned: the answer has a reason, which may quote marks of reasoning.
    """
    rest = without_reasoning(text, quoting=reasoned)
    if rest is None:
        return UNENDED
    if not rest.strip():
        return ONLY_REASONING if text.strip() else Failure("empty", "no text")
    return rest


def is_answer(text: str, typical: str) -> bool:
    """Return whether a text consists of an answer alone, bare or fenced.

    Args:
        text: what a model wrote.
        typical: a typical answer, whose keys the answer must have.
    """
    keys = _lone_keys(text)
    return keys is not None and keys == _lone_keys(typical)


def _lone_keys(text: str) -> set[str] | None:
    """Return the keys of the object that a text consists of; None if it is not one object."""
    body = text.strip()
    if body.startswith("```"):
        body = body.strip("`").removeprefix("json").strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    try:
        objects, _ = read_objects(body, strict=True)
    except TooTangled:
        return None
    return {key.strip().lower() for key in objects[0]} if len(objects) == 1 else None


def begins_with_answer(text: str) -> bool:
    """Return whether a reply, after its reasoning, begins with an object."""
    rest = without_reasoning(text, quoting=True)
    return rest is not None and OBJECT_FIRST.match(rest) is not None


def ignores_schema(request: Request, reply: Reply) -> bool | None:
    """Return whether a reply shows that the schema of its request was ignored.

    A model that obeys the schema cannot complete a reply of another form.

    Returns:
        None if this cannot be decided: there was no schema, or the reply has no whole answer.
    """
    if request.schema is None or "response_format" in reply.left_out:
        return None
    if reply.finish != "stop" or isinstance(answer_text(reply.text), Failure):
        return None
    return not has_form(reply.text, request.schema)


_TYPES: Mapping[str, type] = {"array": list, "boolean": bool, "integer": int, "string": str}


def has_form(text: str, schema: AnswerSchema) -> bool:
    """Return whether a reply, after its thinking, is only an object that one of our schemas allows.

    Args:
        text: the reply.
        schema: the schema.
    """
    answer = answer_text(text, reasoned=REASON in schema["properties"])
    if isinstance(answer, Failure):
        return False
    try:
        record = parse_json(answer.strip(), "the reply", "an object", halves=True)
    except InputError:
        return False
    fields = schema["properties"]
    return (
        isinstance(record, dict)
        and record.keys() == fields.keys()
        # A bool is an int in Python, but not in JSON.
        and all(type(record[name]) is _TYPES[field["type"]] for name, field in fields.items())
        and all(record[n] in field["enum"] for n, field in fields.items() if "enum" in field)
    )


def read_scores(text: str, count: int, *, reasoned: bool = False) -> Verdict:
    """Read the scores of `count` targets shown together, 1 to 5 each.

    Args:
        text: the reply.
        count: targets shown; keys are `target1_score` to `targetN_score`, near spellings allowed.
        reasoned: a reason was asked for; see the module.
    """
    targets = _find(text, lambda record: _targets(record) or None, reasoned)
    if isinstance(targets, Failure):
        return targets
    if extra := sorted(number for number in targets if not 1 <= number <= count):
        return Failure("extra-target", f"target {extra[0]} of {count}")
    present = takewhile(targets.__contains__, range(1, count + 1))
    scores = _all_agreed({f"target {number}": targets[number] for number in present})
    if isinstance(scores, Failure) or len(scores) == count:
        return scores
    return Failure("missing-target", f"target {len(scores) + 1} of {count}")


def read_score(text: str, *, reasoned: bool = False) -> Verdict:
    """Read the one score of a reply such as `{"score": 4}`."""
    values = _find(text, lambda record: _values(record, "score"), reasoned)
    return values if isinstance(values, Failure) else _all_agreed({"score": values})


GRADES = ("meaning", "edit_level", "fluency")
"""The keys of the grades of DSGram."""
IMPORTANCE = "importance"
"""The key of the matrix that says how many times as important each grade is as each other."""
_HIGHEST_GRADE = 10
_MOST_IMPORTANT = 9
_ROUNDING = 0.1  # of the product of a number of two digits and its inverse, such as 7 and 0.14
_FRACTION = re.compile(r"\s*(\d{1,3})\s*/\s*(\d{1,3})\s*")


def read_grades(text: str, *, matrix: bool = False, reasoned: bool = False) -> Verdict:
    """Read the grades of a reply, 1 to 10 each.

    Args:
        text: the reply.
        matrix: whether the nine numbers of a matrix follow; one that is not positive and reciprocal
            is a failure.
        reasoned: a reason was asked for; see the module.
    """
    keys = (*GRADES, *([IMPORTANCE] if matrix else []))

    def wanted(record: Mapping[str, list[Value]]) -> list[list[Value]] | None:
        hits = [_values(record, key) or [] for key in keys]
        return hits if all(hits) else None

    hits = _find(text, wanted, reasoned)
    if isinstance(hits, Failure):
        return hits
    grades = _all_agreed(dict(zip(GRADES, hits, strict=False)), _HIGHEST_GRADE)
    if not matrix or isinstance(grades, Failure):
        return grades
    ratios = _ratios(hits[-1])
    return ratios if isinstance(ratios, Failure) else [*grades, *ratios]


def _ratios(values: Sequence[Value]) -> Verdict:
    """Return the numbers of a matrix, row by row."""
    if any(value != values[0] for value in values):
        return Failure("conflict", "two matrices differ")
    size = len(GRADES)
    matrix = values[0]
    rows = [row for row in matrix if isinstance(row, list)] if isinstance(matrix, list) else []
    if len(rows) != size or any(len(row) != size for row in rows):
        return Failure("malformed", f"{IMPORTANCE} is no matrix of {size} rows and columns")
    ratios = [_ratio(value) for row in rows for value in row]
    if not all(1 / (_MOST_IMPORTANT + 1) <= ratio <= _MOST_IMPORTANT for ratio in ratios):
        return Failure("malformed", f"{IMPORTANCE} has numbers other than 1/9 to 9")
    inverses = [ratios[row + size * column] for row in range(size) for column in range(size)]
    if any(abs(a * b - 1) > _ROUNDING for a, b in zip(ratios, inverses, strict=True)):
        return Failure("malformed", f"{IMPORTANCE} has numbers that are not inverse")
    return ratios


def _ratio(value: Value) -> float:
    """Return a number, or a fraction such as `1/3`; NaN for anything else."""
    if isinstance(value, str) and (fraction := _FRACTION.fullmatch(value)):
        return int(fraction[1]) / (int(fraction[2]) or math.nan)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(min(max(value, 0.0), 1e9))  # an integer may be too large for a float


def read_reason(text: str, most: int = REASON_CHARACTERS) -> str:
    """Return the reason in a reply, cut to `most` characters; empty if it has none."""
    # Most stores contain no reasons, and a page reads a hundred thousand replies.
    if REASON not in text.lower():
        return ""
    values = _find(text, lambda record: _values(record, REASON), reasoned=True)
    reason = values[0] if isinstance(values, list) else ""
    line = " ".join(reason.split()) if isinstance(reason, str) else ""
    return line if len(line) <= most else f"{line[: most - 1]}…"


def read_text(text: str, *, reasoned: bool = False) -> str | Failure:
    """Read the text of a reply such as `{"text": "He goes home ."}`."""
    del reasoned  # the text may quote anything, as a reason may
    values = _find(text, lambda record: _values(record, "text"), reasoned=True)
    if isinstance(values, Failure):
        return values
    if any(value != values[0] for value in values):
        return Failure("conflict", "two texts differ")
    return values[0] if isinstance(values[0], str) else Failure("malformed", "not a text")


_CHOICES = {"a": (1, 0), "correction a": (1, 0), "b": (0, 1), "correction b": (0, 1),
            **dict.fromkeys(("tie", "equal", "both"), (0.5, 0.5))}  # fmt: skip
_VALIDITIES = dict.fromkeys(("true", "yes", "valid"), (1,)) | dict.fromkeys(
    ("false", "no", "invalid"), (0,)
)


def _worded(
    text: str, key: str, scores: Mapping[str, tuple[float, ...]], *, reasoned: bool = False
) -> Verdict:
    """Return the scores that the word at a key means."""
    values = _find(text, lambda record: _values(record, key), reasoned)
    if isinstance(values, Failure):
        return values
    verdicts = [scores.get(str(value).strip().lower()) for value in values]
    first = verdicts[0]
    if first is None or None in verdicts:
        return Failure("not-a-choice", repr(values[0])[:60])
    if any(verdict != first for verdict in verdicts):
        return Failure("conflict", "two verdicts differ")
    return list(map(float, first))


read_choice = partial(_worded, key="better", scores=_CHOICES)
"""Reads the points of corrections A and B in a reply such as `{"better": "A"}`."""
read_validity = partial(_worded, key="valid", scores=_VALIDITIES)
"""Reads the verdict of a reply such as `{"valid": true}`: 1 for valid, 0 for not."""


def _find(
    text: str, wanted: Callable[[Mapping[str, list[Value]]], _T | None], reasoned: bool = False
) -> _T | Failure:
    """Return what `wanted` returns for the object that has it; several objects must agree."""
    answer = answer_text(text, reasoned=reasoned)
    if isinstance(answer, Failure):
        return answer
    try:
        objects, cut = read_objects(answer, strict=reasoned)
    except TooTangled:
        return Failure("no-json", "too many unmatched braces")
    # An object where the reason's text should be is not an answer either.
    skip = REASON if reasoned else ""
    hits = [hit for record in objects for hit in _nested(record, wanted, skip)]
    if not hits:
        if cut:
            return Failure("truncated", "the JSON object never ends")
        if objects:
            return Failure("missing-target", "an object without the keys asked for")
        return Failure("no-json", answer.strip()[:60])
    if any(hit != hits[0] for hit in hits[1:]):
        return Failure("conflict", f"{len(hits)} objects that differ")
    if cut:
        return Failure("truncated", "another JSON object never ends")
    return hits[0]


def _nested(
    record: Mapping[str, list[Value]],
    wanted: Callable[[Mapping[str, list[Value]]], _T | None],
    skip: str = "",
) -> list[_T]:
    """Return what `wanted` returns for an object or, if that is None, for the objects inside it.

    Args:
        record: the object.
        wanted: returns None for an object without the keys asked for.
        skip: a key whose values are skipped.
    """
    hit = wanted(record)
    if hit is not None:
        return [hit]
    inner = [
        value
        for key, values in record.items()
        if key.strip().lower() != skip
        for value in values
        if isinstance(value, Mapping)
    ]
    return [hit for value in inner for hit in _nested(value, wanted, skip)]


def _targets(record: Mapping[str, list[Value]]) -> dict[int, list[Value]]:
    targets: dict[int, list[Value]] = {}
    for key, values in record.items():
        match = _TARGET.fullmatch(key.strip())
        if match is not None:
            # No target has a number of more digits, and Python refuses to convert thousands.
            number = match[match.lastindex or 1].lstrip("0")[:6] or "0"
            targets.setdefault(int(number), []).extend(values)
    # A copy of the output format, `"target1_score": int`, is not an answer.
    scores = [value for values in targets.values() for value in values]
    return {} if all(value == "int" for value in scores) else targets


def _values(record: Mapping[str, list[Value]], key: str) -> list[Value] | None:
    return [
        v for name, values in record.items() if name.strip().lower() == key for v in values
    ] or None


def _all_agreed(named: Mapping[str, Sequence[Value]], most: int = 5) -> Verdict:
    """Return for each key the score from 1 to `most` on which all its values agree."""
    scores: list[float] = []
    for what, values in named.items():
        agreed: list[float] = []
        for value in values:
            number = _number(value, most)
            if isinstance(number, Failure):
                return Failure(number.kind, f"{what}: {number.detail}")
            agreed.append(number)
            if number != agreed[0]:
                return Failure("conflict", f"{what} is given twice and differs")
        scores.append(agreed[0])
    return scores


def _number(value: Value, most: int) -> float | Failure:
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value)
        if match is None or match["most"] not in (None, str(most)):
            return Failure("not-a-number", repr(value)[:60])
        number = float(match[1])
    elif isinstance(value, bool) or not isinstance(value, int | float):
        return Failure("not-a-number", repr(value)[:60])
    else:
        # An integer may be too large for a float.
        number = float(min(max(value, -1e300), 1e300))
    if not 1 <= number <= most:
        return Failure("out-of-range", f"{number:g}, expected 1 to {most}")
    return number
