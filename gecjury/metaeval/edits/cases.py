"""Edit-level meta-evaluation: the edits that annotators judged, their types, chance, ceiling.

The verdicts come with the benchmark (`gecjury.benchmarks.edit_verdicts`). Credit comes from a
scorer's own method `edit_scores` (`EditJudge`), from a metric's counts
(`gecjury.metaeval.edits.credit`) or by attribution (`gecjury.metaeval.edits.variants`);
`gecjury.metaeval.edits.measures` holds it against the verdicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.language import ENGLISH, Language
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase

__all__ = ["annotator_pairs", "baselines", "cases_print", "edit_cases", "edit_types"]


def edit_cases(benchmark: Benchmark) -> list[EditCase]:
    """The distinct edits that a benchmark's annotators judged, of the systems compared.

    An edit of the same correction that several annotators judged is one case. Verdicts name no
    system: those on a correction that none of the corpus' systems made are left out.

    Raises:
        DataError: the benchmark has no verdicts on edits.
    """
    verdicts, sources, _ = benchmark.verdicts()
    rows = {" ".join(s.split()): row for row, s in enumerate(benchmark.corpus.sources)}
    made = [
        {" ".join(version.lines[row].split()) for version in benchmark.corpus.systems.values()}
        for row in range(len(benchmark.corpus))
    ]
    contexts = {source.sentence: (source.before, source.after) for source in sources}
    judged: dict[tuple[str, str], dict[Edit, list[bool]]] = {}
    for verdict in verdicts:
        row = rows.get(verdict.sentence, -1)
        if row >= 0 and verdict.correction not in made[row]:
            continue
        edit = Edit(verdict.start, verdict.end, verdict.new)
        place = judged.setdefault((verdict.sentence, verdict.correction), {})
        place.setdefault(edit, []).append(verdict.valid)
    return [
        EditCase(
            rows.get(source, -1),
            source,
            contexts[source],
            edit,
            tuple(sorted(edits)),
            sum(votes) / len(votes),
            correction,
            benchmark.corpus.language,
        )
        for (source, correction), edits in judged.items()
        for edit, votes in edits.items()
    ]


def cases_print(cases: Sequence[EditCase]) -> str:
    """Fingerprint of the edits judged and of their corrections, verdicts left out."""
    return fingerprint(
        repr((case.row, case.source, case.context, case.edit, case.edits)) for case in cases
    )


def annotator_pairs(
    benchmark: Benchmark, cases: Sequence[EditCase]
) -> tuple[list[EditCase], FloatArray, IntArray]:
    """Edits that several annotators judged, one annotator as the truth and another as the score.

    Each pair of annotators stands in it both ways round, so that neither is the better one. An
    annotator who accepted and rejected the same edit of the same correction has no verdict.

    Args:
        benchmark: gives the verdicts.
        cases: from `edit_cases`.

    Returns:
        P cases with one annotator's verdict as `valid`; the other's verdicts (1 or 0), shape (P,);
        which of `cases` each is.
    """
    place = {(c.source, c.correction, c.edit): number for number, c in enumerate(cases)}
    votes: dict[int, dict[str, list[bool]]] = {}
    for verdict in benchmark.verdicts()[0]:
        edit = Edit(verdict.start, verdict.end, verdict.new)
        number = place.get((verdict.sentence, verdict.correction, edit), -1)
        if number < 0:  # Of a system that is not compared.
            continue
        by_annotator = votes.setdefault(number, {})
        by_annotator.setdefault(verdict.annotator, []).append(verdict.valid)
    pairs: list[tuple[int, float, float]] = []
    for number, by_annotator in votes.items():
        shares = [sum(given) / len(given) for given in by_annotator.values()]
        clear = [float(round(share)) for share in shares if share != 0.5]
        pairs += [(number, truth, score) for truth, score in permutations(clear, 2)]
    return (
        [replace(cases[number], valid=truth) for number, truth, _ in pairs],
        np.array([score for _, _, score in pairs]),
        np.array([number for number, _, _ in pairs], dtype=np.int64),
    )


def edit_types(
    cases: Sequence[EditCase], runtime: Runtime, language: Language = ENGLISH
) -> tuple[str, ...]:
    """The type of each judged edit; empty where extraction cuts the correction otherwise.

    Types are ERRANT's for English, for others those of the language's tagger.

    Raises:
        MissingExtraError: spaCy or errant is not installed.
    """
    from gecjury.extraction.extract import extract

    pairs = list(dict.fromkeys((case.source, case.edits) for case in cases))
    texts = [" ".join(apply_edits(source.split(), edits)) for source, edits in pairs]
    sources = [source for source, _ in pairs]
    (found,) = extract(sources, [texts], language.tagger, runtime=runtime).edits
    types = {
        (source, edits, (edit.start, edit.end, edit.correction)): edit.type
        for (source, edits), made in zip(pairs, found, strict=True)
        for edit in made
    }
    return tuple(
        types.get((c.source, c.edits, (c.edit.start, c.edit.end, c.edit.correction)), "")
        for c in cases
    )


def baselines(cases: Sequence[EditCase], types: Sequence[str], seed: int) -> dict[str, FloatArray]:
    """Scores that know nothing of an edit, or nothing but its type or how many made it.

    `constant`; `random`; `frequent-type` (how many judged edits have the type), where types are
    known; `same-edit` (share of the source's judged corrections that hold the edit).

    Returns:
        By name an array of shape (cases,).
    """
    found = {
        "constant": np.zeros(len(cases)),
        "random": np.random.default_rng([seed, 2]).random(len(cases)),
    }
    if types:
        count = Counter(types)
        found["frequent-type"] = np.array([float(count[kind]) for kind in types])
    corrections: defaultdict[str, set[tuple[Edit, ...]]] = defaultdict(set)
    for case in cases:
        corrections[case.source].add(case.edits)
    made = Counter((case.source, case.edit) for case in cases)
    found["same-edit"] = np.array(
        [made[case.source, case.edit] / len(corrections[case.source]) for case in cases]
    )
    return found
