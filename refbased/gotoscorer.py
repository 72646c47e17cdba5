"""GoToScorer: chunks weighted by how many systems got them wrong.

Gotou et al. (2020), "Taking the Correction Difficulty into Account in Grammatical Error Correction
Evaluation". One reference cuts the source into chunks: its edits, every token outside them, and an
empty chunk at every place between tokens where something could be inserted. The weight of a chunk
is the share of systems that got it wrong, so a chunk that every system gets right weighs nothing.
For one system, each chunk is one of

    tp     an edit of the reference, made as there
    fp     left by the reference, changed by the system
    fn     an edit of the reference, left by the system
    wrong  an edit of the reference, where the system changes something else: fp and fn at once
    tn     left by both

An edit of the reference is changed by every edit that overlaps it and by every insertion before its
first token or inside it; a token is changed by an edit over it, a place by an insertion there.

Edits that leave the text as it is, and those typed `noop`, `Um` or `UNK`, are ignored. An output
without words gets every chunk wrong if the reference has words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, draw_weights
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, counted_edits, keeps_words, ordered_edits
from gecjury.extraction.extract import CorpusEdits
from gecjury.refbased.edit_metric import EditMetric
from gecjury.scoring.abilities import CountsInParts, EditCase, EditCounts
from gecjury.scoring.scorer import setting
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import precision_recall_f

_TP, _FP, _FN, _WRONG, _TN = range(5)


class Chunk(NamedTuple):
    """A chunk of the source, cut by the reference's edits.

    Attributes:
        start: first source token.
        end: after the last source token; `start == end` is a place between tokens.
        correction: the reference's tokens for it.
        edited: True if the reference changes it.
    """

    start: int
    end: int
    correction: tuple[str, ...]
    edited: bool


def _effective(source: Sequence[str], edits: Sequence[Edit]) -> list[tuple[int, int, list[str]]]:
    """Return the edits that change something, in order; insertions at one place are joined.

    Raises:
        InputError: an edit lies outside the source or overlaps another.
    """
    effective: list[tuple[int, int, list[str]]] = []
    for edit in ordered_edits(counted_edits(edits), len(source)):
        start, end, tokens = edit.start, edit.end, edit.tokens
        if tokens == list(source[start:end]):
            continue
        # The reference may insert twice at a place; a system that inserts both at once is right,
        # too.
        if effective and start == end == effective[-1][0] == effective[-1][1]:
            effective[-1][2].extend(tokens)
        else:
            effective.append((start, end, tokens))
    return effective


def chunk_sequence(source: Sequence[str], edits: Sequence[Edit]) -> list[Chunk]:
    """Cut a source into the chunks of a reference.

    Args:
        source: source tokens.
        edits: the reference's edits.

    Returns:
        Chunks in order, always at least the one place of an empty sentence.

    Raises:
        InputError: an edit lies outside the source or overlaps another.
    """
    chunks: list[Chunk] = []

    def place(position: int) -> None:
        """Append an empty chunk unless the reference inserts something there."""
        if not chunks or (chunks[-1].start, chunks[-1].end) != (position, position):
            chunks.append(Chunk(position, position, (), False))

    done = 0
    for start, end, tokens in [*_effective(source, edits), (len(source), len(source), None)]:
        for n in range(done, start):
            place(n)
            chunks.append(Chunk(n, n + 1, (source[n],), False))
        if tokens is None or start < end:
            place(start)
        if tokens is not None:
            chunks.append(Chunk(start, end, tuple(tokens), True))
        done = end
    return chunks


def verdicts(source: Sequence[str], chunks: Sequence[Chunk], edits: Sequence[Edit]) -> list[int]:
    """Return 0 (tp), 1 (fp), 2 (fn), 3 (wrong) or 4 (tn) for each chunk of the reference.

    Args:
        chunks: the reference's `chunk_sequence` of the same source.

    Raises:
        InputError: an edit lies outside the source or overlaps another.
    """
    result = [_FN if chunk.edited else _TN for chunk in chunks]
    changes = _effective(source, edits)
    if not changes:
        return result
    if not keeps_words(source, counted_edits(edits)) and any(c.correction for c in chunks):
        return [_WRONG if chunk.edited else _FP for chunk in chunks]
    places = {chunk.start: n for n, chunk in enumerate(chunks) if chunk.start == chunk.end}
    owner = {token: n for n, chunk in enumerate(chunks) for token in range(chunk.start, chunk.end)}
    # In order, so that an exact edit overrides an insertion right before it.
    for start, end, tokens in changes:
        if start == end:
            touched = {places.get(start)}
            following = owner.get(start)
            if following is not None and chunks[following].edited:
                touched.add(following)
        else:
            touched = {owner[token] for token in range(start, end)}
        for n in touched:
            if n is None:
                continue
            chunk = chunks[n]
            if not chunk.edited:
                result[n] = _FP
            elif (chunk.start, chunk.end, chunk.correction) == (start, end, tuple(tokens)):
                result[n] = _TP
            else:
                result[n] = _WRONG
    return result


@dataclass(frozen=True, slots=True)
class JudgedChunks:
    """The verdicts of several systems on the chunks of one reference.

    Attributes:
        verdict: systems × chunks of the whole corpus, see `verdicts`.
        sentence: sentence index of each chunk.
        sentences: number of sentences.
    """

    verdict: IntArray
    sentence: IntArray
    sentences: int

    def weights(self) -> list[FloatArray]:
        """Return the share of systems that got each chunk wrong, by sentence."""
        right = ((self.verdict == _TP) | (self.verdict == _TN)).mean(axis=0)
        cuts = np.searchsorted(self.sentence, np.arange(1, self.sentences))
        return np.split(1.0 - right, cuts) if self.sentences else []

    def counts(self, weights: Sequence[FloatArray]) -> FloatArray:
        """Return TP, FP and FN with the `weights` of chunks: systems × sentences × 3."""
        values = np.concatenate([*weights, []])
        counts = np.zeros((len(self.verdict), self.sentences, 3))
        for n, verdict in enumerate(self.verdict):
            for column, kinds in enumerate(((_TP,), (_FP, _WRONG), (_FN, _WRONG))):
                chosen = np.isin(verdict, kinds)
                counts[n, :, column] = np.bincount(
                    self.sentence[chosen], weights=values[chosen], minlength=self.sentences
                )
        return counts


def judge_systems(
    sources: Sequence[Sequence[str]],
    reference: Sequence[Sequence[Edit]],
    systems: Sequence[Sequence[Sequence[Edit]]],
) -> JudgedChunks:
    """Judge several systems on the chunks of one reference.

    Args:
        sources: N tokenised sources.
        reference: N lists of edits.
        systems: systems × N lists of edits.

    Raises:
        InputError: an edit lies outside its source or overlaps another.
    """
    rows: list[list[int]] = [[] for _ in systems]
    sentence: list[int] = []
    for n, source in enumerate(sources):
        chunks = chunk_sequence(source, reference[n])
        sentence += [n] * len(chunks)
        for row, system in zip(rows, systems, strict=True):
            row += verdicts(source, chunks, system[n])
    return JudgedChunks(
        np.array(rows, dtype=np.int64).reshape(len(systems), len(sentence)),
        np.array(sentence, dtype=np.int64),
        len(sources),
    )


@dataclass(frozen=True)
class GoToScorer(EditMetric, CountsInParts):
    """F0.5 over chunks weighted by the share of systems that got them wrong (Gotou et al. 2020).

    Range 0 to 1, higher is better. A chunk that every system gets right weighs nothing, so scores
    depend on which systems are scored together. One reference is used.
    Precision and recall are 0 when they have nothing to count, as in the authors' program. An
    output without words gets every chunk wrong.

    Attributes:
        beta: weight of recall.
        reference: which reference, counted from 0. The figures of the SEEDA paper are reproduced
            with the second annotator's, 1.
    """

    name: ClassVar[str] = "gotoscorer"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over chunks weighted by how many systems miss them"
    paper: ClassVar[str] = "Gotou et al. 2020"
    needs: ClassVar[frozenset[str]] = frozenset({"references", "rivals"})

    beta: float = setting(0.5, scoring=True, least=0, most=1e100)
    reference: int = option(0, least=0)

    def check(self, corpus: Corpus) -> None:
        """Check the corpus and that the reference exists."""
        super().check(corpus)
        if self.reference >= len(corpus.references):
            raise InputError(
                f"{self.name}: reference={self.reference}, but {len(corpus.references)} references "
                "were given; they are counted from 0"
            )

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return weighted counts, systems × sentences × (TP, FP, FN)."""
        return self.join_parts([self.count_part(corpus, runtime)], corpus)

    def join_parts(self, parts: Iterable[Statistics], corpus: Corpus) -> Statistics:
        """Return the statistics of the corpus, with a note on the references that are not used.

        Args:
            parts: results of `count_part`.
            corpus: the whole corpus.
        """
        statistics = super().join_parts(parts, corpus)
        if len(corpus.references) == 1:
            return statistics
        note = (
            f"{self.name} uses one reference: number {self.reference} (from 0) of "
            f"{len(corpus.references)}"
        )
        return replace(statistics, notes=(*statistics.notes, note))

    def count_part(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics without the note on references."""
        edits = self.edits(corpus, runtime)
        counts, _ = self._judged(edits, [source.split() for source in corpus.sources])
        return Statistics(counts, notes=edits.notes)

    def _judged(
        self, edits: CorpusEdits, sources: Sequence[Sequence[str]]
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return weighted counts of all systems, and the weights of chunks."""
        reference = edits.references[self.reference]
        judged = judge_systems(sources, reference, list(edits.systems.values()))
        weights = judged.weights()
        return judged.counts(weights), weights

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the score of every single sentence."""
        return self._scores(statistics.values)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return scores of the summed counts, with the weights of the whole corpus."""
        values = statistics.values
        sums = np.einsum("bi,sik->bsk", draw_weights(draws, values.shape[1]), values)
        return self._scores(sums if draws is not None else sums[0])

    def _scores(self, counts: FloatArray) -> Scores:
        tp, fp, fn = np.moveaxis(counts, -1, 0)
        # If there is nothing to count, the authors' program gives 0, unlike ERRANT, which gives 1.
        precision, recall, f = precision_recall_f(tp, fp, fn, beta=self.beta, empty=0.0)
        return Scores(f, precision, recall)

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the weight of the chunks that an edit changes, negative where they are wrong.

        Weights are those of the corpus' systems.
        """
        edits = self.edits(corpus, runtime)
        reference = edits.references[self.reference]
        sources = [source.split() for source in corpus.sources]
        _, weights = self._judged(edits, sources)
        credit = np.zeros((len(cases), 1))
        for number, case in enumerate(cases):
            source = sources[case.row]
            chunks = chunk_sequence(source, reference[case.row])
            # Chunks that the edit alone makes right or wrong, compared with the unchanged source.
            before, after = verdicts(source, chunks, []), verdicts(source, chunks, [case.edit])
            for chunk, (was, now) in enumerate(zip(before, after, strict=True)):
                if now != was:
                    weight = weights[case.row][chunk]
                    credit[number, 0] += weight if now == 0 else -weight
        return EditCounts(credit[:, 0])
