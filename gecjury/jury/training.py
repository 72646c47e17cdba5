"""Training a jury: human pairs of benchmarks, a pairwise logistic model, cross-validation.

Everything is chosen by cross-validation over sources: all pairs of one source, from any benchmark,
are in one fold, so that no figure comes from a sentence that was trained on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import check, option
from gecjury.jury.likeness import effective_size, every_pair, likeness_weights
from gecjury.jury.model import JuryModel, Member, TrainedMember, identity
from gecjury.jury.pairs import TrainingPairs
from gecjury.report.tables import plain
from gecjury.stats.logistic import equal_weights, fit_preferences, folds_of, impute, pair_agreement

STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""Strengths of the pull towards equal weights, from which one is chosen; 0 would be no pull."""


@dataclass(frozen=True, kw_only=True)
class JuryTraining:
    """The judgments that a jury learns from, and how it learns.

    Attributes:
        exclude: do not train on sources in these benchmarks or files of sentences.
        like: weight training pairs by their similarity to the outputs to be judged: a benchmark,
            whose judgments are not used, or files, SOURCE HYPOTHESIS [HYPOTHESIS ...].
        like_references: references of those outputs for members without @SET: a set of that
            benchmark, or files (default: as --references; none with files).
        references: references for members without @SET.
        scores: folder of score files to read and add to.
        folds: number of folds of the cross-validation.
        strength: strength of the pull towards equal weights; cross-validation chooses one of
            several (default: powers of ten from 1 to 10000).
        signed: allow negative weights (default: 0 or more).
        human: which judgments.
        systems: system set of the benchmark.
        seed: seed of the folds.

    Raises:
        OptionError: a value out of its bounds, or references of outputs that are not named.
    """

    exclude: tuple[str, ...] = option((), metavar="WHAT", several=True)
    like: tuple[str, ...] = option((), metavar="WHAT", several=True)
    like_references: tuple[str, ...] = option((), metavar="SET", several=True)
    references: tuple[str, ...] = option(("official",), metavar="SET", several=True)
    scores: str | None = option(None, metavar="DIR")
    folds: int = option(10, metavar="N", most=100_000)
    strength: tuple[float, ...] = option(STRENGTHS, metavar="X", several=True, above=0)
    signed: bool = False
    human: View | None = None
    systems: str = "base"
    seed: int = option(0, least=0, most=2**32 - 1)

    def __post_init__(self) -> None:
        check(self)
        if self.like_references and not self.like:
            raise OptionError(
                "--like-references is for the outputs that --like names: give --like, too"
            )


@dataclass(frozen=True)
class _Data:
    """All pairs of all benchmarks, side by side.

    `directed` says for each member whether higher is meant to be better, `signed` whether the
    weights of such members may be below 0 as well, and `mass` how much a pair counts.
    """

    preferred: FloatArray
    other: FloatArray
    source: IntArray
    fold: IntArray
    part: IntArray
    directed: BoolArray
    signed: bool
    mass: FloatArray

    def without(self, member: int) -> _Data:
        """Return these pairs without one member."""
        kept = np.arange(len(self.directed)) != member
        return replace(
            self,
            preferred=self.preferred[:, kept],
            other=self.other[:, kept],
            directed=self.directed[kept],
        )

    def mean(self, values: FloatArray, rows: BoolArray | slice = slice(None)) -> float:
        """Return the mean of one value per pair, over all or some pairs, weighted by mass."""
        return float(np.average(values[rows], weights=self.mass[rows]))

    def error(self, values: FloatArray) -> float:
        """Return the standard error of the mean, from the means of the folds."""
        means = [self.mean(values, self.fold == fold) for fold in np.unique(self.fold)]
        return float(np.std(means, ddof=1) / np.sqrt(len(means)))


@dataclass(frozen=True)
class _Fit:
    center: FloatArray
    scale: FloatArray
    weights: FloatArray
    anchor: FloatArray
    gaps: FloatArray


