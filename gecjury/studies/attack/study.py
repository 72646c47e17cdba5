"""Damage corrections and compare their scores with the undamaged ones: `gecjury attack`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.settings import option
from gecjury.core.wording import number
from gecjury.corpus.aligned import aligned
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.reading import read_version
from gecjury.metaeval.effort import duration
from gecjury.report.result import Column, Record, Result, Table
from gecjury.scoring.score_files import check_writable
from gecjury.scoring.scorer import Scorer
from gecjury.stats.bootstrap import sentence_counts
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.attack.damage import (
    Damaged,
    attack_corpora,
    damage,
    score_attacks,
)
from gecjury.studies.attack.effects import effect, summed_up, verdicts_of
from gecjury.studies.attack.perturbations import PERTURBATIONS, Perturbation
from gecjury.studies.study import Study, Takes, Work, function_of

_MANY = 5_000  # texts; with fewer, no metric takes long
_TRIED = 20  # sentences that are scored to estimate the time for all
_TOLD = 60.0  # seconds from which there is a warning


@dataclass(frozen=True, kw_only=True)
class Attack(Study):
    """Damaged corrections compared with the undamaged ones, to see which metrics are fooled.

    Attributes:
        victims: damage this system's output; repeat for more (default: every system).
        attacks: a perturbation from the second table; repeat for more (default: all, but those
            that address language models only if a judge is among the metrics).
        perturbed: your own damaged version of the one system that is damaged.
        share: share of the sentences that are damaged.
        seed: seed of the damage and of the resamples.
        resampling: the bootstrap over sentences, for intervals.
    """

    takes: ClassVar[Takes] = "either"
    data: ClassVar[str] = "a benchmark (seeda, ..., sample), or a source file and system outputs"
    keeps: ClassVar[bool] = True
    new_texts: ClassVar[str] = "attack"
    victims: tuple[str, ...] = option((), "--system", metavar="NAME")
    attacks: tuple[str, ...] = option((), "--attack", metavar="NAME")
    perturbed: Mapping[str, str | Path | Sequence[str]] | None = option(None, metavar="NAME=FILE")
    share: float = option(1.0, least=0, most=1)
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

    def warning(self, work: Work) -> str:
        """Return a message on how long scoring takes, if that is minutes."""
        seconds = self.expected_seconds(work)
        if seconds < _TOLD:
            return ""
        return (
            f"scoring {number(len(work.corpus))} sentences of each damaged system will take about "
            f"{duration(seconds)}; fewer --attack or one --system are quicker. Ctrl-C stops it"
        )

    def expected_seconds(self, work: Work) -> float:
        """Return roughly how long scoring takes, from a few sentences; 0 if it takes little time.

        Metrics that call a service are left out, since their time depends on the service.
        """
        runtime, lines = work.runtime, len(work.corpus)
        damaged, few, total = self._damaged(work), min(_TRIED, lines // 2), 0.0
        for scorer in work.scorers:
            corpora = [corpus for corpus, _ in attack_corpora(scorer, work.corpus, damaged)]
            # The number of texts grows with attacks and systems, so few sentences may take long.
            texts = sum(len(corpus.systems) for corpus in corpora) * lines
            first = corpora[0]
            if texts < _MANY or not few or scorer.plan(first.take(range(few)), runtime) is not None:
                continue
            scorer.score_corpus(first.take(range(1)), runtime)  # loads models before the timing
            start = time.perf_counter()
            scorer.score_corpus(first.take(range(few)), runtime)
            total += (time.perf_counter() - start) * texts / (few * len(first.systems))
        return total

    def run(self, work: Work) -> Result:
        """Damage corrections, score them with the undamaged ones and summarise the effects.

        Table `rows` has one record per metric and kind of damage; see
        `gecjury.studies.attack.effects.effect`. Table `attacks` describes each perturbation.
        """
        corpus = work.corpus
        damaged = self._damaged(work)
        if work.folder:
            check_writable(work.folder)
        scored = [
            score_attacks(scorer, corpus, damaged, work.runtime, work.folder)
            for scorer in work.scorers
        ]
        # All metrics and kinds of damage use the same resampled sentences.
        weights = sentence_counts(len(corpus), self.resampling.resamples, [self.seed, 1])
        effects = [[effect(kind, weights) for kind in one.by_attack.values()] for one in scored]
        signatures = [one.signature for one in scored]
        rows = [
            {"metric": about.label, "family": about.family, "signature": str(about), **row}
            for about, rows_of_metric in zip(signatures, effects, strict=True)
            for row in rows_of_metric
        ]
        notes = tuple(dict.fromkeys(note for one in scored for note in one.notes))
        systems = list(dict.fromkeys(one.system for one in damaged))
        labels = [about.label for about in signatures]
        # The notes begin with the summary of each metric and end with the signatures.
        said = [f"{label} {summed_up(made)}" for label, made in zip(labels, effects, strict=True)]
        said += [_MEANING, *notes, *map(str, signatures)]
        title = (
            f"Damaged and undamaged, {len(corpus)} sentences, {len(systems)} systems{work.named}"
        )
        shown = [Table(_effect_columns(len(systems)), rows, title, said, "rows")]
        facts: dict[str, Any] = {
            "inputs": work.inputs,
            "sentences": len(corpus),
            "systems": systems,
            "share": self.share,
            "seed": self.seed,
            "resamples": self.resampling.resamples,
            "attacks": (),
            "seconds": {one.signature.label: one.seconds for one in scored},
            "verdicts": dict(zip(labels, map(verdicts_of, effects), strict=True)),
        }
        if attacks := self.perturbations(work):
            keys = [Column("name"), Column("summary", "what it does")]
            keys.append(Column("origin", "idea from"))
            described = [{key.key: getattr(one, key.key) for key in keys} for one in attacks]
            shown.append(Table(keys, described, "Attacks", name="attacks"))
        return Result(tuple(shown), facts, notes, int(any(row["missing"] for row in rows)))

    def perturbations(self, work: Work) -> tuple[Perturbation, ...]:
        """Return the perturbations of the outputs, apart from the user's own damage."""
        if self.attacks:
            return tuple(PERTURBATIONS[name] for name in dict.fromkeys(self.attacks))
        if self.perturbed:
            return ()
        # Orders to a language model mean nothing to other metrics.
        judged = any(scorer.family == "judges" for scorer in work.scorers)
        return tuple(one for one in PERTURBATIONS.values() if judged or not one.for_judges)

    def _damaged(self, work: Work) -> list[Damaged]:
        """Return the damaged outputs, the user's own last.

        Raises:
            OptionError: the user's own damage is for several systems, or has a name that is taken.
            InputError: a file has another number of lines than the corpus.
        """
        corpus, attacks = work.corpus, self.perturbations(work)
        victims = list(dict.fromkeys(self.victims or corpus.names))
        damaged = damage(corpus, victims, attacks, share=self.share, seed=self.seed)
        for name, source in (self.perturbed or {}).items():
            file = isinstance(source, str | Path)
            called = f"--perturbed {name}={source}" if file else repr(name)
            # A file contains corrections of one system, but does not name it.
            if len(victims) != 1:
                raise OptionError(
                    f"{called}: a file is the damaged version of one system, but "
                    f"{len(victims)} are damaged: choose one with --system"
                )
            if any(one.attack == name for one in damaged):
                raise OptionError(f"{called}: the name {name} is taken")
            if isinstance(source, str | Path):
                names, read = [str(source)], [read_version(source)]
                (version,) = aligned(corpus.origin, corpus.label("source"), names, read)
                lines = version.lines
            else:
                lines = tuple(source)
            if len(lines) != len(corpus):
                raise InputError(
                    f"{source if file else called} has {len(lines)} lines, but there are "
                    f"{len(corpus)} sentences: a damaged version must have a line for each"
                )
            damaged.append(Damaged(victims[0], name, tuple(lines)))
        return damaged


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
