r"""How well metrics follow texts whose order of quality is known: `gecjury maege`.

Example:
    >>> import pathlib, tempfile
    >>> from gecjury import maege
    >>> edit = "A 1 2|||R:VERB|||{}|||REQUIRED|||-NONE-|||{}"
    >>> lines = ["S He go home .", edit.format("goes", 0), edit.format("went", 1)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gold = pathlib.Path(folder, "gold.m2")
    ...     _ = gold.write_text(10 * ("\n".join(lines) + "\n\n"))
    ...     result = maege(str(gold), ["green"], seeds=1)
    >>> result.rows()[0]["metric"]
    'green'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import Language
from gecjury.report.result import Column, Record, Result, Table
from gecjury.scoring.score_files import check_writable
from gecjury.scoring.scorer import Scorer
from gecjury.stats.bootstrap import sentence_counts
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.resampling import Resampling, check_resamples
from gecjury.studies.maege.chains import MEANS, SourceChoice, annotated, sample
from gecjury.studies.maege.measures import (
    agreement_interval,
    chain_agreement,
    chain_sums,
    gold_scores,
    type_changes,
)
from gecjury.studies.maege.references import (
    ALL,
    CORPORA,
    ReferenceSet,
    named_references,
    read_annotated,
)
from gecjury.studies.maege.scores import Pool, PoolScores, pool_texts, score_pool
from gecjury.studies.study import Data, Study, Takes, Work, function_of

CorpusScore = Literal["corpus", "mean"]
"""The score of a corpus: the metric's corpus score, or the mean over its sentences, as in the
released program."""


@dataclass(frozen=True, kw_only=True)
class Maege(Study):
    """Metrics compared with chains of one annotator's edits, whose order of quality is known.

    Attributes:
        references: others (each chain against the other annotators), all (every annotator of the
            corpus), or for conll14 8refs, 10refs or 18refs; default: 8refs for conll14, otherwise
            others.
        source: what metrics get as the source: the learner's sentence (default), or a random text
            of the chain, as in the released program.
        aggregate: the score of a corpus: the metric's corpus score (default), or the mean over its
            sentences, as in the released program.
        by_type: also show the score change by error type.
        seeds: number of draws that are averaged.
        seed: the first seed.
        sentences: use N sentences, drawn with the first seed.
        resampling: the bootstrap over sentences.
    """

    takes: ClassVar[Takes] = "m2"
    data_name: ClassVar[str] = "M2"
    data: ClassVar[str] = (
        f"{', '.join(CORPORA)}, or M2 files of the same sentences (their annotators are combined)"
    )
    keeps: ClassVar[bool] = True
    new_texts: ClassVar[str] = "maege"
    references: ReferenceSet | None = None
    source: SourceChoice = "original"
    aggregate: CorpusScore = "corpus"
    by_type: bool = False
    seeds: int = option(3, metavar="K", least=1, most=10_000)
    seed: int = option(0, least=0)
    sentences: int | None = option(None, metavar="N", least=1)
    resampling: Resampling = option(Resampling(over="sentences"), offers=("resamples",))

    def read(
        self, data: Data, runtime: Runtime, language: Language | None = None
    ) -> Corpus | Benchmark:
        """Return texts with gold edits, read from M2 files or a corpus that is known by name.

        Args:
            data: the texts, or names from `CORPORA` and files of the same sentences.
            language: language of the texts; by default that of a corpus by name, otherwise English.

        Raises:
            OptionError: neither a file nor a known name.
            InputError: a file is malformed, or contains other sentences than the first.
            DataError: files of a known corpus are missing.
        """
        if isinstance(data, Corpus | Benchmark):
            return data
        names = (data,) if isinstance(data, str) else tuple(map(str, data))
        return read_annotated(names, runtime, language)

    def check(self, work: Work) -> None:
        """Refuse nothing, since the texts to score have not been drawn yet."""

    def to_score(self, work: Work) -> Iterator[tuple[Scorer, Corpus]]:
        """Yield every metric with every distinct text."""
        pool = self.draw(work)
        for scorer in work.scorers:
            yield scorer, pool.corpus(scorer.joint, False, work.runtime)[0]

    def draw(self, work: Work) -> Pool:
        """Draw chains and corpora, and find their references.

        Raises:
            OptionError: the settings are incompatible.
            InputError: the texts have no gold edits, or no chain can be built from them.
            DataError: files of a reference set are missing.
        """
        texts = work.corpus
        if texts.gold is None:
            raise InputError("maege: these texts have no gold edits; expected an M2 file")
        usable = annotated(texts.gold)
        if self.sentences is not None and self.sentences < len(usable):
            # A separate random stream, so that the sentences do not depend on the chains drawn.
            chosen = np.random.default_rng([self.seed, 1]).choice(
                len(usable), self.sentences, replace=False
            )
            usable = usable.take(sorted(chosen.tolist()))
        references = named_references(
            self.references or "",
            usable,
            named=set(work.inputs) == {"conll14"},
            runtime=work.runtime,
        )
        draws = tuple(
            sample(usable, np.random.default_rng(seed), source=self.source)
            for seed in range(self.seed, self.seed + self.seeds)
        )
        return pool_texts(usable, draws, references, texts.language)

    def run(self, work: Work) -> Result:
        """Score the drawn texts and compare the scores with the known orders.

        Table `rows` has one record per metric, with records of its figures at `corpus` and
        `sentence` level; table `by_type`, if requested, has one per metric and error type.
        """
        # Scoring may take hours: a folder that cannot be written is refused before it begins.
        if work.folder:
            check_writable(work.folder)
        pool = self.draw(work)
        resamples = self.resampling.resamples
        check_resamples(resamples, len(pool.annotated))
        scored = [
            score_pool(
                scorer,
                pool,
                mean=self.aggregate == "mean",
                folder=work.folder,
                runtime=work.runtime,
            )
            for scorer in work.scorers
        ]
        # Every metric is resampled by the same draws, so that intervals can be compared.
        weights = sentence_counts(len(pool.annotated), resamples, [self.seed, 2])
        rows = [self._row(scores, pool, weights) for scores in scored]
        facts = self._facts(work, pool)
        made = [scores.table for scores in scored]
        notes = tuple(dict.fromkeys(note for one in made for note in one.statistics.notes))
        signatures = [str(one.signature) for one in made]
        title = f"MAEGE on {work.name}, {facts['sentences']} sentences"
        tables = [Table(_columns(), rows, title, [*_how(facts), *notes, *signatures], "rows")]
        if self.by_type:
            chains = [chain for draw in pool.draws for chain in draw.chains]
            places = [places for of_draw in pool.chains for places in of_draw]
            changes = {
                scores.table.signature.label: type_changes(
                    chains, [scores.values[p] for p in places], weights
                )
                for scores in scored
            }
            tables += _type_tables(changes)
        status = int(any(scores.unanswered for scores in scored))
        language = pool.language.code
        return Result(tuple(tables), facts, notes, status, (), language, title)

    def _facts(self, work: Work, pool: Pool) -> dict[str, Any]:
        """Return what was drawn and how."""
        references = next(iter(pool.references.values()))
        chains = pool.draws[0].chains
        return {
            "corpus": list(work.inputs),
            "sentences": len(pool.annotated),
            "annotators": pool.annotated.annotators,
            "left_out": dict(pool.annotated.left_out),
            "references": references.name if ALL in pool.references else "other annotators",
            "reference_count": len(references.texts),
            "source": self.source,
            "aggregate": self.aggregate,
            "seed": self.seed,
            "seeds": self.seeds,
            "resamples": self.resampling.resamples,
            "chains": len(chains),
            "texts": sum(len(chain.texts) for chain in chains),
            "scored": len(pool.keys),
        }

    def _row(self, scores: PoolScores, pool: Pool, weights: FloatArray) -> dict[str, Any]:
        """Return a metric's figures over corpora and over chains."""
        about, means = scores.table.signature, np.array(MEANS)
        # One seed has no deviation; 0 is shown instead.
        spread = 1 if self.seeds > 1 else 0
        corpus: dict[str, Any] = {"sd": {}}
        for name, correlate in (("pearson", pearson), ("spearman", spearman)):
            values = [correlate(means, totals) for totals in scores.corpora]
            corpus[name] = float(np.mean(values))
            corpus["sd"][name] = float(np.std(values, ddof=spread))
        sums = [
            chain_sums(
                pool.annotated,
                draw.chains,
                [scores.values[places] for places in of_draw],
                gold_scores(pool.annotated, draw.chains),
            )
            for draw, of_draw in zip(pool.draws, pool.chains, strict=True)
        ]
        sentence = {**chain_agreement(sums), "ci95": agreement_interval(sums, weights)}
        return {
            "metric": about.label,
            "family": about.family,
            "signature": str(about),
            "corpus": corpus,
            "sentence": sentence,
            "seconds": scores.table.seconds,
            "missing": scores.unanswered,
        }


