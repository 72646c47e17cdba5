"""How often tests and intervals are right: level, power and coverage, by simulation.

    python -m speed calibration

Systems have a quality q, drawn from a normal distribution of deviation 1. A metric's cell (a system
on a sentence) is q + b + e + n, where b is the metric's own bias for the system, e the effect of
the sentence on all systems, and n noise. Humans' cells have no b. Two metrics with the same
deviation of b have the same correlation with humans in the population of systems; if a test of them
rejects, it is wrong.

- Level and power: PERM-SYS (whole systems swapped), PERM-BOTH (cells swapped), each at .05; without
  biases also PERM-BOTH without the correction for the noise that is removed with the sentences'
  means (`within_sentences`).
- Shapes: level and power of PERM-SYS if biases are skewed or have heavy tails, or if some systems
  are far better than the others. Humans' scores are the quality itself.
- Coverage: 95% bootstrap intervals of r and of the difference of two metrics' r, bias-corrected and
  plain; the truth is that of the population of systems (`both`) or of these systems on all
  sentences (`sentences`).
- Prediction: how often r of new systems on new sentences is in the interval, which does not promise
  that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.stats.bootstrap import interval, make_resampled
from gecjury.stats.correlation import correlations, pearson
from gecjury.stats.permutation import perm_both, perm_systems
from gecjury.stats.resampling import Over
from speed.harness import Claim, Options, checked

TRIALS = 1000
RESAMPLES = 500
PERMUTATIONS = 500
_LEVEL = 0.05


@dataclass(frozen=True)
class World:
    """The distribution that corpora are drawn from.

    Attributes:
        systems: systems in a corpus.
        sentences: sentences in a corpus.
        bias: deviation of each metric's own bias for a system.
        noise: deviation of the noise of a cell.
        effect: deviation of the effect of a sentence.
    """

    systems: int = 12
    sentences: int = 100
    bias: tuple[float, float] = (0.5, 0.5)
    noise: float = 3.0
    effect: float = 1.0

    def truth(self, metric: int) -> float:
        """Return the correlation with humans over all systems and sentences."""
        return float(1 / np.sqrt(1 + self.bias[metric] ** 2))

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        """Return humans' cells, each metric's, and the true scores by humans and metrics."""
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
    """Run all simulations."""
    trials = 4 if options.quick else TRIALS
    claims = [_tested(what, world, trials) for what, world in _TESTED]
    claims += [_shaped(*shapes, trials) for shapes in _SHAPES]
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
            options = {"permutations": PERMUTATIONS, "seed": trial}
            if name == "PERM-SYS":
                _, p = perm_systems(scores, np.stack(metrics).mean(axis=2), **options)
            else:
                cells = metrics if name == "PERM-BOTH" else [_uncorrected(each) for each in metrics]
                _, p = perm_both(scores, cells, **options)
            rejected[name] += bool(p[0, 1] <= _LEVEL)
    found = ", ".join(f"{name} {count / trials:.3f}" for name, count in rejected.items())
    where = f"{world.systems} systems × {world.sentences} sentences"
    return checked(f"share rejected at .05: {what} ({where})", found)


_SYSTEMS = 12

_Drawn = Callable[[np.random.Generator], FloatArray]
_DRAWN: dict[str, _Drawn] = {
    "normal": lambda rng: rng.normal(size=_SYSTEMS),
    "uniform": lambda rng: rng.uniform(-np.sqrt(3), np.sqrt(3), _SYSTEMS),
    "skewed": lambda rng: rng.exponential(size=_SYSTEMS) - 1,
    "heavy-tailed": lambda rng: rng.standard_t(2.5, _SYSTEMS) / np.sqrt(5),
    "lognormal": lambda rng: rng.lognormal(size=_SYSTEMS) / np.sqrt((np.e - 1) * np.e),
    "two outlying systems": lambda rng: rng.normal(size=_SYSTEMS) + np.repeat((0, 4), (10, 2)),
}
"""Distributions of a quality or a bias, with variance 1 except for the outlying systems."""

_EQUAL, _UNEQUAL = (0.5, 0.5), (0.2, 1.0)
# The distribution of quality and of each metric's biases, and the deviations of the biases.
_SHAPES: Sequence[tuple[str, tuple[str, str], tuple[float, float]]] = (
    ("normal", ("normal", "normal"), _EQUAL),
    ("normal", ("uniform", "uniform"), _EQUAL),
    ("normal", ("skewed", "skewed"), _EQUAL),
    ("normal", ("heavy-tailed", "heavy-tailed"), _EQUAL),
    ("normal", ("normal", "skewed"), _EQUAL),
    ("lognormal", ("normal", "normal"), _EQUAL),
    ("lognormal", ("skewed", "skewed"), _EQUAL),
    ("lognormal", ("heavy-tailed", "heavy-tailed"), _EQUAL),
    ("lognormal", ("normal", "skewed"), _EQUAL),
    ("two outlying systems", ("normal", "normal"), _EQUAL),
    ("two outlying systems", ("skewed", "skewed"), _EQUAL),
    ("normal", ("normal", "normal"), _UNEQUAL),
    ("normal", ("skewed", "skewed"), _UNEQUAL),
    ("normal", ("heavy-tailed", "heavy-tailed"), _UNEQUAL),
    ("lognormal", ("normal", "normal"), _UNEQUAL),
)


def _shaped(
    quality: str, biases: tuple[str, str], deviations: tuple[float, float], trials: int
) -> Claim:
    """Share of corpora in which PERM-SYS rejects at .05, by the shape of quality and biases."""
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(trials):
        human = _DRAWN[quality](rng)
        metrics = [
            human + deviation * _DRAWN[bias](rng)
            for bias, deviation in zip(biases, deviations, strict=True)
        ]
        _, p = perm_systems(human, np.stack(metrics))
        rejected += bool(p[0, 1] <= _LEVEL)
    truth = "equal r" if deviations == _EQUAL else "r .98 against .71"
    what = f"share rejected at .05: {truth}, quality {quality}, biases {' and '.join(biases)}"
    return checked(f"{what} ({_SYSTEMS} systems)", f"PERM-SYS {rejected / trials:.3f}")


def _uncorrected(table: FloatArray) -> FloatArray:
    """Shrink cells in advance, so that the correction of `within_sentences` has no effect."""
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
