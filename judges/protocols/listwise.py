"""Listwise judging: all corrections of a set in one prompt, scored 1 to 5 (Kobayashi et al. 2024).

The prompt is the published one, word for word, which shows every target on a line of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gecjury.judges.asking.ask import Question
from gecjury.judges.asking.exchange import Reply
from gecjury.judges.judge import Wording, context_lines
from gecjury.judges.protocols.ballots import Ballot, Options
from gecjury.judges.replies.expected import expected_scores
from gecjury.judges.replies.reply import Failure, read_scores, target_key
from gecjury.judges.showing import CandidateSet, cut_context, permutations


def render_listwise(
    wording: Wording, candidates: CandidateSet, order: Sequence[int] | None = None
) -> str:
    """The prompt for one candidate set.

    Args:
        wording: `sentence` or `edit` with its criterion.
        candidates: what is judged.
        order: indices of the corrections by position; by default as they stand.
    """
    order = range(len(candidates.shown)) if order is None else order
    line = wording.prompt.head["score_line"]
    numbers = range(1, len(candidates.shown) + 1)
    return wording.render(
        context=context_lines(candidates.source, candidates.context),
        targets="\n".join(candidates.shown[index] for index in order),
        scores="\n".join(line.replace("{{number}}", str(number)) for number in numbers),
    )


def listwise_schema(count: int) -> dict[str, Any]:
    """JSON schema of the scores of `count` targets."""
    keys = [target_key(number) for number in range(1, count + 1)]
    return {
        "type": "object",
        "properties": {key: {"type": "integer", "enum": [1, 2, 3, 4, 5]} for key in keys},
        "required": keys,
        "additionalProperties": False,
    }


def listwise_ballots(sets: Sequence[CandidateSet], options: Options) -> list[Ballot]:
    """One ballot for each set, permutation and repetition."""
    ballots = []
    for number, candidates in enumerate(sets):
        count = len(candidates.texts)
        schema = listwise_schema(count)
        answer = {target_key(target): 3 for target in range(1, count + 1)}
        for order, shown in enumerate(permutations(candidates, options.orders, options.seed)):
            cut = functools.partial(_cut, options.wording, candidates, shown)
            content = render_listwise(options.wording, candidates, shown)
            for repeat in range(options.repeats):
                request = options.request(content, schema, answer, repeat, cut)
                read = functools.partial(_read, count=count, expected=options.expected)
                about = f"line {candidates.row + 1}, {count} corrections"
                question = Question(request, read, about, count)
                ballots.append(Ballot(number, shown, order, repeat, question))
    return ballots


def _cut(wording: Wording, candidates: CandidateSet, order: Sequence[int], words: int) -> str:
    less = replace(candidates, context=cut_context(candidates.context, words))
    return render_listwise(wording, less, order)


def _read(reply: Reply, count: int, expected: bool) -> list[float] | Failure:
    return expected_scores(reply, count) if expected else read_scores(reply.text, count)
