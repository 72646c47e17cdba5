"""Pacing, prices, token counts, permutations, audits: by hand."""

from __future__ import annotations

import asyncio
import json
import math
import random
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date
from email.utils import formatdate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.corpus.edits import Edit, apply_edits
from gecjury.errors import InputError, OptionError
from gecjury.judges.asking import models
from gecjury.judges.asking.ask import Answer, Asked, Question
from gecjury.judges.asking.exchange import Model, Request
from gecjury.judges.asking.models import capabilities, read_models
from gecjury.judges.asking.tokens import counter_for
from gecjury.judges.audit import (
    Scored,
    order_flips,
    position_effects,
    position_means,
    repeat_agreement,
    scored_questions,
    system_positions,
)
from gecjury.judges.backends.pacing import Pace, backoff, retry_after
from gecjury.judges.backends.vllm import check_canary
from gecjury.judges.edit_verdict import shown_edit
from gecjury.judges.judge import combine
from gecjury.judges.replies.reply import Failure
from gecjury.judges.showing import CandidateSet, permutations
from gecjury.metaeval.edits.measures import edit_agreement
from gecjury.scoring.by_edit import EditCase

NAN = float("nan")


def test_retry_after_reads_seconds_milliseconds_and_dates() -> None:
    assert retry_after({"retry-after": "2"}) == 2
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    date = retry_after({"retry-after": formatdate(time.time() + 30, usegmt=True)})
    assert date is not None
    assert 28 < date <= 30
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_backoff_grows_with_jitter_and_honours_the_server() -> None:
    source = random.Random(0)
    for attempt in range(12):
        assert backoff(attempt, None, source) <= min(120, 0.5 * 2**attempt)
        assert 3 <= backoff(attempt, 3.0, source) <= 3.3
    assert len({backoff(3, None, source) for _ in range(20)}) == 20


def test_the_limit_halves_once_for_a_burst_and_grows_back() -> None:
    async def check() -> None:
        pace = Pace(16)
        for _ in range(10):  # refused together: one reason to slow down
            pace.slow_down(0.0)
        assert pace.limit == 8
        for _ in range(8):
            await pace.enter()
            await pace.leave(answered=True)
        assert 8.9 < pace.limit <= 9  # one more after a limit's worth of answers
        for _ in range(1_000):
            await pace.enter()
            await pace.leave(answered=True)
        assert pace.limit == 16

    asyncio.run(check())


def test_prices() -> None:
    table = read_models()
    price = table.price("gpt-4-1106-preview")
    assert price is not None
    # 10 and 30 dollars a million: 0.01 · 259.91 + 0.03 · 16.956
    assert price.cost(259_910, 16_956) == pytest.approx(3.10778)
    assert table.price("gpt-4o-2024-08-06") == table.price("gpt-4o")
    assert table.price("gpt-4-0613") == table.price("gpt-4")
    assert table.price("unheard-of") is None
    half = table.price("gpt-4o", batch=True)
    assert half is not None
    assert half.cost(2_000_000, 0) == 2.5


@pytest.mark.parametrize(
    ("model", "prices"),
    [
        ("gpt-6-luna", (0.1, 0.5)),
        ("gpt-6.1-terra", (1, 5)),
        ("gpt-6.1-sol", (2, 10)),
        ("gpt-6-astra", (10, 50)),
    ],
)
def test_current_models_have_prices_and_no_end(model: str, prices: tuple[float, float]) -> None:
    table = read_models()
    price = table.price(model)
    assert price is not None
    assert (price.cost(1e6, 0), price.cost(0, 1e6)) == pytest.approx(prices)
    assert table.end(model) is None


def test_shut_down_dates_hold_for_snapshots_and_fine_tuned_models() -> None:
    table = read_models()
    assert table.end("gpt-4-1106-preview") == date(2026, 10, 23)
    assert table.end("gpt-5-2025-08-07") == table.end("gpt-5") == date(2026, 12, 11)
    assert table.end("ft:gpt-4o-mini-2024-07-18:me::x") == date(2027, 1, 14)
    ended = [name for name, end in table.ends.items() if end < date.fromisoformat(table.date)]
    assert {"gpt-4", "gpt-4-turbo", "gpt-4.1-nano", "o4-mini"} <= set(ended)


