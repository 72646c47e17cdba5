"""Training a jury: human pairs of benchmarks, a pairwise logistic model, cross-validation.

Everything is chosen by cross-validation over sources: all pairs of one source, from whatever
benchmark, are in one fold, so that no figure comes from a sentence that was trained on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gecjury.benchmarks import Benchmark, View
from gecjury.corpus import Corpus
from gecjury.errors import InputError, OptionError
from gecjury.judgments import JudgmentPairs, expand_pairs
from gecjury.jury import member_scores
from gecjury.jurymodel import JuryModel, Member, identity
from gecjury.leakage import sentence_key
from gecjury.logistic import agreement, equal_weights, fit_preferences, folds_of, impute
from gecjury.runtime import Runtime
from gecjury.scoretable import FloatArray, IntArray

__all__ = ["STRENGTHS", "TrainingPairs", "collect_pairs", "train_jury"]

STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""What the pull towards equal weights is chosen from; 0 would be none."""


@dataclass(frozen=True)
class TrainingPairs:
    """Decided human pairs of one benchmark with the members' scores of both sides.

    Attributes:
        name: the benchmark.
        preferred: scores of the preferred corrections, pairs × members; NaN = no score.
        other: scores of the others.
        sources: for each pair the hash of its source, see `gecjury.leakage.sentence_key`.
        record: counts, as JSON values.
    """

    name: str
    preferred: FloatArray
    other: FloatArray
    sources: tuple[str, ...]
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gaps(self) -> FloatArray:
        """Preferred minus other, pairs × members."""
        return self.preferred - self.other


def collect_pairs(
    benchmark: Benchmark,
    members: Sequence[Member],
    view: View,
    excluded: Collection[str],
    runtime: Runtime,
) -> TrainingPairs:
    """Score a benchmark by every member and take what people decided of its systems.

    Each two distinct corrections that an annotator ranked are one pair; ties are left out. A
    member for which the benchmark has nothing to read (no references, no set of that name) has
    no scores there.

    Args:
        benchmark: corpus and judgments.
        members: the metrics.
        view: which judgments.
        excluded: hashes of sources that must not be trained on.
        runtime: device, workers, folder of score files.

    Raises:
        InputError: no decided pair is left.
    """
    corpus = benchmark.corpus
    pairs = expand_pairs(benchmark.rankings.get(view, ()), corpus.names, "unexpanded")
    keys = np.array([sentence_key(source) for source in corpus.sources])
    kept = ~np.isin(keys, list(excluded))
    decided = pairs.preference != 0
    used = pairs.select(decided & kept[pairs.sentence])
    if not len(used):
        raise InputError(
            f"{benchmark.name}: no decided pair of corrections is left to train on "
            f"({len(pairs)} pairs, {int((~decided).sum())} ties, "
            f"{int((decided & ~kept[pairs.sentence]).sum())} on excluded sources)"
        )
    first, second, absent = _sides(corpus, used, members, runtime)
    wins = (used.preference > 0)[:, None]
    judged = np.unique(pairs.sentence)
    record = {
        "benchmark": benchmark.name,
        "human": view,
        "fingerprint": benchmark.fingerprint,
        "pairs": len(used),
        "sources": len(np.unique(used.sentence)),
        "ties": int((~decided & kept[pairs.sentence]).sum()),
        "excluded_sources": int((~kept[judged]).sum()),
        "excluded_pairs": int((decided & ~kept[pairs.sentence]).sum()),
        "absent": absent,
    }
    return TrainingPairs(
        benchmark.name,
        np.where(wins, first, second),
        np.where(wins, second, first),
        tuple(keys[used.sentence].tolist()),
        record,
    )


def _sides(
    corpus: Corpus, used: JudgmentPairs, members: Sequence[Member], runtime: Runtime
) -> tuple[FloatArray, FloatArray, dict[str, str]]:
    """The members' scores of both sides of every pair, and why a member has none."""
    first, second = np.empty((2, len(used), len(members)))
    absent: dict[str, str] = {}
    for column, member in enumerate(members):
        scorer = member.scorer()
        try:
            scorer.check(member.corpus(corpus))
        except InputError as error:
            absent[member.label] = str(error)
            first[:, column] = second[:, column] = np.nan
            continue
        table = member_scores(member, scorer, corpus, runtime).sentences
        first[:, column] = table[used.first, used.sentence]
        second[:, column] = table[used.second, used.sentence]
    return first, second, absent


