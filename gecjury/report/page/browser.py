"""The browser of sentences on the comparison page: corrections with edits marked, scores, people.

All of it is plain HTML that opens and closes without a script; the page's script filters and
sorts by the `data-` attributes.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence

from gecjury.metaeval.disagreement import Correction, SentenceView
from gecjury.report.page.markup import Child, Markup, element, join
from gecjury.report.page.tables import boxed
from gecjury.report.page.words import FAMILIES
from gecjury.report.tables import number

__all__ = ["marked", "sentence_browser"]


def marked(source: str, correction: str) -> Markup:
    """A correction with what was deleted from and inserted into the source marked."""
    old, new = source.split(), correction.split()
    parts: list[Markup] = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(join(" ".join(old[a:b])))
            continue
        if b > a:
            parts.append(element("del", " ".join(old[a:b])))
        if d > c:
            parts.append(element("ins", " ".join(new[c:d])))
    return Markup(" ".join(parts))


def sentence_browser(
    sentences: Sequence[SentenceView],
    metrics: Sequence[str],
    views: Sequence[str],
    budget: int,
) -> list[Markup]:
    """Sentences as foldable blocks, those with most disagreement first.

    Args:
        sentences: in the order to show.
        metrics: labels, one a score of each correction.
        views: of the human judgments.
        budget: bytes that the blocks may take.

    Returns:
        The blocks that fit.
    """
    blocks: list[Markup] = []
    used = 0
    for sentence in sentences:
        block = _block(sentence, metrics, views)
        size = len(block.encode("utf-8"))
        if used + size > budget:
            break
        blocks.append(block)
        used += size
    return blocks


def _block(sentence: SentenceView, metrics: Sequence[str], views: Sequence[str]) -> Markup:
    value = sentence.disagreement
    judged = [view for view in views if any(c.preferred.get(view) for c in sentence.corrections)]
    head = [element("th", "correction and its systems", scope="col")]
    for view in judged:
        words = f"people ({view})" if len(views) > 1 else "people"
        head.append(element("th", words, scope="col", class_="n"))
    head += [element("th", name, scope="col", class_="n") for name in metrics]
    digits = [_digits([c.scores[at] for c in sentence.corrections]) for at in range(len(metrics))]
    rows = [_row(sentence.source, c, judged, digits) for c in sentence.corrections]
    table = element("table", element("thead", element("tr", head)), element("tbody", rows))
    before, after = sentence.context
    context: list[Child] = []
    if before:
        context.append(element("p", element("b", "Before: "), before, class_="context", dir="auto"))
    if after:
        context.append(element("p", element("b", "After: "), after, class_="context", dir="auto"))
    summary = element(
        "summary",
        element("span", number(value, 2), class_="score"),
        element("span", sentence.source, class_="text", dir="auto"),
    )
    apart = FAMILIES.get(sentence.apart, sentence.apart)
    apart = f"Farthest from the others: {apart}. " if apart else ""
    astray = (
        f"On average the metrics contradict people on {100 * sentence.astray:.0f}% of the "
        "comparisons."
        if not math.isnan(sentence.astray)
        else "No comparison that people decided."
    )
    note = f"Sentence {sentence.row + 1}. Disagreement {number(value, 2)}. {apart}{astray}"
    return element(
        "details", summary,
        element("p", note, class_="facts"), context, boxed(table, "Corrections"),
        class_="sentence",
        data_row=sentence.row + 1,
        data_d=_plain(value),
        data_a=_plain(sentence.astray),
        data_apart=sentence.apart,
    )  # fmt: skip


def _plain(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


def _digits(scores: Sequence[float]) -> int:
    """Three digits, or as many more as it takes to tell different scores apart."""
    known = {score for score in scores if not math.isnan(score)}
    found = (d for d in range(3, 6) if len({f"{score:.{d}f}" for score in known}) == len(known))
    return next(found, 6)


def _row(
    source: str, correction: Correction, views: Sequence[str], digits: Sequence[int]
) -> Markup:
    changed = " ".join(source.split()) != " ".join(correction.text.split())
    shown: Child = marked(source, correction.text)
    if not changed:
        shown = join(shown, " ", element("span", "unchanged", class_="tag"))
    cells: list[Child] = [
        element(
            "td",
            element("span", shown, dir="auto"),
            element("span", ", ".join(correction.systems), class_="who"),
            class_="text",
        )
    ]
    for view in views:
        won, count = correction.preferred.get(view, (0, 0))
        cells.append(element("td", f"{won} of {count}" if count else "–", class_="n"))
    scores, ranks = correction.scores.tolist(), correction.ranks.tolist()
    for score, rank, places in zip(scores, ranks, digits, strict=True):
        if math.isnan(score):
            cells.append(element("td", "–", class_="n"))
            continue
        place = f"{rank:.1f}".removesuffix(".0")
        shown = number(score, places)
        first = element("strong", shown) if rank == 1 else shown
        cells.append(element("td", first, element("span", f"#{place}", class_="rank"), class_="n"))
    return element(
        "tr", cells, data_systems="\t".join(correction.systems), class_=None if changed else "same"
    )