def _columns() -> list[Column]:
    return [
        Column("metric"),
        Column("family"),
        _figure("r corpus", "corpus", "pearson"),
        _figure("ρ corpus", "corpus", "spearman"),
        _figure("r sent", "sentence", "pearson"),
        Column("r95", "95%", value=lambda row: _range(row, "pearson")),
        _figure("τ sent", "sentence", "kendall"),
        Column("t95", "95%", value=lambda row: _range(row, "kendall")),
        _figure("τ, ties agree", "sentence", "kendall_ties_agree"),
        Column("tied", "tied %", 1, value=lambda row: 100 * row["sentence"]["tied_share"]),
        Column("missing"),
        Column("seconds", "s", 1),
    ]


def _figure(heading: str, level: str, name: str) -> Column:
    key = f"corpus_{name}" if level == "corpus" else name
    return Column(key, heading, value=lambda row: row[level][name])


def _range(row: Record, name: str) -> str:
    low, high = row["sentence"]["ci95"][name]
    return f"{low:.3f} to {high:.3f}"


def _how(facts: Mapping[str, Any]) -> list[str]:
    """Return notes on what was drawn and scored."""
    left = "; ".join(f"{count} {reason}" for reason, count in facts["left_out"].items())
    scorer = "the mean of their sentences" if facts["aggregate"] == "mean" else "the metric itself"
    return [
        f"{facts['chains']} chains with {facts['texts']} texts per seed, {facts['seeds']} seeds "
        f"averaged, {facts['scored']} distinct texts scored; references "
        f"{facts['references']} ({facts['reference_count']}), source {facts['source']}",
        f"corpus level: {len(MEANS)} corpora of increasing quality, scored by {scorer}; "
        f"intervals: {facts['resamples']} resamples of the sentences",
        *([f"left out: {left}"] if left else []),
    ]


def _type_tables(changes: Mapping[str, Mapping[str, Record]]) -> Sequence[Table]:
    """Return score changes by error type: one record per metric and type, and types × metrics."""
    records = [
        {"metric": metric, "type": kind, **change}
        for metric, kinds in changes.items()
        for kind, change in kinds.items()
    ]
    rows: dict[str, dict[str, Any]] = {}
    columns = [Column("type"), Column("edits")]
    for number, (metric, kinds) in enumerate(changes.items()):
        columns += [Column(f"m{number}", metric), Column(f"e{number}", "±")]
        for kind, change in kinds.items():
            row = rows.setdefault(kind, {"type": kind, "edits": change["edits"]})
            row |= {f"m{number}": change["mean"], f"e{number}": change["error"]}
    title = "Mean score change when one edit of a type is applied, with its standard error"
    return [Table((), records, name="by_type"), Table(columns, list(rows.values()), title)]


maege = function_of(Maege)
