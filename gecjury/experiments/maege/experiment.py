"""MAEGE from draw to figures: chains drawn, scored by several metrics, measured.

The figures of `gecjury maege`. `draw_texts` needs no metric; `maege` does everything at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.language import Language
from gecjury.corpus.m2 import M2Sentence
from gecjury.errors import OptionError
from gecjury.experiments.inputs import Metrics, scorers_of
from gecjury.experiments.maege.chains import (
    MEANS,
    VARIANCE,
    Annotated,
    Sampled,
    SourceChoice,
    annotated,
    sample,
)
from gecjury.experiments.maege.measures import (
    ChainAgreement,
    TypeChange,
    agreement_interval,
    chain_agreement,
    chain_sums,
    gold_scores,
    type_changes,
)
from gecjury.experiments.maege.references import (
    ALL,
    corpus_language,
    in_fold,
    named_references,
    read_blocks,
)
from gecjury.experiments.maege.scores import Pool, PoolScores, pool_texts, score_pool
from gecjury.experiments.result import ExperimentResult
from gecjury.runtime import Runtime
from gecjury.scoring.score_files import check_writable
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan
from gecjury.stats.bootstrap import sentence_counts
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.resampling import check_resamples

CorpusScore = Literal["corpus", "mean"]
"""A corpus' score: the metric's own, or the mean over its sentences, as in the released program."""


@dataclass(frozen=True, kw_only=True)
class MaegeSettings:
    """What `maege` can be told.

    Attributes:
        references: `others` (each chain against the other annotators), `all` (every annotator of
            the corpus), for conll14 a set of `REFERENCE_SETS`, or files; by default `8refs` for
            conll14, otherwise `others`.
        source: what metrics see as the source; see `SourceChoice`.
        aggregate: what a corpus scores.
        by_type: also the change of scores by error type.
        seeds: draws averaged, from 1.
        seed: the first of them.
        chains: of each annotator of a sentence, from 1.
        sentences: how many are used, drawn with the first seed; None for all.
        means: mean edits a sentence of the corpora compared.
        variance: of the number of edits.
        resamples: size of the bootstrap over sentences, from 1.

    Raises:
        OptionError: a value out of range.
    """

    references: Sequence[str] = ()
    source: SourceChoice = "original"
    aggregate: CorpusScore = "corpus"
    by_type: bool = False
    seeds: int = 3
    seed: int = 0
    chains: int = 1
    sentences: int | None = None
    means: Sequence[float] = MEANS
    variance: float = VARIANCE
    resamples: int = 1000

    def __post_init__(self) -> None:
        for name in ("seeds", "resamples", "sentences"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"--{name} {value}: expected 1 or more")
        check_resamples(self.resamples)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Everything that is to be scored.

    Attributes:
        names: the corpora as they were named.
        corpus: the sentences from which chains were made.
        draws: what each seed drew of them.
        pool: the distinct texts, with their references.
        settings: how they were drawn.
    """

    names: tuple[str, ...]
    corpus: Annotated
    draws: tuple[Sampled, ...]
    pool: Pool
    settings: MaegeSettings

    def plans(self, scorers: Sequence[Scorer], runtime: Runtime) -> list[Plan]:
        """What scoring would ask of paid services."""
        return [
            plan
            for scorer in scorers
            if (plan := scorer.plan(self.pool.corpus(scorer.joint, False, runtime)[0], runtime))
        ]


def draw_texts(
    corpus: str | Path | Sequence[str | Path] | Sequence[M2Sentence],
    settings: MaegeSettings | None = None,
    *,
    data: str | None = None,
    cache: str | None = None,
    language: Language | None = None,
) -> Drawn:
    """Draw chains and corpora, and find their references.

    Args:
        corpus: a name of `gecjury.experiments.maege.references.CORPORA` (`conll14`, `geccc`,
            `ua-gec`, ...) or an M2 file, several files of the same sentences (their annotators
            are put together), or M2 blocks.
        settings: what is drawn, and the references.
        data: folder with benchmark data; see `gecjury.benchmarks.data_folder.open_data`.
        cache: cache folder instead of the user's.
        language: of the texts; by default that of the corpus known by name, otherwise English.

    Raises:
        OptionError: neither a file nor a known name, or settings that do not go together.
        InputError: files that are malformed or hold different sentences, or a corpus of which no
            chain can be made.
        DataError: files of a known corpus are missing.
    """
    settings = settings or MaegeSettings()
    given = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    blocks = tuple(each for each in given if isinstance(each, M2Sentence))
    names = tuple(str(each) for each in given if not isinstance(each, M2Sentence))
    blocks = blocks or read_blocks(names, data, cache)
    language = language or corpus_language(names)
    blocks = in_fold(blocks, language)
    usable = annotated(blocks)
    if settings.sentences is not None and settings.sentences < len(usable):
        chosen = np.random.default_rng([settings.seed, 1]).choice(
            len(usable), settings.sentences, replace=False
        )
        usable = usable.take(sorted(chosen.tolist()))
    references = named_references(
        settings.references,
        usable,
        len(blocks),
        named=bool(names) and all(name == "conll14" for name in names),
        data=data,
        cache=cache,
        language=language,
    )
    draws = tuple(
        sample(
            usable,
            np.random.default_rng(seed),
            chains=settings.chains,
            source=settings.source,
            means=settings.means,
            variance=settings.variance,
        )
        for seed in range(settings.seed, settings.seed + settings.seeds)
    )
    pool = pool_texts(usable.sources, draws, references, language)
    return Drawn(names, usable, draws, pool, settings)


