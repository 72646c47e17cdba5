"""Labels of outputs from benchmarks and files: values computed by hand, and invalid input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gecjury
from gecjury.benchmarks.judgments import RankedItem
from gecjury.core.errors import InputError, OptionError
from gecjury.studies.estimate.labels import labels_of_benchmark, read_labels, shares_beaten

SOURCES = ["a b .", "c d ."]
CORPUS = gecjury.corpus_of_texts(
    SOURCES, {"one": ["A b .", "C d ."], "two": ["a B .", "c D ."], "three": ["a b .", "C d ."]}
)


def item(sentence: int, *ranks: tuple[str, int]) -> RankedItem:
    """Return one ranking; a name may list several systems with the same text."""
    groups = tuple(tuple(names.split()) for names, _ in ranks)
    return RankedItem("1", sentence, "anna", groups, tuple(rank for _, rank in ranks))


def test_a_ranked_output_is_labelled_with_the_share_of_the_others_that_it_beats() -> None:
    items = [
        item(0, ("one", 1), ("two", 2), ("three", 2)),  # 1, (0 + ½)/2, (0 + ½)/2
        item(0, ("two", 1), ("one", 2)),  # 0, 1, not ranked
        item(1, ("one three", 2), ("two", 1), ("other", 1)),  # the same text: ½ and 0 of two; 1
    ]
    expected = [[0.5, 0.25], [0.625, 1.0], [0.25, 0.25]]
    np.testing.assert_allclose(shares_beaten(items, CORPUS), expected)
    alone = shares_beaten([item(1, ("one", 1))], CORPUS)
    assert np.isnan(alone).all()


def test_predictions_for_rankings_are_shares_beaten_by_score() -> None:
    labels = labels_of_benchmark(gecjury.load_benchmark("sample"))
    assert labels.relative
    scores = np.array([[3.0, 1.0], [2.0, 1.0], [np.nan, 5.0]])
    expected = [[1, 0.25], [0, 0.25], [np.nan, 1]]
    np.testing.assert_allclose(labels.predictions(scores), expected)
    assert replace(labels, relative=False).predictions(scores) is scores


def write(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_ratings_are_means_over_raters_and_aspects(tmp_path: Path) -> None:
    path = write(
        tmp_path / "rated.csv",
        "sentence,system,score,annotator,aspect",
        "1,one,4,anna,fluency",
        "1,one,2,ben,fluency",
        "1,one,1,anna,meaning",
        "1,two,5,anna,fluency",
        "1,two,3,anna,meaning",
    )
    labels = read_labels(path, CORPUS)
    np.testing.assert_allclose(labels.values[:2, 0], [(3 + 1) / 2, (5 + 3) / 2])
    assert np.isnan(labels.values[:, 1]).all()
    assert labels.scale == (2, 4)


def test_files_of_annotate_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "ranked.csv",
        "sentence,system,rank,annotator,item",
        "1,one,1,anna,i1",
        "1,two,2,anna,i1",
        "2,one,1,anna,i2",
        "2,two,1,anna,i2",
    )
    labels = read_labels(path, CORPUS)
    np.testing.assert_allclose(labels.values[:2], [[1, 0.5], [0, 0.5]])
    assert labels.relative


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("sentence\tsystem\tscore", "1\tfour\t1"), "line 2, column system: 'four'"),
        (("sentence\tsystem\tscore", "3\tone\t1"), "line 2, column sentence: '3'"),
        (("sentence\tsystem\trank", "1\tone\t1"), "no ranking compares two systems"),
    ],
)
def test_files_without_labels_are_refused(
    tmp_path: Path, lines: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(write(tmp_path / "labels.tsv", *lines), CORPUS)


def test_what_a_benchmark_lacks_is_refused() -> None:
    benchmark = gecjury.load_benchmark("sample")
    with pytest.raises(InputError, match="people judged no whole corrections"):
        labels_of_benchmark(replace(benchmark, rankings={}))
    with pytest.raises(InputError, match="unknown which system made a correction"):
        labels_of_benchmark(replace(benchmark, places=True))
    (view,) = set(benchmark.views) - {benchmark.view}
    other = labels_of_benchmark(benchmark, view)
    assert other.origin == f"sample, {view} view"
    with pytest.raises(OptionError, match="`human=edit`: sample has sentence"):
        labels_of_benchmark(replace(benchmark, human={"sentence": {}}), "edit")
