"""The estimated effort of a comparison, which is reported if it is long."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.core.wording import duration
from gecjury.corpus.texts import corpus_of_texts
from gecjury.metaeval.cautions import _effort, warning
from gecjury.metaeval.comparison import checked
from gecjury.metaeval.settings import Settings
from gecjury.stats.resampling import Resampling


@cache
def many(systems: int, sentences: int, places: int = 2) -> Benchmark:
    """Return a benchmark of systems that copy the source, with one ranking of some of them."""
    names = [f"s{number}" for number in range(systems)]
    corpus = corpus_of_texts(["a"] * sentences, dict.fromkeys(names, ["a"] * sentences))
    groups = tuple((name,) for name in names[:places])
    item = RankedItem("1", 0, "one", groups, tuple(range(1, places + 1)))
    return replace(
        load_benchmark("sample"), corpus=corpus, rankings={"edit": (item,)}, human={"edit": {}}
    )


def seconds(benchmark: Benchmark, metrics: int, **settings: Any) -> dict[str, float]:
    return _effort(benchmark, metrics, Settings(**settings))[0]


def test_short_durations_are_not_reported() -> None:
    assert warning(load_benchmark("sample"), 12, Settings(human="both")) == ""
    assert warning(many(2000, 1000), 1, Settings(aggregate="mean")) == ""
    # By default two opponents each: 2,000 · 2 / 2 · 1,000 games for 2 metrics and 4 baselines.
    sampled = seconds(many(2000, 1000), 2)
    assert sampled["TrueSkill"] == pytest.approx(6 * 2e6 * 8e-7)
    assert warning(many(2000, 1000), 2, Settings()) == ""


def test_long_durations_are_reported_with_cause_and_remedy() -> None:
    text = warning(many(2000, 1000), 2, Settings(aggregate="expected-wins"))
    assert text.startswith("sample: 2\u202f000 systems × 1\u202f000 sentences will take about ")
    assert "Expected Wins of resampled sentences" in text
    assert "; quicker: `aggregate=mean`, or fewer `resamples=` than 1\u202f000" in text
    assert text.endswith("Ctrl-C stops it")
    none = Resampling(over="none")
    assert seconds(many(2000, 1000), 2, resampling=none)["TrueSkill of resampled sentences"] == 0


def test_durations() -> None:
    assert [duration(time) for time in (0.2, 301, 3 * 3600, 100 * 3600)] == [
        "1 second", "5 minutes", "3 hours", "4 days",
    ]  # fmt: skip


def test_huge_numbers_are_refused_before_anything_is_scored() -> None:
    with pytest.raises(OptionError, match="`resamples=1000000000000`: expected 1 to 1000000"):
        Settings(resampling=Resampling(resamples=10**12))
    large = Settings(resampling=Resampling(resamples=1_000_000))
    with pytest.raises(OptionError, match="of 20074 sentences and systems"):
        checked(replace_sentences(load_benchmark("sample")), ["changes"], large)


def replace_sentences(sample: Benchmark) -> Benchmark:
    """Return the sample with 20,068 sentences."""
    corpus, more = sample.corpus, ["a"] * 20_000
    texts = {name: [*version.lines, *more] for name, version in corpus.systems.items()}
    return replace(sample, corpus=corpus_of_texts([*corpus.sources, *more], texts))
