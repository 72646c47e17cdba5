"""How a judge's questions are posed: prompt, form of the answer, settings and examples as turns."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from gecjury.core.addresses import public_address
from gecjury.core.errors import OptionError
from gecjury.judges.asker import Asker
from gecjury.judges.asking.ask import Question
from gecjury.judges.exchange import Message, Model, Rendered, Request, Sampling
from gecjury.judges.models import capabilities, effort_fault, reasoning_range
from gecjury.judges.options import ShowsExamples
from gecjury.judges.replies.forms import TOP_TOKENS, AnswerForm, ScoreForm
from gecjury.judges.showing import Context, nonce, one_line
from gecjury.prompts import Prompt

T = TypeVar("T")

Render = Callable[[], str]
"""Renders a prompt."""


class Sheet(NamedTuple, Generic[T]):
    """A prompt about corrections of a candidate set.

    Attributes:
        form: form of the answer.
        texts: index in the set of the correction at each position.
        order: number of the permutation.
    """

    form: AnswerForm[T]
    render: Render
    texts: tuple[int, ...] = (0,)
    order: int = 0


def pose(
    judge: Asker,
    model: Model,
    wording: Prompt,
    sheet: Sheet[T],
    number: int,
    turns: tuple[Message, ...],
) -> list[Question[T]]:
    """Return the questions for one prompt: one per repetition.

    Args:
        wording: the wording that is rendered.
        number: number of the candidate set.
        turns: the conversation before the prompt; see `example_turns`.
    """
    structured = _asks_schema(judge, model)
    form = _reasoned(judge, sheet)
    # Repetitions differ only in number and seed, so they share the prompt. Values that are the
    # same for all questions are one object, since there may be many questions.
    expect = sys.intern(_written(form.typical, structured))
    messages = Rendered(sheet.render, turns)
    base_url, prompt = sys.intern(public_address(model.base_url)), sys.intern(wording.id)
    read = form.reader(weighted=judge.weighted)
    return [
        Question(
            Request(
                backend=model.backend,
                model=model.name,
                base_url=base_url,
                messages=messages,
                schema=form.schema if structured else None,
                sampling=_sampling(judge, model, len(expect) + form.longer, repeat),
                repeat=repeat,
                prompt=prompt,
                expect=expect,
            ),
            read,
            number,
            sheet.texts,
            sheet.order,
        )
        for repeat in range(judge.repeats)
    ]


def example_turns(
    judge: Asker, model: Model, shown: Iterable[tuple[Sheet[T], Sequence[float], str]]
) -> tuple[Message, ...]:
    """Return examples as turns of the conversation, which all questions begin with.

    Args:
        shown: the sheet of each example, the scores of its corrections, and a reason.
    """
    structured = _asks_schema(judge, model)
    turns: list[Message] = []
    for sheet, scores, reason in shown:
        form = _reasoned(judge, sheet)
        assert isinstance(form, ScoreForm)  # tasks with examples have no others
        answer = form.answer([scores[index] for index in sheet.texts], reason)
        turns.append({"role": "user", "content": sheet.render()})
        turns.append({"role": "assistant", "content": _written(answer, structured)})
    return tuple(turns)


def _reasoned(judge: Asker, sheet: Sheet[T]) -> AnswerForm[T]:
    """Return the form of a sheet's answer, with a reason if the judge asks for one."""
    reasoned = isinstance(judge, ShowsExamples) and judge.reason
    return sheet.form.with_reason() if reasoned else sheet.form


def _asks_schema(judge: Asker, model: Model) -> bool:
    """Return whether a schema is asked for; otherwise the prompt's own words ask."""
    if judge.structured != "auto":
        return judge.structured == "schema"
    able = capabilities(model)
    # A grammar that begins with the answer leaves no room to think.
    return able.schema and not (judge.thinking or (able.template_options and _reasons(judge)))


def _reasons(judge: Asker) -> bool:
    """Return whether the user asked for an effort that is more than none."""
    return judge.effort not in ("auto", "none")


@functools.lru_cache(maxsize=64)
def _sampling(judge: Asker, model: Model, characters: int, repeat: int) -> Sampling:
    """Return the settings of a question whose answer has up to so many characters."""
    if fault := effort_fault(model):
        raise OptionError(f"{judge.name}: effort={judge.effort}: {fault}")
    able = capabilities(model)
    # A token has at least one character, so any tokenizer has room for a compact answer.
    cap = characters + characters // 2 + 32 + reasoning_range(model, thinking=judge.thinking)[1]
    sampling: dict[str, float | str] = {"max_tokens": judge.max_tokens or cap}
    if able.sampling:
        sampling |= {"temperature": judge.temperature, "seed": judge.seed + repeat}
    if able.effort:
        sampling["reasoning_effort"] = able.effort
    if able.template_options:
        sampling["thinking"] = judge.thinking or _reasons(judge)
    if judge.weighted:
        if not able.logprobs:
            reasoning = " while it reasons" if _reasons(judge) else ""
            raise OptionError(
                f"{judge.name}: {judge.model} returns no token probabilities{reasoning}, which "
                "scoring=expected needs; use another model or scoring=argmax"
            )
        sampling["logprobs"] = TOP_TOKENS
    return sampling


def _written(answer: Mapping[str, object], structured: bool) -> str:
    """Return an answer as a model writes it: compact with a schema, else a code block."""
    if structured:
        return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return f"```json\n{json.dumps(answer, ensure_ascii=False, indent=2)}\n```"


def context_lines(source: str, context: Context) -> str:
    """Return the source between its neighbours; a missing neighbour leaves an empty line."""
    lines = (source,) if context is None else (context[0], source, context[1])
    return "\n".join(map(one_line, lines))


def render_fenced(
    wording: Prompt, source: str, context: Context, texts: Mapping[str, str], **more: str
) -> str:
    """Render one of our own prompts, with texts between lines that none of them contains.

    Args:
        source: a sentence.
        context: the sentences around it.
        texts: by their place in the prompt.
        more: values for further places in the prompt.
    """
    lines = context_lines(source, context)
    fence = nonce([lines, *texts.values()])
    return wording.render(context=lines, fence=fence, **texts, **more)
