"""AQUA and PEVData: made-up files in the same format, and the released ones."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from gecjury import compare
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.edit_labels import load_aqua, load_pevdata
from gecjury.metaeval.edits.cases import annotator_pairs, edit_cases, unused_verdicts
from tests.made_up import data_folder, request

HEAD = ["idx", "src", "tgt", "label", "aligned", "alignment_labels", "alignment_labels_detailed"]
EN = "AQUA/data/eval/gold_en.csv"
PEV = "JELV/data/benchmark/PEVData.json"


def aqua(*rows: tuple[str, str, str, str, str]) -> str:
    file = io.StringIO()
    table = csv.writer(file)
    table.writerow(HEAD)
    for number, (source, target, label, voted, votes) in enumerate(rows):
        table.writerow([number, source, target, label, "", voted, votes])
    return file.getvalue()


TEXT = aqua(
    (
        "He go, now.",
        "He goes, at once.",
        "FP3",
        "He {go=>goes:::TP}, {now=>at once:::FP3}.",
        "He {go=>goes:::TP:::TP:::FP1}, {now=>at once:::FP3:::TP:::FP3}.",
    ),
    ("He go, now.", "He went, now.", "FP1", "He {go=>went:::FP1}, now.", "He {go=>went:::}, now."),
    ("Fine.", "Fine.", "TN", "Fine.", "Fine."),
    ("a cat", "the cat", "TP", "{a=>the:::TP} cat", "{a=>the:::TP:::cant_judge:::FP3} cat"),
    ("so  fine", "so fine", "FP3", "so{  => :::FP3}fine", "so{  => :::FP3:::FP3}fine"),
)


def test_marks_become_verdicts_on_edits_of_tokens(tmp_path: Path) -> None:
    made = load_aqua(request("aqua-en", data_folder(tmp_path, {EN: TEXT})))
    assert made.corpus.sources == ("He go , now .", "Fine .", "a cat", "so fine")
    assert made.corpus.systems["output2"].lines[0] == "He went , now ."
    verdicts, _, unread = made.verdicts()
    first = [v for v in verdicts if v.correction == "He goes , at once ."]
    assert [(v.start, v.end, v.old, v.new, v.annotator, v.valid) for v in first] == [
        (1, 2, "go", "goes", "vote 1", True),
        (1, 2, "go", "goes", "vote 2", True),
        (1, 2, "go", "goes", "vote 3", False),
        (3, 4, "now", "at once", "vote 1", False),
        (3, 4, "now", "at once", "vote 2", True),
        (3, 4, "now", "at once", "vote 3", False),
    ]
    # Without votes the voted label is used; `cant_judge` is not a vote.
    assert [(v.annotator, v.valid) for v in verdicts if v.new in ("went", "the")] == [
        ("voted", False),
        ("vote 1", True),
        ("vote 2", False),
    ]
    assert [reason for _, reason in unread] == [
        "changes only spaces between tokens: not an edit of tokens, left out"
    ]
    cases = edit_cases(made)
    assert [(case.edit.correction, round(case.valid, 2)) for case in cases] == [
        ("goes", 0.67),
        ("at once", 0.33),
        ("went", 0.0),
        ("the", 0.5),
    ]
    assert all(case.complete and case.row >= 0 for case in cases)
    # Two edits with three annotators and one with two: 2 × 6 + 2 pairs.
    assert len(annotator_pairs(made, cases)[0]) == 14


def test_labels_of_whole_corrections(tmp_path: Path) -> None:
    made = load_aqua(request("aqua-en", data_folder(tmp_path, {EN: TEXT})))
    assert made.labels is not None
    assert made.labels.values == (("FP3", "TN", "TP", "FP3"), ("FP1", "", "", ""))
    assert made.labels.true == "TP"
    assert list(made.labels.false) == ["FP1", "FP2", "FP3"]
    again = load_aqua(request("aqua-en", data_folder(tmp_path, {EN: TEXT.replace("TN", "FN")})))
    assert again.fingerprint != made.fingerprint


def test_marks_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    row = ("a b", "c b", "TP", "{x=>c:::TP} b", "{x=>c:::TP:::TP} b")
    made = load_aqua(request("aqua-en", data_folder(tmp_path, {EN: aqua(row)})))
    assert made.verdicts()[:2] == ((), ())
    notes = ("the marks do not turn the source into the correction: left out: 1",)
    assert unused_verdicts(made) == notes


def pairs(*rows: tuple[str, str, str, int]) -> str:
    keys = ("S1-src", "S2-hyp", "Edit", "Human Judgment")
    return json.dumps([dict(zip(keys, row, strict=True)) for row in rows])


def test_the_edit_of_a_pair_is_the_difference(tmp_path: Path) -> None:
    text = pairs(
        ("A cat, here.", "A dog, here.", "[1, 2]: cat -> [1, 2]: dog", 1),
        ("A cat, here.", "A dog, here.", "[1, 2]: cat -> [1, 2]: dog", 1),
        ("A cat, here.", "A cat, there now.", "['R:ADV'] - [3, 4]: here -> [3, 5]: there now)", 0),
        ("A of cat", "A of the cat", "[1, 2]: of -> of the", 1),
        ("A of the cat", "A of cat", "[3, 4]: an -> of", 0),
        ("so , fine", "so, fine", "[0, 2]: so , -> so,", 1),
    )
    made = load_pevdata(request("pevdata", data_folder(tmp_path, {PEV: text})))
    verdicts, _, unread = made.verdicts()
    assert [(v.start, v.end, v.old, v.new, v.valid) for v in verdicts] == [
        (1, 2, "cat", "dog", True),
        (3, 4, "here", "there now", False),
        (2, 2, "", "the", True),
        (2, 3, "the", "", False),
    ]
    assert len(unread) == 1
    assert made.notes[0].startswith("6 pairs, 4 of them valid; 1 repeat another")
    assert [case.row for case in edit_cases(made)] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("name", "labels", "edits", "valid", "split"),
    [
        ("aqua-en", {"TP": 92, "FP3": 79, "TN": 23, "FP1": 15, "FP2": 10, "FN": 1}, 511, 303, 0),
        ("aqua-uk", {"TP": 144, "FP3": 53, "TN": 32, "FP1": 13, "FP2": 8, "FN": 2}, 484, 376, 8),
    ],
)
def test_the_released_labels(
    data_dir: Path, name: str, labels: dict[str, int], edits: int, valid: int, split: int
) -> None:
    made = load_benchmark(name, data=data_dir)
    assert made.labels is not None
    found = Counter(value for line in made.labels.values for value in line if value)
    assert found == labels
    cases = edit_cases(made)
    assert len(cases) == edits
    assert all(case.complete and case.row >= 0 for case in cases)
    assert sum(case.valid > 0.5 for case in cases) == valid
    assert sum(case.valid == 0.5 for case in cases) == split


def test_the_released_pairs(data_dir: Path) -> None:
    made = load_benchmark("pevdata", data=data_dir)
    cases = edit_cases(made)
    assert len(cases) == 2582
    assert sum(case.valid for case in cases) == 1264
    assert len(made.corpus) == 2224
    assert len(made.verdicts()[2]) == 4


def test_a_comparison_begins_with_the_labels_of_corrections(tmp_path: Path) -> None:
    made = load_aqua(request("aqua-en", data_folder(tmp_path, {EN: TEXT})))
    text = str(compare(made, ["changes"], resample="none"))
    assert text.startswith(
        "Whole corrections: changes separates good from bad corrections best: AUC"
    )
    assert "any, AUC" in text
