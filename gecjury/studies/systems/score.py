"""Score systems with any metrics: `gecjury score`.

Example:
    >>> from gecjury import score
    >>> [row] = [row for row in score("sample", ["green"]).rows() if row["system"] == "careful"]
    >>> round(row["score"], 4)
    0.9346
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.errors import OptionError
from gecjury.core.settings import option
from gecjury.report.result import Column, Record, Result, Table
from gecjury.report.tables import audit_tables
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
    from gecjury.studies.systems.ranking import Ranking

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
        from gecjury.studies.systems.ranking import missing_notes

        whole, work = work.corpus, self._limited(work)
        corpus, tables = work.corpus, work.scores()
        asked = self._asked(corpus, tables)
        how = _HOW if 1 < len(corpus) <= _MOST_RESAMPLED else _UNTESTED
        rankings = self._ranked(work.scorers, tables, how)
        rows = [
            self._row(one, table, place, asked)
            for one, table in zip(rankings, tables, strict=True)
            for place in range(len(table.systems))
        ]
        facts, limited = self._limits(whole, corpus)
        remarks = (note for one in tables for note in one.statistics.notes)
        notes = tuple(dict.fromkeys([*limited, *missing_notes(tables), *remarks]))
        about = [*(one.signature for one in rankings), *notes]
        main = _main_table(rows, tables, about, bounded=how is _HOW)
        sentences = _sentence_table(tables, corpus) if self.sentences else None
        return Systems(
            (main, *filter(None, [sentences]), *self._further(work, tables, asked)),
            facts | _audits(tables),
            notes,
            int(any(table.unanswered for table in tables)),
            language=corpus.language.code,
            title=f"Scores of {', '.join(corpus.names)}",
            verdict=opening_of(rankings) if len(corpus.names) > 1 else (),
            flat=sentences,
            kicker="scores",
            rankings=rankings,
            work=work,
            scored=tables,
            numbers=tuple(
                figure for key, of in asked.items() for part in of for figure in part.figures(key)
            ),
        )

    def _ranked(
        self, scorers: Sequence[Scorer], tables: Sequence[ScoreTable], how: Resampling
    ) -> tuple[Ranking, ...]:
        from gecjury.studies.systems.ranking import rank_scores

        return tuple(
            rank_scores(scorer, table.settled(), how, self.seed, tested=len(table.systems) > 1)
            for scorer, table in zip(scorers, tables, strict=True)
        )

    def _row(
        self,
        one: Ranking,
        table: ScoreTable,
        place: int,
        asked: Mapping[str, Sequence[PartialScore]],
    ) -> dict[str, object]:
        """Return the record of a system by a metric, with the further figures."""
        name = table.systems[place]
        (system,) = (system for system in one.systems if system.name == name)
        row = one.row(system)
        # A metric that only describes outputs has no best system.
        if one.tests is not None and one.lead.directed:
            row |= {"p_best": one.p_best(name)}
        if self.sentences:
            # The fingerprint shows which texts the scores belong to, if they are read again.
            row |= {"sentences": table.sentences[place].tolist(), "print": table.prints[name]}
        if valid := table.statistics.details.get("valid", {}).get(name):
            row |= {"valid": valid}
        # JSON has the requested figures in the records, people see them in further tables.
        for key, parts in asked.items():
            own = (part for part in parts if (part.system, part.metric) == (name, one.metric))
            if numbers := {part.name: part.numbers for part in own}:
                row["macro" if key == "over" else f"by_{key}"] = numbers
        return row

    def _limits(self, whole: Corpus, drawn: Corpus) -> tuple[dict[str, object], list[str]]:
        """Return the lines that were scored, and a note, if sentences were drawn."""
        if len(drawn) == len(whole):
            return {}, []
        lines = [drawn.line(row) for row in range(len(drawn))]
        note = f"`limit=`: {self.limit} of {len(whole)} sentences, drawn with seed {self.seed}"
        return {"limit": {"sentences": self.limit, "of": len(whole), "lines": lines}}, [note]

    def _further(
        self, work: Work, tables: Sequence[ScoreTable], asked: Mapping[str, Sequence[PartialScore]]
    ) -> Iterator[Table]:
        """Yield the tables after that of sentences: parts of the scores, audits, costs.

        Raises:
            OptionError: an audit is requested, but no metric has one.
        """
        for key, parts in asked.items():
            from gecjury.studies.systems.parts import part_table

            yield replace(part_table(key, parts), asked=True)
        audited = audit_tables(tables)
        if self.audit and not audited:
            raise OptionError(_WITHOUT_AUDIT)
        for audit in audited:
            yield replace(audit, asked=self.audit)
        if self.worst:
            from gecjury.studies.systems.costly import costly_sentences, costly_table

            worst = costly_sentences(tables, work.scorers, work.corpus, self.worst)
            yield replace(costly_table([sentence.row() for sentence in worst]), asked=True)

    def html(self, result: Result) -> str:
        """Return scores as one page: who leads, intervals, error types, sentences that cost most.

        The page has tests, error types and costly sentences whether or not they were asked for.
        """
        assert isinstance(result, Systems)
        points = len(result.work.corpus)
        if points > _MOST_RESAMPLED:
            with suppress(OptionError):
                check_resamples(_HOW.resamples, points)
                rankings = self._ranked(result.work.scorers, result.scored, _HOW)
                result = replace(result, rankings=rankings, verdict=())
        return page_of(result, self.by_type or USUAL_LEVEL, self.worst or USUAL_WORST)

    def _asked(self, corpus: Corpus, tables: Sequence[ScoreTable]) -> dict[str, list[PartialScore]]:
        """Return the further figures that were asked for, of all metrics.

        Raises:
            OptionError: no metric has them.
        """
        asked: dict[str, list[PartialScore]] = {}
        if not (self.by_type or self.by_rule or self.macro):
            return asked
        from gecjury.studies.systems.parts import by_rule, by_type, macro

        if self.by_type:
            level = self.by_type
            asked |= {"type": [part for table in tables for part in by_type(table, level)]}
        if self.by_rule:
            tokens = sum(len(source.split()) for source in corpus.sources)
            rules = self.by_rule
            asked |= {"rule": [part for one in tables for part in by_rule(one, rules, tokens)]}
        if self.macro:
            level = self.by_type or USUAL_LEVEL
            asked |= {"over": [part for table in tables for part in macro(table, level)]}
        # Checked after scoring, since only the statistics show which metrics count types.
        for key, parts in asked.items():
            if not parts:
                raise OptionError(_WITHOUT[key])
        return asked


_WITHOUT = {
    "type": "`by_type=`: none of the metrics named counts error types; errant does",
    "rule": "`by_rule=`: expected the matches of a grammar checker among the hypotheses, and a "
    "metric that counts rules: errant",
    "over": "`macro=`: none of the metrics named has precision and recall; errant does",
}


_WITHOUT_AUDIT = (
    "`audit=`: none of the metrics named asks a model; the biases of other metrics are measured "
    "against people's judgments, by compare"
)


def _audits(tables: Sequence[ScoreTable]) -> dict[str, object]:
    """Return the audits of judges for JSON, by signature."""
    audits = {str(table.signature): table.audit.members for table in tables if table.audit}
    return {"audits": audits} if audits else {}


def _main_table(
    rows: Sequence[Record], tables: Sequence[ScoreTable], notes: Sequence[str], *, bounded: bool
) -> Table:
    """Return the table of scores, of which papers see the scores alone."""
    from gecjury.studies.systems.ranking import TEST, score_column

    legend = "[low, high]: 95% bootstrap over sentences" if bounded else ""
    best = f"p to best: of the difference from the best system ({TEST}, Holm)"
    parts = [key for key in ("precision", "recall") if any(key in row for row in rows)]
    columns = [
        Column("system"),
        Column("metric"),
        replace(score_column(tables, legend), bare=("latex",)),
        *(Column(key, interval=f"{key}_ci95", bare=("latex",)) for key in parts),
        Column("p_best", legend=best, hidden=("latex",)),
    ]
    if not any("p_best" in row for row in rows):
        del columns[-1]
    return Table(columns, rows, notes=notes, name="rows", crossed=(*parts, "score"))


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
    return Table(columns, rows, "Sentence scores", asked=True)


score = function_of(Score)
