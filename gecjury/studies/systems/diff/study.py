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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

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
    from gecjury.studies.systems.diff.gate import Gate
    from gecjury.studies.systems.diff.paired import Paired

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
    page: ClassVar[bool | str] = True
    by_type: TypeLevels = 2
    show: int = option(5, metavar="N", least=0, most=1000)
    resampling: Resampling = option(
        Resampling(over="sentences", permutations=1000),
        offers=("resamples", "confidence"),
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
                "--dry-run scores nothing, so --fail-if has nothing to judge: leave one out"
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
        from gecjury.studies.systems.diff import edited, gate, paired, tables

        corpus = work.corpus
        # One seed for all, so that every figure uses the same resamples and the same swaps.
        how = (self.resampling, self.seed)
        try:
            scored = tuple(table.settled() for table in work.scores())
        except IncompleteError as error:
            if not self.fail_if:
                raise
            raise InputError(f"{error} (--fail-if passes nothing that was not scored)") from None
        named = list(zip(work.scorers, scored, strict=True))
        metrics = {
            table.signature.label: paired.metric_difference(one, table, *how)
            for one, table in named
        }
        rates = {
            name: paired.rate_difference(*one, *how)
            for name, one in paired.outcomes_of(corpus).items()
        }
        edits, about_edits = edited.changes_by_metric(corpus, work.scorers, work.runtime)
        figures = {**metrics, **rates}
        about_scores = (note for table in scored for note in table.statistics.notes)
        remarks = tables.remarks(corpus, figures)
        notes = list(dict.fromkeys([*remarks, *about_scores, *about_edits]))
        # If no sentences are listed, their effects are not computed.
        shown_of = named if self.show else []
        moved = [
            one for pair in shown_of for one in edited.moved_sentences(*pair, corpus, self.show)
        ]
        old, new = corpus.names
        sides = {old: f"{old} (OLD)", new: f"{new} (NEW)"}
        title = f"{sides[new]} − {sides[old]}"
        types = list(tables.type_tables(scored, self.by_type, *how)) if self.by_type else []
        scorers = {table.signature.label: scorer for scorer, table in named}
        shown = [
            self._differences(title, metrics, rates, scored, notes),
            *types,
            *tables.edit_tables(edits, self.show),
            *(tables.moved_tables(moved, self.show) if moved else ()),
            *audit_tables(list(scored)),
        ]
        unscored = [
            f"{table.unanswered} scores of {table.signature.label}"
            for table in scored
            if table.unanswered
        ]
        status, said = int(bool(unscored)), tuple[str, ...]()
        # Tables of these names replace the empty values, which fixes the order of the keys.
        facts: dict[str, Any] = {
            "old": old,
            "new": new,
            "types": [],
            "edits": None,
            "moved": [],
            "correction": "holm",
        }
        if edits is not None:
            facts["edits"] = {
                "totals": edited.totals(edits),
                "changes": [vars(one) for one in edits if one.move != "kept"],
            }
        # Judged only now, since a gate may name any metric and rate.
        if conditions := self._gate:
            named_figures = gate.figures_of(figures, gate.metric_names(work))
            facts["gate"] = verdict = gate.judge_gate(conditions, named_figures)
            status, said = gate.outcome(verdict, unscored)
        rankings = tuple(
            paired.ranking_of(*pair, metrics[pair[1].signature.label], self.resampling)
            for pair in named
        )
        differences = [
            figure
            for name, one in figures.items()
            for figure in one.figures(name, old, new, rate=name in rates)
        ]
        return Systems(
            tuple(shown),
            facts,
            tuple(notes),
            status,
            said,
            corpus.language.code,
            f"{new} against {old}",
            verdict=opening({one.metric: one.lead.renamed(sides) for one in rankings}),
            rankings=rankings,
            work=work,
            scored=scored,
            differences=tuple(differences),
            kicker="old and new",
            types_on_page={
                f"{table.rows[0]['metric']}: {new} − {old}": replace(
                    table.seen_by("verbose"), title=""
                )
                for table in types
            },
            sentences_on_page=(
                "Effect: how much of the difference NEW − OLD disappears without the sentence.",
                partial(tables.moved_groups, work, scorers, moved),
            ),
        )

    def _differences(
        self,
        title: str,
        metrics: Mapping[str, Paired],
        rates: Mapping[str, Paired],
        tables: Sequence[ScoreTable],
        notes: Sequence[str],
    ) -> Table:
        from gecjury.studies.systems.diff.paired import RATES
        from gecjury.studies.systems.diff.tables import bounded

        how = self.resampling
        signatures = [str(table.signature) for table in tables]
        rows = [
            {"measure": label, **one.row(), "signature": signature}
            for (label, one), signature in zip(metrics.items(), signatures, strict=True)
        ]
        rows += [{"measure": name, **one.row()} for name, one in rates.items()]
        columns = [Column("measure"), *bounded(4), Column("p"), Column("sentences")]
        about = (
            f"low, high: {how.confidence:.0%} paired percentile bootstrap of the difference over "
            f"sentences, {how.resamples} resamples, seed {self.seed}; p: paired approximate "
            f"randomisation, {how.permutations} permutations (small p from a normal curve)"
        )
        meanings = [f"{name}: {RATES[name]}" for name in rates]
        table = Table(columns, rows, title, [about, *meanings, *notes, *signatures], "rows")
        legend = f"low, high: {how.confidence:.0%} paired bootstrap; p: paired randomisation"
        if rates:
            legend += "; over-correction and under-correction: lower is better"
        return replace(table, instead={"brief": replace(table, notes=notes, legend=legend)})


diff = function_of(Diff)
