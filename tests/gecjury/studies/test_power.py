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
from gecjury.corpus.corpus import Corpus
from gecjury.report.tables import to_json
from gecjury.scoring.given_scores import GivenScores
from gecjury.stats.sizes import needed
from tests.shell import Shell

COUNT = 400
FEW = Resampling(over="sentences", resamples=60)


def corpus(count: int = COUNT) -> Corpus:
    lines = [f"line {number}" for number in range(count)]
    return gecjury.corpus_of_texts(lines, {"one": lines, "two": lines})


def given(path: Path, count: int = COUNT) -> GivenScores:
    """Write scores of two systems whose difference has a standard deviation near .3."""
    rng = np.random.default_rng(5)
    one = rng.random(count)
    two = one + rng.normal(0.02, 0.3, count)
    rows = [
        f"{name}\t{line}\t{score}"
        for name, scores in (("one", one), ("two", two))
        for line, score in enumerate(scores, 1)
    ]
    path.write_text("\n".join(["system\tline\tscore", *rows]) + "\n")
    return GivenScores(file=str(path))


def test_closed_forms() -> None:
    # 1.96 + 0.8416 squared is 7.849
    assert needed(1.0, 0.1) == 785
    assert needed(0.5, 0.1) == 197
    assert needed(1.0, 0.1, power=0.9) == 1051
    assert needed(0.0, 0.1) == 1


def test_the_deviation_of_means_is_that_of_the_differences(tmp_path: Path) -> None:
    file = given(tmp_path / "scores.tsv")
    rows = gecjury.power(corpus(), file, Power()).rows()
    scores = file.score_corpus(corpus(), gecjury.Runtime()).sentences
    apart = scores[0] - scores[1]
    spread = apart.std(ddof=1)
    for row, value in zip(rows, (0.01, 0.02, 0.05), strict=True):
        assert row["value"] == value
        assert row["deviation"] == pytest.approx(spread, rel=0.05)
        assert row["needed"] == needed(row["deviation"], value)
        assert row["between"][0] < row["needed"] < row["between"][1]
        assert row["observed"] == pytest.approx(abs(apart.mean()))
        assert row["error"] == pytest.approx(spread / math.sqrt(COUNT), rel=0.05)
        assert row["slope"] == pytest.approx(-0.5, abs=0.05)
    assert rows[0]["needed"] == pytest.approx(25 * rows[2]["needed"], abs=25)
    sure = gecjury.power(corpus(), file, Power(power=0.95)).rows()
    assert sure[0]["needed"] > 1.6 * rows[0]["needed"]


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 0.05}, "`power=0.05`: expected more than `level="),
        ({"pair": ("careful",)}, "`system=`: careful named; expected two"),
        ({"pair": ("careful", "careful")}, "`system=`: careful, careful named; expected two"),
        ({"pair": ("careful", "hast")}, "`system=hast`: did you mean hasty"),
        ({"questions": ("accuracy",)}, "`what=accuracy`: expected two metrics"),
        ({"resampling": Resampling(resamples=5)}, "`resamples=5`: expected 20 to 100000"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        gecjury.power("sample", "green", Power(**settings))


def test_too_little_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 sentences: a standard error needs at least 5"):
        gecjury.power(corpus(3), given(tmp_path / "few.tsv", count=3))
    with pytest.raises(InputError, match="do not differ in any sentence"):
        gecjury.power(corpus(), "changes")
    with pytest.raises(OptionError, match="these data answer no question"):
        gecjury.power(gecjury.load_benchmark("sample").corpus, ())
    one = corpus().with_systems(["one"])
    with pytest.raises(InputError, match="1 system: a difference needs two"):
        gecjury.power(one, "changes")


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    how = Resampling(over="sentences", resamples=30, level=0.1)
    settings = Power(pair=("careful", "hasty"), power=0.9, resampling=how, seed=4)
    result = gecjury.power("sample", "green", settings)
    words = ["sample", "-m", "green", "--system", "careful", "--system", "hasty"]
    words += ["--power", "0.9", "--resamples", "30", "--level", "0.1", "--seed", "4"]
    own = json.loads(shell.ended("power", *words, "--format", "json")[0])
    assert own == json.loads(to_json(result.document()))
    assert {row["pairs"] for row in own["rows"]} == {1}
    assert "How much data a difference needs (sample)" in shell.ended("power", *words)[0]
