"""Marks around the reasoning in a model's text, and the text without that reasoning.

A server that does not separate reasoning from the answer sends both as one text, with marks that
depend on the model. What stands between the marks is never an answer, whatever it looks like.
"""

from __future__ import annotations

import re

_WORDS = (
    "think", "thinking", "thought", "thoughts", "reason", "reasoning", "analysis", "reflection",
    "scratchpad", "seed:think", "longcat_think",
)  # fmt: skip
_FINAL = "<|channel|>final"

ENDS: dict[str, str] = {
    # Qwen, DeepSeek, EXAONE, Reka, Seed and most other models; Kimi.
    **{f"<{word}>": f"</{word}>" for word in _WORDS},
    **{f"◁{word}▷": f"◁/{word}▷" for word in _WORDS[:2]},
    # Magistral.
    **{f"[{word}]": f"[/{word}]" for word in _WORDS[:2]},
    # Cohere; models distilled from Sky-T1; Apertus.
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    **{f"<|{word}|>": f"<|/{word}|>" for word in _WORDS[:4]},
    # Gemma 4.
    "<|channel>": "<channel|>",
    # gpt-oss: only one of its channels is the answer. Servers may drop the special tokens, so that
    # `analysisWe need … assistantfinal{…` remains.
    "<|channel|>": _FINAL,
    "analysis": "assistantfinal",
    "commentary": "assistantfinal",
}
"""The marks that open reasoning, each with the mark that closes it, in lower case."""

_CLOSING = frozenset(ENDS.values())
# At the beginning of a text, the name of a channel whose special tokens were dropped.
_BARE = "(?-i:\\A(?:analysis|commentary)(?=[A-Z{]))"
_MARKED = sorted(({*ENDS} | _CLOSING) - {"analysis", "commentary"}, key=len, reverse=True)
# The first characters are tested first, since Python tries all alternatives at every position.
MARK = re.compile(rf"(?=[<[◁a])(?:{'|'.join(map(re.escape, _MARKED))})|{_BARE}", re.IGNORECASE)
"""Matches every mark."""

# Other special tokens of chat formats, which begin or end a message: `<|message|>`, `<|return|>`.
_SPECIAL = r"<\|(?:constrain\|>\w{0,20}|\w{1,40}\|>)"
_EITHER = re.compile(f"({MARK.pattern})|{_SPECIAL}", re.IGNORECASE)
OBJECT_FIRST = re.compile(r"\s*(?:```(?:json)?\s*)?\{")
"""Matches the beginning of a text that begins with an object."""


def without_reasoning(text: str, *, quoting: bool = False) -> str | None:
    """Return a text of the same length with blanks in place of reasoning and of special tokens.

    Some chat templates open the reasoning in the prompt, so that only its end is in the text.

    Args:
        text: what a model wrote.
        quoting: the answer may quote other texts, so that marks in and after it are ignored.

    Returns:
        None if the reasoning does not end.
    """
    parts: list[str] = []  # the result for the text between `begun` and `at`
    begun = at = 0
    awaited = ""  # the mark that closes the reasoning
    # Whether the text since the last reasoning begins with an object; None while it is blank.
    answers: bool | None = None
    for match in _EITHER.finditer(text):
        start, end = match.span()
        mark = (match[1] or "").lower()
        if awaited:
            if mark == awaited:
                parts.append(" " * (end - at))
                at, awaited, answers = end, "", None
            continue
        if answers is None and (between := text[at:start]).strip():
            answers = OBJECT_FIRST.match(between) is not None
        if answers and quoting:
            break
        if mark in ENDS:
            parts.append(text[at:start])
            at, awaited = start, ENDS[mark]
        elif mark in _CLOSING and not answers:
            parts.clear()
            begun, at, answers = end, end, None
        else:
            # Reasoning rarely begins with an object: this one may be the answer.
            parts += [text[at:start], " " * (end - start)]
            at = end
    return None if awaited else "".join((" " * begun, *parts, text[at:]))
