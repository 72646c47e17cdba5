"""The sentence browser of the comparison page: corrections with marked edits, scores, judgments.

All of it is plain HTML that can be opened and closed without a script; the page's script filters
and sorts by the `data-` attributes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from gecjury.core.wording import number
from gecjury.corpus.edits import differing_spans
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.metaeval.disagreement import SentenceView, ShownCorrection
from gecjury.report.page.markup import lang_attribute, render
from gecjury.report.words import FAMILY_NAMES, ComparisonWords

Fate = Literal["equal", "delete", "insert"]


@dataclass(frozen=True)
class WordRun:
    """Adjacent words of a correction that were all kept, deleted or inserted.

    Attributes:
        kind: what happened to the words.
        words: text of the words.
        behind: separator before the next words.
    """

    kind: Fate
    words: str
    behind: str = " "


_COMPARED = 4_000_000
"""Most pairs of words to compare: the time grows with them, and even more with repeated words."""


def mark_edits(source: str, correction: str, language: Language = ENGLISH) -> list[WordRun]:
    """Return a correction with its deleted and inserted words, in reading order."""
    old, new = source.split(), correction.split()
    if len(old) * len(new) > _COMPARED:
        return parts_of([("delete", old), ("insert", new)], language)
    pieces: list[tuple[Fate, Sequence[str]]] = []
    done = 0
    for edit in differing_spans(old, new):
        pieces.append(("equal", old[done : edit.start]))
        pieces += [("delete", old[edit.start : edit.end]), ("insert", edit.tokens)]
        done = edit.end
    return parts_of([*pieces, ("equal", old[done:])], language)


def parts_of(pieces: Sequence[tuple[Fate, Sequence[str]]], language: Language) -> list[WordRun]:
    """Return runs of words as parts, separated as the language separates the adjacent words."""
    filled = [(kind, words) for kind, words in pieces if words]
    parts = []
    for place, (kind, words) in enumerate(filled, 1):
        gap = " "
        if place < len(filled):
            last, first = words[-1], filled[place][1][0]
            gap = language.shown(f"{last} {first}")[len(last) : -len(first)]
        parts.append(WordRun(kind, language.shown(" ".join(words)), gap))
    return parts


def sentence_browser(
    sentences: Sequence[SentenceView], metrics: Sequence[str], answer: ComparisonWords, budget: int
) -> list[Markup]:
    """Return sentences as foldable blocks, in the order given.

    Args:
        sentences: the sentences in the order to show.
        metrics: the metrics, in the order of each correction's scores.
        answer: gives the views, the language and how names are shown.
        budget: most bytes of the blocks together.

    Returns:
        The blocks that fit.
    """
    blocks: list[Markup] = []
    used = 0
    for sentence in sentences:
        block = _block(sentence, metrics, answer)
        size = len(block.encode("utf-8"))
        if used + size > budget:
            break
        blocks.append(block)
        used += size
    return blocks


def _block(sentence: SentenceView, metrics: Sequence[str], answer: ComparisonWords) -> Markup:
    value, views = sentence.disagreement, answer.views
    language = answer.comparison.benchmark.corpus.language
    judged = [view for view in views if any(c.preferred.get(view) for c in sentence.corrections)]
    people = [f"people ({view})" if len(views) > 1 else "people" for view in judged]
    # All corrections of a sentence have the same number of digits, to make columns comparable.
    digits = [_digits([c.scores[at] for c in sentence.corrections]) for at in range(len(metrics))]
    before, after = sentence.context
    camp = answer.shown(sentence.apart)
    apart = FAMILY_NAMES.get(camp, camp)
    apart = f"Farthest from the others: {apart}. " if apart else ""
    astray = (
        f"On average the metrics contradict people on {100 * sentence.astray:.0f}% of the "
        "comparisons."
        if not math.isnan(sentence.astray)
        else "No comparison that people decided."
    )
    return render(
        "sentence",
        row=sentence.row + 1,
        disagreement=_plain(value),
        astray=_plain(sentence.astray),
        apart=camp,
        shown=number(value, 2),
        source=language.shown(sentence.source),
        lang_attribute=lang_attribute(language.code),
        note=f"Sentence {sentence.row + 1}. Disagreement {number(value, 2)}. {apart}{astray}",
        before=before,
        after=after,
        headings=["correction and its systems", *people, *metrics],
        corrections=[
            {
                **_row(sentence.source, correction, judged, digits, language),
                "systems": [answer.shown(name) for name in correction.systems],
            }
            for correction in sentence.corrections
        ],
    )


def _plain(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _digits(scores: Sequence[float]) -> int:
    """Return the number of digits: 3, or as many as different scores need to look different."""
    values = {score for score in scores if not math.isnan(score)}
    digits = (d for d in range(3, 6) if len({f"{score:.{d}f}" for score in values}) == len(values))
    return next(digits, 6)


def _row(
    source: str,
    correction: ShownCorrection,
    views: Sequence[str],
    digits: Sequence[int],
    language: Language,
) -> dict[str, object]:
    """Return a correction as shown: its words, judgments and scores.

    A score comes with its rank among the corrections, and whether this is the first.
    """
    comparisons = [correction.preferred.get(view, (0, 0)) for view in views]
    scores = []
    for score, rank, places in zip(correction.scores, correction.ranks, digits, strict=True):
        place = "" if math.isnan(score) else f"{rank:.1f}".removesuffix(".0")
        scores.append((number(float(score), places), place, place == "1"))
    return {
        "changed": source.split() != correction.text.split(),
        "parts": mark_edits(source, correction.text, language),
        "preferred": [f"{won} of {count}" if count else "–" for won, count in comparisons],
        "scores": scores,
    }
