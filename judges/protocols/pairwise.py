"""Pairwise judging: every two corrections of a set; a win is worth 1, a tie one half.

A correction's score is its share of the points it could win, 0 to 1. A correction that stood
against no other one has none: it was not compared.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.judge import render_cut, render_fenced
from gecjury.judges.protocols.ballots import Ballot, Options
from gecjury.judges.replies.reply import Failure, read_choice
from gecjury.judges.showing import CandidateSet

CHOICE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"better": {"type": "string", "enum": ["A", "B", "tie"]}},
    "required": ["better"],
    "additionalProperties": False,
}


def pairwise_ballots(sets: Sequence[CandidateSet], options: Options) -> list[Ballot]:
    """One ballot for each pair of corrections, order (at most two) and repetition.

    Which of two texts is shown first in order 0 depends on the texts alone, so that a pair which
    stands in several sets is asked once.
    """
    ballots = []
    for number, candidates in enumerate(sets):
        for pair in combinations(range(len(candidates.texts)), 2):
            first, second = sorted(pair, key=lambda index: _rank(candidates.texts[index]))
            for order, (a, b) in enumerate(((first, second), (second, first))[: options.orders]):
                shown = (
                    options.wording,
                    candidates.source,
                    candidates.context,
                    {"first": candidates.shown[a], "second": candidates.shown[b]},
                )
                content = render_fenced(*shown, subject=options.subject)
                cut = functools.partial(render_cut, *shown, subject=options.subject)
                for repeat in range(options.repeats):
                    answer = {"better": "A"}
                    request = options.request(content, CHOICE_SCHEMA, answer, repeat, cut)
                    about = f"line {candidates.row + 1}, two of them"
                    question = Question(request, _read, about, 2)
                    ballots.append(Ballot(number, (a, b), order, repeat, question))
    return ballots


def _rank(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _read(reply: Reply) -> list[float] | Failure:
    choice = read_choice(reply.text)
    if isinstance(choice, Failure):
        return choice
    return {"A": [1.0, 0.0], "B": [0.0, 1.0], "tie": [0.5, 0.5]}[choice]
