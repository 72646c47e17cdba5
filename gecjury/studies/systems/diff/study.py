"""Gains and losses of a NEW output against an OLD one: `gecjury diff`.

The systems are scored once. The results are corpus scores and those of error types, with paired
intervals and tests; how often either system changes correct sentences and
leaves incorrect ones; the edits that came and went; and the sentences that moved most.

Example:
    >>> from gecjury import corpus_of_texts, diff
    >>> texts = {"old": ["He go ."], "new": ["He goes ."]}
    >>> row = diff(corpus_of_texts(["He go ."], texts, [["He goes ."]]), ["errant"]).rows()[0]
    >>> row["old"], row["new"], row["difference"]
    (0.0, 1.0, 1.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.core.errors import IncompleteError, InputError, OptionError
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.report.tables import audit_tables
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.inputs import Inputs, TwoOutputs
from gecjury.studies.study import Work, function_of
from gecjury.studies.systems.page import Systems, SystemsStudy

if TYPE_CHECKING:
    from gecjury.scoring.scores import Plan, ScoreTable
    from gecjury.stats.figure import Figure
    from gecjury.studies.systems.diff.edited import EditChange, MovedSentence
    from gecjury.studies.systems.diff.gate import Gate
    from gecjury.studies.systems.diff.paired import Paired
    from gecjury.studies.systems.diff.tables import TypeDifference

TypeLevels = Literal[0, 1, 2, 3]
"""The levels of `TypeLevel`, or 0 for no error types."""


@dataclass(frozen=True, kw_only=True)
class Diff(SystemsStudy):
    """Gains and losses of a new output against an old one, and a gate for releases.

    Attributes:
        by_type: how error types are distinguished: 1 operation (M, R, U), 2 category, 3 both, 0
            not at all.
        show: number of edits that are listed, and of sentences of each direction.
        resampling: the paired bootstrap over sentences, and the paired tests.
        seed: seed of the resampling and of the tests.
        fail_if: exit with status 3 if this condition is true, with 2 if something could not be
            scored, as in 'errant < -0.005 or over-correction > 0.01'. A name means the difference
            NEW − OLD; after a dot come old, new, low and high (bounds of the interval) or p;
            repeat for more.
    """

    inputs: ClassVar[Inputs] = TwoOutputs()
    by_type: TypeLevels = 2
    show: int = option(5, metavar="N", least=0, most=1000)
    resampling: Resampling = option(
        Resampling(over="sentences", permutations=1000), offers=("resamples", "confidence")
    )
    seed: int = option(0, least=0)
    fail_if: tuple[str, ...] = option((), metavar="CONDITION")

    @property
    def _gate(self) -> Gate:
        from gecjury.studies.systems.diff.gate import parse_gate

        return parse_gate(self.fail_if)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._gate  # refuses malformed conditions before anything is scored

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests of the metrics; refuse a gate, which would have no scores."""
        if self.fail_if:
            raise OptionError(
                "`dry_run=` scores nothing, so `fail_if=` has nothing to judge: leave one out"
            )
        return super().plans(work)

    def check(self, work: Work) -> None:
        """Refuse anything but two systems, and conditions that name no figure."""
        from gecjury.studies.systems.diff import gate

        super().check(work)
        corpus = work.corpus
        if len(corpus.systems) != 2:
            raise InputError(
                f"{len(corpus.systems)} systems; expected two, the OLD one first and the NEW one "
                "second"
            )
        check_resamples(self.resampling.resamples, len(corpus))
        if conditions := self._gate:
            names = gate.metric_names(work)
            figures = gate.figure_names([*names.values()], names, bool(corpus.references))
            gate.check_gate(conditions, figures)

    def run(self, work: Work) -> Result:
        """Score both systems and compare them.

        Table `rows` has one record per metric, with its signature, and per rate (old, new,
        difference, `ci95`, p). Table `types` has the same for F0.5 by error type, with p after
        Holm's correction; `moved` has the sentences that moved most.

        Raises:
            InputError: a score that a condition of the gate needs is missing.
        """
        from gecjury.report.verdict import opening
        from gecjury.studies.systems.diff.paired import ranking_of
        from gecjury.studies.systems.diff.tables import moved_groups, type_table

        outputs = self._compared(work)
        (old, new), sides, notes = work.corpus.names, outputs.sides, outputs.notes()
        rankings = tuple(
            ranking_of(scorer, table, one, self.resampling)
            for scorer, table, one in zip(
                work.scorers, outputs.scored, outputs.metrics.values(), strict=True
            )
        )
        status, said, gate = self._judged(outputs)
        types = {one[0].metric: type_table(one) for one in outputs.types}
        return Systems(
            tuple(self._tables(outputs, types.values(), notes)),
            {**self._facts(outputs), **gate},
            notes,
            status,
            said,
            work.corpus.language.code,
            f"{new} against {old}",
            verdict=opening({one.metric: one.lead.renamed(sides) for one in rankings}),
            rankings=rankings,
            work=work,
            scored=outputs.scored,
            numbers=tuple(outputs.figures()),
            kicker="old and new",
            types_on_page={
                f"{metric}: {new} − {old}": replace(table.seen_by("verbose"), title="")
                for metric, table in types.items()
            },
            sentences_on_page=(
                "Effect: how much of the difference NEW − OLD disappears without the sentence.",
                partial(moved_groups, work, outputs.moved),
            ),
        )

    def _compared(self, work: Work) -> ComparedOutputs:
        """Score both systems and compare them."""
        from gecjury.studies.systems.diff import edited, paired, tables

        # One seed for all, so that every figure uses the same resamples and the same swaps.
        corpus, how = work.corpus, (self.resampling, self.seed)
        try:
            scored = tuple(table.settled() for table in work.scores())
        except IncompleteError as error:
            if not self.fail_if:
                raise
            raise InputError(f"{error} (`fail_if=` passes nothing that was not scored)") from None
        named = list(zip(work.scorers, scored, strict=True))
        level = self.by_type
        types = [tables.differences_by_type(t, level, *how) for t in scored] if level else []
        return ComparedOutputs(
            work,
            scored,
            {t.signature.label: paired.metric_difference(one, t, *how) for one, t in named},
            {
                name: paired.mean_difference(*one, *how)
                for name, one in paired.outcomes_of(corpus).items()
            },
            tuple(filter(None, types)),
            *edited.changes_by_metric(corpus, work.scorers, work.runtime),
            # If no sentences are listed, their effects are not computed.
            [
                sentence
                for pair in (named if self.show else [])
                for sentence in edited.moved_sentences(*pair, corpus, self.show)
            ],
        )

    def _judged(self, outputs: ComparedOutputs) -> tuple[int, tuple[str, ...], dict[str, object]]:
        """Return the exit status, and what the gate says: to people, and to programs."""
        from gecjury.studies.systems.diff import gate

        unscored = [
            f"{table.unanswered} scores of {table.signature.label}"
            for table in outputs.scored
            if table.unanswered
        ]
        # Judged only now, since a gate may name any metric and rate.
        if not (conditions := self._gate):
            return int(bool(unscored)), (), {}
        figures = gate.figures_of(outputs.numbers, gate.metric_names(outputs.work))
        verdict = gate.judge_gate(conditions, figures)
        return *gate.outcome(verdict, unscored), {"gate": verdict.record()}

    def _facts(self, outputs: ComparedOutputs) -> dict[str, object]:
        from gecjury.studies.systems.diff.edited import totals

        old, new = outputs.work.corpus.names
        edits = outputs.edits and {
            "totals": totals(outputs.edits),
            "changes": [one.row() for one in outputs.edits if one.move != "kept"],
        }
        # Tables of these names replace the empty values, which fixes the order of the keys.
        return {
            "old": old,
            "new": new,
            "types": [],
            "edits": edits,
            "moved": [],
            "correction": "holm",
        }

    def _tables(
        self, outputs: ComparedOutputs, types: Iterable[Table], notes: Sequence[str]
    ) -> Iterator[Table]:
        from gecjury.studies.systems.diff.tables import edit_tables, moved_tables

        old, new = outputs.sides.values()
        yield self._differences(f"{new} − {old}", outputs, notes)
        yield from types
        yield from edit_tables(outputs.edits, self.show)
        yield from moved_tables(outputs.moved, self.show) if outputs.moved else ()
        yield from audit_tables(outputs.scored)

    def _differences(self, title: str, outputs: ComparedOutputs, notes: Sequence[str]) -> Table:
        from gecjury.studies.systems.diff.paired import RATES
        from gecjury.studies.systems.diff.tables import bounded

        how = self.resampling
        signatures = [str(table.signature) for table in outputs.scored]
        rows = [
            {"measure": label, **one.row(), "signature": signature}
            for (label, one), signature in zip(outputs.metrics.items(), signatures, strict=True)
        ]
        rows += [{"measure": name, **one.row()} for name, one in outputs.rates.items()]
        about = (
            f"low, high: {how.confidence:.0%} paired percentile bootstrap of the difference over "
            f"sentences, {how.resamples} resamples, seed {self.seed}; p: paired approximate "
            f"randomisation, {how.permutations} permutations (small p from a normal curve)"
        )
        legend = f"low, high: {how.confidence:.0%} paired bootstrap; p: paired randomisation"
        if outputs.rates:
            legend += "; over-correction and under-correction: lower is better"
        about_all = (about, *(f"{name}: {RATES[name]}" for name in outputs.rates))
        columns = [
            Column("measure"),
            *bounded(4),
            Column("p", legend=legend, notes=about_all),
            Column("sentences"),
        ]
        return Table(columns, rows, title, [*notes, *signatures], "rows")


