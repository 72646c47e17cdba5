"""What metrics that weigh or align edits by a neural model give a single judged edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.refbased.editcredit import chosen_credit, distinct_corrections, reference_edits
from gecjury.refbased.pt_errant import PTERRANT
from gecjury.refbased.references import best_f, choose_best
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.refbased.uot_errant.vectors import EditSet
from gecjury.refbased.weighing.edit_weights import EditWeights
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import EditCase, EditCounts
from gecjury.scoring.scorer import Scorer

__all__ = ["credit_pt_errant", "credit_uot"]


def credit_pt_errant(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """The edit's weight where the reference has it, minus its weight where it has not."""
    pt = cast(PTERRANT, scorer)
    references = [[_keys(line) for line in lines] for lines in reference_edits(pt, corpus, runtime)]
    corrections, place = distinct_corrections(cases)
    mine = [_keys(edits) for _, edits in corrections]
    weights = EditWeights(corpus.sources, [version.lines for version in corpus.references])
    for (row, _), keys in zip(corrections, mine, strict=True):
        for index, lines in enumerate(references):
            weights.want(row, index, {**keys, **lines[row]})
    notes = weights.compute(pt.weight_model, runtime)
    counts = np.zeros((len(corrections), len(references), 3))
    for number, ((row, _), keys) in enumerate(zip(corrections, mine, strict=True)):
        for index, lines in enumerate(references):
            weight = weights.of(row, index)
            for key in keys:
                counts[number, index, 0 if key in lines[row] else 1] += weight[key]
            missed = lines[row].keys() - keys.keys()
            counts[number, index, 2] = sum(weight[key] for key in missed)
    credit = np.zeros((len(cases), len(references)))
    for number, case in enumerate(cases):
        key = (case.edit.start, case.edit.end, case.edit.correction)
        for index, lines in enumerate(references):
            sign = 1.0 if key in lines[case.row] else -1.0
            credit[number, index] = sign * weights.of(case.row, index)[key]
    rule = best_f(pt.beta)
    best = choose_best(rule(counts, counts), np.ones(counts.shape[:2], dtype=bool))
    return EditCounts(chosen_credit(credit, best[place]), credit, tuple(notes))


def credit_uot(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> EditCounts:
    """Share of the edit's mass that is transported; 0 for an edit without mass."""
    uot = cast(UOTERRANT, scorer)
    references = reference_edits(uot, corpus, runtime)
    corrections, place = distinct_corrections(cases)
    texts = [" ".join(source.split()) for source in corpus.sources]
    pairs = [
        (EditSet(texts[row], edits), EditSet(texts[row], _kept(lines[row])))
        for row, edits in corrections
        for lines in references
    ]
    aligned = uot.align(pairs, runtime)
    counts = np.array([found.counts for found in aligned])
    counts = counts.reshape(len(corrections), len(references), 3)
    credit = np.full((len(cases), len(references)), np.nan)
    massless = 0
    for number, case in enumerate(cases):
        at = case.edits.index(case.edit)
        first = int(place[number]) * len(references)
        massless += aligned[first].a[at] == 0
        for index, found in enumerate(aligned[first : first + len(references)]):
            if found.plan is not None:
                sent, mass = float(found.plan[at].sum()), float(found.a[at])
                credit[number, index] = sent / mass if mass > 0 else 0.0
    usable = ~np.isnan(counts[..., 0])
    filled = np.nan_to_num(counts)
    best = choose_best(uot.rule(filled, filled), usable)
    note = f"{uot.name}: {massless} judged edits have no mass and so no credit"
    return EditCounts(chosen_credit(credit, best[place]), credit, (note,) if massless else ())


def _keys(edits: Sequence[Edit]) -> dict[tuple[int, int, str], None]:
    """What is compared of edits."""
    return {(edit.start, edit.end, edit.correction): None for edit in _kept(edits)}


def _kept(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    return tuple(edit for edit in edits if edit.type != "UNK")
