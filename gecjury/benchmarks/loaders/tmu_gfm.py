"""TMU-GFM (Yoshimura et al. 2020): corrections by five systems, each rated by five people.

Grammaticality, fluency and meaning preservation are rated from 1 to 4; 0 means "other" and is left
out of the means. There are no references. `tmu-gfm-test` contains the sources that `gecjury train
some` keeps for its test part by default, and is the fair part for a metric that was trained on the
rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.corpus.corpus import Version
from gecjury.corpus.leakage import normalise
from gecjury.corpus.rows import Row, read_table
from gecjury.corpus.splits import split_sources
from gecjury.stats.counts import defined_mean

_FILE = "TMU-GFM-Dataset/tmu-gfm-dataset.csv"
_COLUMNS = {"grammaticality": "grammer", "fluency": "fluency", "meaning": "meaning"}
_RATERS = 5


def load_tmu_gfm(request: LoadRequest) -> Benchmark:
    """Load TMU-GFM or its test part for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    names = info.system_sets[request.systems]
    path = request.folder.paths([_FILE], wanted_by="tmu-gfm")[_FILE]
    rows: Sequence[Row] = read_table(path, texts=True).rows
    part = ""
    if info.name == "tmu-gfm-test":
        rows = _test_part(rows)
        part = " of the test part (by source, seed 0)"
    # The file has a row for each output; a sentence of the corpus needs one of every system.
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        by_source.setdefault(row["source"].strip(), []).append(row)
    sentences, incomplete = _complete(by_source, names)
    sources = tuple(source for source, _ in sentences)
    texts = {n: Version(tuple(made[n]["output"].strip() for _, made in sentences)) for n in names}
    corpus = request.corpus(sources, texts)
    raters = {
        aspect: np.array(
            [[_ratings(made[n], column) for _, made in sentences] for n in names]
        ).transpose(2, 0, 1)
        for aspect, column in _COLUMNS.items()
    }
    ratings = {aspect: defined_mean(table, 0) for aspect, table in raters.items()}
    # Nobody judged a correction as a whole, so the three aspects have equal weights.
    mean = np.mean(list(ratings.values()), axis=0)
    return request.benchmark(
        corpus,
        rankings={"sentence": rank_ratings(mean, corpus)},
        human={"sentence": {"mean": dict(zip(names, mean.mean(axis=1).tolist(), strict=True))}},
        notes=(
            "rankings are derived from the mean of grammaticality, fluency and meaning: one item "
            "per sentence, equal means are a tie; the text is not tokenised",
            f"{incomplete} sources{part} are left out: not every system's output is in the data",
        ),
        segment_scores=mean,
        ratings=ratings,
        raters=raters,
    )


def _test_part(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the sources that training on this file keeps for its test part.

    Training draws among the rows it can use: those that at most half of the raters marked "other"
    in each aspect.
    """
    columns = _COLUMNS.values()
    used = [
        row["source"]
        for row in rows
        if all(2 * np.isnan(_ratings(row, column)).sum() <= _RATERS for column in columns)
    ]
    test = {normalise(used[row]) for row in split_sources(used).test}
    return [row for row in rows if normalise(row["source"]) in test]


def _complete(
    by_source: Mapping[str, Sequence[Row]], names: Sequence[str]
) -> tuple[list[tuple[str, dict[str, Row]]], int]:
    """Return each source with every system's row, and how many sources lack one.

    Corrections made by several systems are one row that names them all. A source that occurs
    again was rated again.
    """
    complete: list[tuple[str, dict[str, Row]]] = []
    incomplete = 0
    for source, rows in by_source.items():
        made: dict[str, list[Row]] = {name: [] for name in names}
        for row in rows:
            for name in row["system"].split(","):
                made.setdefault(name.strip(), []).append(row)
        times = min(len(made[name]) for name in names)
        incomplete += not times
        complete += [(source, {name: made[name][time] for name in names}) for time in range(times)]
    return complete, incomplete


def _ratings(row: Row, column: str) -> list[float]:
    """Return the five ratings of a cell; NaN for "other"."""
    values = map(float, row[column].split(","))
    return [value if value > 0 else float("nan") for value in values]
