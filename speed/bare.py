"""Stand-ins for small packages on a GPU machine with little more than torch and transformers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace


def stand_in() -> None:
    """Make what scoring and training import of rapidfuzz and nltk importable, if it is not.

    Words keep their endings, so figures that depend on stems are not those of nltk.
    """
    distances = {
        "Levenshtein": SimpleNamespace(distance=_levenshtein),
        "LCSseq": SimpleNamespace(similarity=_common),
    }
    for name, contents in (
        ("rapidfuzz.distance", distances),
        ("nltk.stem.porter", {"PorterStemmer": _Unstemmed}),
    ):
        package = name.partition(".")[0]
        if package in sys.modules or importlib.util.find_spec(package) is not None:
            continue
        sys.modules[package] = ModuleType(package)
        sys.modules[name] = module = ModuleType(name)
        vars(module).update(contents)


class _Unstemmed:
    ORIGINAL_ALGORITHM = ""

    def __init__(self, mode: str) -> None:
        """Do without a mode."""

    def stem(self, word: str) -> str:
        return word


def _levenshtein(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of insertions, deletions and replacements."""
    row = list(range(len(second) + 1))
    for number, one in enumerate(first, start=1):
        diagonal, row[0] = row[0], number
        for place, other in enumerate(second, start=1):
            best = min(row[place] + 1, row[place - 1] + 1, diagonal + (one != other))
            diagonal, row[place] = row[place], best
    return row[-1]


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for one in first:
        diagonal = 0
        for place, other in enumerate(second, start=1):
            best = diagonal + 1 if one == other else max(row[place], row[place - 1])
            diagonal, row[place] = row[place], best
    return row[-1]
