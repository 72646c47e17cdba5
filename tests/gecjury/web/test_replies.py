"""The page of stored replies: contents, escaping, and the command that writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.judges.asking.items import review_of
from gecjury.judges.asking.store import Identity, Store
from gecjury.judges.exchange import Reply, Request
from gecjury.prompts import read
from gecjury.web.replies import replies_page
from tests.shell import Shell

SAMPLE = next((Path(__file__).parents[2] / "judges" / "stored").glob("*.jsonl"))
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"


def stored(file: Path, texts: Sequence[str], *answers: str) -> Path:
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
            store.append(replace(asked, repeat=number), Reply(answer))
    return file


def test_the_command_writes_replies(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    status, out, _ = shell("judgments", "show", str(SAMPLE), "--html", str(file))
    assert (status, "51 of 51 replies" in out, file.name in out) == (0, True, True)
    text = file.read_text(encoding="utf-8")
    assert text.count("<article") == 51
    start = text.index('<p class="note">Line 2<')
    first = text[start : text.index("</article>", start)]
    assert "In the mornings we collected the eggs" in first
    assert "<del>eggs</del> <ins>egg</ins>" in first
    row = r'<th scope="row">(\d)</th>.*?<td class="n">(.*?)</td>'
    assert re.findall(row, first) == [("1", "1"), ("2", "1"), ("3", "1")]
    assert "&#34;target1_score&#34;:1" in first


def test_the_page_loads_nothing_and_escapes_texts_and_replies(tmp_path: Path) -> None:
    answer = f'{{"reason": "{ATTACK}", "target1_score": 3}}'
    file = stored(tmp_path / "s.jsonl", [ATTACK.replace("\x1b", ""), "b"], answer, ATTACK, "three")
    text = replies_page(review_of([file], 2))
    assert text.count("<article") == 2
    assert "The first 2 of 3 replies" in text
    assert "repetition 2" in text
    assert "&lt;script&gt;alert(1)" in text
    assert not re.findall(r"<(?:a|img|link|script)\b|url\(", text.lower())
    assert not {"\u202e", "\x1b"} & set(text)


def test_long_texts_are_cut_and_unreadable_lines_reported(tmp_path: Path) -> None:
    file = stored(tmp_path / "s.jsonl", ["a", "b"], f'{{"reason": "{"word " * 9_000}"}}', "{}")
    lines = file.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"source", b"sauce")
    file.write_bytes(b"\n".join(lines))
    text = replies_page(review_of([file], 9))
    assert text.count("word ") < 600
    assert "1 line cannot be read and is left out: s.jsonl, line 3." in text


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (("nothing.jsonl",), "nothing.jsonl: no such file or folder, and "),
        (("source.txt",), "source.txt: not a store of judgments"),
    ],
)
def test_invalid_input_writes_no_page(shell: Shell, arguments: tuple[str, ...], fact: str) -> None:
    status, _, err = shell("judgments", "show", *arguments, "--html", "x.html", "--cache", "c")
    assert status == 2
    assert fact in err
    assert not (shell.folder / "x.html").exists()
