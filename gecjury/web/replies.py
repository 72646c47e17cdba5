"""The page of stored replies of LLM judges: corrections, answer and scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from markupsafe import Markup

from gecjury.core.wording import number, visible
from gecjury.corpus.languages.language import LANGUAGES
from gecjury.report.page.browser import WordRun, mark_edits
from gecjury.report.page.markup import lang_attribute
from gecjury.web.pages import rendered, static_file

StoredReview: TypeAlias = Any
"""A `Review` of `gecjury.judges.asking.items`, which pages do not import."""

StoredReviewReply: TypeAlias = Any
"""One of its replies."""

MOST_SHOWN = 1_000
"""Most replies on a page."""

_MOST_ANSWER = 2_000  # characters of an answer
_MOST_REASON = 400
_CODES = {name: code for code, name in LANGUAGES.items()}


def replies_page(review: StoredReview) -> str:
    """Return stored replies as one self-contained page."""
    return rendered(
        "replies",
        title="Stored replies",
        style=Markup(static_file("web.css").decode()),
        review=review,
        model=", ".join(sorted({store.model for store in review.stores})),
        prompt=", ".join(sorted({store.prompt.partition(":")[0] for store in review.stores})),
        replies=[_shown(reply, len(review.stores) > 1) for reply in review.replies],
    )


def _shown(reply: StoredReviewReply, several: bool) -> dict[str, Any]:
    """Return a reply as the page shows it, with long texts cut."""
    judged = reply.judged
    language = judged.language if judged else ""
    return {
        "line": f"{reply.line:,}",
        "file": reply.file if several else "",
        "repetition": reply.repeat + 1,
        "failure": _text(reply.failure, _MOST_REASON),
        "problem": reply.problem,
        "judged": judged,
        "lang": lang_attribute(_CODES.get(language, "und") if language else "en"),
        "source": _text(judged.source if judged else reply.question),
        "context": [_text(text) for text in judged.context or ()] if judged else (),
        "corrections": _corrections(reply) if judged else (),
        "reason": _text(reply.reason, _MOST_REASON),
        "answer": _text(reply.answer),
    }


def _corrections(reply: StoredReviewReply) -> list[dict[str, Any]]:
    """Return one row per correction: its place, its words, its score."""
    judged, rows = reply.judged, []
    names = "AB" if judged.protocol == "pairwise" else range(1, len(judged.corrections) + 1)
    top = max(reply.scores, default=0.0)
    for at, (name, text) in enumerate(zip(names, judged.corrections, strict=True)):
        score = reply.scores[at] if reply.scores else None
        rows.append(
            {
                "name": name,
                "parts": _parts(judged.source, text),
                "edit": visible(judged.edit),
                "changed": judged.source.split() != text.split(),
                "score": "–" if score is None else number(score, 2).removesuffix(".00"),
                "best": score == top and reply.scores.count(top) < len(reply.scores),
            }
        )
    if reply.written:
        output, edited = judged.corrections[0], reply.written
        parts, changed = _parts(output, edited), output.split() != edited.split()
        rows.append({**rows[0], "name": "→", "parts": parts, "changed": changed, "score": ""})
    return rows


def _parts(source: str, text: str) -> Sequence[WordRun]:
    source, text = visible(source), visible(text)
    # Texts without spaces have no words to compare.
    return mark_edits(source, text) if " " in source else [WordRun("equal", text)]


def _text(text: str, most: int = _MOST_ANSWER) -> str:
    """Return the beginning of a text, made safe to show."""
    return visible(text[:most], lines=True) + (" …" if len(text) > most else "")
