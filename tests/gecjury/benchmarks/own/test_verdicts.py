"""User-supplied verdicts on single edits: reading, errors, comparison."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gecjury.benchmarks.own.judgments import read_own_verdicts
from gecjury.core.errors import InputError
from gecjury.corpus.texts import corpus_of_texts
from tests.shell import Shell

CORPUS = corpus_of_texts(
    ["He go home .", "A cat  sit ."],
    {"a": ["He goes home .", "A cat sits ."], "b": ["He goes home .", "The cat sat ."]},
)
TWICE = {  # Two lines have the same source, which the two systems correct differently in each line.
    "source.txt": "a b c\na b c\nx y z\n",
    "outputs/o.txt": "a B c\na b C\nx Y z\n",
    "outputs/p.txt": "a b c\na b c\nx y z\n",
    "references/r.txt": "a B c\na b c\nx Y z\n",
    "benchmark.toml": 'verdicts = "edits.csv"\n',
}
HEADER = "sentence,system,start,end,correction,valid,annotator\n"


def read(shell: Shell, text: str) -> list[tuple[object, ...]]:
    path = shell.write("verdicts.csv", HEADER + text)
    return [
        (v.annotator, v.row, v.start, v.end, v.old, v.new, v.valid, v.correction)
        for v in read_own_verdicts(path, CORPUS)[0]
    ]


def test_systems_with_the_same_text_give_one_verdict(shell: Shell) -> None:
    rows = "1,a,1,2,goes,1,x\n1,b,1,2,goes,true,x\n2,b,0,1,The,wrong,x\n2,b,2,3,sat,0,x\n"
    assert read(shell, rows + "1,a,1,2,goes,0,y\n") == [
        ("x", 0, 1, 2, "go", "goes", True, "He goes home ."),
        ("x", 1, 0, 1, "A", "The", False, "The cat sat ."),
        ("x", 1, 2, 3, "sit", "sat", False, "The cat sat ."),
        ("y", 0, 1, 2, "go", "goes", False, "He goes home ."),
    ]


def test_the_source_is_that_of_the_corpus_with_blanks_merged(shell: Shell) -> None:
    path = shell.write("v.csv", HEADER + "2,a,2,3,sits,1,x\n2,b,2,3,sat,1,x\n")
    verdicts, sources, unread = read_own_verdicts(path, CORPUS)
    assert [v.correction for v in verdicts] == ["A cat sits .", "The cat sat ."]
    assert {v.sentence for v in verdicts} == {s.sentence for s in sources} == {"A cat sit ."}
    assert unread == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no verdicts below the header"),
        ("1,a,1,2,goes,maybe,x\n", "line 2, column valid: 'maybe'; expected one of 1, true, right"),
        ("0,a,1,2,goes,1,x\n", "column sentence: '0'; expected a whole number from 1 to 2; if"),
        ("1,c,1,2,goes,1,x\n", "column system: 'c'; expected a system"),
        ("1,a,5,5,goes,1,x\n", "column start: '5'; expected a whole number from 0 to 4"),
        ("1,a,2,1,goes,1,x\n", "column end: '1'; expected a whole number from 2 to 4"),
        ("1,a,1,2,goes,1,x\n1,b,1,2,goes,0,x\n", "line 3, column valid: '0'; .* x called this ed"),
    ],
)
def test_unusable_rows_are_named(shell: Shell, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(shell, text)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("sentence,system,rank\n", "unknown column 'rank'"),
        ("sentence,system,start,end,correction\n", "no column 'valid'"),
    ],
)
def test_other_columns_are_refused(shell: Shell, header: str, message: str) -> None:
    path = shell.write("v.csv", header)
    with pytest.raises(InputError, match=message):
        read_own_verdicts(path, CORPUS)


def edit_level(shell: Shell, edits: str, **files: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Compare one metric on the edits of `TWICE` and return its row and the whole document."""
    for name, text in {**TWICE, **files, "edits.csv": HEADER + edits}.items():
        shell.write(f"own/{name}", text)
    status, out, err = shell(
        "compare", "own", "-m", "errant:tagger=none", "--resamples", "20", "--format", "json"
    )
    assert status == 0, err
    document = json.loads(out)
    return document["rows"][0]["edit"], document


def test_verdicts_on_unknown_systems_are_left_out_on_request_and_counted(shell: Shell) -> None:
    edits = "1,o,1,2,B,1,x\n2,z,1,2,B,1,x\n2,o,2,3,C,0,x\n3,o,1,2,Y,1,x\n"
    with pytest.raises(AssertionError, match="column system: 'z'"):
        edit_level(shell, edits)
    skip = {"benchmark.toml": TWICE["benchmark.toml"] + 'unknown_systems = "skip"\n'}
    edit, document = edit_level(shell, edits, **skip)
    assert (edit["cases"], edit["auc"]) == (3, 1.0)
    assert "verdicts on z, which has no output: left out: 1" in document["edit_notes"]


THREE = "1,o,1,2,B,1,x\n2,o,2,3,C,0,x\n3,o,1,2,Y,1,x\n"


def test_a_repeated_source_loses_no_verdict(shell: Shell) -> None:
    ranked = "sentence,system,rank\n1,o,1\n1,p,2\n2,o,2\n2,p,1\n"
    edit, document = edit_level(shell, THREE, **{"judgments.csv": ranked})
    assert (edit["cases"], edit["valid"], edit["missing"], edit["split"]) == (3, 2, 0, 0)
    # The reference has both valid edits but not the invalid one.
    assert edit["auc"] == 1.0
    assert edit["credit"] == "counts"
    assert not [note for note in document["edit_notes"] if "left out" in note]


ONE_RATED = "sentence,system,score\n1,o,4\n2,o,2\n3,o,4\n"


@pytest.mark.parametrize("files", [{}, {"judgments.csv": ONE_RATED}])
def test_verdicts_alone_are_a_benchmark(shell: Shell, files: dict[str, str]) -> None:
    edit, document = edit_level(shell, THREE, **files)
    assert (edit["cases"], edit["auc"]) == (3, 1.0)
    assert "the system and sentence levels need judgments of whole" in document["notes"][0]
    status, out, _ = shell("compare", "own", "-m", "errant:tagger=none", "--verbose")
    assert status == 0
    assert "only single edits are compared" in " ".join(out.split())
    for option in ("--level=sentence", "--level=system", "--windows"):
        status, out, err = shell("compare", "own", "-m", "errant:tagger=none", option)
        assert (status, out) == (2, "")
        assert "people judged only single edits" in err
    # Without verdicts there is nothing left to compare with.
    shell.write("own/benchmark.toml", "")
    status, _, err = shell("compare", "own", "-m", "changes")
    assert (status, "judgments" in err) == (2, True)


def test_a_misnamed_judgments_file_next_to_verdicts_is_reported(shell: Shell) -> None:
    for name, text in {**TWICE, "judgements.csv": ONE_RATED, "edits.csv": HEADER + THREE}.items():
        shell.write(f"own/{name}", text)
    status, _, err = shell("compare", "own", "-m", "changes")
    assert (status, "found judgements.csv, which has another name" in err) == (2, True)