@dataclass(frozen=True)
class _Data:
    """All pairs of all benchmarks, side by side; `least` is the least weight allowed."""

    preferred: FloatArray
    other: FloatArray
    source: IntArray
    fold: IntArray
    part: IntArray
    least: float | None

    def without(self, member: int) -> _Data:
        """The same pairs without one member."""
        preferred, other = (np.delete(a, member, axis=1) for a in (self.preferred, self.other))
        return replace(self, preferred=preferred, other=other)


@dataclass(frozen=True)
class _Fit:
    center: FloatArray
    scale: FloatArray
    weights: FloatArray
    anchor: FloatArray
    gaps: FloatArray


def _standard(data: _Data, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each member's scores in some pairs; 1 for a constant."""
    both = np.concatenate([data.preferred[rows], data.other[rows]])
    known = ~np.isnan(both)
    count = np.maximum(known.sum(axis=0), 1)
    center = np.where(known, both, 0.0).sum(axis=0) / count
    scale = np.sqrt((np.where(known, both - center, 0.0) ** 2).sum(axis=0) / count)
    return center, np.where(scale > 1e-12, scale, 1.0)


def _fit(data: _Data, rows: IntArray, strength: float) -> _Fit:
    """A jury from some pairs; its gaps are those of all pairs, filled from what `rows` tells."""
    center, scale = _standard(data, rows)
    raw = (data.preferred - data.other) / scale
    gaps = impute(raw, raw[rows]) if np.isnan(raw).any() else raw
    anchor = equal_weights(gaps[rows])
    weights = fit_preferences(gaps[rows], strength, anchor, least=data.least)
    return _Fit(center, scale, weights, anchor, gaps)


def _validate(data: _Data, strength: float) -> FloatArray:
    """For each pair whether a jury trained on the other folds agrees: 1, 0.5 or 0."""
    right = np.empty(len(data.fold))
    for fold in np.unique(data.fold):
        test = data.fold == fold
        fit = _fit(data, np.flatnonzero(~test), strength)
        right[test] = agreement(fit.gaps[test], fit.weights)
    return right


def _fold_error(right: FloatArray, fold: IntArray) -> float:
    """Standard error of the mean over folds."""
    means = [right[fold == one].mean() for one in np.unique(fold)]
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))


def train_jury(
    parts: Sequence[TrainingPairs],
    members: Sequence[Member],
    runtime: Runtime,
    *,
    strengths: Sequence[float] = STRENGTHS,
    signed: bool = False,
    folds: int = 10,
    seed: int = 0,
) -> JuryModel:
    """Train a jury on the pairs of one or several benchmarks.

    The weights are pulled towards the best equal ones, by the strongest pull whose accuracy is
    below the best by no more than one standard error of the difference: what people of one
    benchmark prefer is less certain to hold elsewhere than that every member means well.

    Args:
        parts: from `collect_pairs`.
        members: in the same order.
        runtime: for the members' identities and progress.
        strengths: pulls to choose from.
        signed: whether a weight may be below 0, so that a better score of a member counts
            against a correction.
        folds: of the cross-validation.
        seed: of the folds.

    Raises:
        InputError: too few sources, or a member that none of the benchmarks lets score.
        OptionError: no members, a member twice, or an unusable strength.
    """
    _check(parts, members, strengths)
    data, sources = _join(parts, folds, seed, None if signed else 0.0)
    chosen, tried = _choose(data, strengths, runtime)
    final = _fit(data, np.arange(len(data.fold)), chosen)
    rows = _worth(data, members, final.weights, tried[chosen], chosen, runtime)
    record = {
        "benchmarks": [dict(part.record) for part in parts],
        "strength": chosen,
        "strengths": [
            {"strength": s, "accuracy": right.mean(), "error": _fold_error(right, data.fold)}
            for s, right in tried.items()
        ],
        "equal_weight": final.anchor[0],
        "signed": signed,
        "folds": folds,
        "seed": seed,
        "pairs": len(data.fold),
        "sources": len(sources),
        "accuracy": tried[chosen].mean(),
        "error": _fold_error(tried[chosen], data.fold),
        "by_benchmark": _by_benchmark(data, parts, tried[chosen], chosen),
        "members": rows,
    }
    scorers = [member.scorer() for member in members]
    return JuryModel(
        tuple(members),
        tuple(final.center.tolist()),
        tuple(final.scale.tolist()),
        tuple(final.weights.tolist()),
        tuple(identity(s, s.extra_signature(runtime)) for s in scorers),
        frozenset(sources),
        _plain(record),
    )


