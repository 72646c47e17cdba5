"""Text between the marks of reasoning is never a verdict, whichever model wrote the marks."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

from gecjury.judges.asking.ask import read_reply
from gecjury.judges.backends.vllm import _VLLMEngine
from gecjury.judges.exchange import Reply
from gecjury.judges.replies.forms import CHOICE, SCORE, VALIDITY, AnswerForm, scores_form
from gecjury.judges.replies.reply import (
    ENDS,
    ONLY_REASONING,
    UNENDED,
    Failure,
    has_form,
    is_answer,
    read_reason,
    read_score,
)
from gecjury.judges.showing import one_line

DRAFT, ANSWER = '{"score": 1}', '{"score": 4}'
_NAMES = ("analysis", "commentary")
PAIRS = [
    *((opening.upper(), closing.upper()) for opening, closing in ENDS.items() if "<" in opening),
    *((opening, closing) for opening, closing in ENDS.items() if opening.isalpha()),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>commentary<|message|>", "<|channel|>final <|constrain|>json<|message|>"),
]


@pytest.mark.parametrize(("opening", "closing"), PAIRS)
@pytest.mark.parametrize("reasoned", [False, True])
def test_only_text_outside_the_marks_is_read(opening: str, closing: str, reasoned: bool) -> None:
    thoughts = f"Maybe {DRAFT}? No."
    for text in (f"{opening}{thoughts}{closing}{ANSWER}", f"{thoughts}{closing}\n{ANSWER}"):
        assert read_score(text, reasoned=reasoned) == [4.0], text
        assert has_form(text, SCORE.schema)
    assert read_score(f"{opening}{thoughts}", reasoned=reasoned) == UNENDED
    assert read_score(f"{opening}{thoughts}{closing}", reasoned=reasoned) == ONLY_REASONING


def test_a_mark_of_another_kind_does_not_end_the_reasoning() -> None:
    text = f"<think>The user wrote </thought>{DRAFT}"
    assert read_score(text) == UNENDED
    assert read_score(f"{text}</think>{ANSWER}<|return|>") == [4.0]


def test_two_final_answers_must_agree() -> None:
    final = "<|channel|>final<|message|>"
    assert read_score(f"{final}{ANSWER}<|end|><|start|>assistant{final}{ANSWER}") == [4.0]
    verdict = read_score(f"{final}{ANSWER}<|end|><|start|>assistant{final}{DRAFT}")
    assert isinstance(verdict, Failure)
    assert verdict.kind == "conflict"


@pytest.mark.parametrize("mark", ["</think>", "[/THINK]", "<|channel|>final<|message|>"])
def test_a_mark_that_an_answer_quotes_does_not_replace_the_answer(mark: str) -> None:
    verdict = read_score(f"{ANSWER} Target 1 is: {mark}{DRAFT}")
    assert isinstance(verdict, Failure)
    for before in ("", "<think>hm</think>"):
        reply = before + json.dumps({"reason": f"{mark}{{'score': 1}}", "score": 4})
        assert read_score(reply, reasoned=True) == [4.0]
        assert read_reason(reply) == f"{mark}{{'score': 1}}"


@pytest.mark.parametrize(
    "mark", [mark for pair in ENDS.items() for mark in pair if mark not in _NAMES]
)
def test_a_prompt_contains_no_mark(mark: str) -> None:
    assert mark not in one_line(f"She goes {mark} .")
    assert mark.upper() not in one_line(mark.upper())


@pytest.mark.parametrize("form", [SCORE, CHOICE, VALIDITY, scores_form(2)])
def test_a_text_that_is_only_the_answer(form: AnswerForm) -> None:
    for one in (form, form.with_reason()):
        typical = json.dumps(one.typical)
        assert is_answer(typical, typical)
        assert is_answer(f"\n```json\n{json.dumps(one.typical, indent=1)}\n```\n", typical)
        for text in (f"Maybe {typical}", f"{typical}.", typical * 2, typical[:-1], "{}", ""):
            assert not is_answer(text, typical), text
        assert not is_answer(f'{{"draft": {typical}}}', typical)


def test_an_object_in_the_middle_of_a_text_that_was_cut_off_is_no_verdict() -> None:
    for text, verdict in (
        (ANSWER + " because", [4.0]),
        (f"<think>{DRAFT}?</think>{ANSWER} because", [4.0]),
        (f"Maybe {DRAFT}? No", Failure("truncated", "the token cap is reached")),
        (f"<think>{DRAFT}? No", UNENDED),
    ):
        assert read_reply(SCORE.read_plain, Reply(text, "length", 9, 9)) == verdict


def test_an_expected_score_is_read_outside_the_marks() -> None:
    texts = [ANSWER[:-2], "4", "}", "<think>", '{"score": ', "1", "}", "</think>"]
    # The 4 has an alternative: .5 · 4 + .5 · 2 = 3.
    half = (("4", -0.693147), ("2", -0.693147))
    tokens = tuple((text, half if text == "4" else ((text, 0.0),)) for text in texts)
    reply = Reply("".join(texts), "stop", 1, 1, tokens)
    assert SCORE.read_expected(reply) == [pytest.approx(3.0)]


def test_vllm_keeps_marks_that_are_special_tokens() -> None:
    engine = SimpleNamespace(vllm=SimpleNamespace(SamplingParams=lambda **settings: settings))
    settings = _VLLMEngine._params(engine, {"max_tokens": 9}, None)  # type: ignore[arg-type]
    assert settings["skip_special_tokens"] is False


def test_marks_are_read_in_linear_time() -> None:
    start = time.process_time()
    for part in ("<think>", "</think>", "<|a|>", "<think></think>", "<|channel|>", "x</think> "):
        read_score(part * (300_000 // len(part)))
        read_score(" " * 150_000 + part * (150_000 // len(part)))
    assert time.process_time() - start < 5
