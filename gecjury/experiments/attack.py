"""Damaged corrections scored beside the undamaged ones, to see whether a metric minds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.errors import InputError
from gecjury.experiments.perturbations import Perturbation, Victim, perturb
from gecjury.runtime import Runtime
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.stats.bootstrap import interval

__all__ = [
    "AttackScores",
    "Damaged",
    "Effect",
    "SystemEffect",
    "Verdict",
    "attack_corpora",
    "damage",
    "effect",
    "score_attacks",
]

Verdict = Literal["prefers the damage", "does not see it", "sees it", "undecided"]

SOURCE = "the source"

# Neural scores of one text differ by rounding between batches; no more is the same score.
_SAME = 1e-6


@dataclass(frozen=True)
class Damaged:
    """A system's output, damaged.

    Attributes:
        system: whose output.
        attack: name of the perturbation.
        lines: N damaged texts.
    """

    system: str
    attack: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """How it is called among the systems."""
        return f"{self.system} + {self.attack}"


def damage(
    corpus: Corpus,
    systems: Sequence[str],
    attacks: Sequence[Perturbation],
    *,
    share: float = 1.0,
    seed: int = 0,
) -> list[Damaged]:
    """Damage the outputs of some systems in every way."""
    victims = {name: Victim(corpus.sources, corpus.systems[name].lines) for name in systems}
    return [
        Damaged(name, attack.name, perturb(attack, victims[name], share=share, seed=seed))
        for attack in attacks
        for name in systems
    ]


def attack_corpora(
    scorer: Scorer, corpus: Corpus, damaged: Sequence[Damaged]
) -> Iterator[tuple[Corpus, list[Damaged]]]:
    """What a scorer is to score: undamaged and damaged texts, and the source as a system.

    A scorer that scores every text by itself gets one corpus. One that looks at several systems
    at once gets a corpus for each damaged output, so that no other damage moves its scores: with
    every undamaged system where it weighs systems against each other, otherwise (side-by-side
    judges) with the undamaged output alone.
    """
    plain = {name: Version(version.lines) for name, version in corpus.systems.items()}
    source = {_free(SOURCE, plain): Version(corpus.sources)}
    if not scorer.joint:
        more = {each.name: Version(each.lines) for each in damaged}
        yield replace(corpus, systems={**plain, **source, **more}, groups=None), list(damaged)
        return
    for each in damaged:
        beside = plain if "rivals" in scorer.needs else {each.system: plain[each.system]}
        systems = {**beside, **source, each.name: Version(each.lines)}
        yield replace(corpus, systems=systems, groups=None), [each]


def _free(name: str, taken: Mapping[str, object]) -> str:
    """A name that no system has."""
    while name in taken:
        name += "'"
    return name


@dataclass(frozen=True)
class Pair:
    """Scores of a damaged output beside its undamaged one.

    Attributes:
        damaged: what was damaged.
        before: N sentence scores of the undamaged texts.
        after: N sentence scores of the damaged ones.
        changed: whether each text was changed at all.
        corpus: corpus scores: undamaged, damaged, and the source's.
    """

    damaged: Damaged
    before: FloatArray
    after: FloatArray
    changed: np.ndarray
    corpus: tuple[float, float, float]


@dataclass(frozen=True)
class AttackScores:
    """A scorer's scores of every damaged output.

    Attributes:
        label: the metric's name with its settings.
        family: its family.
        signature: what made the scores.
        pairs: one a damaged output.
        seconds: how long scoring took.
        notes: remarks for the user.
    """

    label: str
    family: str
    signature: str
    pairs: tuple[Pair, ...]
    seconds: float
    notes: tuple[str, ...]


def score_attacks(
    scorer: Scorer,
    corpus: Corpus,
    damaged: Sequence[Damaged],
    *,
    folder: str | None = None,
    runtime: Runtime | None = None,
) -> AttackScores:
    """Score undamaged and damaged outputs.

    Args:
        scorer: any metric.
        corpus: with the undamaged outputs.
        damaged: from `damage`, or the user's own.
        folder: where score files are kept.
        runtime: device, workers and the like.

    Raises:
        InputError: the corpus lacks what the metric needs.
    """
    pairs = []
    notes: dict[str, None] = {}
    seconds = 0.0
    about = scorer.signature(corpus, runtime)
    for given, some in attack_corpora(scorer, corpus, damaged):
        table = score_with_files(scorer, given, folder, runtime or Runtime())
        rows = {name: row for row, name in enumerate(table.systems)}
        source = rows[_free(SOURCE, corpus.systems)]
        totals = table.by_system.score
        for each in some:
            old, new = rows[each.system], rows[each.name]
            lines = corpus.systems[each.system].lines
            pairs.append(
                Pair(
                    each,
                    table.sentences[old],
                    table.sentences[new],
                    np.array([a != b for a, b in zip(lines, each.lines, strict=True)]),
                    (float(totals[old]), float(totals[new]), float(totals[source])),
                )
            )
        seconds += table.seconds
        notes.update(dict.fromkeys(table.statistics.notes))
    return AttackScores(about.label, about.family, str(about), tuple(pairs), seconds, tuple(notes))


@dataclass(frozen=True)
class SystemEffect:
    """What the damage does to one system's corpus score.

    Attributes:
        before: score of the undamaged output.
        after: of the damaged one.
        source: of the source, nothing corrected.
        outranks: whether the damaged output would stand above the undamaged one.
        outranks_source: whether it would stand above the source.
    """

    before: float
    after: float
    source: float
    outranks: bool
    outranks_source: bool


@dataclass(frozen=True)
class Effect:
    """What a metric makes of one kind of damage, over all systems damaged.

    Attributes:
        attack: the perturbation's name.
        higher: share of the changed texts that score higher than before.
        equal: share that score the same, to 1e-6.
        lower: share that score lower.
        change: mean change of the sentence score.
        ci95: 95% intervals of `higher`, `equal`, `lower`, `change` and `net` (higher - lower),
            over sentences.
        compared: changed texts that were scored before and after.
        unchanged: texts that the perturbation left as they were; they are not compared.
        missing: changed texts that lack a score before or after.
        systems: by system, the corpus scores.
        verdict: `prefers the damage` where `net`'s interval lies above 0, `sees it` where it lies
            below, unless most texts score the same: `does not see it`; else `undecided`.
    """

    attack: str
    higher: float
    equal: float
    lower: float
    change: float
    ci95: Mapping[str, tuple[float, float]]
    compared: int
    unchanged: int
    missing: int
    systems: Mapping[str, SystemEffect]
    verdict: Verdict


def effect(pairs: Sequence[Pair], weights: FloatArray) -> Effect:
    """Sum up the pairs of one attack.

    Args:
        pairs: one a system, all of one perturbation.
        weights: resamples × sentences, how often each sentence stands in a resample.

    Raises:
        InputError: there is no pair.
    """
    if not pairs:
        raise InputError("no damaged output: name at least one system")
    changed = np.array([pair.changed for pair in pairs])
    gains = np.array([pair.after - pair.before for pair in pairs])
    gains[np.abs(gains) <= _SAME] = 0.0
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
    with np.errstate(divide="ignore", invalid="ignore"):
        point = sums.sum(axis=0) / counts.sum()
        drawn = (weights @ sums) / (weights @ counts)[:, None]
    drawn = np.column_stack([drawn, drawn[:, 0] - drawn[:, 2]])
    keys = ("higher", "equal", "lower", "change", "net")
    bounds = {key: interval(drawn[:, column])[0] for column, key in enumerate(keys)}
    higher, equal, lower, change = (float(value) for value in point)
    return Effect(
        pairs[0].damaged.attack,
        higher,
        equal,
        lower,
        change,
        bounds,
        int(counts.sum()),
        int((~changed).sum()),
        int((changed & np.isnan(gains)).sum()),
        {pair.damaged.system: _system(*pair.corpus) for pair in pairs},
        _verdict(equal, bounds["net"]),
    )


def _system(before: float, after: float, source: float) -> SystemEffect:
    return SystemEffect(before, after, source, after > before + _SAME, after > source + _SAME)


def _verdict(equal: float, net: tuple[float, float]) -> Verdict:
    if equal > 0.5:
        return "does not see it"
    if net[0] > 0:
        return "prefers the damage"
    return "sees it" if net[1] < 0 else "undecided"