@dataclass(frozen=True, eq=False)
class CorpusLevel:
    """How a metric's scores of the corpora follow their growing quality.

    Attributes:
        pearson: correlation with the mean number of edits, one a seed.
        spearman: the same by ranks.
        scores: for each seed the scores of its corpora.
    """

    pearson: tuple[float, ...]
    spearman: tuple[float, ...]
    scores: tuple[FloatArray, ...]

    def row(self) -> dict[str, Any]:
        """Means and standard deviations over the seeds, and the figures of each."""
        level = {"pearson": list(self.pearson), "spearman": list(self.spearman)}
        spread = 1 if len(self.pearson) > 1 else 0
        return {
            **{key: float(np.mean(values)) for key, values in level.items()},
            "sd": {key: float(np.std(values, ddof=spread)) for key, values in level.items()},
            "by_seed": level,
            "scores": [totals.tolist() for totals in self.scores],
        }


@dataclass(frozen=True)
class SentenceLevel:
    """How a metric's scores of the chains follow their order.

    Attributes:
        overall: over all seeds.
        by_seed: over each.
        ci95: 95% intervals of `overall`'s correlations, over sentences.
    """

    overall: ChainAgreement
    by_seed: tuple[ChainAgreement, ...]
    ci95: Mapping[str, tuple[float, float]]

    @property
    def tied_share(self) -> float:
        """Share of the pairs of a chain that the metric ties; NaN where there is no pair."""
        return self.overall.tied / self.overall.pairs if self.overall.pairs else float("nan")

    def row(self) -> dict[str, Any]:
        """The figures over all seeds, and the correlations of each."""
        return {
            **asdict(self.overall),
            "tied_share": self.tied_share,
            "by_seed": {
                key: [getattr(each, key) for each in self.by_seed]
                for key in ("pearson", "kendall", "kendall_ties_agree")
            },
            "ci95": dict(self.ci95),
        }


@dataclass(frozen=True, eq=False)
class MetricFigures:
    """What MAEGE finds of one metric.

    Attributes:
        scores: its scores.
        corpus: figures over corpora.
        sentence: figures over chains.
        by_type: change of the score by error type, and over all (`all`); empty if not asked for.
    """

    scores: PoolScores
    corpus: CorpusLevel
    sentence: SentenceLevel
    by_type: Mapping[str, TypeChange] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """The figures as a record, without those by type."""
        return {
            "metric": self.scores.label,
            "family": self.scores.family,
            "signature": self.scores.signature,
            "corpus": self.corpus.row(),
            "sentence": self.sentence.row(),
            "seconds": self.scores.seconds,
            "missing": self.scores.unanswered,
        }


