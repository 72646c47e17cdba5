"""Training data for a judge: its own questions on rated corrections, with a share for each answer.

The module first reads rated corrections from benchmarks and stored replies, then poses questions.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.languages.language import Language
from gecjury.judges.asking.items import JudgedItem, judged_items
from gecjury.judges.exchange import Message, Model
from gecjury.judges.llm import GroupJudge
from gecjury.judges.replies.forms import CHOICE
from gecjury.judges.showing import CandidateSet, one_line
from gecjury.prompts import Prompt

LOWEST, HIGHEST = 1.0, 5.0
"""The scale of a judge's scores."""

Rated = tuple[str, str, float]
"""A source, a correction of it, and the correction's points from 1 (worst) to 5 (best)."""

ANSWERS: Mapping[str, Mapping[str, float]] = {
    "pointwise": {json.dumps({"score": points}): float(points) for points in range(1, 6)},
    "pairwise": {json.dumps({"better": word}): points[0] for points, word in CHOICE.words.items()},
}
"""For each protocol, the answers that a judge chooses from and the value of each: the points of
the correction, or the share of a win for the first correction."""


def on_scale(value: float, low: float, high: float) -> float:
    """Return a rating between `low` and `high` as points from 1 to 5."""
    return LOWEST + (HIGHEST - LOWEST) * (value - low) / (high - low)


def _comparisons(benchmark: Benchmark) -> Iterator[tuple[tuple[int, str], float]]:
    """Yield line and text of both corrections of every comparison, with 1, 0, or .5 for a tie."""
    systems = benchmark.corpus.systems
    for item in benchmark.rankings.get(benchmark.view, ()):
        texts = []
        for group in item.groups:
            named = [systems[name] for name in group if name in systems]
            texts.append(named[0].lines[item.sentence] if named else "")
        shown = [(text, rank) for text, rank in zip(texts, item.ranks, strict=True) if text]
        for (first, one), (second, two) in combinations(shown, 2):
            # A lower rank is better.
            win = float(0.5 + 0.5 * np.sign(two - one))
            yield (item.sentence, first), win
            yield (item.sentence, second), 1 - win


def rated_in_benchmark(benchmark: Benchmark) -> Iterator[Rated]:
    """Yield the corrections that people rated or ranked, each once.

    The lowest mean rating of the benchmark becomes 1 point, the highest 5 points. With rankings,
    the points follow the share of comparisons that a correction won, ties counted as half: 5 points
    for all of them, 1 point for none.

    Raises:
        InputError: the benchmark has neither ratings nor rankings.
    """
    corpus = benchmark.corpus
    values: dict[tuple[int, str], list[float]] = defaultdict(list)
    if benchmark.segment_scores is not None:
        for version, row in zip(corpus.systems.values(), benchmark.segment_scores, strict=True):
            for line, (text, value) in enumerate(zip(version.lines, row.tolist(), strict=True)):
                if not math.isnan(value) and text.strip():
                    values[line, text].append(value)
    else:
        for place, win in _comparisons(benchmark):
            values[place].append(win)
    if not values:
        raise InputError(
            f"{benchmark.name}: has neither ratings nor rankings of corrections, which teaching a "
            "judge needs; name another benchmark"
        )
    means = {place: float(np.mean(several)) for place, several in values.items()}
    ratings = benchmark.segment_scores is not None
    low, high = (min(means.values()), max(means.values())) if ratings else (0.0, 1.0)
    _refuse_equal(benchmark.name, means.values())
    for (line, text), mean in means.items():
        yield corpus.sources[line], text, on_scale(mean, low, high)


def _refuse_other_prompt(path: Path, item: JudgedItem, taught: Prompt) -> None:
    """Refuse replies to a prompt with edits, or with another criterion."""
    criterion = taught.added.text.strip() if taught.added else ""
    edits_shown = item.shown != item.corrections
    if item.criterion.strip() != criterion or edits_shown:
        theirs = item.criterion.strip() or "no criterion"
        raise InputError(
            f"{path}, line {item.line}: replies to another prompt ({item.prompt}, "
            f"{'edits shown, ' if edits_shown else ''}{theirs[:80]!r}) than the one the judge "
            f"is taught ({taught.id}); teach with the criterion of that prompt "
            "(`criterion=`), or name another store"
        )


