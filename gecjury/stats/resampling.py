"""Settings of the bootstrap and the tests, shared by all studies.

The seed belongs to the study instead, which uses it for more than resamples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gecjury.errors import OptionError
from gecjury.settings import check, option

PERMUTATIONS = 10_000
"""Permutations of a test. With K of them no p is below 1/(K + 1), and Holm's correction multiplies
the least of m tests by m: a thousand could not tell anything about twelve metrics (66 tests)."""

MOST_RESAMPLES = 1_000_000
"""Beyond so many the ends of an interval move by less than is ever printed."""
_MOST_DRAWN = 100_000_000  # sentences and systems of all resamples: 2 GB

Over = Literal["both", "sentences", "systems", "none"]
"""The units that a bootstrap draws with replacement."""


def check_resamples(resamples: int, points: int = 0) -> None:
    """Refuse more resamples than fit in memory or are of use.

    Args:
        resamples: B.
        points: sentences and systems that each draws; 0 where that is not known yet.

    Raises:
        OptionError: too many; says how many there may be.
    """
    most = min(MOST_RESAMPLES, max(1, _MOST_DRAWN // points) if points else MOST_RESAMPLES)
    if resamples > most:
        size = f" of {points} sentences and systems" if most < MOST_RESAMPLES else ""
        raise OptionError(f"--resamples {resamples}: expected at most {most}{size}")


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
    confidence: float = option(0.95, metavar="C", within=(0, 1))
    permutations: int = option(PERMUTATIONS, metavar="K", least=1, most=MOST_RESAMPLES)
    level: float = option(0.05, metavar="P", within=(0, 1))

    def __post_init__(self) -> None:
        check(self)

    @property
    def draws_sentences(self) -> bool:
        """True where sentences are drawn, so that figures that rest on them have intervals."""
        return self.over in ("both", "sentences")
