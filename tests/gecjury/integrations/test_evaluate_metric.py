"""The module for Hugging Face's evaluate, loaded from its file by that library."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from gecjury import load
from gecjury.core.errors import MissingExtraError
from gecjury.integrations import evaluate_metric
from tests.gecjury.integrations.test_inspect_ai import REFERENCES, SOURCES, TEXTS

pytestmark = pytest.mark.filterwarnings("ignore")


def loaded(metric: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    evaluate = pytest.importorskip("evaluate")
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(folder / "modules"))
    return evaluate.load(evaluate_metric.__file__, metric, cache_dir=str(folder))


def test_a_metric_is_loaded_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded("errant", tmp_path, monkeypatch)
    result = module.compute(sources=SOURCES, predictions=TEXTS, references=REFERENCES)
    table = load("errant").score(SOURCES, {"x": TEXTS}, list(zip(*REFERENCES, strict=True)))
    assert result["score"] == table.totals[0]
    assert result["sentences"] == table.sentences[0].tolist()
    assert table.precision is not None
    assert result["precision"] == table.precision[0]
    assert result["signature"] == str(table.signature)


def test_options_and_one_reference_per_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded("errant", tmp_path, monkeypatch)
    single = [row[1] for row in REFERENCES]
    result = module.compute(
        sources=SOURCES, predictions=TEXTS, references=single, options="beta=1,mode=span"
    )
    table = load("errant", beta=1.0, mode="span").score(SOURCES, {"x": TEXTS}, [single])
    assert result["score"] == table.totals[0]


def test_a_metric_without_references_and_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = loaded("changes", tmp_path, monkeypatch)
    for source, text in zip(SOURCES, TEXTS, strict=True):
        module.add(sources=source, predictions=text)
    assert module.compute()["sentences"] == [3.0, 1.0, 0.0]


def test_green_is_the_default_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = loaded(None, tmp_path, monkeypatch).compute(
        sources=SOURCES, predictions=TEXTS, references=REFERENCES
    )
    assert result["signature"].startswith("green|")


@pytest.mark.skipif(
    importlib.util.find_spec("evaluate") is not None, reason="evaluate is installed"
)
def test_a_missing_evaluate_is_reported_with_the_remedy() -> None:
    with pytest.raises(MissingExtraError, match="pip install evaluate"):
        evaluate_metric.GecjuryMetric()
