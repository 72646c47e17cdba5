"""Damaged outputs, their scores, and the effect of the damage on a metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, interval
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.counts import ratio
from gecjury.stats.figure import Figure, FromValues, figures_about
from gecjury.studies.attack.perturbations import Perturbation, Victim, perturb

register(
    Statistic("net", "higher - lower", better="lower", range=(-1, 1)),
    Statistic("change", "mean change", digits=4, better="lower"),
    Statistic("before", digits=4),
    Statistic("after", digits=4),
    Statistic("outranks", "> undamaged", digits=0),
    Statistic("outranks_source", "> source", digits=0),
    Statistic("attack.summary", "what it does"),
)

_SOURCE = "the source"
_SAME = 1e-6
"""Neural scores of one text differ by rounding between batches; a difference up to this value is
not a change."""


@dataclass(frozen=True)
class Damaged:
    """A system's output, damaged."""

    system: str
    attack: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the damaged output among the systems."""
        return f"{self.system} + {self.attack}"


def damage(
    corpus: Corpus, systems: Sequence[str], attacks: Sequence[Perturbation], *, seed: int = 0
) -> list[Damaged]:
    """Damage the outputs of some systems with every perturbation."""
    victims = {name: Victim(corpus.sources, corpus.systems[name].lines) for name in systems}
    return [
        Damaged(name, attack.name, perturb(attack, victims[name], seed=seed))
        for attack in attacks
        for name in systems
    ]


def attack_corpora(
    scorer: Scorer, corpus: Corpus, damaged: Sequence[Damaged]
) -> Iterator[tuple[Corpus, list[Damaged]]]:
    """Yield the corpora to score: undamaged and damaged texts, and the source as a system.

    A scorer that scores every text separately gets one corpus. A scorer that judges several systems
    together gets one corpus per damaged output, so that no other damage affects its scores. Such a
    corpus has every undamaged system if the scorer weighs systems against each other; otherwise
    (side-by-side judges) it has the undamaged output alone.
    """
    # Edits of M2 files are left out, so that damaged and undamaged texts are read in the same way.
    plain = {name: Version(version.lines) for name, version in corpus.systems.items()}
    source = {_free(_SOURCE, plain): Version(corpus.sources)}
    if not scorer.joint:
        more = {one.name: Version(one.lines) for one in damaged}
        yield replace(corpus, systems={**plain, **source, **more}, groups=None), list(damaged)
        return
    for one in damaged:
        undamaged = plain if "rivals" in scorer.needs else {one.system: plain[one.system]}
        systems = {**undamaged, **source, one.name: Version(one.lines)}
        yield replace(corpus, systems=systems, groups=None), [one]


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that no system has."""
    while name in taken:
        name += "'"
    return name


@dataclass(frozen=True)
class ScoredPair:
    """Scores of a damaged output and of the undamaged one.

    Attributes:
        before: N sentence scores of the undamaged texts.
        after: N sentence scores of the damaged ones.
        changed: N, whether the damage changed the text.
        totals: corpus scores of the undamaged texts, the damaged ones and the sources.
    """

    before: FloatArray
    after: FloatArray
    changed: BoolArray
    totals: FloatArray


def scored_pair(table: ScoreTable, corpus: Corpus, damaged: Damaged) -> ScoredPair:
    """Return the scores of a damaged output and of the undamaged one.

    Args:
        table: scores of one of the `attack_corpora`.
        damaged: one of the damaged outputs that were scored.
    """
    names = (damaged.system, damaged.name, _free(_SOURCE, corpus.systems))
    old, new, source = map(table.systems.index, names)
    lines = corpus.systems[damaged.system].lines
    return ScoredPair(
        table.sentences[old],
        table.sentences[new],
        np.array([a != b for a, b in zip(lines, damaged.lines, strict=True)]),
        table.by_system.score[[old, new, source]],
    )


DamageVerdict = Literal["prefers the damage", "does not see it", "sees it", "undecided"]


