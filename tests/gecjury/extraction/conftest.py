"""Fixtures of the tests of edits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gecjury.extraction.tagger.importing import installed_version


@pytest.fixture
def versions_anew() -> Iterator[None]:
    """Versions of packages are looked up anew in the test, and again after it."""
    installed_version.cache_clear()
    yield
    installed_version.cache_clear()
