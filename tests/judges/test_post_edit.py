"""post-edit: which replies are texts of an output, and how outputs compare with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import language_of
from gecjury.judges.asking.items import judged_items, review_of
from gecjury.judges.exchange import Attempt, Reply
from gecjury.judges.post_edit import fault_of
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from tests.judges.conftest import SOURCES, SYSTEMS, FakeModel, member

EDITED = {
    "She go to the school .": "She goes to school .",
    "I likes a cats .": "I like cats .",
    "He was here .": "He is here .",
}


def output_of(attempt: Attempt) -> str:
    """Return the output in a question: the text before the last fence."""
    question = str(attempt.request.messages[-1]["content"])
    return question.split("# correction\n")[1].split("\n")[1]


def editor(attempt: Attempt) -> Reply:
    output = output_of(attempt)
    return Reply(json.dumps({"text": EDITED.get(output, output)}), "stop", 10, 5, None, 0.0, 0.1)


@pytest.fixture
def model(runtime: Runtime) -> FakeModel:
    fake = FakeModel(runtime)
    fake.say = editor
    return fake


def test_the_distance_is_that_of_words_or_characters(model: FakeModel, corpus: Corpus) -> None:
    table = model.score("post-edit:by=words", corpus)
    # Of b, "go the" became "goes": 2 of 6 words differ; of c, 2 of 5 and 1 of 4.
    assert table.sentences == pytest.approx(np.array([[1, 1, 1], [4 / 6, 1, 1], [1, 3 / 5, 3 / 4]]))
    assert table.totals["b"] == pytest.approx((4 / 6 + 2) / 3)
    count = len(model.attempts)
    assert count == 6  # different outputs
    letters = model.score("post-edit:by=characters", corpus)
    # "He was here .": w-a to i, 2 of 13 characters.
    assert letters.sentences[2, 2] == pytest.approx(11 / 13)
    # She goes to school . has the n-grams of its post-edit.
    assert model.score("post-edit:by=gleu", corpus).sentences[0, 0] == 1
    assert model.load("post-edit:by=green").score_corpus(corpus, model.runtime).totals["a"] == 1
    assert len(model.attempts) == count
    plan = model.load("post-edit:by=errant").plan(corpus, model.runtime)
    assert plan is not None
    assert plan.requests == 0


def test_a_dry_run_counts_the_tokens(model: FakeModel, corpus: Corpus) -> None:
    plan = model.load("post-edit").plan(corpus, model.runtime)
    assert plan is not None
    assert plan.requests == 6
    assert plan.tokens["input"] > 6 * 150
    assert 6 * 5 < plan.tokens["output"] < 6 * 50
    assert not model.attempts


def test_source_and_reference_are_shown_on_request(model: FakeModel, corpus: Corpus) -> None:
    with_reference = Corpus(SOURCES, corpus.systems, (Version(("She is at school .",) * 3),))
    model.score("post-edit", with_reference)
    assert all(SOURCES[0] in prompt for prompt in model.prompts[:1])
    assert not any("at school" in prompt for prompt in model.prompts)
    model.attempts.clear()
    model.score("post-edit:source=false,reference=true", with_reference)
    assert all("She is at school ." in prompt for prompt in model.prompts)
    assert not any("She go to school ." in prompt for prompt in model.prompts)
    with pytest.raises(
        InputError, match=r"reference=true needs references of all outputs: give one with -r"
    ):
        model.score("post-edit:reference=true", corpus)


def test_blanks_and_empty_and_long_outputs(model: FakeModel) -> None:
    sources = ("He go home .", "He go home .")
    long = " ".join(["word"] * 1000)
    systems = {"a": ("He go home .", ""), "b": ("He  go  home .", long)}
    corpus = Corpus(sources, {name: Version(lines) for name, lines in systems.items()})
    table = model.score("post-edit:by=words", corpus)
    assert len(model.attempts) == 2
    assert table.sentences.tolist() == [[1, 0], [1, 1]]
    cap = model.attempts[1].request.sampling["max_tokens"]
    assert cap > 2 * len(long)
    # Four words of a thousand are left.
    model.say = lambda attempt: Reply('{"text": "He goes home ."}')
    again = FakeModel(Runtime(use_cache=False))
    again.say = model.say
    assert again.score("post-edit:by=words", corpus).sentences[1, 1] == pytest.approx(0)


SV = ["Jag kännade att jag tycker om henne .", "Jag kände att jag tycker om henne ."]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Jag kände att jag tyckte om henne .", ""),
        ("Jag kände: ”jag tycker om henne”.", ""),
        ("", "no words"),
        (" . . .", "no words"),
        ("...", "no words"),
        (f"{SV[1]}\n{SV[1]}", "several lines"),
        ("Jag kände\u2028det .", "several lines"),
        ("Jag \ud800 kände det .", "control characters"),
        ("=== 0123456789ab === Jag kände att", "repeats the question"),
        (f"You post-edit a correction. {SV[0]} {SV[1]} {SV[1]}", "much longer"),
        ("Ja", "much shorter"),
        ("1. Jag kände att jag tyckte om henne .", "a list"),
        ("- Jag kände att jag tyckte om henne .", "a list"),
        ("Jag kände att jag tyckte om henne . (tempus)", "a remark"),
        ("Я чувствовал , что она мне нравится .", "another script"),
        ("I felt that I liked her .", "other words"),
        ("I'm sorry, I cannot help with that.", "other words"),
        ("The sentence is already correct.", "other words"),
    ],
)
def test_what_is_no_post_edit(text: str, fault: str) -> None:
    assert fault_of(text, SV).find(fault) >= 0
    assert bool(fault_of(text, SV)) == bool(fault)


def test_a_text_much_shorter_than_both_is_none() -> None:
    assert "much shorter" in fault_of("He goes .", [" ".join(["He goes"] * 9)] * 2)


def test_scripts_without_blanks_are_compared_by_signs() -> None:
    assert not fault_of("私は猫が好きです。", ["私は猫を好きです。"])
    assert not fault_of("カラオケが好きです", ["カラオケを好きです"])
    assert fault_of("我喜欢猫因为它们很可爱", ["你们明天去学校上课吗"]) == (
        "other words than source and output"
    )


REPLIES = [
    "",
    "He goes home .",
    "Here it is: He goes home .",
    '{"text": 3}',
    '{"text": "He goes home .", "text": "He went home ."}',
    '{"text": "He goes home ."',
    '{"text": ["He goes home ."]}',
    "I'm sorry, I cannot do that.",
    '{"text": "..."}',
    '{"text": "Er geht heute nach Hause ."}',
]


@pytest.mark.parametrize("reply", REPLIES)
def test_a_reply_without_a_text_is_missing(model: FakeModel, reply: str) -> None:
    corpus = Corpus(("He go home .",), {"a": Version(("He go home .",))})
    model.say = lambda attempt: Reply(reply)
    table = model.score("post-edit", corpus, tries=2)
    assert np.isnan(table.sentences[0, 0])
    assert np.isnan(table.totals["a"])
    assert table.unanswered == 1
    assert len(model.attempts) == 2
    (missing,) = member(table)["missing"]
    assert missing["kind"]


def test_a_reason_in_our_words_is_told(model: FakeModel) -> None:
    corpus = Corpus(("He go home .",), {"a": Version(("He go home .",))})
    model.say = lambda attempt: Reply('{"text": "Er geht heute nach Hause ."}')
    notes = model.score("post-edit", corpus).statistics.notes
    assert any("other words than source and output (1)" in note for note in notes)


def test_escapes_and_joined_tokens_are_read(model: FakeModel) -> None:
    corpus = Corpus(("Café go home .",), {"a": Version(("Café go home .",))})
    model.say = lambda attempt: Reply(r'{"text": "Caf\u00e9 \ud83d\ude00 goes home."}')
    # A new word and another one, of "Café 😀 goes home ."
    assert model.score("post-edit:by=words", corpus).sentences[0, 0] == pytest.approx(3 / 5)


def test_a_panel_and_repeats_are_averaged(model: FakeModel, corpus: Corpus) -> None:
    say = model.say

    def one_lazy(attempt: Attempt) -> Reply:
        lazy = attempt.request.model == "m2"
        return Reply(json.dumps({"text": output_of(attempt)})) if lazy else say(attempt)

    model.say = one_lazy
    table = model.score("post-edit:by=words", corpus, model="m1+m2", base_url="http://j.example/v1")
    assert table.sentences[2, 2] == pytest.approx((3 / 4 + 1) / 2)


def test_other_languages_are_named(model: FakeModel) -> None:
    texts = Corpus(
        tuple(SV[:1]), {"a": Version(tuple(SV[1:]))}, language=language_of("sv", "space")
    )
    table = model.score("post-edit", texts)
    assert "right and natural Swedish" in model.prompts[0]
    assert table.sentences.tolist() == [[1]]
    assert not any("English only" in note for note in table.statistics.notes)


def test_post_edits_are_written_and_read_again(
    model: FakeModel, corpus: Corpus, tmp_path: Path
) -> None:
    def refuses_one(attempt: Attempt) -> Reply:
        return Reply("I'm sorry.") if "a cats" in output_of(attempt) else editor(attempt)

    model.say = refuses_one
    asked = score_with_files(
        model.load("post-edit:by=words"), corpus, tmp_path / "out", model.runtime
    )
    (folder,) = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert (folder / "b.txt").read_text() == "She goes to school .\nI like cats .\nHe is here .\n"
    assert (folder / "c.txt").read_text() == "She goes to school .\n-NONE-\nHe is here .\n"
    given = load("post-edit", file=str(folder), by="words").score_corpus(corpus)
    assert np.array_equal(given.sentences, asked.sentences, equal_nan=True)
    with pytest.raises(InputError, match=r"c.txt, line 2: -NONE- \(no post-edit\), but by=green"):
        load("post-edit", file=str(folder)).score_corpus(corpus)


def test_outputs_called_by_paths_are_written_and_read_again(
    model: FakeModel, tmp_path: Path
) -> None:
    texts = {f"{of}/a.txt": Version(SYSTEMS[name]) for of, name in (("old", "b"), ("new", "c"))}
    corpus = Corpus(SOURCES, texts)
    asked = score_with_files(model.load("post-edit"), corpus, tmp_path / "out", model.runtime)
    (folder,) = [path for path in (tmp_path / "out").iterdir() if path.is_dir()]
    assert sorted(path.name for path in folder.iterdir()) == ["new-a.txt", "old-a.txt"]
    given = load("post-edit", file=str(folder)).score_corpus(corpus)
    assert given.sentences.tolist() == asked.sentences.tolist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "edited"
    made.mkdir()
    for name, lines in SYSTEMS.items():
        text = "".join(f"{EDITED.get(line, line)}\n" for line in lines)
        (made / f"{name}.txt").write_text(text)
    return made


def test_post_edits_of_people_are_references_of_their_system(folder: Path, corpus: Corpus) -> None:
    metric = load("post-edit", file=str(folder), by="green")
    assert metric.fixed
    table = metric.score_corpus(corpus)
    for name, version in corpus.systems.items():
        lines = (folder / f"{name}.txt").read_text().splitlines()
        alone = load("green").score(SOURCES, {name: version.lines}, [lines])
        assert table.totals[name] == alone.totals[name]
        row = corpus.names.index(name)
        assert table.sentences[row].tolist() == alone.sentences[0].tolist()
    draws = np.array([[0, 1, 2], [2, 2, 2]])
    scores = metric.corpus_scores(table.statistics, draws).score
    assert scores[0].tolist() == list(table.totals)


def test_other_files_are_refused(folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    def refused(match: str, **options: Any) -> None:
        with pytest.raises(InputError, match=match):
            load("post-edit", **options).score_corpus(corpus)

    before = load("post-edit", file=str(folder)).signature(corpus)
    (folder / "b.txt").write_text("One line .\n")
    assert load("post-edit", file=str(folder)).signature(corpus).key != before.key
    refused(r"b.txt has 1 line", file=str(folder))
    (folder / "b.txt").unlink()
    refused(r"no file of b; expected b.txt beside a and c", file=str(folder))
    refused(r"no such folder; expected one with a file SYSTEM.txt", file=str(tmp_path / "x"))
    refused(r"post-edit: file=: no such folder", file="")
    with pytest.raises(OptionError, match="file= and model= cannot be combined"):
        load("post-edit", file=str(folder), model="m")


@pytest.mark.parametrize("by", ["changes", "some", "m2", "llm-s[model=m]", "nonsense"])
def test_only_metrics_with_references_compare(by: str) -> None:
    with pytest.raises(OptionError, match=r"expected words|unknown metric"):
        load("post-edit", by=by)


def test_stored_post_edits_are_shown(model: FakeModel, corpus: Corpus) -> None:
    model.score("post-edit", corpus)
    model.score("post-edit:source=false", corpus)
    stores = sorted(model.runtime.cache_folder("judgments").glob("*.jsonl"))
    review = review_of(stores, 100)
    assert (review.count, review.failed, review.unread) == (12, 0, 0)
    reply = next(reply for reply in review.replies if "a cats" in reply.question)
    assert reply.judged is not None
    assert (reply.judged.corrections, reply.written) == (("I likes a cats .",), "I like cats .")
    assert not [*judged_items(stores[0])]
    pytest.importorskip("starlette")
    from gecjury.web.replies import replies_page

    assert "<del>likes a</del> <ins>like</ins>" in replies_page(review)
