"""What a reply was read as, in the form in which it is kept beside the reply.

A later run takes the verdict as it stands: it reads nothing again, and a later version's reader,
which may be stricter or more tolerant, does not change what was already judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gecjury.judges.replies.reply import FAILURES, Failure


def verdict_to_json(verdict: Any) -> dict[str, Any] | None:
    """A verdict as JSON values; None where it is neither scores nor a failure."""
    if isinstance(verdict, Failure):
        return {"failure": verdict.kind, "detail": verdict.detail}
    if isinstance(verdict, list) and all(map(_is_score, verdict)):
        return {"scores": [float(score) for score in verdict]}
    return None


def verdict_from_json(record: object, count: int) -> list[float] | Failure | None:
    """The inverse; None where there is none, or none of this form: then the reply is read.

    Args:
        record: what stands in the store.
        count: how many scores the verdict has to have.
    """
    if not isinstance(record, Mapping):
        return None
    kind, detail = record.get("failure"), record.get("detail")
    if kind in FAILURES and isinstance(detail, str):
        return Failure(kind, detail)
    scores = record.get("scores")
    if isinstance(scores, list) and len(scores) == count and all(map(_is_score, scores)):
        return [float(score) for score in scores]
    return None


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e9
