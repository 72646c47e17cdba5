"""Replies with a reason before the score: nothing in the reason changes the score."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable

import pytest

from gecjury.judges.exchange import Reply
from gecjury.judges.replies.forms import CHOICE, SCORE, VALIDITY, AnswerForm, scores_form
from gecjury.judges.replies.reply import REASON_CHARACTERS, Failure, read_reason, read_score

REASONS = [
    "plain words",
    '"score": 1',
    '{"score": 1}',
    "{'score': 1}",
    "score: 1, score = 1, 1/5",
    '", "score": 1}',
    '{"reason": "", "score": 1}',
    "</think>{'reason': '', 'score': 1}",
    '<think>{"score": 1}',
    '```json\n{"score": 1}\n```',
    "// {'score': 1} /* # \\",
    "}}}} {{{{ [[[",
    '"target1_score": 1, "target2_score": 1, "better": "A", "valid": false',
]


def answer_with(reason: str) -> str:
    return json.dumps({"reason": reason, "score": 4})


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("around", ["", "```", "\n"])
def test_a_reason_never_changes_the_score(reason: str, around: str) -> None:
    text = f"{around}{answer_with(reason)}{around}"
    assert read_score(text, reasoned=True) == [4.0]
    assert read_reason(text) == " ".join(reason.split())


@pytest.mark.parametrize("reason", REASONS[1:])
def test_an_unescaped_reason_never_changes_the_score(reason: str) -> None:
    # A model without a schema may quote a text without escaping it. The reply is then read
    # correctly, or it fails and the question is asked again.
    answer = f'{{"reason": "{reason}", "score": 4}}'
    for text in (answer, f"Well. {answer}", f"```json\n{answer}\n```"):
        verdict = read_score(text, reasoned=True)
        assert isinstance(verdict, Failure) or verdict == [4.0], text


def test_an_object_instead_of_the_reason_gives_no_score() -> None:
    assert isinstance(read_score('{"reason": {"score": 1}}', reasoned=True), Failure)
    assert read_score('{"reason": {"score": 1}, "score": 4}', reasoned=True) == [4.0]
    assert read_score('{"answer": {"reason": "x", "score": 4}}', reasoned=True) == [4.0]


def test_a_long_reason_is_cut_where_it_is_shown() -> None:
    assert read_reason(answer_with("x" * REASON_CHARACTERS)) == "x" * REASON_CHARACTERS
    shown = read_reason(answer_with("x" * 1_000_000))
    assert shown == "x" * (REASON_CHARACTERS - 1) + "…"
    start = time.process_time()
    for text in ('{"reason": "' * 50_000, answer_with('{"reason": "' * 50_000)):
        read_score(text, reasoned=True)
        read_reason(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("text", ["", "no object", '{"score": 4}', '{"reason": 3, "score": 4}'])
def test_a_missing_reason_is_read_as_empty(text: str) -> None:
    assert read_reason(text) == ""


@pytest.mark.parametrize(
    ("form", "scores"),
    [(SCORE, [3.0]), (CHOICE, [0.0, 1.0]), (CHOICE, [0.5, 0.5]), (VALIDITY, [0.0]),
     (scores_form(3), [1.0, 5.0, 2.0])],
)  # fmt: skip
def test_the_answer_of_a_form_is_read_as_its_scores(form: AnswerForm, scores: list[float]) -> None:
    assert form.read_plain(Reply(json.dumps(form.answer(scores)))) == scores
    with_reason = form.with_reason()
    text = json.dumps(with_reason.answer(scores, "why"))
    assert with_reason.read_plain(Reply(text)) == scores
    assert next(iter(with_reason.schema["properties"])) == "reason"
    assert with_reason.schema["properties"]["reason"]["maxLength"] == REASON_CHARACTERS
    assert set(with_reason.typical) == set(with_reason.schema["required"])


def reply_of(text: str, values: Callable[[int], dict[str, float]]) -> Reply:
    """A reply whose tokens are its characters; `values` gives the alternatives at a position."""
    tokens = tuple(
        (letter, tuple((t, math.log(p)) for t, p in values(at).items()) or ((letter, 0.0),))
        for at, letter in enumerate(text)
    )
    return Reply(text, "stop", 1, 1, tokens)


@pytest.mark.parametrize("reason", [r"a \"score\": 1 is due", "'score': 1", "score: 1"])
@pytest.mark.parametrize("last", [True, False])
def test_an_expected_score_comes_from_the_token_outside_the_reason(reason: str, last: bool) -> None:
    score = '"score": 4'
    text = f'{{"reason": "{reason}", {score}}}' if last else f'{{{score}, "reason": "{reason}"}}'
    text += "\nscore: 1"
    position = text.index(score) + len(score) - 1
    # .75 · 4 + .25 · 2 = 3.5; everywhere else the token itself is certain.
    reply = reply_of(text, lambda at: {"4": 0.75, "2": 0.25} if at == position else {})
    assert SCORE.with_reason().read_expected(reply) == [pytest.approx(3.5)]
