"""Meta-evaluation: comparison of any metrics' score tables with a benchmark's human judgments."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from gecjury.benchmarks.annotators import (
    AnnotatorAgreement,
    annotator_agreement,
    doubly_judged,
)
from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import (
    MEAN_RATER,
    PAIRS_AT_ONCE,
    JudgedEntries,
    JudgmentPairs,
    RankedItem,
    judged_entries,
    rank_ratings,
)
from gecjury.benchmarks.table import View
from gecjury.core.arrays import (
    BLOCK,
    FloatArray,
    Int32Array,
    IntArray,
    blocks,
    draw_weights,
    settled,
)
from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.metaeval.chance import chance_scores, sentence_table
from gecjury.metaeval.settings import HumanKind, Settings
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.bootstrap import Interval, figure_interval, sentence_counts
from gecjury.stats.correlation import MEASURES, correlations
from gecjury.stats.counts import ratio
from gecjury.stats.figure import ABOUT, Figure, FromValues
from gecjury.stats.permutation import permutation_signs
from gecjury.stats.preferences import (
    SENTENCE_STATISTICS,
    PreferenceAgreement,
    agreement_in_parts,
    pair_table,
    preference_agreement,
)
from gecjury.stats.ranking import aggregate_scores
from gecjury.stats.soft_accuracy import (
    Differences,
    JudgedDifferences,
    ScoreDifferences,
    confidences,
    soft_pairwise_accuracy,
    soft_permutations,
)
from gecjury.stats.trueskill import sampled_opponents

if TYPE_CHECKING:
    from gecjury.scoring.scorer import Scorer

HUMAN_KINDS: tuple[HumanKind, ...] = get_args(HumanKind)
LEAST_SENTENCES = 2  # with fewer all draws are the same
# Counts of the items that figures are based on; a row has one of them.
_COUNTS = ("cases", "outputs", "corrections", "pairs", "size")


@dataclass(frozen=True)
class AgreementRow:
    """One metric, chance or people against one kind of judgment at one level.

    Attributes:
        level: as in `gecjury.stats.figure.Figure`.
        metric: metric with its settings; `one rater` or `two annotators`.
        family: the metric's family; `chance` for the chance baselines, `humans` for people.
        human: the aspect rated, the view of the rankings, or the class of bad corrections.
        values: figures and counts by name; a figure that is not defined is NaN.
        signature: the metric's signature in one line, where it is told; for chance its name.
        credit: how the credits of single edits were computed; empty for chance and people.
        side: the side of a pair of corrections whose preference is measured.
        systems: the systems that the figures are restricted to.
        missing: number of missing scores.
        intervals: interval of each figure; empty without resampling.
        clusters: significance cluster by level, 1 is best; None without a test.
        drawn: values of each figure on every draw of sentences.
        scores: the metric's score of each system after aggregation, where it is used.
        thresholds: by measure of single edits the thresholds used; scores above count as valid.
    """

    level: str
    metric: str
    family: str
    human: str
    values: Mapping[str, float]
    signature: str = ""
    credit: str = ""
    side: str = ""
    systems: tuple[str, ...] = ()
    missing: int = 0
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    clusters: Mapping[str, int | None] = field(default_factory=dict)
    drawn: Mapping[str, FloatArray] = field(default_factory=dict, repr=False, compare=False)
    scores: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)

    # Values that code reads by name, so that a misspelt one is a type error.
    accuracy, pearson, auc = FromValues(), FromValues(), FromValues()
    pairs, tied, tied_share = FromValues(), FromValues(), FromValues()
    edits, split = FromValues(), FromValues()
    difference, preferred, people = FromValues(), FromValues(), FromValues()

    @property
    def missing_pairs(self) -> float:
        """At sentence level, the judged pairs without both scores; `missing` counts scores."""
        return self.values["missing"]

    @property
    def name(self) -> str:
        """The metric, with the way its credits were computed."""
        return f"{self.metric} ({self.credit})" if self.credit else self.metric

    def figures(self) -> Iterator[Figure]:
        """Yield the figures and counts of the row."""
        about = {name: getattr(self, name) for name in (*ABOUT, "level") if hasattr(self, name)}
        for statistic, value in self.values.items():
            # People are compared at both levels at once.
            of = "system" if statistic in MEASURES else "sentence"
            own = "annotators" if of == "system" else "judgments"
            sizes = (self.values.get(name) for name in (own, *_COUNTS))
            low, high = map(float, self.intervals.get(statistic, (math.nan, math.nan)))
            yield Figure(
                statistic=statistic,
                value=value,
                low=low,
                high=high,
                cluster=self.clusters.get(of if self.level == "annotators" else self.level),
                n=next((int(size) for size in sizes if size is not None), None),
                missing=self.missing,
                **about,
            )


@dataclass(frozen=True)
class MetaEvaluation:
    """A comparison to be made: metrics, the human judgments of a benchmark, and settings.

    `gecjury.metaeval.comparison.checked` makes one from what a user asked for.

    Attributes:
        benchmark: corpus, judgments and human scores.
        settings: settings of the comparison.
        metrics: metrics of the levels above edits.
        edit_metrics: metrics of the edit level.
        untried: names of the metrics that the edit level leaves out because they would cost much.
        runtime: device, workers and the like.
        rounded: metrics rounded to the levels of a judge, which are added to the chance tables.
        sentence_draws: resampled sentences, draws × sentences, if benchmarks that share sources
            draw them together; None to draw them with the seed.
    """

    benchmark: Benchmark
    settings: Settings = field(default_factory=Settings)
    metrics: tuple[Scorer | ScoreTable, ...] = ()
    edit_metrics: tuple[Scorer, ...] = ()
    untried: tuple[str, ...] = ()
    runtime: Runtime = field(default_factory=Runtime)
    rounded: tuple[ScoreTable, ...] = ()
    sentence_draws: IntArray | None = field(default=None, repr=False, compare=False)

    @property
    def views(self) -> tuple[View, ...]:
        """The views of the human judgments that metrics are compared with."""
        return self.settings.views(self.benchmark.view, self.benchmark.views)

    def human_kind(self, view: View) -> str:
        """Return the human column in use, such as `trueskill`.

        Raises:
            OptionError: the benchmark has no such view.
        """
        known_name(f"view of {self.benchmark.name}", view, self.benchmark.views)
        kinds = self.benchmark.human[view]
        if self.settings.human_scores is not None:
            return self.settings.human_scores
        return next(kind for kind in HUMAN_KINDS if kind in kinds)

    def human(self, view: View) -> FloatArray:
        """Return human scores of the corpus' systems, shape (systems,), in their order."""
        return self.benchmark.human_scores(self.human_kind(view), view)

    def pairs(self, view: View) -> JudgmentPairs:
        """Return pairwise judgments of the corpus' systems, ties included.

        Under `calibrated`, where ties are answers, pairs of equal texts are left out: nobody could
        have decided them, and every metric ties them, so every metric would be right for free.
        """
        if view not in self._pairs:
            self._pairs[view] = self.judged[view].whole()
        return self._pairs[view]

    def parts(self, view: View) -> Iterator[JudgmentPairs]:
        """Yield the pairs of `pairs` in their order, in parts if there are very many."""
        judged = self.judged[view]
        if len(judged) <= PAIRS_AT_ONCE:
            return self.pairs(view).parts()
        return judged.parts(PAIRS_AT_ONCE)

    @cached_property
    def _pairs(self) -> dict[View, JudgmentPairs]:
        return {}

    @cached_property
    def judged(self) -> Mapping[View, JudgedEntries]:
        """The judgments of `pairs` by view, as the entries from which the pairs are built."""
        names = self.benchmark.corpus.names
        judged = {v: judged_entries(items, names) for v, items in self.benchmark.rankings.items()}
        if self.settings.ties == "calibrated":
            judged = {view: replace(entries, shared=False) for view, entries in judged.items()}
        return judged

    @cached_property
    def compared(self) -> IntArray:
        """The systems that humans scored in some view, which are those of the system level.

        All systems if humans scored none.
        """
        scored = [~np.isnan(self.human(view)) for view in self.views]
        some = np.flatnonzero(np.any(scored, axis=0))
        return some if len(some) else np.arange(len(self.benchmark.corpus.names))

    def system_scores(self, sentences: FloatArray, corpus_scores: FloatArray) -> FloatArray:
        """Aggregate a metric's scores to one score per system; NaN for one that nobody judged.

        Args:
            sentences: systems × sentences.
            corpus_scores: the metric's own corpus scores.
        """
        key = _content(sentences), _content(corpus_scores)
        if key not in self._system_scores:
            how = self.settings
            scores = np.full(len(sentences), np.nan)
            # TrueSkill and Expected Wins depend on the systems that take part.
            scores[self.compared] = aggregate_scores(
                how.aggregate,
                sentences[self.compared],
                corpus_scores[self.compared],
                opponents=self.opponents,
                seed=how.seed,
            )
            self._system_scores[key] = settled(scores)
        return self._system_scores[key]

    @cached_property
    def _system_scores(self) -> dict[tuple[bytes, bytes], FloatArray]:
        return {}

    @property
    def opponents(self) -> int | None:
        """Opponents that each system meets on each sentence in TrueSkill; None for all others."""
        if self.settings.aggregate != "trueskill":
            return None
        return sampled_opponents(len(self.compared), len(self.benchmark.corpus))

    def evaluate(self, table: ScoreTable) -> list[AgreementRow]:
        """Compare one metric's scores with each view, over systems and over judged pairs.

        Of the values at system level, `pearson`, `spearman` and `kendall` (τ-b) are correlations,
        `pairwise_accuracy` is the share of the pairs of systems in the humans' order, and `spa`
        soft pairwise accuracy. At sentence level, which views without judged pairs lack,
        `accuracy_there` and `pairs_there` are of the judgments by which two annotators are
        compared, if there are any. Rows without a level are about the scores themselves.

        Raises:
            InputError: the table has other systems or sentences than the benchmark.
        """
        corpus = self.benchmark.corpus
        if table.systems != corpus.names or table.sentences.shape[1] != len(corpus):
            raise InputError(
                f"scores of {len(table.systems)} systems × {table.sentences.shape[1]} sentences "
                f"do not belong to {self.benchmark.name} ({len(corpus.names)} × {len(corpus)})"
            )
        # Scores of systems are the same for all views; with TrueSkill they cost the most time.
        scores = self.system_scores(table.sentences, table.by_system.score)
        rows: list[AgreementRow] = []
        for view in self.views:
            values: dict[str, float] = self.over_systems(scores, view, table.sentences)
            row = self.row("system", table, view, values, {})
            row = replace(row, signature=str(table.signature), scores=scores)
            rows.append(row)
            if (agreed := self.over_pairs(table, view)) is not None:
                names = (*SENTENCE_STATISTICS, "tied", "tied_share", "pairs", "missing", "epsilon")
                values = {name: getattr(agreed, name) for name in names}
                if (twice := self.over_doubly_judged(table, view)) is not None:
                    values |= {"accuracy_there": twice.accuracy, "pairs_there": twice.pairs}
                rows.append(replace(row, level="sentence", values=values))
            values = {"missing": table.missing, "seconds": float(table.seconds)}
            rows.append(replace(row, level="", values=values))
        return rows

    def over_systems(
        self, scores: FloatArray, view: View, sentences: FloatArray | None = None
    ) -> dict[str, float]:
        """Return correlations of system scores with the human ones.

        Args:
            scores: the metric's score of each system.
            view: the view of the human scores.
            sentences: the metric's sentence scores, which soft pairwise accuracy needs.
        """
        human = self.human(view)
        scored = ~(np.isnan(human) | np.isnan(scores))
        measured = correlations(human[None, scored], scores[None, scored])
        values = {name: float(one[0]) for name, one in measured.items()}
        soft = float("nan") if sentences is None else self.soft_accuracy(sentences, view)
        return {**values, "spa": soft}

    def soft_accuracy(self, sentences: FloatArray, view: View) -> float:
        """Return soft pairwise accuracy; NaN without judgments or with fewer than three systems.

        Humans and metric are tested on the sentences on which humans compared the two systems.
        """
        wanted = self.human_differences[view]
        if wanted is None or self.few(view):
            return float("nan")
        p = self.confidence(view, sentences)
        return float(soft_pairwise_accuracy(self.confidence(view), p))

    def few(self, view: View) -> bool:
        """Return True if humans scored fewer than three of the systems."""
        return bool(np.count_nonzero(~np.isnan(self.human(view))) < 3)

    def confidence(self, view: View, sentences: FloatArray | None = None) -> FloatArray:
        """Return one-sided p, shape (pairs of systems,), with the same permutations every time.

        Args:
            view: view of the judgments that decide the pairs compared and their sentences.
            sentences: a metric's scores, systems × sentences; None for the humans' own p.
        """
        key = view, b"" if sentences is None else _content(sentences)
        if key not in self._confidences:
            wanted = self.human_differences[view]
            assert wanted is not None  # callers check this
            scores = None if sentences is None else ScoreDifferences(sentences)
            signs = self.signs(soft_permutations(len(self.benchmark.corpus), wanted.size))[0]
            self._confidences[key] = confidences(wanted, scores, signs)
        return self._confidences[key]

    @cached_property
    def _confidences(self) -> dict[tuple[View, bytes], FloatArray]:
        return {}

    def signs(self, permutations: int) -> tuple[FloatArray, bool]:
        """Return `permutation_signs` of the sentences, which all tests share."""
        if permutations not in self._signs:
            lines, seed = len(self.benchmark.corpus), self.settings.seed
            self._signs[permutations] = permutation_signs(lines, permutations, seed)
        return self._signs[permutations]

    @cached_property
    def _signs(self) -> dict[int, tuple[FloatArray, bool]]:
        return {}

    @cached_property
    def human_differences(self) -> Mapping[View, Differences | None]:
        """How far humans prefer the first of two systems, by sentence and pair, for every view.

        These are differences of ratings if sentences were rated, and mean preferences if they were
        ranked. None if the view has neither.
        """
        differences: dict[View, Differences | None] = dict.fromkeys(self.benchmark.views)
        for view in differences:
            if self.benchmark.segment_scores is not None:
                differences[view] = ScoreDifferences(self.benchmark.segment_scores)
            elif self.benchmark.rankings.get(view):
                judged, lines = self.judged[view], len(self.benchmark.corpus)
                # If many systems share a ranking, a table of cells is smaller than the pairs.
                if len(judged) > max(PAIRS_AT_ONCE, judged.cells):
                    differences[view] = RankedDifferences(judged, lines)
                else:
                    differences[view] = judged_differences(self.pairs(view), lines)
        return differences

    def over_pairs(self, table: ScoreTable, view: View) -> PreferenceAgreement | None:
        """Return agreement over judged pairs; None if the view has no judged pairs."""
        if not self.benchmark.rankings.get(view):
            return None
        parts = ((pairs.preference, *self.sides(view, table, pairs)) for pairs in self.parts(view))
        return agreement_in_parts(parts, ties=self.settings.ties)

    def sides(
        self, view: View, table: ScoreTable, pairs: JudgmentPairs | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the metric's scores of both sides of every judged pair.

        In the view that the corpus' groups belong to, scores of groups are used instead of sentence
        scores.

        Args:
            view: the view of the judgments.
            table: the metric's scores.
            pairs: by default those of the view, expanded; other pairs must come from its rankings
                (item −1 if they come from none of them).

        Returns:
            Scores of the first and of the second system, each of shape (pairs,); NaN where the
            metric has no score, such as for a ranking item that is not a group of the corpus.
        """
        pairs = self.pairs(view) if pairs is None else pairs
        groups, items = self.benchmark.corpus.groups, table.statistics.items
        scores = table.sentences
        if items is None or groups is None or view != self.benchmark.view:
            column = pairs.sentence
        else:
            # An item without a group has no score, so its pairs use the last column, which is NaN.
            columns = {group.id: number for number, group in enumerate(groups)}
            ids = [f"{i.annotator}.{i.item_id}" for i in self.benchmark.rankings[view]]
            of_item = [columns.get(name, len(groups)) for name in ids] + [len(groups)]
            column = np.array(of_item, dtype=np.int64)[pairs.item]
            scores = np.column_stack([items, np.full(len(items), np.nan)])
        return scores[pairs.first, column], scores[pairs.second, column]

    def over_doubly_judged(self, table: ScoreTable, view: View) -> PreferenceAgreement | None:
        """Return agreement over the judgments that `ceiling` compares; None without them."""
        wanted: list[IntArray] = []
        sides: list[tuple[FloatArray, FloatArray]] = []
        for pairs, rows in self.doubly_judged.get(view, ()):
            first, second = self.sides(view, table, pairs)
            wanted.append(pairs.preference[rows])
            sides.append((first[rows], second[rows]))
        if not sum(map(len, wanted)):
            return None
        left, right = (np.concatenate([part[side] for part in sides]) for side in (0, 1))
        return preference_agreement(np.concatenate(wanted), left, right, ties=self.settings.ties)

    @cached_property
    def doubly_judged(self) -> Mapping[View, list[tuple[JudgmentPairs, IntArray]]]:
        """Pairs in parts, and the rows of `gecjury.benchmarks.annotators.doubly_judged`, by view.

        The pairs refer to items of the view's rankings, as `sides` requires.
        """
        ties = self.settings.ties == "calibrated"
        judged: dict[View, list[tuple[JudgmentPairs, IntArray]]] = {}
        for view, items in self.benchmark.rankings.items():
            parts = self.annotated[view].repeated(within=False) if items else ()
            if self.annotated[view] is not self.judged[view]:
                # Raters' rankings are not those of the view, which has one item per sentence.
                of_sentence = {item.sentence: number for number, item in enumerate(items)}
                lines = range(len(self.benchmark.corpus))
                place = np.array([of_sentence.get(line, -1) for line in lines], dtype=np.int64)
                parts = (replace(pairs, item=place[pairs.sentence]) for pairs in parts)
            judged[view] = [(pairs, doubly_judged(pairs, ties=ties)) for pairs in parts]
        return judged

    def rankings_by_people(self, view: View) -> tuple[RankedItem, ...]:
        """Return the rankings of a view by single annotators.

        If the view's rankings are derived from mean ratings, the result is derived from each
        rater's ratings: those of the aspect that was rated, or the rater's mean over the aspects.
        """
        items, raters = self.benchmark.rankings[view], self.benchmark.raters
        if not raters or {item.annotator for item in items} != {MEAN_RATER}:
            return items
        corpus = self.benchmark.corpus
        return tuple(
            item
            for number, ratings in enumerate(mean_by_rater(raters))
            for item in rank_ratings(ratings, corpus, f"rater {number + 1}")
        )

    @cached_property
    def annotated(self) -> Mapping[View, JudgedEntries]:
        """The entries of `rankings_by_people` by view; those of `judged` if they are the same."""
        annotated = dict(self.judged)
        for view, rankings in self.benchmark.rankings.items():
            if (items := self.rankings_by_people(view)) is not rankings:
                entries = judged_entries(items, self.benchmark.corpus.names)
                annotated[view] = replace(entries, shared=self.settings.ties != "calibrated")
        return annotated

    def ceiling(self, view: View) -> AnnotatorAgreement | None:
        """Return how well two different annotators agree on pairs of the corpus' systems.

        As for the metrics, under `calibrated` ties are answers and no pair is left out.
        """
        if not self.benchmark.rankings.get(view):
            return None
        agreement = annotator_agreement(self.annotated[view])
        if self.settings.ties == "calibrated":
            agreement = replace(agreement, accuracy=agreement.with_ties, decided=agreement.pairs)
        return agreement

    @cached_property
    def chance_tables(self) -> tuple[ScoreTable, ...]:
        """Score tables of `gecjury.metaeval.chance`: chance, and rounded metrics."""
        corpus = self.benchmark.corpus
        scores = chance_scores(corpus, self.settings.seed)
        made = (sentence_table(name, corpus.names, table) for name, table in scores.items())
        return (*made, *self.rounded)

    def chance(self) -> list[AgreementRow]:
        """Return the results of the chance baselines."""
        rows = (row for table in self.chance_tables for row in self.evaluate(table))
        return [replace(row, signature=row.metric) for row in rows]

    @cached_property
    def drawn_counts(self) -> FloatArray | None:
        """Return how often each draw contains each source, draws × sources; None without draws."""
        how = self.settings.resampling
        if not how.draws_sentences:
            return None
        lines = len(self.benchmark.corpus)
        if self.sentence_draws is not None:
            return draw_weights(self.sentence_draws, lines)
        return sentence_counts(lines, how.resamples, self.settings.seed)

    def row(
        self,
        level: str,
        table: ScoreTable,
        human: str,
        values: Mapping[str, float],
        drawn: Mapping[str, FloatArray],
    ) -> AgreementRow:
        """Return a metric's row, with the interval of each statistic drawn over sources.

        Args:
            level: as in `AgreementRow`.
            table: the metric's scores.
            human: as in `AgreementRow`.
            values: figures and counts by name.
            drawn: one value per draw for each figure that is drawn.
        """
        share, metric, bounds = self.settings.resampling.confidence, table.signature, {}
        # Draws of a single sentence are all the same.
        if len(self.benchmark.corpus) >= LEAST_SENTENCES:
            bounds = {
                name: figure_interval(drawn[name], share, float(values[name]))[0] for name in drawn
            }
        missing = int(values.get("missing", table.missing))
        row = AgreementRow(level, metric.label, metric.family, human, values, missing=missing)
        return replace(row, intervals=bounds, drawn=drawn)

    def pairwise(self, table: ScoreTable, view: View) -> tuple[FloatArray, IntArray]:
        """Return `pair_table`: accuracy and number of judged pairs by pair of systems."""
        if self.settings.ties == "calibrated":
            raise OptionError("pairwise analysis needs a tie rule other than calibrated")
        parts = (
            (pairs.first, pairs.second, pairs.preference, *self.sides(view, table, pairs))
            for pairs in self.parts(view)
        )
        return pair_table(parts, size=len(self.benchmark.corpus.names), ties=self.settings.ties)


def _content(scores: FloatArray) -> bytes:
    """Return the key of scores in a cache, the same for arrays of the same numbers."""
    return hashlib.sha256(scores.tobytes()).digest()


def mean_by_rater(raters: Mapping[str, FloatArray]) -> FloatArray:
    """Return each rater's mean over all aspects, raters × systems × sentences; NaN if one lacks."""
    return np.mean(list(raters.values()), axis=0)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class RankedDifferences:
    """The differences of `judged_differences`, computed from the rankings when needed.

    Attributes:
        judged: entries of rankings of many systems.
        sentences: number of sentences of the corpus.
    """

    judged: JudgedEntries
    sentences: int

    @property
    def size(self) -> int:
        """Number of pairs of systems."""
        return math.comb(len(self.judged.systems), 2)

    @cached_property
    def _sides(self) -> tuple[IntArray, IntArray]:
        first, second = np.triu_indices(len(self.judged.systems), 1)
        return first, second

    @cached_property
    def _ranks(self) -> tuple[Int32Array, Int32Array]:
        """Rank and text of every system in every item, items × systems; rank 0 for none."""
        ranks, texts = np.zeros((2, *self.judged.shape), dtype=np.int32)
        at = self.judged.item, self.judged.system
        ranks[at], texts[at] = self.judged.rank, self.judged.text
        return ranks, texts

    @cached_property
    def compared(self) -> IntArray:
        """Pairs with a difference on some sentence."""
        parts = [
            part.start + np.flatnonzero(self._sums(np.arange(self.size)[part])[1].any(axis=0))
            for part in blocks(self.size, max(self.sentences, 1), BLOCK // 4)
        ]
        return np.concatenate(parts)

    def take(self, places: IntArray) -> FloatArray:
        """Return differences, sentences × pairs; NaN where nobody compared the two systems."""
        total, met = self._sums(places)
        return ratio(total, met, np.nan)

    def _sums(self, places: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of preferences and their number, each sentences × pairs."""
        first, second = (side[places] for side in self._sides)
        total, met = np.zeros((2, self.sentences, len(first)))
        for line, ranks, texts in zip(self.judged.sentence, *self._ranks, strict=True):
            rank, other = ranks[first], ranks[second]
            compared = (rank > 0) & (other > 0)
            if not self.judged.shared:
                compared &= texts[first] != texts[second]
            met[line] += compared
            total[line] += np.sign(other - rank) * compared
        return total, met


def judged_differences(pairs: JudgmentPairs, sentences: int) -> JudgedDifferences:
    """Return annotators' mean preferences on each sentence, for every pair of systems.

    A ranking does not score a sentence, but it says which of two systems is better. The mean
    preference is that of +1 (the first), −1 (the second) and 0 (a tie) over all judgments of the
    two on the sentence.

    Args:
        pairs: judgments, ties included.
        sentences: number of sentences of the corpus.

    Returns:
        Differences between −1 and 1 where somebody compared the two.
    """
    size = len(pairs.systems)
    # The place of a pair among (0, 1), (0, 2), ...
    place = pairs.first * (2 * size - pairs.first - 1) // 2 + pairs.second - pairs.first - 1
    cell, inverse = np.unique(place * sentences + pairs.sentence, return_inverse=True)
    sums = np.bincount(inverse, pairs.preference.astype(np.float64), minlength=len(cell))
    means = sums / np.bincount(inverse, minlength=len(cell))
    return JudgedDifferences(cell, means, sentences, size * (size - 1) // 2)
