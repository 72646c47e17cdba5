"""Datasets of a few rows, in every form."""

from __future__ import annotations

import pytest

from tests import datasets

pytest.importorskip("pyarrow")


class Made:
    """What tests make and read datasets with."""

    rows = staticmethod(datasets.rows)
    write = staticmethod(datasets.write)
    read = staticmethod(datasets.read)
    contents = staticmethod(datasets.contents)


@pytest.fixture
def made() -> type[Made]:
    return Made
