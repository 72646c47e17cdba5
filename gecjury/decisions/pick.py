"""The best of several corrections of every sentence, and what choosing gains."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np

from gecjury.arrays import FloatArray, IntArray, settled
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import counted_edits
from gecjury.errors import InputError, OptionError
from gecjury.experiments.inputs import Metrics, Texts, corpus_of, scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.experiments.system_tests import mixed_scores
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from gecjury.stats.bootstrap import Interval, draws_within, interval
from gecjury.stats.counts import precision_recall_f
from gecjury.stats.resampling import check_resamples
from gecjury.wording import number

Votes = Literal["files", "texts"]
"""What has a vote in minimum Bayes risk: every other file, or every other distinct text once."""
VOTES: tuple[Votes, ...] = get_args(Votes)

MEASURES = ("errant", "gleu")
"""By what the gain of choosing is measured."""

_RANDOM = 10  # random picks whose mean is shown
_PARTS = 6  # of the sentences; there are ten ways to make halves of them


@dataclass(frozen=True, eq=False)
class Choice:
    """One correction a sentence.

    Attributes:
        label: how it was chosen: a metric with its settings, `mbr` before it where it compared
            the candidates with one another.
        signature: what made the scores.
        systems: the candidates' names, in order.
        scores: candidates × sentences, by which was chosen; NaN = not scored.
        chosen: for each sentence the number of the candidate with the highest score, the first
            of equal ones; where none was scored, the first.
        lines: the chosen corrections.
        tied: sentences where different texts have the highest score.
        unscored: sentences where no candidate has a score.
        seconds: what it took.
        notes: remarks for the user.
    """

    label: str
    signature: str
    systems: tuple[str, ...]
    scores: FloatArray
    chosen: IntArray
    lines: tuple[str, ...]
    tied: int
    unscored: int
    seconds: float
    notes: tuple[str, ...] = ()

    @cached_property
    def shares(self) -> dict[str, int]:
        """By candidate, of how many sentences it was chosen; a shared text is the first's."""
        counts = np.bincount(self.chosen, minlength=len(self.systems))
        return dict(zip(self.systems, counts.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class PickSettings:
    """How is chosen, and how the gain is measured.

    Attributes:
        votes: what has a vote in minimum Bayes risk.
        resamples: of the bootstrap over sentences, from 1.
        seed: of the bootstrap and of the random picks.

    Raises:
        OptionError: a value out of range.
    """

    votes: Votes = "files"
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.votes not in VOTES:
            raise OptionError(f"--votes {self.votes}: expected {' or '.join(VOTES)}")
        if self.resamples < 1:
            raise OptionError(f"--resamples {self.resamples}: expected 1 or more")
        check_resamples(self.resamples)


@dataclass(frozen=True)
class Gain:
    """What one output scores, beside the best single system.

    Attributes:
        output: a method of choosing, a system, `random pick`, or `oracle` with its measure.
        kind: `picked`, `system`, `random` or `oracle`.
        scores: by measure, the corpus score.
        gains: by measure, the score less that of the best single system, which is chosen for each
            half of the sentences by the other half, so that it owes nothing to luck; the mean over
            ten pairs of halves.
        ci95: by measure, the gain's 95% percentile interval over resampled sentences; the best
            single system is chosen anew in every resample.
        seconds: of choosing; None where nothing was chosen.
    """

    output: str
    kind: str
    scores: Mapping[str, float]
    gains: Mapping[str, float]
    ci95: Mapping[str, Interval]
    seconds: float | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Picked(ExperimentResult):
    """What was chosen, and what it gained where there were references.

    Attributes:
        choices: one a method, metrics before minimum Bayes risk.
        gains: outputs beside the best single system; empty where it was not asked for.
        best: by measure, the system with the highest score of all sentences.
        sentences: how many.
        alike: sentences whose candidates are all equal.
        settings: how it was done.
        signatures: of the measures.
        notes: remarks for the user.
    """

    choices: tuple[Choice, ...]
    gains: tuple[Gain, ...]
    best: Mapping[str, str]
    sentences: int
    alike: int
    settings: PickSettings
    signatures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def unscored(self) -> int:
        """Sentences, over all methods, for which nothing could be chosen by score."""
        return sum(choice.unscored for choice in self.choices)

    def rows(self) -> list[dict[str, Any]]:
        """One record an output; without references one a method."""
        if not self.gains:
            return [
                {
                    "method": choice.label,
                    "signature": choice.signature,
                    "chosen": choice.shares,
                    "tied": choice.tied,
                    "unscored": choice.unscored,
                    "seconds": choice.seconds,
                }
                for choice in self.choices
            ]
        return [
            {
                "output": each.output,
                "kind": each.kind,
                **{name: each.scores[name] for name in each.scores},
                **{f"{name}_gain": each.gains[name] for name in each.gains},
                "ci95": {name: list(bounds) for name, bounds in each.ci95.items()},
                "seconds": each.seconds,
            }
            for each in self.gains
        ]


def _check(corpus: Corpus) -> None:
    if len(corpus.systems) < 2:
        raise InputError(
            f"{len(corpus.systems)} output to choose among: give at least two files of corrections"
        )


def choose_by_score(scorer: Scorer, corpus: Corpus, runtime: Runtime | None = None) -> Choice:
    """The candidate that a metric scores highest, sentence by sentence.

    Args:
        scorer: any metric; one that reads references chooses by them.
        corpus: the candidates as systems.
        runtime: device, workers and the like.

    Raises:
        InputError: fewer than two candidates, or the corpus lacks what the metric needs.
    """
    _check(corpus)
    if "references" in scorer.needs and not corpus.references:
        raise InputError(
            f"{scorer.name} needs references: take a metric that reads none, choose by agreement "
            f"of the candidates (--mbr {scorer.name}), or give references with -r FILE"
        )
    start = time.perf_counter()
    table = scorer.score_corpus(corpus, runtime)
    label, notes = table.signature.label, table.statistics.notes
    if {"references", "gold"} & scorer.needs:
        notes += (f"{label} chose by the references: a bound, not what is had without them",)
    if not scorer.directed:
        notes += (f"{label} does not say which text is better: what it chooses is a baseline",)
    return _choice(label, str(table.signature), corpus, table.sentences, notes, start)


def choose_by_risk(
    utility: Scorer,
    corpus: Corpus,
    runtime: Runtime | None = None,
    *,
    votes: Votes = "files",
) -> Choice:
    """The candidate that is most like the others, by minimum Bayes risk.

    Every candidate is scored with each of the others as its only reference, and has the mean as
    its score (Kumar and Byrne 2004). What several files share is scored once.

    Args:
        utility: a metric that compares with references.
        corpus: the candidates as systems; its references are not read.
        runtime: device, workers and the like.
        votes: `files`: every other file counts, so that what many propose is near to many;
            `texts`: every other distinct text counts once.

    Raises:
        InputError: fewer than two candidates.
        OptionError: a metric that does not compare with references, or weighs systems.
    """
    _check(corpus)
    if utility.needs != {"references"} or utility.joint:
        raise OptionError(
            f"--mbr {utility.name}: expected a metric that compares one text with references and "
            "needs nothing else, such as errant, green or gleu"
        )
    runtime = runtime or Runtime()
    start = time.perf_counter()
    texts, member = _distinct(corpus)
    plain = utility.settings()
    usual = plain.get("mode") == "correction" and plain.get("compat") == "gecjury"
    if utility.name in ("errant", "sent-errant") and usual:
        table, notes = _errant_utilities(utility, corpus, texts, member, runtime)
    else:
        table, notes = _utilities(utility, corpus, texts, runtime)
    width = table.shape[1]
    counts = np.zeros((len(texts), width))
    rows = np.arange(len(texts))
    for own in member:
        counts[rows, own] += 1
    if votes == "texts":
        counts = np.minimum(counts, 1.0)
    # A text is not its own witness; what else proposes it is.
    weights = counts[:, None, :] - np.eye(width)[None]
    weights[weights < 0] = 0.0
    total = weights.sum(axis=2)
    risk = (weights * np.nan_to_num(table)).sum(axis=2) / np.where(total > 0, total, 1.0)
    # Where only one text is proposed there is nothing to compare it with, and nothing to choose.
    risk[total == 0] = 1.0
    scores = np.stack([risk[rows, own] for own in member])
    label = f"mbr {utility.signature(corpus, runtime).label}"
    if votes == "texts":
        label += ", texts"
    about = f"mbr|{utility.name}|votes={votes}|{utility.signature(corpus, runtime).own}"
    return _choice(label, about, corpus, scores, notes, start)


def _distinct(corpus: Corpus) -> tuple[list[list[str]], list[IntArray]]:
    """The distinct texts of each sentence in order, and of each system which of them it has."""
    texts: list[list[str]] = []
    member = [np.zeros(len(corpus), dtype=np.int64) for _ in corpus.systems]
    for row in range(len(corpus)):
        known: dict[str, int] = {}
        for system, version in enumerate(corpus.systems.values()):
            text = " ".join(version.lines[row].split())
            member[system][row] = known.setdefault(text, len(known))
        texts.append(list(known))
    return texts, member


def _errant_utilities(
    utility: Scorer,
    corpus: Corpus,
    texts: Sequence[Sequence[str]],
    member: Sequence[IntArray],
    runtime: Runtime,
) -> tuple[FloatArray, tuple[str, ...]]:
    """F of every two distinct texts of a sentence: sentences × texts × texts as references.

    Edits are extracted once for each distinct text; what two share is counted on sets.
    """
    from gecjury.extraction.extract import corpus_edits

    settings = utility.settings()
    alone = replace(corpus, references=(), gold=None)
    found = corpus_edits(alone, str(settings["tagger"]), str(settings["pos"]), runtime)
    width = max(map(len, texts))
    counts = np.zeros((len(texts), width, width, 3))
    systems = list(found.systems.values())
    for row, known in enumerate(texts):
        edits: list[frozenset[tuple[int, int, str]]] = [frozenset()] * len(known)
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
    return score, found.notes


def _utilities(
    utility: Scorer, corpus: Corpus, texts: Sequence[Sequence[str]], runtime: Runtime
) -> tuple[FloatArray, tuple[str, ...]]:
    """A metric's score of every two distinct texts: sentences × texts × texts as references."""
    width = max(map(len, texts))
    table = np.full((len(texts), width, width), np.nan)
    notes: dict[str, None] = {}
    for place in range(width):
        # Sentences with so many texts only, and no more texts than any of them has.
        rows = [row for row, known in enumerate(texts) if len(known) > place]
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
    """Choose by scores; see `Choice`."""
    level = settled(scores)
    filled = np.where(np.isnan(level), -np.inf, level)
    chosen: IntArray = filled.argmax(axis=0)  # the first of equal ones
    top = filled == filled.max(axis=0)
    versions = [version.lines for version in corpus.systems.values()]
    lines = tuple(versions[system][row] for row, system in enumerate(chosen))
    unscored = np.isnan(scores).all(axis=0)
    tied = sum(
        len({versions[system][row] for system in np.flatnonzero(top[:, row])}) > 1
        for row in np.flatnonzero(~unscored)
    )
    told = [*notes]
    if missing := int(unscored.sum()):
        told.append(
            f"{label} scored none of the corrections of {number(missing)} sentences; there "
            f"{corpus.names[0]} was taken"
        )
    return Choice(
        label,
        signature,
        corpus.names,
        scores,
        chosen,
        lines,
        int(tied),
        missing,
        time.perf_counter() - start,
        tuple(told),
    )


def pick(
    texts: Texts,
    candidates: Mapping[str, Sequence[str]] | None = None,
    *,
    metric: str | Scorer | None = None,
    mbr: str | Scorer | None = None,
    votes: Votes = "files",
    runtime: Runtime | None = None,
) -> Choice:
    """Choose one correction a sentence.

    Args:
        texts: N tokenised sources; or a corpus, a benchmark or a benchmark's name.
        candidates: with sources: name → N corrections, at least two.
        metric: chooses by its score; or
        mbr: a metric by which the candidates are compared with one another.
        votes: see `choose_by_risk`.
        runtime: device, workers and the like.

    Raises:
        OptionError: both or neither of metric and mbr, or one that cannot choose.
        InputError: texts that do not belong together, or fewer than two candidates.
    """
    found = picks(
        corpus_of(texts, candidates),
        metrics=[] if metric is None else [metric],
        mbr=[] if mbr is None else [mbr],
        settings=PickSettings(votes=votes),
        runtime=runtime,
    )
    if len(found.choices) != 1:
        raise OptionError("metric and mbr are two ways to choose: give one of them")
    return found.choices[0]


def picks(
    corpus: Corpus,
    *,
    metrics: Metrics = (),
    mbr: Metrics = (),
    gain: bool = False,
    settings: PickSettings | None = None,
    runtime: Runtime | None = None,
) -> Picked:
    """Choose in several ways, and measure what each gains.

    Args:
        corpus: the candidates as systems, with references where the gain is measured.
        metrics: choose by their scores.
        mbr: choose by minimum Bayes risk.
        gain: measure the gain by `MEASURES`.
        settings: votes, bootstrap, seed.
        runtime: device, workers and the like.

    Raises:
        OptionError: no way to choose, or one that cannot.
        InputError: fewer than two candidates, or no references to measure by.
    """
    settings = settings or PickSettings()
    by_score = scorers_of(metrics) if _given(metrics) else []
    by_risk = scorers_of(mbr) if _given(mbr) else []
    if not by_score and not by_risk:
        raise OptionError("how is to be chosen? give a metric with -m, or --mbr errant")
    _check(corpus)
    if gain and not corpus.references:
        raise InputError("what choosing gains needs references: give them with -r FILE")
    choices = [choose_by_score(scorer, corpus, runtime) for scorer in by_score]
    choices += [choose_by_risk(one, corpus, runtime, votes=settings.votes) for one in by_risk]
    notes, alike = _told(corpus)
    notes += [note for choice in choices for note in choice.notes]
    gains, best, signatures = _gains(corpus, choices, settings, runtime) if gain else ((), {}, ())
    return Picked(
        tuple(choices),
        gains,
        best,
        len(corpus),
        alike,
        settings,
        signatures,
        tuple(dict.fromkeys(notes)),
    )


def _given(metrics: Metrics) -> bool:
    return isinstance(metrics, str | Scorer) or bool(metrics)


def _told(corpus: Corpus) -> tuple[list[str], int]:
    """What there is to say of the candidates, and of how many sentences all are equal."""
    versions = [version.lines for version in corpus.systems.values()]
    alike = sum(len(set(row)) == 1 for row in zip(*versions, strict=True))
    notes = []
    first: dict[tuple[str, ...], str] = {}
    for name, lines in zip(corpus.names, versions, strict=True):
        other = first.setdefault(tuple(lines), name)
        if other != name:
            notes.append(f"{name} holds the same lines as {other}: one file under two names?")
    if alike == len(corpus):
        notes.append("all candidates are equal in every sentence: there is nothing to choose")
    elif alike:
        notes.append(
            f"all candidates are equal in {number(alike)} of {number(len(corpus))} sentences"
        )
    return notes, alike


def _gains(
    corpus: Corpus,
    choices: Sequence[Choice],
    settings: PickSettings,
    runtime: Runtime | None,
) -> tuple[tuple[Gain, ...], dict[str, str], tuple[str, ...]]:
    """Every output by every measure, the best system by each measure, and their signatures."""
    measures = scorers_of(MEASURES)
    lines = len(corpus)
    versions = [version.lines for version in corpus.systems.values()]
    names = corpus.names
    rng = np.random.default_rng([settings.seed, 1])
    drawn = rng.integers(len(versions), size=(_RANDOM, lines))
    own = {f"system {name}": version for name, version in corpus.systems.items()}
    picked = {f"picked {place}": Version(c.lines) for place, c in enumerate(choices)}
    luck = {f"random {place}": _taken(versions, row) for place, row in enumerate(drawn)}
    first = [one.score_corpus(replace(corpus, systems=own), runtime).settled() for one in measures]
    oracle = {
        f"oracle {one.name}": _taken(versions, table.sentences.argmax(axis=0))
        for one, table in zip(measures, first, strict=True)
    }
    every = replace(corpus, systems={**own, **picked, **luck, **oracle}, groups=None)
    parts, draws = _part_draws(lines, settings)
    place = {name: row for row, name in enumerate(every.names)}
    random = [place[name] for name in luck]
    kinds: list[tuple[str, str, list[int], float | None]] = [
        *((c.label, "picked", [place[f"picked {i}"]], c.seconds) for i, c in enumerate(choices)),
        *((name, "system", [place[f"system {name}"]], None) for name in names),
        ("random pick", "random", random, None),
        *((f"oracle {one.name}", "oracle", [place[f"oracle {one.name}"]], None)
          for one in measures),
    ]  # fmt: skip
    scores: list[dict[str, float]] = [{} for _ in kinds]
    gains: list[dict[str, float]] = [{} for _ in kinds]
    bounds: list[dict[str, Interval]] = [{} for _ in kinds]
    best: dict[str, str] = {}
    for one, single in zip(measures, first, strict=True):
        best[one.name] = names[int(single.by_system.score.argmax())]
        table = one.score_corpus(every, runtime)
        resampled = one.corpus_scores(table.statistics, draws).score
        baseline = _best_elsewhere(one, table, len(versions), parts, draws)
        for row, (_, _, members, _) in enumerate(kinds):
            apart = resampled[:, members].mean(axis=1) - baseline
            scores[row][one.name] = float(resampled[0, members].mean())
            gains[row][one.name] = float(apart[0])
            bounds[row][one.name] = interval(apart[1:])[0]
    found = tuple(
        Gain(label, kind, scores[row], gains[row], bounds[row], seconds)
        for row, (label, kind, _, seconds) in enumerate(kinds)
    )
    return found, best, tuple(str(one.signature(corpus, runtime)) for one in measures)


def _part_draws(lines: int, settings: PickSettings) -> tuple[IntArray, IntArray]:
    """Part the sentences at random, and resample corpora within each part.

    Returns:
        The part of each sentence, shape (lines,); and (1 + B) × lines sentence indices: the corpus
        itself, then B resamples. A sentence drawn twice never stands in two parts, so that the half
        that chooses a system never holds what the system is scored on.
    """
    rng = np.random.default_rng(settings.seed)
    parts: IntArray = rng.permutation(lines) % min(_PARTS, lines)
    resamples = draws_within(parts, settings.resamples, rng)
    return parts, np.concatenate([np.arange(lines)[None], resamples])


def _best_elsewhere(
    measure: Scorer, table: ScoreTable, systems: int, parts: IntArray, draws: IntArray
) -> FloatArray:
    """Score the best single system, chosen for one half of the sentences by the other half.

    The highest of several scores owes part of itself to luck; a system chosen by other sentences
    does not. The choice is made anew in every resampled corpus. The score is the mean over all ways
    to make halves of the parts.

    Args:
        measure: what the systems are scored by.
        table: its scores; the candidate systems are the first rows.
        systems: number of candidates.
        parts: of each sentence.
        draws: B × N sentence indices, see `_part_draws`.

    Returns:
        Corpus scores, shape (B,).
    """
    # Of systems that a half scores equally the one with the higher score of all is taken.
    order = np.argsort(-table.by_system.score[:systems], kind="stable")
    candidates = Statistics(table.statistics.values[order])
    count = int(parts.max()) + 1
    # Of a half and its complement one is enough: the one with part 0.
    halves = [half for half in combinations(range(count), (count + 1) // 2) if 0 in half]
    found = np.zeros(len(draws))
    for half in halves:
        inside = np.isin(parts, half)[draws]
        which = np.zeros(draws.shape, dtype=np.int64)
        for side in (inside, ~inside):
            judges = draws[~side].reshape(len(draws), -1)
            if not judges.shape[1]:
                judges = draws  # a single sentence has no others
            winner = order[measure.corpus_scores(candidates, judges).score.argmax(axis=1)]
            which = np.where(side, winner[:, None], which)
        found += mixed_scores(measure, table, [range(systems)], which, draws)[:, 0]
    return found / len(halves)


def _taken(versions: Sequence[Sequence[str]], which: IntArray) -> Version:
    """The text of one of the versions for each sentence."""
    return Version(tuple(versions[system][row] for row, system in enumerate(which)))
