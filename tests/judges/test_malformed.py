"""Malformed replies of every kind: one line or a count, never a traceback or a hang."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import GecjuryError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges.asking.exchange import Model, Reply
from gecjury.judges.backends.bounded import Limits
from gecjury.judges.backends.openai import OpenAIBackend
from gecjury.judges.replies.forms import scores_form
from gecjury.judges.replies.reply import (
    Failure,
    read_choice,
    read_score,
    read_scores,
    read_validity,
)
from gecjury.scoring.scorer import Scorer
from tests.judges.faultserver import FaultServer, Said
from tests.judges.malformed import KINDS, malformed_text, of_kind

Serve = Callable[..., FaultServer]
Make = Callable[..., Scorer]
LIMITS = Limits(seconds=5.0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the waits between tries."""
    from gecjury.judges.backends import openai as client

    monkeypatch.setattr(client, "backoff", lambda attempt, asked, source: 0.001)


def connect(model: Model, *, batch: bool = False) -> OpenAIBackend:
    return OpenAIBackend(model, LIMITS)


def attacked(
    serve: Serve, judge: Make, folder: Path, seed: int, said: Callable[[int], Said | None]
) -> str:
    """Score sentences with a server that misbehaves, and return how the run ended.

    Odd seeds read probabilities, even ones the answer.
    """
    server = serve(lambda number, body: said(number))
    lines = ("I likes cats .", "He go .")
    corpus = Corpus(lines, {"x": Version(lines)})
    runtime = Runtime(concurrency=2, cache=folder / str(seed))
    scoring = "expected" if seed % 2 else "argmax"
    scorer = judge(server, scoring=scoring).asking(connect)
    try:
        table = scorer.score_corpus(corpus, runtime)
    except GecjuryError as error:
        text = str(error)
        assert text.isprintable(), text
        assert 20 < len(text) < 1_200, text
        return type(error).__name__
    return "scored" if not table.missing else "missing"


@pytest.mark.security
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_ends_in_a_result_or_one_line(
    serve: Serve, judge: Make, tmp_path: Path, kind: str
) -> None:
    for seed, lasting in enumerate((False, True, False)):
        start = time.monotonic()
        said = of_kind(kind, seed)

        def answer(number: int, said: Said = said, lasting: bool = lasting) -> Said | None:
            return said if lasting or not number else None

        ended = attacked(serve, judge, tmp_path, seed, answer)
        assert time.monotonic() - start < 20
        if kind in ("oversized", "bomb", "cut", "wire") and not lasting:
            assert ended in ("scored", "OptionError")  # asked again


READERS: dict[str, Callable[[str], Any]] = {
    "scores": lambda text: read_scores(text, 3),
    "score": read_score,
    "choice": read_choice,
    "validity": read_validity,
}
PATTERNS = (
    "{", "{/*", "[", '"', "\\", "```", '{"a":', "9", "{a:[", '{a:\\"', "{'", "{//", "{#", "{\"",
    "{{", "/*", "{/* */", "<think>", "</think>", "<think></think>", "target1", "score", "score:",
    '{"score": 3}', "{a:1,", " ", "{ ", "\n", "1.", "target ", "{[", "://:", '{"target',
)  # fmt: skip
WRAPPED = (
    "{}",
    '{{a:"{}',
    '{{"score": "{}"}}',
    '{{"score": {}',
    '{{"{}": 3}}',
    "{}*/",
    "{{a:[1,{}",
)


@pytest.mark.security
@pytest.mark.parametrize("pattern", PATTERNS)
def test_readers_take_time_proportional_to_the_length(pattern: str) -> None:
    # A reader with quadratic work took 1.5 seconds for 10,000 characters.
    for form in WRAPPED:
        text = form.format((pattern * 5_000)[:10_000])
        start = time.process_time()
        read_scores(text, 3)
        assert time.process_time() - start < 1.0, form


@pytest.mark.security
@pytest.mark.parametrize("pattern", ["target1", "score", "target ", "score: ", "target1:\n", "x"])
def test_expected_scores_take_time_proportional_to_the_length(pattern: str) -> None:
    text = '{"target1_score": 3} ' + (pattern * 100_000)[:100_000]
    token = (text, (("3", -0.1),))
    start = time.process_time()
    scores_form(1).read_expected(Reply(text, logprobs=(token,)))
    assert time.process_time() - start < 2.0


@pytest.mark.security
def test_malicious_texts_raise_nothing() -> None:
    for seed in range(15):
        text = malformed_text(seed)
        for read in READERS.values():
            read(text)


@pytest.mark.security
@pytest.mark.parametrize("digits", [300, 5_000, 100_000])
def test_numbers_of_many_digits(digits: int) -> None:
    number = "9" * digits
    for text in (
        f'{{"score": {number}}}',
        f'{{"score": "{number}"}}',
        f'{{"score": -{number}.5}}',
        f'{{"score": 1e{number}}}',
        f'{{"target{number}_score": 3, "score": 1}}',
        f'{{"target1_score": {number}, "target{number}": 2}}',
    ):
        for read in READERS.values():
            assert isinstance(read(text), Failure) or "target" in text
