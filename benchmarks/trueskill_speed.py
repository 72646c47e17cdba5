"""Time TrueSkill against the `trueskill` package on one table, both sides in one run.

The peer is used the plain way: the package's global environment and `rate_1vs1` for each pair.
Run `python benchmarks/trueskill_speed.py` where the package is installed.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import trueskill as package

from gecjury.stats.ranking import trueskill

SYSTEMS, SENTENCES = 15, 391
SETTINGS = {"mu": 0.0, "sigma": 0.5, "beta": 0.25, "tau": 0.0, "draw_probability": 0.25}


def peer(scores: np.ndarray, backend: str | None) -> np.ndarray:
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


def timed(function, repeats: int) -> tuple[float, np.ndarray]:
    best, result = float("inf"), np.empty(0)
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def main() -> None:
    rng = np.random.default_rng(0)
    quality = np.linspace(-0.3, 0.3, SYSTEMS)[:, None]
    scores = np.round(quality + rng.normal(size=(SYSTEMS, SENTENCES)), 1)
    ours, means = timed(lambda: trueskill(scores).scores, 5)
    theirs, _ = timed(lambda: peer(scores, None), 2)
    _, exact = timed(lambda: peer(scores, "scipy"), 1)
    print(
        f"{SYSTEMS} systems x {SENTENCES} sentences, {SYSTEMS * (SYSTEMS - 1) // 2 * SENTENCES} "
        "comparisons"
    )
    print(f"gecjury             {ours:8.3f} s")
    print(f"trueskill package   {theirs:8.3f} s (default backend)")
    print(f"ratio               {theirs / ours:8.1f}")
    print(f"largest difference  {np.abs(means - exact).max():.1e} (package with backend='scipy')")


if __name__ == "__main__":
    main()
