"""A small benchmark of a user, shared by the tests of judgments."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three sentences, three systems, one reference; each test adds its judgments."""
    root = tmp_path / "mine"
    (root / "outputs").mkdir(parents=True)
    (root / "references").mkdir()
    (root / "source.txt").write_text("he go home\nshe like it\na cat sit\n")
    (root / "outputs/good.txt").write_text("he goes home\nshe likes it\na cat sits\n")
    (root / "outputs/half.txt").write_text("he goes home\nshe like it\na cat sit\n")
    (root / "outputs/none.txt").write_text("he go home\nshe like it\na cat sit\n")
    (root / "references/one.txt").write_text("he goes home\nshe likes it\na cat sits\n")
    return root
