"""TMU-GFM as a benchmark, on the released file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark


def test_five_systems_and_their_ratings(data_dir: Path) -> None:
    tmu = load_benchmark("tmu-gfm", data=data_dir)
    assert tmu.corpus.names == ("cnn", "copy-net", "lstm", "smt", "transformer")
    # 1,378 sources, 7 of them without the output of some system; one occurs three times and one
    # twice, with new ratings each time: 1,371 - 2 + 3 + 2.
    assert len(tmu.corpus) == 1374
    assert any(note.startswith("7 sources are left out") for note in tmu.notes)
    assert list(tmu.rated) == ["grammaticality", "fluency", "meaning", "mean"]
    # The first row of the file: lstm and cnn, grammaticality 3.4, fluency 3.4, meaning 3.6.
    assert [tmu.rated[aspect][2, 0] for aspect in tmu.rated] == pytest.approx(
        [3.4, 3.4, 3.6, 10.4 / 3], abs=1e-12
    )
    # The human score of a system is the mean of its ratings.
    assert tmu.human_scores("mean") == pytest.approx(tmu.rated["mean"].mean(axis=1))


def test_means_are_those_of_the_release(data_dir: Path) -> None:
    tmu = load_benchmark("tmu-gfm", data=data_dir)
    with (data_dir / "TMU-GFM-Dataset/tmu-gfm-dataset.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    released: dict[tuple[str, str, str], list[list[float]]] = {}
    for row in rows:
        for name in row["system"].split(","):
            means = [float(row[column]) for column in ("ave_g", "ave_f", "ave_m")]
            released.setdefault((row["source"], row["output"], name), []).append(means)
    for number, name in enumerate(tmu.corpus.names):
        for place, source in enumerate(tmu.corpus.sources):
            mine = [tmu.ratings[aspect][number, place] for aspect in tmu.ratings]
            wanted = released[source, tmu.corpus.systems[name].lines[place], name]
            assert any(np.allclose(mine, means, atol=1e-9) for means in wanted)


def test_the_test_part_is_never_used_in_training(data_dir: Path) -> None:
    from gecjury.corpus.leakage import normalise
    from gecjury.refless.data.annotations import read_annotations
    from gecjury.refless.data.rated_sets import split_by_source

    test = load_benchmark("tmu-gfm-test", data=data_dir)
    data = read_annotations(data_dir / "TMU-GFM-Dataset/tmu-gfm-dataset.csv")
    split = split_by_source(data, 0)
    seen = {normalise(data.sources[row]) for row in (*split.train, *split.dev)}
    assert not seen & {normalise(source) for source in test.corpus.sources}
    assert len(test.corpus) == 142