def _choose(
    data: _Data, strengths: Sequence[float], runtime: Runtime
) -> tuple[float, dict[float, FloatArray]]:
    """The strongest pull that costs no more than a standard error, and what every pull gives."""
    tried = {}
    for strength in runtime.track(sorted(strengths), "jury: strengths", len(strengths)):
        tried[strength] = _validate(data, strength)
    best = max(tried.values(), key=lambda right: float(right.mean()))
    allowed = [
        strength
        for strength, right in tried.items()
        if (best - right).mean() <= _fold_error(best - right, data.fold)
    ]
    return max(allowed), tried


def _check(
    parts: Sequence[TrainingPairs], members: Sequence[Member], strengths: Sequence[float]
) -> None:
    if not members:
        raise OptionError("a jury needs members: name metrics with -m")
    labels = [member.label for member in members]
    for label in labels:
        if labels.count(label) > 1:
            raise OptionError(f"{label} is named twice: name every member once")
    if not strengths or min(strengths) <= 0:
        raise OptionError(f"strengths {list(strengths)}: expected numbers above 0")
    for column, label in enumerate(labels):
        if all(np.isnan(part.gaps[:, column]).all() for part in parts):
            why = "; ".join(
                f"{part.name}: {part.record.get('absent', {}).get(label, 'no score')}"
                for part in parts
            )
            raise InputError(f"jury member {label} scores none of the benchmarks ({why})")


def _join(
    parts: Sequence[TrainingPairs], folds: int, seed: int, least: float | None
) -> tuple[_Data, list[str]]:
    keys = np.concatenate([np.array(part.sources) for part in parts])
    sources, place = np.unique(keys, return_inverse=True)
    if not 2 <= folds <= len(sources):
        raise InputError(
            f"{len(sources)} sources do not make {folds} folds; expected 2 or more folds and as "
            "many sources at least"
        )
    data = _Data(
        np.concatenate([part.preferred for part in parts]),
        np.concatenate([part.other for part in parts]),
        place.astype(np.int64),
        folds_of(place.astype(np.int64), folds, seed),
        np.repeat(np.arange(len(parts)), [len(part.sources) for part in parts]),
        least,
    )
    return data, [str(source) for source in sources]


def _worth(
    data: _Data,
    members: Sequence[Member],
    weights: FloatArray,
    full: FloatArray,
    strength: float,
    runtime: Runtime,
) -> list[dict[str, Any]]:
    """Each member's weight, its accuracy alone, and what the jury loses without it."""
    rows = []
    gaps = data.preferred - data.other
    for column in runtime.track(range(len(members)), "jury: leaving members out", len(members)):
        there = ~np.isnan(gaps[:, column])
        alone = agreement(gaps[there][:, [column]], np.ones(1))
        row: dict[str, Any] = {
            "member": members[column].label,
            "weight": weights[column],
            "alone": alone.mean(),
            "scored": int(there.sum()),
        }
        if len(members) > 1:
            less = _validate(data.without(column), strength)
            row |= {"without": less.mean(), "worth": (full - less).mean(),
                    "worth_error": _fold_error(full - less, data.fold)}  # fmt: skip
        rows.append(row)
    return rows


def _by_benchmark(
    data: _Data, parts: Sequence[TrainingPairs], right: FloatArray, strength: float
) -> list[dict[str, Any]]:
    """Cross-validated accuracy by benchmark, and of a jury trained on the other ones alone."""
    rows = []
    for number, part in enumerate(parts):
        mine = data.part == number
        row = {"benchmark": part.name, "pairs": int(mine.sum()), "accuracy": right[mine].mean()}
        apart = np.flatnonzero(~mine & ~np.isin(data.source, data.source[mine]))
        if len(apart):
            fit = _fit(data, apart, strength)
            row["from_others"] = agreement(fit.gaps[mine], fit.weights).mean()
        rows.append(row)
    return rows


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's, NaN as None."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and np.isnan(value) else value
