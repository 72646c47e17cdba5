"""Frequencies with which damage raises a reward, with and without guards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.rewards.guards import Guard, guards_from
from gecjury.studies.attack.damage import AttackScores
from gecjury.studies.attack.effects import SAME


def rises(scored: Sequence[AttackScores], corpus: Corpus) -> list[dict[str, Any]]:
    """Return how often the reward rises, one record per metric and kind of damage.

    The guarded reward is scaled: the range of the metric's scores of the undamaged texts becomes 0
    to 1, and values outside it are clipped, so that a penalty of 1 outweighs every score.

    Args:
        scored: damaged and undamaged scores of each metric.
        corpus: the undamaged texts, with references if there are any.

    Returns:
        How many damaged texts were `compared`; the shares whose reward rises `unguarded` and
        `guarded`; the share `caught` by a guard, and `by` which guard most often.
    """
    rules = guards_from("all")
    read = [version.lines for version in corpus.references]
    before = {
        name: _hits(corpus.sources, version.lines, read, rules)
        for name, version in corpus.systems.items()
    }
    # Metrics share the damaged texts, so each text is checked once.
    after: dict[tuple[str, ...], FloatArray] = {}
    rows = []
    costs = np.array([guard.penalty for guard in rules])
    for one in scored:
        # The range of a metric is that of its scores of the undamaged texts.
        undamaged = np.concatenate([pair.before[~np.isnan(pair.before)] for pair in one.pairs])
        low = float(undamaged.min()) if len(undamaged) else 0.0
        span = float(np.ptp(undamaged)) if len(undamaged) and np.ptp(undamaged) > 0 else 1.0
        for attack, pairs in one.by_attack.items():
            gains, kept, hits = [], [], []
            for pair in pairs:
                lines = pair.damaged.lines
                # Every metric scores the same damaged texts; guards depend on the texts alone.
                if lines not in after:
                    after[lines] = _hits(corpus.sources, lines, read, rules)
                gain = pair.after - pair.before
                used = pair.changed & ~np.isnan(gain)
                # A guard that also hits the undamaged text subtracts the same from both.
                lost = (after[lines] - before[pair.damaged.system]) @ costs
                old, new = (np.clip((x - low) / span, 0, 1) for x in (pair.before, pair.after))
                gains.append(gain[used])
                kept.append((new - old - lost)[used])
                hits.append(after[lines][used])
            gain, guarded, hit = (np.concatenate(parts) for parts in (gains, kept, hits))
            often = hit.sum(axis=0)
            rows.append(
                {
                    "metric": one.signature.label,
                    "attack": attack,
                    "compared": len(gain),
                    "unguarded": _share(gain > SAME),
                    "guarded": _share(guarded > SAME),
                    "caught": _share(np.asarray(hit.any(axis=1))),
                    "by": rules[int(often.argmax())].name if often.max() else "",
                }
            )
    return rows


def _share(marks: BoolArray) -> float:
    return float(marks.mean()) if len(marks) else float("nan")


def alarms(corpus: Corpus) -> dict[str, dict[str, float]]:
    """Return how often every guard takes effect on undamaged texts, of outputs and references.

    A reference is judged as if it were not among the references.

    Args:
        corpus: outputs, and references if there are any.
    """
    rules = guards_from("all")
    read = [version.lines for version in corpus.references]
    outputs = [_hits(corpus.sources, v.lines, read, rules) for v in corpus.systems.values()]
    people = [
        _hits(corpus.sources, lines, [*read[:index], *read[index + 1 :]], rules)
        for index, lines in enumerate(read)
    ]
    return {
        guard.name: {
            "outputs": float(np.mean([hits[:, place].mean() for hits in outputs])),
            "references": float(np.mean([hits[:, place].mean() for hits in people]))
            if people
            else float("nan"),
        }
        for place, guard in enumerate(rules)
    }


def _hits(
    sources: Sequence[str],
    lines: Sequence[str],
    references: Sequence[Sequence[str]],
    rules: Sequence[Guard],
) -> FloatArray:
    """Return which guards take effect on which texts: sentences × guards, 0 or 1."""
    hits = np.zeros((len(lines), len(rules)))
    for row, (source, line) in enumerate(zip(sources, lines, strict=True)):
        of_row = [reference[row] for reference in references]
        hits[row] = [guard.rule(source, line, of_row) for guard in rules]
    return hits
