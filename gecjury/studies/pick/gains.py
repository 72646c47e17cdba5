"""Corpus scores of chosen corrections, compared with the best single system and a random pick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.registry import load_all
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.scoring.system_tests import mixed_scores
from gecjury.stats.bootstrap import draws_within, interval
from gecjury.studies.pick.choices import Choice

MEASURES = ("errant", "gleu")
"""The metrics by which the gain of choosing is measured."""

_RANDOM = 10  # random picks whose mean is shown
_PARTS = 6  # parts of the sentences; there are ten ways to combine them into halves


@dataclass(frozen=True)
class Gains:
    """Scores of every output, and gains over the best single system.

    Attributes:
        rows: one record per output: `output`, its `kind` (`picked`, `system`, `random` or
            `oracle`), its corpus score and gain by each measure, with the gain's bounds in `ci95`,
            and the `seconds` of choosing.
        best: by measure, the system with the highest score on all sentences.
        signatures: signatures of the measures.
    """

    rows: list[dict[str, Any]]
    best: dict[str, str]
    signatures: tuple[str, ...]


def gains_of(
    corpus: Corpus, choices: Sequence[Choice], resamples: int, seed: int, runtime: Runtime
) -> Gains:
    """Measure every output: those chosen, the systems, random picks and the best possible choice.

    A gain is the score minus that of the best single system, which is chosen for each half of the
    sentences by the other half. It is the mean over ten pairs of halves.

    Args:
        corpus: the candidates as systems, with references.
        choices: one per method.
        resamples: resamples of the bootstrap over sentences; the best system is chosen again in
            each of them.
        seed: seed of the bootstrap and of the random picks.
        runtime: device, workers and the like.
    """
    measures = load_all(MEASURES)
    lines = len(corpus)
    versions = [version.lines for version in corpus.systems.values()]
    # Random picks use a separate random stream, so that they do not depend on the resamples.
    rng = np.random.default_rng([seed, 1])
    drawn = rng.integers(len(versions), size=(_RANDOM, lines))
    alone = {f"system {name}": version for name, version in corpus.systems.items()}
    picked = {f"picked {place}": Version(c.lines) for place, c in enumerate(choices)}
    luck = {f"random {place}": _taken(versions, row) for place, row in enumerate(drawn)}
    # An oracle takes, for every sentence, the text with the highest sentence score of its measure.
    first = [
        one.score_corpus(replace(corpus, systems=alone), runtime).settled() for one in measures
    ]
    oracle = {
        f"oracle {one.name}": _taken(versions, table.sentences.argmax(axis=0))
        for one, table in zip(measures, first, strict=True)
    }
    every = replace(corpus, systems={**alone, **picked, **luck, **oracle}, groups=None)
    parts, draws = part_draws(lines, resamples, seed)
    # The rows of the tables for each output; the scores of several rows are averaged.
    members: list[tuple[str, str, list[str], float | None]] = [
        *((c.label, "picked", [name], c.seconds) for c, name in zip(choices, picked, strict=True)),
        *((name.removeprefix("system "), "system", [name], None) for name in alone),
        ("random pick", "random", list(luck), None),
        *((name, "oracle", [name], None) for name in oracle),
    ]
    # Keys are filled measure by measure, so that they have the order of the table.
    rows: list[dict[str, Any]] = [{"output": output, "kind": kind} for output, kind, *_ in members]
    bounds: list[dict[str, list[float]]] = [{} for _ in members]
    gains: list[dict[str, float]] = [{} for _ in members]
    best: dict[str, str] = {}
    for one, single in zip(measures, first, strict=True):
        best[one.name] = corpus.names[int(single.by_system.score.argmax())]
        table = one.score_corpus(every, runtime)
        resampled = one.corpus_scores(table.statistics, draws).score
        # The best single system is chosen again in each resample, as it would be in other data.
        baseline = best_elsewhere(one, table, len(versions), parts, draws)
        for row, (_, _, names, _) in enumerate(members):
            places = [table.systems.index(name) for name in names]
            apart = resampled[:, places].mean(axis=1) - baseline
            rows[row][one.name] = float(resampled[0, places].mean())
            gains[row][f"{one.name}_gain"] = float(apart[0])
            bounds[row][one.name] = list(interval(apart[1:])[0])
    for row, (_, _, _, seconds) in enumerate(members):
        rows[row] |= {**gains[row], "ci95": bounds[row], "seconds": seconds}
    return Gains(rows, best, tuple(str(one.signature(corpus, runtime)) for one in measures))


def part_draws(lines: int, resamples: int, seed: int) -> tuple[IntArray, IntArray]:
    """Divide the sentences into parts at random, and resample corpora within each part.

    Returns:
        The part of each sentence, shape (lines,); and (1 + B) × lines sentence indices: the corpus
        itself, then B resamples. A sentence drawn twice is never in two parts, so that the half
        that chooses a system never contains a sentence that the system is scored on.
    """
    rng = np.random.default_rng(seed)
    parts: IntArray = rng.permutation(lines) % min(_PARTS, lines)
    drawn = draws_within(parts, resamples, rng)
    return parts, np.concatenate([np.arange(lines)[None], drawn])


def best_elsewhere(
    measure: Scorer, table: ScoreTable, systems: int, parts: IntArray, draws: IntArray
) -> FloatArray:
    """Score the best single system, chosen for one half of the sentences by the other half.

    The highest of several scores is partly due to luck; the score of a system chosen by other
    sentences is not. The choice is made again in every resampled corpus. The score is the mean over
    all ways to combine the parts into halves.

    Args:
        measure: the metric that scores the systems.
        table: its scores; the candidate systems are the first rows.
        systems: number of candidates.
        parts: the part of each sentence.
        draws: B × N sentence indices, see `part_draws`.

    Returns:
        Corpus scores, shape (B,).
    """
    # Among systems with equal scores on a half, the one with the highest overall score is taken.
    order = np.argsort(-table.by_system.score[:systems], kind="stable")
    candidates = Statistics(table.statistics.values[order])
    count = int(parts.max()) + 1
    # A half and its complement give the same split, so only halves with part 0 are used.
    halves = [half for half in combinations(range(count), (count + 1) // 2) if 0 in half]
    totals = np.zeros(len(draws))
    for half in halves:
        inside = np.isin(parts, half)[draws]
        which = np.zeros(draws.shape, dtype=np.int64)
        for side in (inside, ~inside):
            judges = draws[~side].reshape(len(draws), -1)
            if not judges.shape[1]:
                judges = draws  # a single sentence has no others
            winner = order[measure.corpus_scores(candidates, judges).score.argmax(axis=1)]
            which = np.where(side, winner[:, None], which)
        totals += mixed_scores(measure, table, [range(systems)], which, draws)[:, 0]
    return totals / len(halves)


def _taken(versions: Sequence[Sequence[str]], which: IntArray) -> Version:
    """Return the version that takes each sentence from one of several."""
    return Version(tuple(versions[system][row] for row, system in enumerate(which)))
