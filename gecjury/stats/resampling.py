"""Settings of the bootstrap and the tests, shared by all studies.

The seed is an option of the study instead, which uses it for more than resamples.

Example:
    >>> from gecjury import Rank, Resampling, rank
    >>> settings = Rank(resampling=Resampling(over="none"))
    >>> rank("sample", ["green"], settings).rows()[0]["system"]
    'careful'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gecjury.core.errors import OptionError
from gecjury.core.settings import check, option

PERMUTATIONS = 10_000
"""Permutations of a test. With K permutations no p is below 1/(K + 1), and Holm's correction
multiplies the least p of m tests by m. With a thousand permutations no difference between twelve
metrics (66 tests) could be significant."""

MOST_RESAMPLES = 1_000_000
"""With more resamples the ends of an interval move by less than is ever printed."""
_MOST_DRAWN = 100_000_000  # sentences and systems of all resamples: 2 GB

Over = Literal["both", "sentences", "systems", "none"]
"""The units that the bootstrap draws with replacement."""


def check_resamples(resamples: int, points: int = 0) -> None:
    """Refuse more resamples than fit in memory or are useful.

    Args:
        resamples: B.
        points: sentences and systems in each resample; 0 if not known yet.

    Raises:
        OptionError: there are too many; the message gives the maximum.
    """
    most = min(MOST_RESAMPLES, max(1, _MOST_DRAWN // points) if points else MOST_RESAMPLES)
    if resamples > most:
        size = f" of {points} sentences and systems" if most < MOST_RESAMPLES else ""
        raise OptionError(f"`resamples={resamples}`: expected at most {most}{size}")


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """The bootstrap behind intervals, and the tests.

    Attributes:
        over: what the bootstrap draws; none: no intervals and no tests.
        resamples: resamples of the bootstrap.
        confidence: confidence of the intervals.
        permutations: permutations of each test.
        level: level of significance of the tests.

    Raises:
        OptionError: a value out of its bounds.
    """

    over: Over = option("both", "--resample")
    resamples: int = option(1000, metavar="B", least=1, most=MOST_RESAMPLES)
    confidence: float = option(0.95, metavar="C", above=0, below=1)
    permutations: int = option(PERMUTATIONS, metavar="K", least=1, most=MOST_RESAMPLES)
    level: float = option(0.05, metavar="P", above=0, below=1)

    def __post_init__(self) -> None:
        check(self)

    @property
    def draws_sentences(self) -> bool:
        """True if sentences are drawn, so that figures computed from them have intervals."""
        return self.over in ("both", "sentences")
