"""Counts of edits by error type, at the level of detail that a user chooses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

TypeLevel = Literal[1, 2, 3]
"""Level of detail of error types: 1 operation (M, R, U), 2 category, 3 both."""


def merged_type(kind: str, level: TypeLevel) -> str:
    """Return the part of an error type that a level distinguishes."""
    operation, _, category = kind.partition(":")
    return {1: operation, 2: category or kind, 3: kind}[level]


def whole_counts(counts: Iterable[float]) -> tuple[float, float, float]:
    """Return TP, FP and FN, as integers if they are whole numbers; sums of weights stay floats."""
    tp, fp, fn = (int(v) if float(v).is_integer() else float(v) for v in counts)
    return tp, fp, fn
