"""Requests that no browser sends: none causes an unexpected error or an invalid saved answer."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from gecjury.core.runtime import Runtime
from gecjury.web.trying import open_desk, trying_app
from tests.gecjury.web.conftest import Browser, admitted

pytestmark = pytest.mark.security

_TEXTS = (
    "", "1", "0", "-1", "9" * 40, "1e9", "nan", "1.1", "anna", "ben", "w1", "é", "\u202e", "\x00",
    "a\nb", "\r", "' OR 1=1 --", "<b>", "../../etc/passwd", "{{7*7}}", "x" * 500, "\ud7ff", "٣",
    "\ufeff", "He go .\nShe go .", "green", "errant", "on", "null", "[]", "%00", "+", "=1",
)  # fmt: skip


def strange(rng: random.Random, fields: list[str], token: str) -> list[tuple[str, str]]:
    pairs = [(rng.choice(fields), rng.choice(_TEXTS)) for _ in range(rng.choice((0, 0, 1, 2, 12)))]
    return [*pairs, ("token", token)] if rng.random() < 0.9 else pairs


def encoded(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    return form


@pytest.mark.parametrize("seed", range(2))
def test_forms_of_the_judging_page(browser: Callable[..., Browser], seed: int) -> None:
    page = browser(task=("rank", "rate")[seed])
    rng = random.Random(seed)
    fields = ["as", "window", "item", "key", "value0", "value1", "value2", "value3", "comment"]
    now = [0.0]
    page.study.clock = lambda: now[0]
    with page.client as client:  # the same event loop for all requests
        for _ in range(120):
            what = rng.choice(["begin", "answer", "answer", "skip", "undo", "again", "take"])
            if rng.random() < 0.3:
                asked = dict(strange(rng, ["as", "window", "told"], "t"))
                response = client.get(
                    rng.choice(["/judge", "/alive", "/overview", "/"]), params=asked
                )
            else:
                pairs = strange(rng, fields, page.study.token)
                item = page.study.next_item("anna")
                # The first of equal names counts, so some fields of a complete form are invalid.
                pairs += [("as", "anna"), ("window", "w1"), ("key", str(rng.random()))]
                pairs += [("item", item.id)] if item else []
                pairs += [(f"value{place}", "1") for place in range(4)]
                response = client.post(f"/{what}", data=encoded(pairs))
            assert response.status_code < 500, response.text
            now[0] += rng.choice((0, 20))  # names are released now and then
    answers = page.study.journal.answers()
    assert len(answers) > 1
    page = browser(task=("rank", "rate")[seed])
    assert sorted(page.study.journal.answers(), key=str) == sorted(answers, key=str)


def test_forms_of_the_page_to_try_metrics() -> None:
    desk = open_desk(["green"], Runtime())
    rng = random.Random(5)
    fields = ["source", "output", "system", "reference", "metric"]
    seen = set()
    with admitted(trying_app(desk)) as client:
        for _ in range(60):
            pairs = strange(rng, fields, desk.token)
            pairs += [("source", "He go ."), ("output", "He goes ."), ("metric", "green")]
            response = client.post("/score", data=encoded(pairs))
            assert response.status_code < 500, response.text
            seen.add(response.status_code)
    assert {403, 422} <= seen
