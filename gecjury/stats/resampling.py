"""How uncertainty is measured: one settings class for every study that draws or permutes."""

from __future__ import annotations

from dataclasses import dataclass

from gecjury.settings import check, option
from gecjury.stats.bootstrap import MOST_RESAMPLES, Over
from gecjury.stats.permutation import PERMUTATIONS


@dataclass(frozen=True)
class Resampling:
    """The bootstrap and the permutation tests of a study.

    Attributes:
        over: what the bootstrap draws; none: no intervals and no tests.
        resamples: resamples of the bootstrap.
        confidence: confidence of the intervals.
        permutations: permutations of each test.
        level: level of significance, for clusters and rank ranges.

    Raises:
        OptionError: a value out of its bounds.
    """

    over: Over = option("both", "--resample")
    resamples: int = option(
        1000, metavar="B", least=1, most=MOST_RESAMPLES, hint="--resample none: no"
    )
    confidence: float = option(0.95, metavar="C", within=(0, 1))
    permutations: int = option(PERMUTATIONS, metavar="K", least=1, most=MOST_RESAMPLES)
    level: float = option(0.05, metavar="P", within=(0, 1))

    def __post_init__(self) -> None:
        check(self)

    @property
    def draws_sentences(self) -> bool:
        """Whether sentences are drawn, so that what rests on them has an interval."""
        return self.over in ("both", "sentences")
