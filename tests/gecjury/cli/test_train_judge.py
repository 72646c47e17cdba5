"""`gecjury train judge` from the command line, on a tiny model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.benchmarks.load import load_benchmark
from tests.judges.tinymodel import make_tiny_model
from tests.shell import Shell

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDINGS = Path(__file__).parents[3] / "prompts"
STORE = Path(__file__).parents[2] / "judges" / "stored"
QUICK = ["--device", "cpu", "--quiet", "--epochs", "1", "--max-length", "1500"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    # The vocabulary has the wordings' words, so a question has hundreds of tokens, not thousands.
    texts = [path.read_text(encoding="utf-8") for path in sorted(WORDINGS.glob("*.txt"))]
    folder = tmp_path_factory.mktemp("tiny")
    return str(make_tiny_model(folder, context=2048, texts=texts, dtype="float32"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))
    torch.set_num_threads(1)


def ratings(shell: Shell) -> Path:
    """Fifty sources with two corrections each, rated from 0 to 100."""
    lines = [
        f"He have {number} dog .\tHe has {number} dog{s} .\t{points}"
        for number in range(50)
        for s, points in (("s", 90), ("", 40))
    ]
    return shell.write("r.tsv", "\n".join(["source\toutput\tquality", *lines]) + "\n")


@pytest.mark.slow
def test_ratings_and_stored_replies_teach_a_judge(shell: Shell, tmp_path: Path, tiny: str) -> None:
    """Inputs of all kinds are combined, and the output names the judge to score with."""
    (store,) = STORE.glob("*.jsonl")
    output = str(tmp_path / "judge")
    out, err = shell.ended(
        "train", "judge", ratings(shell), str(store), "sample", "--scale", "0:100", "--model", tiny,
        "-o", output, "--leakage", "none", "--format", "json", *QUICK,
    )  # fmt: skip
    document = json.loads(out)
    assert [(row["what"], row["part"]) for row in document["rows"]] == [
        ("taught", "dev"), ("taught", "test"), ("untaught", "dev"), ("untaught", "test"),
    ]  # fmt: skip
    assert f"-m llm-s:backend=vllm,model={output},protocol=pointwise" in " ".join(document["notes"])
    card = (tmp_path / "judge" / "README.md").read_text(encoding="utf-8")
    assert "r.tsv" in card
    assert str(tmp_path) not in card
    assert err.startswith("warning: leakage is not checked")


@pytest.mark.slow
def test_training_sentences_that_are_in_a_benchmark_are_reported(
    shell: Shell, tmp_path: Path, tiny: str
) -> None:
    """Train on pairs, with one source that is also in the sample."""
    path = ratings(shell)
    source = load_benchmark("sample").corpus.sources[0]
    path.write_text(path.read_text().replace("He have 7 dog .", source))
    _, err = shell.ended(
        "train", "judge", path, "--scale", "0:100", "--model", tiny, "-o", str(tmp_path / "judge"),
        "--leakage", "sample", "--protocol", "pairwise", *QUICK,
    )  # fmt: skip
    assert "2 sentences of r.tsv are in sample" in err


@pytest.mark.slow
def test_a_dry_run_counts_questions(shell: Shell, tmp_path: Path, tiny: str) -> None:
    """Every correction is graded, or every pair of a source compared in both orders."""

    def questions(*words: str) -> int:
        out, _ = shell.ended(
            "train", "judge", ratings(shell), "--scale", "0:100", "--model", tiny, "-o",
            str(tmp_path / "judge"), "--leakage", "none", "--dry-run", "--format", "json", *QUICK,
            *words,
        )  # fmt: skip
        parts = {row["part"]: row["questions"] for row in json.loads(out)["parts"]}
        assert list(parts) == ["train", "dev", "test"]
        return sum(parts.values())

    assert questions() == 2 * 50
    assert questions("--protocol", "pairwise") == 2 * 50


def test_a_column_names_the_parts_and_other_inputs_are_training_data(
    shell: Shell, tmp_path: Path, tiny: str
) -> None:
    header, *rows = ratings(shell).read_text(encoding="utf-8").splitlines()
    parts = ["dev"] * 6 + ["test"] * 10 + ["train"] * 84
    lines = [f"{row}\t{part}" for row, part in zip(rows, parts, strict=True)]
    path = shell.write("s.tsv", "\n".join([f"{header}\tpart", *lines]) + "\n")
    (store,) = STORE.glob("*.jsonl")
    out, _ = shell.ended(
        "train", "judge", path, str(store), "--column", "quality=quality", "--column", "split=part",
        "--scale", "0:100", "--model", tiny, "-o", str(tmp_path / "judge"), "--leakage", "none",
        "--dry-run", "--format", "json", *QUICK,
    )  # fmt: skip
    counts = [row["questions"] for row in json.loads(out)["parts"]]
    assert counts == [84 + 249, 6, 10]


@pytest.mark.parametrize(
    ("header", "words", "message"),
    [
        ("text\toutput\tquality", [], "name the column of the sources (--column source=...)"),
        (
            "source\toutput\tquality",
            ["--protocol", "pairwise", "--within", "2"],
            "--within would do nothing",
        ),
        ("source\toutput\tquality", ["--scale", "0:50"], "line 2, column quality: '90'"),
        (
            "source\toutput\tquality",
            ["--scale", "50:100"],
            "50 of 100 ratings are outside this scale; the ratings go from 40 to 90",
        ),
    ],
)
def test_errors_are_reported_before_training(
    shell: Shell, tmp_path: Path, tiny: str, header: str, words: list[str], message: str
) -> None:
    path = ratings(shell)
    path.write_text(path.read_text().replace("source\toutput\tquality", header))
    scale = [] if "--scale" in words else ["--scale", "0:100"]
    output = tmp_path / "judge"
    _, err = shell.ended(
        "train", "judge", path, "--model", tiny, "-o", str(output), "--leakage", "none", *QUICK,
        *scale, *words, status=2,
    )  # fmt: skip
    assert message in " ".join(err.split())
    assert not (output / "model.safetensors").exists()
