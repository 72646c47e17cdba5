"""Time TrueSkill against the `trueskill` package on one table, both sides in one run.

    python -m speed trueskill

The peer is used in the plain way: with the package's global environment and `rate_1vs1` per pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations

import numpy as np

from gecjury.stats.ranking import trueskill
from speed.harness import Claim, Options, faster, needs

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


def best_of(function: Callable[[], np.ndarray], repeats: int) -> tuple[float, np.ndarray]:
    best, result = float("inf"), np.empty(0)
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def measure(options: Options) -> list[Claim]:
    """Run both sides on one table."""
    needs("trueskill")
    rng = np.random.default_rng(0)
    lines = 4 if options.quick else SENTENCES
    quality = np.linspace(-0.3, 0.3, SYSTEMS)[:, None]
    scores = np.round(quality + rng.normal(size=(SYSTEMS, lines)), 1)
    ours, means = best_of(lambda: trueskill(scores), 5)
    theirs, _ = best_of(lambda: peer(scores, None), 2)
    _, exact = best_of(lambda: peer(scores, "scipy"), 1)
    return [
        faster(
            f"TrueSkill, {SYSTEMS} × {lines}, trueskill package alone",
            ours,
            theirs,
            lines=(
                f"{SYSTEMS * (SYSTEMS - 1) // 2 * lines} comparisons; greatest difference "
                f"{np.abs(means - exact).max():.1e} (package with backend='scipy')",
            ),
        )
    ]
