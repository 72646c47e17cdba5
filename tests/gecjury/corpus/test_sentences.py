"""Tests of paragraphs that are cut into sentences."""

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.sentences import aligned_sentences, sentences

SOURCE = ["I has a dog.", "It bark at Mr. Smith.", "We is happy!"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (" ".join(SOURCE), SOURCE),
        ('She said: "Go." He went.', ['She said: "Go."', "He went."]),
        ("It is 3.5 m, e.g. Here . Yes .", ["It is 3.5 m, e.g. Here .", "Yes ."]),
        ("私は学生です。今日は天気です。", ["私は学生です。", "今日は天気です。"]),
        ("no end", ["no end"]),
        ("", [""]),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I have a dog. It barks at Mr. Smith. We are happy!",
         ["I have a dog.", "It barks at Mr. Smith.", "We are happy!"]),
        # Two sentences in one; a sentence less; a sentence more.
        ("I have a dog, it barks at Mr. Smith. We are happy!",
         ["I have a dog,", "it barks at Mr. Smith.", "We are happy!"]),
        ("I have a dog. We are happy!", ["I have a dog.", "", "We are happy!"]),
        ("I have a dog. It barks at Mr. Smith. We are happy! Bye.",
         ["I have a dog.", "It barks at Mr. Smith.", "We are happy! Bye."]),
    ],
)  # fmt: skip
def test_a_correction_is_cut_as_its_source(text: str, parts: list[str]) -> None:
    assert aligned_sentences(SOURCE, text) == parts


def test_a_split_corpus_has_sentences_with_their_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text(f"{' '.join(SOURCE)}\nBye now.\n")
    Path("h.txt").write_text("I have a dog. It barks at Mr. Smith. We are happy!\nBye now.\n")
    corpus = read_corpus("s.txt", ["h.txt"], ["h.txt"], tokens="space", split=True)
    assert corpus.sources == (*SOURCE, "Bye now.")
    assert corpus.systems["h"].lines[2:] == ("We are happy!", "Bye now.")
    assert corpus.contexts is not None
    assert corpus.contexts[1] == (SOURCE[0], SOURCE[2])
    assert corpus.contexts[3] == ("", "")
    Path("h.m2").write_text(
        "S I has a dog .\nA 1 2|||V|||have|||REQUIRED|||-NONE-|||0\n\nS Bye .\n"
    )
    with pytest.raises(InputError, match=r"h\.m2: has edits of whole lines; `split=` is for plain"):
        read_corpus("h.m2", [], ["h.m2"], split=True)
