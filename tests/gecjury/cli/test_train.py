"""`gecjury train` from the command line, on tiny models."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli import main, train_some
from tests import tiny
from tests.tiny import COLUMNS, ratings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

QUICK = ["--device", "cpu", "--quiet", "--check", "--epochs", "1", "--learning-rate", "1e-3"]


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    # Tiny models gain nothing from threads, and wait for each other's where tests run side by side.
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What models gave is kept in the user's cache folder: not here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.encoder(tmp_path_factory.mktemp("models") / "encoder"))


def run(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(list(argv)) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_some_from_ratings_to_scores(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, encoder: str
) -> None:
    data = ratings(tmp_path / "r.tsv", 60)
    out, err = run(
        capsys, "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        "--format", "json", *QUICK, "--shared", *COLUMNS,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(out)
    assert set(found["figures"]["test"]) == {"grammaticality", "fluency", "meaning"}
    assert "split by source: 48 train, 6 dev, 6 test" in err
    for name, seed in (("s", 1), ("h", 2)):
        (tmp_path / name).write_text("\n".join(tiny.sentences(5, seed)) + "\n")
    out, _ = run(
        capsys, "score", str(tmp_path / "s"), str(tmp_path / "h"), "--device", "cpu",
        "-m", f"some:model={tmp_path / 'some'}", "--format", "json",
    )  # fmt: skip
    (row,) = json.loads(out)["rows"]
    assert row["family"] == "refless"
    assert "weights=" in row["signature"]
    out, _ = run(
        capsys, "train", "weights", "sample", "--model", str(tmp_path / "some"),
        "--device", "cpu", "--share", "0.5", "--format", "json",
    )  # fmt: skip
    document = json.loads(out)
    assert document["measure"] == "Kendall τ over judged pairs"
    found, paper = document["rows"]
    assert found["searched"] >= paper["searched"]
    assert (paper["alpha"], paper["beta"], paper["gamma"]) == (0.55, 0.43, 0.02)


def test_what_is_recommended_for_one_aspect_works(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, encoder: str
) -> None:
    data = ratings(tmp_path / "r.tsv", 40)
    folder = tmp_path / "some"
    out, _ = run(
        capsys, "train", "some", str(data), "-o", str(folder), "--encoder", encoder, *QUICK,
        "--column", "output=hyp", "--column", "grammaticality=g",
    )  # fmt: skip
    metric = out.rstrip().rpartition("-m ")[2]
    assert metric == f"some:model={folder},alpha=1,beta=0,gamma=0"
    (tmp_path / "s").write_text("the cat .\n")
    texts = [str(tmp_path / "s"), str(tmp_path / "s"), "--device", "cpu"]
    _, err = run(capsys, "score", *texts, "-m", f"some:model={folder}", status=2)
    assert f"take -m {metric}" in err
    run(capsys, "score", *texts, "-m", metric)
    card = (folder / "README.md").read_text()
    assert "-m some:model=some,alpha=1,beta=0,gamma=0" in card
    assert "plain transformers model" not in card
    listed = {line.split("`")[1].rstrip("/") for line in card.splitlines() if line[:3] == "- `"}
    assert listed == {path.name for path in folder.iterdir()} - {"README.md"}


def test_every_improvement_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, encoder: str
) -> None:
    data = ratings(tmp_path / "r.tsv", 40)
    sources = tiny.sentences(60, 9)
    (tmp_path / "s").write_text("\n".join(sources) + "\n")
    (tmp_path / "t").write_text("\n".join(f"the {s} ." for s in sources) + "\n")
    out, _ = run(
        capsys, "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        "--format", "json", *QUICK, "--shared", "--features", "--freeze-embeddings",
        "--intermediate", "detection", "ranking", "--intermediate-epochs", "1",
        "--parallel", f"{tmp_path / 's'},{tmp_path / 't'}", "--clean", str(tmp_path / "t"),
        "--loss", "huber", "--accumulation", "2", *COLUMNS,
    )  # fmt: skip
    found = json.loads(out)
    assert set(found["steps"]) == {"detection", "ranking"}
    assert 0 <= found["steps"]["ranking"] <= 1


def test_the_grid_s_table_marks_the_chosen_combination(capsys: pytest.CaptureFixture[str]) -> None:
    from gecjury.refless.training.grid import GridTrial

    args = argparse.Namespace(format="table")
    trials = [GridTrial("fluency", 128, 8, 2e-5, 3, 0.5, 0.25), GridTrial("fluency", 256, 8, 3e-5,
              1, 0.75, 0.5, chosen=True)]  # fmt: skip
    assert train_some.print_grid(args, trials) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["fluency", "128", "8", "0.00002", "3", "0.500", "0.250"] in lines
    assert ["fluency", "256", "8", "0.00003", "1", "0.750", "0.500", "*"] in lines


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["some", "r.tsv"], "name the folder for the model with -o DIR"),
        (["some", "r.tsv", "x.tsv", "-o", "out"], "takes one set of ratings"),
        (["some", "r.tsv", "-o", "out", "--column", "colour=x"], "'colour' is no role"),
        (["some", "nowhere.tsv", "-o", "out"], "no such file"),
        (["some", "r.tsv", "-o", "out", "--dev", "r.tsv", *COLUMNS], "go together"),
        (["some", "r.tsv", "-o", "out", "--epochs", "0", *COLUMNS], "expected 1 or more"),
        (["some", "r.tsv", "-o", "out", "--aspects", "style", *COLUMNS], "rates grammaticality"),
        (["impara", "nowhere", "-o", "out"], "neither a set"),
        (["weights", "sample", "--model", ""], "its value is empty"),
    ],
)
def test_wrong_use_ends_with_status_2(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    message: str,
) -> None:
    ratings(tmp_path / "r.tsv", 20)
    monkeypatch.chdir(tmp_path)
    out, err = run(capsys, "train", *argv, "--check", "--device", "cpu", status=2)
    assert out == ""
    assert message in err


def test_leakage_is_warned_of_while_training(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, encoder: str
) -> None:
    from gecjury.benchmarks.load import load_benchmark

    data = ratings(tmp_path / "r.tsv", 40)
    source = load_benchmark("sample").corpus.sources[0]
    lines = data.read_text().splitlines()
    lines[1] = "\t".join([source.upper(), *lines[1].split("\t")[1:]])
    data.write_text("\n".join(lines) + "\n")
    _, err = run(
        capsys, "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        "--aspects", "fluency", *QUICK, "--check", "sample", *COLUMNS,
    )  # fmt: skip
    assert "warning: leakage: 1 sentences of" in err
    assert "stand in sample" in err
    assert "leakage" in (tmp_path / "some" / "README.md").read_text()


def test_refusals_name_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("text\n")
    data = ratings(tmp_path / "r.tsv", 8)
    assert main(["train", "some", str(data), "-o", str(taken), *COLUMNS]) == 2
    assert "taken is a file; -o names a folder" in capsys.readouterr().err
    few = tmp_path / "few.csv"
    few.write_text("output,fluency\na,1\nb,2\nc,3\n")
    assert main(["train", "some", str(few), "-o", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert "few.csv: too few rows for a split" in " ".join(message.split())


def test_gug_joins_the_grammaticality_of_some_aspects(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, encoder: str, data_dir: Path
) -> None:
    data = ratings(tmp_path / "r.tsv", 40)
    command = ["train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
               "--data", str(data_dir), *QUICK, "--shared", "--gug", *COLUMNS]  # fmt: skip
    assert main([*command, "--aspects", "fluency"]) == 2
    assert "--gug rates grammaticality, which is not among" in capsys.readouterr().err
    assert main([*command, "--aspects", "grammaticality", "fluency", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["figures"]["test"]) == {"grammaticality", "fluency"}
