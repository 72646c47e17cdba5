"""How reference-based metrics judged one hypothesis: alignments, and hit, wrong, under, over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.chunks import partition
from gecjury.refbased.uot_errant.metric import UOTERRANT, Alignment, credit
from gecjury.refbased.uot_errant.vectors import EditSet
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import Explanation, HeatMap, edit_label
from gecjury.scoring.scorer import Scorer

__all__ = ["explain_cleme", "explain_errant", "explain_uot"]

Edits = tuple[Edit, ...]


def explain_uot(
    scorer: Scorer, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
) -> Explanation:
    """The transport plan: what each edit's mass was, where it went, and what was left."""
    uot = cast(UOTERRANT, scorer)
    text = " ".join(source.split())
    pair = (EditSet(text, _real(hypothesis)), EditSet(text, _real(reference)))
    (found,) = uot.align([pair], runtime)
    plan = np.full(found.cost.shape, np.nan) if found.plan is None else found.plan
    p, r, f = (float(x) for x in credit(np.array(found.counts), uot.beta))
    tp, fp, fn = found.counts
    scores = {"score": f, "precision": p, "recall": r, "tp": tp, "fp": fp, "fn": fn}
    rows = [
        *_side(source, "hypothesis", found.hypothesis, found.a, plan, found.reference, "sent"),
        *_side(source, "reference", found.reference, found.b, plan.T, found.hypothesis, "received"),
    ]
    heat_map = HeatMap(
        "Transport plan: mass moved from hypothesis edits (rows) to reference edits (columns)",
        tuple(f"{edit_label(e)} ({m:.3f})" for e, m in zip(found.hypothesis, found.a, strict=True)),
        tuple(f"{edit_label(e)} ({m:.3f})" for e, m in zip(found.reference, found.b, strict=True)),
        plan,
    )
    return Explanation(
        scores,
        ("side", "edit", "from", "type", "mass", "moved", "left", "partner", "partner_mass"),
        rows,
        heat_map,
        _plan_notes(found),
    )


def _side(
    source: str,
    side: str,
    edits: Edits,
    masses: Sequence[float] | np.ndarray[Any, Any],
    plan: np.ndarray[Any, Any],
    others: Edits,
    verb: str,
) -> list[dict[str, Any]]:
    rows = []
    for index, (edit, mass) in enumerate(zip(edits, masses, strict=True)):
        moved = float(plan[index].sum()) if len(others) else 0.0
        best = int(plan[index].argmax()) if len(others) else -1
        rows.append(
            {
                "side": f"{side} ({verb})",
                "edit": edit_label(edit),
                "from": _words(source, edit),
                "type": edit.type,
                "mass": float(mass),
                "moved": moved,
                "left": float(mass) - moved,
                "partner": edit_label(others[best]) if best >= 0 else None,
                "partner_mass": float(plan[index, best]) if best >= 0 else None,
            }
        )
    return rows


def _plan_notes(found: Alignment) -> tuple[str, ...]:
    if found.plan is None:
        return ("no optimum was found within reach: not scored",)
    if found.counts[1] < 0 or found.counts[2] < 0:
        return ("more mass was moved than one side has: its rest is negative, as published",)
    return ()


def explain_errant(
    scorer: Scorer, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
) -> Explanation:
    """Each edit as hit, wrong (the reference edits the same place otherwise), over or under."""
    mine = {(e.start, e.end, e.correction): e for e in _real(hypothesis)}
    theirs = {(e.start, e.end, e.correction): e for e in _real(reference)}
    rows = []
    for key, edit in mine.items():
        near = [edit_label(other) for other in theirs.values() if _touch(edit, other)]
        verdict = "hit" if key in theirs else "wrong" if near else "over"
        rows.append(_verdict(source, edit, verdict, "hypothesis", near))
    for key, edit in theirs.items():
        near = [edit_label(other) for other in mine.values() if _touch(edit, other)]
        if key not in mine:
            rows.append(_verdict(source, edit, "wrong" if near else "under", "reference", near))
    rows.sort(key=lambda row: row["start"])
    for row in rows:
        del row["start"]
    columns = ("side", "edit", "from", "type", "verdict", "beside")
    return Explanation(_scores(scorer, source, hypothesis, reference, runtime), columns, rows)


def _touch(first: Edit, second: Edit) -> bool:
    """Whether two edits change the same tokens, or insert at the same place."""
    if first.start == first.end or second.start == second.end:
        return first.start <= second.end and second.start <= first.end
    return first.start < second.end and second.start < first.end


def _verdict(
    source: str, edit: Edit, verdict: str, side: str, near: Sequence[str]
) -> dict[str, Any]:
    return {
        "start": edit.start,
        "side": side,
        "edit": edit_label(edit),
        "from": _words(source, edit),
        "type": edit.type,
        "verdict": verdict,
        "beside": "; ".join(near) or None,
    }


def explain_cleme(
    scorer: Scorer, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
) -> Explanation:
    """Each chunk as hit, wrong, under (only the reference changes it) or over."""
    tokens = source.split()
    parts = partition(tokens, [_real(hypothesis), _real(reference)])
    rows = []
    for span, mine, theirs in zip(parts.spans, *parts.texts, strict=True):
        if mine is None and theirs is None:
            continue
        verdict = "under" if mine is None else "over" if theirs is None else "wrong"
        if mine == theirs:
            verdict = "hit"
        rows.append(
            {
                "chunk": f"[{span[0]},{span[1]}]",
                "source": " ".join(tokens[slice(*span)]) or None,
                "hypothesis": None if mine is None else " ".join(mine) or "∅",
                "reference": None if theirs is None else " ".join(theirs) or "∅",
                "verdict": verdict,
            }
        )
    columns = ("chunk", "source", "hypothesis", "reference", "verdict")
    return Explanation(_scores(scorer, source, hypothesis, reference, runtime), columns, rows)


def _real(edits: Edits) -> Edits:
    return tuple(edit for edit in edits if edit.type not in ("noop", "UNK"))


def _words(source: str, edit: Edit) -> str | None:
    return " ".join(source.split()[edit.start : edit.end]) or None


def _scores(
    scorer: Scorer, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
) -> dict[str, float]:
    """The metric's own sentence score of this hypothesis against this reference."""

    def version(edits: Edits) -> Version:
        return Version((" ".join(apply_edits(source.split(), edits)),), (edits,))

    corpus = Corpus((source,), {"hypothesis": version(hypothesis)}, (version(reference),))
    found = scorer.score_corpus(corpus, runtime).by_sentence
    scores = {"score": float(found.score[0, 0])}
    if found.precision is not None and found.recall is not None:
        scores["precision"] = float(found.precision[0, 0])
        scores["recall"] = float(found.recall[0, 0])
    return scores
