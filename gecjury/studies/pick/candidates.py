"""Scores of several corrections of each sentence: by a metric, or by their agreement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.scorer import Scorer

ScoredCandidates = tuple[str, str, FloatArray, list[str]]
"""Label and signature of a way to choose, scores of candidates × sentences, and remarks."""


def metric_scores(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> ScoredCandidates:
    """Score the candidates by a metric."""
    table = scorer.score_corpus(corpus, runtime)
    label, notes = table.signature.label, list(table.statistics.notes)
    if {"references", "gold"} & scorer.needs:
        notes.append(f"{label} chose by the references: a bound that is out of reach without them")
    if not scorer.directed:
        notes.append(f"{label} does not say which text is better: its choice is a baseline")
    return label, str(table.signature), table.sentences, notes


def agreement(utility: Scorer, corpus: Corpus, runtime: Runtime) -> ScoredCandidates:
    """Score the candidates by how much they are like the others (minimum Bayes risk).

    Every candidate is scored with each of the others as its only reference; its score is the mean
    (Kumar and Byrne 2004). Texts that several files share are scored once, but count once for every
    other file.
    """
    texts, member = _distinct(corpus)
    table, notes = _utilities(utility, corpus, texts, runtime)
    rows, width = np.arange(len(texts)), table.shape[1]
    # Votes: how many files contain each distinct text of a sentence.
    counts = np.zeros((len(texts), width))
    for texts_of_system in member:
        counts[rows, texts_of_system] += 1
    # A text does not vote for itself, but another file with the same text does.
    weights = counts[:, None, :] - np.eye(width)[None]
    weights[weights < 0] = 0.0
    total = weights.sum(axis=2)
    risk = (weights * np.nan_to_num(table)).sum(axis=2) / np.where(total > 0, total, 1.0)
    scores = np.stack([risk[rows, texts_of_system] for texts_of_system in member])
    signature = utility.signature(corpus, runtime)
    about = f"mbr|{utility.name}|{signature.own}"
    return f"mbr {signature.label}", about, scores, notes


def _distinct(corpus: Corpus) -> tuple[list[list[str]], list[IntArray]]:
    """Return the distinct texts of each sentence, and which of them each system has."""
    texts: list[list[str]] = []
    member = [np.zeros(len(corpus), dtype=np.int64) for _ in corpus.systems]
    for row in range(len(corpus)):
        places: dict[str, int] = {}
        for system, version in enumerate(corpus.systems.values()):
            text = " ".join(version.lines[row].split())
            member[system][row] = places.setdefault(text, len(places))
        texts.append(list(places))
    return texts, member


def _utilities(
    utility: Scorer, corpus: Corpus, texts: Sequence[Sequence[str]], runtime: Runtime
) -> tuple[FloatArray, list[str]]:
    """Return scores of every two distinct texts: sentences × texts × texts as references."""
    width = max(map(len, texts))
    table = np.full((len(texts), width, width), np.nan)
    notes: dict[str, None] = {}
    for place in range(width):
        # Only sentences with more than `place` texts, and as many systems as they need at most.
        rows = [row for row, distinct in enumerate(texts) if len(distinct) > place]
        most = max(len(texts[row]) for row in rows)
        systems = {
            str(slot): Version(tuple(texts[row][slot % len(texts[row])] for row in rows))
            for slot in range(most)
        }
        part = Corpus(
            tuple(corpus.sources[row] for row in rows),
            systems,
            (Version(tuple(texts[row][place] for row in rows)),),
            language=corpus.language,
        )
        statistics = utility.statistics(part, runtime)
        notes.update(dict.fromkeys(statistics.notes))
        table[rows, :most, place] = utility.sentence_scores(statistics).score.T
    return table, list(notes)


def choose_best(scores: FloatArray, corpus: Corpus) -> tuple[IntArray, int, int]:
    """Choose the candidate with the highest score; the first of several equal ones.

    Args:
        scores: candidates × sentences, NaN where there is none; if no candidate of a sentence has
            one, the first of all is chosen.
        corpus: the candidates.

    Returns:
        The index of the candidate that is chosen for each sentence; the number of sentences in
        which different texts have the best score; and of those without any score.
    """
    # Scores are settled, since rounding must not choose among corrections with equal scores.
    filled = np.nan_to_num(settled(scores), nan=-np.inf)
    unscored = np.isnan(scores).all(axis=0)
    top = filled == filled.max(axis=0)
    versions = [version.lines for version in corpus.systems.values()]
    # Equal texts of several files are not a tie: the chosen text is the same.
    tied = sum(
        len({versions[system][row] for system in np.flatnonzero(top[:, row]).tolist()}) > 1
        for row in np.flatnonzero(~unscored).tolist()
    )
    return filled.argmax(axis=0), tied, int(unscored.sum())
