"""How often intervals of `gecjury estimate` contain the truth, and their widths, by simulation.

    python -m speed estimates [--data DIR]

- Means and differences: two systems correct 400 sources, of which some are labelled. A label is a
  latent quality, rounded to a scale or to good and bad; half of it is that of the source, equal for
  both systems. A metric's scores have a correlation r with the latent quality, and a bias for one
  system. The truth is the mean of 300,000 sources.
- Shares: one system, labels of 20, 40 or 100 of 400 sources; a metric's scores, or its verdicts, as
  often good as the labels, have a latent correlation r with the labels. Clopper and Pearson's
  interval of the labels is the measure of widths.
- SEEDA (with data): its judgments of 50 or 100 sources, drawn again in each trial, are the labels;
  the truth is the mean of all its judgments. Part of the truth is labelled, so intervals contain it
  more often than they promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.stats.special import ndtri
from gecjury.studies.estimate.labels import labels_of_benchmark
from gecjury.studies.estimate.prediction_powered import (
    EstimateInterval,
    JudgedOutputs,
    Moments,
    filled,
)
from speed.harness import Claim, Options, checked

TRIALS = 1000
_SOURCES = 400
_LABELLED = (50, 100, 200)
_MANY = 300_000
_LEAST, _MOST = 0.93, 0.98  # few labels of 0 or 1 can only be covered in steps

_SCALES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ratings 1 to 5": lambda quality: np.clip(np.round(3.6 + quality), 1, 5),
    "ratings 1 to 5, mostly 5": lambda quality: np.clip(np.round(5.5 + quality), 1, 5),
    "84% good": lambda quality: (quality > -0.9).astype(np.float64),
}
_QUALITIES = (0.3, 0.8)
_SHARES = (0.5, 0.9, 0.98, 0.02)
_FEW = (20, 40, 100)
_FOLLOWED = (0.0, 0.5, 0.8)
_WIDEST = 1.15  # of Clopper and Pearson's widths
_METRICS = ("gleu", "changes")


def measure(options: Options) -> list[Claim]:
    """Run the simulations, and draw from SEEDA if its data is available."""
    trials = 4 if options.quick else TRIALS
    few = _FEW[:1] if options.quick else _FEW
    claims = [
        _means(scale, labelled, r, trials)
        for scale in _SCALES
        for labelled in _LABELLED[: 1 if options.quick else None]
        for r in _QUALITIES
    ]
    claims += [
        _shares(share, labelled, r, 4 * trials)
        for share in _SHARES
        for labelled in few
        for r in _FOLLOWED
    ]
    if options.data is not None:
        claims += [_of_seeda(str(options.data), name, trials) for name in _METRICS]
    return claims


class _Tally:
    """Counts of intervals that contain the truth, and sums of their widths, by name."""

    def __init__(self) -> None:
        self.trials = dict[str, int]()
        self.held = dict[str, int]()
        self.widths = dict[str, float]()

    def add(self, name: str, one: EstimateInterval, truth: float) -> None:
        """Count an interval; one without bounds contains nothing."""
        self.trials[name] = self.trials.get(name, 0) + 1
        self.held[name] = self.held.get(name, 0) + (one.low <= truth <= one.high)
        self.widths[name] = self.widths.get(name, 0.0) + float(np.nan_to_num(one.width))

    def coverage(self, name: str) -> float:
        """Return the share of intervals that contain the truth."""
        return self.held[name] / self.trials[name]

    def ratio(self, name: str, other: str) -> float:
        """Return the ratio of the mean widths of two names."""
        return self.widths[name] / self.widths[other]

    def told(self, names: Sequence[str]) -> str:
        """Describe coverage and width of each, compared with labels alone."""
        parts = []
        for name in names:
            alone = f"{name} by labels alone"
            parts.append(
                f"{name} {self.coverage(name):.3f} (labels alone {self.coverage(alone):.3f}, width "
                f"× {self.ratio(name, alone):.2f})"
            )
        return "; ".join(parts)

    def claim(self, what: str, names: Sequence[str]) -> Claim:
        """Return a claim that the coverages are near 95%."""
        met = all(_LEAST <= self.coverage(name) <= _MOST for name in names)
        return checked(what, self.told(names), f"{_LEAST} to {_MOST}", met)


def _labelled(labels: FloatArray, predictions: FloatArray, chosen: IntArray) -> JudgedOutputs:
    few = np.full(len(labels), np.nan)
    few[chosen] = labels[chosen]
    return JudgedOutputs(few, predictions)


def _qualities(rng: np.random.Generator, systems: FloatArray, sources: int) -> FloatArray:
    """Return latent qualities, systems × sources, of variance 1 apart from systems' shares."""
    shared, own = rng.normal(size=(1, sources)), rng.normal(size=(len(systems), sources))
    return np.asarray(systems[:, None] + (0.7 * shared + own) / np.sqrt(1.49) * 1.22)


