"""Decisions on whether a correction is good, by thresholds learnt from other sources."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark, CorrectionLabels
from gecjury.cli import main
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.edits.corrections import Decided, best_threshold, decisions
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.test_study import benchmark

SIZE = 10
RATINGS = np.array([[4.0] * SIZE, [2.0] * SIZE])


def rated() -> Benchmark:
    """Return ten sources with a good correction of system A and a bad one of B."""
    sources = tuple(f"source {number}" for number in range(SIZE))
    systems = {
        name: Version(tuple(f"{source} {name}" for source in sources)) for name in ("A", "B")
    }
    return replace(
        benchmark(),
        corpus=Corpus(sources, systems),
        rankings={},
        human={"edit": {"mean": {"A": 4.0, "B": 2.0}}},
        system_sets={"all": ("A", "B")},
        sentence_ids=tuple(range(SIZE)),
        segment_scores=RATINGS,
    )


def decided(of: Benchmark, scores: FloatArray, over: str = "none", **settings: float) -> Decided:
    how = Settings(resampling=Resampling(over=over, resamples=100), **settings)  # type: ignore[arg-type]
    table = sentence_table("mine", of.corpus.names, scores, "refless")
    return decisions(Study(of, how), [table])[0]


def mostly_right() -> FloatArray:
    """Return scores that are right on nine of the sources."""
    scores = np.array([[0.9] * SIZE, [0.1] * SIZE])
    scores[:, 0] = [0.1, 0.9]
    return scores


@pytest.mark.parametrize(
    ("scores", "truth", "threshold"),
    [
        # F0.5 of keeping the best one, two, three, all: .714, .909, .667, .789.
        ([4.0, 3.0, 2.0, 1.0], [1, 1, 0, 1], 3.0),
        # Equal scores stay together: .5 for the two, .714 for all.
        ([3.0, 3.0, 1.0], [1, 0, 1], 1.0),
        ([3.0, 1.0], [0, 0], float("inf")),
    ],
)
def test_the_threshold_has_the_highest_f(
    scores: list[float], truth: list[int], threshold: float
) -> None:
    assert best_threshold(np.array(scores), np.array(truth) > 0) == threshold


def test_a_decision_by_hand() -> None:
    figures = decided(rated(), mostly_right(), good=3).agreement
    # Nine good corrections and one bad one are kept, half of all twenty.
    assert (figures.precision, figures.recall, figures.f) == (0.9, 0.9, pytest.approx(0.9))
    assert (figures.kept, figures.threshold) == (0.5, 0.9)
    assert (figures.better, figures.pairs) == (0.9, SIZE)
    assert (figures.good, figures.bad, figures.missing) == (SIZE, SIZE, 0)


def test_a_threshold_is_learnt_from_other_sources() -> None:
    scores = mostly_right()
    # The single high score would be the threshold if it were learnt from its own source.
    scores[1, 0] = 5.0
    labels = RATINGS.copy()
    labels[:, :] = 2.0
    labels[1, 0] = 4.0
    figures = decided(replace(rated(), segment_scores=labels), scores, good=3).agreement
    assert figures.threshold == 5.0
    # The other sources have no good correction, so nothing of this source is kept; with the
    # threshold 5, nothing of the others is kept either.
    assert (figures.recall, figures.kept) == (0.0, 0.0)


def test_labels_need_no_bound_and_a_single_class_has_no_decision() -> None:
    words = (("good",) * SIZE, ("bad",) * SIZE)
    labels = CorrectionLabels(values=words, true="good", false={"bad": "not good"})
    of = replace(rated(), segment_scores=None, labels=labels)
    assert decided(of, mostly_right()).agreement.precision == 0.9
    alike = replace(of, labels=replace(labels, values=(words[0], words[0])))
    table = sentence_table("mine", of.corpus.names, mostly_right(), "refless")
    assert decisions(Study(alike), [table]) == ()
    assert decisions(Study(rated()), [table]) == ()


def test_intervals_contain_the_figures() -> None:
    row = decided(rated(), mostly_right(), "sentences", good=3)
    assert set(row.intervals) == {"precision", "recall", "f", "kept"}
    for name, (low, high) in row.intervals.items():
        assert low <= getattr(row.agreement, name) <= high
    assert row.intervals["precision"][0] < row.intervals["precision"][1]


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError, match="from 2 to 4, so all corrections would be good"):
        compare(rated(), ["changes"], Settings(good=2, level="sentence"))
    with pytest.raises(OptionError, match="all corrections would be bad"):
        compare(rated(), ["changes"], Settings(good=5, level="sentence"))
    assert main(["compare", "sample", "-m", "changes", "--good", "3"]) == 2
    assert "--good 3: sample has no ratings" in capsys.readouterr().err
    assert main(["compare", "sample", "-m", "changes", "--good", "3", "--level", "system"]) == 2
    assert "--good 3 with --level system" in capsys.readouterr().err
