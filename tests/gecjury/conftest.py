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
    """Registers metrics for one test, as an installed package does: see `tests.outside.lay`."""

    def register(entries: Mapping[str, str], **about: str) -> Path:
        folder = lay(tmp_path_factory.mktemp("site"), entries, **about)
        monkeypatch.syspath_prepend(folder)
        registry.outside_metrics.cache_clear()
        return folder

    yield register
    monkeypatch.undo()
    registry.outside_metrics.cache_clear()
