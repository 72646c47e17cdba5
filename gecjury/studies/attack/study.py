"""Which metrics prefer damaged corrections to the undamaged ones: `gecjury attack`.

Example:
    >>> from gecjury import attack
    >>> row = attack("sample", ["green"]).rows()[0]
    >>> row["attack"], round(row["higher"], 2)
    ('copy-source', 0.14)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.errors import OptionError, nearest
from gecjury.core.settings import option
from gecjury.core.wording import WARNING
from gecjury.report.result import Column, Result, Table
from gecjury.studies.attack.perturbations import PERTURBATIONS, Perturbation
from gecjury.studies.inputs import FilesOrBenchmark, Inputs
from gecjury.studies.made_up import MadeTexts, MadeUp, notes_of
from gecjury.studies.study import Work, function_of

if TYPE_CHECKING:
    from gecjury.studies.attack.effects import Damaged


@dataclass(frozen=True, kw_only=True)
class Attack(MadeUp["list[Damaged]"]):
    """Damaged corrections compared with the undamaged ones, to see which metrics are fooled.

    Attributes:
        victims: damage this system's output; repeat for more (default: every system).
        attacks: a perturbation from the second table; repeat for more (default: all, but those
            that address language models only if a judge is among the metrics).
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark (seeda, ..., sample), or a source file and system outputs"
    )
    new_texts: ClassVar[str] = "attack"
    victims: tuple[str, ...] = option((), "--system", metavar="NAME")
    attacks: tuple[str, ...] = option((), "--attack", metavar="NAME")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.attacks:
            if name not in PERTURBATIONS:
                raise OptionError(f"unknown attack {name!r}: {nearest(name, PERTURBATIONS)}")

    def check(self, work: Work) -> None:
        """Refuse unknown systems."""
        super().check(work)
        for name in self.victims:
            if name not in work.corpus.systems:
                raise OptionError(f"`system={name!r}`: {nearest(name, work.corpus.names)}")

    def make(self, work: Work) -> MadeTexts[list[Damaged]]:
        """Damage the outputs of the chosen systems with every perturbation."""
        from gecjury.studies.attack.effects import attack_corpora, damage

        corpus = work.corpus
        victims = dict.fromkeys(self.victims or corpus.names)
        damaged = damage(corpus, list(victims), self._perturbations(work), seed=self.seed)
        return lambda scorer: attack_corpora(scorer, corpus, damaged)

    def run(self, work: Work) -> Result:
        """Damage corrections, score them with the undamaged ones and summarise the effects.

        Table `rows` has one record per metric and kind of damage; see `Effect`. Table `attacks`
        describes each perturbation.
        """
        from gecjury.stats.figure import records
        from gecjury.studies.attack.effects import effects_of, summed_up

        corpus, perturbations = work.corpus, self._perturbations(work)
        systems = list(dict.fromkeys(self.victims or corpus.names))
        weights = self.resampled(len(corpus), 1)
        scored = self.scored(work, self.make(work))
        of_metric = [(one, effects_of(one.parts, corpus, perturbations, weights)) for one in scored]
        pairs = [(one, effect) for one, effects in of_metric for effect in effects]
        figures = [f for one, e in pairs for f in e.figures(one.label, one.scorer.family)]
        plain = records(figures, names={"part": "attack"})
        rows = [
            {**row, "signature": one.signature, "verdict": effect.verdict}
            for row, (one, effect) in zip(plain, pairs, strict=True)
        ]
        # Damage may move lines on purpose, so remarks on damaged outputs would mislead.
        made_up = {what.name for one in scored for _, some in one.parts for what in some}
        damaged_outputs = tuple(f"{WARNING}system {name}:" for name in made_up)
        notes = tuple(note for note in notes_of(scored) if not note.startswith(damaged_outputs))
        size = f"{len(corpus)} sentences, {len(systems)} systems"
        title = f"Damaged and undamaged, {size}{work.named}"
        facts = {"inputs": work.inputs, "sentences": len(corpus), "systems": systems}
        verdict = (f"{one.label} {summed_up(all_, len(systems))}." for one, all_ in of_metric)
        about = [*notes, *(one.signature for one in scored)]
        return Result(
            (Table(_COLUMNS, rows, title, about, "rows"), _described(perturbations)),
            {**facts, "seconds": {one.label: one.seconds for one in scored}},
            notes,
            int(any(effect.missing for _, effect in pairs)),
            verdict=tuple(verdict),
            numbers=tuple(figures),
        )

    def _perturbations(self, work: Work) -> tuple[Perturbation, ...]:
        if self.attacks:
            return tuple(PERTURBATIONS[name] for name in dict.fromkeys(self.attacks))
        # Orders to a language model mean nothing to other metrics.
        judged = any(scorer.family == "judges" for scorer in work.scorers)
        return tuple(one for one in PERTURBATIONS.values() if judged or not one.for_judges)


def _described(perturbations: Sequence[Perturbation]) -> Table:
    rows = [{"name": what.name, "summary": what.summary} for what in perturbations]
    columns = [Column("name"), Column("summary", place="attack")]
    return Table(columns, rows, "Attacks", name="attacks")


_COLUMNS = (
    *map(Column, ("metric", "attack")),
    Column(
        "higher",
        legend="higher, lower: share of the damaged texts whose sentence score is above, below "
        "that of the undamaged",
        notes=(
            "higher, equal, lower: share of the damaged texts whose sentence score is above, at, "
            "below that of the undamaged; before, after: corpus scores, mean over systems; "
            "> undamaged, > source: for how many systems the damaged output would rank above",
        ),
    ),
    Column("equal", hidden=("brief",)),
    Column("lower"),
    Column("net", interval="net_ci95"),
    Column("change"),
    *(Column(k, hidden=("brief",)) for k in ("before", "after", "outranks", "outranks_source")),
    Column("verdict"),
)


attack = function_of(Attack)
