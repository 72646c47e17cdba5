"""`gecjury power`: compared with closed forms and with simulated data; invalid input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury import Power, Resampling
from gecjury.core.errors import InputError, OptionError
from gecjury.report.tables import to_json
from gecjury.scoring.given_scores import GivenScores
from gecjury.stats.sizes import needed, needed_for_width
from tests.shell import Shell

COUNT = 400
FEW = Resampling(over="sentences", resamples=60)


def given(path: Path, spread: float = 0.3, count: int = COUNT) -> GivenScores:
    """Write scores of two systems whose difference has a known standard deviation."""
    rng = np.random.default_rng(5)
    one = rng.random(count)
    two = one + rng.normal(0.02, spread, count)
    path.write_text(table({"one": one, "two": two}))
    return GivenScores(file=str(path))


def table(scores: dict[str, Any]) -> str:
    rows = (f"{name},{n},{s}\n" for name, of in scores.items() for n, s in enumerate(of, 1))
    return "system,line,score\n" + "".join(rows)


def test_closed_forms() -> None:
    # 1.96 + 0.8416 squared is 7.849
    assert needed(1.0, 0.1) == 785
    assert needed(0.5, 0.1) == 197
    assert needed(1.0, 0.1, power=0.9) == 1051
    assert needed_for_width(1.0, 0.1) == 1537
    assert needed(0.0, 0.1) == 1


def test_the_deviation_of_means_is_that_of_the_differences(tmp_path: Path) -> None:
    file = given(tmp_path / "scores.csv")
    settings = Power(differences=(0.05,), widths=(0.1,))
    difference, width = gecjury.power(None, file, settings).rows()
    rows = file.held.rows
    apart = rows["one"][0].scores(COUNT) - rows["two"][0].scores(COUNT)
    spread = apart.std(ddof=1)
    assert difference["analytic"] == pytest.approx(spread)
    assert difference["deviation"] == pytest.approx(spread, rel=0.05)
    assert difference["needed"] == needed(difference["deviation"], 0.05)
    assert difference["between"][0] < difference["needed"] < difference["between"][1]
    assert difference["observed"] == pytest.approx(abs(apart.mean()))
    assert difference["error"] == pytest.approx(spread / math.sqrt(COUNT), rel=0.05)
    assert difference["slope"] == pytest.approx(-0.5, abs=0.05)
    # The predicted number of sentences reaches the requested power.
    assert difference["told"] == pytest.approx(0.8, abs=0.07)
    assert width["target"] == "width"
    assert width["needed"] == needed_for_width(difference["deviation"], 0.1)


def test_more_power_and_smaller_differences_need_more(tmp_path: Path) -> None:
    file = given(tmp_path / "scores.csv")
    large, small = gecjury.power(None, file, Power(differences=(0.1, 0.05))).rows()
    assert small["needed"] == pytest.approx(4 * large["needed"], abs=4)
    (sure,) = gecjury.power(None, file, Power(differences=(0.1,), power=0.95)).rows()
    assert sure["needed"] > 1.6 * large["needed"]


def test_forecasts_from_few_sentences_agree_with_the_result_of_all(tmp_path: Path) -> None:
    result = gecjury.power(None, given(tmp_path / "scores.csv"), Power(tried=True))
    forecasts = result.table("forecasts").rows
    assert [row["start"] for row in forecasts] == [50, 100, 200]
    widths = []
    for row in forecasts:
        low, high = row["between"]
        assert low < row["observed"] < high
        fewest, most = row["needed_between"]
        assert fewest < row["needed_all"] < most
        assert row["told"] == pytest.approx(0.8, abs=0.08)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)


def test_all_questions_can_be_asked_of_a_benchmark() -> None:
    rows = gecjury.power("sample", ["green", "gleu"], Power(resampling=FEW)).rows()
    asked = [(row["question"], row["unit"]) for row in rows]
    assert list(dict.fromkeys(asked)) == [
        ("scores", "sentences"),
        ("judgments", "judged pairs"),
        ("accuracy", "sentences"),
        ("pearson", "sentences"),
        ("pearson", "systems"),
    ]
    assert {row["pairs"] for row in rows if row["question"] == "scores"} == {15}
    assert all(row["needed"] > 0 for row in rows)


def test_two_systems_alone() -> None:
    settings = Power(questions=("scores",), pair=("careful", "hasty"), resampling=FEW)
    results = [gecjury.power("sample", metric, settings) for metric in ("green", "gleu")]
    assert [{row["pairs"] for row in result.rows()} for result in results] == [{1}, {1}]
    # GLEU's length penalty biases samples, green has none.
    penalties = ["length penalty" in " ".join(result.notes) for result in results]
    assert penalties == [False, True]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 1.0}, "--power 1.0: expected a number between 0 and 1"),
        ({"power": 0.05}, "--power 0.05: expected more than --level"),
        ({"differences": (0.0,)}, "--difference 0.0: expected more than 0"),
        ({"widths": (-1.0,)}, "--width -1.0: expected more than 0"),
        ({"pair": ("one",)}, "--system: one named; expected two"),
        ({"pair": ("one", "one")}, "--system: one, one named; expected two"),
        ({"pair": ("one", "to")}, "--system to: did you mean two"),
        ({"questions": ("judgments",)}, "expected a benchmark with people's judgments"),
        ({"questions": ("scored",)}, "unknown value of --what 'scored'"),
        ({"resampling": Resampling(resamples=5)}, "--resamples 5: expected 20 to 100000"),
    ],
)
def test_invalid_settings_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        gecjury.power(None, given(tmp_path / "scores.csv"), Power(**settings))


def test_too_little_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 sentences: a standard error needs at least 5"):
        gecjury.power(None, given(tmp_path / "few.csv", count=3))
    same = tmp_path / "same.csv"
    same.write_text(table({"one": [0.5] * 30, "two": [0.5] * 30}))
    with pytest.raises(InputError, match="do not differ in any sentence"):
        gecjury.power(None, GivenScores(file=str(same)))
    with pytest.raises(OptionError, match="these data answer no question"):
        gecjury.power(gecjury.load_benchmark("sample").corpus, ())
    with pytest.raises(OptionError, match="no texts: give a corpus"):
        gecjury.power(None, "green")


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def scores(shell: Shell) -> str:
    """The name of a file of scores in the shell's folder."""
    shell.write("s.csv", table({"a": [i % 7 for i in range(60)], "b": [i % 5 for i in range(60)]}))
    return "s.csv"


