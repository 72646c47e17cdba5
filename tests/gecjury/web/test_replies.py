"""The page of stored replies: contents, escaping, links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import get_args

import pytest
from gecjury.judges.asking.people import People
from starlette.testclient import TestClient

from gecjury.benchmarks.load import load_benchmark
from gecjury.judges.asking import review as review_module
from gecjury.judges.asking.exchange import Reply, Request
from gecjury.judges.asking.items import Review
from gecjury.judges.asking.store import Identity, Store
from gecjury.prompts import read
from gecjury.web import replies as replies_module
from gecjury.web.guards import POLICY
from gecjury.web.replies import replies_app, saved_page
from tests.gecjury.web.conftest import admitted
from tests.shell import Shell

SAMPLE = next((Path(__file__).parents[3] / "gecjury/benchmarks/sample/judgments").glob("*.jsonl"))
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"


@pytest.fixture(scope="module")
def sample() -> TestClient:
    """A client of the page with the sample's replies and human judgments."""
    review = Review([SAMPLE], People(load_benchmark("sample", systems="input")))
    review.read()
    return admitted(replies_app(review, "sample"))


def stored(
    file: Path, texts: Sequence[str], answers: Sequence[str], scores: Sequence[float] = (3, 4)
) -> Path:
    """Store replies to one question, each as another repetition."""
    wording = read("sentence")
    content = wording.render(
        criterion="", context="A source .", targets="\n".join(texts), scores="x"
    )
    asked = Request(
        backend="openai", model="m", base_url="", messages=({"role": "user", "content": content},),
        schema=None, sampling={"max_tokens": 9}, prompt=wording.id,
    )  # fmt: skip
    with Store(file, Identity.of(asked)) as store:
        for number, answer in enumerate(answers):
            read_as = {"scores": list(scores)}
            store.append(replace(asked, repeat=number), Reply(answer), read_as)
    return file


def page_of(*files: Path) -> TestClient:
    review = Review(files)
    review.read()
    return admitted(replies_app(review))


def test_a_page_in_a_file_loads_nothing_and_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies_module, "_MOST_SAVED", 2)
    answers = ["one", ATTACK, "three"]
    review = Review([stored(tmp_path / "s.jsonl", ["A text .", ATTACK], answers)])
    review.read()
    text = saved_page(review)
    assert text.count("<article") == 2
    assert "The first 2 of 3 replies" in text
    assert "<style>" in text
    assert not re.findall(r"<(?:a|img|link|script)\b|url\(", text.lower())


