"""Frequencies with which damage raises a reward, without guards and with them."""

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
    """The effect of one kind of damage on a reward.

    Attributes:
        metric: the metric's label.
        attack: the kind of damage.
        compared: damaged texts with a score before and after.
        unguarded: share of them whose reward rises.
        guarded: share of them whose scaled reward with guards rises.
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
        """Return a plain record."""
        return asdict(self)


def hackability(
    found: Attacked, corpus: Corpus, guards: Sequence[Guard] | None = None
) -> list[Hackability]:
    """Return how often the reward rises, for every metric and kind of damage.

    The guarded reward is scaled: the range of the metric's scores of the undamaged texts becomes 0
    to 1, and values beyond it are cut off, so that a penalty of 1 outweighs every score.

    Args:
        found: damaged and undamaged scores.
        corpus: the corpus that was damaged, with references where there are any.
        guards: by default all.
    """
    rules = guards_from("all") if guards is None else tuple(guards)
    before = {name: _hits(corpus, version.lines, rules) for name, version in corpus.systems.items()}
    after: dict[tuple[str, ...], FloatArray] = {}
    rows = []
    costs = np.array([guard.penalty for guard in rules])
    for attacked in found.metrics:
        pairs = attacked.scores.pairs
        scores = np.concatenate([pair.before[~np.isnan(pair.before)] for pair in pairs])
        low = float(scores.min()) if len(scores) else 0.0
        span = float(np.ptp(scores)) if len(scores) and np.ptp(scores) > 0 else 1.0
        for attack in dict.fromkeys(pair.damaged.attack for pair in pairs):
            gains, kept, hits = [], [], []
            for pair in (candidate for candidate in pairs if candidate.damaged.attack == attack):
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
            count = len(gain)
            rows.append(
                Hackability(
                    attacked.scores.label,
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
    """Return how often every guard takes effect on undamaged outputs and references.

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
    return _hits_of(corpus.sources, lines, [version.lines for version in corpus.references], rules)


def _hits_of(
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
