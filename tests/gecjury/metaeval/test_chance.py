"""Sentinels, and metrics rounded to the levels of a judge."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.cli import main
from gecjury.core.arrays import TOLERANCE
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.chance import in_levels, levels_of, sentence_table, sentinel_scores
from gecjury.metaeval.comparison import _rounded, compare
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.test_people import rated
from tests.gecjury.metaeval.test_study import SYSTEMS, benchmark

NAN = float("nan")
WORDS = ("red", "green", "blue", "grey", "pink", "black", "white", "brown", "cyan", "gold")


def good_and_bad() -> tuple[Corpus, np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return ten sources with corrections that add a good word, a bad word or nothing."""
    sources = tuple(f"the {word} hats" for word in WORDS)
    systems = {
        "good": Version(tuple(f"{source} nicely" for source in sources)),
        "bad": Version(tuple(f"{source} badly" for source in sources)),
        "none": Version(sources),
    }
    wanted = np.array([[3.0] * 10, [1.0] * 10, [2.0] * 10])
    return Corpus(sources, systems), wanted


def test_each_sentinel_sees_one_feature_only() -> None:
    corpus, wanted = good_and_bad()
    scores = sentinel_scores(corpus, wanted)
    good, bad, none = scores["sentinel-output"]
    assert (good > none).all()
    assert (none > bad).all()
    # All corrections of a source have the same score.
    assert (scores["sentinel-source"] == scores["sentinel-source"][0]).all()
    # Both insert one word; `nicely` is longer than `badly`.
    edits, length = scores["sentinel-edits"], scores["sentinel-length"]
    assert (edits[0] == edits[1]).all()
    assert (length[0] > length[1]).all()


def test_sentinels_never_learn_from_the_source_that_they_score() -> None:
    corpus, wanted = good_and_bad()
    changed = wanted.copy()
    changed[:, 3] = [-50.0, 90.0, 7.0]
    before, after = (sentinel_scores(corpus, judged) for judged in (wanted, changed))
    for name in before:
        # `settled` replaces scores that differ only by rounding with one of them. Which one depends
        # on the scores of other sources, and the rounding depends on how BLAS splits a product.
        assert before[name][:, 3] == pytest.approx(after[name][:, 3], rel=TOLERANCE)
        assert before[name][:, 4] != pytest.approx(after[name][:, 4], rel=1e-3) or (
            name == "sentinel-source"
        )


def test_equal_sources_are_in_the_same_fold() -> None:
    _, wanted = good_and_bad()
    one = Corpus(("same",) * 4, {"A": Version(("a", "b", "c", "d"))})
    with pytest.raises(ValueError, match="two different sources"):
        sentinel_scores(one, wanted[:1, :4])


def test_scores_take_each_level_as_often_as_the_judge() -> None:
    levels = np.array([[5.0, 1.0], [5.0, 1.0]])
    scores = np.array([[0.4, 0.1], [0.2, 0.3]])
    assert in_levels(scores, levels).tolist() == [[5.0, 1.0], [1.0, 5.0]]
    # Equal scores stay equal, and missing scores stay missing.
    tied = np.array([[0.1, 0.1, 0.9, 0.1, NAN]])
    assert in_levels(tied, np.array([1.0, 2.0, 3.0, 4.0])).tolist()[0][:4] == [2, 2, 4, 2]


def test_the_best_metric_is_rounded_to_the_levels_of_a_judge() -> None:
    names = tuple(SYSTEMS)
    judge = sentence_table("judge", names, np.array([[5.0] * 3, [5.0] * 3, [1.0] * 3]), "judges")
    good = sentence_table("mine", names, np.array([[0.9] * 3, [0.8] * 3, [0.1] * 3]), "refless")
    poor = sentence_table("poor", names, -good.sentences, "refless")
    study = Study(benchmark(), Settings(aggregate="mean"))
    results = [study.evaluate(table, ["edit"])[0] for table in (judge, poor, good)]
    (rounded,) = _rounded((judge, poor, good), results)
    assert rounded.signature.label == "mine (judge levels)"
    assert rounded.sentences.tolist() == [[5.0] * 3, [5.0] * 3, [1.0] * 3]
    assert levels_of(good) is None
    assert _rounded((judge,), results[:1]) == ()
    assert _rounded((poor, good), results[1:]) == ()


def test_quality_of_ratings_and_of_rankings() -> None:
    of = rated()
    assert Study(of).quality is of.segment_scores
    # By hand: A and B tie on the first, both above C; on the second A and B each win three of
    # four and C never; on the third A and B tie.
    quality = Study(benchmark()).quality
    assert quality[:, 0].tolist() == [0.75, 0.75, 0.0]
    assert quality[:, 1].tolist() == [0.75, 0.75, 0.0]
    assert quality[:2, 2].tolist() == [0.5, 0.5]
    assert np.isnan(quality[2, 2])


def test_a_caution_names_metrics_that_a_sentinel_reaches() -> None:
    settings = Settings(sentinels=True, resampling=Resampling(over="none"))
    found = compare("sample", ["gleu", "changes"], settings)
    names = [result.label for result in found.chance]
    assert names[3:] == [
        "sentinel-source", "sentinel-output", "sentinel-edits", "sentinel-length",
    ]  # fmt: skip
    accuracy = {r.label: r.sentence.accuracy for r in (*found.results, *found.chance) if r.sentence}
    best = max(accuracy[name] for name in names[3:])
    weak = [name for name in ("gleu", "changes") if accuracy[name] <= best]
    (caution,) = [one.text for one in found.cautions if one.heading == "Sentinels"] or [""]
    _, _, shown = caution.partition("sentence level, ")
    for name in ("gleu", "changes"):
        assert (name in shown) == (name in weak)


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OptionError, match="sentinels score whole corrections"):
        Settings(sentinels=True, level="edit")
    unjudged: Benchmark = benchmark()
    unjudged = unjudged.take([0])
    with pytest.raises(OptionError, match="fewer than 2 sources of toy"):
        compare(unjudged, ["changes"], Settings(sentinels=True))
    assert main(["compare", "sample", "-m", "gleu", "--level", "edit", "--sentinels"]) == 2
    assert "--sentinels with --level edit" in capsys.readouterr().err
