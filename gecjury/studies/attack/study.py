"""Which metrics prefer damaged corrections to the undamaged ones: `gecjury attack`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from gecjury.core.arrays import BoolArray, FloatArray
from gecjury.core.errors import OptionError, nearest
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus, Version
from gecjury.report.result import Column, Record, Result, Table
from gecjury.scoring.score_files import check_writable, score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import interval, sentence_counts
from gecjury.stats.counts import ratio
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.attack.perturbations import PERTURBATIONS, Perturbation, Victim, perturb
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.study import SCORES, Output, Study, Work, function_of

_SOURCE = "the source"
_SAME = 1e-6
"""Neural scores of one text differ by rounding between batches; a difference up to this value is
not a change."""


@dataclass(frozen=True, kw_only=True)
class Attack(Study):
    """Damaged corrections compared with the undamaged ones, to see which metrics are fooled.

    Attributes:
        victims: damage this system's output; repeat for more (default: every system).
        attacks: a perturbation from the second table; repeat for more (default: all, but those
            that address language models only if a judge is among the metrics).
        seed: seed of the damage and of the resamples.
        resampling: the bootstrap over sentences, for intervals.
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark (seeda, ..., sample), or a source file and system outputs"
    )
    keeps: ClassVar[Output | None] = SCORES
    new_texts: ClassVar[str] = "attack"
    victims: tuple[str, ...] = option((), "--system", metavar="NAME")
    attacks: tuple[str, ...] = option((), "--attack", metavar="NAME")
    seed: int = option(0, least=0)
    resampling: Resampling = option(Resampling(over="sentences"), offers=("resamples",))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.attacks:
            if name not in PERTURBATIONS:
                raise OptionError(f"unknown attack {name!r}: {nearest(name, PERTURBATIONS)}")

    def check(self, work: Work) -> None:
        """Refuse unknown systems, and more resamples than fit into memory."""
        super().check(work)
        for name in self.victims:
            if name not in work.corpus.systems:
                raise OptionError(f"--system {name!r}: {nearest(name, work.corpus.names)}")
        check_resamples(self.resampling.resamples, len(work.corpus))

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with the damaged and undamaged texts that it scores."""
        damaged = self._damaged(work)
        for scorer in work.scorers:
            for corpus, _ in attack_corpora(scorer, work.corpus, damaged):
                yield scorer, corpus

    def run(self, work: Work) -> Result:
        """Damage corrections, score them with the undamaged ones and summarise the effects.

        Table `rows` has one record per metric and kind of damage; see `effect`. Table `attacks`
        describes each perturbation.
        """
        corpus = work.corpus
        damaged = self._damaged(work)
        if work.folder:
            check_writable(work.folder)
        # All metrics and kinds of damage use the same resampled sentences.
        weights = sentence_counts(len(corpus), self.resampling.resamples, [self.seed, 1])
        rows, verdicts, summaries, signatures = [], {}, [], []
        seconds, notes = dict[str, float](), dict[str, None]()
        for scorer in work.scorers:
            about = scorer.signature(corpus, work.runtime)
            label, pairs = about.label, dict[str, list[ScoredPair]]()
            seconds[label] = 0.0
            for texts, some in attack_corpora(scorer, corpus, damaged):
                table = score_with_files(scorer, texts, work.folder, work.runtime)
                seconds[label] += table.seconds
                notes.update(dict.fromkeys(table.statistics.notes))
                for one in some:
                    pairs.setdefault(one.attack, []).append(scored_pair(table, corpus, one))
            effects = [effect(of_kind, weights) for of_kind in pairs.values()]
            rows += [
                {"metric": label, "family": about.family, "signature": str(about), **one}
                for one in effects
            ]
            kinds = dict[str, list[str]]()
            for made in effects:
                kinds.setdefault(made["verdict"], []).append(made["attack"])
            verdicts[label] = kinds
            summaries.append(f"{label} {_summed_up(effects, kinds)}")
            signatures.append(str(about))
        systems = list(dict.fromkeys(one.system for one in damaged))
        title = (
            f"Damaged and undamaged, {len(corpus)} sentences, {len(systems)} systems{work.named}"
        )
        about_rows = [*summaries, _MEANING, *notes, *signatures]
        keys = [Column("name"), Column("summary", "what it does")]
        described = [{"name": a.name, "summary": a.summary} for a in self._perturbations(work)]
        facts: dict[str, Any] = {
            "inputs": work.inputs,
            "sentences": len(corpus),
            "systems": systems,
            "seed": self.seed,
            "resamples": self.resampling.resamples,
            "attacks": (),
            "seconds": seconds,
            "verdicts": verdicts,
        }
        return Result(
            (
                Table(_effect_columns(len(systems)), rows, title, about_rows, "rows"),
                Table(keys, described, "Attacks", name="attacks"),
            ),
            facts,
            tuple(notes),
            int(any(row["missing"] for row in rows)),
        )

    def _perturbations(self, work: Work) -> tuple[Perturbation, ...]:
        if self.attacks:
            return tuple(PERTURBATIONS[name] for name in dict.fromkeys(self.attacks))
        # Orders to a language model mean nothing to other metrics.
        judged = any(scorer.family == "judges" for scorer in work.scorers)
        return tuple(one for one in PERTURBATIONS.values() if judged or not one.for_judges)

    def _damaged(self, work: Work) -> list[Damaged]:
        corpus = work.corpus
        victims = list(dict.fromkeys(self.victims or corpus.names))
        return damage(corpus, victims, self._perturbations(work), seed=self.seed)


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
        corpus: corpus scores: undamaged, damaged, and the source's.
    """

    damaged: Damaged
    before: FloatArray
    after: FloatArray
    changed: BoolArray
    corpus: tuple[float, float, float]


