"""Texts that several test files of the corpus read."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with two sentences and their corrections."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.txt").write_text("I has it .\nHe go .\n")
    (tmp_path / "h.txt").write_text("I have it .\nHe goes .\n")
    return tmp_path
