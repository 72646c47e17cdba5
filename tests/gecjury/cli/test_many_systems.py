"""Tables and pages of many systems stay within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.cli import main
from speed.many_systems import make_benchmark


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """201 systems × 2 sentences."""
    benchmark = tmp_path_factory.mktemp("many")
    make_benchmark(benchmark, 201, 2)
    return benchmark


def test_the_page_of_many_systems_has_no_table_of_their_pairs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    words = ["--aggregate", "mean", "--resample", "none", "--no-cache", "--quiet"]
    assert main(["compare", str(folder), "-m", "changes", *words, "--html", str(page)]) == 0
    capsys.readouterr()
    text = page.read_text(encoding="utf-8")
    assert "Left out: 201 systems are 20\u202f100 pairs" in text
    assert "With more than 60 systems names are left out; all scores are in the numbers" in text
    assert 'class="heat"' not in text
    assert len(text) < 400_000
