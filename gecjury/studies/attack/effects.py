"""Effects of damage on a metric: how many texts score higher or lower, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.stats.bootstrap import interval
from gecjury.stats.counts import ratio
from gecjury.studies.attack.damage import ScoredPair

Verdict = Literal["prefers the damage", "does not see it", "sees it", "undecided"]

SAME = 1e-6
"""Neural scores of one text differ by rounding between batches; a difference up to this value is
not a change."""


def effect(pairs: Sequence[ScoredPair], weights: FloatArray) -> dict[str, Any]:
    """Summarise the effect of one kind of damage on the scores of all systems.

    Args:
        pairs: one per system, at least one, all of one perturbation.
        weights: resamples × sentences, how often each sentence occurs in a resample.

    Returns:
        The shares of the changed texts that score `higher`, `equal` and `lower` than before; the
        mean `change`; 95% intervals over sentences of these and of `net`, higher - lower; how many
        texts were `compared`, left `unchanged` by the damage, or are `missing` a score; the corpus
        scores by system; the `verdict`; and for how many systems the damaged output would rank
        above the undamaged one (`outranks`) and above the source.
    """
    changed = np.array([pair.changed for pair in pairs])
    gains = np.array([pair.after - pair.before for pair in pairs])
    gains[np.abs(gains) <= SAME] = 0.0
    # Texts that the damage did not change and texts without a score are left out.
    scored = changed & ~np.isnan(gains)
    sums = np.stack(
        [
            (scored & (gains > 0)).sum(axis=0),
            (scored & (gains == 0)).sum(axis=0),
            (scored & (gains < 0)).sum(axis=0),
            np.where(scored, gains, 0.0).sum(axis=0),
        ],
        axis=1,
    )
    counts = scored.sum(axis=0)
    point = ratio(sums.sum(axis=0), counts.sum(), np.nan)
    drawn = ratio(weights @ sums, (weights @ counts)[:, None], np.nan)
    # The net share decides: as many texts up as down means no preference.
    drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 2]])
    keys = ("higher", "equal", "lower", "change")
    bounds = {key: interval(drawn[:, place])[0] for place, key in enumerate((*keys, "net"))}
    systems = {}
    for pair in pairs:
        before, after, source = pair.corpus
        # A lead within the rounding of neural scores does not count.
        systems[pair.damaged.system] = {
            "before": before,
            "after": after,
            "source": source,
            "outranks": after > before + SAME,
            "outranks_source": after > source + SAME,
        }
    figures = dict(zip(keys, point.tolist(), strict=True))
    return {
        "attack": pairs[0].damaged.attack,
        **figures,
        "ci95": bounds,
        "compared": int(counts.sum()),
        "unchanged": int((~changed).sum()),
        "missing": int((changed & np.isnan(gains)).sum()),
        "systems": systems,
        "verdict": _verdict(figures["equal"], bounds["net"]),
        "outranks": sum(system["outranks"] for system in systems.values()),
        "outranks_source": sum(system["outranks_source"] for system in systems.values()),
    }


def _verdict(equal: float, net: tuple[float, float]) -> Verdict:
    if equal > 0.5:
        return "does not see it"
    if net[0] > 0:
        return "prefers the damage"
    return "sees it" if net[1] < 0 else "undecided"


def verdicts_of(effects: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the kinds of damage by the verdict of one metric."""
    verdicts: dict[str, list[str]] = {}
    for one in effects:
        verdicts.setdefault(one["verdict"], []).append(one["attack"])
    return verdicts


def summed_up(effects: Sequence[Mapping[str, Any]]) -> str:
    """Return a line that summarises one metric's verdicts on all damage."""
    verdicts = verdicts_of(effects)
    parts = [
        f"{verdict}: {', '.join(verdicts[verdict])}"
        for verdict in ("prefers the damage", "does not see it", "undecided")
        if verdict in verdicts
    ]
    parts = parts or ["sees all of it"]
    lifting = [one["attack"] for one in effects if 2 * one["outranks"] > len(one["systems"])]
    if lifting:
        parts.append(f"ranks most systems higher when damaged: {', '.join(lifting)}")
    return "; ".join(parts)
