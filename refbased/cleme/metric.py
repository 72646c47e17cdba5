"""CLEME and CLEME2.0 as metrics: F0.5, and hit, wrong, under and over, of shared chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edits, counted_edits
from gecjury.refbased.cleme.counts import (
    CLEME_COUNTS,
    CORPUS_WEIGHTS,
    HIT_WEIGHTS,
    SENTENCE_HIT_WEIGHTS,
    SENTENCE_WEIGHTS,
    ChunkVerdicts,
    combined,
    components,
    confusion,
    judge_chunks,
    partition,
)
from gecjury.refbased.edit_metric import (
    BestReference,
    EditMetric,
    ScoreLevel,
    distinct_corrections,
)
from gecjury.refbased.references import FirstBest, RunningRule, f_rule, wordless
from gecjury.scoring.abilities import CountsInParts, EditCase, EditCounts, Explanation
from gecjury.scoring.scorer import setting
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import precision_recall_f

# Where statistics keep the counts of each level.
_COLUMNS = {
    "corpus": slice(0, len(CLEME_COUNTS)),
    "sentence": slice(len(CLEME_COUNTS), 2 * len(CLEME_COUNTS)),
}

_VerdictsOfSystems = tuple[list[ChunkVerdicts], tuple[str, ...]]
"""The verdicts on each system, and notes."""


@dataclass(frozen=True)
class CLEME(BestReference, EditMetric, CountsInParts):
    """F0.5 over chunks whose boundaries all references share (Ye et al. 2023).

    Range 0 to 1, higher is better. Precision is 1 without false positives, recall 1 without false
    negatives. References that delete the whole sentence are dropped. With `dependent`, each
    sentence uses, for the corpus score, the reference with the best running F (ties: more TP, fewer
    FP, fewer FN, more TN), and for the sentence score, the best by F, precision and recall.

    Attributes:
        assumption: `dependent` compares with each reference separately, `independent` with all at
            once: a chunk is right if any reference has it.
        beta: weight of recall.
        compat: `official` weighs sentences like the corpus, since the authors' program never
            applies its sentence-level weights, and rounds the running F to 4 digits. `published`
            uses the sentence weights behind the published SEEDA tables, which differ for false
            negatives.
    """

    name: ClassVar[str] = "cleme"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over chunks shared by all references"
    paper: ClassVar[str] = "Ye et al. 2023"

    assumption: Literal["dependent", "independent"] = "independent"
    beta: float = setting(0.5, scoring=True, least=0, most=1e100)
    compat: Literal["gecjury", "official", "published"] = "gecjury"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return counts, systems × sentences × references × 10; NaN for a dropped reference.

        The five counts of `cleme.counts.CLEME_COUNTS` have corpus weights first, then sentence
        weights. There is one reference if references are judged together.
        """
        judged, notes = self._judged(corpus, runtime)
        return Statistics(self._weighted(judged), notes=notes)

    def count_part(self, corpus: Corpus, runtime: Runtime) -> _VerdictsOfSystems:
        """Return the verdicts on all chunks of each system, and notes."""
        judged, notes = self._judged(corpus, runtime)
        return [verdicts.compact() for verdicts in judged], notes

    def join_parts(self, parts: Iterable[_VerdictsOfSystems], corpus: Corpus) -> Statistics:
        """Return statistics whose weights depend on the mean length of the whole corpus.

        Args:
            parts: results of `count_part`.
            corpus: the whole corpus.
        """
        counted = list(parts)
        changed = [[(own.changed, own.changed_tokens) for own in judged] for judged, _ in counted]
        by_system = np.sum(changed, axis=0).tolist()

        def weighted() -> Iterator[Statistics]:
            for judged, notes in counted:
                whole = [
                    replace(own, changed=count, changed_tokens=tokens)
                    for own, (count, tokens) in zip(judged, by_system, strict=True)
                ]
                yield Statistics(self._weighted(whole), notes=notes)

        return super().join_parts(weighted(), corpus)

    def _judged(self, corpus: Corpus, runtime: Runtime) -> _VerdictsOfSystems:
        """Return the verdicts on all chunks of each system, and notes on the edits."""
        edits = self.edits(corpus, runtime)
        sources = [source.split() for source in corpus.sources]
        judged = [
            judge_chunks(
                sources,
                edits.systems[name],
                edits.references,
                independent=self.assumption == "independent",
            )
            for name in runtime.track(edits.systems, f"{self.name}: chunks", len(corpus.systems))
        ]
        return judged, edits.notes

    def _weighted(self, judged: Sequence[ChunkVerdicts]) -> FloatArray:
        """Return counts of verdicts, systems × N × references × 10; NaN: dropped."""
        by_sentence = SENTENCE_WEIGHTS[self.compat][self.assumption == "independent"]
        return np.stack([verdicts.counts(CORPUS_WEIGHTS, by_sentence) for verdicts in judged])

    def adds_up(self, references: int) -> bool:
        """Return True unless a reference is chosen; those judged together count as one."""
        return references == 1 or self.assumption == "independent"

    def counts_at(self, values: FloatArray, level: ScoreLevel) -> FloatArray:
        """Return the counts with the length weights of a level, (..., columns)."""
        return values[..., _COLUMNS[level]]

    @property
    def rule(self) -> FirstBest:
        """The rule that chooses a reference by the running F."""
        square = self.beta * self.beta
        weights = (1 + square, 1.0, 1.0, square, 0.0)
        return f_rule(self._running_keys, self.beta, weights)

    @property
    def _digits(self) -> int:
        return 4 if self.compat == "official" else 12

    def _running_keys(self, sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        tp, needed, needless, fn, tn, *_ = np.moveaxis(counts, -1, 0)
        score = np.round(self._running_score(sums), self._digits)
        return (score, tp, -needed - needless, -fn, tn)

    def _running_score(self, sums: FloatArray) -> FloatArray:
        """Return the score of sums by which references are chosen."""
        return self.scores_of(sums, "corpus").score

    def sentence_keys(self, counts: FloatArray) -> Sequence[FloatArray]:
        """Return F, precision and recall, each without the last axis."""
        precision, recall, score = precision_recall_f(*confusion(counts), beta=self.beta)
        return (score, precision, recall)

    def scores_of(self, counts: FloatArray, level: ScoreLevel) -> Scores:
        """Return F, precision and recall of weighted counts."""
        precision, recall, score = precision_recall_f(*confusion(counts), beta=self.beta)
        return Scores(score, precision, recall)

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return 1 for each edit that lies in a chunk that is a hit, else 0.

        With `independent`, a chunk is a hit if any reference has it.
        """
        references = self.reference_edits(corpus, runtime)
        corrections, place = distinct_corrections(cases)
        tokens = [corpus.sources[row].split() for row, _ in corrections]
        targets = [[counted_edits(lines[row]) for row, _ in corrections] for lines in references]
        judged = judge_chunks(tokens, [edits for _, edits in corrections], targets)
        credit = np.full((len(cases), len(references)), np.nan)
        parts = [
            partition(
                tokens[n], [edits, *(lines[n] for k, lines in enumerate(targets) if usable[k])]
            )
            for n, ((_, edits), usable) in enumerate(zip(corrections, judged.usable, strict=True))
        ]
        for number, case in enumerate(cases):
            cut, usable = parts[place[number]], judged.usable[place[number]]
            made = cut.texts[0]
            at = next(
                (
                    chunk
                    for chunk, (start, end) in enumerate(cut.spans)
                    if made[chunk] is not None and start <= case.edit.start and case.edit.end <= end
                ),
                None,
            )
            hits = [at is not None and text[at] == made[at] for text in cut.texts[1:]]
            credit[number, usable] = hits
        # Independent: one reference that has the chunk suffices.
        if self.assumption == "independent":
            return EditCounts(np.nanmax(credit, axis=1))
        counts = self.counts_at(self._weighted([judged])[0], "sentence")
        return self.credited(credit, counts, place)

    def explain(
        self, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
    ) -> Explanation:
        """Label each chunk as hit, wrong, under (only the reference changes it) or over."""
        tokens = source.split()
        parts = partition(tokens, [counted_edits(hypothesis), counted_edits(reference)])
        rows = []
        for span, output, target in zip(parts.spans, *parts.texts, strict=True):
            # Most chunks of a sentence are unchanged and not worth a row.
            if output is None and target is None:
                continue
            verdict = "under" if output is None else "over" if target is None else "wrong"
            if output == target:
                verdict = "hit"
            rows.append(
                {
                    "chunk": f"[{span[0]},{span[1]}]",
                    "source": " ".join(tokens[slice(*span)]) or None,
                    "hypothesis": None if output is None else " ".join(output) or "∅",
                    "reference": None if target is None else " ".join(target) or "∅",
                    "verdict": verdict,
                }
            )
        columns = ("chunk", "source", "hypothesis", "reference", "verdict")
        scores = self.explained_scores(source, hypothesis, reference, runtime)
        return Explanation(scores, columns, rows)


@dataclass(frozen=True)
class CLEME2(CLEME):
    """CLEME2.0: hit, wrong, under- and over-correction in one score (Ye et al. 2025).

    Range 0 to 1, higher is better: w1·hit + w2·(1−wrong) + w3·(1−under) + w4·(1−over) with weights
    .45 .35 .15 .05 for the corpus and .35 .25 .20 .20 for sentences. The statistics' details
    contain the four components of every system. With `dependent`, each sentence uses, for the
    corpus score, the reference with the best running score, which the authors' program does not
    round either. An output without words scores 0, although it misses nothing and may change
    nothing needlessly.
    """

    name: ClassVar[str] = "cleme2"
    version: ClassVar[int] = 3
    part_names: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str] = "hit, wrong, under- and over-correction of shared chunks"
    paper: ClassVar[str] = "Ye et al. 2025"

    # CLEME2.0 does not compute F, precision and recall of chunks.
    explain = None  # type: ignore[assignment]

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return CLEME's statistics and a column that is 0 for an output without words, else 1.

        The details contain each system's corpus components.
        """
        return self._with_components(super().statistics(corpus, runtime), corpus)

    def join_parts(self, parts: Iterable[_VerdictsOfSystems], corpus: Corpus) -> Statistics:
        """Return CLEME's statistics with components; see `statistics`."""
        return self._with_components(super().join_parts(parts, corpus), corpus)

    def _with_components(self, statistics: Statistics, corpus: Corpus) -> Statistics:
        # References without words are dropped if another has some.
        said = np.logical_not(wordless(corpus).any(axis=2))[:, :, None, None]
        column = np.broadcast_to(said, (*statistics.values.shape[:3], 1))
        values = np.concatenate([statistics.values, column], axis=-1)
        statistics = replace(statistics, values=values)
        # The components cannot be derived from the score, so they are kept in the details.
        totals, _ = self.chosen_in_run(statistics.values)
        names = ("hit", "wrong", "under", "over")
        table = {
            system: {name: float(part[row]) for name, part in zip(names, parts, strict=True)}
            for parts in [components(totals)]
            for row, system in enumerate(corpus.systems)
        }
        return replace(statistics, details={"components": table})

    @property
    def rule(self) -> FirstBest:
        """The rule that chooses a reference by the combined score."""
        # Neither unchanged chunks nor the last column affect the choice.
        return RunningRule(self._running_keys, (True, True, True, True, False, False))

    def counts_at(self, values: FloatArray, level: ScoreLevel) -> FloatArray:
        """Return the counts of a level and the column on words, (..., 6)."""
        said = values[..., 2 * len(CLEME_COUNTS) :]
        return np.concatenate([super().counts_at(values, level), said], axis=-1)

    def _running_score(self, sums: FloatArray) -> FloatArray:
        return combined(sums)

    @property
    def _digits(self) -> int:
        return 12  # the authors' program rounds CLEME's running score, not that of CLEME2.0

    def sentence_keys(self, counts: FloatArray) -> Sequence[FloatArray]:
        """Return the combined score, hit, wrong, under and over, each without the last axis."""
        hit, wrong, under, over = components(counts)
        return (combined(counts, SENTENCE_HIT_WEIGHTS), hit, -wrong, -under, -over)

    def scores_of(self, counts: FloatArray, level: ScoreLevel) -> Scores:
        """Return the combined score with the weights of the level; 0 if no output has words."""
        weights = HIT_WEIGHTS if level == "corpus" else SENTENCE_HIT_WEIGHTS
        return Scores(np.where(counts[..., len(CLEME_COUNTS)] == 0, 0.0, combined(counts, weights)))
