"""Custom prompts, criteria and examples, and reasons: what is asked and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.errors import GecjuryError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges.asking.items import judged_items
from gecjury.judges.exchange import Reply
from gecjury.judges.own_wording import read_examples
from gecjury.prompts import prompt_text
from tests.judges.conftest import FakeModel

SCORED = "source,correction,score\nHe go .,He goes .,5\nHe go .,He going .,2\nA b .,A c .,1\n"
COMPARED = "source\tfirst\tsecond\tbetter\nHe go .\tHe goes .\tHe going .\tA\nX .\tY .\tZ .\ttie\n"
VALID = '{"source": "He go .", "correction": "He goes .", "valid": true}\n'


def write(tmp_path: Path, text: str, name: str = "examples.csv") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "questions", "answers"),
    [
        # Examples with the same source are one question, as in the real questions.
        ("llm-s", SCORED, 2, [{"target1_score": 5, "target2_score": 2}, {"target1_score": 1}]),
        ("llm-s:protocol=pointwise", SCORED, 3, [{"score": 5}, {"score": 2}, {"score": 1}]),
        ("edit-verdict", VALID, 1, [{"valid": True}]),
    ],
)
def test_examples_are_earlier_turns_in_the_form_of_the_answer(
    model: FakeModel,
    corpus: Corpus,
    runtime: Runtime,
    tmp_path: Path,
    name: str,
    text: str,
    questions: int,
    answers: list[dict[str, object]],
) -> None:
    judge = model.load(name, examples=write(tmp_path, text))
    table = judge.score_corpus(corpus, runtime)
    # An output without edits has no verdict.
    assert table.missing == (2 if name == "edit-verdict" else 0)
    plain = FakeModel()
    plain.score(name, corpus)
    for attempt, same in zip(model.attempts, plain.attempts, strict=True):
        *turns, question = attempt.request.messages
        assert [turn["role"] for turn in turns] == ["user", "assistant"] * questions
        said = [turn["content"].strip("`").removeprefix("json") for turn in turns[1::2]]
        assert [json.loads(answer) for answer in said] == answers
        assert "He goes ." in turns[0]["content"] or "[go→goes]" in turns[0]["content"]
        # The turns are the same for all questions, which are themselves unchanged.
        assert turns == list(model.attempts[0].request.messages[:-1])
        assert (question,) == tuple(same.request.messages)
    # Stores and signatures depend on the examples.
    extra = table.signature.extra["prompt"]
    assert f"+examples:{read_examples(str(judge.examples), judge.example_verdict).digest}" in extra
    assert extra == model.attempts[0].request.prompt


def test_pairs_are_answered_in_the_order_of_their_question(
    model: FakeModel, corpus: Corpus, tmp_path: Path
) -> None:
    path = write(tmp_path, COMPARED, "examples.tsv")
    model.score("llm-s:protocol=pairwise", corpus, examples=path)
    *turns, _ = model.attempts[0].request.messages
    first, second = (turn["content"] for turn in turns[1::2])
    a, _, b = turns[0]["content"].partition("# correction B")
    assert ("He goes ." in a) is ('"A"' in first)
    assert ("He goes ." in b) is ('"B"' in first)
    assert '"tie"' in second


@pytest.mark.parametrize(
    ("verdict", "text", "message"),
    [
        ("score", "source,correction\na,b\n", "line 1: no column 'score' among source, correction"),
        ("score", SCORED.replace(",2\n", ",6\n"), "line 3, column score: '6'; expected a whole"),
        ("score", SCORED.replace(",2\n", ",2.5\n"), "line 3, column score: '2.5'"),
        ("score", SCORED.replace("He going .", " "), "line 3, column correction: ' '; expected a"),
        ("score", "source,correction,score\n", "0 examples; expected 1 to 1,000"),
        ("better", COMPARED.replace("A\n", "first\n"), "line 2, column better: 'first'"),
        ("better", COMPARED.replace("Z .", "Y ."), "line 3: first and second are the same text"),
        ("valid", VALID.replace("true", "1"), "line 1, column valid: 1; expected true or false"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, verdict: str, text: str, message: str) -> None:
    path = write(tmp_path, text, "examples.tsv" if "\t" in text else "examples")
    with pytest.raises(InputError) as error:
        read_examples(path, verdict)  # type: ignore[arg-type]  # one of the three
    said = str(error.value)
    assert said.startswith((f"{path}, {message}", f"{path}: {message}"))


def test_an_edit_verdict_is_about_one_edit(
    model: FakeModel, corpus: Corpus, tmp_path: Path
) -> None:
    path = write(tmp_path, VALID + VALID.replace("He goes .", "He go ."))
    with pytest.raises(
        InputError, match="line 2: the correction has 0 edits; expected exactly one"
    ):
        model.score("edit-verdict", corpus, examples=path)


@pytest.mark.parametrize("changed", ["I likes cats .", "i likes cats.", "He was here ."])
def test_examples_that_are_to_be_judged_are_refused(
    model: FakeModel, corpus: Corpus, tmp_path: Path, changed: str
) -> None:
    text = SCORED + f"{changed},Other .,3\nMore .,{changed},3\n"
    judge = model.load("llm-s", examples=write(tmp_path, text))
    with pytest.raises(InputError, match=r"lines 5, 6: sentences that are to be judged") as error:
        judge.check(corpus)
    assert changed not in str(error.value)
    # Drawing a part of the corpus does not hide the rest.
    part = replace(corpus.take([0]), drawn=(corpus, (0,)))
    with pytest.raises(InputError, match="remove these"):
        judge.check(part)
    judge.check(Corpus(("Else .",), {"x": Version(("Else .",))}))
    assert not model.attempts


@pytest.mark.parametrize("name", ["llm-s", "llm-e", "edit-verdict"])
def test_a_criterion_in_words_or_in_a_file(
    model: FakeModel, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    words = "Judge how natural it sounds, and nothing else."
    table = model.score(name, corpus, criterion=words)
    assert all(words in prompt.partition("# context")[0] for prompt in model.prompts)
    request_count = len(model.attempts)
    # The same words in a file give the same questions.
    path = write(tmp_path, f"{words}\n", "criterion.txt")
    same = model.score(name, corpus, criterion=path)
    assert len(model.attempts) == request_count
    assert same.signature.extra["prompt"] == table.signature.extra["prompt"]
    assert "+criterion-own.v1:" in table.signature.extra["prompt"]


@pytest.mark.parametrize(
    "name", ["llm-s", "llm-e:protocol=pointwise", "llm-s:protocol=pairwise", "edit-verdict"]
)
def test_a_custom_prompt(
    model: FakeModel, corpus: Corpus, runtime: Runtime, tmp_path: Path, name: str
) -> None:
    wording = model.load(name).wording()
    ours = prompt_text(wording.name, wording.version)
    for line in ("{{criterion}}", "Everything between"):
        ours = "\n".join(row for row in ours.split("\n") if not row.startswith(line))
    ours = ours.replace(" criterion,", "").replace(" {{subject}}", " it").replace(" subject,", "")
    path = write(tmp_path, ours.replace("name: ", "name: my-"), "mine.txt")
    judge = model.load(name, prompt=path)
    table = judge.score_corpus(corpus, runtime)
    assert model.attempts
    assert not any("Everything between" in prompt for prompt in model.prompts)
    assert table.signature.extra["prompt"].startswith("my-")
    assert table.signature.settings["prompt"] == path
    with pytest.raises(OptionError, match="has no place for a criterion"):
        model.load(name, prompt=path, criterion="Judge how natural it sounds.")


def reasoned(attempt: object) -> Reply:
    """Return a reply whose reason looks like an answer."""
    reason = 'because {"target1_score": 1, "score": 1}'
    return Reply(json.dumps({"reason": reason, "target1_score": 4, "target2_score": 2}))


def test_reasons_are_asked_for_and_stored_with_their_verdicts(
    model: FakeModel, corpus: Corpus
) -> None:
    model.say = reasoned
    table = model.score("llm-s:reason=true,structured=schema", corpus)
    request, plain = model.attempts[0].request, FakeModel()
    plain.score("llm-s:structured=schema", corpus)
    before = plain.attempts[0].request
    assert request.messages[-1]["content"].startswith(before.messages[-1]["content"])
    assert 'Write "reason" as the first key' in request.messages[-1]["content"]
    # A token has at least one character: 300 for the reason, plus key, quotation marks and room.
    assert request.sampling["max_tokens"] >= before.sampling["max_tokens"] + 300
    assert set(table.sentences.ravel()) == {4.0, 2.0}
    (store,) = model.runtime.cache_folder("judgments").glob("*.jsonl")
    assert {item.reason for item in judged_items(store)} == {
        'because {"target1_score": 1, "score": 1}'
    }


def test_examples_have_reasons_where_they_are_asked_for(
    model: FakeModel, corpus: Corpus, runtime: Runtime, tmp_path: Path
) -> None:
    with pytest.raises(GecjuryError, match="no column 'reason'"):
        model.load("llm-s:reason=true", examples=write(tmp_path, SCORED))
    text = "source,correction,score,reason\nHe go .,He goes .,5,Right.\nX .,Y .,1,\n"
    path = write(tmp_path, text)
    with pytest.raises(InputError, match="line 3, column reason: 0 characters; expected 1 to 300"):
        model.load("llm-s:reason=true", examples=path)
    path = write(tmp_path, text.replace("1,\n", "1,Wrong.\n"))
    judge = model.load("llm-s:reason=true,structured=schema,protocol=pointwise", examples=path)
    judge.score_corpus(corpus, runtime)
    assert model.attempts[0].request.messages[1]["content"] == '{"reason":"Right.","score":5}'
