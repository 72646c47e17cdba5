"""Lines of references that stand for something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury import corpus_of_texts
from gecjury.core.errors import InputError
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.remarks import remarks_on
from tests.shell import Shell

GLEU = ["-m", "gleu"]


def test_a_sentence_without_a_reference_takes_that_of_another_file(
    here: Path, shell: Shell
) -> None:
    (here / "r.txt").write_text("I have it .\n-NONE-\n")
    (here / "r2.jsonl").write_text('null\n{"text": "He goes ."}\n')
    words = ["s.txt", "h.txt", "-r", "r.txt", "-r", "r2.jsonl"]
    corpus = read_corpus("s.txt", ["h.txt"], ["r.txt", "r2.jsonl"])
    assert [version.borrowed for version in corpus.references] == [(1,), (0,)]
    (row,) = shell.rows("score", *words, *GLEU)
    assert row["score"] == 1
    out, _ = shell.ended("check", *words)
    assert out.count("1 of 2") == 2
    _, err = shell.ended("score", *words[:4], *GLEU, status=2)
    assert "r.txt, line 2: no file has a reference" in err
    out, _ = shell.ended("check", *words[:4], status=2)
    assert "line 2: no file has a reference" in " ".join(out.split())


@pytest.mark.parametrize("blank", ["", " "])
def test_no_error_means_the_source(here: Path, shell: Shell, blank: str) -> None:
    # MuCGEC's mark, also with blanks between its characters.
    mark = blank.join("没有错误")
    (here / "zh.txt").write_text("我 是 学生 。\n没有错误\n他 去 学校 了 。\n", encoding="utf-8")
    text = f"{mark}\n没有错误\n他 去 学校 。\n"
    (here / "r.txt").write_text(text, encoding="utf-8")
    corpus = read_corpus("zh.txt", [], ["r.txt"])
    assert corpus.references[0].lines == ("我 是 学生 。", "没有错误", "他 去 学校 。")
    # A sentence that is the mark itself is not counted.
    note, language = remarks_on(corpus, ("references",))
    assert "1 of 3 lines is 没有错误" in note
    assert "zh.txt: looks like Chinese" in language
    out, _ = shell.ended("check", "zh.txt", "zh.txt", "-r", "r.txt")
    assert "1 of 3 lines is 没有错误" in " ".join(out.split())


def test_lists_in_python_have_the_same_marks() -> None:
    texts = ["a b .", "c d ."]
    corpus = corpus_of_texts(texts, [["x", "y"]][0], [["没有错误", None], ["a .", "d ."]])
    assert [version.lines for version in corpus.references] == [("a b .", "d ."), ("a .", "d .")]
    with pytest.raises(InputError, match=r"references\[0\], line 2: no file has a reference"):
        corpus_of_texts(texts, texts, [["a b .", "-NONE-"]])
