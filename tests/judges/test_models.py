"""The table of models: prices, shut-down dates and capabilities."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.judges.exchange import Model
from gecjury.judges.models import capabilities, read_models


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


def test_current_models_have_prices_and_no_shut_down_date() -> None:
    table = read_models()
    for model, prices in (
        ("gpt-6-luna", (0.1, 0.5)),
        ("gpt-6.1-terra", (1, 5)),
        ("gpt-6.1-sol", (2, 10)),
        ("gpt-6-astra", (10, 50)),
    ):
        price = table.price(model)
        assert price is not None
        assert (price.cost(1e6, 0), price.cost(0, 1e6)) == pytest.approx(prices)
        assert table.models[model].ends is None


MODEL = '{"date": "d", "currency": "c", "models": {"m": {"input": 1, "output": 1}}}'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (MODEL, ""),
        (MODEL, "[]"),
        (MODEL, "{}"),
        (MODEL, "[" * 100_000),
        (MODEL, '{"models": ' + '{"a":' * 300 + "1" + "}" * 301),
        *(('"input": 1', f'"input": {value}')
          for value in ("-1", '"1"', "NaN", "1e300", "[[[]]]", "9" * 5_000)),
        ('"output": 1', '"output": 1, "ends": "x"'),
        ('"date": "d"', '"date": "\\ud800"'),
        ('"date": "d"', '"date": ["d"]'),
        ('"currency": "c"', '"currency": "\\u001b[2J"'),
        ('{"m": {"input": 1, "output": 1}}', '{"m": 5}'),
        ('"models"', '"batch_factor": NaN, "models"'),
        ('"models"', '"families": {"m": {"reasoning": "x"}}, "models"'),
    ],
)  # fmt: skip
def test_bad_price_tables(tmp_path: Path, old: str, new: str) -> None:
    file = tmp_path / "p.json"
    with pytest.raises(InputError, match="cannot be read"):
        read_models(file)
    file.write_text(MODEL)
    assert read_models(file).date == "d"
    file.write_text(MODEL.replace(old, new))
    with pytest.raises(InputError, match=r"p\.json: not a price table") as caught:
        read_models(file)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500


OWN = "http://localhost:8000/v1"


@pytest.mark.parametrize(
    ("model", "url", "schema", "sampling", "reasons"),
    [
        ("gpt-4-1106-preview", "", False, True, False),
        ("gpt-4o-2024-08-06", "", True, True, False),
        ("gpt-4o-2024-05-13", "", False, True, False),
        ("gpt-4o", "https://api.openai.com/v1", True, True, False),
        ("ft:gpt-4o-mini-2024-07-18:me::x", "", True, True, False),
        ("o4-mini", "", True, False, True),
        ("gpt-5.1", "", True, False, True),
        ("gpt-6.1-terra", "", True, False, True),
        ("unheard-of", "", True, False, True),
        ("openai/gpt-6-luna", OWN, True, True, True),
        ("gpt-4o", OWN, True, True, False),
        ("Qwen/Qwen3-8B", OWN, True, True, False),
    ],
)
def test_capabilities(model: str, url: str, schema: bool, sampling: bool, reasons: bool) -> None:
    features = capabilities(Model(backend="openai", name=model, base_url=url))
    assert (features.schema, features.sampling, features.reasons) == (schema, sampling, reasons)
    assert features.cap == ("max_tokens" if url == OWN else "max_completion_tokens")


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-5.1", "none"), ("gpt-6-luna", "none"), ("gpt-7", "none"), ("gpt-4o", ""),
     # These always reason.
     ("gpt-5-mini", None), ("o3", None), ("gpt-6-astra", None)],
)  # fmt: skip
def test_probabilities_are_available_where_reasoning_can_be_turned_off(
    model: str, effort: str | None
) -> None:
    features = capabilities(Model(backend="openai", name=model, logprobs=True))
    off = effort is not None
    assert (features.logprobs, features.sampling, features.reasons) == (off, off, not off)
    assert features.effort == (effort or "")