@dataclass(frozen=True)
class ComparedOutputs:
    """Two outputs and their differences.

    Attributes:
        scored: the scores of each metric.
        metrics: differences by the label of the metric.
        rates: differences by the name of the rate.
        types: differences by error type, for each metric that counts types.
        edits: the edits of both; None if they cannot be extracted.
        moved: the sentences that moved the differences most.
    """

    work: Work
    scored: tuple[ScoreTable, ...]
    metrics: Mapping[str, Paired]
    rates: Mapping[str, Paired]
    types: tuple[list[TypeDifference], ...]
    edits: list[EditChange] | None
    about_edits: Sequence[str]
    moved: list[MovedSentence]

    @property
    def numbers(self) -> dict[str, Paired]:
        """The differences of metrics, then those of rates."""
        return {**self.metrics, **self.rates}

    @property
    def sides(self) -> dict[str, str]:
        """How people see the systems, by name."""
        old, new = self.work.corpus.names
        return {old: f"{old} (OLD)", new: f"{new} (NEW)"}

    def notes(self) -> tuple[str, ...]:
        """Return remarks for the reader."""
        from gecjury.studies.systems.diff.tables import remarks

        about_scores = (note for table in self.scored for note in table.statistics.notes)
        said = remarks(self.work.corpus, self.numbers)
        return tuple(dict.fromkeys([*said, *about_scores, *self.about_edits]))

    def figures(self) -> Iterator[Figure]:
        """Yield the differences, then those of error types."""
        names = self.work.corpus.names
        for name, one in self.numbers.items():
            yield from one.figures(name, *names, rate=name in self.rates)
        for of_metric in self.types:
            for kind in of_metric:
                yield from kind.paired.figures(kind.metric, *names, part=kind.type)


diff = function_of(Diff)
