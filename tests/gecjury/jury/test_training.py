"""Training a jury: pairs, exclusion, folds by source, known weights, missing members."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.leakage import sentence_key
from gecjury.jury.model import JuryModel, Member
from gecjury.jury.training import TrainingPairs, collect_pairs, train_jury

MEMBERS = (Member("gleu"), Member("green"), Member("errant"))


def drawn(
    rng: np.random.Generator, weights: FloatArray, pairs: int, name: str = "made"
) -> TrainingPairs:
    """Pairs of standard normal scores, four per source, decided with probability σ(w·gap)."""
    first, second = rng.normal(size=(2, pairs, len(weights)))
    win = rng.random(pairs) < 1 / (1 + np.exp(-(first - second) @ weights))
    return TrainingPairs(
        name,
        np.where(win[:, None], first, second),
        np.where(win[:, None], second, first),
        tuple(f"{name}{k // 4}" for k in range(pairs)),
        {"benchmark": name},
    )


def weights_of(jury: JuryModel) -> list[float]:
    return [member.weight for member in jury.members]


def test_the_true_weights_are_recovered() -> None:
    wanted = np.array([1.5, 0.5, 0.0])
    part = drawn(np.random.default_rng(2), wanted, 6000)
    jury = train_jury([part], MEMBERS, Runtime(), strengths=(1.0,))
    assert weights_of(jury) == pytest.approx(wanted, abs=0.1)
    assert [member.scale for member in jury.members] == pytest.approx(np.ones(3), abs=0.02)
    rows = {row["member"]: row for row in jury.record["members"]}
    assert rows["gleu"]["worth"] > rows["green"]["worth"] > rows["errant"]["worth"]
    assert rows["gleu"]["worth"] > 5 * rows["gleu"]["worth_error"]
    assert jury.record["accuracy"] > max(row["alone"] for row in rows.values())
    assert rows["gleu"]["without"] == pytest.approx(jury.record["accuracy"] - rows["gleu"]["worth"])


def test_accuracy_by_hand() -> None:
    # One member: any positive weight gives its preferences, so the folds do not matter.
    # Gaps by source: A 1, 1, −1; B 1, 0; C −1; D 1, 1.
    gaps = np.array([1.0, 1.0, -1.0, 1.0, 0.0, -1.0, 1.0, 1.0])
    sources = ("A", "A", "A", "B", "B", "C", "D", "D")
    part = TrainingPairs("tiny", gaps[:, None], np.zeros((8, 1)), sources)
    jury = train_jury([part], MEMBERS[:1], Runtime(), strengths=(1.0,), folds=4)
    # 5 right, 1 tie, 2 wrong: 5.5/8. One fold per source: means 2/3, 3/4, 0, 1; their mean
    # is 29/48, their squared distances sum to 0.546875, √(0.546875/3)/√4 = 0.213478.
    assert jury.record["accuracy"] == pytest.approx(5.5 / 8)
    assert jury.record["error"] == pytest.approx(0.213478, abs=1e-6)
    assert jury.record["members"][0]["alone"] == pytest.approx(5.5 / 8)
    assert "worth" not in jury.record["members"][0]  # there is no jury without it


def test_the_pull_is_the_strongest_that_costs_nothing() -> None:
    # All members are alike: equal weights are right, so the strongest pull is chosen.
    part = drawn(np.random.default_rng(4), np.array([0.7, 0.7, 0.7]), 1200)
    jury = train_jury([part], MEMBERS, Runtime())
    assert jury.record["strength"] == 10000.0
    # Only one member matters: a pull to equal weights costs much, so it is weak.
    part = drawn(np.random.default_rng(4), np.array([3.0, 0.0, 0.0]), 1200)
    assert train_jury([part], MEMBERS, Runtime()).record["strength"] <= 100.0


def test_a_member_missing_from_one_benchmark_is_filled_in() -> None:
    rng = np.random.default_rng(6)
    wanted = np.array([1.0, 1.0, 0.5])
    whole = drawn(rng, wanted, 2000, "whole")
    part = drawn(rng, wanted, 2000, "part")
    part.preferred[:, 0] = part.other[:, 0] = np.nan
    jury = train_jury([whole, part], MEMBERS, Runtime(), strengths=(1.0,))
    # Scores are drawn independently: the others predict gaps of about 0 for the missing member, and
    # its part in the decisions is noise to them, so that their weights shrink there.
    assert weights_of(jury)[0] == pytest.approx(1.0, abs=0.2)
    assert 0.6 < weights_of(jury)[1] < 1.1
    assert np.isfinite(weights_of(jury)).all()
    rows = {row["benchmark"]: row for row in jury.record["by_benchmark"]}
    assert rows["whole"]["accuracy"] > rows["part"]["accuracy"]
    assert {"from_others"} <= set(rows["whole"])
    scored = [row["scored"] for row in jury.record["members"]]
    assert scored == [2000, 4000, 4000]
    with pytest.raises(InputError, match=r"gleu scores none.*part: no score"):
        train_jury([part], MEMBERS, Runtime())


def test_wrong_use() -> None:
    part = drawn(np.random.default_rng(0), np.ones(3), 40)
    with pytest.raises(OptionError, match="named twice"):
        train_jury([part], (MEMBERS[0],) * 3, Runtime())
    with pytest.raises(OptionError, match="needs members"):
        train_jury([part], (), Runtime())
    with pytest.raises(InputError, match="10 sources cannot be split into 11 folds"):
        train_jury([part], MEMBERS, Runtime(), folds=11)


def test_pairs_of_the_sample() -> None:
    benchmark = load_benchmark("sample", systems="all")
    members = (Member("green"), Member("gleu", "official"), Member("gleu", "10refs"))
    part = collect_pairs(benchmark, members, "edit", frozenset(), Runtime())
    pairs = expand_pairs(benchmark.rankings["edit"], benchmark.corpus.names, "unexpanded")
    assert len(part.gaps) == len(pairs.decided)
    assert part.record["ties"] == len(pairs) - len(pairs.decided)
    assert list(part.record["absent"]) == ["gleu@10refs"]
    assert np.isnan(part.gaps[:, 2]).all()
    table = members[0].scorer().score_corpus(benchmark.corpus).sentences
    pair = pairs.decided.select(np.array([7]))
    gap = table[pair.first, pair.sentence] - table[pair.second, pair.sentence]
    assert part.gaps[7, 0] == pytest.approx((gap * pair.preference)[0])
    # A source in another spelling is the same source.
    source = benchmark.corpus.sources[pair.sentence[0]]
    less = collect_pairs(
        benchmark, members[:1], "edit", {sentence_key(source.upper().replace(" ", ""))}, Runtime()
    )
    gone = int((pairs.decided.sentence == pair.sentence[0]).sum())
    assert gone > 0
    assert len(less.gaps) == len(part.gaps) - gone
    assert less.record["excluded_sources"] == 1
    assert less.record["excluded_pairs"] == gone
    assert sentence_key(source) not in less.sources


def test_seeda_and_gjg15_share_199_sources(data_dir: Path) -> None:
    seeda = load_benchmark("seeda", data=data_dir).corpus.sources
    gjg15 = load_benchmark("gjg15", data=data_dir)
    excluded = frozenset(map(sentence_key, seeda))
    part = collect_pairs(gjg15, (Member("gleu"),), "sentence", excluded, Runtime())
    assert part.record["excluded_sources"] == 199
    assert not excluded & set(part.sources)


def test_a_member_without_direction_may_count_against() -> None:
    members = (Member("gleu"), Member("green"), Member("changes"))
    part = drawn(np.random.default_rng(3), np.array([1.0, 0.0, -1.0]), 3000)
    jury = train_jury([part], members, Runtime(), strengths=(1.0,))
    assert weights_of(jury)[2] == pytest.approx(-1.0, abs=0.15)
    # The pull is towards equal weights of the members with a direction, and towards 0 for it.
    pulled = train_jury([part], members, Runtime(), strengths=(1e9,))
    assert weights_of(pulled)[0] == pytest.approx(weights_of(pulled)[1], rel=1e-3)
    assert weights_of(pulled)[0] > 0.1
    assert weights_of(pulled)[2] == pytest.approx(0.0, abs=1e-4)
