"""Hints on what to install, in the same way as gecjury itself was installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import install_hint
from tests.shell import REPOSITORY


def test_the_hint_names_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert install_hint("edits") == "pip install -e '.[edits]'"
    monkeypatch.chdir(tmp_path)
    assert install_hint("edits") == f"pip install -e '{REPOSITORY}[edits]'"


@pytest.mark.parametrize("project", [None, '[project]\nname = "mine"\n'])
def test_the_hint_names_the_package_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: str | None
) -> None:
    if project is not None:
        (tmp_path / "pyproject.toml").write_text(project)
    monkeypatch.setattr("gecjury.core.errors.__file__", str(tmp_path / "gecjury/core/errors.py"))
    assert install_hint("edits") == "pip install 'gecjury[edits]'"
