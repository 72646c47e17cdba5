"""Forms of text files, and lines of references that stand for something else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gecjury import corpus_of_texts
from gecjury.core.errors import InputError
from gecjury.corpus.files.reading import read_corpus, read_version, read_versions
from tests.shell import Shell

GLEU = ["-m", "gleu"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.txt").write_text("I has it .\nHe go .\n")
    (tmp_path / "h.txt").write_text("I have it .\nHe goes .\n")
    return tmp_path


def test_quotation_marks_are_text_unless_the_name_says_json(here: Path) -> None:
    quoted = '"I have it ."\n"He goes ."\n'
    for name in ("x.txt", "x.jsonl", "x.ndjson"):
        (here / name).write_text(quoted)
    assert read_version("x.jsonl").lines == ("I have it .", "He goes .")
    assert read_version("x.ndjson").lines == ("I have it .", "He goes .")
    corpus = read_corpus("s.txt", ["x.txt"])
    assert corpus.systems["x"].lines == tuple(quoted.splitlines())
    (note,) = corpus.remarks(())
    assert note.startswith("warning: x.txt: 2 lines have quotation marks")


def test_a_guessed_form_is_said_once_for_all_files(here: Path, shell: Shell) -> None:
    for name in ("a.txt", "b.txt"):
        (here / name).write_text('{"text": "I have it ."}\n{"text": "He goes ."}\n')
    assert read_corpus("s.txt", ["a.txt", "b.txt"]).remarks(()) == (
        "a.txt, b.txt: read as JSON lines",
    )
    _, err = shell.ended("edits", "s.txt", "a.txt", "--tagger", "none")
    assert "a.txt: read as JSON lines" in err
    _, err = shell.ended("edits", "s.txt", "a.txt", "--tagger", "none", "-q")
    assert not err
    out, _ = shell.ended("check", "s.txt", "a.txt")
    assert "read as JSON lines" in out


@pytest.mark.security
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "a,b\n1,2\n", r"x\.csv, line 1: no column of texts among a, b; expected text or"),
        ("x.txt", '["a",\n"b"]\n', r"x\.txt: one JSON list; expected one value a line"),
        ("x.jsonl", "I have it .\nHe .\n", r"x\.jsonl, line 1: is not JSON"),
        ("x.json", '["a", 3]\n', r"x\.json, line 2: expected a string or an object"),
    ],
)
def test_other_forms_are_named(here: Path, name: str, text: str, words: str) -> None:
    (here / name).write_text(text)
    with pytest.raises(InputError, match=words):
        read_version(name)


def test_references_in_lists_may_be_missing(here: Path) -> None:
    lines = ['{"references": ["I have it .", null]}', '{"references": ["He goes ."]}']
    (here / "r.jsonl").write_text("\n".join([*lines[1:], *lines[:1]]) + "\n")
    one, two = read_versions("r.jsonl")
    assert one.lines == ("He goes .", "I have it .")
    assert two.lines == ("-NONE-", "-NONE-")
    (here / "r.jsonl").write_text('{"references": []}\n{"references": [3]}\n')
    with pytest.raises(InputError, match="line 2: expected a string"):
        read_versions("r.jsonl")


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


def test_an_empty_line_of_a_reference_is_mentioned(here: Path, shell: Shell) -> None:
    (here / "r.txt").write_text("I have it .\n\n")
    for command in ("score", "rank", "explain"):
        files = ["s.txt", "h.txt", "-r", "h.txt", "-r", "r.txt", "-m", "errant"]
        more = ["--worst", "1"] if command == "explain" else []
        out, _ = shell.ended(command, *files, *more)
        assert "r.txt: 1 of 2 lines is empty (line 2)" in " ".join(out.split())


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
    note, language = corpus.remarks(("references",))
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


def test_empty_lines_of_named_and_of_benchmark_sets(here: Path) -> None:
    (here / "r.txt").write_text("I have it .\n\n")
    corpus = read_corpus("s.txt", ["h.txt"], ["h.txt", "mine=r.txt"])
    assert corpus.remarks(("references",)) == ()
    (note,) = corpus.with_references("mine").remarks(("references",))
    assert note.startswith("r.txt: 1 of 2 lines is empty")
    # In SEEDA, an annotator deleted a whole sentence.
    official = replace(corpus.with_references("mine"), reference_name="official", _labels={})
    assert official.remarks(("references",)) == ()
