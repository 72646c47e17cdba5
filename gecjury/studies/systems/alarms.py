"""How often systems change text that needs no change: `gecjury alarms`.

Example:
    >>> from gecjury import alarms, corpus_of_texts
    >>> right = ["He goes home .", "It rains ."]
    >>> result = alarms(corpus_of_texts(right, {"mine": ["He goes home .", "It rained ."]}))
    >>> result.rows()[0]["changed"]
    0.5
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.errors import InputError
from gecjury.core.settings import option
from gecjury.core.wording import number
from gecjury.corpus.edits import counted_edits
from gecjury.report.result import Column, Record, Result, Table
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.inputs import FilesOrBenchmark, Inputs, Need, ReferenceOptions
from gecjury.studies.study import Work, function_of
from gecjury.studies.systems.page import Systems, SystemsStudy, opening_of

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus
    from gecjury.studies.systems.good_text import AlarmCounts


@dataclass(frozen=True, kw_only=True)
class _Unchanged(ReferenceOptions):
    """References that show which text is good.

    Attributes:
        reference_files: with files: a reference, text or M2; only sentences that every reference
            leaves unchanged then count as good text; repeat for more.
    """


@dataclass(frozen=True, kw_only=True)
class Alarms(SystemsStudy):
    """False alarms: how often systems change text that needs no change.

    Attributes:
        show: number of edits listed for each system.
        resampling: the bootstrap over sentences, and the paired tests between systems.
        seed: seed of the resampling and of the tests.
    """

    needs: ClassVar[tuple[Need, ...]] = ("texts", "edits")
    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "good text and what systems output for it, CLEAN and OUTPUT...; or a benchmark's name",
        "BENCHMARK|CLEAN OUTPUT",
        _Unchanged,
    )
    metrics: ClassVar[str | None] = None
    show: int = option(5, metavar="N", least=0, most=1000)
    resampling: Resampling = option(
        Resampling(over="sentences", permutations=1000),
        offers=("resamples", "confidence", "permutations"),
    )
    seed: int = option(0, least=0)

    def check(self, work: Work) -> None:
        """Refuse a benchmark without references, which does not show which text is good."""
        corpus = work.corpus
        if work.benchmark is not None and not corpus.references:
            raise InputError(
                f"{work.benchmark.name} has no references to show which of its sentences need no "
                "change: give good text and outputs as files"
            )
        check_resamples(self.resampling.resamples, len(corpus))

    def run(self, work: Work) -> Result:
        """Count what systems change in good text.

        Table `rows` has one record per system, the fewest alarms first: `changed`, the share of
        sentences that it changes (0 to 1, lower is better) with `ci95`; `per_thousand`, its edits
        in 1,000 words with `per_thousand_ci95`; and `cluster`, `rank_range`, `ranks` and `p_next`
        as in `rank`. Table `edits` has the most frequent ones of each system, `alarms` every
        changed sentence, and `significance` all p-values.

        Raises:
            InputError: every sentence needs a change.
        """
        from gecjury.extraction.extract import corpus_edits
        from gecjury.studies.systems import good_text

        corpus = work.corpus
        lines = good_text.good_lines(corpus)
        good = replace(corpus.take(lines), references=(), reference_systems=(), gold=None)
        edits = corpus_edits(good, "embedded", work.runtime)
        counted = [[counted_edits(line) for line in of_one] for of_one in edits.systems.values()]
        counts = good_text.AlarmCounts.of(good, counted)
        ranked = counts.ranked(self.resampling, self.seed)
        rows = [{**ranked.row(one), **counts.row(one.name)} for one in ranked.systems]
        notes = [*good_text.remarks(corpus, lines), *edits.notes]
        tables = [
            self._main(rows, counts, notes),
            good_text.frequent_table(good, counted, self.show),
            Table((), good_text.alarm_records(good, lines, counted, counts), name="alarms"),
            Table((), [ranked.significance()], name="significance"),
        ]
        return Systems(
            tuple(tables),
            self._facts(corpus, counts),
            tuple(notes),
            language=good.language.code,
            title=f"False alarms of {', '.join(good.names)} on good text",
            verdict=(*opening_of([ranked]), *good_text.about_leader(ranked, counts)),
            kicker="false alarms",
            rankings=(ranked,),
            work=replace(work, data=good),
            types_on_page=good_text.type_tables(good, counted, counts),
            sentences_on_page=(
                "The changed sentences with most edits.",
                partial(good_text.most_changed, good, lines, counted, self.show),
            ),
        )

    def _facts(self, corpus: Corpus, counts: AlarmCounts) -> dict[str, object]:
        return {
            "sentences": counts.words.size,
            "words": int(counts.words.sum()),
            "of_sentences": len(corpus),
            "good_by": "references" if corpus.references else "file",
            "correction": "holm",
        }

    def _main(self, rows: Sequence[Record], counts: AlarmCounts, notes: Sequence[str]) -> Table:
        from gecjury.studies.systems.ranking import certainty

        how = self.resampling
        legend = f"[low, high]: {how.confidence:.0%}; changed: share of sentences; lower is better"
        about = (
            "changed: share of sentences that the system changes, Wilson interval; edits in 1,000 "
            "words: words of the good text that contain a letter or digit; [low, high]: "
            f"{how.confidence:.0%} percentile bootstrap over sentences, {how.resamples} "
            f"resamples, seed {self.seed}"
        )
        columns = [
            Column("system"),
            Column("changed", interval="ci95", legend=legend, notes=(about,)),
            Column("edits"),
            Column("per_thousand", interval="per_thousand_ci95"),
            *(certainty(how, clusters=True) if len(rows) > 1 else ()),
        ]
        size = f"{number(counts.words.size)} sentences, {number(int(counts.words.sum()))} words"
        return Table(columns, rows, f"False alarms: {size}", notes, "rows")


alarms = function_of(Alarms)