@dataclass(frozen=True)
class Effect:
    """The effect of one kind of damage on a metric's scores of all systems.

    Attributes:
        values: by statistic: the shares of the changed texts that score `higher`, `equal` and
            `lower` than before; `net`, `higher` minus `lower`; the mean `change` of the score; how
            many changed texts were `compared`, how many texts are `unchanged`, and how many changed
            ones have no score (`missing`); the mean corpus score of the outputs `before` and
            `after`; and for how many systems the damaged output would rank above the undamaged one
            (`outranks`) and above the source (`outranks_source`).
        net_ci95: 95% interval of `net` over sentences.
    """

    attack: str
    values: Mapping[str, float]
    net_ci95: Interval
    verdict: DamageVerdict
    missing, outranks = FromValues(), FromValues()

    def figures(self, metric: str, family: str) -> list[Figure]:
        """Return the numbers of the effect on a metric."""
        about = {"metric": metric, "family": family, "part": self.attack}
        return figures_about(self.values, {"net": self.net_ci95}, level="attack", **about)


def effects_of(
    parts: Sequence[tuple[ScoreTable, Sequence[Damaged]]],
    corpus: Corpus,
    attacks: Sequence[Perturbation],
    weights: FloatArray,
) -> list[Effect]:
    """Return the effect of every kind of damage on a metric.

    Args:
        parts: the metric's scores of the `attack_corpora`, with the damaged outputs of each.
        weights: resamples × sentences, how often each sentence occurs in a resample.
    """
    pairs = {what.name: list[ScoredPair]() for what in attacks}
    for table, some in parts:
        for damaged in some:
            pairs[damaged.attack].append(scored_pair(table, corpus, damaged))
    return [effect(name, of_kind, weights) for name, of_kind in pairs.items()]


def effect(attack: str, pairs: Sequence[ScoredPair], weights: FloatArray) -> Effect:
    """Summarise the effect of one kind of damage on the scores of all systems.

    Args:
        attack: name of the perturbation.
        pairs: one per system, at least one.
        weights: resamples × sentences, how often each sentence occurs in a resample.
    """
    changed = np.array([pair.changed for pair in pairs])
    gains = np.array([pair.after - pair.before for pair in pairs])
    gains[np.abs(gains) <= _SAME] = 0.0
    # Texts that the damage did not change and texts without a score are left out.
    scored = changed & ~np.isnan(gains)
    count = int(scored.sum())
    kinds = [scored & (gains > 0), scored & (gains == 0), scored & (gains < 0)]
    shares = ratio(np.array([kind.sum() for kind in kinds]), np.array(count), np.nan)
    higher, equal, lower = shares.tolist()
    # The net share decides: as many texts up as down means no preference.
    net = kinds[0].sum(axis=0) - kinds[2].sum(axis=0)
    drawn = ratio(weights @ net, weights @ scored.sum(axis=0), np.nan)
    bounds = interval(drawn)[0]
    before, after, source = np.array([pair.totals for pair in pairs]).T
    # A lead within the rounding of neural scores does not count.
    numbers = {
        "higher": higher,
        "equal": equal,
        "lower": lower,
        "net": higher - lower,
        "change": float(gains[scored].mean()) if count else float("nan"),
        "compared": count,
        "unchanged": int((~changed).sum()),
        "missing": int((changed & np.isnan(gains)).sum()),
        "before": float(before.mean()),
        "after": float(after.mean()),
        "outranks": int((after > before + _SAME).sum()),
        "outranks_source": int((after > source + _SAME).sum()),
    }
    return Effect(attack, numbers, bounds, _verdict(equal, bounds))


def _verdict(equal: float, net: tuple[float, float]) -> DamageVerdict:
    if equal > 0.5:
        return "does not see it"
    if net[0] > 0:
        return "prefers the damage"
    return "sees it" if net[1] < 0 else "undecided"


def summed_up(effects: Sequence[Effect], systems: int) -> str:
    """Return a line that summarises one metric's verdicts on all damage of some systems."""
    kinds = dict[str, list[str]]()
    for one in effects:
        kinds.setdefault(one.verdict, []).append(one.attack)
    lifting = [one.attack for one in effects if 2 * one.outranks > systems]
    parts = [
        f"{verdict}: {', '.join(kinds[verdict])}"
        for verdict in ("prefers the damage", "does not see it", "undecided")
        if verdict in kinds
    ]
    parts = parts or ["sees all of it"]
    if lifting:
        parts.append(f"ranks most systems higher when damaged: {', '.join(lifting)}")
    return "; ".join(parts)
