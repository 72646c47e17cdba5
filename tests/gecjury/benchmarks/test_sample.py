"""The embedded sample benchmark: its files, and the rule that generated its judgments."""

from __future__ import annotations

import importlib.util
import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

_REPOSITORY = Path(__file__).resolve().parents[3]
_SAMPLE = _REPOSITORY / "gecjury" / "benchmarks" / "sample"
_LINES = 68
_SYSTEMS = {"INPUT", "careful", "cautious", "fluent", "hasty", "noisy", "spelling"}
_REFERENCES = ("reference0", "reference1", "reference2")
_TEXTS = sorted([*_SAMPLE.glob("source.txt"), *_SAMPLE.glob("reference?.txt")]) + sorted(
    (_SAMPLE / "outputs").glob("*.txt")
)
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


def test_all_texts_exist() -> None:
    assert {path.stem for path in _TEXTS} == {"source", *_REFERENCES, *_SYSTEMS}


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.stem)
def test_text_is_clean(path: Path) -> None:
    raw = path.read_bytes()
    assert raw.endswith(b"\n")
    assert b"\r" not in raw
    assert len(_read(path)) == _LINES
    for line in _read(path):
        assert line.split(" ") == line.split()
        assert line.endswith(" .")


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.stem)
def test_text_is_tokenised(path: Path) -> None:
    glued = [
        token
        for line in _read(path)
        for token in line.split()
        if (len(token) > 1 and re.search(r"[,.;:!?\"]", token))
        or ("'" in token and token not in {"n't", "'s", "'m", "'", "o'clock"})
        or not token.isascii()
    ]
    assert glued == []


def test_whole_sample_stays_small() -> None:
    files = [path for path in _SAMPLE.rglob("*") if path.is_file()]
    replies = [path for path in files if path.parent.name == "judgments"]
    assert sum(path.stat().st_size for path in files if path not in replies) < 120_000
    assert sum(path.stat().st_size for path in replies) < 130_000


def test_documents_are_consecutive_and_short() -> None:
    header, *rows = _read(_SAMPLE / "documents.tsv")
    assert header == "line\tdocument"
    assert [int(row.split("\t")[0]) for row in rows] == list(range(1, _LINES + 1))
    names = [row.split("\t")[1] for row in rows]
    changes = sum(a != b for a, b in itertools.pairwise(names))
    assert changes + 1 == len(set(names)) == 10
    assert set(Counter(names).values()) == {6, 7}


def test_input_is_the_source() -> None:
    assert _outputs()["INPUT"] == _read(_SAMPLE / "source.txt")


def test_references_differ_and_correct() -> None:
    source = _read(_SAMPLE / "source.txt")
    first, second, fluency = (_read(_SAMPLE / f"{name}.txt") for name in _REFERENCES)
    correct = [line for line in range(_LINES) if first[line] == source[line]]
    assert len(correct) == 6
    # The two minimal editors agree only if there is nothing to correct; the rewriter never agrees.
    assert [line for line in range(_LINES) if first[line] == second[line]] == correct
    assert not any(fluency[line] in {source[line], first[line]} for line in range(_LINES))


@pytest.mark.parametrize("reference", _REFERENCES)
def test_no_system_copies_a_reference(reference: str) -> None:
    lines = _read(_SAMPLE / f"{reference}.txt")
    for system, output in _outputs().items():
        assert sum(a == b for a, b in zip(output, lines, strict=True)) < _LINES / 2, system


def test_quality_matches_the_text(rule: ModuleType) -> None:
    quality = rule.read_quality(_SAMPLE / "quality.tsv")
    outputs = _outputs()
    assert set(quality) == set(outputs) == _SYSTEMS
    for line in range(_LINES):
        source = quality["INPUT"][line]
        assert (source.introduced, source.meaning) == (0, 0)
        assert (source.remaining == 0) == (
            outputs["INPUT"][line] == _read(_SAMPLE / "reference0.txt")[line]
        )
        for system in _SYSTEMS:
            mine = quality[system][line]
            assert mine.remaining <= source.remaining
            assert mine.meaning in {0, 1}
            assert mine.fluency in {0, 1, 2}
            assert mine.fluency == 0 or mine.remaining + mine.introduced == 0
        for systems in rule.corrections(outputs, line + 1).values():
            assert len({quality[system][line] for system in systems}) == 1


def test_quality_sums_are_those_of_the_readme(rule: ModuleType) -> None:
    quality = rule.read_quality(_SAMPLE / "quality.tsv")
    readme = (_SAMPLE / "README.md").read_text(encoding="utf-8")
    for system, rows in quality.items():
        sums = [sum(row[column] for row in rows) for column in range(3)]
        row = next(line for line in readme.splitlines() if line.startswith(f"| `{system}` |"))
        assert [int(cell) for cell in row.split("|")[3:6]] == sums


def test_systems_differ_clearly_in_quality(rule: ModuleType) -> None:
    quality = rule.read_quality(_SAMPLE / "quality.tsv")
    cost = {s: sum(map(rule.WEIGHTS["edit"].cost, rows)) for s, rows in quality.items()}
    order = ["careful", "fluent", "cautious", "spelling", "INPUT", "hasty", "noisy"]
    # 14, 27, 134, 238, 306, 326, 764: e.g. fluent 2*0 + 3*2 + 3*7, hasty 2*64 + 3*64 + 3*2.
    assert [cost[system] for system in order] == [14, 27, 134, 238, 306, 326, 764]
    assert all(row.introduced == 0 for s in ("careful", "cautious") for row in quality[s])


def test_costs_of_the_two_kinds_by_hand(rule: ModuleType) -> None:
    one = rule.Quality(remaining=1, introduced=2, meaning=1, fluency=0)
    assert rule.WEIGHTS["edit"].cost(one) == 2 * 1 + 3 * 2 + 3 * 1
    assert rule.WEIGHTS["sentence"].cost(one) == 2 * 1 + 2 * 2 + 2 * 1 + (2 - 0)


def test_equal_costs_share_a_dense_rank(rule: ModuleType) -> None:
    assert rule.ranks([4, 0, 4, 9]) == [2, 1, 2, 3]


@pytest.mark.parametrize("rater", ["rater1", "rater2"])
def test_slips_are_as_frequent_as_stated(rule: ModuleType, rater: str) -> None:
    draws = Counter(rule.noise("edit", rater, line, "a text") for line in range(20_000))
    for slip in (-2, 2):
        # Four standard errors of a share of .2 in 20,000 draws are .0113.
        assert draws[slip] / 20_000 == pytest.approx(rule.SLIP[rater], abs=0.0113)
    assert set(draws) == {-2, 0, 2}


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


@pytest.mark.parametrize("kind", _KINDS)
def test_judged_items_belong_to_their_documents(kind: str) -> None:
    names = [row.split("\t")[1] for row in _read(_SAMPLE / "documents.tsv")[1:]]
    for item in _items(kind):
        assert item.get("doc-id") == names[int(item.get("src-id", "")) - 1]


@pytest.mark.parametrize("kind", _KINDS)
def test_both_raters_share_items_but_not_every_verdict(kind: str) -> None:
    by_rater: dict[str, dict[str, dict[str, int]]] = {"rater1": {}, "rater2": {}}
    for item in _items(kind):
        by_rater[item.get("user", "")][item.get("src-id", "")] = _ranks(item)
    first, second = by_rater["rater1"], by_rater["rater2"]
    assert len(first) == len(second) == 34
    shared = first.keys() & second.keys()
    assert len(shared) == 17
    assert all(first[line].keys() == second[line].keys() for line in shared)
    assert any(first[line] != second[line] for line in shared)