def test_the_command_prints_what_the_function_gives(shell: Shell, scores: str) -> None:
    how = Resampling(over="sentences", resamples=30, level=0.1)
    settings = Power(
        differences=(0.5,), widths=(1.0,), power=0.9, resampling=how, tried=True, seed=4
    )
    result = gecjury.power(None, GivenScores(file=scores), settings)
    words = ["-d", "0.5", "--width", "1", "--power", "0.9", "--resamples", "30", "--level", "0.1"]
    words += ["--try", "--seed", "4"]
    status, out, _ = shell("power", scores, *words, "--format", "json")
    own = json.loads(out)
    assert (status, own["inputs"]) == (0, [scores])
    assert {**own, "inputs": []} == json.loads(to_json(result.document()))
    assert [row["target"] for row in own["rows"]] == ["difference", "width"]
    status, out, _ = shell("power", scores, *words)
    assert status == 0
    assert "Forecasts from few sentences" in out


def test_the_judgments_question_needs_no_metric(shell: Shell) -> None:
    status, out, _ = shell("power", "sample", "--resamples", "20", "-d", "0.1")
    assert status == 0
    assert "people's edit view" in out


def test_a_dry_run_sends_no_requests(shell: Shell, scores: str) -> None:
    status, out, _ = shell("power", scores, "--dry-run")
    assert (status, json.loads(out)["requests"]) == (0, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s.csv", "-m", "green"], "s.csv contains scores"),
        (["s.csv", "--power", "2"], "--power 2.0: expected"),
        (["sample", "--what", "scores"], "--what scores: expected a metric with -m"),
        (["sample", "--system", "x", "--system", "y"], "--system x:"),
    ],
)
def test_refusals(shell: Shell, scores: str, words: list[str], message: str) -> None:
    status, out, err = shell("power", *words)
    assert (status, out) == (2, "")
    assert message in err