def _means(scale: str, labelled: int, r: float, trials: int) -> Claim:
    rng, systems = np.random.default_rng(0), np.array([0.3, 0.0])
    whole = _SCALES[scale](_qualities(rng, systems, _MANY)).mean(axis=1)
    tally = _Tally()
    for _ in range(trials):
        quality = _qualities(rng, systems, _SOURCES)
        noise = rng.normal(size=quality.shape)
        apart = (quality - systems[:, None]) / 1.22
        scores = r * apart + np.sqrt(1 - r * r) * noise + np.array([[0.0], [0.2]])
        chosen = rng.choice(_SOURCES, labelled, replace=False)
        labels = _SCALES[scale](quality)
        outputs = [_labelled(labels[row], scores[row], chosen) for row in (0, 1)]
        for name, moments, truth in (
            ("mean", Moments.of(outputs[0]), whole[0]),
            ("difference", Moments.of(*outputs), whole[0] - whole[1]),
        ):
            tally.add(name, moments.estimate(), truth)
            tally.add(f"{name} by labels alone", moments.alone(), truth)
    what = f"coverage of 95% intervals: {scale}, {labelled} of {_SOURCES} labelled, r {r:g}"
    return tally.claim(what, ("mean", "difference"))


def _share(
    rng: np.random.Generator, share: float, r: float, *, verdicts: bool
) -> tuple[FloatArray, FloatArray]:
    """Return labels, 1 for a share of the sources, and the scores or verdicts of a metric."""
    limit = float(ndtri(share))
    latent, noise = rng.normal(size=(2, _SOURCES))
    scores = r * latent + np.sqrt(1 - r * r) * noise
    labels = (latent < limit).astype(np.float64)
    return labels, (scores < limit).astype(np.float64) if verdicts else -scores


def _shares(share: float, labelled: int, r: float, trials: int) -> Claim:
    from scipy.stats import binomtest

    rng = np.random.default_rng(3)
    exact = [binomtest(good, labelled).proportion_ci() for good in range(labelled + 1)]
    told, met, chosen = [], True, np.arange(labelled)
    for verdicts in (False, True):
        tally, measure, widest = _Tally(), 0.0, 0.0
        for _ in range(trials):
            labels, predictions = _share(rng, share, r, verdicts=verdicts)
            moments = Moments.of(_labelled(labels, predictions, chosen))
            one, alone = moments.estimate(), moments.alone()
            tally.add("share", one, share)
            tally.add("share by labels alone", alone, share)
            bounds = exact[int(labels[:labelled].sum())]
            measure += bounds.high - bounds.low
            widest = max(widest, one.width / alone.width)
        names = ("share", "share by labels alone")
        met &= all(_LEAST <= tally.coverage(name) <= _MOST for name in names)
        met &= widest <= 1 and tally.widths[names[1]] <= _WIDEST * measure
        told.append(
            f"{'verdicts' if verdicts else 'scores'}: {tally.told(('share',))}, at most × "
            f"{widest:.2f}; labels alone × {tally.widths[names[1]] / measure:.2f} of the exact one"
        )
    what = (
        f"coverage of 95% intervals: {share:.0%} good, {labelled} of {_SOURCES} labelled, r {r:g}"
    )
    return checked(what, told[0], f"{_LEAST} to {_MOST}", met, lines=told[1:])


def _of_seeda(data: str, name: str, trials: int) -> Claim:
    benchmark = load_benchmark("seeda", data=data)
    labels = labels_of_benchmark(benchmark)
    scores = load(name).score_corpus(benchmark.corpus, Runtime()).settled().sentences
    predictions = filled(labels.predictions(scores))
    whole = np.nanmean(labels.values, axis=1)
    judged = np.flatnonzero(~np.isnan(labels.values).all(axis=0))
    rng, told, tally = np.random.default_rng(2), [], _Tally()
    for size in (50, 100):
        tally = _Tally()
        for _ in range(max(trials // 10, 2)):
            # Small data is labelled by half, so that something is left to predict.
            chosen = rng.choice(judged, min(size, len(judged) // 2), replace=False)
            outputs = [
                _labelled(*pair, chosen) for pair in zip(labels.values, predictions, strict=True)
            ]
            for first, one in enumerate(outputs):
                moments = Moments.of(one)
                tally.add("mean", moments.estimate(), whole[first])
                tally.add("mean by labels alone", moments.alone(), whole[first])
                for second in range(first):
                    moments, truth = Moments.of(one, outputs[second]), whole[first] - whole[second]
                    tally.add("difference", moments.estimate(), truth)
                    tally.add("difference by labels alone", moments.alone(), truth)
        told.append(f"{size} of {len(judged)}: {tally.told(('mean', 'difference'))}")
    return checked(f"coverage of 95% intervals on SEEDA, {name}", told[0], lines=told[1:])