def scored_pair(table: ScoreTable, corpus: Corpus, damaged: Damaged) -> ScoredPair:
    """Return the scores of a damaged output and of the undamaged one.

    Args:
        table: scores of one of the `attack_corpora`.
        damaged: one of the damaged outputs that were scored.
    """
    names = (damaged.system, damaged.name, _free(_SOURCE, corpus.systems))
    old, new, source = map(table.systems.index, names)
    lines = corpus.systems[damaged.system].lines
    before, after, nothing = (float(table.by_system.score[row]) for row in (old, new, source))
    return ScoredPair(
        damaged,
        table.sentences[old],
        table.sentences[new],
        np.array([a != b for a, b in zip(lines, damaged.lines, strict=True)]),
        (before, after, nothing),
    )


Verdict = Literal["prefers the damage", "does not see it", "sees it", "undecided"]


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
    gains[np.abs(gains) <= _SAME] = 0.0
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
            "outranks": after > before + _SAME,
            "outranks_source": after > source + _SAME,
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


def _summed_up(effects: Sequence[Record], kinds: Mapping[str, Sequence[str]]) -> str:
    """Return a line that summarises one metric's verdicts on all damage.

    Args:
        kinds: names of the attacks by verdict.
    """
    parts = [
        f"{verdict}: {', '.join(kinds[verdict])}"
        for verdict in ("prefers the damage", "does not see it", "undecided")
        if verdict in kinds
    ]
    parts = parts or ["sees all of it"]
    lifting = [one["attack"] for one in effects if 2 * one["outranks"] > len(one["systems"])]
    if lifting:
        parts.append(f"ranks most systems higher when damaged: {', '.join(lifting)}")
    return "; ".join(parts)


_MEANING = (
    "higher, equal, lower: share of the damaged texts whose sentence score is above, at, below "
    "that of the undamaged; before, after: corpus scores, mean over systems; > undamaged, "
    "> source: for how many systems the damaged output would rank above"
)


def _effect_columns(systems: int) -> list[Column]:
    return [
        Column("metric"),
        Column("attack"),
        *(_percent(key, f"{key} %") for key in ("higher", "equal", "lower")),
        Column("net", "higher - lower, 95%", value=_net),
        Column("change", "mean change", 4),
        Column("before", digits=4, value=lambda row: _mean(row, "before")),
        Column("after", digits=4, value=lambda row: _mean(row, "after")),
        Column("outranks", "> undamaged", value=lambda row: f"{row['outranks']}/{systems}"),
        Column("outranks_source", "> source", value=lambda r: f"{r['outranks_source']}/{systems}"),
        Column("verdict"),
    ]


def _percent(key: str, heading: str, digits: int = 1) -> Column:
    return Column(key, heading, digits, value=lambda row: 100 * row[key])


def _net(row: Record) -> str:
    return "{:.2f} to {:.2f}".format(*row["ci95"]["net"])


def _mean(row: Record, key: str) -> float:
    values = [system[key] for system in row["systems"].values()]
    return float(sum(values) / len(values))


attack = function_of(Attack)
