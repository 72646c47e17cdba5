"""Scores of MAEGE's texts by any metric, with each distinct text scored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.m2 import M2Sentence
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.counts import defined_mean
from gecjury.studies.maege.chains import Annotated, Sampled
from gecjury.studies.maege.references import ALL, References, gold_block

_Key = tuple[int, int, str, str]
"""Sentence, reference set, source shown, text."""


@dataclass(frozen=True)
class Pool:
    """All distinct texts of all draws, to be scored.

    Attributes:
        references: by number of the set: `ALL`, or one for the chains of each annotator.
        keys: the keys of the texts to score, sorted.
        chains: for each draw and each of its chains, the places of its texts in `keys`.
        corpora: for each draw, the places of its corpora's texts, corpora × sentences.
    """

    annotated: Annotated
    draws: tuple[Sampled, ...]
    references: Mapping[int, References]
    keys: tuple[_Key, ...] = field(repr=False)
    chains: tuple[tuple[IntArray, ...], ...] = field(repr=False)
    corpora: tuple[IntArray, ...] = field(repr=False)
    language: Language = ENGLISH

    def corpus(self, wide: bool, gold: bool, runtime: Runtime) -> tuple[Corpus, IntArray]:
        """Return the texts as a corpus, and each key's cell (system, row) in it.

        Args:
            wide: put the texts of one source side by side, for scorers that judge them together;
                otherwise every text has a separate row.
            gold: whether gold edits are needed. If the references are not M2, or the source shown
                is not the one that they correct, edits are extracted with ERRANT.
        """
        contexts: dict[tuple[object, ...], int] = {}
        texts: list[list[str]] = []
        cells = np.empty((len(self.keys), 2), dtype=np.int64)
        for place, key in enumerate(self.keys):
            # Texts side by side share one source and one set of references.
            row = contexts.setdefault(key[:3] if wide else key, len(contexts))
            if row == len(texts):
                texts.append([])
            cells[place] = len(texts[row]), row
            texts[row].append(key[3])
        # The first key of each row gives its source and references.
        first = [self.keys[place] for place in np.unique(cells[:, 1], return_index=True)[1]]
        # Rows with fewer texts repeat their first; the additional scores are not read.
        width = max(map(len, texts))
        systems = {
            f"text {column + 1}": Version(tuple((line[column:] or line)[0] for line in texts))
            for column in range(width)
        }
        count = len(next(iter(self.references.values())).texts)
        references = tuple(
            Version(tuple(self.references[key[1]].texts[number][key[0]] for key in first))
            for number in range(count)
        )
        sources = tuple(key[2] for key in first)
        name = f"maege {next(iter(self.references.values())).name}"
        blocks = self._gold(first, references, runtime) if gold else None
        made = Corpus(
            sources, systems, references, blocks, reference_name=name, language=self.language
        )
        return made, cells

    def _gold(
        self, first: Sequence[_Key], references: Sequence[Version], runtime: Runtime
    ) -> tuple[M2Sentence, ...]:
        """Return gold blocks: from M2 if they belong to the source shown, otherwise extracted."""
        gold: dict[int, M2Sentence] = {}
        for row, (sentence, number, source, _) in enumerate(first):
            blocks = self.references[number].gold
            if blocks is not None and " ".join(self.annotated.sources[sentence].split()) == source:
                gold[row] = blocks[sentence]
        if rows := [row for row in range(len(first)) if row not in gold]:
            from gecjury.extraction.extract import extract

            sources = [first[row][2] for row in rows]
            lines = [[version.lines[row] for row in rows] for version in references]
            edits = extract(sources, lines, self.language.tagger, runtime=runtime).edits
            for row, source, sets in zip(rows, sources, zip(*edits, strict=True), strict=True):
                gold[row] = gold_block(source, sets)
        return tuple(gold[row] for row in range(len(first)))


def pool_texts(
    corpus: Annotated,
    draws: Sequence[Sampled],
    references: Mapping[int, References],
    language: Language = ENGLISH,
) -> Pool:
    """Gather the distinct texts of all draws."""

    def key(sentence: int, annotator: int, source: str, text: str) -> _Key:
        return sentence, ALL if ALL in references else annotator, source, text

    chains = [
        [[key(one.sentence, one.annotator, one.source, t) for t in one.texts] for one in d.chains]
        for d in draws
    ]
    corpora = [
        [
            [key(row, who, d.sources[row], text) for row, (who, text) in enumerate(texts)]
            for texts in d.corpora
        ]
        for d in draws
    ]
    lists = [keys for drawn in (*chains, *corpora) for keys in drawn]
    every = sorted({one for keys in lists for one in keys})
    place = {one: number for number, one in enumerate(every)}

    def places(keys: Sequence[_Key]) -> IntArray:
        return np.array([place[one] for one in keys], dtype=np.int64)

    return Pool(
        corpus,
        tuple(draws),
        references,
        tuple(every),
        tuple(tuple(map(places, drawn)) for drawn in chains),
        tuple(np.array(list(map(places, drawn)), dtype=np.int64) for drawn in corpora),
        language,
    )


@dataclass(frozen=True)
class PoolScores:
    """A scorer's scores of a pool.

    Attributes:
        values: one score per key; NaN = not scored.
        corpora: for each draw, the scores of its corpora.
    """

    table: ScoreTable
    values: FloatArray
    corpora: tuple[FloatArray, ...]

    @property
    def unanswered(self) -> int:
        """The number of texts that should have been scored but were not."""
        return int(np.isnan(self.values).sum())


def score_pool(
    scorer: Scorer,
    pool: Pool,
    *,
    mean: bool = False,
    folder: str | Path | None = None,
    runtime: Runtime,
) -> PoolScores:
    """Score a pool in one pass; the scores of corpora are computed from its statistics.

    Args:
        mean: score a corpus by the mean of its sentences, as in the released program, instead of
            the metric's corpus score. Side-by-side scorers always use the mean.
    """
    corpus, cells = pool.corpus(scorer.joint, "gold" in scorer.needs, runtime)
    table = score_with_files(scorer, corpus, folder, runtime)
    values = settled(table.sentences)[cells[:, 0], cells[:, 1]]
    corpora = []
    for places in pool.corpora:
        if mean or scorer.joint:
            corpora.append(defined_mean(values[places], 1))
        else:
            every = table.statistics.values
            # Not passed as `draws`: a resample uses one random choice of references, a corpus all.
            parts = [replace(table.statistics, values=every[:, cells[p, 1]]) for p in places]
            corpora.append(np.array([scorer.corpus_scores(part).score[0] for part in parts]))
    return PoolScores(table, values, tuple(corpora))