def test_a_table_is_old_after_120_days(monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(read_models(), date="2026-11-05")
    for day, told in ((date(2027, 3, 5), False), (date(2027, 3, 6), True)):
        monkeypatch.setattr(models, "today", lambda day=day: day)
        assert [note for note in table.notes(["gpt-6-luna"]) if "2026-11-05" in note] == (
            [
                "prices and shut-down dates of models are of 2026-11-05, 121 days ago: check them, "
                "or name a newer table with --prices FILE"
            ]
            if told
            else []
        )
    assert replace(table, date="some day").notes([]) == []


def test_a_model_that_ends_soon_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (note,) = read_models().notes(["gpt-5", "gpt-6-luna", "unheard-of", "gpt-4"])
    assert note.startswith("gpt-5 is shut down on 2026-12-11, 21 days from now")
    assert "model=gpt-6-luna (0.10 in, 0.50 out" in note
    monkeypatch.setattr(models, "today", lambda: date(2026, 8, 1))
    assert read_models().notes(["gpt-5"]) == []


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"date": "d", "currency": "c", "models": {"m": {"input": -1, "output": 1}}}'],
)
def test_bad_price_tables(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(InputError, match=r"p\.json: not a price table"):
        read_models(tmp_path / "p.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_models(tmp_path / "none.json")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"models": ' + '{"a":' * 300 + "1" + "}" * 301,
        '{"date": "d", "currency": "c", "models": {"m": {"input": ' + "9" * 5_000 + "}}}",
        '{"date": "\\ud800", "currency": "c", "models": {}}',
        '{"date": ["d"], "currency": "c", "models": {}}',
        '{"date": "d", "currency": "\\u001b[2J", "models": {}}',
        '{"date": "d", "currency": "c", "models": [1]}',
        '{"date": "d", "currency": "c", "models": {"m": 5}}',
        '{"date": "d", "currency": "c", "models": {"m": {"input": 1e300, "output": 1}}}',
        '{"date": "d", "currency": "c", "models": {"m": {"input": NaN, "output": 1}}}',
        '{"date": "d", "currency": "c", "models": {"m": {"input": [[[]]], "output": 1}}}',
        '{"date": "d", "currency": "c", "models": {}, "batch_factor": {}}',
        '{"date": "d", "currency": "c", "models": {"m": {"input": 1, "output": 1, "ends": "x"}}}',
        '{"date": "d", "currency": "c", "models": {}, "families": {"m": {"reasoning": "x"}}}',
    ],
)
def test_hostile_price_tables(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(InputError, match=r"p\.json: not a price table") as caught:
        read_models(tmp_path / "p.json")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_an_estimate_says_that_it_is_one() -> None:
    counter = counter_for("no/such-model")
    assert not counter.exact
    assert "estimate" in counter.how
    assert counter.prompt([{"role": "user", "content": "x" * 400}]) == 104


def test_a_model_that_is_not_at_hand_costs_no_import() -> None:
    """Importing transformers takes seconds, and a hosted model has no tokenizer here."""
    code = (
        "import sys; from gecjury.judges.asking.tokens import counter_for; "
        "print(counter_for('gpt-4o').exact, 'transformers' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False"]


def with_template(folder: Path, template: str) -> str:
    """A folder with a tokenizer of two words and a chat template."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?")
    fast.chat_template = template
    fast.save_pretrained(folder)
    return str(folder)


def test_a_tokenizer_in_a_folder_is_used(tmp_path: Path) -> None:
    template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    counter = counter_for(with_template(tmp_path, template))
    assert counter.exact
    assert counter.prompt([{"role": "user", "content": "a b c"}]) == 3
    assert counter.text("a a") == 2


HOSTILE = """
{%- set asked = messages[0]['content'] -%}
{%- if asked == 'code' -%} {{ ''.__class__.__mro__[1].__subclasses__() }}
{%- elif asked == 'role' -%} {{ raise_exception('no such role') }}
{%- elif asked == 'memory' -%} {{ 'a' * 10 ** 11 }}
{%- elif asked == 'time' -%}
{%- for i in range(99999) -%}{%- for j in range(99999) -%}{%- endfor -%}{%- endfor -%}
{%- else -%} a a {%- endif -%}
"""


@pytest.mark.security
def test_a_chat_template_that_fails_or_does_not_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = counter_for(with_template(tmp_path, HOSTILE))

    def tokens(content: str) -> int:
        return counter.prompt([{"role": "user", "content": content}])

    for asked, said in (
        ("code", r"cannot be used \(SecurityError: .*anew"),
        ("role", r"cannot be used \(TemplateError: no such role\)"),
        ("memory", r"cannot be used \(MemoryError"),
    ):
        with pytest.raises(InputError, match=said):
            tokens(asked)
    assert tokens("other") == 2
    monkeypatch.setattr("gecjury.judges.asking.tokens._PROMPT_SECONDS", 0.5)
    for _ in range(2):
        with pytest.raises(InputError, match=r"template does not end within 0\.5 seconds"):
            tokens("time")


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 5))
def test_permutations_come_in_mirrored_pairs(count: int, orders: int, seed: int) -> None:
    texts = tuple(f"t{number}" for number in range(count))
    found = permutations(CandidateSet(0, "s", None, texts, texts), orders, seed)
    assert found[0] == tuple(range(count))
    assert all(sorted(order) == list(range(count)) for order in found)
    for first, second in zip(found[::2], found[1::2], strict=False):
        assert second == first[::-1]
    assert len(found) == orders
    assert permutations(CandidateSet(9, "s", None, texts, texts), orders, seed) == found


def scored(
    texts: tuple[int, ...], scores: tuple[float, ...], order: int = 0, repeat: int = 0
) -> Scored:
    request = Request(
        backend="vllm",
        model="m",
        base_url="",
        messages=(),
        schema=None,
        sampling={"max_tokens": 1},
        repeat=repeat,
    )
    return Question(request, lambda reply: list(scores), 0, texts, order), scores


def test_flips_are_counted_by_pair() -> None:
    # texts 0, 1, 2: order 0 gives 5 4 4, order 1 gives (2, 1, 0) → 4 5 4
    # pair 0-1: + then −: flipped; 0-2: + then 0: changed; 1-2: 0 then +: changed
    ballots = [scored((0, 1, 2), (5, 4, 4)), scored((2, 1, 0), (4, 5, 4), order=1)]
    assert order_flips(ballots) == {"compared": 3, "flipped": 1 / 3, "changed": 1.0}
    assert order_flips(ballots[:1]) is None


def test_what_cannot_be_read_is_no_ballot() -> None:
    (sound, _), (bad, _) = scored((0, 1), (5, 4)), scored((0, 1), (5, 4), repeat=1)
    answers = {sound.request.key: Answer([5, 4]), bad.request.key: Answer(Failure("empty"))}
    assert scored_questions([sound, bad], Asked(answers)) == [(sound, [5, 4])]


def test_the_same_permutation_twice_is_no_other_order() -> None:
    ballots = [scored((0, 1), (5, 4)), scored((0, 1), (5, 4), order=2)]
    assert order_flips(ballots) is None
    ballots.append(scored((1, 0), (5, 4), order=1))
    assert order_flips(ballots) == {"compared": 1, "flipped": 1.0, "changed": 1.0}


def judged(orders: list[tuple[int, ...]], quality: list[float], bias: list[float]) -> list[Scored]:
    """One set an order, whose judge adds a bias of the position to each text's quality."""
    judgments = []
    for number, texts in enumerate(orders):
        scores = tuple(quality[text] + bias[at] for at, text in enumerate(texts))
        judgments.append((replace(scored(texts, scores)[0], set=number), scores))
    return judgments


def test_position_and_system_are_told_apart_where_the_order_is_drawn() -> None:
    orders = [(0, 1, 2), (2, 0, 1), (1, 0), (0, 2), (2, 1, 0)]
    shown = [{0: ("a",), 1: ("b", "c"), 2: ("d",)}] * len(orders)
    items = judged(orders, [4.0, 2.0, 3.0], [0.5, 0.0, -0.5])
    effects = position_effects(items, shown)
    assert effects == pytest.approx([0.5, 0.0, -0.5])
    together = system_positions([question for question, _ in items], shown)
    assert together is not None
    assert together["sets"] == 5
    assert together["cramers_v"] < 0.3


def test_a_system_that_owns_its_position_is_told() -> None:
    items = judged([(0, 1)] * 4, [4.0, 2.0], [0.5, -0.5])
    shown = [{0: ("mine",), 1: ("theirs",)}] * 4
    assert system_positions([question for question, _ in items], shown) == {
        "cramers_v": pytest.approx(1.0),
        "sets": 4,
    }
    # the difference may be the systems' or the positions'
    assert position_effects(items, shown) is None
    # what stands alone has no order
    alone = judged([(0,)] * 3, [4.0], [0.0])
    assert system_positions([question for question, _ in alone], shown) is None
    assert position_effects(alone, shown) is None


def test_repeats_and_positions() -> None:
    ballots = [scored((0, 1), (5, 3)), scored((0, 1), (5, 1), repeat=1)]
    assert repeat_agreement(ballots) == {"compared": 2, "equal": 0.5}
    assert position_means(ballots) == [
        {"position": 1, "count": 2, "mean": 5.0, "distance": 1.5},  # (5−4 + 5−3) / 2
        {"position": 2, "count": 2, "mean": 2.0, "distance": -1.5},
    ]


def test_panels_by_hand() -> None:
    assert combine([1, 4, 4, 3], "mean") == 3
    assert combine([1, 4, 4, 3], "median") == 3.5
    assert combine([1, 4, 4, 3], "majority") == 4
    assert combine([1, 1, 4, 4], "majority") == 2.5
    assert combine([2, NAN, 4], "mean") == 3
    assert math.isnan(combine([2, NAN], "mean"))
    assert math.isnan(combine([NAN], "majority"))


OWN = "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("model", "url", "schema", "sampling", "cap", "reasons"),
    [
        ("gpt-4-1106-preview", "", False, True, "max_completion_tokens", False),
        ("gpt-4o-2024-08-06", "", True, True, "max_completion_tokens", False),
        ("gpt-4o-2024-05-13", "", False, True, "max_completion_tokens", False),
        ("gpt-4o", "https://api.openai.com/v1", True, True, "max_completion_tokens", False),
        ("ft:gpt-4o-mini-2024-07-18:me::x", "", True, True, "max_completion_tokens", False),
        ("gpt-4.1-mini", "", True, True, "max_completion_tokens", False),
        ("o4-mini", "", True, False, "max_completion_tokens", True),
        ("gpt-5", "", True, False, "max_completion_tokens", True),
        ("gpt-5.1", "", True, False, "max_completion_tokens", True),
        ("gpt-6-luna", "", True, False, "max_completion_tokens", True),
        ("gpt-6.1-terra", "", True, False, "max_completion_tokens", True),
        ("unheard-of", "", True, False, "max_completion_tokens", True),
        ("gpt-5", OWN, True, True, "max_tokens", True),
        ("openai/gpt-6-luna", OWN, True, True, "max_tokens", True),
        ("gpt-4o", OWN, True, True, "max_tokens", False),
        ("Qwen/Qwen3-8B", OWN, True, True, "max_tokens", False),
    ],
)
def test_capabilities(
    model: str, url: str, schema: bool, sampling: bool, cap: str, reasons: bool
) -> None:
    found = capabilities(Model(backend="openai", name=model, base_url=url))
    assert (found.schema, found.sampling, found.cap, found.reasons) == (
        schema, sampling, cap, reasons,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-5.1", "none"), ("gpt-5.6-luna", "none"), ("gpt-6-luna", "none"), ("gpt-7", "none"),
     ("gpt-4o", "")],
)  # fmt: skip
def test_probabilities_come_where_reasoning_can_be_turned_off(model: str, effort: str) -> None:
    found = capabilities(Model(backend="openai", name=model, logprobs=True))
    assert (found.logprobs, found.sampling, found.reasons) == (True, True, False)
    assert found.effort == effort


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-mini", "o3", "gpt-6-astra"])
def test_models_that_always_reason_give_no_probabilities(model: str) -> None:
    assert not capabilities(Model(backend="openai", name=model, logprobs=True)).logprobs