def test_the_command_writes_the_page(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    shell("judgments", "show", str(SAMPLE), "--benchmark", "sample", "--html", str(file))
    assert file.read_text(encoding="utf-8").count("<article") == 51


def matching(client: TestClient, **filters: object) -> str:
    answer = client.get("/", params=filters)
    assert answer.status_code == 200
    return re.findall(r'id="matching">([^<]*)<', answer.text)[0]


def test_a_reply_is_shown_with_the_human_verdict(sample: TestClient) -> None:
    text = sample.get("/").text
    first = text[text.index("<article") : text.index("</article>")]
    assert "In the mornings we collected the eggs" in first
    assert "<del>eggs</del> <ins>egg</ins>" in first
    row = r'<th scope="row">(\d)</th>.*?<td class="n">(.*?)</td><td class="n people">(.*?)</td>'
    rows = re.findall(row, first)
    assert rows == [
        ("1", "1", "0 of 2"),
        ("2", "1", "2 of 2"),
        ("3", "1", "1 of 2"),
    ]
    assert "0 of 3 pairs against people" in first
    assert "&#34;target1_score&#34;:1" in first


def test_pages_follow_each_other_and_keep_the_filters(sample: TestClient) -> None:
    assert matching(sample) == "51 replies, page 1 of 3"
    assert matching(sample, page=3) == matching(sample, page=999) == "51 replies, page 3 of 3"
    shown = [sample.get("/", params={"page": n, "sort": "low"}).text for n in (1, 2, 3)]
    lines = [line for text in shown for line in re.findall(r"line=(\d+)\">Line", text)]
    assert len(set(lines)) == len(lines) == 51
    assert "/?sort=low&amp;page=2" in shown[0]
    assert matching(sample, q="hens", sort="high") == "2 of 51 replies, page 1 of 1"
    assert matching(sample, show="people").startswith("2 of 51")
    assert matching(sample, show="no such") == "0 of 51 replies, page 1 of 1"


@pytest.mark.parametrize(
    ("address", "status", "message"),
    [
        ("/?page=x", 400, "'x' is not the number"),
        ("/?position=-1", 400, "is not the number"),
        ("/?page=" + "9" * 50, 400, "is not the number"),
        ("/?sort=nothing&show=" + "x" * 500, 200, "0 of 51"),
        ("/reply?line=1", 422, "line 1: there is no reply on this line"),
        ("/reply?line=999", 422, "there is no reply on this line"),
        ("/reply", 422, "there is no reply on this line"),
    ],
)
def test_invalid_addresses(sample: TestClient, address: str, status: int, message: str) -> None:
    answer = sample.get(address)
    assert answer.status_code == status
    assert message in unescape(answer.text)


def test_the_page_of_a_reply_has_its_question_and_neighbours(sample: TestClient) -> None:
    text = unescape(sample.get("/reply", params={"line": 3}).text)
    assert "The goal of this task is to rank the presented targets" in text
    assert "sentence.v1:be562fded1f01065" in text
    assert [f"line={n}" in text for n in (2, 3, 4)] == [True] * 3
    first = unescape(sample.get("/reply", params={"line": 2}).text)
    assert 'data-key="n"' in first
    assert 'data-key="p"' not in first


def test_texts_and_replies_are_escaped(tmp_path: Path) -> None:
    answer = f'{{"reason": "{ATTACK}", "target1_score": 3}}'
    client = page_of(stored(tmp_path / "s.jsonl", [ATTACK.replace("\x1b", ""), "b"], [answer]))
    for address in ("/", "/reply?line=2", f"/?q={ATTACK[:30]}"):
        response = client.get(address)
        assert response.headers["content-security-policy"] == POLICY
        assert "<script>alert" not in response.text
        assert "<img" not in response.text
        assert not {"\u202e", "\x1b"} & set(response.text)
    assert "&lt;script&gt;alert(1)" in client.get("/").text


def test_a_long_reason_is_cut_except_on_the_page_of_the_reply(tmp_path: Path) -> None:
    reason = "word " * 200_000
    client = page_of(stored(tmp_path / "s.jsonl", ["a", "b"], [f'{{"reason": "{reason}"}}']))
    listed = client.get("/").text
    assert len(listed) < 15_000
    assert "show the whole reason" in listed
    assert "show the whole answer" in listed
    assert client.get("/reply?line=2").text.count("word ") >= 399_000


def test_other_orders_are_shown_below_a_reply(tmp_path: Path) -> None:
    one = stored(tmp_path / "s.jsonl", ["a", "b"], ["{}"], (1, 2))
    stored(one, ["b", "a"], ["{}"], (1, 2))
    text = page_of(one).get("/reply?line=2").text
    assert "1 pair flipped in another order" in text
    assert "The same corrections in another order" in text
    assert text.count("<article") == 2


def test_unreadable_lines_are_reported(tmp_path: Path) -> None:
    file = stored(tmp_path / "s.jsonl", ["a", "b"], ["{}"] * 3)
    lines = file.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"source", b"sauce")
    file.write_bytes(b"\n".join(lines))
    text = page_of(file).get("/").text
    assert "1 line cannot be read and is left out: s.jsonl, line 3." in text
    assert "2 replies" in text


def test_a_page_is_shown_while_files_are_read(tmp_path: Path) -> None:
    review = Review([stored(tmp_path / "s.jsonl", ["a", "b"], ["{}"])])
    client = admitted(replies_app(review))
    text = client.get("/").text
    assert "Reading the files: 0%." in text
    assert "No reply has been read yet" in text
    review.read()
    assert "Reading the files" not in client.get("/").text


def test_the_sort_orders_are_those_of_the_review() -> None:
    assert get_args(replies_module.Sort) == get_args(review_module.Sort)
    assert set(replies_module._SORTS) == set(get_args(review_module.Sort))


def test_replies_need_the_secret() -> None:
    review = Review([SAMPLE])
    client = TestClient(replies_app(review), base_url="http://127.0.0.1:8765")
    assert client.get("/").status_code == 403
    assert client.get("/reply?line=2").status_code == 403


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.jsonl",), "nothing.jsonl: no such file or folder, and "),
        (("source.txt",), "source.txt, line 1: damaged before|not a store of judgments"),
        ((str(SAMPLE), "--benchmark", "sampel"), "did you mean sample"),
        ((str(SAMPLE), "--port", "0"), "--port"),
    ],
)
def test_invalid_input_is_refused_before_serving(
    shell: Shell, arguments: tuple[str, ...], message: str
) -> None:
    shell.write("source.txt", "a text\n")
    status, _, err = shell("judgments", "show", *arguments, "--no-browser", "--cache", "c")
    assert status == 2
    assert re.search(message, err)
    assert err.count("\n") <= 2
