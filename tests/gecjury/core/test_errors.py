"""Hints on what to install, in the same way as gecjury itself was installed."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest

from gecjury.core.errors import _hint, install_hint
from tests.gecjury.test_layout import MODULES, tree_of
from tests.shell import REPOSITORY

PROGRAM = Path("/elsewhere/bin/python")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "some checkout"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "gecjury"\n')
    return folder


def test_the_hint_names_a_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    assert _hint("edits", checkout, None, PROGRAM) == (
        "/elsewhere/bin/python -m pip install -e '.[edits]'"
    )
    monkeypatch.chdir(checkout.parent)
    assert _hint("edits", checkout, None, PROGRAM).endswith(f"install -e '{checkout}[edits]'")


def test_the_hint_uses_pip_of_this_python(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    folder = checkout / ".venv" / "bin"
    folder.mkdir(parents=True)
    (folder / "pip").write_text("")
    (folder / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    hint = _hint("refbased", checkout, None, folder / "python")
    assert hint == ".venv/bin/python -m pip install -e '.[refbased]'"
    monkeypatch.setenv("PATH", str(folder))  # as in an activated environment
    assert _hint("refbased", checkout, None, folder / "python") == "pip install -e '.[refbased]'"


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (None, "gecjury[judges]"),
        ("", "gecjury[judges]"),
        ("[]", "gecjury[judges]"),
        ("{", "gecjury[judges]"),
        ({"url": "file:///gone/gecjury-0.1.0-py3-none-any.whl"}, "gecjury[judges]"),
        (
            {"url": "https://host/gecjury.tar.gz", "archive_info": {}},
            "gecjury[judges] @ https://host/gecjury.tar.gz",
        ),
        (
            {"url": "https://host/g.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "gecjury[judges] @ git+https://host/g.git@abc",
        ),
    ],
)
def test_the_hint_names_the_source_of_the_installation(
    tmp_path: Path, record: object, wanted: str
) -> None:
    text = record if record is None or isinstance(record, str) else json.dumps(record)
    assert _hint("judges", tmp_path, text, PROGRAM).endswith(f" install '{wanted}'")


def test_the_hint_names_an_installed_file_if_it_still_exists(tmp_path: Path) -> None:
    wheel = tmp_path / "my gecjury.whl"
    wheel.write_text("")
    record = json.dumps({"url": wheel.as_uri(), "archive_info": {}})
    assert _hint("judges", tmp_path, record, PROGRAM).endswith(f" install '{wheel}[judges]'")


def test_another_project_with_a_copy_of_gecjury_is_not_a_checkout(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    assert _hint("edits", tmp_path, None, PROGRAM).endswith(" install 'gecjury[edits]'")


def test_the_hint_in_this_repository_names_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    hint = install_hint("edits")
    assert hint.endswith("install -e '.[edits]'")
    assert hint.startswith("pip") or Path(hint.partition(" ")[0]).name == Path(sys.executable).name


@pytest.mark.parametrize("name", MODULES)
def test_only_the_errors_module_spells_out_extras(name: str) -> None:
    if name == "gecjury.core.errors":
        return
    texts = [node.value for node in ast.walk(tree_of(name)) if isinstance(node, ast.Constant)]
    assert not [text for text in texts if isinstance(text, str) and "gecjury[" in text]
