"""Tiny models on a GPU: the CPU's scores, trainings, two processes, and batches by memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury import load
from gecjury.cli import main
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.m2 import parse_m2
from gecjury.models.batching import rooms
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.training.impara import RankerJob, train_impara
from gecjury.refless.training.judge import train_judge
from gecjury.refless.training.recipe import RankerRecipe, TrainSettings
from gecjury.refless.training.some import train_some
from gecjury.scoring.scorer import Scorer
from speed.bare import stand_in
from tests import tiny
from tests.judges.tinymodel import make_tiny_model
from tests.refbased.test_pt_errant import E1, E2, E3, SOURCE, version
from tests.refless.test_impara import corrections
from tests.refless.test_some import CORPUS, SOURCES
from tests.refless.test_some import rated as rated_by_aspect
from tests.refless.training.jobs import both_ways, watched
from tests.refless.training.test_judge import job as judge_job
from tests.refless.training.test_judge import rated

torch = pytest.importorskip("torch")
stand_in()

# Other releases of torch and transformers warn of what they will change.
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]

ROOT = Path(__file__).resolve().parents[2]
CPU, GPU = (Runtime(device=device, use_cache=False) for device in ("cpu", "cuda"))
CLOSE = 1e-4  # largest difference from the CPU's scores in float32


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("torch sees no CUDA device")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("some/grammer", "some/fluency", "some/meaning", "ranker")):
        tiny.encoder(folder / name, seed, outputs=1)
    tiny.encoder(folder / "encoder", 5, dropout=0.0)
    tiny.language_model(folder / "language")
    make_tiny_model(folder / "judge", context=512, dtype="float32")
    return folder


M2 = f"S {SOURCE}\nA 1 2|||Vt|||went|||REQUIRED|||-NONE-|||0\n\n".split("\n")[:-1]
EDITED = Corpus((SOURCE,), {"x": version(E1, E3), "y": version(E2)}, (version(E1, E2),))
GOLD = Corpus((SOURCE,), {"x": version(E1, E3), "y": version(E2)}, gold=parse_m2(M2))
METRICS: dict[str, tuple[Corpus, Callable[[Path], Scorer]]] = {
    "some": (CORPUS, lambda models: load("some", model=str(models / "some"))),
    "impara": (
        CORPUS,
        lambda models: load(
            "impara", model=str(models / "ranker"), encoder=str(models / "encoder"), threshold=0.5
        ),
    ),
    "scribendi": (CORPUS, lambda models: load("scribendi", model=str(models / "language"))),
    "fluency": (CORPUS, lambda models: load("fluency", model=str(models / "language"))),
    "pt-errant": (EDITED, lambda models: load("pt-errant", model=str(models / "encoder"))),
    "pt-m2": (GOLD, lambda models: load("pt-m2", model=str(models / "encoder"))),
}


@pytest.mark.parametrize("name", METRICS)
def test_scores_are_those_of_the_cpu(name: str, models: Path) -> None:
    corpus, scorer = METRICS[name][0], METRICS[name][1](models)
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    wanted, given = (scorer.statistics(corpus, runtime).values for runtime in (CPU, GPU))
    assert torch.cuda.max_memory_allocated() > before
    np.testing.assert_allclose(given, wanted, atol=CLOSE)
    assert np.ptp(wanted) > 0


def test_vectors_are_those_of_the_cpu(models: Path) -> None:
    texts = list(SOURCES)
    spec = EncoderSpec(str(models / "encoder"))
    wanted, given = (load_encoder(spec, run).encode_layers(texts, (1, 2)) for run in (CPU, GPU))
    for one, other in zip(wanted, given, strict=True):
        np.testing.assert_allclose(other.vectors, one.vectors, atol=CLOSE)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["some", "impara", "scribendi", "pt-errant"])
def test_half_precision_is_close(name: str, dtype: str, models: Path) -> None:
    corpus, scorer = METRICS[name][0], METRICS[name][1](models)
    wanted = scorer.statistics(corpus, GPU).values
    half = replace(scorer, dtype=dtype)  # type: ignore[call-arg]
    given = half.statistics(corpus, GPU).values
    if name == "scribendi":  # signs of differences, which few of these texts can lose
        assert (given != wanted).mean() < 0.1
    else:
        np.testing.assert_allclose(given, wanted, atol=0.02)
        assert (given != wanted).any()


def some(models: Path, folder: Path, runtime: Runtime, **changes: Any) -> float:
    """Train a SOME in both ways and return the mean of its ratings."""
    tiny.encoder(folder / "encoder", 5, dropout=0.0)
    settings = TrainSettings(epochs=2, learning_rate=1e-3, **changes)
    train_some(replace(both_ways(rated_by_aspect(), folder, settings=settings), runtime=runtime))
    ratings = open_bundle(str(folder / "some")).predict(SOURCES, (SOURCES, SOURCES), CPU)
    return float(np.mean(list(ratings.values())))


def impara(models: Path, folder: Path, runtime: Runtime, **changes: Any) -> float:
    """Train an IMPARA and return its loss of accuracy on its test part."""
    settings = TrainSettings(epochs=2, learning_rate=1e-3, **changes)
    recipe = RankerRecipe(str(models / "encoder"), settings=settings, pairs=160)
    data = corrections()
    report = train_impara(
        RankerJob(corrections=data, recipe=recipe, folder=folder / "out", runtime=runtime)
    )
    return float(next(f for f in report.figures if f["part"] == "test")["accuracy"])


def judge(models: Path, folder: Path, runtime: Runtime, **changes: Any) -> float:
    """Train a judge and return its error on the test part."""
    job = judge_job(models / "judge", folder / "out")
    recipe = replace(job.recipe, settings=replace(job.recipe.settings, **changes))
    report = train_judge(replace(job, recipe=recipe, runtime=runtime))
    assert report.untaught["test"]["quality"]["rmse"] > report.figures["test"]["quality"]["rmse"]
    return float(report.figures["test"]["quality"]["rmse"])


@pytest.mark.parametrize("train", [some, impara, judge])
def test_trainings_end_as_on_the_cpu(
    train: Callable[..., float], models: Path, tmp_path: Path
) -> None:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    plain = train(models, tmp_path / "gpu", GPU)
    half = train(models, tmp_path / "half", GPU, bf16=True)
    assert torch.cuda.max_memory_allocated() > before
    wanted = train(models, tmp_path / "cpu", CPU)
    assert plain == pytest.approx(wanted, abs=0.01)
    assert half == pytest.approx(wanted, abs=0.1)


def test_an_interrupted_training_resumes(models: Path, tmp_path: Path) -> None:
    def stop(history: object) -> None:
        raise KeyboardInterrupt

    whole, broken = (
        replace(judge_job(models / "judge", tmp_path / name, rated(24)), runtime=GPU)
        for name in ("whole", "broken")
    )
    wanted = train_judge(whole)
    with watched(stop), pytest.raises(KeyboardInterrupt):
        train_judge(broken)
    told: list[str] = []
    given = train_judge(replace(broken, runtime=replace(GPU, tell=told.append)))
    assert any("resumes after step" in line for line in told)
    for name, value in wanted.best.items():
        assert given.best[name] == pytest.approx(value, abs=1e-3)


def write(folder: Path, count: int) -> list[str]:
    """Write sources and hypotheses of forty words, and return the command that scores them."""
    rng = np.random.default_rng(0)
    for name in ("source", "mine"):
        lines = (" ".join(rng.choice(tiny.WORDS, 40)) for _ in range(count))
        (folder / name).write_text("\n".join(lines) + "\n")
    return ["score", str(folder / "source"), str(folder / "mine"), "--device", "cuda", "-q"]


def run(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.Popen(
        [sys.executable, *arguments], env=environment, cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_two_processes_share_a_device_and_a_cache(models: Path, tmp_path: Path) -> None:
    command = [*write(tmp_path, 400), "-m", f"some:model={models / 'some'}", "--format", "tsv"]
    command += ["--cache", str(tmp_path / "cache")]
    both = [run("-m", "gecjury", *command, folder=tmp_path) for _ in range(2)]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in both]
    assert [status for *_, status in ended] == [0, 0], ended
    assert ended[0][0] == ended[1][0] != ""


def test_more_processes_than_devices_are_refused(models: Path, tmp_path: Path) -> None:
    count = torch.cuda.device_count() + 1
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(count)]
    command = ["train", "some", str(tiny.ratings(tmp_path / "r.tsv", 60)), "-o", "out", "-q"]
    command += [
        "--encoder",
        str(models / "encoder"),
        "--leakage",
        "none",
        "--no-cache",
        *tiny.COLUMNS,
    ]
    process = run(*launcher, "-m", "gecjury", *command, folder=tmp_path)
    _, told = process.communicate(timeout=300)
    assert process.returncode
    assert f"gecjury: {count} processes, but {count - 1} GPU" in told
    assert "NCCL" not in told


@contextmanager
def memory(megabytes: int) -> Iterator[None]:
    """Leave this process only some more of the GPU's memory than it has now."""
    torch.cuda.empty_cache()
    limit = torch.cuda.memory_reserved() + megabytes * 2**20
    whole = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(limit / whole)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def read_all(name: str, models: Path, texts: Corpus, runtime: Runtime) -> Any:
    """Return a metric's values, or an encoder's vectors."""
    if name != "encoder":
        return METRICS[name][1](models).statistics(texts, runtime).values
    encoder = load_encoder(EncoderSpec(str(models / "encoder")), runtime)
    encoder.clear()
    return encoder.encode(texts.sources).vectors


