"""Fixtures for the tests of edit extraction."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gecjury.extraction.tagger.importing import installed_version


@pytest.fixture
def uncached_versions() -> Iterator[None]:
    """Clear the cache of package versions before and after the test."""
    installed_version.cache_clear()
    yield
    installed_version.cache_clear()
