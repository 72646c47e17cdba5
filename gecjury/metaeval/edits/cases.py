"""Edit-level meta-evaluation: the edits that annotators judged, chance, ceiling.

The verdicts come with the benchmark (`gecjury.benchmarks.edit_verdicts`), the credits from
`gecjury.metaeval.edits.credit`; `gecjury.metaeval.edits.measures` compares the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.edit_verdicts import HumanVerdict
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.corpus.edits import Edit
from gecjury.scoring.abilities import EditCase


def _placed_verdicts(benchmark: Benchmark) -> list[tuple[int, HumanVerdict]]:
    """Return each verdict on a correction of a system compared, with its row of the corpus.

    A source may occur in the corpus twice. A verdict that gives only the text of its source then
    belongs to the first row at which a system made its correction. The row is -1 if the source is
    not in the corpus.

    Raises:
        DataError: the benchmark has no verdicts on edits.
    """
    corpus = benchmark.corpus
    rows: defaultdict[str, list[int]] = defaultdict(list)
    for row, source in enumerate(corpus.sources):
        rows[" ".join(source.split())].append(row)
    corrections = [
        {" ".join(version.lines[row].split()) for version in corpus.systems.values()}
        for row in range(len(corpus))
    ]
    placed = []
    for verdict in benchmark.verdicts()[0]:
        # A verdict that gives a row needs no search; −1 is a source outside the corpus.
        possible = rows.get(verdict.sentence, [-1]) if verdict.row < 0 else [verdict.row]
        fitting = [row for row in possible if row < 0 or verdict.correction in corrections[row]]
        if fitting:
            placed.append((fitting[0], verdict))
    return placed


def edit_cases(benchmark: Benchmark) -> list[EditCase]:
    """Return the distinct edits that a benchmark's annotators judged, of the systems compared.

    An edit that several annotators judged in the same correction of the same source is one case; in
    the same source at another row of the corpus it is another case. Verdicts name no system: those
    on a correction that none of the corpus' systems made are left out (`unused_verdicts` counts
    them).

    Raises:
        DataError: the benchmark has no verdicts on edits.
    """
    contexts = {(s.row, s.sentence): (s.before, s.after) for s in benchmark.verdicts()[1]}
    judged: dict[tuple[int, str, str], dict[Edit, list[bool]]] = {}
    context_of: dict[tuple[int, str], tuple[str, str]] = {}
    for row, verdict in _placed_verdicts(benchmark):
        context_of[row, verdict.sentence] = contexts[verdict.row, verdict.sentence]
        edit = Edit(verdict.start, verdict.end, verdict.new)
        votes = judged.setdefault((row, verdict.sentence, verdict.correction), {})
        votes.setdefault(edit, []).append(verdict.valid)
    return [
        EditCase(
            row,
            source,
            context_of[row, source],
            edit,
            tuple(sorted(edits)),
            sum(votes) / len(votes),
            correction,
            benchmark.corpus.language,
        )
        for (row, source, correction), edits in judged.items()
        for edit, votes in edits.items()
    ]


def unused_verdicts(benchmark: Benchmark) -> tuple[str, ...]:
    """Return notes on annotators' verdicts that are in no case, each with its count."""
    verdicts, _, unread = benchmark.verdicts()
    reasons = Counter(reason for _, reason in unread)
    others = len(verdicts) - len(_placed_verdicts(benchmark))
    if others:
        reasons["verdicts on corrections that none of the systems compared made: left out"] = others
    return tuple(f"{reason}: {count}" for reason, count in reasons.items())


def annotator_pairs(
    benchmark: Benchmark, cases: Sequence[EditCase]
) -> tuple[list[EditCase], FloatArray, IntArray]:
    """Return edits of several annotators: one annotator is the truth, another the score.

    Each pair of annotators is used in both directions, so that neither is treated as the better
    one. An annotator who accepted and rejected the same edit of the same correction equally often
    has no verdict.

    Args:
        benchmark: gives the verdicts.
        cases: the result of `edit_cases`.

    Returns:
        P cases with one annotator's verdict as `valid`; the other's verdicts (1 or 0), shape (P,);
        the number of each among `cases`.
    """
    place = {(c.row, c.source, c.correction, c.edit): number for number, c in enumerate(cases)}
    votes: dict[int, dict[str, list[bool]]] = {}
    for row, verdict in _placed_verdicts(benchmark):
        edit = Edit(verdict.start, verdict.end, verdict.new)
        number = place[row, verdict.sentence, verdict.correction, edit]
        by_annotator = votes.setdefault(number, {})
        by_annotator.setdefault(verdict.annotator, []).append(verdict.valid)
    pairs: list[tuple[int, float, float]] = []
    for number, by_annotator in votes.items():
        shares = [sum(verdicts) / len(verdicts) for verdicts in by_annotator.values()]
        # A share of one half means that the annotator's own verdicts contradict each other.
        clear = [float(round(share)) for share in shares if share != 0.5]
        pairs += [(number, truth, score) for truth, score in permutations(clear, 2)]
    return (
        [replace(cases[number], valid=truth) for number, truth, _ in pairs],
        np.array([score for _, _, score in pairs]),
        np.array([number for number, _, _ in pairs], dtype=np.int64),
    )


def baselines(cases: Sequence[EditCase], seed: int) -> dict[str, FloatArray]:
    """Return scores from chance, or from an edit's frequency alone.

    These are `constant`; `random`; `same-edit` (share of the source's judged corrections that
    contain the edit).

    Returns:
        Arrays of shape (cases,) by name.
    """
    scores = {
        "constant": np.zeros(len(cases)),
        "random": np.random.default_rng([seed, 2]).random(len(cases)),
    }
    corrections: defaultdict[tuple[int, str], set[tuple[Edit, ...]]] = defaultdict(set)
    for case in cases:
        corrections[case.row, case.source].add(case.edits)
    made = Counter((case.row, case.source, case.edit) for case in cases)
    scores["same-edit"] = np.array(
        [
            made[case.row, case.source, case.edit] / len(corrections[case.row, case.source])
            for case in cases
        ]
    )
    return scores
