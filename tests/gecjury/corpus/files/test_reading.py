"""Forms of text files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.files.forms import listed_texts
from gecjury.corpus.files.reading import read_corpus, read_version, read_versions
from gecjury.corpus.remarks import remarks_on
from tests.shell import Shell


def test_quotation_marks_are_text_unless_the_name_says_json(here: Path) -> None:
    quoted = '"I have it ."\n"He goes ."\n'
    for name in ("x.txt", "x.jsonl", "x.ndjson"):
        (here / name).write_text(quoted)
    assert read_version("x.jsonl").lines == ("I have it .", "He goes .")
    assert read_version("x.ndjson").lines == ("I have it .", "He goes .")
    corpus = read_corpus("s.txt", ["x.txt"])
    assert corpus.systems["x"].lines == tuple(quoted.splitlines())
    (note,) = remarks_on(corpus, ())
    assert note.startswith("warning: x.txt: 2 lines have quotation marks")


def test_a_guessed_form_is_said_once_for_all_files(here: Path, shell: Shell) -> None:
    for name in ("a.txt", "b.txt"):
        (here / name).write_text('{"text": "I have it ."}\n{"text": "He goes ."}\n')
    assert remarks_on(read_corpus("s.txt", ["a.txt", "b.txt"]), ()) == (
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
        (
            "x.csv",
            "a,b\n1,2\n",
            r"x\.csv, line 1: no column of texts among a, b; expected hypothesis",
        ),
        ("x.txt", '["a",\n"b"]\n', r"x\.txt: one JSON list; expected one value a line"),
        ("x.jsonl", "I have it .\nHe .\n", r"x\.jsonl, line 1: is not JSON"),
        ("x.json", '["a", 3]\n', r"x\.json, row 2: expected a string or an object"),
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
    with pytest.raises(InputError, match=r"line 2: expected a string .* field `references`"):
        read_versions("r.jsonl")


LISTS = [
    ("['I have it .', 'I got it .']", ["I have it .", "I got it ."]),
    ("['I have it .'\n 'I got it .']", ["I have it .", "I got it ."]),  # numpy's
    ('["I don\'t ."]', ["I don't ."]),
    ("[\"I don't .\", 'It\\'s \\u00e9 .', None]", ["I don't .", "It's é .", None]),
    ('["\\ud83d\\ude00 .", null]', ["\N{GRINNING FACE} .", None]),
    ("('I have it .', \"I got it .\")", ["I have it .", "I got it ."]),
    ("('I have it .',)", ["I have it ."]),
    ("('I have it .')", None),
    ("[]", []),
    ('[ " Yes . " ]', None),
    ("[1]", None),
    ('["Yes," he said .', None),
    ("[note]", None),
]


@pytest.mark.parametrize(("text", "texts"), LISTS)
def test_lists_written_as_text(text: str, texts: list[str | None] | None) -> None:
    assert listed_texts(text) == texts


def test_references_may_be_lists_written_as_text(here: Path) -> None:
    (here / "r.csv").write_text("references\n\"['I have it .', 'I got it .']\"\n['He goes .']\n")
    assert [version.lines for version in read_versions("r.csv")] == [
        ("I have it .", "He goes ."), ("I got it .", "-NONE-"),
    ]  # fmt: skip
    (here / "r.jsonl").write_text(
        '{"reference": "[\\"I have it .\\"]"}\n{"reference": "He goes ."}\n'
    )
    assert [version.lines for version in read_versions("r.jsonl")] == [("I have it .", "He goes .")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("r.csv", "reference\n['I 'have' it .']\nx\n", "line 2: .* looks like a list written as"),
        ("r.csv", "reference\n['a' ... 'b']\nx\n", "line 2: .* looks like a list written as text"),
        ("r.csv", "reference\n[['a']]\nx\n", "line 2: .* looks like a list written as text"),
        ("r.csv", "reference\n[np.str_('a')]\nx\n", "line 2: .* looks like a list written as"),
        ("r.txt", "['I have it .']\n['He goes .']\n", "is a list written as text, .* JSON lines"),
    ],
)
def test_other_lists_are_refused(here: Path, name: str, text: str, words: str) -> None:
    (here / name).write_text(text)
    with pytest.raises(InputError, match=words):
        read_versions(name)


def test_outputs_are_no_lists(here: Path) -> None:
    (here / "h.csv").write_text("output\n['I have it .']\n['He goes .']\n")
    with pytest.raises(
        InputError, match=r"h\.csv: .* is a list written as text, .* one text a row"
    ):
        read_version("h.csv")


@pytest.mark.parametrize(
    "name", ["output", "hypothesis", "Corrected", "Corrected Sentence", "prediction"]
)
def test_a_column_that_says_what_it_is_comes_before_text(here: Path, name: str) -> None:
    (here / "x.csv").write_text(f"text,{name}\nI has it .,I have it .\nHe go .,He goes .\n")
    (here / "x.jsonl").write_text(
        f'{{"text": "I has it .", "{name}": "I have it ."}}\n'
        f'{{"text": "He go .", "{name}": "He goes ."}}\n'
    )
    for file in ("x.csv", "x.jsonl"):
        corpus = read_corpus(file, [file], [file])
        assert corpus.sources == ("I has it .", "He go .")
        assert corpus.systems[file.removesuffix(".jsonl")].lines == ("I have it .", "He goes .")
        assert corpus.references[0].lines == ("I have it .", "He goes .")


def test_text_beside_another_column_of_sentences_is_noted(here: Path) -> None:
    (here / "x.csv").write_text("id,text,Mine\n1,I has it .,I have it .\n2,He go .,He goes .\n")
    version = read_version("x.csv")
    assert version.lines == ("I has it .", "He go .")
    assert "the column `text` is read, not `mine`" in version.note
    (here / "x.csv").write_text("id,text,source\n1,I have it .,I has it .\n")
    assert read_version("x.csv").note == ""


def test_rows_without_the_column_of_outputs_do_not_give_what_was_corrected(here: Path) -> None:
    (here / "x.jsonl").write_text('{"text": "a", "output": "b"}\n{"text": "c"}\n')
    with pytest.raises(InputError, match=r"line 2: expected a string .* field `output`"):
        read_version("x.jsonl")


def test_an_empty_list_is_not_called_m2(here: Path) -> None:
    (here / "x.json").write_text("[]")
    with pytest.raises(InputError, match=r"x\.json: has no text; expected one a row"):
        read_version("x.json")


def test_a_line_of_millions_of_characters_is_no_sentence(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gecjury.corpus.files.reading._MOST_CHARACTERS", 20)
    (here / "long.txt").write_text("I have it .\n" + 21 * "a" + "\n")
    with pytest.raises(InputError, match=r"long\.txt, line 2: has 21 characters; expected"):
        read_version("long.txt")