@dataclass(frozen=True, repr=False, eq=False)
class Maege(ExperimentResult):
    """What MAEGE finds of several metrics.

    Attributes:
        metrics: one a metric, in the order in which they were named.
        drawn: what was scored, and how it was drawn.
    """

    metrics: tuple[MetricFigures, ...]
    drawn: Drawn

    @property
    def unanswered(self) -> int:
        """How many texts were to be scored and were not."""
        return sum(one.scores.unanswered for one in self.metrics)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the metrics have to say to the user, each remark once."""
        return tuple(dict.fromkeys(note for one in self.metrics for note in one.scores.notes))

    def rows(self) -> list[dict[str, Any]]:
        """One record a metric, with records of its figures at corpus and sentence level."""
        return [one.row() for one in self.metrics]

    def type_rows(self) -> list[dict[str, Any]]:
        """One record a metric and error type; none if they were not asked for."""
        return [
            {"metric": one.scores.label, "type": kind, **asdict(change)}
            for one in self.metrics
            for kind, change in one.by_type.items()
        ]

    def about(self) -> dict[str, Any]:
        """What was drawn and how, as a record."""
        drawn, settings = self.drawn, self.drawn.settings
        references = next(iter(drawn.pool.references.values()))
        first = drawn.draws[0]
        return {
            "corpus": list(drawn.names),
            "sentences": len(drawn.corpus),
            "annotators": drawn.corpus.annotators,
            "left_out": dict(drawn.corpus.left_out),
            "references": references.name if ALL in drawn.pool.references else "other annotators",
            "reference_count": len(references.texts),
            "source": settings.source,
            "aggregate": settings.aggregate,
            "means": first.means,
            "variance": settings.variance,
            "seed": settings.seed,
            "seeds": settings.seeds,
            "resamples": settings.resamples,
            "chains": len(first.chains),
            "texts": sum(len(chain.texts) for chain in first.chains),
            "scored": len(drawn.pool.keys),
        }

    def __str__(self) -> str:
        """The figures over corpora and over chains side by side."""
        from gecjury.report.tables import records_text

        return records_text(
            [
                {
                    "metric": row["metric"],
                    "r corpus": row["corpus"]["pearson"],
                    "ρ corpus": row["corpus"]["spearman"],
                    "r sentence": row["sentence"]["pearson"],
                    "τ sentence": row["sentence"]["kendall"],
                    "missing": row["missing"],
                }
                for row in self.rows()
            ]
        )


def measure(
    drawn: Drawn,
    metrics: Metrics,
    *,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
) -> Maege:
    """Score what was drawn and measure the scores against the orders known.

    Args:
        drawn: from `draw_texts`.
        metrics: names, with options as on the command line, or scorers.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.

    Raises:
        OptionError: an unknown metric or option.
        InputError: the corpus lacks what a metric needs.
        OutputError: the folder cannot be written.
    """
    settings = drawn.settings
    check_resamples(settings.resamples, len(drawn.corpus))
    scorers = scorers_of(metrics, new_texts="maege")
    if folder:
        check_writable(folder)
    found = [
        score_pool(
            scorer,
            drawn.pool,
            drawn.draws,
            mean=settings.aggregate == "mean",
            folder=str(folder) if folder else None,
            runtime=runtime,
        )
        for scorer in scorers
    ]
    weights = sentence_counts(len(drawn.corpus), settings.resamples, [settings.seed, 2])
    return Maege(tuple(_figures(scores, drawn, weights) for scores in found), drawn)


def _figures(scores: PoolScores, drawn: Drawn, weights: FloatArray) -> MetricFigures:
    pool, corpus = drawn.pool, drawn.corpus
    sums = [
        chain_sums(
            corpus,
            each.chains,
            [scores.values[pool.chain(chain)] for chain in each.chains],
            gold_scores(corpus, each.chains),
        )
        for each in drawn.draws
    ]
    means = [np.array(each.means) for each in drawn.draws]
    corpora = list(zip(means, scores.corpora, strict=True))
    by_type: Mapping[str, TypeChange] = {}
    if drawn.settings.by_type:
        chains = [chain for each in drawn.draws for chain in each.chains]
        values = [scores.values[pool.chain(chain)] for chain in chains]
        by_type = type_changes(chains, values, weights)
    return MetricFigures(
        scores,
        CorpusLevel(
            tuple(pearson(x, y) for x, y in corpora),
            tuple(spearman(x, y) for x, y in corpora),
            scores.corpora,
        ),
        SentenceLevel(
            chain_agreement(sums),
            tuple(chain_agreement([each]) for each in sums),
            agreement_interval(sums, weights),
        ),
        by_type,
    )


def maege(
    corpus: str | Path | Sequence[str | Path] | Sequence[M2Sentence],
    *,
    metrics: Metrics,
    settings: MaegeSettings | None = None,
    data: str | None = None,
    folder: str | Path | None = None,
    runtime: Runtime | None = None,
    language: Language | None = None,
) -> Maege:
    """Try metrics against chains of one annotator's edits, whose order is known.

    Args:
        corpus: as for `draw_texts`.
        metrics: names, with options as on the command line, or scorers.
        settings: what is drawn, and what it is measured against.
        data: folder with benchmark data; see `gecjury.benchmarks.data_folder.open_data`.
        folder: where score files are read and kept; by default nowhere.
        runtime: device, workers and the like.
        language: as for `draw_texts`.

    Raises:
        OptionError: an unknown metric, option, corpus or reference set.
        InputError: files that are malformed, or a corpus of which no chain can be made.
        DataError: files of a known corpus are missing.
        OutputError: the folder cannot be written.
    """
    scorers = scorers_of(metrics, new_texts="maege")
    cache = None if runtime is None or runtime.cache is None else str(runtime.cache)
    drawn = draw_texts(corpus, settings, data=data, cache=cache, language=language)
    return measure(drawn, scorers, folder=folder, runtime=runtime)
