"""autoJQE (Suzuki et al. 2022): Japanese corrections, each rated by three people.

Unnamed systems corrected sentences of TEC-JL and FLUTEC, and whole corrections were rated from 1 to
4. 0 means no rating: the means in the release leave it out, and are 0 where two of three raters
gave 0; such a correction has no rating here. `autojqe-test` contains the sources that training on
this set keeps for its test part.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.benchmarks.places import lay_out, placed_benchmark, placed_corpus
from gecjury.corpus.leakage import normalise
from gecjury.corpus.rows import read_table
from gecjury.corpus.splits import split_sources

AUTOJQE_FILES = ("autoJQE/datasets/human_qe_TECJL.csv", "autoJQE/datasets/human_qe_FLUTEC.csv")
"""The paths of the files in a data folder, in the order in which they are read."""

_SOURCE, _CORRECTION, _RATINGS = "原文", "訂正", "個別評価"
_RATERS = 3


@dataclass(frozen=True, slots=True)
class RatedCorrection:
    """One row of a file.

    Attributes:
        source: text as written.
        correction: text as written.
        ratings: the ratings of each rater, 1 to 4; NaN for 0.
        rating: their mean; NaN where fewer than two rated it.
    """

    source: str
    correction: str
    ratings: tuple[float, ...]

    @property
    def rating(self) -> float:
        """Return the mean of the ratings; NaN where most raters gave none."""
        ratings = [value for value in self.ratings if value == value]
        return sum(ratings) / len(ratings) if 2 * len(ratings) > len(self.ratings) else float("nan")


def read_autojqe(path: Path) -> list[RatedCorrection]:
    """Read one file of the release."""
    corrections = []
    for row in read_table(path).rows:
        values = row[_RATINGS].split(",")
        ratings = tuple(float(value) if value != "0" else float("nan") for value in values)
        corrections.append(RatedCorrection(row[_SOURCE], row[_CORRECTION], ratings))
    return corrections


def load_autojqe(request: LoadRequest) -> Benchmark:
    """Load autoJQE or its test part for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    paths = request.folder.paths(AUTOJQE_FILES, wanted_by="autojqe")
    # A source in both files was corrected and rated twice: it counts as two sources here.
    read = [(name, row) for name in AUTOJQE_FILES for row in read_autojqe(paths[name])]
    part = ""
    if info.name == "autojqe-test":
        part = " of the test part (by source, seed 0)"
        used = [row.source for _, row in read if row.rating == row.rating]
        test = {normalise(used[place]) for place in split_sources(used).test}
        read = [(name, row) for name, row in read if normalise(row.source) in test]
    rows = [row for _, row in read]
    layout = lay_out([r.source for r in rows], [(name, r.source) for name, r in read])
    corpus = placed_corpus(request, layout, [row.correction for row in rows])
    rating = layout.table([row.rating for row in rows])
    raters = np.stack(
        [layout.table([row.ratings[rater] for row in rows]) for rater in range(_RATERS)]
    )
    # Where a correction has no mean, its single ratings are dropped, so that both cover the same.
    raters[:, np.isnan(rating)] = np.nan
    rated = int(np.count_nonzero(~np.isnan(rating)))
    notes = (
        f"{len(rows)} corrections{part} of {len(layout.sources)} sources, {rated} with a rating by "
        f"two or three people; {len(rows) - rated} that most raters gave 0 have none",
        "the data name no systems: corrections are compared within a source and over all sources; "
        "there is no system level",
        "rankings are derived from the mean rating: one item per source, equal means are a tie",
    )
    return placed_benchmark(
        request,
        corpus,
        layout,
        notes,
        rankings={"sentence": rank_ratings(rating, corpus)},
        segment_scores=rating,
        raters={"rating": raters},
    )
