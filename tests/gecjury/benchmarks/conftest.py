"""A user's own texts, to which a test adds judgments."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def own_texts(tmp_path: Path) -> Path:
    """Return the folder of three sentences, three systems and one reference."""
    root = tmp_path / "mine"
    for name, text in (
        ("source", "he go home\nshe like it\na cat sit\n"),
        ("outputs/good", "he goes home\nshe likes it\na cat sits\n"),
        ("outputs/half", "he goes home\nshe like it\na cat sit\n"),
        ("outputs/none", "he go home\nshe like it\na cat sit\n"),
        ("references/one", "he goes home\nshe likes it\na cat sits\n"),
    ):
        path = root / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
