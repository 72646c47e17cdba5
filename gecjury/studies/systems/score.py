"""Score systems with any metrics: `gecjury score`.

Example:
    >>> from gecjury import score
    >>> [row] = [row for row in score("sample", ["green"]).rows() if row["system"] == "careful"]
    >>> round(row["score"], 4)
    0.9346
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import MISSED, differing_spans, marked_edits, nearest_reference
from gecjury.report.result import Column, Record, Result, Table
from gecjury.report.tables import audit_tables, crossed
from gecjury.scoring.by_edit import TypeLevel, merged_type, whole_counts
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.counts import defined_mean, precision_recall_f
from gecjury.studies.study import Study, Takes, Work, function_of

# Most metrics use no edits and should not wait for the import of the extraction.
if TYPE_CHECKING:
    from gecjury.extraction.extract import CorpusEdits

_CANDIDATES = 200
_MEASURES = ("precision", "recall", "score")
_BY_TYPE = "By error type"
_ALL_RULES = "all rules"
# Defaults of the page.
_USUAL_LEVEL: TypeLevel = 2
_USUAL_WORST = 5
_MOST_NAMED = 4  # most systems that the title of the page lists by name


@dataclass(frozen=True, repr=False)
class ScoreResult(Result):
    """Scores as tables, with the texts, metrics and scores for their page."""

    work: Work = field(kw_only=True)
    scored: tuple[ScoreTable, ...] = field(kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Score(Study):
    """Scores of systems by any metrics.

    Attributes:
        sentences: print every sentence's score.
        by_type: also print counts by error type: 1 operation (M, R, U), 2 category, 3 both.
        by_rule: also print counts by rule of a grammar checker: 1 category, 2 rule, 3 both.
        macro: also print macro averages of precision, recall and F, over sentences and error types.
        worst: also print the N sentences that cost each system most.
    """

    takes: ClassVar[Takes] = "files or dataset"
    keeps: ClassVar[bool] = True
    page: ClassVar[bool] = True
    sentences: bool = False
    by_type: TypeLevel | None = None
    by_rule: TypeLevel | None = None
    macro: bool = False
    worst: int | None = option(None, metavar="N", least=1, most=10_000)

    def run(self, work: Work) -> Result:
        """Score the systems.

        Table `rows` has one record per metric and system: `score`, `precision` and `recall` if the
        metric has them, and on request `sentences`, `by_type` (counts, precision, recall and F0.5
        by error type), `by_rule` (`rule_records`) and `macro` (`macro_records`). Table `worst` has
        the sentences that cost most.

        Raises:
            OptionError: counts by error type or rule or macro averages are requested, but no
                metric has them.
        """
        tables = work.scores()
        asked = self._asked(work.corpus, tables)
        # JSON has the requested figures inside the records; people see them in separate tables.
        rows = [
            self._row(table, number, row, {name: made[place] for name, made in asked.items()})
            for place, table in enumerate(tables)
            for number, row in enumerate(table.rows())
        ]
        notes = tuple(dict.fromkeys(note for one in tables for note in one.statistics.notes))
        columns = [Column(key, digits=4) for key in ("system", "metric", "score")]
        parts = [key for key in ("precision", "recall") if any(key in row for row in rows)]
        columns += [Column(key, digits=4) for key in parts]
        signatures = [str(table.signature) for table in tables]
        main = Table(columns, rows, notes=[*signatures, *notes], name="rows")
        shown = [replace(main, instead={"latex": crossed(main, *parts, "score")})]
        if self.sentences:
            shown.append(_sentence_table(tables))
        shown += [
            _TABLES[name]([record for of_metric in made for record in of_metric])
            for name, made in asked.items()
        ]
        shown += audit_tables(list(tables))
        if self.worst:
            worst = costly_sentences(tables, work.scorers, work.corpus, self.worst)
            shown.append(costly_table(worst))
        audits = {
            str(table.signature): table.statistics.details["audit"]["members"]
            for table in tables
            if "audit" in table.statistics.details
        }
        return ScoreResult(
            tuple(shown),
            {"audits": audits} if audits else {},
            notes,
            int(any(table.unanswered for table in tables)),
            language=work.corpus.language.code,
            title=f"Scores of {', '.join(work.corpus.names)}",
            work=work,
            scored=tables,
        )

    def html(self, result: Result) -> str:
        """Return scores as one page: who leads, intervals, error types, sentences that cost most.

        The page has tests, error types and costly sentences whether or not they were asked for.
        """
        from gecjury.report.page.listed import Scored, scores_html

        assert isinstance(result, ScoreResult)
        work, tables = result.work, result.scored
        systems = {(row["metric"], row["system"]): row for row in result.rows()}
        directed = {
            table.signature.label: scorer.directed
            for scorer, table in zip(work.scorers, tables, strict=True)
        }
        rows = [
            {**systems[row["metric"], row["system"]], **row, "directed": directed[row["metric"]]}
            for row in _ranked(work.scorers, tables)
        ]
        types = [
            record
            for table in tables
            for record in costly_types(type_records(table, self.by_type or _USUAL_LEVEL))
        ]
        if self.worst:
            worst = [dict(row) for row in result.table("worst").rows]
        else:
            worst = costly_sentences(tables, work.scorers, work.corpus, _USUAL_WORST)
        own = ("rows", "worst")
        further = [
            t for t in result.shown_to("verbose") if t.name not in own and t.title != _BY_TYPE
        ]
        corpus, names = work.corpus, result.short_names()
        judged = judged_sentences(worst, work, tables)
        for record in (*rows, *types, *judged):
            record["metric"] = names.get(record["metric"], record["metric"])
        page = Scored(
            rows,
            types,
            judged,
            further,
            [
                f"{count} {thing}{'s' * (count != 1)}"
                for thing, count in {
                    "system": len(corpus.names),
                    "sentence": len(corpus),
                    "reference": len(corpus.references),
                }.items()
                if count
            ],
            result.notes,
            list(dict.fromkeys(str(table.signature) for table in tables)),
        )
        title = result.title if len(corpus.names) <= _MOST_NAMED else f"Scores of {page.facts[0]}"
        return scores_html(page, title, result.language)

    def _asked(
        self, corpus: Corpus, tables: Sequence[ScoreTable]
    ) -> dict[str, list[list[dict[str, Any]]]]:
        """Return the further figures that were asked for: records by key, one list per metric.

        Raises:
            OptionError: no metric has them.
        """
        asked: dict[str, list[list[dict[str, Any]]]] = {}
        if self.by_type:
            asked["type"] = [type_records(table, self.by_type) for table in tables]
        if self.by_rule:
            tokens = sum(len(source.split()) for source in corpus.sources)
            asked["rule"] = [rule_records(table, self.by_rule, tokens) for table in tables]
        if self.macro:
            level = self.by_type or _USUAL_LEVEL
            asked["over"] = [macro_records(table, level) for table in tables]
        # Checked after scoring, since only the statistics show which metrics count types.
        for name, made in asked.items():
            if not any(made):
                raise OptionError(_WITHOUT[name])
        return asked

    def _row(
        self,
        table: ScoreTable,
        number: int,
        row: dict[str, Any],
        asked: Mapping[str, Sequence[dict[str, Any]]],
    ) -> dict[str, Any]:
        if self.sentences:
            row["sentences"] = table.sentences[number].tolist()
        if valid := table.statistics.details.get("valid", {}).get(row["system"]):
            row["valid"] = valid
        for name, records in asked.items():
            about = ("system", "metric", name)
            by_name = {
                record[name]: {key: value for key, value in record.items() if key not in about}
                for record in records
                if record["system"] == row["system"]
            }
            if by_name:
                row["macro" if name == "over" else f"by_{name}"] = by_name
        return row


_WITHOUT = {
    "type": "--by-type: none of the metrics named counts error types; errant does",
    "rule": "--by-rule: expected the matches of a grammar checker among the hypotheses, and a "
    "metric that counts rules: errant",
    "over": "--macro: none of the metrics named has precision and recall; errant does",
}


def type_records(table: ScoreTable, level: TypeLevel) -> list[dict[str, Any]]:
    """Return a record for each system and error type, with counts, precision, recall and F0.5.

    Args:
        table: scores of a metric; there are no records if the metric counts no types.
    """
    records = []
    for system, counts in table.statistics.details.get("by_type", {}).items():
        sums: dict[str, FloatArray] = {}
        for kind, values in counts.items():
            merged = merged_type(kind, level)
            sums[merged] = sums.get(merged, np.zeros(3)) + np.array(values)
        for kind in sorted(sums):
            # Counts are whole numbers, except for metrics that weight edits.
            tp, fp, fn = whole_counts(sums[kind].tolist())
            shares = precision_recall_f(*sums[kind][:, None], beta=0.5)
            precision, recall, score = (float(share[0]) for share in shares)
            records.append(
                {
                    "system": system,
                    "metric": table.signature.label,
                    "type": kind,
                    "tp": tp,
                    "fp": fp,
                    "fn": fn,
                    "precision": precision,
                    "recall": recall,
                    "f0.5": score,
                }
            )
    return records


def rule_records(table: ScoreTable, level: TypeLevel, tokens: int) -> list[dict[str, Any]]:
    """Return a record for each checker and rule, after one for all rules; most edits first.

    A record has TP and FP as the metric counts them, precision, the `alarms` (false positives that
    no reference has) and `alarms_per_1000` tokens. There is no recall, since a missed error belongs
    to no rule.

    Args:
        table: scores of a metric; there are no records if it counts no rules.
        level: 1 distinguishes categories, 2 rules, 3 both.
        tokens: number of tokens of the sources.
    """
    records = []
    for system, counts in table.statistics.details.get("by_rule", {}).items():
        sums = {_ALL_RULES: np.zeros(3, dtype=np.int64)}
        for rule, values in counts.items():
            for name in (merged_type(rule, level) or "no rule", _ALL_RULES):
                sums[name] = sums.get(name, 0) + np.array(values)
        for rule in sorted(sums, key=lambda rule: (rule != _ALL_RULES, -sum(sums[rule][:2]), rule)):
            tp, fp, alarms = sums[rule].tolist()
            records.append(
                {
                    "system": system,
                    "metric": table.signature.label,
                    "rule": rule,
                    "tp": tp,
                    "fp": fp,
                    "precision": tp / (tp + fp) if tp + fp else None,
                    "alarms": alarms,
                    "alarms_per_1000": 1000 * alarms / tokens if tokens else None,
                }
            )
    return records


def _rule_table(records: Sequence[Record]) -> Table:
    columns = [Column(key) for key in ("system", "metric", "rule", "tp", "fp")]
    columns += [Column("precision", digits=4), Column("alarms")]
    columns.append(Column("alarms_per_1000", "per 1,000 tokens", digits=2))
    note = "alarms: edits that no reference has, also per 1,000 tokens of the source"
    return Table(columns, records, "By rule", [note])


def macro_records(table: ScoreTable, level: TypeLevel) -> list[dict[str, Any]]:
    """Return macro averages of precision, recall and F, each 0 to 1, higher is better.

    Over `sentences` they are means of the sentence scores. Over `types`, F is the mean of all
    types' F. Precision is averaged over the types that the system proposes and recall over those
    that the reference has, since they are not defined for other types.

    Args:
        table: scores of a metric; there are no records if it has no precision and recall.

    Returns:
        A record for each system and `over`, with the number of sentences or types (`units`).
    """
    means = table.by_sentence.mean()
    if means.precision is None or means.recall is None:
        return []
    beta = float(table.signature.settings.get("beta") or 0.0)
    label, types = table.signature.label, type_records(table, level)
    records = []
    for number, system in enumerate(table.systems):
        of_system = [row for row in types if row["system"] == system]
        values = (means.precision[number], means.recall[number], means.score[number])
        units = int(np.count_nonzero(~np.isnan(table.sentences[number])))
        by_unit = {"sentences": (*map(float, values), units)}
        if of_system:
            tp, fp, fn = (
                np.array([row[k] for row in of_system], float) for k in ("tp", "fp", "fn")
            )
            precision, recall, f = precision_recall_f(tp, fp, fn, beta=beta)
            by_unit["types"] = (
                float(defined_mean(np.where(tp + fp != 0, precision, np.nan), 0)),
                float(defined_mean(np.where(tp + fn != 0, recall, np.nan), 0)),
                float(f.mean()),
                len(of_system),
            )
        records += [
            {"system": system, "metric": label, "over": over}
            | dict(zip((*_MEASURES, "units"), averages, strict=True))
            for over, averages in by_unit.items()
        ]
    return records


def _macro_table(records: Sequence[Record]) -> Table:
    columns = [Column(key) for key in ("system", "metric", "over")]
    columns += [Column(key, digits=4) for key in ("score", "precision", "recall")]
    return Table([*columns, Column("units")], records, "Macro averages", name="macro")


def _type_table(records: Sequence[Record]) -> Table:
    columns = [Column(key) for key in records[0]]
    table = Table(columns, records, _BY_TYPE)
    counts = Column("tp/fp/fn", value=three_counts)
    brief = [column for column in columns if column.key not in ("tp", "fp", "fn")]
    brief.insert(3, counts)
    return replace(table, instead={"brief": replace(table, columns=brief)})


_TABLES = {"type": _type_table, "rule": _rule_table, "over": _macro_table}


def three_counts(row: Record, before: str = "") -> str:
    """Return the counts of a record in short form: `5/14/2` for TP, FP and FN.

    Args:
        row: with the keys `tp`, `fp` and `fn`.
        before: the prefix of these keys.
    """
    values = (row[f"{before}{key}"] for key in ("tp", "fp", "fn"))
    return "/".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)


def _sentence_table(tables: Sequence[ScoreTable]) -> Table:
    # A system may be called `line` or `metric`; its column then needs another name.
    systems = tables[0].systems
    keys = [f"system {name}" if name in ("line", "metric") else name for name in systems]
    rows = [
        {
            "line": line,
            "metric": table.signature.label,
            **dict(zip(keys, scores, strict=True)),
        }
        for table in tables
        for line, scores in enumerate(table.sentences.T.tolist(), 1)
    ]
    columns = [Column("line"), Column("metric"), *(Column(key, digits=4) for key in keys)]
    return Table(columns, rows, "Sentence scores")


score = function_of(Score)
