"""Training a jury: human pairs of benchmarks, a pairwise logistic model, cross-validation.

Everything is chosen by cross-validation over sources: all pairs of one source, from any benchmark,
are in one fold, so that no figure comes from a sentence that was trained on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.table import View
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.leakage import sentence_key
from gecjury.jury.logistic import equal_weights, fit_preferences, folds_of, impute, pair_agreement
from gecjury.jury.metric import member_scores
from gecjury.jury.model import JuryModel, Member, TrainedMember, identity
from gecjury.report.tables import plain

STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
"""Strengths of the pull towards equal weights, from which one is chosen; 0 would be no pull."""


@dataclass(frozen=True)
class TrainingPairs:
    """Decided human pairs of one benchmark with the members' scores of both sides.

    Attributes:
        name: the benchmark.
        preferred: scores of the preferred corrections, pairs × members; NaN = no score.
        other: scores of the others.
        sources: for each pair the hash of its source, see `gecjury.corpus.leakage.sentence_key`.
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
    """Score a benchmark with every member, and collect people's decisions on its systems.

    Every two distinct corrections that an annotator ranked are one pair; ties are left out. A
    member that needs what the benchmark lacks (references, or a set of that name) has no scores
    there.

    Args:
        excluded: hashes of sources that must not be trained on.

    Raises:
        InputError: no decided pair is left.
    """
    corpus = benchmark.corpus
    pairs = expand_pairs(benchmark.rankings.get(view, ()), corpus.names, "unexpanded")
    keys = np.array([sentence_key(source) for source in corpus.sources])
    trainable = ~np.isin(keys, list(excluded))
    # A tie does not say which scores are better, and the loss uses nothing else.
    decided = pairs.preference != 0
    used = pairs.select(decided & trainable[pairs.sentence])
    if not len(used):
        raise InputError(
            f"{benchmark.name}: no decided pair of corrections is left to train on "
            f"({len(pairs)} pairs, {int((~decided).sum())} ties, "
            f"{int((decided & ~trainable[pairs.sentence]).sum())} on excluded sources)"
        )
    # The corpus is scored as a whole, not pair by pair: it has more pairs than sentences.
    scores, absent = scores_of(corpus, members, runtime)
    first, second = (scores[:, side, used.sentence].T for side in (used.first, used.second))
    # Every pair is stored with the better one first, so that training needs no labels.
    wins = (used.preference > 0)[:, None]
    judged = np.unique(pairs.sentence)
    record: dict[str, Any] = {
        "benchmark": benchmark.name,
        "human": view,
        "fingerprint": benchmark.fingerprint,
        "pairs": len(used),
        "sources": len(np.unique(used.sentence)),
        "ties": int((~decided & trainable[pairs.sentence]).sum()),
        "excluded_sources": int((~trainable[judged]).sum()),
        "excluded_pairs": int((decided & ~trainable[pairs.sentence]).sum()),
        "absent": absent,
    }
    if corpus.language.code != "en":
        record["language"] = corpus.language.code
    return TrainingPairs(
        benchmark.name,
        np.where(wins, first, second),
        np.where(wins, second, first),
        tuple(keys[used.sentence].tolist()),
        record,
    )


def scores_of(
    corpus: Corpus, members: Sequence[Member], runtime: Runtime
) -> tuple[FloatArray, dict[str, str]]:
    """Return the members' sentence scores, members × systems × sentences, and why one has none.

    Args:
        corpus: texts; no judgments are needed.
        members: the metrics; the row of one that cannot score the corpus is NaN.
    """
    scores = np.full((len(members), len(corpus.systems), len(corpus)), np.nan)
    absent: dict[str, str] = {}
    for row, member in enumerate(members):
        scorer = member.scorer()
        try:
            scorer.check(member.corpus(corpus))
        except InputError as error:
            absent[member.label] = str(error)
            continue
        scores[row] = member_scores(member, scorer, corpus, runtime).sentences
    return scores, absent


