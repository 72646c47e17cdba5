"""Time TrueSkill against the `trueskill` package on one table, both sides in one run.

    python -m speed trueskill

The peer is used in the plain way: with the package's global environment and `rate_1vs1` per pair.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from gecjury.stats.ranking import trueskill
from speed.harness import Claim, Options, faster, needs, timed

SYSTEMS, SENTENCES = 15, 391
SETTINGS = {"mu": 0.0, "sigma": 0.5, "beta": 0.25, "tau": 0.0, "draw_probability": 0.25}


def peer(scores: np.ndarray, backend: str | None) -> np.ndarray:
    import trueskill as package

    package.setup(**SETTINGS, backend=backend)
    ratings = [package.Rating() for _ in scores]
    for column in scores.T:
        for i, j in combinations(range(len(scores)), 2):
            if column[i] >= column[j]:
                drawn = bool(column[i] == column[j])
                ratings[i], ratings[j] = package.rate_1vs1(ratings[i], ratings[j], drawn=drawn)
            else:
                ratings[j], ratings[i] = package.rate_1vs1(ratings[j], ratings[i])
    return np.array([rating.mu for rating in ratings])


def measure(options: Options) -> list[Claim]:
    """Run both sides on one table."""
    needs("trueskill")
    rng = np.random.default_rng(0)
    lines = 4 if options.quick else SENTENCES
    quality = np.linspace(-0.3, 0.3, SYSTEMS)[:, None]
    scores = np.round(quality + rng.normal(size=(SYSTEMS, lines)), 1)
    ours = [timed(lambda: trueskill(scores)) for _ in range(5)]
    theirs = [timed(lambda: peer(scores, None)) for _ in range(2)]
    differences = np.abs(ours[0][0] - peer(scores, "scipy"))
    return [
        faster(
            f"TrueSkill, {SYSTEMS} × {lines}, trueskill package alone",
            min(seconds for _, seconds, _ in ours),
            min(seconds for _, seconds, _ in theirs),
            lines=(
                f"{SYSTEMS * (SYSTEMS - 1) // 2 * lines} comparisons; greatest difference "
                f"{differences.max():.1e} (package with backend='scipy')",
            ),
        )
    ]
