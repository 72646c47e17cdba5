"""Ways to choose one of several corrections of every sentence: by a score, or by agreement."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, settled
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import counted_edits
from gecjury.scoring.scorer import Scorer
from gecjury.stats.counts import precision_recall_f

Votes = Literal["files", "texts"]
"""Voters in minimum Bayes risk: every other file, or every other distinct text once."""


@dataclass(frozen=True, eq=False)
class Choice:
    """One chosen correction per sentence.

    Attributes:
        label: how it was chosen: a metric with its settings, after `mbr` if the candidates were
            compared with one another.
        signature: signature of the metric.
        systems: the candidates' names, in order.
        scores: candidates × sentences; NaN where there is no score.
        chosen: for each sentence the index of the candidate with the highest score, the first among
            equals; if none was scored, the first.
        lines: the chosen corrections, as tokens.
        texts: the same as they were given.
        tied: number of sentences in which different texts have the highest score.
        unscored: number of sentences in which no candidate has a score.
        seconds: time that choosing took.
        notes: remarks for the user.
    """

    label: str
    signature: str
    systems: tuple[str, ...]
    scores: FloatArray
    chosen: IntArray
    lines: tuple[str, ...]
    texts: tuple[str, ...]
    tied: int
    unscored: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def shares(self) -> dict[str, int]:
        """For how many sentences each candidate was chosen; a shared text counts for the first."""
        counts = np.bincount(self.chosen, minlength=len(self.systems))
        return dict(zip(self.systems, counts.tolist(), strict=True))


def check_score(scorer: Scorer, corpus: Corpus) -> None:
    """Refuse a metric that reads references if there are none.

    Raises:
        InputError: names the metric, and other ways to choose.
    """
    if "references" in scorer.needs and not corpus.references:
        raise InputError(
            f"{scorer.name} needs references: use a metric that reads none, choose by agreement "
            f"of the candidates (--mbr {scorer.name}), or give references with -r FILE"
        )


def check_utility(utility: Scorer) -> None:
    """Refuse a metric that cannot compare two candidates with each other.

    Raises:
        OptionError: names the metric, and some that can.
    """
    if utility.needs != {"references"} or utility.joint:
        raise OptionError(
            f"--mbr {utility.name}: expected a metric that compares one text with references and "
            "needs nothing else, such as errant, green or gleu"
        )


def choose_by_score(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> Choice:
    """Choose the candidate that a metric scores highest, sentence by sentence.

    Args:
        scorer: any metric; a metric that reads references chooses by them.
        corpus: the candidates as systems.
        runtime: device, workers and the like.
    """
    start = time.perf_counter()
    table = scorer.score_corpus(corpus, runtime)
    label, notes = table.signature.label, table.statistics.notes
    if {"references", "gold"} & scorer.needs:
        notes += (f"{label} chose by the references: a bound that is out of reach without them",)
    if not scorer.directed:
        notes += (f"{label} does not say which text is better: its choice is a baseline",)
    return _choice(label, str(table.signature), corpus, table.sentences, notes, start)


def choose_by_risk(utility: Scorer, corpus: Corpus, runtime: Runtime, votes: Votes) -> Choice:
    """Choose the candidate that is most like the others, by minimum Bayes risk.

    Every candidate is scored with each of the others as its only reference; its score is the mean
    (Kumar and Byrne 2004). Texts that several files share are scored once.

    Args:
        utility: a metric that compares with references.
        corpus: the candidates as systems; its references are not read.
        runtime: device, workers and the like.
        votes: `files`: every other file counts, which favours texts that many files share; `texts`:
            every other distinct text counts once.
    """
    start = time.perf_counter()
    texts, member = _distinct(corpus)
    plain = utility.settings()
    # Counting ERRANT's edits on sets gives the same F, and no text is scored twice.
    usual = plain.get("mode") == "correction" and plain.get("compat") == "gecjury"
    if utility.name in ("errant", "sent-errant") and usual:
        table, notes = _errant_utilities(utility, corpus, texts, member, runtime)
    else:
        table, notes = _utilities(utility, corpus, texts, runtime)
    width = table.shape[1]
    # Votes: how many files contain each distinct text of a sentence.
    counts = np.zeros((len(texts), width))
    rows = np.arange(len(texts))
    for texts_of_system in member:
        counts[rows, texts_of_system] += 1
    if votes == "texts":
        counts = np.minimum(counts, 1.0)
    # A text does not vote for itself, but another file with the same text does.
    weights = counts[:, None, :] - np.eye(width)[None]
    weights[weights < 0] = 0.0
    total = weights.sum(axis=2)
    risk = (weights * np.nan_to_num(table)).sum(axis=2) / np.where(total > 0, total, 1.0)
    # If all files have the same text, there is nothing to compare it with, and nothing to choose.
    risk[total == 0] = 1.0
    scores = np.stack([risk[rows, texts_of_system] for texts_of_system in member])
    signature = utility.signature(corpus, runtime)
    label = f"mbr {signature.label}" + (", texts" if votes == "texts" else "")
    about = f"mbr|{utility.name}|votes={votes}|{signature.own}"
    return _choice(label, about, corpus, scores, notes, start)


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


def _errant_utilities(
    utility: Scorer,
    corpus: Corpus,
    texts: Sequence[Sequence[str]],
    member: Sequence[IntArray],
    runtime: Runtime,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return F of every two distinct texts of a sentence: sentences × texts × texts as references.

    Edits are extracted once for each distinct text; edits that two texts share are counted on sets.
    """
    from gecjury.extraction.extract import corpus_edits

    settings = utility.settings()
    alone = replace(corpus, references=(), gold=None)
    extracted = corpus_edits(alone, str(settings["tagger"]), runtime)
    width = max(map(len, texts))
    counts = np.zeros((len(texts), width, width, 3))
    systems = list(extracted.systems.values())
    for row, distinct in enumerate(texts):
        edits: list[frozenset[tuple[int, int, str]]] = [frozenset()] * len(distinct)
        for system, lines in enumerate(systems):
            edits[member[system][row]] = frozenset(
                (edit.start, edit.end, edit.correction) for edit in counted_edits(lines[row])
            )
        for one, mine in enumerate(edits):
            for two in range(one + 1):
                shared = len(mine & edits[two])
                only, other = len(mine) - shared, len(edits[two]) - shared
                counts[row, one, two] = shared, only, other
                counts[row, two, one] = shared, other, only
    beta = settings["beta"]
    score = precision_recall_f(*np.moveaxis(counts, -1, 0), beta=float(beta or 0))[2]
    return score, extracted.notes


