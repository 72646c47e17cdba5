"""Fixtures of the package's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

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
