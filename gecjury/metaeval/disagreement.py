"""Disagreement between metric families, by sentence and over the judged pairs.

Every metric ranks the corrections of one source. Ranks are scaled to lie between 0 (best) and 1
(worst), equal scores share their mean rank, and a family's rank of a correction is the mean over
its metrics. The disagreement on a source is the variance between the families' ranks of a
correction, averaged over the corrections and multiplied by 4. It is 0 if all families order the
corrections alike, and 1 if two families order two corrections in opposite ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gecjury.benchmarks.judgments import JudgmentPairs, RankedItem
from gecjury.core.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.counts import defined_mean


@dataclass(frozen=True)
class Camp:
    """Metrics grouped together: a family, or one metric if only one family is compared.

    Attributes:
        name: the name of the family or the metric.
        tables: indices of its score tables.
    """

    name: str
    tables: tuple[int, ...]


@dataclass(frozen=True)
class ShownCorrection:
    """One distinct correction of a source.

    Attributes:
        text: the corrected sentence.
        systems: the systems that made it.
        scores: one for each metric, the mean over its systems; NaN = not scored.
        ranks: rank among the corrections of the source, one for each metric; 1 is best, equal
            scores share their mean rank; NaN = not scored.
        preferred: by view, how often people preferred it in decided comparisons with other
            corrections, and the number of these comparisons.
    """

    text: str
    systems: tuple[str, ...]
    scores: FloatArray
    ranks: FloatArray
    preferred: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class SentenceView:
    """One source with its corrections, and how much metrics and people disagree on it.

    Attributes:
        row: row of the corpus.
        source: text of the source.
        context: the sentences before and after; empty if unknown.
        corrections: the distinct corrections; those that people prefer most come first.
        disagreement: disagreement of the camps, 0 to 1; NaN with fewer than two camps or
            corrections.
        apart: the camp farthest from the mean of all; empty if they agree.
        astray: share of decided human pairs of corrections that the metrics, on average, order
            the other way, equal scores one half; NaN without any.
    """

    row: int
    source: str
    context: tuple[str, str]
    corrections: tuple[ShownCorrection, ...]
    disagreement: float
    apart: str
    astray: float


def camps(tables: Sequence[ScoreTable]) -> tuple[Camp, ...]:
    """Return families in order of first appearance, or single metrics if there is one family."""
    families: dict[str, list[int]] = {}
    for number, table in enumerate(tables):
        families.setdefault(table.signature.family, []).append(number)
    if len(families) > 1:
        return tuple(Camp(name, tuple(members)) for name, members in families.items())
    return tuple(Camp(table.signature.label, (n,)) for n, table in enumerate(tables))


def scaled_ranks(scores: FloatArray) -> FloatArray:
    """Return ranks between 0 (highest score) and 1 (lowest) along the last axis.

    Args:
        scores: shape (..., corrections); NaN stays NaN and is not ranked.

    Returns:
        Equal scores share their mean rank; one score alone is ranked 0.5.
    """
    # Better and worse are counted separately: NaN is neither, so it does not change any rank.
    beaten = (scores[..., None, :] < scores[..., :, None]).sum(axis=-1)
    beating = (scores[..., None, :] > scores[..., :, None]).sum(axis=-1)
    scored = (~np.isnan(scores)).sum(axis=-1, keepdims=True)
    share = 0.5 + (beating - beaten) / (2.0 * np.maximum(scored - 1, 1))
    return np.where(np.isnan(scores), np.nan, share)


def _shared(scores: FloatArray) -> FloatArray:
    """Return one score for systems with the same text: the score they share, otherwise the mean.

    The mean of equal numbers may differ from them in its last digit, which would change ranks.
    """
    low = np.where(np.isnan(scores), np.inf, scores).min(axis=1)
    high = np.where(np.isnan(scores), -np.inf, scores).max(axis=1)
    return np.where(low == high, low, defined_mean(scores, 1))


def sentence_views(
    corpus: Corpus,
    tables: Sequence[ScoreTable],
    rankings: Mapping[str, Sequence[RankedItem]],
) -> list[SentenceView]:
    """Return every source with at least two distinct corrections, most disagreement first.

    Args:
        corpus: the corpus that was scored.
        tables: one per metric.
        rankings: human ranking items by view; their `sentence` is a row of the corpus.
    """
    judged: dict[int, list[tuple[str, RankedItem]]] = {}
    for view, items in rankings.items():
        for item in items:
            judged.setdefault(item.sentence, []).append((view, item))
    sides = camps(tables)
    scores = np.array([table.sentences for table in tables])
    views = []
    for row in range(len(corpus)):
        # A source with a single correction shows no disagreement.
        groups = _distinct(corpus, row)
        if len(groups) > 1 and len(tables):
            views.append(_view(corpus, row, groups, scores[:, :, row], sides, judged.get(row, [])))
    return sorted(views, key=_dispute)


def _dispute(view: SentenceView) -> tuple[float, float]:
    """Return a sort key: most disagreement first, then most contradiction of people; NaN last."""
    values = [-1.0 if np.isnan(value) else value for value in (view.disagreement, view.astray)]
    # Rounding keeps the key independent of the order of the sums.
    return -round(values[0], 9), -values[1]


def _distinct(corpus: Corpus, row: int) -> dict[str, list[int]]:
    """Return the systems by their correction of a source, ignoring white space."""
    groups: dict[str, list[int]] = {}
    for index, version in enumerate(corpus.systems.values()):
        groups.setdefault(" ".join(version.lines[row].split()), []).append(index)
    return groups


def _view(
    corpus: Corpus,
    row: int,
    groups: Mapping[str, Sequence[int]],
    scores: FloatArray,
    sides: Sequence[Camp],
    judged: Sequence[tuple[str, RankedItem]],
) -> SentenceView:
    """Return the view of one source; `scores` is metrics × systems."""
    values = np.stack([_shared(scores[:, members]) for members in groups.values()], axis=1)
    ranks = scaled_ranks(values)
    disagreement, apart = _apart(ranks, sides)
    places = {name: at for at, (_, m) in enumerate(groups.items()) for name in _names(corpus, m)}
    middle = defined_mean(ranks, 0)
    preferred, astray = _people(judged, places, middle, len(groups))
    scored = (~np.isnan(values)).sum(axis=1, keepdims=True)
    # A single scored correction has the scaled rank one half, but rank 1.
    plain = 1 + ranks * np.maximum(scored - 1, 0)
    corrections = [
        ShownCorrection(
            text,
            _names(corpus, members),
            values[:, at],
            plain[:, at],
            {view: (wins[at], wins[at] + losses[at]) for view, (wins, losses) in preferred.items()},
        )
        for at, (text, members) in enumerate(groups.items())
    ]
    order = sorted(range(len(corrections)), key=lambda at: (_liking(corrections[at]), middle[at]))
    context = corpus.contexts[row] if corpus.contexts is not None else ("", "")
    source = " ".join(corpus.sources[row].split())
    chosen = tuple(corrections[at] for at in order)
    return SentenceView(row, source, context, chosen, disagreement, apart, astray)


def _names(corpus: Corpus, members: Sequence[int]) -> tuple[str, ...]:
    return tuple(corpus.names[index] for index in members)


def _liking(correction: ShownCorrection) -> float:
    """Return a sort key: minus the share of comparisons won over all views; unjudged ones last."""
    won = sum(wins for wins, _ in correction.preferred.values())
    count = sum(count for _, count in correction.preferred.values())
    return -won / count if count else 1.0


def _apart(ranks: FloatArray, sides: Sequence[Camp]) -> tuple[float, str]:
    """Return the disagreement between camps, and the camp farthest from the mean."""
    by_camp = np.stack([defined_mean(ranks[list(side.tables)], 0) for side in sides])
    # At least two camps must have scored a correction.
    counted = (~np.isnan(by_camp)).sum(axis=0) > 1
    if not counted.any():
        return float("nan"), ""
    by_camp = by_camp[:, counted]
    squares = (by_camp - defined_mean(by_camp, 0)) ** 2
    disagreement = float(4 * defined_mean(defined_mean(squares, 0), 0))
    if disagreement < 1e-12:
        return 0.0, ""
    distance = np.nan_to_num(defined_mean(squares, 1), nan=-1.0)
    return disagreement, sides[int(distance.argmax())].name


def _people(
    judged: Sequence[tuple[str, RankedItem]],
    places: Mapping[str, int],
    middle: FloatArray,
    size: int,
) -> tuple[dict[str, tuple[list[int], list[int]]], float]:
    """Return each correction's wins and losses by view, and the share that metrics reverse."""
    tallies: dict[str, tuple[list[int], list[int]]] = {}
    against, count = 0.0, 0
    for view, item in judged:
        wins, losses = tallies.setdefault(view, ([0] * size, [0] * size))
        ranked = [
            (next((places[s] for s in group if s in places), -1), rank)
            for group, rank in zip(item.groups, item.ranks, strict=True)
        ]
        # A ranking may contain corrections of systems that are not compared here.
        ranked = [(place, rank) for place, rank in ranked if place >= 0]
        for number, (correction, first) in enumerate(ranked):
            for other, second in ranked[number + 1 :]:
                if first == second or correction == other:
                    continue
                better, worse = (correction, other) if first < second else (other, correction)
                wins[better] += 1
                losses[worse] += 1
                gap = middle[better] - middle[worse]
                if not np.isnan(gap):
                    count += 1
                    # Ranks are sums of fractions, so differences by rounding count as equal.
                    against += 0.5 if abs(gap) < 1e-9 else float(gap > 0)
    return tallies, against / count if count else float("nan")


