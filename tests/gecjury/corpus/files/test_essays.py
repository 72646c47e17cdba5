"""Essays in the layout of MultiGEC-2025: reading, alignment by id, scoring and errors."""

from __future__ import annotations

import json

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.files.essays import parse_essays
from gecjury.corpus.files.reading import read_corpus
from tests.shell import Shell

ORIG = """\
### essay_id = 10
He go home.

Then he sleep.

### essay_id = 2
We eats here.

### essay_id = a1
All is well.
"""
REF = """\
### essay_id = a1
All is well.

### essay_id = 10
He goes home.
Then he sleeps.

### essay_id = 2
We eat here.
"""
SECOND = "### essay_id = 2\nWe ate here.\n"
HYP = """\
### essay_id = 2
We eat here.

### essay_id = a1
All are well.

### essay_id = 10
He goes home.

Then he sleep.
"""


@pytest.fixture
def essays(shell: Shell) -> Shell:
    for name, text in (("orig", ORIG), ("ref1", REF), ("ref2", SECOND), ("mine", HYP)):
        shell.write(f"{name}.md", text)
    return shell


def test_essays_are_in_the_order_of_their_ids() -> None:
    read = parse_essays(ORIG.split("\n"), "orig.md")
    # Numeric ids are sorted by value; paragraphs are joined to one line.
    assert read.lines == ("All is well.", "We eats here.", "He go home. Then he sleep.")
    assert read.ids == {"a1": 9, "2": 6, "10": 1}


def test_files_are_aligned_by_id_and_essays_are_documents(essays: Shell) -> None:
    folder = essays.folder
    corpus = read_corpus(folder / "orig.md", [folder / "mine.md"], [folder / "ref1.md"])
    assert corpus.systems["mine.md"].lines[2] == "He goes home . Then he sleep ."
    assert corpus.references[0].lines[2] == "He goes home . Then he sleeps ."
    assert corpus.contexts == (("", ""),) * 3


def test_a_second_reference_may_lack_essays(essays: Shell) -> None:
    words = ["orig.md", "mine.md", "-r", "ref1.md", "-r", "ref2.md", "-m", "gleu"]
    out, _ = essays.ended("score", *words, "--tokens", "intl", "--format", "json")
    document = json.loads(out)
    assert document["notes"] == [
        "ref2.md: texts that it lacks are taken from another reference: 2 of 3"
    ]
    corpus = read_corpus(
        essays.folder / "orig.md", [], [essays.folder / "ref1.md", essays.folder / "ref2.md"]
    )
    # The second reference has only essay 2, which comes second.
    assert corpus.references[1].borrowed == (0, 2)
    assert corpus.references[1].lines == (
        "All is well .",
        "We ate here .",
        *corpus.references[0].lines[2:],
    )
    assert corpus.references[1].take([1, 2]).borrowed == (1,)


def test_the_doctor_aligns_essays(essays: Shell) -> None:
    out, _ = essays.ended("check", "orig.md", "mine.md", "-r", "ref1.md", "-r", "ref2.md")
    assert "error" not in out
    essays.write("mine.md", HYP.replace("= a1", "= a2"))
    out, _ = essays.ended("check", "orig.md", "mine.md", "-r", "ref1.md", status=2)
    assert "mine.md, line 4: essay_id = a2 is not in" in " ".join(out.split())


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("mine", HYP.replace("= a1", "= 2"), "mine.md, line 4: essay_id = 2 is in line 1, too"),
        ("mine", HYP.replace("All are well.", ""), "mine.md, line 4: essay_id = a1 is empty"),
        ("orig", ORIG.replace("We eats here.", " "), "orig.md, line 6: essay_id = 2 is empty"),
        ("mine", SECOND, "mine.md: essay_id = a1 is missing, which {0}orig.md has in line 9"),
        ("ref1", SECOND, "ref1.md: essay_id = a1 is missing, which {0}orig.md has in line 9"),
        ("mine", f"{HYP}\n### essay_id = 3\nNew.\n", "mine.md, line 12: essay_id = 3 is not in"),
        ("mine", HYP.replace("### essay_id = a1", "## essay_id: a1"), "line 4: '## essay_id: a1'"),
        ("mine", "One.\nTwo.\nThree.\n", "orig.md has essays by id, and {0}mine.md does not"),
        ("orig", "One.\nTwo.\nThree.\n", "mine.md has essays by id, and {0}orig.md does not"),
    ],
)
def test_bad_essays(essays: Shell, name: str, text: str, words: str) -> None:
    essays.write(f"{name}.md", text)
    folder = essays.folder
    with pytest.raises(InputError) as error:
        read_corpus(folder / "orig.md", [folder / "mine.md"], [folder / "ref1.md"])
    assert words.format(f"{folder}/") in str(error.value)