def rated_in_store(path: Path, judge: GroupJudge) -> Iterator[Rated]:
    """Yield the corrections that another judge's stored replies score, each once.

    Scores of several replies are averaged. Verdicts on pairs become the share of comparisons won,
    as for rankings.

    Args:
        path: path of a store of replies.
        judge: the judge to be taught.

    Raises:
        InputError: the store contains verdicts on edits, or its criterion is not that of the judge;
            see also `gecjury.judges.asking.items.judged_items`.
    """
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    pairs = False
    taught = judge.wording()
    for item in judged_items(path, [taught]):
        if item.protocol == "edit-verdict":
            raise InputError(
                f"{path}, line {item.line}: verdicts on single edits; a judge is taught with "
                "scores of corrections: name a store of llm-s"
            )
        _refuse_other_prompt(path, item, taught)
        pairs |= item.protocol == "pairwise"
        for text, score in zip(item.corrections, item.scores, strict=True):
            values[item.source, text].append(score)
    if not values:
        raise InputError(
            f"{path}: contains no verdict; judge something first, or name another store"
        )
    means = {place: float(np.mean(several)) for place, several in values.items()}
    _refuse_equal(str(path), means.values())
    low, high = (0.0, 1.0) if pairs else (LOWEST, HIGHEST)
    for (source, text), mean in means.items():
        yield source, text, on_scale(mean, low, high)


def _refuse_equal(name: str, values: Iterable[float]) -> None:
    distinct = set(values)
    if len(distinct) < 2:
        raise InputError(
            f"{name}: all corrections have the same score ({next(iter(distinct)):g}), from which "
            "nothing can be learnt; name other data"
        )


Taught = tuple[tuple[Message, ...], tuple[int, ...], tuple[float, ...]]
"""A question with the answers that a judge should give: the conversation in which it is asked, the
rows of the rated corrections that it shows, and how probable each answer in `ANSWERS` should be."""


def taught_questions(
    judge: GroupJudge,
    sources: Sequence[str],
    outputs: Sequence[str],
    points: Sequence[float],
    language: Language,
) -> Iterator[Taught]:
    """Yield the judge's own questions about rated corrections.

    Points between two scores are split between them: 3.25 is 75% of 3 and 25% of 4. Of two
    corrections, the one with more points is better, and equal points are a tie.

    Args:
        judge: a judge whose protocol is `pointwise` or `pairwise`.
        sources: one source per row.
        outputs: corrections of the sources.
        points: points of the corrections, 1 to 5.
    """
    by_source: dict[str, list[int]] = defaultdict(list)
    for row, source in enumerate(sources):
        by_source[source].append(row)
    model, runtime = Model(backend="vllm", name="taught"), Runtime()
    for source, rows in by_source.items():
        texts = tuple(outputs[row] for row in rows)
        candidates = CandidateSet(
            0, language.joined(source), None, texts, tuple(map(one_line, texts))
        )
        for question in judge.pose([candidates], model, language, runtime):
            shown = tuple(rows[index] for index in question.texts)
            shares = _shares([points[row] for row in shown])
            yield tuple(question.request.messages), shown, shares


def _shares(points: Sequence[float]) -> tuple[float, ...]:
    """Return the share of each answer, given the points of one or two corrections."""
    if len(points) == 2:
        won = 0.5 + 0.5 * float(np.sign(points[0] - points[1]))
        return tuple(float(worth == won) for worth in ANSWERS["pairwise"].values())
    value = min(max(points[0], LOWEST), HIGHEST)
    return tuple(max(0.0, 1 - abs(score - value)) for score in ANSWERS["pointwise"].values())
