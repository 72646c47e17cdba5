"""Small datasets in every format."""

from __future__ import annotations

import pytest

from tests import datasets

pytest.importorskip("pyarrow")


class Made:
    """Helpers that write and read datasets."""

    rows = staticmethod(datasets.rows)
    write = staticmethod(datasets.write)
    read = staticmethod(datasets.read)
    contents = staticmethod(datasets.contents)


@pytest.fixture
def made() -> type[Made]:
    return Made