def _utilities(
    utility: Scorer, corpus: Corpus, texts: Sequence[Sequence[str]], runtime: Runtime
) -> tuple[FloatArray, tuple[str, ...]]:
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
    return table, tuple(notes)


def _choice(
    label: str,
    signature: str,
    corpus: Corpus,
    scores: FloatArray,
    notes: Sequence[str],
    start: float,
) -> Choice:
    """Choose by scores; the first among equals."""
    # Scores are settled, since rounding must not choose among corrections with equal scores.
    level = settled(scores)
    filled = np.where(np.isnan(level), -np.inf, level)
    chosen: IntArray = filled.argmax(axis=0)
    top = filled == filled.max(axis=0)
    versions = [version.lines for version in corpus.systems.values()]
    texts = [version.lines for version in corpus.as_text().systems.values()]
    unscored = np.isnan(scores).all(axis=0)
    # Equal texts of several files are not a tie: the chosen text is the same.
    tied = sum(
        len({versions[system][row] for system in np.flatnonzero(top[:, row]).tolist()}) > 1
        for row in np.flatnonzero(~unscored).tolist()
    )
    remarks = [*notes]
    if missing := int(unscored.sum()):
        remarks.append(
            f"{label} scored none of the corrections of {number(missing)} sentences; "
            f"{corpus.names[0]} was used for them"
        )
    return Choice(
        label,
        signature,
        corpus.names,
        scores,
        chosen,
        tuple(versions[system][row] for row, system in enumerate(chosen)),
        tuple(texts[system][row] for row, system in enumerate(chosen)),
        int(tied),
        missing,
        time.perf_counter() - start,
        tuple(remarks),
    )
