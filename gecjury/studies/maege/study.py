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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.stats.figure import Figure, figures_about, records
from gecjury.studies.inputs import Arguments, Inputs, language_from
from gecjury.studies.made_up import MadeTexts, MadeUp, notes_of
from gecjury.studies.maege.chains import MEANS, SourceChoice, annotated, sample
from gecjury.studies.maege.references import CORPORA, ReferenceSet, named_references, read_annotated
from gecjury.studies.study import Data, Work, function_of

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.core.arrays import FloatArray
    from gecjury.corpus.corpus import Corpus
    from gecjury.studies.maege.scores import Cells, PoolScores, TextPool

ChainAggregate = Literal["corpus", "mean"]
"""The score of a corpus: the metric's corpus score, or the mean over its sentences, as in the
released program."""


class AnnotatedM2(Inputs):
    """Texts with gold edits."""

    def read(self, given: Arguments, study: object, runtime: Runtime) -> Corpus:
        """Read the files, in the language of the options or their own."""
        shared = given.shared
        asked = shared.lang or shared.tokens or shared.fold
        return read_annotated(given.names, runtime, language_from(shared) if asked else None)


@dataclass(frozen=True, kw_only=True)
class Maege(MadeUp["Cells"]):
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
        sentences: use N sentences, drawn with the first seed.
    """

    inputs: ClassVar[Inputs] = AnnotatedM2(
        f"{', '.join(CORPORA)}, or M2 files of the same sentences (their annotators are combined)",
        "M2",
    )
    new_texts: ClassVar[str] = "maege"
    references: ReferenceSet | None = None
    source: SourceChoice = "original"
    aggregate: ChainAggregate = "corpus"
    by_type: bool = False
    seeds: int = option(3, metavar="K", least=1, most=10_000)
    sentences: int | None = option(None, metavar="N", least=1)

    def read(self, data: Data, runtime: Runtime) -> Corpus | Benchmark:
        """Return texts with gold edits, read from M2 files or a corpus that is known by name.

        Args:
            data: the texts, or names from `CORPORA` and files of the same sentences.

        Raises:
            OptionError: neither a file nor a known name.
            InputError: a file is malformed, or contains other sentences than the first.
            DataError: files of a known corpus are missing.
        """
        if not isinstance(data, str | Sequence):
            return data
        names = (data,) if isinstance(data, str) else tuple(map(str, data))
        return read_annotated(names, runtime)

    def check(self, work: Work) -> None:
        """Refuse nothing, since the texts to score have not been drawn yet."""

    def make(self, work: Work) -> MadeTexts[Cells]:
        """Draw the texts of chains and corpora."""
        return self.draw(work).made(work.runtime)

    def draw(self, work: Work) -> TextPool:
        """Draw chains and corpora, and find their references.

        Raises:
            OptionError: the settings are incompatible.
            InputError: the texts have no gold edits, or no chain can be built from them.
            DataError: files of a reference set are missing.
        """
        import numpy as np

        from gecjury.studies.maege.scores import TextPool

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
        return TextPool(usable, draws, references, texts.language)

    def run(self, work: Work) -> Result:
        """Score the drawn texts and compare the scores with the known orders.

        Table `rows` has one record per metric: correlations of corpora with their standard
        deviation over seeds (`corpus_pearson`, `corpus_pearson_sd`, ...) and those of chains; see
        `agreement`. Table `by_type`, if requested, has one per metric and error type; see
        `type_changes`.
        """
        from gecjury.studies.maege.measures import type_changes
        from gecjury.studies.maege.scores import pool_scores

        pool = self.draw(work)
        weights = self.resampled(len(pool.annotated), 2)
        scored = self.scored(work, pool.made(work.runtime))
        chains = [chain for draw in pool.draws for chain in draw.chains]
        figures, rows, by_type, missing = list[Figure](), [], [], False
        for one in scored:
            scores = pool_scores(one, pool, mean=self.aggregate == "mean")
            missing |= scores.unanswered > 0
            own = _figures(scores, weights, metric=one.label, family=one.scorer.family)
            (row,) = records(own)
            more = {"seconds": one.seconds, "missing": scores.unanswered}
            rows.append({**row, "signature": one.signature, **more})
            figures += own
            if self.by_type:
                values = [values for draw in pool.draws for values in scores.of_chains(draw)]
                for own in type_changes(chains, values, weights, metric=one.label):
                    (row,) = records(own, names={"part": "type"})
                    by_type.append({"type": "", **row})
                    figures += own
        notes = notes_of(scored)
        title = f"MAEGE on {work.name}, {len(pool.annotated)} sentences"
        about = [*notes, *self._how(pool), *(one.signature for one in scored)]
        tables = [Table(_COLUMNS, rows, title, about, "rows")]
        if self.by_type:
            tables.append(Table(_OF_TYPES, by_type, _BY_TYPE, name="by_type", asked=True))
        return Result(
            tuple(tables),
            self._facts(work, pool),
            notes,
            int(missing),
            language=pool.language.code,
            title=title,
            numbers=tuple(figures),
        )

    def _facts(self, work: Work, pool: TextPool) -> dict[str, object]:
        """Return what was drawn and how."""
        chains = pool.draws[0].chains
        return {
            "corpus": list(work.inputs),
            "sentences": len(pool.annotated),
            "annotators": pool.annotated.annotators,
            "left_out": dict(pool.annotated.left_out),
            "references": pool.reference_name,
            "reference_count": len(pool.references[0].versions),
            "chains": len(chains),
            "texts": sum(len(chain.texts) for chain in chains),
            "scored": len(pool.keys),
        }

    def _how(self, pool: TextPool) -> list[str]:
        """Return notes on what was drawn and scored."""
        chains = pool.draws[0].chains
        left = "; ".join(f"{count} {reason}" for reason, count in pool.annotated.left_out.items())
        scorer = "the mean of their sentences" if self.aggregate == "mean" else "the metric itself"
        return [
            f"{len(chains)} chains with {sum(len(chain.texts) for chain in chains)} texts per "
            f"seed, {self.seeds} seeds averaged, {len(pool.keys)} distinct texts scored; "
            f"references {pool.reference_name} ({len(pool.references[0].versions)}), source "
            f"{self.source}",
            f"corpus level: {len(MEANS)} corpora of increasing quality, scored by {scorer}; "
            f"intervals: {self.resampling.resamples} resamples of the sentences",
            *([f"left out: {left}"] if left else []),
        ]


def _figures(scores: PoolScores, weights: FloatArray, **about: str) -> list[Figure]:
    """Return a metric's agreement with the orders of corpora and of chains."""
    import numpy as np

    from gecjury.stats.correlation import pearson, spearman
    from gecjury.studies.maege.measures import agreement, chain_sums

    over: dict[str, float] = {}
    for name, correlate in (("pearson", pearson), ("spearman", spearman)):
        values = [correlate(np.array(MEANS), totals) for totals in scores.corpora]
        over[f"corpus_{name}"] = float(np.mean(values))
        # One seed has no deviation; 0 is shown instead.
        over[f"corpus_{name}_sd"] = float(np.std(values, ddof=min(len(values) - 1, 1)))
    annotated = scores.pool.annotated
    sums = [chain_sums(annotated, d.chains, scores.of_chains(d)) for d in scores.pool.draws]
    return [*figures_about(over, level="maege", **about), *agreement(sums, weights, **about)]


_COLUMNS = (
    *map(Column, ("metric", "corpus_pearson", "corpus_spearman")),
    Column("pearson", interval="pearson_ci95", place="maege"),
    Column("kendall", interval="kendall_ci95", place="maege"),
    Column("kendall_ties_agree"),
    Column("tied_share", place="maege"),
    *(Column(key, hidden=("brief",)) for key in ("family", "missing", "seconds")),
)
_OF_TYPES = (*map(Column, ("metric", "type", "edits", "mean")), Column("error", place="by_type"))
_BY_TYPE = "Mean score change when one edit of a type is applied, with its standard error"


maege = function_of(Maege)
