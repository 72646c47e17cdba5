"""Score systems with any metrics: `gecjury score`.

Example:
    >>> from gecjury import score
    >>> [row] = [row for row in score("sample", ["green"]).rows() if row["system"] == "careful"]
    >>> round(row["score"], 4)
    0.9346
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from gecjury.core.errors import OptionError
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.report.tables import audit_tables, crossed
from gecjury.stats.choices import TypeLevel
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.datasets import FilesOrDataset, dataset_scoring
from gecjury.studies.inputs import Arguments, Inputs
from gecjury.studies.study import SCORES, Output, Study, Work, function_of
from gecjury.studies.systems.page import USUAL_LEVEL, USUAL_WORST, Systems, opening_of, page_of

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import ScoreTable
    from gecjury.studies.systems.parts import PartialScore

# Resampling more sentences would take as long as scoring them.
_MOST_RESAMPLED = 5_000
_HOW = Resampling(over="sentences", permutations=1000)
_UNTESTED = Resampling(over="none")


@dataclass(frozen=True, kw_only=True)
class Score(Study):
    """Scores of systems by any metrics.

    Attributes:
        sentences: print every sentence's score; with --format tsv, these alone.
        by_type: also print counts by error type: 1 operation (M, R, U), 2 category, 3 both.
        by_rule: also print counts by rule of a grammar checker: 1 category, 2 rule, 3 both.
        macro: also print macro averages of precision, recall and F, over sentences and error types.
        audit: also print how far judges' replies can be trusted.
        worst: also print the N sentences that cost each system most.
        limit: score N of the sentences, drawn with the seed; all of them if there are no more.
        seed: seed of the limit, the resampling and the tests.
    """

    inputs: ClassVar[Inputs] = FilesOrDataset()
    keeps: ClassVar[Output | None] = Output(
        f"{SCORES.meaning}; for a dataset, the folder of its rows' scores"
    )
    page: ClassVar[bool | str] = True
    sentences: bool = False
    by_type: TypeLevel | None = None
    by_rule: TypeLevel | None = None
    macro: bool = False
    audit: bool = False
    worst: int | None = option(None, metavar="N", least=1, most=10_000)
    limit: int | None = option(None, metavar="N", least=1)
    seed: int = option(0, least=0)

    def asked(self, given: Arguments) -> tuple[Study, Arguments]:
        """Return the scoring of a dataset if the inputs are one.

        Raises:
            OptionError: options of one kind are given with inputs of the other.
        """
        return dataset_scoring(given, self) or self, given

    def check(self, work: Work) -> None:
        """Refuse data that a metric cannot score, and given scores if sentences are drawn."""
        from gecjury.scoring.scorer import scores_of_all

        super().check(work)
        if self._limited(work) is not work:
            for scorer in work.scorers:
                if scorer.fixed:
                    raise scores_of_all(scorer.name)

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with the sentences that it scores."""
        return super().to_score(self._limited(work))

    def _limited(self, work: Work) -> Work:
        """Return the work on as many of the sentences as the settings allow."""
        from gecjury.stats.bootstrap import limited_rows

        whole = work.corpus
        if self.limit is None or self.limit >= len(whole):
            return work
        rows = limited_rows(range(len(whole)), self.limit, self.seed)
        if work.benchmark is not None:
            return replace(work, data=work.benchmark.take(rows))
        return replace(work, data=replace(whole.take(rows), drawn=(whole, tuple(rows))))

    def run(self, work: Work) -> Result:
        """Score the systems.

        Table `rows` has one record per metric and system: `score`, `precision` and `recall` if the
        metric has them, their intervals over resampled sentences (`ci95`, `precision_ci95`,
        `recall_ci95`) and `p_best`, the corrected p of the difference from the best system by the
        metric, with `rank_range`, `ranks`, `cluster` and `p_next` as in `rank`, for at most 5,000
        sentences; and on request `sentences`, `by_type` (counts, precision, recall and F0.5 by
        error type), `by_rule` and `macro`. Table `worst` has the sentences that cost most. With a
        limit, the fact `limit` has the lines that were scored.

        Raises:
            OptionError: counts by error type or rule or macro averages are requested, but no
                metric has them.
        """
        from gecjury.studies.systems.parts import part_table
        from gecjury.studies.systems.ranking import (
            TEST,
            missing_notes,
            rank_scores,
            score_column,
        )

        size = len(work.corpus)
        work = self._limited(work)
        tables = work.scores()
        asked = self._asked(work.corpus, tables)
        how = _HOW if 1 < len(work.corpus) <= _MOST_RESAMPLED else _UNTESTED
        several = len(work.corpus.names) > 1
        rankings = [
            rank_scores(scorer, table.settled(), how, self.seed, tested=several)
            for scorer, table in zip(work.scorers, tables, strict=True)
        ]
        rows = []
        for one, table in zip(rankings, tables, strict=True):
            systems = {system.name: system for system in one.systems}
            for place, name in enumerate(table.systems):
                row = one.row(systems[name])
                # A metric that only describes outputs has no best system.
                if one.tests is not None and one.lead.directed:
                    row["p_best"] = one.p_best(name)
                if self.sentences:
                    row["sentences"] = table.sentences[place].tolist()
                if valid := table.statistics.details.get("valid", {}).get(name):
                    row["valid"] = valid
                # JSON has the requested figures in the records, people see them in further tables.
                for key, parts in asked.items():
                    own = (
                        part for part in parts if (part.system, part.metric) == (name, one.metric)
                    )
                    if numbers := {part.name: part.numbers for part in own}:
                        row["macro" if key == "over" else f"by_{key}"] = numbers
                rows.append(row)
        remarks = list(missing_notes(tables))
        remarks += [note for one in tables for note in one.statistics.notes]
        facts: dict[str, Any] = {}
        if len(work.corpus) < size:
            lines = [work.corpus.line(row) for row in range(len(work.corpus))]
            facts["limit"] = {"sentences": self.limit, "of": size, "lines": lines}
            limited = f"--limit: {self.limit} of {size} sentences, drawn with seed {self.seed}"
            remarks.insert(0, limited)
        notes = tuple(dict.fromkeys(remarks))
        scores, legend = score_column(tables)
        columns = [Column("system"), Column("metric"), scores]
        shares = [key for key in ("precision", "recall") if any(key in row for row in rows)]
        columns += [Column(key, interval=f"{key}_ci95") for key in shares]
        if how is _HOW:
            legend.append("[low, high]: 95% bootstrap over sentences")
        if any("p_best" in row for row in rows):
            columns.append(Column("p_best"))
            legend.append(f"p to best: of the difference from the best system ({TEST}, Holm)")
        signatures = [one.signature for one in rankings]
        main = Table(
            columns, rows, notes=[*signatures, *notes], name="rows", legend="; ".join(legend)
        )
        # Papers show the scores alone.
        of_papers = [c for c in columns if c.key != "p_best"]
        bare = replace(main, columns=[replace(column, interval="") for column in of_papers])
        shown = [replace(main, instead={"latex": crossed(bare, *shares, "score")})]
        sentences = _sentence_table(tables, work.corpus) if self.sentences else None
        if sentences is not None:
            shown.append(replace(sentences, asked=True))
        shown += [replace(part_table(key, parts), asked=True) for key, parts in asked.items()]
        audited = audit_tables(list(tables))
        if self.audit and not audited:
            raise OptionError(_WITHOUT["audit"])
        shown += [replace(audit, asked=self.audit) for audit in audited]
        if self.worst:
            from gecjury.studies.systems.costly import costly_sentences, costly_table

            worst = costly_sentences(tables, work.scorers, work.corpus, self.worst)
            costly = costly_table([sentence.row() for sentence in worst])
            shown.append(replace(costly, asked=True))
        audits = {
            str(table.signature): table.statistics.details["audit"]["members"]
            for table in tables
            if "audit" in table.statistics.details
        }
        return Systems(
            tuple(shown),
            facts | ({"audits": audits} if audits else {}),
            notes,
            int(any(table.unanswered for table in tables)),
            language=work.corpus.language.code,
            title=f"Scores of {', '.join(work.corpus.names)}",
            verdict=opening_of(rankings) if several else (),
            flat=sentences,
            kicker="scores",
            rankings=tuple(rankings),
            work=work,
            scored=tables,
        )

    def html(self, result: Result) -> str:
        """Return scores as one page: who leads, intervals, error types, sentences that cost most.

        The page has tests, error types and costly sentences whether or not they were asked for.
        """
        from gecjury.studies.systems.ranking import rank_scores

        assert isinstance(result, Systems)
        points = len(result.work.corpus)
        if points > _MOST_RESAMPLED:
            with suppress(OptionError):
                check_resamples(_HOW.resamples, points)
                rankings = tuple(
                    rank_scores(scorer, table.settled(), _HOW, self.seed)
                    for scorer, table in zip(result.work.scorers, result.scored, strict=True)
                )
                result = replace(result, rankings=rankings, verdict=())
        return page_of(result, self.by_type or USUAL_LEVEL, self.worst or USUAL_WORST)

    def _asked(self, corpus: Corpus, tables: Sequence[ScoreTable]) -> dict[str, list[PartialScore]]:
        """Return the further figures that were asked for, of all metrics.

        Raises:
            OptionError: no metric has them.
        """
        from gecjury.studies.systems.parts import by_rule, by_type, macro

        asked: dict[str, list[PartialScore]] = {}
        if self.by_type:
            level = self.by_type
            asked["type"] = [part for table in tables for part in by_type(table, level)]
        if self.by_rule:
            tokens = sum(len(source.split()) for source in corpus.sources)
            rules = self.by_rule
            asked["rule"] = [part for table in tables for part in by_rule(table, rules, tokens)]
        if self.macro:
            level = self.by_type or USUAL_LEVEL
            asked["over"] = [part for table in tables for part in macro(table, level)]
        # Checked after scoring, since only the statistics show which metrics count types.
        for key, parts in asked.items():
            if not parts:
                raise OptionError(_WITHOUT[key])
        return asked


_WITHOUT = {
    "type": "--by-type: none of the metrics named counts error types; errant does",
    "rule": "--by-rule: expected the matches of a grammar checker among the hypotheses, and a "
    "metric that counts rules: errant",
    "audit": "--audit: none of the metrics named asks a model; the biases of other metrics are "
    "measured against people's judgments, by compare",
    "over": "--macro: none of the metrics named has precision and recall; errant does",
}


def _sentence_table(tables: Sequence[ScoreTable], corpus: Corpus) -> Table:
    # A system may be called `line` or `metric`; its column then needs another name.
    systems = tables[0].systems
    keys = [f"system {name}" if name in ("line", "metric") else name for name in systems]
    rows = [
        {
            "line": corpus.line(row),
            "metric": table.signature.label,
            **dict(zip(keys, scores, strict=True)),
        }
        for table in tables
        for row, scores in enumerate(table.sentences.T.tolist())
    ]
    columns = [Column("line"), Column("metric"), *(Column(key, digits=4) for key in keys)]
    return Table(columns, rows, "Sentence scores")


score = function_of(Score)
