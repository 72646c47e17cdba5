"""Releases: a single version number, files allowed in a wheel, a container of existing files."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

import gecjury
from gecjury.report.citations import entries
from tests.shell import REPOSITORY
from tools.release_check import check_files, container_steps

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
SOUND = {"gecjury/__init__.py": b"", "gecjury/a.bin": b"\0/home/me", "gecjury-1.dist-info/M": b""}
TOP = ("gecjury", "gecjury-1.dist-info")


def test_the_version_is_in_one_place() -> None:
    assert "version" not in PROJECT["project"]
    attribute = PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert attribute == "gecjury.core.runtime.__version__"
    assert re.fullmatch(r"\d+\.\d+\.\d+", gecjury.__version__)
    written = [
        path.relative_to(REPOSITORY).as_posix()
        for path in sorted((REPOSITORY / "gecjury").rglob("*.py"))
        if re.search(rf"version\w* = [\"']{re.escape(gecjury.__version__)}", path.read_text())
    ]
    assert written == ["gecjury/core/runtime.py"]


def test_the_citation_has_this_version() -> None:
    text = (REPOSITORY / "CITATION.cff").read_text()
    assert f"\nversion: {gecjury.__version__}\n" in text
    assert f"\nlicense: {PROJECT['project']['license']}\n" in text
    entry = entries()["gecjury"]
    assert text.count(f'title: "{entry.fields["title"]}"\n') == 2
    assert text.count(f"- name: {entry.fields['author'].strip('{}')}\n") == 2
    assert f"\n  year: {entry.fields['year']}\n" in text
    assert f"\n## {gecjury.__version__} " in (REPOSITORY / "CHANGELOG.md").read_text()


def test_valid_release_files_are_accepted() -> None:
    assert check_files(SOUND, TOP) == []


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("judges/__init__.py", b"", "a file of this name should not be included"),
        ("gecjury/tests/data.txt", b"", "tests should not be included"),
        ("gecjury/__pycache__/a.py", b"", "__pycache__ should not be included"),
        ("gecjury/.coverage", b"", ".coverage should not be included"),
        ("gecjury/a.pyc", b"", ".pyc should not be included"),
        ("gecjury/train.ipynb", b"", ".ipynb should not be included"),
        ("gecjury/a.py", b"x = '/home/me/data'", "a path of one machine: /home/me/data"),
        ("gecjury/a.txt", b"a" * 20_000_001, "20,000,001 bytes"),
    ],
)
def test_unwanted_release_files_are_reported(name: str, data: bytes, message: str) -> None:
    (fault,) = check_files({**SOUND, name: data}, TOP)
    assert fault == f"{name}: {message}"


def test_a_release_without_the_package_is_reported() -> None:
    assert check_files({}, TOP) == ["gecjury/__init__.py is missing"]


def test_the_container_uses_existing_files_and_extras() -> None:
    steps = container_steps((REPOSITORY / "Containerfile").read_text())
    assert (steps[0].word, steps[0].rest) == ("FROM", "python:3.11-slim")
    copied = [step.rest for step in steps if step.word == "COPY"]
    assert copied == ["constraints.txt dist/gecjury-*.whl /tmp/gecjury/"]
    (extras,) = [step.rest.partition("=")[2] for step in steps if step.word == "ARG"]
    assert set(extras.split(",")) <= set(PROJECT["project"]["optional-dependencies"])
    (entry,) = [json.loads(step.rest) for step in steps if step.word == "ENTRYPOINT"]
    assert entry == [*PROJECT["project"]["scripts"]]
    # The image switches to an unprivileged user after everything is installed.
    words = [step.word for step in steps]
    assert words.index("USER") > max(n for n, word in enumerate(words) if word == "RUN")


def test_notebooks_are_kept_without_output() -> None:
    notebooks = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
    assert len(notebooks) >= 3
    for path in notebooks:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                assert (cell["outputs"], cell["execution_count"]) == ([], None), path.name
