"""Gains and losses of a NEW output against an OLD one: `gecjury diff`.

The systems are scored once. The results are corpus scores and those of error types, with paired
intervals and tests; how often either system changes correct sentences and
leaves incorrect ones; the edits that came and went; and the sentences that moved most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan, nan
from typing import Any, ClassVar, Literal, cast

import numpy as np

from gecjury.core.errors import IncompleteError, InputError, MissingExtraError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.report.result import Column, Record, Result, Table
from gecjury.report.tables import audit_tables
from gecjury.report.verdict import opening
from gecjury.scoring.abilities import ReadsEdits
from gecjury.scoring.by_edit import whole_counts
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan, ScoreTable
from gecjury.scoring.system_tests import SystemTests
from gecjury.stats.choices import TypeLevel
from gecjury.stats.permutation import holm
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.inputs import Inputs, TwoOutputs
from gecjury.studies.study import Work, function_of
from gecjury.studies.systems.costly import judged
from gecjury.studies.systems.diff.edited import (
    Change,
    MovedSentence,
    edit_changes,
    most_frequent,
    moved_sentences,
    totals,
)
from gecjury.studies.systems.diff.gate import (
    Gate,
    check_gate,
    figure_names,
    figures_of,
    judge_gate,
    parse_gate,
)
from gecjury.studies.systems.diff.paired import (
    RATES,
    Paired,
    metric_difference,
    outcomes_of,
    rate_difference,
    type_counts,
    type_differences,
)
from gecjury.studies.systems.page import Sentences, Systems, SystemsStudy
from gecjury.studies.systems.parts import three_counts
from gecjury.studies.systems.ranking import Ranking, rank_scores, settings_of_tests

TypeLevels = Literal[0, 1, 2, 3]
"""The levels of `TypeLevel`, or 0 for no error types."""

TRIPPED = 3
"""Exit status if a condition of `--fail-if` is true."""


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
        super().check(work)
        corpus = work.corpus
        if len(corpus.systems) != 2:
            raise InputError(
                f"{len(corpus.systems)} systems; expected two, the OLD one first and the NEW one "
                "second"
            )
        check_resamples(self.resampling.resamples, len(corpus))
        if gate := self._gate:
            names = _metric_names(work)
            check_gate(gate, figure_names([*names.values()], names, bool(corpus.references)))

    def run(self, work: Work) -> Result:
        """Score both systems and compare them.

        Table `rows` has one record per metric, with its signature, and per rate (old, new,
        difference, `ci95`, p). Table `types` has the same for F0.5 by error type, with p after
        Holm's correction; `moved` has the sentences that moved most.

        Raises:
            InputError: a score that a condition of the gate needs is missing.
        """
        corpus = work.corpus
        # One seed for all, so that every figure uses the same resamples and the same swaps.
        how = (self.resampling, self.seed)
        try:
            tables = tuple(table.settled() for table in work.scores())
        except IncompleteError as error:
            if not self.fail_if:
                raise
            raise InputError(f"{error} (--fail-if passes nothing that was not scored)") from None
        named = list(zip(work.scorers, tables, strict=True))
        metrics = {
            table.signature.label: metric_difference(one, table, *how) for one, table in named
        }
        rates = {name: rate_difference(*one, *how) for name, one in outcomes_of(corpus).items()}
        edits, about_edits = _edits(corpus, work.scorers, work.runtime)
        figures = {**metrics, **rates}
        about_scores = (note for table in tables for note in table.statistics.notes)
        remarks = _remarks(corpus, figures)
        notes = list(dict.fromkeys([*remarks, *about_scores, *about_edits]))
        # If no sentences are listed, their effects are not computed.
        shown_of = named if self.show else []
        moved = [one for pair in shown_of for one in moved_sentences(*pair, corpus, self.show)]
        gate = self._gate
        # Judged only now, since a gate may name any metric and rate.
        verdict = judge_gate(gate, figures_of(figures, _metric_names(work))) if gate else None
        old, new = corpus.names
        sides = {old: f"{old} (OLD)", new: f"{new} (NEW)"}
        title = f"{sides[new]} − {sides[old]}"
        types = list(self._type_tables(tables))
        scorers = {table.signature.label: scorer for scorer, table in named}
        shown = [
            self._differences(title, metrics, rates, tables, notes),
            *types,
            *_edit_tables(edits, self.show),
            *(_moved_tables(moved, self.show) if moved else ()),
            *audit_tables(list(tables)),
        ]
        unscored = [
            f"{table.unanswered} scores of {table.signature.label}"
            for table in tables
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
            "uncertainty": {
                **settings_of_tests(self.resampling, self.seed),
                "correction": "holm",
            },
        }
        if edits is not None:
            facts["edits"] = {
                "totals": totals(edits),
                "changes": [vars(one) for one in edits if one.move != "kept"],
            }
        if verdict is not None:
            status, said = _judged(verdict, unscored)
            facts["gate"] = verdict
        rankings = tuple(self._ranking(*pair, metrics[pair[1].signature.label]) for pair in named)
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
            scored=tables,
            differences=tuple(differences),
            kicker="old and new",
            types_on_page={
                f"{table.rows[0]['metric']}: {new} − {old}": replace(
                    table.seen_by("verbose"), title=""
                )
                for table in types
            },
            sentences_on_page=(_EFFECT, partial(_moved_groups, work, scorers, moved)),
        )

    def _ranking(self, scorer: Scorer, table: ScoreTable, one: Paired) -> Ranking:
        """Return the two systems by a metric, the better one first."""
        old, new = table.systems
        p = np.array([[np.nan, one.p], [one.p, np.nan]])
        how = self.resampling
        return rank_scores(
            scorer,
            table,
            replace(how, over="none"),
            tests=SystemTests.of(np.array([one.old, one.new]), p, how.level),
            paired={(new, old): one.interval},
        )

    def _differences(
        self,
        title: str,
        metrics: Mapping[str, Paired],
        rates: Mapping[str, Paired],
        tables: Sequence[ScoreTable],
        notes: Sequence[str],
    ) -> Table:
        how = self.resampling
        signatures = [str(table.signature) for table in tables]
        rows = [
            {"measure": label, **one.row(), "signature": signature}
            for (label, one), signature in zip(metrics.items(), signatures, strict=True)
        ]
        rows += [{"measure": name, **one.row()} for name, one in rates.items()]
        columns = [
            Column("measure"),
            *_bounded(4),
            Column("p"),
            Column("sentences"),
        ]
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

    def _type_tables(self, tables: Sequence[ScoreTable]) -> Iterator[Table]:
        """Yield F0.5 by error type, for each metric that counts types."""
        for table in tables:
            level = cast(TypeLevel, self.by_type)
            counted = type_counts(table, level) if self.by_type else None
            if counted is None or not counted[0]:
                continue
            kinds, counts = counted
            differences = type_differences(counts, self.resampling, self.seed)
            adjusted = holm(np.array([one.p for one in differences])).tolist()
            sums = zip(*counts.sum(axis=1), strict=True)
            rows = [
                {
                    "metric": table.signature.label,
                    "type": kind,
                    **_counts("old", old),
                    **_counts("new", new),
                    **one.row(),
                    "adjusted": p,
                }
                for kind, (old, new), one, p in zip(kinds, sums, differences, adjusted, strict=True)
            ]
            note = "F0.5; p (Holm): corrected over the types; with the corpus score's references"
            columns = [
                Column("type"),
                *(
                    Column(f"{side} tp/fp/fn", value=partial(_three, side))
                    for side in ("old", "new")
                ),
                *_bounded(3),
                Column("adjusted"),
            ]
            title = f"By error type: {table.signature.label}"
            full = Table(columns, rows, title, [note], "types")
            people = replace(full, rows=sorted(map(_of_edits, rows), key=_certainty))
            yield replace(full, instead={"verbose": people})


def _bounded(digits: int) -> list[Column]:
    """Return the columns of a difference, with the bounds of its interval."""
    return [
        Column("old", digits=digits),
        Column("new", digits=digits),
        Column("difference", digits=digits),
        Column("low", digits=digits, value=lambda row: row["ci95"][0]),
        Column("high", digits=digits, value=lambda row: row["ci95"][1]),
    ]


def _of_edits(row: Record) -> Record:
    """Return the record of an error type without the F0.5 of a system that has no edits of it."""
    empty = {
        side: nan
        for side in ("old", "new")
        if not any(row[f"{side}_{key}"] for key in ("tp", "fp", "fn"))
    }
    undefined = {"difference": nan, "ci95": (nan, nan), "adjusted": nan} if empty else {}
    return {**row, **empty, **undefined}


def _certainty(row: Record) -> tuple[bool, float, float, float]:
    """Return the key that sorts error types: the most certain differences first."""
    return isnan(row["difference"]), row["adjusted"], row["p"], -abs(row["difference"])


def _three(side: str, row: Record) -> str:
    return three_counts([row[f"{side}_{key}"] for key in ("tp", "fp", "fn")])


def _counts(side: str, counts: Any) -> dict[str, float]:
    names = [f"{side}_{key}" for key in ("tp", "fp", "fn")]
    return dict(zip(names, whole_counts(counts), strict=True))


def _remarks(corpus: Corpus, figures: Mapping[str, Paired]) -> Iterator[str]:
    one, two = corpus.systems.values()
    if all(a.split() == b.split() for a, b in zip(one.lines, two.lines, strict=True)):
        yield f"OLD and NEW have the same corrections on all {len(corpus)} lines"
    if not corpus.references:
        yield (
            "no references (-r): rates of over-correction, under-correction and success, and which "
            "edits are right, are left out"
        )
    for name, figure in figures.items():
        if figure.dropped and figure.sentences:
            yield f"{name}: {figure.dropped} resampled differences are not defined and are left out"


def _edits(
    corpus: Corpus, scorers: Sequence[Scorer], runtime: Runtime
) -> tuple[list[Change] | None, Sequence[str]]:
    """Return edits as extracted by the first metric over edits, else by the default tagger."""
    # Edits are extracted in the same way as by the metric that is printed above.
    readers = (one.extraction for one in scorers if isinstance(one, ReadsEdits))
    _, tagger = next(readers, ("auto", "embedded"))
    try:
        return edit_changes(corpus, runtime, tagger)
    except MissingExtraError as error:
        return None, [f"edits that came and went are left out: {error}"]


def _edit_tables(edits: Sequence[Change] | None, show: int) -> Iterator[Table]:
    if edits is None:
        return
    judged = ["right", "wrong"] if any(one.right is not None for one in edits) else []
    columns = [Column(key) for key in ("edits", "count", *judged)]
    note = "came: only NEW makes it; went: only OLD did"
    if judged:
        columns.append(Column("share"))
        note += "; right: some reference has it, at the same place"
    yield Table(columns, totals(edits), "Edits that came and went", [note])
    if rows := most_frequent(edits, show):
        columns = [Column(key) for key in ("edits", "edit", "type", "count", *judged)]
        yield Table(columns, rows, "The most frequent of them")


_EFFECT = "Effect: how much of the difference NEW − OLD disappears without the sentence."


def _moved_groups(
    work: Work, scorers: Mapping[str, Scorer], moved: Sequence[MovedSentence]
) -> Sentences:
    """Return the sentences that moved most by metric and direction, for the page."""
    groups: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {}
    for one in moved:
        about = f"line {one.line} · {number(one.old, 4)} → {number(one.new, 4)}"
        about += f" · effect {number(one.effect, 5)}"
        (_, old), *near_old = judged(work.corpus.names[0], one.line, scorers[one.metric], work)
        (_, new), *near_new = judged(work.corpus.names[1], one.line, scorers[one.metric], work)
        # The two corrections may be close to different references.
        texts = [("OLD", old), ("NEW", new), *dict([*near_old, *near_new]).items()]
        group = f"{one.metric}: sentences on which NEW {'gains' if one.effect > 0 else 'loses'}"
        groups.setdefault(group, []).append((about, texts))
    return groups


def _moved_tables(moved: Sequence[MovedSentence], show: int) -> Iterator[Table]:
    """Yield all sentences for programs, and those of the first metric that moved most for people.

    The two corrections of a sentence are one below the other.
    """
    yield Table((), [one.row() for one in moved], name="moved")
    first = moved[0].metric
    of_first = [one for one in moved if one.metric == first]
    rows: list[Record] = []
    for one in sorted(of_first, key=lambda one: -abs(one.effect))[:show]:
        about = {"line": one.line, "effect": one.effect}
        rows.append({**about, "side": "OLD", "score": one.old, "marked": one.old_marked})
        below = {"side": "NEW", "score": one.new, "marked": one.new_marked}
        rows.append({**dict.fromkeys(about, ""), **below})
    columns = [Column("line"), Column("effect"), Column("side")]
    columns += [Column("score"), Column("marked")]
    note = "effect: how much of NEW − OLD disappears without the sentence; edits as [old→new]"
    yield Table(columns, rows, f"Sentences that moved most: {first}", [note])


def _metric_names(work: Work) -> dict[str, str]:
    """Return labels of metrics by possible names: as given, and short names if unambiguous."""
    labels = [scorer.signature(work.corpus, work.runtime).label for scorer in work.scorers]
    short = [scorer.name for scorer in work.scorers]
    names = {text: labels[work.scorers.index(scorer)] for text, scorer in work.typed.items()} | {
        label: label for label in labels
    }
    for name, label in zip(short, labels, strict=True):
        if label == name or short.count(name) == 1:
            names.setdefault(name, label)
    return names


def _judged(gate: Record, unscored: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the exit status of the gate, and messages about the figures.

    Args:
        gate: from `judge_gate`.
        unscored: what else is missing.
    """
    said = [f"gate: {o['condition']} holds: {_values(o['values'])}" for o in gate["tripped"]]
    missing = [*unscored, *(f"{name} is not defined" for name in gate["missing"])]
    if missing:
        return 2, (*said, f"gate: cannot be judged: missing: {'; '.join(missing)}")
    if said:
        return TRIPPED, tuple(said)
    return 0, (f"gate: passed: {_values(gate['values'])}",)


def _values(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in values.items())


diff = function_of(Diff)
