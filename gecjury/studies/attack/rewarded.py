"""Frequencies with which damage raises a reward, without guards and with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.arrays import BoolArray, FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.rewards.guards import Guard, guards_from
from gecjury.studies.attack.damage import AttackScores
from gecjury.studies.attack.effects import SAME


def rises(
    scored: Sequence[AttackScores], corpus: Corpus, guards: Sequence[Guard] | None = None
) -> list[dict[str, Any]]:
    """Return how often the reward rises, one record a metric and kind of damage.

    The guarded reward is scaled: the range of the metric's scores of the undamaged texts becomes 0
    to 1, and values beyond it are cut off, so that a penalty of 1 outweighs every score.

    Args:
        scored: damaged and undamaged scores of each metric.
        corpus: what was damaged, with references where there are any.
        guards: by default all.

    Returns:
        How many damaged texts were `compared`; the shares whose reward rises `unguarded` and
        `guarded`; the share `caught` by a guard, and `by` which most often.
    """
    rules = guards_from("all") if guards is None else tuple(guards)
    before = {name: _hits(corpus, version.lines, rules) for name, version in corpus.systems.items()}
    # Metrics share the damaged texts, so that each is looked at once.
    after: dict[tuple[str, ...], FloatArray] = {}
    rows = []
    costs = np.array([guard.penalty for guard in rules])
    for one in scored:
        undamaged = np.concatenate([pair.before[~np.isnan(pair.before)] for pair in one.pairs])
        low = float(undamaged.min()) if len(undamaged) else 0.0
        span = float(np.ptp(undamaged)) if len(undamaged) and np.ptp(undamaged) > 0 else 1.0
        for attack in dict.fromkeys(pair.damaged.attack for pair in one.pairs):
            gains, kept, hits = [], [], []
            for pair in (pair for pair in one.pairs if pair.damaged.attack == attack):
                lines = pair.damaged.lines
                # Every metric meets the same damaged texts; guards depend on the texts alone.
                if lines not in after:
                    after[lines] = _hits(corpus, lines, rules)
                gain = pair.after - pair.before
                used = pair.changed & ~np.isnan(gain)
                lost = (after[lines] - before[pair.damaged.system]) @ costs
                old, new = (np.clip((x - low) / span, 0, 1) for x in (pair.before, pair.after))
                gains.append(gain[used])
                kept.append((new - old - lost)[used])
                hits.append(after[lines][used])
            gain, guarded, hit = (np.concatenate(parts) for parts in (gains, kept, hits))
            often = hit.sum(axis=0) if len(rules) else np.zeros(0)
            rows.append(
                {
                    "metric": one.label,
                    "attack": attack,
                    "compared": len(gain),
                    "unguarded": _share(gain > SAME),
                    "guarded": _share(guarded > SAME),
                    "caught": _share(np.asarray(hit.any(axis=1))),
                    "by": rules[int(often.argmax())].name if len(often) and often.max() else "",
                }
            )
    return rows


def _share(marks: BoolArray) -> float:
    return float(marks.mean()) if len(marks) else float("nan")


def alarms(corpus: Corpus, guards: Sequence[Guard] | None = None) -> dict[str, dict[str, float]]:
    """Return how often every guard takes effect on undamaged texts, of outputs and references.

    A reference is judged as if it were not among the references.

    Args:
        corpus: outputs, and references where there are any.
        guards: by default all.
    """
    rules = guards_from("all") if guards is None else tuple(guards)
    outputs = [_hits(corpus, version.lines, rules) for version in corpus.systems.values()]
    people = []
    for index, version in enumerate(corpus.references):
        others = [other for place, other in enumerate(corpus.references) if place != index]
        people.append(
            _hits_of(corpus.sources, version.lines, [other.lines for other in others], rules)
        )
    return {
        guard.name: {
            "outputs": float(np.mean([hits[:, place].mean() for hits in outputs])),
            "references": float(np.mean([hits[:, place].mean() for hits in people]))
            if people
            else float("nan"),
        }
        for place, guard in enumerate(rules)
    }


def _hits(corpus: Corpus, lines: Sequence[str], rules: Sequence[Guard]) -> FloatArray:
    return _hits_of(corpus.sources, lines, [one.lines for one in corpus.references], rules)


def _hits_of(
    sources: Sequence[str],
    lines: Sequence[str],
    references: Sequence[Sequence[str]],
    rules: Sequence[Guard],
) -> FloatArray:
    """Return on which texts which guards take effect: sentences × guards, 0 or 1."""
    hits = np.zeros((len(lines), len(rules)))
    for row, (source, line) in enumerate(zip(sources, lines, strict=True)):
        of_row = [reference[row] for reference in references]
        hits[row] = [guard.rule(source, line, of_row) for guard in rules]
    return hits
