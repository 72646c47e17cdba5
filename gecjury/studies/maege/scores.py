"""MAEGE's texts as a corpus to score, with each distinct text scored once, and their scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gecjury.core.arrays import FloatArray, settled
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.m2 import M2Sentence
from gecjury.stats.counts import defined_mean
from gecjury.studies.made_up import MadeTexts, ScoredTexts
from gecjury.studies.maege.chains import Annotated, Chain, Sampled
from gecjury.studies.maege.references import ChainReferences, gold_block

ChainKey = tuple[int, int, str, str]
"""A text to score: sentence, number of the reference set, source shown, text."""

Cells = Mapping[ChainKey, tuple[int, int]]
"""The system and the row of each text in a corpus."""


@dataclass(frozen=True)
class TextPool:
    """All texts of all draws.

    Attributes:
        references: one set for all chains, or one for the chains of each annotator.
    """

    annotated: Annotated
    draws: Sequence[Sampled]
    references: Sequence[ChainReferences]
    language: Language = ENGLISH

    @property
    def reference_name(self) -> str:
        """The references, as people see them."""
        return self.references[0].name if len(self.references) == 1 else "other annotators"

    def of_chain(self, chain: Chain) -> list[ChainKey]:
        """Return the keys of a chain's texts."""
        reference_set = chain.annotator % len(self.references)
        return [(chain.sentence, reference_set, chain.source, text) for text in chain.texts]

    def of_corpora(self, draw: Sampled) -> Iterator[list[ChainKey]]:
        """Yield the keys of each corpus' texts."""
        for texts in draw.corpora:
            yield [
                (row, annotator % len(self.references), draw.sources[row], text)
                for row, (annotator, text) in enumerate(texts)
            ]

    @cached_property
    def keys(self) -> list[ChainKey]:
        """The distinct texts, sorted."""
        of_chains = (self.of_chain(chain) for draw in self.draws for chain in draw.chains)
        of_corpora = (keys for draw in self.draws for keys in self.of_corpora(draw))
        return sorted({key for lists in (of_chains, of_corpora) for keys in lists for key in keys})

    def made(self, runtime: Runtime) -> MadeTexts[Cells]:
        """Return a function that gives the corpus that a metric scores."""
        return lambda scorer: [self.corpus(scorer.joint, "gold" in scorer.needs, runtime)]

    def corpus(self, wide: bool, gold: bool, runtime: Runtime) -> tuple[Corpus, Cells]:
        """Return the texts as a corpus, and their cells in it.

        Args:
            wide: put the texts of one source side by side, for scorers that judge them together;
                otherwise every text has a separate row.
            gold: whether gold edits are needed. If the references are not M2, or the source shown
                is not the one that they correct, edits are extracted with ERRANT.
        """
        # Texts side by side share one source and one set of references.
        rows: dict[tuple[object, ...], list[ChainKey]] = {}
        for key in self.keys:
            rows.setdefault(key[:3] if wide else key, []).append(key)
        lines = list(rows.values())
        cells = {
            key: (column, row) for row, keys in enumerate(lines) for column, key in enumerate(keys)
        }
        # Rows with fewer texts repeat their first; the additional scores are not read.
        systems = {
            f"text {column + 1}": Version(tuple((keys[column:] or keys)[0][3] for keys in lines))
            for column in range(max(map(len, lines)))
        }
        first = [keys[0] for keys in lines]
        references = tuple(
            Version(tuple(self.references[key[1]].versions[number].lines[key[0]] for key in first))
            for number in range(len(self.references[0].versions))
        )
        corpus = Corpus(
            tuple(key[2] for key in first),
            systems,
            references,
            self._gold(first, references, runtime) if gold else None,
            reference_name=f"maege {self.references[0].name}",
            language=self.language,
        )
        return corpus, cells

    def _gold(
        self, first: Sequence[ChainKey], references: Sequence[Version], runtime: Runtime
    ) -> tuple[M2Sentence, ...]:
        """Return gold blocks: from M2 if they belong to the source shown, otherwise extracted."""
        gold: dict[int, M2Sentence] = {}
        for row, (sentence, number, source, _) in enumerate(first):
            original = self.annotated.sources[sentence]
            edits = self.references[number].edits(sentence)
            if edits is not None and " ".join(original.split()) == source:
                gold[row] = gold_block(original, edits)
        if rows := [row for row in range(len(first)) if row not in gold]:
            from gecjury.extraction.extract import extract

            sources = [first[row][2] for row in rows]
            lines = [[version.lines[row] for row in rows] for version in references]
            extracted = extract(sources, lines, self.language.tagger, runtime=runtime).edits
            for row, source, sets in zip(rows, sources, zip(*extracted, strict=True), strict=True):
                gold[row] = gold_block(source, sets)
        return tuple(gold[row] for row in range(len(first)))


@dataclass(frozen=True)
class PoolScores:
    """A metric's scores of a pool.

    Attributes:
        values: the score of each text; NaN = not scored.
        corpora: for each draw, the scores of its corpora.
    """

    pool: TextPool
    values: Mapping[ChainKey, float]
    corpora: Sequence[FloatArray]

    @property
    def unanswered(self) -> int:
        """The number of texts that should have been scored but were not."""
        return int(np.isnan(list(self.values.values())).sum())

    def of_chains(self, draw: Sampled) -> list[FloatArray]:
        """Return the scores of each chain's texts."""
        keys = map(self.pool.of_chain, draw.chains)
        return [np.array([self.values[key] for key in of_chain]) for of_chain in keys]


def pool_scores(scored: ScoredTexts[Cells], pool: TextPool, *, mean: bool = False) -> PoolScores:
    """Return the scores of texts and of corpora, which are computed from the texts' statistics.

    Args:
        mean: score a corpus by the mean of its sentences, as in the released program, instead of
            the metric's corpus score. Side-by-side scorers always use the mean.
    """
    ((table, cells),) = scored.parts
    sentences = settled(table.sentences)
    values = {key: float(sentences[cell]) for key, cell in cells.items()}

    def score(keys: Sequence[ChainKey]) -> float:
        if mean or scored.scorer.joint:
            return float(defined_mean(np.array([values[key] for key in keys]), 0))
        rows = [cells[key][1] for key in keys]
        # Not passed as `draws`: a resample uses one random choice of references, a corpus all.
        some = replace(table.statistics, values=table.statistics.values[:, rows])
        return float(scored.scorer.corpus_scores(some).score[0])

    corpora = [np.array([score(keys) for keys in pool.of_corpora(draw)]) for draw in pool.draws]
    return PoolScores(pool, values, corpora)
