"""The table of models: prices, shut-down dates and capabilities."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.judges.asking.exchange import Model
from gecjury.judges.asking.models import capabilities, read_models


def test_prices() -> None:
    table = read_models()
    price = table.price("gpt-4-1106-preview")
    assert price is not None
    # 10 and 30 dollars per million: 0.01 · 259.91 + 0.03 · 16.956
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
def test_current_models_have_prices_and_no_shut_down_date(
    model: str, prices: tuple[float, float]
) -> None:
    table = read_models()
    price = table.price(model)
    assert price is not None
    assert (price.cost(1e6, 0), price.cost(0, 1e6)) == pytest.approx(prices)
    assert table.models[model].ends is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"date": "d", "currency": "c", "models": {"m": {"input": -1, "output": 1}}}',
        '{"date": "d", "currency": "c", "models": {"m": {"input": "1", "output": 1}}}',
        '{"date": "d", "currency": "c", "models": {}, "batch_factor": NaN}',
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
def test_bad_price_tables(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(InputError, match=r"p\.json: not a price table") as caught:
        read_models(tmp_path / "p.json")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


def test_a_missing_price_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_models(tmp_path / "none.json")


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
    features = capabilities(Model(backend="openai", name=model, base_url=url))
    assert (features.schema, features.sampling, features.cap, features.reasons) == (
        schema, sampling, cap, reasons,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-5.1", "none"), ("gpt-5.6-luna", "none"), ("gpt-6-luna", "none"), ("gpt-7", "none"),
     ("gpt-4o", "")],
)  # fmt: skip
def test_probabilities_are_available_where_reasoning_can_be_turned_off(
    model: str, effort: str
) -> None:
    features = capabilities(Model(backend="openai", name=model, logprobs=True))
    assert (features.logprobs, features.sampling, features.reasons) == (True, True, False)
    assert features.effort == effort


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-mini", "o3", "gpt-6-astra"])
def test_models_that_always_reason_give_no_probabilities(model: str) -> None:
    assert not capabilities(Model(backend="openai", name=model, logprobs=True)).logprobs
