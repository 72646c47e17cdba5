"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real benchmarks; tests that need it are skipped where it is absent."""
    named = os.environ.get("GECJURY_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"
    if not (folder / "SEEDA").is_dir():
        pytest.skip("the real benchmark data is not here: set GECJURY_DATA to run this test")
    return folder
