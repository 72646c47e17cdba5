"""How much data tells a difference: against closed forms, and against data made to measure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.decisions.power import PowerSettings, power, power_of_scores
from gecjury.errors import InputError, OptionError
from gecjury.scoring.given_scores import GivenScores
from gecjury.stats.sizes import needed, needed_for_width

COUNT = 400


def given(path: Path, spread: float = 0.3, count: int = COUNT) -> GivenScores:
    """Two systems whose difference has a known standard deviation."""
    rng = np.random.default_rng(5)
    one = rng.random(count)
    two = one + rng.normal(0.02, spread, count)
    lines = [f"{a},{b}" for a, b in zip(one, two, strict=True)]
    path.write_text("\n".join(["one,two", *lines]) + "\n")
    return GivenScores(file=str(path))


def test_closed_forms() -> None:
    # 1.96 + 0.8416 squared is 7.849
    assert needed(1.0, 0.1) == 785
    assert needed(0.5, 0.1) == 197
    assert needed(1.0, 0.1, power=0.9) == 1051
    assert needed_for_width(1.0, 0.1) == 1537
    assert needed(0.0, 0.1) == 1


def test_the_deviation_of_means_is_that_of_the_differences(tmp_path: Path) -> None:
    file = given(tmp_path / "scores.csv")
    found = power_of_scores([file], PowerSettings(differences=(0.05,), widths=(0.1,)))
    difference, width = found.needs
    rows = file.held.rows
    apart = rows["one"][0].scores(COUNT) - rows["two"][0].scores(COUNT)
    spread = apart.std(ddof=1)
    assert difference.analytic == pytest.approx(spread)
    assert difference.deviation == pytest.approx(spread, rel=0.05)
    assert difference.needed == needed(difference.deviation, 0.05)
    assert difference.between[0] < difference.needed < difference.between[1]
    assert difference.observed == pytest.approx(abs(apart.mean()))
    assert difference.error == pytest.approx(spread / math.sqrt(COUNT), rel=0.05)
    assert difference.slope == pytest.approx(-0.5, abs=0.05)
    # What was promised comes true.
    assert difference.told == pytest.approx(0.8, abs=0.07)
    assert width.target == "width"
    assert width.needed == needed_for_width(difference.deviation, 0.1)


def test_more_power_and_smaller_differences_need_more(tmp_path: Path) -> None:
    file = given(tmp_path / "scores.csv")
    settings = PowerSettings(differences=(0.1, 0.05))
    large, small = power_of_scores([file], settings).needs
    assert small.needed == pytest.approx(4 * large.needed, abs=4)
    (sure,) = power_of_scores([file], PowerSettings(differences=(0.1,), power=0.95)).needs
    assert sure.needed > 1.6 * large.needed


def test_forecasts_from_few_sentences_meet_what_all_give(tmp_path: Path) -> None:
    found = power_of_scores([given(tmp_path / "scores.csv")], PowerSettings(tried=True))
    assert [each.start for each in found.forecasts] == [50, 100, 200]
    widths = []
    for each in found.forecasts:
        low, high = each.between
        assert low < each.observed < high
        assert each.needed_between[0] < each.needed_all < each.needed_between[1]
        assert each.told == pytest.approx(0.8, abs=0.08)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)


def test_a_benchmark_answers_all_questions() -> None:
    settings = PowerSettings(resamples=60)
    found = power(load_benchmark("sample"), metrics=["green", "gleu"], settings=settings)
    asked = [(need.question, need.unit) for need in found.needs]
    assert list(dict.fromkeys(asked)) == [
        ("scores", "sentences"),
        ("judgments", "judged pairs"),
        ("accuracy", "sentences"),
        ("pearson", "sentences"),
        ("pearson", "systems"),
    ]
    assert {need.pairs for need in found.needs if need.question == "scores"} == {15}
    assert all(need.needed > 0 for need in found.needs)


def test_two_systems_alone() -> None:
    settings = PowerSettings(questions=("scores",), systems=("careful", "hasty"), resamples=60)
    found = power(load_benchmark("sample"), metrics="green", settings=settings)
    assert {need.pairs for need in found.needs} == {1}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"power": 1.0}, "--power 1.0: expected a number between 0 and 1"),
        ({"level": 0.0}, "--level 0.0: expected a number between"),
        ({"power": 0.05}, "--power 0.05: expected more than --level"),
        ({"differences": (0.0,)}, "--difference 0.0: expected a number above 0"),
        ({"widths": (-1.0,)}, "--width -1.0: expected a number above 0"),
        ({"systems": ("one",)}, "--system: 1 named; expected two"),
        ({"systems": ("one", "one")}, "--system one: named twice"),
        ({"systems": ("one", "to")}, "--system to: did you mean two"),
        ({"questions": ("judgments",)}, "expected a benchmark with people's judgments"),
        ({"resamples": 5}, "--resamples 5: expected 20 to 100000"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    tmp_path: Path, settings: dict[str, object], told: str
) -> None:
    with pytest.raises(OptionError, match=told):
        power_of_scores([given(tmp_path / "scores.csv")], PowerSettings(**settings))  # type: ignore[arg-type]


def test_what_holds_too_little_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 sentences: a standard error needs at least 5"):
        power_of_scores([given(tmp_path / "few.csv", count=3)])
    same = tmp_path / "same.csv"
    same.write_text("one,two\n" + "0.5,0.5\n" * 30)
    with pytest.raises(InputError, match="do not differ in any sentence"):
        power_of_scores([GivenScores(file=str(same))])
    with pytest.raises(OptionError, match="nothing can be told"):
        power(load_benchmark("sample").corpus)