@dataclass(frozen=True)
class Consensus:
    """Accuracy on judged pairs where all camps prefer the same side, and where they are divided.

    Attributes:
        pairs: number of decided pairs on which every camp has a preference.
        united: number of these pairs on which all camps prefer the same side.
        right: share of the united pairs on which people prefer that side, too.
        split_right: for each camp, its share of right answers on the other pairs.
    """

    pairs: int
    united: int
    right: float
    split_right: Mapping[str, float]


def consensus(
    tables: Sequence[ScoreTable], pairs: Iterable[JudgmentPairs], sides: Sequence[Camp]
) -> Consensus | None:
    """Return how often camps agree on the pairs that people decided, and how often they are right.

    A camp prefers the side that more of its metrics prefer. If a camp has no majority, the pair is
    left out. None with fewer than two camps or no decided pair.

    Args:
        tables: one per metric.
        pairs: judgments, in parts.
    """
    if len(sides) < 2:
        return None
    sums = [
        _consensus(tables, part, sides) for part in (some.decided for some in pairs) if len(part)
    ]
    if not sums:
        return None
    kept, united, right, *split = np.sum(sums, axis=0).tolist()
    return Consensus(
        kept,
        united,
        right / united if united else float("nan"),
        {
            side.name: right_split / (kept - united) if kept > united else float("nan")
            for side, right_split in zip(sides, split, strict=True)
        },
    )


def _consensus(
    tables: Sequence[ScoreTable], decided: JudgmentPairs, sides: Sequence[Camp]
) -> list[int]:
    """Count pairs with a preference of every camp, united, united and right, and right by camp."""
    votes = []
    for side in sides:
        total = np.zeros(len(decided))
        for number in side.tables:
            sentences = tables[number].sentences
            gap = (
                sentences[decided.first, decided.sentence]
                - sentences[decided.second, decided.sentence]
            )
            total += np.sign(np.nan_to_num(gap))
        votes.append(np.sign(total))
    # A camp votes with the majority of its metrics; 0 means no majority, so the pair is left out.
    choices = np.array(votes)
    kept = (choices != 0).all(axis=0)
    choices, human = choices[:, kept], decided.preference[kept]
    united = (choices == choices[0]).all(axis=0)
    right = choices == human
    alone = right[:, ~united].sum(axis=1)
    return [int(kept.sum()), int(united.sum()), int(right[0, united].sum()), *alone.tolist()]
