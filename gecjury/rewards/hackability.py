"""How often damage raises a reward, without guards and with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.experiments.attack import Attacked
from gecjury.rewards.guards import Guard, guards_from

_SAME = 1e-6  # rounding between batches


@dataclass(frozen=True)
class Hackability:
    """What one kind of damage does to a reward.

    Attributes:
        metric: the metric's label.
        attack: the kind of damage.
        compared: damaged texts with a score before and after.
        unguarded: share of them whose reward rises.
        guarded: the same of the scaled reward with guards.
        caught: share of them on which a guard takes effect.
        by: the guard that takes effect most often; empty where none does.
    """

    metric: str
    attack: str
    compared: int
    unguarded: float
    guarded: float
    caught: float
    by: str

    def row(self) -> dict[str, Any]:
        """A plain record."""
        return asdict(self)


def hackability(
    found: Attacked, corpus: Corpus, guards: Sequence[Guard] | None = None
) -> list[Hackability]:
    """For every metric and kind of damage, how often the reward rises.

    The guarded reward is scaled: the range of the metric's scores of the undamaged texts becomes 0
    to 1, and what lies beyond is cut off, so that a penalty of 1 outweighs every score.

    Args:
        found: damaged and undamaged scores.
        corpus: what was damaged, with references where there are any.
        guards: by default all.
    """
    rules = guards_from("all") if guards is None else tuple(guards)
    before = {name: _hits(corpus, version.lines, rules) for name, version in corpus.systems.items()}
    after: dict[tuple[str, ...], FloatArray] = {}
    rows = []
    costs = np.array([guard.penalty for guard in rules])
    for one in found.metrics:
        pairs = one.scores.pairs
        known = np.concatenate([pair.before[~np.isnan(pair.before)] for pair in pairs])
        low = float(known.min()) if len(known) else 0.0
        span = float(np.ptp(known)) if len(known) and np.ptp(known) > 0 else 1.0
        for attack in dict.fromkeys(pair.damaged.attack for pair in pairs):
            gains, kept, hits = [], [], []
            for pair in (each for each in pairs if each.damaged.attack == attack):
                lines = pair.damaged.lines
                if lines not in after:
                    after[lines] = _hits(corpus, lines, rules)
                gain = pair.after - pair.before
                used = pair.changed & ~np.isnan(gain)
                lost = (after[lines] - before[pair.damaged.system]) @ costs
                old, new = (np.clip((x - low) / span, 0, 1) for x in (pair.before, pair.after))
                gains.append(gain[used])
                kept.append((new - old - lost)[used])
                hits.append(after[lines][used])
            gain, guarded, hit = (np.concatenate(each) for each in (gains, kept, hits))
            often = hit.sum(axis=0) if len(rules) else np.zeros(0)
            count = len(gain)
            rows.append(
                Hackability(
                    one.scores.label,
                    attack,
                    count,
                    float((gain > _SAME).mean()) if count else float("nan"),
                    float((guarded > _SAME).mean()) if count else float("nan"),
                    float(hit.any(axis=1).mean()) if count else float("nan"),
                    rules[int(often.argmax())].name if len(often) and often.max() else "",
                )
            )
    return rows


def alarms(corpus: Corpus, guards: Sequence[Guard] | None = None) -> dict[str, dict[str, float]]:
    """How often every guard takes effect on undamaged texts: by guard, of outputs and references.

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
    return _hits_of(corpus.sources, lines, [each.lines for each in corpus.references], rules)


def _hits_of(
    sources: Sequence[str],
    lines: Sequence[str],
    references: Sequence[Sequence[str]],
    rules: Sequence[Guard],
) -> FloatArray:
    """On which texts which guards take effect: sentences × guards, 0 or 1."""
    hits = np.zeros((len(lines), len(rules)))
    for row, (source, line) in enumerate(zip(sources, lines, strict=True)):
        own = [reference[row] for reference in references]
        hits[row] = [guard.rule(source, line, own) for guard in rules]
    return hits
