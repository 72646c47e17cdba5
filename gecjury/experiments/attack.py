"""Damaged corrections scored beside the undamaged ones, to see whether a metric minds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.m2 import M2Sentence
from gecjury.corpus.reading import read_versions
from gecjury.errors import InputError, OptionError, nearest
from gecjury.experiments.inputs import Metrics, Texts, corpus_of, scorers_of
from gecjury.experiments.perturbations import PERTURBATIONS, Perturbation, Victim, perturb
from gecjury.experiments.result import ExperimentResult
from gecjury.runtime import Runtime
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan
from gecjury.stats.bootstrap import interval, sentence_counts
from gecjury.stats.resampling import check_resamples

_MANY = 5_000  # texts below which a metric is soon done with them
_TRIED = 20  # sentences that are scored to tell how long all will take

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
class ScoredPair:
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
    pairs: tuple[ScoredPair, ...]
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
    for damaged_corpus, damages in attack_corpora(scorer, corpus, damaged):
        table = score_with_files(scorer, damaged_corpus, folder, runtime or Runtime())
        rows = {name: row for row, name in enumerate(table.systems)}
        source = rows[_free(SOURCE, corpus.systems)]
        totals = table.by_system.score
        for each in damages:
            old, new = rows[each.system], rows[each.name]
            lines = corpus.systems[each.system].lines
            pairs.append(
                ScoredPair(
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

    @property
    def outranks(self) -> int:
        """For how many systems the damaged output would stand above the undamaged one."""
        return sum(system.outranks for system in self.systems.values())

    @property
    def outranks_source(self) -> int:
        """For how many systems the damaged output would stand above the source."""
        return sum(system.outranks_source for system in self.systems.values())


def effect(pairs: Sequence[ScoredPair], weights: FloatArray) -> Effect:
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


@dataclass(frozen=True, kw_only=True)
class AttackSettings:
    """What `attack` can be told.

    Attributes:
        attacks: names of perturbations; by default all, those that speak to language models only
            where a judge is asked, and none beside damage of one's own.
        systems: whose outputs are damaged; by default every system's.
        own: damaged versions of the one system that is damaged, by name: the lines, or a file.
        share: of the sentences that are damaged, from 0 to 1.
        resamples: size of the bootstrap over sentences, from 1.
        seed: of the damage and of the bootstrap.

    Raises:
        OptionError: a value out of range, or an unknown perturbation.
    """

    attacks: Sequence[str] = ()
    systems: Sequence[str] = ()
    own: Mapping[str, Sequence[str] | str | Path] = field(default_factory=dict)
    share: float = 1.0
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise OptionError(f"--resamples {self.resamples}: expected 1 or more")
        check_resamples(self.resamples)
        for name in self.attacks:
            if name not in PERTURBATIONS:
                raise OptionError(f"unknown attack {name!r}: {nearest(name, PERTURBATIONS)}")

    def perturbations(self, scorers: Sequence[Scorer]) -> tuple[Perturbation, ...]:
        """What is done to the outputs, apart from the user's own damage."""
        if self.attacks:
            return tuple(PERTURBATIONS[name] for name in dict.fromkeys(self.attacks))
        if self.own:
            return ()
        judged = any(scorer.family == "judges" for scorer in scorers)
        return tuple(each for each in PERTURBATIONS.values() if judged or not each.for_judges)


@dataclass(frozen=True, eq=False)
class MetricAttack:
    """What one metric makes of all damage.

    Attributes:
        scores: its scores of every damaged output.
        effects: one a kind of damage, in order.
    """

    scores: AttackScores
    effects: tuple[Effect, ...]

    @property
    def verdicts(self) -> dict[Verdict, list[str]]:
        """The kinds of damage by verdict."""
        found: dict[Verdict, list[str]] = {}
        for each in self.effects:
            found.setdefault(each.verdict, []).append(each.attack)
        return found

    @property
    def lifting(self) -> list[str]:
        """The kinds of damage that raise more than half of the systems' corpus scores."""
        return [e.attack for e in self.effects if 2 * e.outranks > len(e.systems)]


@dataclass(frozen=True, repr=False, eq=False)
class Attacked(ExperimentResult):
    """Damaged corrections beside the undamaged, by several metrics.

    Attributes:
        metrics: one a metric, in the order in which they were named.
        sentences: how many.
        systems: whose outputs were damaged.
        attacks: the perturbations; the user's own damage is not among them.
        settings: how it was done.
    """

    metrics: tuple[MetricAttack, ...]
    sentences: int
    systems: tuple[str, ...]
    attacks: tuple[Perturbation, ...]
    settings: AttackSettings

    @property
    def missing(self) -> int:
        """How many damaged texts lack a score before or after."""
        return sum(each.missing for one in self.metrics for each in one.effects)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the metrics have to say to the user, each remark once."""
        return tuple(dict.fromkeys(note for one in self.metrics for note in one.scores.notes))

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric and kind of damage; see `Effect`."""
        return [
            {
                "metric": one.scores.label,
                "family": one.scores.family,
                "signature": one.scores.signature,
                **asdict(each),
                "outranks": each.outranks,
                "outranks_source": each.outranks_source,
            }
            for one in self.metrics
            for each in one.effects
        ]


