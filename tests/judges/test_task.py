"""A judge with an answer of another type: a text, which an option of scoring compares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import language_of
from gecjury.judges.exchange import Attempt, Reply
from gecjury.judges.judge import Judge
from gecjury.judges.posing import Sheet, render_fenced
from gecjury.judges.replies.forms import AnswerForm
from gecjury.judges.replies.reply import Failure
from gecjury.judges.showing import one_line
from gecjury.prompts import Prompt
from gecjury.scoring.options import metric_options
from gecjury.scoring.scorer import MeanScorer, setting
from gecjury.scoring.scores import Statistics
from tests.judges.conftest import FakeModel, member


class Output(NamedTuple):
    """An output of a system."""

    row: int
    source: str
    text: str


def read_edited(text: str, *, reasoned: bool = False) -> str | Failure:
    try:
        return str(json.loads(text)["text"])
    except (ValueError, KeyError):
        return Failure("no-json", text[:60])


EDITED = AnswerForm[str]({"text": {"type": "string"}}, {"text": "I like cats ."}, read_edited)


@dataclass(frozen=True)
class Edited(Judge[str, Output], MeanScorer):
    """The share of tokens that are left when a model has edited an output."""

    name: ClassVar[str] = "edited"
    wording_name: ClassVar[str] = "short-grade"

    share: Literal["output", "answer"] = setting("output", scoring=True)

    def items(self, corpus: Corpus, runtime: Runtime) -> list[Output]:
        return [
            Output(row, corpus.sources[row], text)
            for version in corpus.systems.values()
            for row, text in enumerate(version.lines)
        ]

    def sheets(self, item: Output, wording: Prompt) -> list[Sheet[str]]:
        texts = {"target": one_line(item.text)}
        return [Sheet(EDITED, partial(render_fenced, wording, item.source, None, texts))]

    def scores_of(
        self, answers: Sequence[str], items: Sequence[Output], runtime: Runtime
    ) -> list[list[float]]:
        scores = []
        for answer, item in zip(answers, items, strict=True):
            output, edited = item.text.split(), answer.split()
            kept = sum(min(output.count(t), edited.count(t)) for t in {*output})
            scores.append([kept / len(output if self.share == "output" else edited)])
        return scores

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        items = self.items(corpus, runtime)
        scores, report = self.verdicts(items, corpus.language, runtime)
        values = np.array(scores).reshape(len(corpus.systems), len(corpus))
        return Statistics(values, None, report.details, report.notes)


def content_of(attempt: Attempt) -> str:
    return str(attempt.request.messages[-1]["content"])


def asked(fake: FakeModel, **options: Any) -> Edited:
    judge = Edited(model="m", base_url="http://judge.example/v1", **options)
    return judge.asking(lambda model, *, batch=False: fake)


def test_a_changed_option_of_scoring_gives_another_score_without_a_request(
    corpus: Corpus, runtime: Runtime
) -> None:
    fake = FakeModel()
    # Every output of five tokens keeps "school" and ".", one of four keeps "."; "I" is new.
    fake.say = lambda attempt: Reply('{"text": "I school ."}')
    first = asked(fake).score_corpus(corpus, runtime)
    assert first.sentences[0].tolist() == [2 / 5, 2 / 4, 1 / 4]
    count = len(fake.attempts)
    other = asked(fake, share="answer").score_corpus(corpus, runtime)
    assert other.sentences[0].tolist() == [2 / 3, 2 / 3, 1 / 3]
    assert len(fake.attempts) == count
    assert asked(fake).plan(corpus, runtime).requests == 0


def test_a_task_has_its_own_options_and_audit(corpus: Corpus, runtime: Runtime) -> None:
    options = metric_options(Edited)
    assert not {"scoring", "examples", "reason", "criterion"} & options.keys()
    assert [*options][-1] == "share"
    fake = FakeModel()
    fake.say = lambda attempt: Reply('{"text": "x"}' if "cats" in content_of(attempt) else "?")
    table = asked(fake, repeats=2, tries=1).score_corpus(corpus, runtime)
    audit = member(table)
    assert audit["repeat_agreement"]["equal"] == 1
    assert not {"flips", "histogram", "positions"} & audit.keys()
    rows = [row["what"] for row in table.statistics.details["audit"]["rows"]]
    assert "equal when repeated" in rows
    assert "scores" not in rows
    assert any("verdicts are missing" in note for note in table.statistics.notes)


def test_a_prompt_without_a_second_wording_is_used_for_other_languages(
    corpus: Corpus, runtime: Runtime
) -> None:
    fake = FakeModel()
    fake.say = lambda attempt: Reply('{"text": "x"}')
    swedish = Corpus(corpus.sources, corpus.systems, language=language_of("sv"))
    (note, *_) = asked(fake).score_corpus(swedish, runtime).statistics.notes
    assert "short-grade is worded for English only" in note
