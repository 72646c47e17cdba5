"""Comparison of metrics with people: from score tables and a benchmark to a typed result.

Example:
    >>> from gecjury.metaeval import Settings, compare
    >>> comparison = compare("sample", ["green"], Settings())
    >>> comparison.rows()[0]["metric"]
    'green'
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gecjury.metaeval.comparison import compare
    from gecjury.metaeval.result import Comparison
    from gecjury.metaeval.settings import Settings

__all__ = ["Comparison", "Settings", "compare"]


def __getattr__(name: str) -> object:
    """Import public names on first use: `score` and `rank` need only one module of the package."""
    if name not in __all__:
        raise AttributeError(f"module 'gecjury.metaeval' has no attribute {name!r}")
    return getattr(import_module("gecjury.metaeval.comparison"), name)
