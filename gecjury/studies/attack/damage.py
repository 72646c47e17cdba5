"""Damage outputs, and score them together with the undamaged ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.signature import Signature
from gecjury.studies.attack.perturbations import Perturbation, Victim, perturb

SOURCE = "the source"


@dataclass(frozen=True)
class Damaged:
    """A system's output, damaged.

    Attributes:
        system: the system whose output was damaged.
        attack: name of the perturbation.
        lines: N damaged texts.
    """

    system: str
    attack: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the damaged output among the systems."""
        return f"{self.system} + {self.attack}"


@dataclass(frozen=True)
class ScoredPair:
    """Scores of a damaged output and of the undamaged one.

    Attributes:
        damaged: the damaged output.
        before: N sentence scores of the undamaged texts.
        after: N sentence scores of the damaged ones.
        changed: whether each text was changed at all.
        corpus: corpus scores: undamaged, damaged, and the source's.
    """

    damaged: Damaged
    before: FloatArray
    after: FloatArray
    changed: BoolArray
    corpus: tuple[float, float, float]


@dataclass(frozen=True)
class AttackScores:
    """A scorer's scores of every damaged output.

    Attributes:
        signature: signature of the metric.
        pairs: one per damaged output.
        seconds: how long scoring took.
        notes: remarks for the user.
    """

    signature: Signature
    pairs: tuple[ScoredPair, ...]
    seconds: float
    notes: tuple[str, ...]

    @property
    def by_attack(self) -> dict[str, list[ScoredPair]]:
        """The pairs by kind of damage, in order."""
        kinds: dict[str, list[ScoredPair]] = {}
        for pair in self.pairs:
            kinds.setdefault(pair.damaged.attack, []).append(pair)
        return kinds


def damage(
    corpus: Corpus,
    systems: Sequence[str],
    attacks: Sequence[Perturbation],
    *,
    share: float = 1.0,
    seed: int = 0,
) -> list[Damaged]:
    """Damage the outputs of some systems with every perturbation."""
    victims = {name: Victim(corpus.sources, corpus.systems[name].lines) for name in systems}
    return [
        Damaged(name, attack.name, perturb(attack, victims[name], share=share, seed=seed))
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
    source = {_free(SOURCE, plain): Version(corpus.sources)}
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


def score_attacks(
    scorer: Scorer,
    corpus: Corpus,
    damaged: Sequence[Damaged],
    runtime: Runtime,
    folder: str | Path | None = None,
) -> AttackScores:
    """Score undamaged and damaged outputs.

    Args:
        scorer: any metric.
        corpus: the corpus with the undamaged outputs.
        damaged: damaged outputs from `damage`, or the user's own.
        runtime: device, workers and the like.
        folder: where score files are kept.

    Raises:
        InputError: the corpus lacks what the metric needs.
    """
    pairs = []
    notes: dict[str, None] = {}
    seconds = 0.0
    for damaged_corpus, damages in attack_corpora(scorer, corpus, damaged):
        table = score_with_files(scorer, damaged_corpus, folder, runtime)
        rows = {name: row for row, name in enumerate(table.systems)}
        # The source is one of the systems, to see which damage scores above doing nothing.
        source = rows[_free(SOURCE, corpus.systems)]
        totals = table.by_system.score
        for one in damages:
            old, new = rows[one.system], rows[one.name]
            lines = corpus.systems[one.system].lines
            pairs.append(
                ScoredPair(
                    one,
                    table.sentences[old],
                    table.sentences[new],
                    np.array([a != b for a, b in zip(lines, one.lines, strict=True)]),
                    (float(totals[old]), float(totals[new]), float(totals[source])),
                )
            )
        seconds += table.seconds
        notes.update(dict.fromkeys(table.statistics.notes))
    return AttackScores(scorer.signature(corpus, runtime), tuple(pairs), seconds, tuple(notes))
