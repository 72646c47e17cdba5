"""Fixtures of the package's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from gecjury.scoring import registry
from tests.outside import lay
from tests.shell import FIXED, GOLD, SOURCE, Shell


@pytest.fixture
def shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    for name, lines in (("source.txt", SOURCE), ("mine.txt", FIXED), ("ref.txt", FIXED)):
        shell.write(name, "".join(line + "\n" for line in lines))
    shell.write("gold.m2", GOLD)
    return shell


@pytest.fixture
def registered(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Path]]:
    """A function that registers metrics for one test, like an installed package would.

    See `tests.outside.lay`.
    """

    def register(entries: Mapping[str, str], **about: str) -> Path:
        folder = lay(tmp_path_factory.mktemp("site"), entries, **about)
        monkeypatch.syspath_prepend(folder)
        registry.outside_metrics.cache_clear()
        return folder

    yield register
    monkeypatch.undo()
    registry.outside_metrics.cache_clear()


@pytest.fixture
def own_benchmark(tmp_path: Path) -> str:
    """A folder with half of the sample's sentences and separate judgments, without references."""
    from gecjury.benchmarks.load import load_benchmark

    corpus = load_benchmark("sample").corpus
    corpus = corpus.take(range(len(corpus) // 2, len(corpus)))
    folder = tmp_path / "own"
    (folder / "outputs").mkdir(parents=True)
    (folder / "source.txt").write_text("\n".join(corpus.sources) + "\n", encoding="utf-8")
    for name, version in corpus.systems.items():
        text = "\n".join(version.lines) + "\n"
        (folder / "outputs" / f"{name}.txt").write_text(text, encoding="utf-8")
    rows, (a, b, c, d) = ["sentence,system_a,system_b,preference"], corpus.names[:4]
    for line in range(1, len(corpus) + 1):
        rows += [f"{line},{a},{b},a", f"{line},{b},{c},{'ab'[line % 2]}", f"{line},{c},{d},a"]
    (folder / "judgments.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(folder)
