"""Pointwise judging: each correction by itself, scored 1 to 5."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.judge import render_cut, render_fenced
from gecjury.judges.protocols.ballots import Ballot, Options
from gecjury.judges.replies.expected import expected_score
from gecjury.judges.replies.reply import Failure, read_score
from gecjury.judges.showing import CandidateSet

SCORE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "integer", "enum": [1, 2, 3, 4, 5]}},
    "required": ["score"],
    "additionalProperties": False,
}


def pointwise_ballots(sets: Sequence[CandidateSet], options: Options) -> list[Ballot]:
    """One ballot for each correction of each set and repetition; there is no order to permute."""
    ballots = []
    for number, candidates in enumerate(sets):
        for index, shown in enumerate(candidates.shown):
            asked = (options.wording, candidates.source, candidates.context, {"target": shown})
            content = render_fenced(*asked, subject=options.subject)
            cut = functools.partial(render_cut, *asked, subject=options.subject)
            for repeat in range(options.repeats):
                request = options.request(content, SCORE_SCHEMA, {"score": 3}, repeat, cut)
                read = functools.partial(_read, expected=options.expected)
                question = Question(request, read, f"line {candidates.row + 1}, {shown[:60]!r}")
                ballots.append(Ballot(number, (index,), 0, repeat, question))
    return ballots


def _read(reply: Reply, expected: bool) -> list[float] | Failure:
    score = expected_score(reply) if expected else read_score(reply.text)
    return score if isinstance(score, Failure) else [score]
