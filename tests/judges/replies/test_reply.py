"""Replies become the right scores or a named failure, whatever text surrounds them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gecjury.judges.replies.reply import (
    Failure,
    read_choice,
    read_score,
    read_scores,
    read_validity,
    target_key,
)

GOOD = [
    '{"target1_score": 4, "target2_score": 2}',
    '{"target1_score":4,"target2_score":2}',
    '```json\n{\n  "target1_score": 4,\n  "target2_score": 2\n}\n```',
    '{"target2_score": 2, "target1_score": 4}',
    '{"target1_score": 4, "target2_score": 2,}',
    '{"target1_score": 4 // fine\n "target2_score": 2 // poor\n}',
    '{"target1_score": "4", "target2_score": 2.0}',
    '{"target1_score": "4/5", "target2_score": "2 points"}',
    "{'target1_score': 4, 'target2_score': 2}",
    "{target1_score: 4, target2_score: 2}",
    '{"target_score1": 4, "target_score2": 2}',
    '{"Target 1": 4, "Target 2": 2}',
    '{"scores": {"target1_score": 4, "target2_score": 2}}',
    '{"target1_score": 4, "target2_score": 2, "reason": "the first is {better}"}',
    'Sure! Here are my scores:\n{"target1_score": 4, "target2_score": 2}\nHope this helps {smile}.',
    '<think>Maybe {"target1_score": 1}?</think>{"target1_score": 4, "target2_score": 2}',
    'so 4 and 2.\n</think>\n\n{"target1_score": 4, "target2_score": 2}',
    '{"target1_score": 4, "target2_score": 2} and again {"target1_score": 4, "target2_score": 2}',
    # the output format repeated before the answer
    '{"target1_score": int // assigned\n "target2_score": int}\n'
    '{"target1_score": 4, "target2_score": 2}',
]
BAD = [
    ("", "empty"),
    (" \n\t", "empty"),
    ("<think>ok</think>", "empty"),
    ("<think>and so on and so", "truncated"),
    ('{"target1_score": 4, "target2_sc', "truncated"),
    ('{"target1_score": 4, "target2_score": 2', "truncated"),
    ('{"target1_score": 4, "target2_score":', "truncated"),
    ("I would give 4 and 2.", "no-json"),
    ("4, 2", "no-json"),
    ("[4, 2]", "no-json"),
    ('{"target1_score": 4}', "missing-target"),
    ('{"answer": [4, 2]}', "missing-target"),
    ('{"target1_score": int, "target2_score": int}', "missing-target"),
    ('{"target1_score": 4, "target2_score": 2, "target3_score": 1}', "extra-target"),
    ('{"target0_score": 4, "target1_score": 4, "target2_score": 2}', "extra-target"),
    ('{"target1_score": 6, "target2_score": 2}', "out-of-range"),
    ('{"target1_score": 0, "target2_score": 2}', "out-of-range"),
    ('{"target1_score": -4, "target2_score": 2}', "out-of-range"),
    ('{"target1_score": 1e999, "target2_score": 2}', "not-a-number"),
    ('{"target1_score": NaN, "target2_score": 2}', "not-a-number"),
    ('{"target1_score": null, "target2_score": 2}', "not-a-number"),
    ('{"target1_score": true, "target2_score": 2}', "not-a-number"),
    ('{"target1_score": "good", "target2_score": 2}', "not-a-number"),
    ('{"target1_score": "4 or 5", "target2_score": 2}', "not-a-number"),
    ('{"target1_score": [4], "target2_score": 2}', "not-a-number"),
    ('{"target1_score": 4, "target1_score": 5, "target2_score": 2}', "conflict"),
    (
        '{"target1_score": 4, "target2_score": 2}\n{"target1_score": 5, "target2_score": 2}',
        "conflict",
    ),
    ('{"target1_score": 4, "target2_score": 2} {"target1_score": 5, "tar', "truncated"),
]


@pytest.mark.parametrize("text", GOOD)
def test_good_replies(text: str) -> None:
    assert read_scores(text, 2) == [4.0, 2.0]


@pytest.mark.parametrize(("text", "kind"), BAD)
def test_bad_replies_are_named(text: str, kind: str) -> None:
    verdict = read_scores(text, 2)
    assert isinstance(verdict, Failure)
    assert verdict.kind == kind


def test_one_score_choice_and_validity() -> None:
    assert read_score('{"score": 5}') == [5]
    assert read_score('Score: {"Score": "3"}') == [3]
    assert read_score('{"score": 9}') == Failure("out-of-range", "score: 9, expected 1 to 5")
    assert read_choice('{"better": "A"}') == [1, 0]
    assert read_choice('{"better": "b"}') == [0, 1]
    assert read_choice('{"better": "Tie"}') == [0.5, 0.5]
    assert isinstance(read_choice('{"better": "C"}'), Failure)
    assert read_validity('{"valid": true}') == [1]
    assert read_validity('{"valid": "invalid"}') == [0]
    assert read_validity('```json\n{"valid": No}\n```') == [0]
    assert isinstance(read_validity('{"valid": 1}'), Failure)
    assert isinstance(read_validity('{"valid": true}{"valid": false}'), Failure)


SCORES = st.lists(st.integers(1, 5), min_size=1, max_size=5)
PROSE = st.text(alphabet=st.characters(exclude_characters="{}<>", codec="utf-8"), max_size=40)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A reply in any accepted form, and its scores."""
    scores = draw(SCORES)
    pairs = [(target_key(number), score) for number, score in enumerate(scores, 1)]
    pairs = draw(st.permutations(pairs))
    quote = draw(st.sampled_from("\"'"))
    parts = []
    for key, score in pairs:
        shape = draw(st.sampled_from(["{}", '"{}"', "{}.0", '"{}/5"']))
        comment = draw(st.sampled_from(["", " // a remark, with a comma\n", " /* } */"]))
        blank = draw(st.sampled_from(["", " ", "\n\t"]))
        parts.append(f"{quote}{key}{quote}{blank}:{blank}{shape.format(score)}{comment}")
    body = "{" + ",".join(parts) + draw(st.sampled_from(["", ","])) + "}"
    thought = draw(st.sampled_from(["", "<think>{'target1_score': 9}</think>", "hm</think>"]))
    fence = draw(st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```"]))
    return thought + draw(PROSE) + fence.replace("{}", body) + draw(PROSE), scores


@settings(max_examples=40)
@given(written())
def test_every_accepted_form_gives_the_scores(reply: tuple[str, list[int]]) -> None:
    text, scores = reply
    assert read_scores(text, len(scores)) == scores


@given(SCORES, st.integers(0, 200))
def test_a_cut_reply_never_gives_other_scores(scores: list[int], length: int) -> None:
    full = json.dumps({target_key(n): score for n, score in enumerate(scores, 1)}, indent=1)
    verdict = read_scores(full[:length], len(scores))
    assert verdict == scores if length >= len(full) else isinstance(verdict, Failure)


@given(st.text(max_size=200), st.integers(1, 5))
def test_anything_gives_scores_in_range_or_a_failure(text: str, count: int) -> None:
    verdict = read_scores(text, count)
    assert isinstance(verdict, Failure) or all(1 <= score <= 5 for score in verdict)
