"""What metrics over edits give a single judged edit, by their own counts: 1 for a hit.

Every function takes a scorer, the judged edits, the benchmark's corpus (references, gold edits,
other systems) and a runtime, and returns `EditCounts`: the credit under each reference, and under
the one that the metric would take for the correction the edit belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.chunks import partition
from gecjury.refbased.cleme.counts import judge as judge_chunks
from gecjury.refbased.cleme.metric import CLEME
from gecjury.refbased.errant import ERRANT, edit_keys
from gecjury.refbased.gotoscorer.metric import GoToScorer
from gecjury.refbased.gotoscorer.weights import Weights, chunk_sequence, judge, verdicts
from gecjury.refbased.m2.maxmatch import match
from gecjury.refbased.m2.metric import M2, gold_edits
from gecjury.refbased.m2.paths import GoldEdit
from gecjury.refbased.references import best_f, choose_best
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase, EditCounts
from gecjury.scoring.scorer import Scorer

__all__ = [
    "chosen_credit",
    "credit_cleme",
    "credit_errant",
    "credit_gotoscorer",
    "credit_m2",
    "distinct_corrections",
    "reference_edits",
]

Correction = tuple[int, tuple[Edit, ...]]
"""Row of the source and all edits: what a case belongs to."""


def reference_edits(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> list[list[list[Edit]]]:
    """The edits of every reference, R × N, without `noop`."""
    from gecjury.extraction.extract import corpus_edits

    tagger, pos = scorer.settings()["tagger"], scorer.settings()["pos"]
    found = corpus_edits(corpus.with_systems([]), str(tagger), str(pos), runtime)
    return [
        [[edit for edit in line if edit.type != "noop"] for line in lines]
        for lines in found.references
    ]


def distinct_corrections(cases: Sequence[EditCase]) -> tuple[list[Correction], IntArray]:
    """The corrections that cases belong to, and which of them each case belongs to."""
    numbers: dict[Correction, int] = {}
    place = [numbers.setdefault((case.row, case.edits), len(numbers)) for case in cases]
    return list(numbers), np.array(place, dtype=np.int64)


def chosen_credit(by_reference: FloatArray, best: IntArray) -> FloatArray:
    """Credit under the reference chosen for each case."""
    chosen: FloatArray = np.take_along_axis(by_reference, best[:, None], axis=1)[:, 0]
    return chosen


def credit_errant(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """1 where the reference has the edit (or, in `mode=token`, the share of its tokens)."""
    errant = cast(ERRANT, scorer)
    references = [
        [edit_keys(line, errant.mode) for line in lines]
        for lines in reference_edits(errant, corpus, runtime)
    ]
    corrections, place = distinct_corrections(cases)
    counts = np.zeros((len(corrections), len(references), 3))
    for number, (row, edits) in enumerate(corrections):
        mine = edit_keys(edits, errant.mode)
        for index, lines in enumerate(references):
            hits = len(mine.keys() & lines[row].keys())
            counts[number, index] = hits, len(mine) - hits, len(lines[row]) - hits
    credit = np.zeros((len(cases), len(references)))
    for number, case in enumerate(cases):
        keys = edit_keys([case.edit], errant.mode)
        for index, lines in enumerate(references):
            credit[number, index] = np.mean([key in lines[case.row] for key in keys])
    rule = best_f(errant.beta, 4 if errant.compat == "official" else None)
    best = choose_best(rule(counts, counts), np.ones(counts.shape[:2], dtype=bool))
    return EditCounts(chosen_credit(credit, best[place]), credit)


def credit_m2(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """1 where the edit, alone or with others of its correction, is a gold edit.

    Where the edit spans several smaller ones, the share of them that MaxMatch finds in the gold.
    """
    m2 = cast(M2, scorer)
    golds = [gold_edits(block) for block in corpus.gold or ()]
    tokens = [source.split() for source in corpus.sources]
    width = max(map(len, golds))
    corrections, place = distinct_corrections(cases)
    counts = np.full((len(corrections), width, 3), np.nan)
    for number, (row, edits) in enumerate(corrections):
        made = apply_edits(tokens[row], edits)
        counts[number, : len(golds[row])] = match(tokens[row], made, golds[row], m2.unchanged)
    alone: dict[tuple[int, Edit], FloatArray] = {}
    credit = np.full((len(cases), width), np.nan)
    for number, case in enumerate(cases):
        gold = golds[case.row]
        if (case.row, case.edit) not in alone:
            made = apply_edits(tokens[case.row], [case.edit])
            found = match(tokens[case.row], made, gold, m2.unchanged)
            shares = [c.correct / c.proposed if c.proposed else 0.0 for c in found]
            alone[case.row, case.edit] = np.array(shares)
        joint = [_joins(tokens[case.row], case, some) for some in gold]
        credit[number, : len(gold)] = np.maximum(alone[case.row, case.edit], joint)
    return EditCounts(chosen_credit(credit, m2.best_annotators(counts)[place]), credit)


def _joins(source: Sequence[str], case: EditCase, golds: Sequence[GoldEdit]) -> float:
    """1 if the edit and others of its correction together make a gold edit."""
    edit = case.edit
    for gold in golds:
        if not gold.start <= edit.start <= edit.end <= gold.end:
            continue
        inside = [e for e in case.edits if gold.start <= e.start and e.end <= gold.end]
        # An insertion at an end of the gold edit may belong to it or stand beside it.
        for first in (inside, [e for e in inside if (e.start, e.end) != (gold.start, gold.start)]):
            for some in (first, [e for e in first if (e.start, e.end) != (gold.end, gold.end)]):
                moved = [Edit(e.start - gold.start, e.end - gold.start, e.correction) for e in some]
                text = " ".join(apply_edits(source[gold.start : gold.end], moved))
                if edit in some and text in gold.corrections:
                    return 1.0
    return 0.0


def credit_cleme(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """1 where the chunk that the edit lies in is a hit.

    Judged independently, a chunk is a hit if any reference has it.
    """
    cleme = cast(CLEME, scorer)
    references = reference_edits(cleme, corpus, runtime)
    corrections, place = distinct_corrections(cases)
    tokens = [corpus.sources[row].split() for row, _ in corrections]
    theirs = [[lines[row] for row, _ in corrections] for lines in references]
    judged = judge_chunks(tokens, [edits for _, edits in corrections], theirs)
    credit = np.full((len(cases), len(references)), np.nan)
    parts = [
        partition(tokens[n], [edits, *(lines[n] for k, lines in enumerate(theirs) if usable[k])])
        for n, ((_, edits), usable) in enumerate(zip(corrections, judged.usable, strict=True))
    ]
    for number, case in enumerate(cases):
        cut, usable = parts[place[number]], judged.usable[place[number]]
        mine = cut.texts[0]
        at = next(
            (
                chunk
                for chunk, (start, end) in enumerate(cut.spans)
                if mine[chunk] is not None and start <= case.edit.start and case.edit.end <= end
            ),
            None,
        )
        hits = [at is not None and text[at] == mine[at] for text in cut.texts[1:]]
        credit[number, usable] = hits
    if cleme.assumption == "independent":
        return EditCounts(np.nanmax(credit, axis=1), credit)
    return EditCounts(chosen_credit(credit, cleme.best_references(judged)[place]), credit)


def credit_gotoscorer(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """Weight of the chunks that the edit changes, negative where it gets them wrong.

    Weights are those of the benchmark's systems, or of the weights file.
    """
    goto = cast(GoToScorer, scorer)
    edits = goto.edits(corpus, runtime)
    reference = edits.references[goto.reference]
    sources = [source.split() for source in corpus.sources]
    judged = judge(sources, reference, list(edits.systems.values()))
    weights = judged.weights() if goto.weights is None else Weights.load(Path(goto.weights))
    judged.counts(weights)  # refuses weights of other data
    credit = np.zeros((len(cases), 1))
    for number, case in enumerate(cases):
        source = sources[case.row]
        chunks = chunk_sequence(source, reference[case.row])
        before, after = verdicts(source, chunks, []), verdicts(source, chunks, [case.edit])
        for chunk, (was, now) in enumerate(zip(before, after, strict=True)):
            if now != was:
                weight = 1 - weights.correct[case.row][chunk] / weights.systems
                credit[number, 0] += weight if now == 0 else -weight
    return EditCounts(credit[:, 0], credit)