def _standard(data: _Data, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation (1 if it is 0) of each member's scores in some pairs."""
    both = np.concatenate([data.preferred[rows], data.other[rows]])
    scored = ~np.isnan(both)
    count = np.maximum(scored.sum(axis=0), 1)
    center = np.where(scored, both, 0.0).sum(axis=0) / count
    scale = np.sqrt((np.where(scored, both - center, 0.0) ** 2).sum(axis=0) / count)
    return center, np.where(scale > 1e-12, scale, 1.0)


def _fit(data: _Data, rows: IntArray, strength: float) -> _Fit:
    """Return a jury fitted to some pairs, and the gaps of all pairs, imputed from `rows`."""
    center, scale = _standard(data, rows)
    raw = (data.preferred - data.other) / scale
    # Imputed from the training pairs only, so that a fold does not predict itself.
    gaps = impute(raw, raw[rows]) if np.isnan(raw).any() else raw
    mass = data.mass[rows]
    anchor = equal_weights(gaps[rows], data.directed, mass)
    least = np.where(data.directed & (not data.signed), 0.0, -np.inf)
    weights = fit_preferences(gaps[rows], strength, anchor, least=least, mass=mass)
    return _Fit(center, scale, weights, anchor, gaps)


def _validate(data: _Data, strength: float) -> FloatArray:
    """Return for each pair whether a jury trained on the other folds agrees: 1, 0.5 or 0."""
    right = np.empty(len(data.fold))
    for fold in np.unique(data.fold):
        test = data.fold == fold
        fit = _fit(data, np.flatnonzero(~test), strength)
        right[test] = pair_agreement(fit.gaps[test], fit.weights)
    return right


def train_jury(
    parts: Sequence[TrainingPairs],
    members: Sequence[Member],
    runtime: Runtime,
    settings: JuryTraining | None = None,
    like: FloatArray | None = None,
) -> JuryModel:
    """Train a jury on the pairs of one or several benchmarks.

    The weights are pulled towards the best equal ones, by the strongest pull whose accuracy is
    below the best by no more than one standard error of the difference. The reason is that the
    preferences in one benchmark generalise less surely than the assumption that every member is
    useful.

    Args:
        parts: from `collect_pairs`.
        members: in the same order.
        runtime: for the members' identities and progress.
        settings: pulls to choose from, and the folds by which they are chosen.
        like: the members' scores of outputs (`scores_of`); pairs are then weighted by their
            similarity to those of these outputs, in the loss and in every accuracy, see
            `likeness_weights`.

    Raises:
        InputError: too few sources, or a member that cannot score any of the benchmarks.
        OptionError: no members, or a member twice.
    """
    settings = settings or JuryTraining()
    _check(parts, members)
    scorers = [member.scorer() for member in members]
    directed = np.array([scorer.directed for scorer in scorers])
    data, sources = _join(parts, settings, directed)
    record: dict[str, Any] = {}
    if like is not None:
        data, record["like"] = _weighed(data, parts, members, like)
    chosen, tried = _choose(data, settings.strength, runtime)
    # The folds have chosen the strength; the jury itself learns from every pair.
    final = _fit(data, np.arange(len(data.fold)), chosen)
    rows = _worth(data, members, final.weights, tried[chosen], chosen, runtime)
    record |= {
        "benchmarks": [dict(part.record) for part in parts],
        "strength": chosen,
        "strengths": [
            {"strength": s, "accuracy": data.mean(right), "error": data.error(right)}
            for s, right in tried.items()
        ],
        "equal_weight": final.anchor.max(),
        "signed": settings.signed,
        "folds": settings.folds,
        "seed": settings.seed,
        "pairs": len(data.fold),
        "sources": len(sources),
        "accuracy": data.mean(tried[chosen]),
        "error": data.error(tried[chosen]),
        "by_benchmark": _by_benchmark(data, parts, tried[chosen], chosen),
        "members": rows,
    }
    trained = (
        TrainedMember(
            member.metric,
            member.references,
            center=float(final.center[k]),
            scale=float(final.scale[k]),
            weight=float(final.weights[k]),
            identity=identity(scorer, scorer.extra_signature(runtime)),
        )
        for k, (member, scorer) in enumerate(zip(members, scorers, strict=True))
    )
    return JuryModel(members=tuple(trained), record=plain(record), sources=tuple(sources))


def _choose(
    data: _Data, strengths: Sequence[float], runtime: Runtime
) -> tuple[float, dict[float, FloatArray]]:
    """Return the strongest pull that costs at most one standard error, and each pull's results."""
    tried = {}
    for strength in runtime.track(sorted(strengths), "jury: strengths", len(strengths)):
        tried[strength] = _validate(data, strength)
    # The one-standard-error rule (Breiman et al. 1984), on paired differences.
    best = max(tried.values(), key=data.mean)
    allowed = [
        strength
        for strength, right in tried.items()
        if data.mean(best - right) <= data.error(best - right)
    ]
    return max(allowed), tried


def _check(parts: Sequence[TrainingPairs], members: Sequence[Member]) -> None:
    if not members:
        raise OptionError("a jury needs members: name metrics with -m")
    labels = [member.label for member in members]
    for label in labels:
        if labels.count(label) > 1:
            raise OptionError(f"{label} is named twice: name every member once")
    for column, label in enumerate(labels):
        if all(np.isnan(part.gaps[:, column]).all() for part in parts):
            why = "; ".join(
                f"{part.name}: {part.record.get('absent', {}).get(label, 'no score')}"
                for part in parts
            )
            raise InputError(f"jury member {label} scores none of the benchmarks ({why})")


def _join(
    parts: Sequence[TrainingPairs], settings: JuryTraining, directed: BoolArray
) -> tuple[_Data, list[str]]:
    # A source in two benchmarks is one source, in one fold.
    keys = np.concatenate([np.array(part.sources) for part in parts])
    sources, place = np.unique(keys, return_inverse=True)
    if not 2 <= settings.folds <= len(sources):
        raise InputError(
            f"{len(sources)} sources cannot be split into {settings.folds} folds; expected 2 or "
            "more folds and at least as many sources"
        )
    data = _Data(
        np.concatenate([part.preferred for part in parts]),
        np.concatenate([part.other for part in parts]),
        place.astype(np.int64),
        folds_of(place.astype(np.int64), settings.folds, settings.seed),
        np.repeat(np.arange(len(parts)), [len(part.sources) for part in parts]),
        directed,
        settings.signed,
        np.ones(len(keys)),
    )
    return data, [str(source) for source in sources]


def _weighed(
    data: _Data, parts: Sequence[TrainingPairs], members: Sequence[Member], like: FloatArray
) -> tuple[_Data, list[dict[str, Any]]]:
    """Weight pairs by their similarity to those of other outputs.

    Each benchmark is weighted separately, by the members that score both it and the outputs. If few
    of its pairs resemble them, its weights are uneven and less informative, so the benchmark counts
    by its effective share.
    """
    mass = np.empty(len(data.part))
    record = []
    for number, part in enumerate(parts):
        scored = ~np.isnan(np.concatenate([part.preferred, part.other]))
        there: BoolArray = np.all(scored, axis=0) & np.all(~np.isnan(like), axis=(1, 2))
        if not there.any():
            raise InputError(
                f"no member scores both every pair of {part.name} and every output to resemble: "
                "leave out members or benchmarks, or leave out --like"
            )
        judged = part.preferred[:, there], part.other[:, there]
        weights = likeness_weights(judged, every_pair(like[there]))
        effective = effective_size(weights)
        mass[data.part == number] = weights * (effective / len(weights))
        used = [m.label for m, kept in zip(members, there, strict=True) if kept]
        record.append({"benchmark": part.name, "effective_pairs": effective, "members": used})
    return replace(data, mass=mass / mass.mean()), record


def _worth(
    data: _Data,
    members: Sequence[Member],
    weights: FloatArray,
    full: FloatArray,
    strength: float,
    runtime: Runtime,
) -> list[dict[str, Any]]:
    """Return each member's weight, its accuracy alone, and what the jury loses without it."""
    rows = []
    gaps = data.preferred - data.other
    for column in runtime.track(range(len(members)), "jury: leaving members out", len(members)):
        there = ~np.isnan(gaps[:, column])
        # A missing score is a gap of 0 here, which `there` leaves out.
        alone = pair_agreement(np.nan_to_num(gaps[:, [column]]), np.ones(1))
        row: dict[str, Any] = {
            "member": members[column].label,
            "weight": weights[column],
            "alone": data.mean(alone, there),
            "scored": int(there.sum()),
        }
        if len(members) > 1:
            less = _validate(data.without(column), strength)
            row |= {"without": data.mean(less), "worth": data.mean(full - less),
                    "worth_error": data.error(full - less)}  # fmt: skip
        rows.append(row)
    return rows


def _by_benchmark(
    data: _Data, parts: Sequence[TrainingPairs], right: FloatArray, strength: float
) -> list[dict[str, Any]]:
    """Return the accuracy by benchmark: cross-validated, and of a jury trained on the others."""
    rows = []
    for number, part in enumerate(parts):
        mine = data.part == number
        row = {"benchmark": part.name, "pairs": int(mine.sum()), "accuracy": data.mean(right, mine)}
        apart = np.flatnonzero(~mine & ~np.isin(data.source, data.source[mine]))
        if len(apart):
            fit = _fit(data, apart, strength)
            row["from_others"] = data.mean(pair_agreement(fit.gaps, fit.weights), mine)
        rows.append(row)
    return rows
