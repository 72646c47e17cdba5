"""Stored replies filtered, sorted, searched and compared with people, in hand-made stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gecjury.judges.asking.people import Human, People

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.edit_verdicts import HumanVerdict
from gecjury.benchmarks.judgments import RankedItem
from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges.asking.exchange import Reply, Request
from gecjury.judges.asking.items import Review, judged_items
from gecjury.judges.asking.store import Identity, Store
from gecjury.judges.asking.transfer import find_stores
from gecjury.prompts import Prompt, read

SOURCE = "She go home ."
A, B, C = "She goes home .", "She go home .", "She went  to home ."
Exchange = tuple[Request, Reply, dict[str, object] | None]


def request(wording: Prompt, content: str, repeat: int = 0) -> Request:
    return Request(
        backend="vllm",
        model="tiny",
        base_url="",
        messages=({"role": "user", "content": content},),
        schema=None,
        sampling={"max_tokens": 9, "seed": repeat},
        repeat=repeat,
        prompt=wording.id,
    )


def listwise(texts: Sequence[str], scores: Sequence[float], *, repeat: int = 0) -> Exchange:
    """A question about corrections in a given order, with scores; without any it is refused."""
    wording = read("sentence")
    content = wording.render(
        criterion="", context=SOURCE, targets="\n".join(texts), scores="x\n" * len(texts)
    )
    verdict = {"scores": list(scores)} if scores else {"failure": "refused", "detail": "sorry"}
    text = '{"reason": "A Good Reason.", "target1_score": 3}' if scores else "I'm sorry"
    return request(wording, content, repeat), Reply(text), verdict


def single(text: str, score: float) -> Exchange:
    wording = read("pointwise")
    content = wording.render(
        subject="x", criterion="", context=SOURCE, fence="=== f ===", target=text
    )
    return request(wording, content), Reply(f'{{"score": {score}}}'), {"scores": [score]}


def edit(target: str, of: str, valid: bool) -> Exchange:
    wording = read("edit-verdict")
    content = wording.render(context=SOURCE, fence="=== f ===", target=target, edit=of)
    return request(wording, content), Reply("{}"), {"scores": [float(valid)]}


def stored(file: Path, *exchanges: Exchange) -> Path:
    with Store(file, Identity.of(exchanges[0][0])) as store:
        for question, reply, verdict in exchanges:
            store.append(question, reply, verdict)
    return file


def reviewed(path: Path, people: People | None = None) -> Review:
    review = Review([path], people)
    review.read()
    assert review.done
    assert not review.problem
    return review


@pytest.fixture
def people() -> People:
    """A is preferred to B twice, C to A once; B and C were compared once and tied."""
    groups = (("a",), ("b", "b2"), ("c",))
    items = (
        RankedItem("1", 0, "anna", groups[:2], (1, 2)),
        RankedItem("2", 0, "bert", groups[:2], (2, 3)),
        RankedItem("3", 0, "anna", groups[::2], (2, 1)),
        RankedItem("4", 0, "anna", groups[1:], (1, 1)),
    )
    texts = {"a": A, "b": B, "b2": B, "c": C}
    corpus = Corpus((SOURCE,), {name: Version((text,)) for name, text in texts.items()})
    verdicts = [
        HumanVerdict(who, SOURCE, A, 1, 2, "goes", valid)
        for who, valid in (("anna", True), ("bert", True), ("carl", False))
    ]
    return People(
        Benchmark(
            name="own",
            corpus=corpus,
            rankings={"sentence": items},
            human={"sentence": {}},
            view="sentence",
            systems="all",
            system_sets={},
            references="",
            sentence_ids=(0,),
            citation="",
            segment_scores=np.array([[4.5], [2.0], [2.0], [np.nan]]),
            _verdicts=lambda: (tuple(verdicts), (), ()),
        )
    )


def test_scores_are_compared_with_people(tmp_path: Path, people: People) -> None:
    file = stored(
        tmp_path / "s.jsonl",
        # People decided A > B and C > A. 3 < 4 contradicts the first, 3 > 2 the second.
        listwise((A, B, C), (3, 4, 2)),
        # 5 > 4 and 4 < 5 agree; B and C are a tie for people.
        listwise((B, A, C), (4, 4.5, 5), repeat=1),
        # A tie in the scores contradicts nobody.
        listwise((A, B), (3, 3)),
        listwise((B, C), (1, 5)),
    )
    review = reviewed(file, people)
    replies = [review.reply(number) for number in range(4)]
    assert [(reply.decided, reply.against) for reply in replies] == [(2, 2), (2, 0), (1, 0), (0, 0)]
    assert review.select("people") == [0]
    # A won 2 of 3 in the set of three, B lost two, C won its only decided comparison.
    assert replies[0].people == (
        Human(won=2, decided=3, rating=4.5),
        Human(won=0, decided=2, rating=2.0),
        Human(won=1, decided=1),
    )
    assert replies[2].people[0] == Human(won=2, decided=2, rating=4.5)
    assert not reviewed(file).reply(0).people


def test_corrections_judged_alone_are_compared_with_the_others(
    tmp_path: Path, people: People
) -> None:
    # People prefer A to B: 2 < 3 contradicts them in both replies.
    review = reviewed(stored(tmp_path / "s.jsonl", single(A, 2), single(B, 3)), people)
    assert [(review.reply(n).decided, review.reply(n).against) for n in (0, 1)] == [(1, 1)] * 2
    assert review.reply(0).people == (Human(won=2, decided=3, rating=4.5),)


def test_an_edit_is_compared_with_the_majority(tmp_path: Path, people: People) -> None:
    file = stored(
        tmp_path / "s.jsonl",
        edit("She [go→goes] home .", "[go→goes]", False),
        edit("She [go→went] home .", "[go→went]", True),
    )
    review = reviewed(file, people)
    # Two of three annotators called the first edit valid; nobody judged the second.
    assert review.reply(0).people == (Human(rating=4.5, valid=2, annotators=3, won=2, decided=3),)
    assert [review.reply(n).against for n in (0, 1)] == [1, 0]
    assert [review.reply(n).decided for n in (0, 1)] == [1, 0]


def test_flips_are_opposite_preferences_in_another_order(tmp_path: Path) -> None:
    file = stored(
        tmp_path / "s.jsonl",
        listwise((A, B, C), (1, 2, 3)),
        # In this order A > B and A > C: two pairs are reversed; B < C is the same.
        listwise((C, B, A), (3, 2, 5)),
        # A repetition in the first order, and one about other corrections, flip nothing.
        listwise((A, B, C), (3, 2, 1), repeat=1),
        listwise((B, A), (1, 5)),
        # A tie is not a reversal.
        listwise((A, B), (3, 3)),
    )
    review = reviewed(file)
    assert [review.reply(n).flips for n in range(5)] == [2, 2, 0, 0, 0]
    assert [review.reply(n).others for n in range(5)] == [(1,), (0,), (), (4,), (3,)]
    assert review.select("flips") == [0, 1]
    assert review.select(sort="flips") == [0, 1, 2, 3, 4]


def test_replies_are_chosen_by_position_failure_and_words(tmp_path: Path) -> None:
    file = stored(
        tmp_path / "s.jsonl",
        listwise((A, B), (1, 5)),
        listwise((B, A), ()),
        listwise((B, A), (2, 2)),  # asked again
        listwise((C, A), (4, 2)),
    )
    review = reviewed(file)
    assert review.select(position=2) == [0]
    assert review.select(position=1) == [3]  # 2 and 2 have no single highest score
    assert review.select("failed") == review.select("refused") == [1]
    assert review.select("truncated") == []
    assert review.failures() == {"refused": 1}
    assert review.reply(1).again == 2
    assert review.reply(2).again == -1
    assert (review.reply(1).failure, review.reply(1).scores) == ("refused: sorry", ())
    assert review.select(search="WENT to") == [3]
    assert review.select(search="i'm  sorry") == [1]
    assert review.select(search="a good reason") == [0, 2, 3]
    assert review.select("failed", search="good") == []
    assert review.select(sort="low") == [2, 0, 3, 1]  # means 2, 3, 3, none
    assert review.select(sort="high") == [0, 3, 2, 1]
    assert review.reply(0).reason == "A Good Reason."
    assert review.positions() == 2
    assert review.summary == "4 replies read, 1 without a verdict"


def test_search_finds_text_beyond_the_first_packed_part(tmp_path: Path) -> None:
    exchanges = [listwise((A, B), (1, 2), repeat=number) for number in range(300)]
    exchanges[299] = listwise((A, C), (1, 2))
    review = reviewed(stored(tmp_path / "s.jsonl", *exchanges))
    assert review.select(search="went") == [299]
    assert len(review.select(search="goes")) == 300


def test_a_reply_is_named_by_its_file_and_line(tmp_path: Path) -> None:
    one = stored(tmp_path / "one.jsonl", listwise((A, B), (1, 5)))
    two = stored(tmp_path / "two.jsonl", single(A, 3), single(B, 4))
    review = Review([one, two])
    review.read()
    assert [review.at("one.jsonl", 2), review.at("two.jsonl", 3)] == [0, 2]
    assert [review.reply(n).file for n in range(3)] == ["one.jsonl", "two.jsonl", "two.jsonl"]
    assert [store.prompt[:5] for store in review.stores] == ["sente", "point"]
    for line in (1, 4, 0):
        with pytest.raises(
            InputError, match=f"two.jsonl, line {line}: there is no reply on this line"
        ):
            review.at("two.jsonl", line)


def test_damaged_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    file = stored(tmp_path / "s.jsonl", *(listwise((A, B), (1, 5), repeat=n) for n in range(3)))
    lines = file.read_bytes().split(b"\n")
    lines[2] = lines[2][:-9] + lines[2][-8:]
    file.write_bytes(b"\n".join(lines)[:-30])  # and the last line is cut off
    review = reviewed(file)
    assert len(review) == 1
    assert review.damaged == ["s.jsonl, line 3", "s.jsonl, line 4"]
    assert review.summary == "1 reply read, 2 damaged lines left out (s.jsonl, line 3)"


def test_a_file_that_changes_after_reading_is_reported(tmp_path: Path) -> None:
    file = stored(tmp_path / "s.jsonl", listwise((A, B), (1, 5)))
    review = reviewed(file)
    file.write_bytes(file.read_bytes().replace(b"goes", b"gues"))
    with pytest.raises(InputError, match=r"s.jsonl, line 2: has been changed since it was read"):
        review.reply(0)


def test_a_foreign_reply_ends_the_reading_and_is_reported(tmp_path: Path) -> None:
    one = stored(tmp_path / "one.jsonl", listwise((A, B), (1, 5)))
    two = stored(tmp_path / "two.jsonl", single(A, 3))
    one.write_bytes(one.read_bytes() + two.read_bytes().split(b"\n")[1] + b"\n")
    review = Review([one])
    review.read()
    assert review.done
    assert len(review) == 1
    assert review.problem.startswith(f"{one}, line 3: a judgment of another model or prompt")


def test_replies_to_a_foreign_prompt_are_shown_as_they_were_sent(tmp_path: Path) -> None:
    own = Prompt(
        "mine", 1, "{{context}}: {{target}}", frozenset(("context", "target")), {}, "0" * 16
    )
    exchange = request(own, "a question of mine"), Reply('{"score": 2}'), {"scores": [2.0]}
    review = reviewed(stored(tmp_path / "s.jsonl", exchange))
    reply = review.reply(0)
    assert (review.unread, reply.judged, reply.question) == (1, None, "a question of mine")
    assert "the wording mine.v1:0000000000000000 is not one of gecjury's" in reply.problem
    assert review.select(search="of MINE") == [0]


def test_stores_are_found_by_file_folder_and_name(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "judgments"
    folder.mkdir(parents=True)
    one = stored(folder / "sentence.v1-tiny-1.jsonl", listwise((A, B), (1, 5)))
    two = stored(folder / "pointwise.v1-tiny-2.jsonl", single(A, 3))
    assert find_stores([], folder) == find_stores([str(tmp_path / "cache")], folder) == [two, one]
    assert find_stores([str(one), one.stem, "sentence", "sentence.v1"], folder) == [one]
    assert find_stores(["tiny"], folder) == [two, one]
    with pytest.raises(InputError, match=r"no file, folder or store 'sentense'.*sentence"):
        find_stores(["sentense"], folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty: no stored judgments; score something"):
        find_stores([], tmp_path / "empty")
    with pytest.raises(InputError, match=r"nothing: no such file or folder, and .* no store"):
        find_stores(["nothing"], tmp_path / "empty")
    (tmp_path / "blank.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match=r"blank.jsonl: not a store of judgments"):
        find_stores([str(tmp_path / "blank.jsonl")], folder)
    (tmp_path / "packed.jsonl").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(InputError, match=r"packed.jsonl: .* decompress it first"):
        find_stores([str(tmp_path / "packed.jsonl")], folder)


def test_a_store_of_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("gecjury.judges.asking.store.STORE_FORMAT", "gecjury-judgments/9")
        file = stored(tmp_path / "s.jsonl", single(A, 3))
    with pytest.raises(InputError, match=r"line 1: a store of version 'gecjury-judgments/9'"):
        find_stores([str(file)], tmp_path)


def test_lines_that_are_not_questions_are_counted_as_damaged(tmp_path: Path) -> None:
    odd = replace(listwise((A, B), (1, 5))[0], messages=({"role": "user"},))
    file = stored(
        tmp_path / "s.jsonl",
        (odd, Reply("x"), None),
        (replace(odd, messages=(), sampling=[]), Reply("x"), None),  # type: ignore[arg-type]
        listwise((A, B), (1, 5)),
    )
    review = reviewed(file)
    assert review.damaged == ["s.jsonl, line 2", "s.jsonl, line 3"]
    assert review.select() == [0]
    with pytest.raises(
        InputError, match=r"s.jsonl, line 2: not a question of a judge; expected mess"
    ):
        list(judged_items(file))


def test_an_old_reply_without_probabilities_has_no_expected_score(tmp_path: Path) -> None:
    question, reply, _ = single(A, 3)
    question = replace(question, sampling={"logprobs": 20})
    review = reviewed(stored(tmp_path / "s.jsonl", (question, reply, None)))
    assert review.reply(0).failure == "malformed: the probabilities of tokens are missing"
