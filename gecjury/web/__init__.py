"""Pages on this machine alone: judgments collected by hand, and metrics tried out.

What the command line offers stands here, so that its help needs nothing else of the room.
"""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["MOST_SET", "ORDERS", "TASKS", "Order", "Task"]

Task = Literal["rank", "rate", "edits"]
"""Tasks of annotators: rankings of corrections, ratings of one, verdicts on its edits."""

TASKS: tuple[Task, ...] = get_args(Task)

MOST_SET = 9
"""Corrections in a set to rank: each rank is one key."""

Order = Literal["informative", "random", "file"]
"""Orders of items; see `gecjury.web.choosing`."""

ORDERS: tuple[Order, ...] = get_args(Order)