@pytest.mark.parametrize("text", ["Hello!", '{"word": "hello"}', "", '{"word":"zq7-canary"'])
def test_a_dead_canary_stops_the_run(text: str) -> None:
    with pytest.raises(OptionError, match=r"vLLM 0\.12 ignores structured outputs"):
        check_canary(text, "0.12")


def test_a_live_canary_passes() -> None:
    check_canary('{"word":"zq7-canary"}', "0.32.0")


def test_an_edit_is_shown_in_the_sentence_that_the_others_make() -> None:
    source = "a b c d e"
    edits = (Edit(0, 0, "x y"), Edit(1, 3, "B"), Edit(3, 3, "i"), Edit(4, 5, ""))
    for edit in edits:
        shown = shown_edit(EditCase(0, source, None, edit, edits, NAN))["target"]
        old = " ".join(source.split()[edit.start : edit.end])
        mark = f"[{old}→{edit.correction}]"
        assert shown.count("→") == 1
        assert mark in shown
        made = " ".join(shown.replace(mark, edit.correction).split())
        assert made == " ".join(apply_edits(source.split(), edits))


def test_edit_agreement_by_hand() -> None:
    votes = [1.0, 1.0, 0.0, 0.0, 0.5, 1.0]
    cases = [EditCase(0, "s", ("", ""), Edit(0, 1, "x"), (), vote) for vote in votes]
    found = edit_agreement(cases, np.array([0.9, 0.4, 0.4, 0.1, 0.9, NAN]))
    # pairs valid × invalid: .9 > .4, .9 > .1, .4 = .4 (half), .4 > .1: 3.5 of 4
    assert found.auc == 3.5 / 4
    # at 0.5: right, wrong, right, right
    assert found.accuracy == 0.75
    assert found.balanced == 0.75
    # said valid 1/4, are valid 2/4: chance .25·.5 + .75·.5 = .5
    assert found.kappa == 0.5
    assert (found.cases, found.valid, found.missing, found.split) == (4, 2, 1, 1)


def test_the_price_file_names_its_date() -> None:
    record = json.loads(
        (Path(__file__).parents[2] / "judges" / "asking" / "models.json").read_text()
    )
    assert record["date"]
    assert record["currency"] == "USD"
