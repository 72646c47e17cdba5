"""Stored replies read back as texts and scores: every protocol, old stores, custom prompts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import language_of
from gecjury.judges.asking.items import JudgedItem, judged_items, unmarked
from gecjury.judges.asking.store import Identity, Store
from gecjury.judges.exchange import Reply, Request
from gecjury.prompts import Prompt, read
from tests.judges.conftest import FakeModel


@pytest.fixture
def edited() -> Corpus:
    """A source with neighbours and two corrections whose edits are already known."""
    return Corpus(
        ("I likes [ sic ] cats .",),
        {
            "a": Version(("I like [ sic ] cats .",), ((Edit(1, 2, "like"),),)),
            "b": Version(("I likes cats ! .",), ((Edit(2, 5, ""), Edit(6, 6, "!")),)),
        },
        contexts=(("Before .", ""),),
    )


def items_of(runtime: Runtime) -> list[JudgedItem]:
    (path,) = runtime.cache_folder("judgments").glob("*.jsonl")
    return list(judged_items(path))


A, B = "I like [ sic ] cats .", "I likes cats ! ."


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize(
    ("name", "protocol", "corrections"),
    [
        ("llm-s", "listwise", [(B, A)]),
        ("llm-s:orders=2,criterion=fluency", "listwise", [(A, B), (B, A)]),
        ("llm-s:protocol=pointwise,criterion=fluency", "pointwise", [(A,), (B,)]),
        ("llm-s:protocol=pairwise,orders=2,repeats=2", "pairwise", [(A, B), (B, A)] * 2),
    ],
)
def test_texts_and_scores_come_back(
    edited: Corpus, model: FakeModel, name: str, protocol: str, corrections: list[Any], lang: str
) -> None:
    corpus = replace(edited, language=language_of(lang))
    model.score(name, corpus)
    items = items_of(model.runtime)
    assert sorted(item.corrections for item in items) == sorted(corrections)
    for item in items:
        assert (item.source, item.context) == ("I likes [ sic ] cats .", ("Before .", ""))
        assert (item.protocol, item.model, item.edit) == (protocol, "m", "")
        assert len(item.scores) == len(item.corrections)
        assert item.language == ("" if lang == "en" else "Swedish")
        assert ("fluency" in item.criterion) == ("criterion" in name)
    assert sorted({item.repeat for item in items}) == list(range(1 + ("repeats" in name)))
    # The fake server's scores depend only on the text, not on its position.
    if protocol != "pairwise":
        by_text = {
            (text, score)
            for item in items
            for text, score in zip(item.corrections, item.scores, strict=True)
        }
        assert len(by_text) == 2


@pytest.mark.parametrize("protocol", ["listwise", "pointwise", "pairwise"])
def test_marks_of_edits_are_taken_out(edited: Corpus, model: FakeModel, protocol: str) -> None:
    model.score(f"llm-e:protocol={protocol}", edited)
    pairs = {
        pair
        for item in items_of(model.runtime)
        for pair in zip(item.shown, item.corrections, strict=True)
    }
    assert ("I [likes→like] [ sic ] cats .", A) in pairs
    assert ("I likes [[ sic ]→] cats [→!] .", B) in pairs


def test_an_edit_comes_back_with_its_verdict(edited: Corpus, model: FakeModel) -> None:
    model.score("edit-verdict", edited)
    first = next(item for item in items_of(model.runtime) if item.edit == "[likes→like]")
    assert (first.protocol, first.corrections) == ("edit-verdict", (A,))
    assert first.scores in ((0.0,), (1.0,))


OWN = Prompt(
    "mine",
    3,
    "Context: {{context}}\nCorrection: {{target}}\nA score?",
    frozenset(("context", "target")),
    {},
    "00112233445566aa",
)


SCORED = '{"score": 4}'


def store_of(tmp_path: Path, prompt: str, *contents: str, text: str = SCORED) -> Path:
    """Write a store of questions that all have the same reply."""
    file = tmp_path / "own.jsonl"
    example = {"role": "user", "content": "an example"}
    answer = {"role": "assistant", "content": '{"score": 1}'}
    requests = [
        Request(
            backend="openai", model="m", base_url="", schema=None, sampling={"max_tokens": 9},
            messages=(example, answer, {"role": "user", "content": content}), prompt=prompt,
        )
        for content in contents
    ]  # fmt: skip
    with Store(file, Identity.of(requests[0])) as store:
        for request in requests:
            store.append(request, Reply(text))
    return file


def test_a_custom_prompt_must_be_passed(tmp_path: Path) -> None:
    file = store_of(tmp_path, f"{OWN.id}+examples:0123", OWN.render(context="s", target="t"))
    with pytest.raises(InputError, match=r"own.jsonl, line 2: the wording mine.v3:\S+ is not one"):
        list(judged_items(file))
    (item,) = judged_items(file, [OWN])
    assert (item.source, item.context, item.corrections, item.scores) == ("s", None, ("t",), (4.0,))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Context: s", "line 2: not the prompt mine.v3"),
        ("Context: a\nb\nCorrection: t\nA score?", "not the prompt|expected one or three lines"),
    ],
)
def test_a_message_that_does_not_match_its_prompt_is_reported(
    tmp_path: Path, content: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        list(judged_items(store_of(tmp_path, OWN.id, content), [OWN]))


def test_replies_without_a_verdict_are_skipped(tmp_path: Path) -> None:
    content = read("pointwise").render(
        subject="x", criterion="", context="s", fence="=== f ===", target="t"
    )
    assert not list(judged_items(store_of(tmp_path, read("pointwise").id, content, text="{}")))


def test_marks_are_read_as_the_judges_write_them() -> None:
    assert unmarked("[→the] cat [sat→] on [a→the] mat") == "the cat on the mat"
    assert unmarked("no  marks [at] all") == "no  marks [at] all"
    assert unmarked("[→->] [->→x]") == "-> x"
    # Brackets of the text: kept, deleted, inserted, and one next to letters.
    assert unmarked("a [ b [x→y] ] c") == "a [ b y ] c"
    assert unmarked("a [b] [x→y]") == "a [b] y"
    assert unmarked("[[→(] b [→]] [[ sic ]→] [] [x→[ y ]]") == "( b ] [] [ y ]"
    assert unmarked("see [ [sic→thus]") == "see [ thus"
    assert unmarked("see [[sic] this→that]") == "see [[sic] this→that]"
