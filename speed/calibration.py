"""How often tests and intervals are right: level, power and coverage, by simulation.

    python -m speed calibration

Systems have a quality q, drawn from a normal distribution of deviation 1. A metric's cell (a
system on a sentence) is q + b + e + n: b the metric's own bias for the system, e what the sentence
is worth to all systems, n noise. Humans' cells have no b. Two metrics with the same deviation of b
have the same correlation with humans in the population of systems; whatever a test of them rejects
is rejected wrongly.

- Level and power: PERM-SYS (whole systems swapped), PERM-BOTH (cells swapped), each at .05; where
  no metric has a bias also PERM-BOTH without the correction for the noise that goes with the
  sentences' means (`within_sentences`).
- Coverage: 95% bootstrap intervals of r and of the difference of two metrics' r, bias-corrected
  and plain; the truth is that of the population of systems (`both`) or of these systems on all
  sentences (`sentences`).
- Prediction: how often r of new systems on new sentences falls into the interval, which does not
  promise that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.stats.bootstrap import Over, interval, make_resampled
from gecjury.stats.correlation import correlations, pearson
from gecjury.stats.permutation import perm_both
from speed.harness import Claim, Options, checked

__all__ = ["measure"]

TRIALS = 1000
RESAMPLES = 500
PERMUTATIONS = 500
_LEVEL = 0.05


@dataclass(frozen=True)
class World:
    """What is drawn from.

    Attributes:
        systems: in a corpus.
        sentences: in a corpus.
        bias: deviation of each metric's own bias for a system.
        noise: deviation of a cell.
        effect: deviation of what a sentence is worth.
    """

    systems: int = 12
    sentences: int = 100
    bias: tuple[float, float] = (0.5, 0.5)
    noise: float = 3.0
    effect: float = 1.0

    def truth(self, metric: int) -> float:
        """Correlation with humans over all systems and sentences."""
        return float(1 / np.sqrt(1 + self.bias[metric] ** 2))

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        """Humans' cells, each metric's, and the systems' true scores by humans and metrics."""
        shape = self.systems, self.sentences
        quality = rng.normal(size=self.systems)
        true = np.stack([quality, *(quality + rng.normal(0, b, self.systems) for b in self.bias)])
        cells = [
            means[:, None]
            + rng.normal(0, self.effect, self.sentences)
            + rng.normal(0, self.noise, shape)
            for means in true
        ]
        return cells[0], cells[1:], true


def measure(options: Options) -> list[Claim]:
    """Simulate all."""
    trials = 20 if options.quick else TRIALS
    claims = [_tested(what, world, trials) for what, world in _TESTED]
    claims += [_covered(over, world, trials) for over, world in _COVERED]
    return claims


_TESTED: Sequence[tuple[str, World]] = (
    ("equal r, biases of their own", World()),
    ("equal r, no biases", World(bias=(0.0, 0.0))),
    ("equal r, no biases, 4 systems", World(systems=4, bias=(0.0, 0.0))),
    ("equal r, no biases, sentences worth much", World(bias=(0.0, 0.0), effect=6.0)),
    ("r .98 against .71", World(bias=(0.2, 1.0))),
    ("r .98 against .71, sentences worth much", World(bias=(0.2, 1.0), effect=6.0)),
)
_COVERED: Sequence[tuple[Over, World]] = (
    ("both", World(systems=5)),
    ("both", World()),
    ("both", World(noise=1.0)),
    ("sentences", World()),
    ("sentences", World(noise=1.0)),
)


def _tested(what: str, world: World, trials: int) -> Claim:
    rng = np.random.default_rng(1)
    rejected = {"PERM-SYS": 0, "PERM-BOTH": 0}
    if not any(world.bias):
        rejected["PERM-BOTH without correction"] = 0
    for trial in range(trials):
        human, metrics, _ = world.draw(rng)
        scores = human.mean(axis=1)
        for name in rejected:
            cells = metrics
            if name == "PERM-SYS":
                cells = [table.mean(axis=1)[:, None] for table in metrics]
            elif name != "PERM-BOTH":
                cells = [_uncorrected(table) for table in metrics]
            _, p = perm_both(scores, cells, permutations=PERMUTATIONS, seed=trial)
            rejected[name] += bool(p[0, 1] <= _LEVEL)
    found = ", ".join(f"{name} {count / trials:.3f}" for name, count in rejected.items())
    where = f"{world.systems} systems × {world.sentences} sentences"
    return checked(f"share rejected at .05: {what} ({where})", found)


def _uncorrected(table: FloatArray) -> FloatArray:
    """Cells whose rest `within_sentences` draws out to what it is once sentences' means are off."""
    means = table.mean(axis=1, keepdims=True)
    rest = table - table.mean(axis=0) - means + means.mean()
    return means + rest * np.sqrt(1 - 1 / len(table))


def _covered(over: Over, world: World, trials: int) -> Claim:
    rng = np.random.default_rng(2)
    held = dict.fromkeys(("r", "r, plain", "difference", "difference, plain", "new r"), 0)
    below = above = 0
    for trial in range(trials):
        human, metrics, true = world.draw(rng)
        drawn = make_resampled(over, RESAMPLES, world.sentences, world.systems, seed=trial)
        weights = drawn.counts / world.sentences
        values = [
            correlations(weights @ human.T, weights @ table.T, drawn.systems)["pearson"]
            for table in metrics
        ]
        seen = [pearson(human.mean(axis=1), table.mean(axis=1)) for table in metrics]
        if over == "both":
            truths = [world.truth(0), world.truth(1)]
        else:
            truths = [pearson(true[0], each) for each in true[1:]]
        bounds = interval(values[0], observed=seen[0])[0]
        held["r"] += bounds[0] <= truths[0] <= bounds[1]
        below += truths[0] < bounds[0]
        above += truths[0] > bounds[1]
        plain = interval(values[0])[0]
        held["r, plain"] += plain[0] <= truths[0] <= plain[1]
        gap, gaps = truths[0] - truths[1], values[0] - values[1]
        for name, observed in (("difference", seen[0] - seen[1]), ("difference, plain", None)):
            low, high = interval(gaps, observed=observed)[0]
            held[name] += low <= gap <= high
        other, (again, _), _ = world.draw(rng)
        held["new r"] += bounds[0] <= pearson(other.mean(axis=1), again.mean(axis=1)) <= bounds[1]
    shares = {name: count / trials for name, count in held.items()}
    found = ", ".join(f"{name} {share:.3f}" for name, share in shares.items() if name != "new r")
    where = f"{world.systems} systems × {world.sentences} sentences, noise {world.noise:g}"
    lines = [f"truth below the interval {below / trials:.3f}, above it {above / trials:.3f}"]
    if over == "both":
        lines.append(f"r of a replication within it {shares['new r']:.3f}: it is no prediction")
    return checked(f"coverage of 95% intervals over {over} ({where})", found, lines=lines)
