"""AutoJQE: made-up ratings in the same format, and the released files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.autojqe import load_autojqe
from gecjury.cli import main
from gecjury.corpus.language import language_of
from gecjury.corpus.leakage import normalise
from tests.made_up import data_folder, request

HEAD = "原文\t訂正\t個別評価\t評価\n"
TEC = "autoJQE/datasets/human_qe_TECJL.csv"
FLU = "autoJQE/datasets/human_qe_FLUTEC.csv"
PLAIN = language_of("ja", tokens="char")


def rows(*given: tuple[str, str, str]) -> str:
    return HEAD + "".join(f'{a}\t{b}\t"{r}"\t0\n' for a, b, r in given)


def test_ratings_and_raters_by_position(tmp_path: Path) -> None:
    folder = data_folder(
        tmp_path,
        {
            TEC: rows(("犬", "犬が", "4,4,1"), ("猫", "猫", "0,3,4"), ("犬", "犬は", "2,2,2")),
            FLU: rows(("犬", "犬が", "4,4,4"), ("www", "www", "4,0,0")),
        },
    )
    made = load_autojqe(request("autojqe", folder, language=PLAIN))
    # A source that is in both files occurs twice.
    assert made.corpus.as_text().sources == ("犬", "猫", "犬", "www")
    assert made.corpus.names == ("output1", "output2")
    assert made.corpus.systems["output1"].lines[0] == "犬 が"
    assert made.corpus.systems["output2"].lines[2] == "犬 が"
    # 0 means no rating: the mean is that of the other two. With two of three there is no mean.
    nan = np.nan
    np.testing.assert_array_equal(made.rated["rating"], [[3, 3.5, 4, nan], [2, nan, nan, nan]])
    np.testing.assert_array_equal(made.raters["rating"][:, 0, 1], [nan, 3, 4])
    assert np.isnan(made.raters["rating"][:, 0, 3]).all()
    assert made.places
    assert [item.sentence for item in made.rankings["sentence"]] == [0, 1, 2]
    assert made.rankings["sentence"][0].ranks == (1, 2)


def test_the_released_ratings(data_dir: Path) -> None:
    made = load_benchmark("autojqe", data=data_dir, tokens="char")
    assert len(made.corpus) == 3944
    lines = (data_dir / TEC).read_text(encoding="utf-8").splitlines()[1:]
    lines += (data_dir / FLU).read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 9108
    # Means above 0 in the release equal ours.
    means = [float(line.rsplit("\t", 1)[1]) for line in lines]
    rating = made.rated["rating"]
    known = rating[~np.isnan(rating)]
    assert len(known) == sum(mean > 0 for mean in means) == 8954
    assert sorted(known.round(9)) == pytest.approx(sorted(m for m in means if m > 0))


def test_the_test_part_keeps_whole_sources(data_dir: Path) -> None:
    part = load_benchmark("autojqe-test", data=data_dir, tokens="char")
    whole = load_benchmark("autojqe", data=data_dir, tokens="char")
    chosen = {normalise(text) for text in part.corpus.as_text().sources}
    every = [normalise(text) for text in whole.corpus.as_text().sources]
    assert len(part.corpus) == sum(text in chosen for text in every) == 385


@pytest.mark.slow
def test_compare_leaves_systems_out(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = ["compare", "autojqe-test", "-m", "changes", "--resamples", "20"]
    usual += ["--data", str(data_dir)]
    assert main([*usual, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["places"] is True
    assert "system" not in found["rows"][0]
    assert found["rows"][0]["sentence"]["pairs"] == 583
    (rated,) = [r for r in found["ratings"] if r["metric"] == "changes"]
    # Two of 896 differ from another only in blanks, which `char` ignores.
    assert rated["outputs"] == 894
    assert rated["system_pearson"] is None
    (people,) = [r for r in found["ratings"] if r["family"] == "humans"]
    assert people["pearson"] == pytest.approx(0.80, abs=0.01)
    assert people["system_pearson"] is None
    assert found["uncertainty"]["over"] == "sentences"
    for more in (
        ["--windows"],
        ["--resample", "systems"],
    ):
        assert main([*usual, *more]) == 2
        assert "names no systems" in capsys.readouterr().err
    assert main([*usual, "--level", "system"]) == 2
    assert "use --level sentence" in capsys.readouterr().err
