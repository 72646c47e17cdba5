"""The same policy on devices, pickled files and pinned identities for all neural metrics."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any

import pytest

from gecjury import load
from gecjury.core.errors import FAMILIES, GecjuryError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.m2 import parse_m2
from gecjury.models.checkpoints import _quiet_hub
from tests import tiny

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).resolve().parents[3]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = "the cat go home ."
FIXED = "the cat goes home ."
GOLD = parse_m2([f"S {SOURCE}", "A 2 3|||Vform|||goes|||REQUIRED|||-NONE-|||0", ""])
CORPUS = Corpus((SOURCE,), {"x": Version((FIXED,))}, (Version((FIXED,)),), gold=GOLD)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders `bert`, `lm`, `ranker` and `some`, the last with one model per aspect."""
    folder = tmp_path_factory.mktemp("policy")
    tiny.encoder(folder / "bert")
    tiny.language_model(folder / "lm")
    tiny.encoder(folder / "ranker", 1, outputs=1)
    for seed, aspect in enumerate(("grammaticality", "fluency", "meaning")):
        tiny.encoder(folder / "some" / aspect, seed, outputs=1)
    return folder


def options(metric: str, models: Path) -> dict[str, Any]:
    """Return the settings with which a metric reads the tiny models."""
    return {
        "uot-errant": {"encoder": str(models / "bert")},
        "pt-errant": {"model": str(models / "bert")},
        "pt-m2": {"model": str(models / "bert")},
        "some": {"model": str(models / "some")},
        "impara": {"model": str(models / "ranker"), "encoder": str(models / "bert")},
        "scribendi": {"model": str(models / "lm")},
        "fluency": {"model": str(models / "lm")},
        "asano": {"language_model": str(models / "lm"), "model": str(models / "some")},
    }[metric]


NEURAL = ("uot-errant", "pt-errant", "pt-m2", "some", "impara", "scribendi",
          "fluency", "asano")  # fmt: skip


@pytest.mark.parametrize("metric", NEURAL)
def test_all_metrics_refuse_a_missing_device(metric: str, models: Path) -> None:
    scorer = load(metric, **options(metric, models))
    for device, message in (
        ("cuda:9", r"^device 'cuda:9' is not on this machine; use `device=auto` or cpu$"),
        ("gpu", r"^device 'gpu': expected auto, cpu, cuda, cuda:N or mps$"),
        ("cpu:", r"^device 'cpu:': expected auto, cpu, cuda, cuda:N or mps$"),
        ("cuda:²", r"^device 'cuda:²': expected auto, cpu, cuda, cuda:N or mps$"),
    ):
        with pytest.raises(OptionError, match=message):
            scorer.score_corpus(CORPUS, Runtime(device=device, use_cache=False))


@pytest.mark.parametrize("metric", NEURAL)
def test_all_metrics_handle_sixteen_bit_precision_alike(metric: str, models: Path) -> None:
    name, settings = metric, options(metric, models)
    runtime = Runtime(device="cpu", use_cache=False)
    plain, rough = load(name, **settings), load(name, **settings, dtype="bfloat16")
    signatures = str(plain.signature(CORPUS, runtime)), str(rough.signature(CORPUS, runtime))
    assert "dtype=float32" in signatures[0]
    assert "dtype=bfloat16" in signatures[1]
    exact, near = (s.score_corpus(CORPUS, runtime).sentences for s in (plain, rough))
    assert near == pytest.approx(exact, abs=0.05, nan_ok=True)
    with pytest.raises(OptionError, match=r"dtype=float16 is for GPUs .*use dtype=bfloat16"):
        load(name, **settings, dtype="float16").score_corpus(CORPUS, runtime)
    with pytest.raises(OptionError, match="'int8': expected one of float32, float32-onednn"):
        load(name, **settings, dtype="int8")


def as_bin(folder: Path, evil: bool = False) -> None:
    """Pickle the weights of every model in a folder, as in older checkpoints."""
    from safetensors.torch import load_file

    for file in sorted(folder.rglob("model.safetensors")):
        weights: Any = {"a": Evil()} if evil else load_file(file)
        torch.save(weights, file.with_name("pytorch_model.bin"))
        file.unlink()


