"""The estimated effort of a comparison, which is reported if it is long."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.corpus.corpus import corpus_of_texts
from gecjury.metaeval.comparison import check
from gecjury.metaeval.effort import Effort, effort, told
from gecjury.metaeval.settings import Settings
from gecjury.stats.resampling import Resampling


def many(systems: int, sentences: int, places: int = 2) -> Benchmark:
    """Return a benchmark of systems that copy the source, with one ranking of some of them."""
    names = [f"s{number}" for number in range(systems)]
    corpus = corpus_of_texts(["a"] * sentences, dict.fromkeys(names, ["a"] * sentences))
    groups = tuple((name,) for name in names[:places])
    item = RankedItem("1", 0, "one", groups, tuple(range(1, places + 1)))
    return replace(
        load_benchmark("sample"), corpus=corpus, rankings={"edit": (item,)}, human={"edit": {}}
    )


def test_short_durations_are_not_reported() -> None:
    sample = load_benchmark("sample")
    assert told(effort(sample, 12, Settings(human="both", pairwise=True))) == ""
    assert told(effort(many(2000, 1000), 1, Settings(aggregate="mean"))) == ""


def test_long_durations_are_reported_with_cause_and_remedy() -> None:
    text = told(effort(many(2000, 1000), 2, Settings(opponents=1999)))
    assert text.startswith("2\u202f000 systems × 1\u202f000 sentences will take about ")
    assert "TrueSkill of resampled sentences" in text
    assert "; quicker: --aggregate mean, or fewer --resamples than 1\u202f000" in text
    assert text.endswith("Ctrl-C stops it")
    assert told(effort(many(2000, 1000), 2, Settings(aggregate="mean"))) == ""
    # By default two opponents each: 2,000 · 2 / 2 · 1,000 games for 2 metrics and 3 baselines.
    sampled = effort(many(2000, 1000), 2, Settings())
    assert sampled.seconds["TrueSkill"] == pytest.approx(5 * 2e6 * 8e-7)
    assert told(sampled) == ""
    none = Settings(resampling=Resampling(over="none"))
    found = effort(many(2000, 1000), 2, none)
    assert found.seconds["TrueSkill of resampled sentences"] == 0
    assert found.quicker == ("--aggregate mean",)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        (Settings(aggregate="expected-wins"), "Expected Wins of resampled sentences"),
        (Settings(aggregate="mean", statistic="spa"), "tests of soft pairwise accuracy"),
        (Settings(aggregate="mean", ties="calibrated"), "judged pairs"),
        (Settings(aggregate="mean", grouping="item"), "segment level"),
        (Settings(aggregate="mean"), "tests"),
    ],
)
def test_every_setting_adds_its_part(settings: Settings, part: str) -> None:
    found = effort(many(200, 20, places=100), 3, settings)
    larger = effort(many(400, 20, places=200), 3, settings)
    assert larger.seconds[part] > found.seconds[part] > 0


@pytest.mark.security
def test_memory_for_judged_pairs_is_reported() -> None:
    ranked = many(3000, 1, places=3000)
    settings = Settings(aggregate="mean", level="system", ties="calibrated")
    text = told(effort(ranked, 1, settings))
    assert "and about 2 GB of memory for the judged pairs; less: --ties half" in text
    # Otherwise they are built from the rankings in batches.
    assert effort(ranked, 1, replace(settings, ties="half")).memory == 0
    grouped = effort(ranked, 1, Settings(aggregate="mean", grouping="item"))
    assert grouped.memory > 1e9
    assert "no --grouping" in grouped.quicker


def test_pairs_of_one_ranking_are_summed_faster_than_single_ones() -> None:
    settings = Settings(aggregate="mean")
    one = effort(many(500, 1, places=500), 1, settings).seconds["judged pairs"]
    # The same number of pairs, spread over many sentences.
    other = effort(many(500, 300, places=500), 1, settings).seconds["judged pairs"]
    assert one * 5 < other


def test_sparse_ratings_count_the_pairs_that_were_rated_together() -> None:
    ranked = many(200, 20)
    rated = replace(ranked, segment_scores=np.full((200, 20), np.nan))
    key = "soft pairwise accuracy"
    assert rated.rated
    assert effort(rated, 1, Settings()).seconds[key] == effort(ranked, 1, Settings()).seconds[key]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(301, "5 minutes"), (3 * 3600, "3 hours"), (100 * 3600, "4 days")],
)
def test_durations(seconds: float, said: str) -> None:
    text = told(Effort(5, 2, {"it": seconds}, 0, ()))
    assert text == f"5 systems × 2 sentences will take about {said} (it {said}). Ctrl-C stops it"


def test_huge_numbers_are_refused_before_anything_is_scored() -> None:
    with pytest.raises(OptionError, match="--resamples 1000000000000: expected at most"):
        Settings(resampling=Resampling(resamples=10**12))
    with pytest.raises(OptionError, match="--shuffles 1000000000000: expected at most"):
        Settings(shuffles=10**12)
    large = Settings(resampling=Resampling(resamples=1_000_000))
    with pytest.raises(OptionError, match="of 20074 sentences and systems"):
        check(replace_sentences(load_benchmark("sample")), ["changes"], large)


def replace_sentences(sample: Benchmark) -> Benchmark:
    """Return the sample with 20,068 sentences."""
    corpus, more = sample.corpus, ["a"] * 20_000
    texts = {name: [*version.lines, *more] for name, version in corpus.systems.items()}
    return replace(sample, corpus=corpus_of_texts([*corpus.sources, *more], texts))