def attack(
    texts: Texts,
    hypotheses: Mapping[str, Sequence[str]] | None = None,
    references: Sequence[Sequence[str]] = (),
    *,
    metrics: Metrics,
    settings: AttackSettings | None = None,
    gold: Sequence[M2Sentence] | None = None,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> Attacked:
    """Damage corrections and see which metrics prefer the damaged text.

    Args:
        texts: N tokenised sources; or a corpus, a benchmark or a benchmark's name, which bring
            their own hypotheses and references.
        hypotheses: system name → N sentences.
        references: R lists of N sentences; one list of strings counts as one reference.
        metrics: names, with options as on the command line, or scorers.
        settings: what is damaged, how, and how often it is resampled.
        gold: N M2 blocks, for metrics that match gold edits.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric, option, benchmark, system, or a share out of range.
        InputError: texts that do not belong together, or that lack what a metric needs.
        OutputError: the folder cannot be written.
    """
    settings = settings or AttackSettings()
    scorers = scorers_of(metrics)
    corpus = corpus_of(texts, hypotheses, references, gold)
    attacks, damaged = _prepare(scorers, corpus, settings)
    check_resamples(settings.resamples, len(corpus))
    if folder:
        check_writable(folder)
    found = [
        score_attacks(
            scorer, corpus, damaged, folder=str(folder) if folder else None, runtime=runtime
        )
        for scorer in scorers
    ]
    size = len(corpus)
    weights = sentence_counts(size, settings.resamples, [settings.seed, 1])
    return Attacked(
        tuple(MetricAttack(scores, _effects(scores, weights)) for scores in found),
        size,
        tuple(dict.fromkeys(each.system for each in damaged)),
        attacks,
        settings,
    )


def attack_plans(
    scorers: Sequence[Scorer], corpus: Corpus, settings: AttackSettings, runtime: Runtime
) -> list[Plan]:
    """What `attack` would ask of paid services.

    Raises:
        OptionError: as `attack`.
        InputError: as `attack`.
    """
    _, damaged = _prepare(scorers, corpus, settings)
    return [
        plan
        for scorer in scorers
        for given, _ in attack_corpora(scorer, corpus, damaged)
        if (plan := scorer.plan(given, runtime)) is not None
    ]


def expected_seconds(
    scorers: Sequence[Scorer], corpus: Corpus, settings: AttackSettings, runtime: Runtime
) -> float:
    """About how long `attack` will score, from some sentences; 0 for what is soon done.

    Metrics that ask a service are left out: how long it takes is the service's.
    """
    _, damaged = _prepare(scorers, corpus, settings)
    total = 0.0
    for scorer in scorers:
        given = [each for each, _ in attack_corpora(scorer, corpus, damaged)]
        texts = sum(len(each.systems) for each in given) * len(corpus)
        few = min(_TRIED, len(corpus) // 2)
        if texts < _MANY or not few or scorer.plan(_first(given[0], few), runtime) is not None:
            continue
        scorer.score_corpus(_first(given[0], 1), runtime)  # loads what it needs
        start = time.perf_counter()
        scorer.score_corpus(_first(given[0], few), runtime)
        tried = few * len(given[0].systems)
        total += (time.perf_counter() - start) * texts / tried
    return total


def _first(corpus: Corpus, count: int) -> Corpus:
    """The first sentences of a corpus."""
    rows = range(count)
    return replace(
        corpus,
        sources=corpus.sources[:count],
        systems={name: version.take(rows) for name, version in corpus.systems.items()},
        references=tuple(version.take(rows) for version in corpus.references),
        gold=None if corpus.gold is None else corpus.gold[:count],
        contexts=None if corpus.contexts is None else corpus.contexts[:count],
        groups=None,
        reference_sets={
            name: partial(_first_of, read, count) for name, read in corpus.reference_sets.items()
        },
    )


def _first_of(read: Callable[[], Sequence[Version]], count: int) -> list[Version]:
    return [version.take(range(count)) for version in read()]


def _prepare(
    scorers: Sequence[Scorer], corpus: Corpus, settings: AttackSettings
) -> tuple[tuple[Perturbation, ...], list[Damaged]]:
    """The perturbations, and the damaged outputs, the user's own behind the others."""
    for scorer in scorers:
        scorer.check_new_texts("attack")
        scorer.check(corpus)
    attacks = settings.perturbations(scorers)
    victims = list(dict.fromkeys(settings.systems or corpus.names))
    for name in victims:
        if name not in corpus.systems:
            raise OptionError(f"--system {name!r}: {nearest(name, corpus.names)}")
    found = damage(corpus, victims, attacks, share=settings.share, seed=settings.seed)
    for name, given in settings.own.items():
        called = f"--perturbed {name}={given}" if isinstance(given, str | Path) else repr(name)
        if len(victims) != 1:
            raise OptionError(
                f"{called}: a file is the damaged version of one system, but "
                f"{len(victims)} are damaged: choose one with --system"
            )
        if any(each.attack == name for each in found):
            raise OptionError(f"{called}: the name {name} is taken")
        lines = read_versions(given)[0].lines if isinstance(given, str | Path) else tuple(given)
        if len(lines) != len(corpus):
            raise InputError(
                f"{given if isinstance(given, str | Path) else called} has {len(lines)} lines, but "
                f"there are {len(corpus)} sentences: a damaged version must have a line for each"
            )
        found.append(Damaged(victims[0], name, lines))
    return attacks, found


def _effects(scores: AttackScores, weights: FloatArray) -> tuple[Effect, ...]:
    """One effect a kind of damage, in order."""
    names = dict.fromkeys(pair.damaged.attack for pair in scores.pairs)
    return tuple(
        effect([pair for pair in scores.pairs if pair.damaged.attack == name], weights)
        for name in names
    )
