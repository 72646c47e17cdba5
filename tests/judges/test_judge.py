"""Panels of models, computed by hand."""

from __future__ import annotations

import math

from gecjury.judges.judge import combine

NAN = float("nan")


def test_panels_by_hand() -> None:
    assert combine([1, 4, 4, 3], "mean") == 3
    assert combine([1, 4, 4, 3], "median") == 3.5
    assert combine([1, 4, 4, 3], "majority") == 4
    assert combine([1, 1, 4, 4], "majority") == 2.5
    assert combine([2, NAN, 4], "mean") == 3
    assert math.isnan(combine([2, NAN], "mean"))
    assert math.isnan(combine([NAN], "majority"))