@dataclass(frozen=True)
class _Data:
    """All pairs of all benchmarks, side by side.

    `directed` says for each member whether higher is meant to be better, so that its weight must
    not be below 0.
    """

    preferred: FloatArray
    other: FloatArray
    source: IntArray
    fold: IntArray
    part: IntArray
    directed: BoolArray

    def without(self, member: int) -> _Data:
        """Return these pairs without one member."""
        kept = np.arange(len(self.directed)) != member
        return replace(
            self,
            preferred=self.preferred[:, kept],
            other=self.other[:, kept],
            directed=self.directed[kept],
        )

    def error(self, values: FloatArray) -> float:
        """Return the standard error of the mean, from the means of the folds."""
        means = [values[self.fold == fold].mean() for fold in np.unique(self.fold)]
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
    anchor = equal_weights(gaps[rows], data.directed)
    least = np.where(data.directed, 0.0, -np.inf)
    weights = fit_preferences(gaps[rows], strength, anchor, least=least)
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
    *,
    seed: int = 0,
    strengths: Sequence[float] = STRENGTHS,
    folds: int = 10,
) -> JuryModel:
    """Train a jury on the pairs of one or several benchmarks.

    The weights are pulled towards the best equal ones, by the strongest pull whose accuracy is
    below the best by no more than one standard error of the difference. The reason is that the
    preferences in one benchmark generalise less surely than the assumption that every member is
    useful.

    Args:
        parts: from `collect_pairs`.
        members: in the same order.
        seed: seed of the folds by which the pull is chosen.
        strengths: strengths of the pull to choose from.
        folds: number of folds of the cross-validation.

    Raises:
        InputError: too few sources, or a member that cannot score any of the benchmarks.
        OptionError: no members, or a member twice.
    """
    _check(parts, members)
    scorers = [member.scorer() for member in members]
    directed = np.array([scorer.directed for scorer in scorers])
    data, sources = _join(parts, folds, seed, directed)
    chosen, tried = _choose(data, strengths, runtime)
    # The folds have chosen the strength; the jury itself learns from every pair.
    final = _fit(data, np.arange(len(data.fold)), chosen)
    rows = _worth(data, members, final.weights, tried[chosen], chosen, runtime)
    record = {
        "benchmarks": [dict(part.record) for part in parts],
        "strength": chosen,
        "strengths": [
            {"strength": s, "accuracy": float(right.mean()), "error": data.error(right)}
            for s, right in tried.items()
        ],
        "equal_weight": final.anchor.max(),
        "folds": folds,
        "seed": seed,
        "pairs": len(data.fold),
        "sources": len(sources),
        "accuracy": tried[chosen].mean(),
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
    for strength in runtime.track(strengths, "jury: strengths", len(strengths)):
        tried[strength] = _validate(data, strength)
    # The one-standard-error rule (Breiman et al. 1984), on paired differences.
    best = max(tried.values(), key=lambda right: float(right.mean()))
    allowed = [
        strength
        for strength, right in tried.items()
        if (best - right).mean() <= data.error(best - right)
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
    parts: Sequence[TrainingPairs], folds: int, seed: int, directed: BoolArray
) -> tuple[_Data, list[str]]:
    # A source in two benchmarks is one source, in one fold.
    keys = np.concatenate([np.array(part.sources) for part in parts])
    sources, place = np.unique(keys, return_inverse=True)
    if len(sources) < folds:
        raise InputError(
            f"{len(sources)} sources cannot be split into {folds} folds; expected at least as many"
        )
    data = _Data(
        np.concatenate([part.preferred for part in parts]),
        np.concatenate([part.other for part in parts]),
        place.astype(np.int64),
        folds_of(place.astype(np.int64), folds, seed),
        np.repeat(np.arange(len(parts)), [len(part.sources) for part in parts]),
        directed,
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
            "alone": alone[there].mean(),
            "scored": int(there.sum()),
        }
        if len(members) > 1:
            less = _validate(data.without(column), strength)
            row |= {"without": less.mean(), "worth": (full - less).mean(),
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
        row = {"benchmark": part.name, "pairs": int(mine.sum()), "accuracy": right[mine].mean()}
        apart = np.flatnonzero(~mine & ~np.isin(data.source, data.source[mine]))
        if len(apart):
            fit = _fit(data, apart, strength)
            row["from_others"] = pair_agreement(fit.gaps, fit.weights)[mine].mean()
        rows.append(row)
    return rows