@pytest.mark.parametrize("name", ["some", "fluency", "encoder"])
def test_batches_grow_to_what_memory_holds_and_shrink_when_it_runs_out(
    name: str, models: Path
) -> None:
    texts, others = (
        tuple(" ".join(row) for row in np.random.default_rng(seed).choice(tiny.WORDS, (4000, 40)))
        for seed in range(2)
    )
    corpus = Corpus(texts, {"x": Version(others)})
    wanted = read_all(name, models, corpus, CPU)
    rooms.clear()
    np.testing.assert_allclose(read_all(name, models, corpus, GPU), wanted, atol=CLOSE)
    grown = min(room.pieces for room in rooms.values())
    assert grown > 10 * 4096
    with memory(96):
        given = read_all(name, models, corpus, GPU)
    np.testing.assert_allclose(given, wanted, atol=CLOSE)
    assert max(room.pieces for room in rooms.values()) < grown


def test_a_training_goes_on_with_parts_of_batches_when_memory_runs_out(
    models: Path, tmp_path: Path
) -> None:
    command = ["train", "some", str(tiny.ratings(tmp_path / "r.tsv", 6000)), "--epochs", "2", "-q"]
    command += ["--encoder", str(models / "encoder"), "--device", "cuda", *tiny.COLUMNS]
    command += [
        "--leakage",
        "none",
        "--no-cache",
        "--train-batch",
        "2048",
        "--learning-rate",
        "0.01",
    ]
    assert main([*command, "-o", str(tmp_path / "whole")]) == 0
    torch.cuda.reset_peak_memory_stats()
    with memory(96):
        most = torch.cuda.memory_reserved() + 96 * 2**20
        assert main([*command, "-o", str(tmp_path / "parts")]) == 0
        assert torch.cuda.max_memory_allocated() <= most
    whole, parts = (
        open_bundle(str(tmp_path / name)).predict(SOURCES, (SOURCES, SOURCES), CPU)
        for name in ("whole", "parts")
    )
    for aspect, ratings in whole.items():
        np.testing.assert_allclose(parts[aspect], ratings, atol=0.01)