class Evil:
    """An object that creates a file when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return (Path.touch, (Path("was-run"),))


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10),
    reason="older versions of torch read no pickled weights",
)
# One metric for each kind of network.
@pytest.mark.parametrize("metric", ["uot-errant", "some", "scribendi"])
def test_bin_files_are_read_by_weights_only_loading(
    metric: str, models: Path, tmp_path: Path
) -> None:
    name = metric
    runtime = Runtime(device="cpu", use_cache=False)
    plain = load(name, **options(metric, models)).score_corpus(CORPUS, runtime)
    copies = tmp_path / "copies"
    shutil.copytree(models, copies)
    as_bin(copies)
    found = load(name, **options(metric, copies)).score_corpus(CORPUS, runtime)
    assert found.sentences.tolist() == plain.sentences.tolist()


@pytest.mark.security
@pytest.mark.parametrize("metric", NEURAL)
def test_all_metrics_refuse_bin_files_that_need_unpickling(
    metric: str, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(device="cpu", use_cache=False)
    monkeypatch.chdir(tmp_path)
    evil = tmp_path / "evil"
    shutil.copytree(models, evil)
    as_bin(evil, evil=True)
    scorer = load(metric, **options(metric, evil))
    # Versions of torch before 2.10 read no `.bin` at all.
    with pytest.raises(GecjuryError, match=r"model\.bin: refused.*(full unpickling|torch>=2\.10)"):
        scorer.score_corpus(CORPUS, runtime)
    assert not Path("was-run").exists()


def test_a_folder_is_pinned_by_its_weights_whatever_their_format(
    models: Path, tmp_path: Path
) -> None:
    def pinned(folder: Path) -> str:
        return load("some", model=str(folder)).extra_signature(Runtime())["weights"]

    folder = tmp_path / "some"
    shutil.copytree(models / "some", folder)
    assert pinned(folder) == pinned(models / "some")
    as_bin(folder)
    first = pinned(folder)
    torch.save({"other": torch.zeros(1)}, folder / "fluency" / "pytorch_model.bin")
    assert len({pinned(models / "some"), first, pinned(folder)}) == 3
    # The checkpoints of a training are not part of the model.
    (folder / "checkpoints").mkdir()
    (folder / "checkpoints" / "model.safetensors").write_bytes(b"x")
    assert pinned(folder) != pinned(models / "some")
    (folder / "checkpoints" / "model.safetensors").write_bytes(b"y")
    assert pinned(folder) == pinned(folder)


def to_hub(folder: Path, home: Path, name: str) -> None:
    """Put a folder into a hub cache, as a download does."""
    place = home / "hub" / f"models--{name.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(COMMIT)
    shutil.copytree(folder, place / "snapshots" / COMMIT)


SCRIPT = """
import json, sys
from gecjury import load
from gecjury.core.runtime import Runtime
runtime = Runtime(device="cpu", use_cache=False)
found = {}
for name, options in json.loads(sys.argv[1]):
    scorer = load(name, **options)
    found[str(scorer.version) + " " + name] = dict(scorer.extra_signature(runtime))
print(json.dumps(found))
"""


def test_models_of_the_hub_are_pinned_by_their_commit(models: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    to_hub(models / "lm", home, "someone/lm")
    to_hub(models / "bert", home, "bert-base-cased")
    to_hub(models / "some", home, "someone/some")
    to_hub(models / "ranker", home, "someone/ranker")
    # A SOME by kernel regression, which names its encoder but does not contain it.
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    record = {"format": "gecjury-some/1", "scale": [1, 4], "max_length": 128, "members": [],
              "kernel": {"encoder": "bert-base-cased", "base": "bert-base-cased", "aspects": [],
                         "paired": False}}  # fmt: skip
    (kernel / "gecjury.json").write_text(json.dumps(record))
    (kernel / "kernel.safetensors").write_bytes(b"x")
    wanted = [
        ("scribendi", {"model": "someone/lm"}),
        ("asano", {"model": "someone/some", "language_model": "someone/lm"}),
        ("some", {"model": str(kernel)}),
        ("impara", {"model": "someone/ranker"}),
        ("uot-errant", {"encoder": "bert-base-cased"}),
        ("pt-errant", {"model": "bert-base-cased"}),
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(wanted)],
        env={**environment, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"},
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    bert = f"bert-base-cased@{COMMIT[:12]}"
    assert found["3 scribendi"] == {"weights": f"someone/lm@{COMMIT[:12]}"}
    assert found["2 asano"] == {
        "weights": f"someone/some@{COMMIT[:12]}", "language-model": f"someone/lm@{COMMIT[:12]}",
    }  # fmt: skip
    assert found["1 some"].pop("encoder") == bert
    assert list(found["1 some"]) == ["weights"]
    assert found["1 impara"] == {
        "weights": f"someone/ranker@{COMMIT[:12]}", "least": "0.9", "encoder": bert,
    }  # fmt: skip
    (uot,) = (extra for name, extra in found.items() if name.endswith("uot-errant"))
    (weighed,) = (extra for name, extra in found.items() if name.endswith("pt-errant"))
    assert (uot["encoder"], weighed["model"]) == (bert, bert)


@pytest.mark.security
def test_no_other_package_loads_models() -> None:
    words = re.compile(r"from_pretrained|huggingface_hub|torch\.load|(cuda|mps)\.is_available")
    rooms = [*(ROOT / "gecjury").iterdir(), *(ROOT / name for name in FAMILIES)]
    found = [
        path.relative_to(ROOT).as_posix()
        for room in rooms
        if room.name != "models" and not room.is_symlink()
        for path in ([room] if room.is_file() else sorted(room.rglob("*.py")))
        if path.suffix == ".py" and words.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_retries_of_the_hub_are_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    logger, kept = logging.getLogger("huggingface_hub.utils._http"), BufferingHandler(2)
    monkeypatch.setattr(logger, "handlers", [kept])
    with _quiet_hub():
        logger.warning("Retrying in 1s [Retry 1/5].")
    logger.warning("afterwards")
    assert [record.getMessage() for record in kept.buffer] == ["afterwards"]
